"""The documents that metrics come from, by the short names that definitions use."""

from __future__ import annotations

import re

SOURCES = {
    "S0": (
        "the QA framework",
        "*Metrics and Mathematical Foundations*, the scoring methods of a framework for question-answering bots",
    ),
    "S1": ("the RAG project", "*Core Evaluation Metrics Explained*, the metrics of a RAG project (2025)"),
    "S2": (
        "the RAG benchmark",
        "*Научное описание метрик бенчмарков RAG-системы*, the benchmarks of the system «Вопрошалыч»",
    ),
    "S3": (
        "the answer checks",
        "*Evaluation Criteria & Scoring Logic*, reference-free checks of an assistant's answers",
    ),
    "S4": ("the writing guide", "*LLM Lab – Quality Metrics Documentation*, five metrics of writing quality"),
}
"""What users read for the short name of a source, and what it is; others are papers or packages, named in full."""


def in_words(source: str) -> str:
    """A metric's source for users, with words instead of short names.

    >>> in_words("S1, F1 score; Sclar 2024")
    'the RAG project, F1 score; Sclar 2024'
    """
    return re.sub(rf"\b({'|'.join(SOURCES)})\b", lambda short: SOURCES[short[0]][0], source)
