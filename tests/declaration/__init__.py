"""Tests of ``fastmetrics.declaration``."""
