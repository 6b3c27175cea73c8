"""Printed tables for terminals, notebooks and plain text."""
