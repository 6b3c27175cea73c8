"""Tests of ``fastmetrics.results``."""
