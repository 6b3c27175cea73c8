"""Tests of ``fastmetrics.stats``."""
