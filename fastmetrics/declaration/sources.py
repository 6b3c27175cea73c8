"""The documents that metrics come from, by the short names that definitions use."""

from __future__ import annotations

import re

SOURCES = {
    "S0": "*Metrics and Mathematical Foundations*, the scoring methods of a framework for question-answering bots",
    "S1": "*Core Evaluation Metrics Explained*, the metrics of a RAG project (2025)",
    "S2": "*Научное описание метрик бенчмарков RAG-системы*, the benchmarks of the system «Вопрошалыч»",
    "S3": "*Evaluation Criteria & Scoring Logic*, reference-free checks of an assistant's answers",
    "S4": "*LLM Lab – Quality Metrics Documentation*, five metrics of writing quality",
}
"""What the short names of sources stand for; any other source is a paper, a script or a package, named in full."""


def with_titles(text: str) -> str:
    """A text for users: the titles of sources instead of their short names.

    >>> with_titles("S1, F1 score; Sclar 2024")
    'Core Evaluation Metrics Explained, F1 score; Sclar 2024'
    """
    titles = {name: source.split("*")[1] for name, source in SOURCES.items()}
    return re.sub(rf"\b({'|'.join(titles)})\b", lambda short: titles[short[0]], text)
