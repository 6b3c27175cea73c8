"""Tests of ``fastmetrics.cli``."""
