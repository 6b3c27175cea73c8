"""Tests of ``fastmetrics.logs``."""
