"""Relevance, completeness, hallucination and the verdict made of them (S3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.core.allowed_values import MOST, Real, Texts, Whole
from fastmetrics.core.arrays import Floats, Tokens
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.metric import metric
from fastmetrics.declaration.representations import Words
from fastmetrics.kernels.facts import support
from fastmetrics.metrics.shared.anchors import Passage, Passages, anchors, senses_of
from fastmetrics.metrics.shared.pair_counts import divide, sets
from fastmetrics.metrics.shared.spacy_claims import Parser
from fastmetrics.text.word_roles import STOP_WORDS

StopWords = Annotated[tuple[str, ...], Texts(what="words")]
Window = Annotated[int, Whole(0, MOST)]
Share = Annotated[float, Real(0.0, 1.0)]

LONG = 3
"""Characters from which on a word may be a keyword."""

LOW_OVERLAP, DRIFT = 0.2, 0.2
"""The share of word pairs below which an answer drifts, and the score it then has at least."""


@dataclass(frozen=True)
class KeywordsIn:
    """Words that are long enough and no stop word, under the option ``stop_words``."""

    convention: str = "words"

    def of(self, batch: Batch, column: str, options: Mapping[str, Any]) -> Tokens:
        """The column's keywords."""
        stop_words = tuple(options["stop_words"])
        return batch.remember(("keywords", column, stop_words), lambda: _keywords(batch, column, stop_words))


Keywords = Annotated[Tokens, KeywordsIn()]


def _keywords(batch: Batch, column: str, stop_words: tuple[str, ...]) -> Tokens:
    tokens, stop = batch.tokens(column, "words"), batch.vocabulary("words").ids_of(stop_words)
    keep = senses_of(batch).lengths >= LONG
    keep[stop] = False
    return tokens.where(keep)


@metric(bounds=(0, 1), better="higher", source="S3, completeness score", cues=["completeness"])
def keyword_completeness(question: Keywords, answer: Words, *, stop_words: StopWords = STOP_WORDS) -> Floats:
    """Share of the question's keywords that the answer holds.

    S = \\|K ∩ A\\| / \\|K\\| where K are the distinct ``words`` of the question that are not among ``stop_words``
    (English and Russian built in) and longer than two characters, A those of the answer; 1 if K is empty.

    >>> import fastmetrics as fm
    >>> fm.keyword_completeness(["When was the Eiffel Tower built?"], ["The tower was built in 1889."]).round(3)
    array([0.667])
    """
    return completeness(question, answer)


def completeness(keywords: Tokens, answer: Tokens) -> Floats:
    """Share of the keywords that the answer holds, 1 if there are none."""
    counts = sets(keywords, answer)
    return divide(counts.shared, counts.a, empty=1.0)


@metric(bounds=(0, 0.2), better="lower", source="S3, topic drift gate")
def drift(answer: Words, contexts: Passages) -> Floats:
    """0.2 if less than a fifth of the answer's word pairs stand in the contexts, else 0.

    A pair is two neighbouring ``words``; every occurrence in the answer counts.  An answer of one word has none and
    does not drift.

    >>> import fastmetrics as fm
    >>> fm.drift(["Cats sleep all day.", "It was built in 1889."], [["The tower was built in 1889."]] * 2)
    array([0.2, 0. ])
    """
    return _drift(answer, contexts)


def _drift(answer: Tokens, contexts: Passage) -> Floats:
    n_words = max(answer.n_words, contexts.tokens.n_words)
    pairs = answer.memo.of(
        support.count_pairs,
        (contexts,),
        lambda: support.count_pairs(answer.ids, answer.starts, answer.stops, contexts.words, n_words),
    )
    share = divide(pairs, np.maximum(answer.counts - 1, 0), empty=1.0)
    return np.where(share < LOW_OVERLAP, DRIFT, 0.0)


@metric(bounds=(0, 1), better="lower", source="S3, hallucination score", cues=["faithfulness", "factuality"])
def hallucination(answer: Passages, contexts: Passages, *, window: Window = 30, claims: Parser = None) -> Floats:
    """Share of the answer's checkable facts that its contexts do not support; 0 is best.

    H = max(unsupported / total anchors, drift); the first term is 0 if there are no anchors.  Anchors are numbers,
    dates and times, which some context must hold as an equal value in any usual format, and assertive claims: each word
    of an object must stand within ``window`` words of its subject in one context, and each of a sentence's first
    subject near its object.  A pronoun takes the subject of the sentence before.  A subject that no context has fails,
    and its objects with it if it is a name (in capitals within the sentence); else they must only occur, as must the
    words of a sentence without a verb.  Questions and guesses ("may", "suggests") claim nothing; the numbers in them
    are anchors all the same.  ``fm.anchors`` names them.  Time grows with the length of the row, or, where the words of
    claims stand all over the contexts, with claims times words / 64.

    ``claims`` may be a spaCy pipeline that parses dependencies, ``"spacy:MODEL"``, or ``"spacy"`` for its small English
    one: then subjects, verbs and objects are those of its parses.  Raises ``MissingExtraError`` without spaCy.

    >>> import fastmetrics as fm
    >>> contexts = [["The Eiffel Tower was completed on 31 March 1889 and is 330 metres tall."]] * 2
    >>> fm.hallucination(["The tower was finished in 1889.", "The tower was finished in 1890."], contexts)
    array([0., 1.])
    """
    return unsupported(answer, contexts, window, claims)


def unsupported(answer: Passage, contexts: Passage, window: int, claims: Any) -> Floats:
    """The hallucination score, of what the batch already holds."""
    found = anchors(answer, contexts, window, claims)
    n = len(answer.text)
    missing = np.bincount(found.rows[~found.supported], minlength=n)
    share = divide(missing, np.bincount(found.rows, minlength=n), empty=0.0)
    return np.maximum(share, _drift(answer.tokens, contexts))


@metric(bounds=(0, 1), better="lower", source="S3, high hallucination risk")
def hallucination_risk(
    answer: Passages, contexts: Passages, *, threshold: Share = 0.6, window: Window = 30, claims: Parser = None
) -> Floats:
    """1 if ``hallucination`` is higher than ``threshold``, else 0; its options are taken too.

    >>> import fastmetrics as fm
    >>> fm.hallucination_risk(["It opened in 1890."], [["The tower opened in 1889."]])
    array([1.])
    """
    return (unsupported(answer, contexts, window, claims) > threshold).astype(np.float64)
