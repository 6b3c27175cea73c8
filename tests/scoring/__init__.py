"""Tests of ``fastmetrics.scoring``."""
