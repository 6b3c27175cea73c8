"""Tests of ``fastmetrics.engines``."""
