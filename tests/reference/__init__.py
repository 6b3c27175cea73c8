"""Slow, plain-Python definitions of every number; nothing here imports fastmetrics.

A metric takes one row and gives a float: ``None`` stands for a missing input, NaN for an undefined result.
"""
