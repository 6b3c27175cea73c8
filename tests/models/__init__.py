"""Tests of ``fastmetrics.models``."""
