"""Encoding tables as files: formats, metadata and types of columns."""
