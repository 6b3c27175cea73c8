"""Kernels that find numbers, dates, claims and citations, and their support."""
