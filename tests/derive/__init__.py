"""Tests of ``fastmetrics.derive``."""
