"""Tests of ``fastmetrics.metrics``."""
