"""Tests of ``fastmetrics.commands``."""
