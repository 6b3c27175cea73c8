"""Tests of ``fastmetrics.usage``."""
