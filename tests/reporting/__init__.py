"""Tests of ``fastmetrics.reporting``."""
