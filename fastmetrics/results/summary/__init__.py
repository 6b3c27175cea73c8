"""Summaries of scores: of one run, of segments, of several runs."""
