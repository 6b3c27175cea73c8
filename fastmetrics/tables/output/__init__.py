"""Atomic outputs: encoders, targets, the work folder of a run."""
