"""Tests of ``fastmetrics.tables``."""
