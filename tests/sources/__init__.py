"""Tests of metrics against the documents that they come from."""
