"""Tests of ``fastmetrics.text``."""
