"""Tests of ``fastmetrics.report``."""
