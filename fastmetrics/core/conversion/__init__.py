"""Columns, tables and lists of any kind, converted to Arrow, and records kept as columns."""
