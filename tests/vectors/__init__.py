"""Tests of ``fastmetrics.vectors``."""
