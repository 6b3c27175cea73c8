"""Outputs that appear whole or not at all: encoders, targets, the work folder of a run."""
