"""Sections that only some reports have, one file each."""
