"""The formulas of the components of the writing scores, over counts that are computed once per batch."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.options import MOST, Real, Whole
from fastmetrics.kernels import sentences as kernels
from fastmetrics.kernels.byte_search import count_characters
from fastmetrics.metrics.shared.pair_counts import divide
from fastmetrics.metrics.shared.prose import Writing, asks
from fastmetrics.text import segmentation as segments

LENGTH_RATIO = 2.5
"""Optimal number of words of an answer per word of its question."""
LengthRatio = Annotated[
    float, Real(0.001, 1_000.0), "the optimal number of words of an answer per word of its question"
]

CONNECTOR_SHARE = 0.3
"""Connectors per sentence that give the full score."""
ConnectorShare = Annotated[float, Real(0.001, 1_000.0), "connectors per sentence that give the full score"]

TopicThreshold = Annotated[float, Real(0.0, 1.0), "topic shifts per sentence that do not reduce the score"]
"""Topic shifts per sentence that do not reduce the score; 0 reduces it from the first shift on."""

PARAGRAPH_WORDS = 100
ParagraphWords = Annotated[int, Whole(1, MOST), "the words of a paragraph in a text of the best structure"]

OPENING, CLOSING = 20, 15
"""Minimum lengths of the first and the last sentence, in characters (exclusive)."""


def ties(
    answer: Writing, connector_share: float = CONNECTOR_SHARE, topic_threshold: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Connector, pronoun and topic scores; the counts are computed once per batch."""
    connectors, pronouns, unclear, shifts = answer.remember("ties", None, lambda: _count_ties(answer))
    sentences = np.diff(answer.groups)
    connector = np.minimum(divide(connectors, np.multiply(sentences, connector_share), empty=0.0), 1.0)
    shifting = divide(shifts, sentences, empty=0.0)
    shifting[shifting <= topic_threshold] = 0.0
    topic = np.where(sentences > 1, 1.0 - shifting, np.nan)
    return connector, 1.0 - divide(unclear, pronouns, empty=0.0), topic


def _count_ties(answer: Writing) -> Ints:
    """Connectors, pronouns, unclear pronouns and topic shifts."""
    prose = answer.prose
    return kernels.count_ties(prose, *answer.letters(answer.style.connectors))


def fulfilment(question: Writing, answer: Writing, length_ratio: float = LENGTH_RATIO) -> tuple[Floats, Floats, Floats]:
    """Coverage, question and task scores; the counts are computed once per batch."""
    counts = answer.remember("fulfilment", question, lambda: _count_fulfilled(question, answer))
    keywords, matched, questions, answered, tasks, fulfilled = counts
    expected = np.multiply(question.counts, length_ratio)
    length = np.minimum(divide(answer.counts, expected, empty=1.0), 1.0)
    coverage = 0.6 * divide(matched, keywords, empty=1.0) + 0.4 * length
    return coverage, divide(answered, questions, empty=np.nan), divide(fulfilled, tasks, empty=np.nan)


def _count_fulfilled(question: Writing, answer: Writing) -> Ints:
    """Keywords, those in the answer, questions, answered questions, tasks, fulfilled tasks."""
    prose = answer.prose
    return kernels.count_fulfilled(question.prose, asks(question), prose)


def building(
    question: Writing | None, answer: Writing, paragraph_words: int = PARAGRAPH_WORDS
) -> tuple[Floats, Floats, Floats]:
    """Paragraph, introduction and conclusion scores; the last two are computed once per batch."""
    optimal = -(-answer.counts // paragraph_words)
    paragraphs = answer.remember("paragraphs", None, lambda: _paragraphs(answer))
    opens, closes = answer.remember("parts", question, lambda: _find_parts(question, answer))
    return np.minimum(divide(paragraphs, optimal, empty=0.0), 1.0), opens, closes


def _find_parts(question: Writing | None, answer: Writing) -> tuple[Floats, Floats]:
    """Introduction and conclusion scores."""
    prose = answer.prose
    empty = prose._replace(groups=np.zeros(len(prose.groups), np.int64))
    topics = empty if question is None else question.prose
    flags = kernels.opens_and_closes(topics, prose, *answer.letters(answer.style.summaries))
    opens = flags[0] & (_size(answer, answer.groups[:-1]) > OPENING)
    closes = flags[1] & (_size(answer, answer.groups[1:] - 1) > CLOSING)
    return opens.astype(np.float64), closes.astype(np.float64)


def _paragraphs(answer: Writing) -> Ints:
    """The paragraphs of each answer with words; a text without line breaks has one."""
    text = answer.text
    if len(text) == 0 or not (text.data[text.starts.min() : text.stops.max()] == ord("\n")).any():
        return np.ones(len(text), np.int64)
    paragraphs = segments.paragraphs(text).groups
    assert paragraphs is not None
    return np.diff(paragraphs)


def _size(answer: Writing, sentence: Ints) -> Ints:
    """The number of characters of one sentence of each row, 0 for a row without sentences."""
    some = np.diff(answer.groups) > 0
    size = np.zeros(len(some), np.int64)
    text = answer.sentences.take(sentence[some])
    size[some] = count_characters(text.data, text.starts, text.stops)
    return size


def kinds(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Diversity, sophistication and repetition scores, computed once per batch."""
    return answer.remember("kinds", None, lambda: _count_kinds(answer))


def _count_kinds(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Diversity, sophistication and repetition scores."""
    words, distinct, sophisticated, repeated = kernels.count_kinds(answer.prose)
    shares = (divide(count, words, empty=np.nan) for count in (distinct, sophisticated, repeated))
    diversity, sophistication, repetition = shares
    return diversity, sophistication, 1.0 - repetition
