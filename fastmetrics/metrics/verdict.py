"""Relevance, and the verdict made of hallucination, relevance and completeness (S3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.arrays import Flags, Floats, Tokens
from fastmetrics.batch import Batch
from fastmetrics.declare import metric
from fastmetrics.kernels.cosine import pair_products
from fastmetrics.metrics.claims import KeywordsIn, check_stop_words, check_window, completeness, unsupported
from fastmetrics.metrics.counts import divide, sets
from fastmetrics.metrics.evidence import Passage, PassageIn, Passages, senses_of
from fastmetrics.text.senses import STOP_WORDS

FAIL, WARN, PASS = 0.0, 0.5, 1.0
"""The verdicts as numbers."""

IDF = (math.log(3 / 2) + 1) ** 2
"""The square of the weight, against that of a word both texts of a pair hold, of a word that one of them holds."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Tokens, and which words of the vocabulary have two characters or more."""

    tokens: Tokens
    keep: Flags


@dataclass(frozen=True)
class WeighedIn:
    """Tokens with the words that TF-IDF counts."""

    convention: str = "words"

    def of(self, batch: Batch, column: str, options: Mapping[str, Any]) -> Weighed:
        """The column's tokens."""
        tokens = batch.tokens(column, "words")
        return Weighed(tokens, senses_of(batch).lengths > 1)


Counted = Annotated[Weighed, WeighedIn()]


@dataclass(frozen=True, eq=False)
class Asked:
    """A question's words and its keywords."""

    weighed: Weighed
    keywords: Tokens


@dataclass(frozen=True)
class AskedIn:
    """A question with its keywords under the option ``stop_words``."""

    convention: str = "words"

    def of(self, batch: Batch, column: str, options: Mapping[str, Any]) -> Asked:
        """The column's questions."""
        return Asked(WeighedIn().of(batch, column, options), KeywordsIn().of(batch, column, options))


Questions = Annotated[Asked, AskedIn()]


@dataclass(frozen=True, eq=False)
class Answered:
    """An answer's words, with their places."""

    weighed: Weighed
    passage: Passage


@dataclass(frozen=True)
class AnsweredIn:
    """An answer as relevance and hallucination read it."""

    convention: str = "words"

    def of(self, batch: Batch, column: str, options: Mapping[str, Any]) -> Answered:
        """The column's answers."""
        return Answered(WeighedIn().of(batch, column, options), PassageIn().of(batch, column, options))


Answers = Annotated[Answered, AnsweredIn()]


@metric(bounds=(0, 1), source="S3, relevance score")
def relevance(question: Counted, answer: Counted) -> Floats:
    """How much question and answer are about the same words: (TF-IDF cosine + ``jaccard``) / 2.

    The cosine is that of scikit-learn's ``TfidfVectorizer()`` fitted on the pair.  Below 0.1 an answer is irrelevant.
    0 if a text has no words.

    >>> import fastmetrics as fm
    >>> fm.relevance(["who wrote Emma"], ["Jane Austen wrote Emma"]).round(3)
    array([0.406])
    """
    return _relevance(question, answer)


def _relevance(question: Weighed, answer: Weighed) -> Floats:
    a, b = question.tokens, answer.tokens
    keep = max(question.keep, answer.keep, key=len)
    products = pair_products(a.ids, a.starts, a.stops, b.ids, b.starts, b.stops, keep)
    product, a_both, a_alone, b_both, b_alone = products
    norms = np.sqrt((a_both + IDF * a_alone) * (b_both + IDF * b_alone))
    counts = sets(a, b)
    jaccard = divide(counts.shared, counts.a + counts.b - counts.shared, empty=0.0)
    return (divide(product, norms, empty=0.0) + jaccard) / 2


def _check(window: int, stop_words: tuple[str, ...], **_: object) -> None:
    check_window(window)
    check_stop_words(stop_words)


@metric(bounds=(0, 1), source="S3, verdict logic", check=_check)
def verdict(
    question: Questions,
    answer: Answers,
    contexts: Passages,
    *,
    hallucination_above: float = 0.5,
    relevance_below: float = 0.1,
    completeness_below: float = 0.6,
    window: int = 30,
    stop_words: tuple[str, ...] = STOP_WORDS,
) -> Floats:
    """1 for PASS, 0.5 for WARN, 0 for FAIL; ``fm.verdicts`` says it in words and gives the reasons.

    FAIL if ``hallucination`` is above 0.5, else FAIL if ``relevance`` is below 0.1, else WARN if
    ``keyword_completeness`` is below 0.6, else PASS; all three thresholds are options.

    >>> import fastmetrics as fm
    >>> contexts = [["The tower opened in 1889."]] * 2
    >>> fm.verdict(["When did the tower open?"] * 2, ["The tower did open in 1889.", "It opened in 1890."], contexts)
    array([1., 0.])
    """
    failed = unsupported(answer.passage, contexts, window) > hallucination_above
    failed |= _relevance(question.weighed, answer.weighed) < relevance_below
    thin = completeness(question.keywords, answer.weighed.tokens) < completeness_below
    return np.where(failed, FAIL, np.where(thin, WARN, PASS))
