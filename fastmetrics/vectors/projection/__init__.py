"""Projections of vectors to two or three dimensions."""
