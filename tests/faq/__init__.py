"""Tests of ``fastmetrics.retrieval``."""
