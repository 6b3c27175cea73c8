"""Bots that answer questions, and their answers."""
