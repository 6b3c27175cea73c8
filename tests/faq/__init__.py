"""Tests of ``fastmetrics.faq``."""
