"""Repeated questions: their answers and their rankings."""
