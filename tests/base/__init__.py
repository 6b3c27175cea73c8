"""Tests of ``fastmetrics.core``."""
