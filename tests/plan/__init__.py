"""Tests of ``fastmetrics.plan``."""
