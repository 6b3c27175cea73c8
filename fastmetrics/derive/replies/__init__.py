"""Parsing the replies of a judge."""
