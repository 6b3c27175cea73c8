"""Tests of ``fastmetrics.base``."""
