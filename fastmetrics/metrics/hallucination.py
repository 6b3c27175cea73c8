"""Completeness and hallucination (the answer checks)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Tokens
from fastmetrics.base.options import MOST, Choice, LimitedTexts, Real, Whole
from fastmetrics.kernels.folding import FOREIGN
from fastmetrics.metrics.batch import (
    UNSPACED,
    Batch,
    Caution,
    Number,
    Numbers,
    Options,
    Words,
    english_and_russian_words,
    need,
    written,
)
from fastmetrics.metrics.claim_support import (
    Passage,
    Passages,
    anchors,
    has_values_only,
    senses_of,
    shared_pairs,
    unread_anchors,
)
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.pair_counts import divide, sets
from fastmetrics.text.word_roles import STOP_WORDS

StopWords = Annotated[tuple[str, ...], LimitedTexts(what="words"), "words that say nothing of their own"]
Window = Annotated[int, Whole(0, MOST), "the largest distance of the words of a claim in its context, in words"]
Share = Annotated[float, Real(0.0, 1.0)]
Claims = Annotated[
    str,
    Choice("words", "entailment"),
    "what supports claims: words of the contexts, or the column entailment, which a local model made",
]

LONG = 3
"""Minimum length of a keyword, in characters; one of two capitals is shorter."""

LOW_OVERLAP, DRIFT = 0.2, 0.2
"""The share of word pairs below which an answer drifts, and its minimum score then."""


def keywords_in(batch: Batch, column: str, options: Mapping[str, Any]) -> Tokens:
    """Keywords: words that are long enough and not stop words, under the option ``stop_words``."""
    stop_words = tuple(options["stop_words"])
    return batch.remember(("keywords", column, stop_words), lambda: _keywords(batch, column, stop_words))


Keywords = Annotated[Tokens, need(keywords_in, convention="words")]


def _keywords(batch: Batch, column: str, stop_words: tuple[str, ...]) -> Tokens:
    tokens, stop = batch.tokens(column, "words"), batch.vocabulary("words").ids_of(stop_words)
    lengths = senses_of(batch).lengths
    keep, pairs = lengths >= LONG, lengths == LONG - 1
    keep[stop] = pairs[stop] = False
    mask = keep[tokens.ids]
    text = batch.text(column)
    before = np.concatenate([[0], np.cumsum(pairs[tokens.ids])])
    for row in np.flatnonzero(before[tokens.stops] > before[tokens.starts]).tolist():  # few questions
        words = re.findall(r"\w+", text.take(np.array([row])).strings()[0])
        if len(words) == tokens.counts[row]:  # lower case may change the number of words, in very few texts
            capital = [k for k, word in enumerate(words) if len(word) == LONG - 1 and word.isupper()]
            named = tokens.starts[row] + np.array(capital, np.int64)
            mask[named[pairs[tokens.ids[named]]]] = True
    return tokens.masked(mask)


_STOP_WORDS = english_and_russian_words("stop words", "stop_words=[...] sets those of other languages")
_VERBS = english_and_russian_words("verbs of claims", "numbers, dates and times are checked in every language")


def other_keywords(options: Options) -> Caution:
    """The caution of the built-in stop words, or of the user's own."""
    return _STOP_WORDS if options["stop_words"] == STOP_WORDS else UNSPACED


def _apart(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
    """The rows whose answer is in Latin letters and whose contexts are not, or the reverse."""
    answer, contexts = (written(FOREIGN)(batch, options, [column]) for column in ("answer", "contexts"))
    if answer is None or contexts is None:
        return contexts if answer is None else answer
    return answer != contexts


_APART = Caution(
    "have an answer in another script than the contexts",
    "the words of one cannot occur in the other, only numbers and dates can",
    _apart,
)


OTHER_VERBS = _VERBS, _APART
"""The cautions of claims that are found by lists of verbs, and of answers in another script than their contexts."""


def of_claims(options: Options) -> tuple[Caution, ...]:
    """The cautions of claims; a model reads every language, but words are still compared for the drift."""
    return OTHER_VERBS if options["claims"] == "words" else (_APART,)


BY_MODEL = RowHooks(needed=lambda options: ["entailment"] if options["claims"] == "entailment" else [])
"""The column that claims need which a model judged."""


@metric(
    bounds=(0, 1),
    better="higher",
    source="S3, completeness score",
    cues=["completeness"],
    caution=other_keywords,
)
def keyword_completeness(question: Keywords, answer: Words, *, stop_words: StopWords = STOP_WORDS) -> Floats:
    """Share of the question's keywords that occur in the answer.

    S = \\|K ∩ A\\| / \\|K\\| where K are the distinct ``words`` of the question that are not in ``stop_words`` (English
    and Russian built in) and longer than two characters, or two capitals (AI, EU); A those of the answer; 1 if K is
    empty.

    >>> import fastmetrics as fm
    >>> fm.keyword_completeness(["When was the Eiffel Tower built?"], ["The tower was built in 1889."]).round(3)
    array([0.667])
    """
    return completeness(question, answer)


def completeness(keywords: Tokens, answer: Tokens) -> Floats:
    """Share of the keywords that occur in the answer, 1 without keywords."""
    counts = sets(keywords, answer)
    return divide(counts.shared, counts.a, empty=1.0)


@metric(bounds=(0, 0.2), better="lower", source="S3, topic drift gate", caution=(UNSPACED, _APART))
def drift(answer: Passages, contexts: Passages) -> Floats:
    """0.2 if less than a fifth of the answer's word pairs occur in the contexts, else 0.

    A pair is two adjacent ``words``; every occurrence in the answer counts.  An answer of one word has no pairs and
    does not drift, nor does one that consists of stop words and numbers, dates and times which the contexts contain in
    any format.

    >>> import fastmetrics as fm
    >>> fm.drift(["Cats sleep all day.", "It was built in 1889."], [["The tower was built in 1889."]] * 2)
    array([0.2, 0. ])
    """
    return _drift(answer, contexts)


@metric(bounds=(0, 1), better="higher", source="S3, topic drift gate", caution=(UNSPACED, _APART), usual=False)
def ngram_overlap(answer: Passages, contexts: Passages) -> Floats:
    """Share of the answer's word pairs that occur in the contexts, by which ``drift`` decides; 1 without pairs.

    >>> import fastmetrics as fm
    >>> fm.ngram_overlap(["Cats sleep all day.", "The tower was built."], [["The tower was built in 1889."]] * 2)
    array([0., 1.])
    """
    return _overlap(answer, contexts)


def _overlap(answer: Passage, contexts: Passage) -> Floats:
    tokens = answer.tokens
    return divide(shared_pairs(tokens, contexts), np.maximum(tokens.counts - 1, 0), empty=1.0)


def _drift(answer: Passage, contexts: Passage) -> Floats:
    drifts = _overlap(answer, contexts) < LOW_OVERLAP
    if drifts.any():
        drifts &= ~has_values_only(answer, contexts)
    return np.where(drifts, DRIFT, 0.0)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S3, hallucination score",
    cues=["faithfulness", "factuality"],
    rows=BY_MODEL,
    caution=of_claims,
    unread=unread_anchors,
)
def hallucination(
    answer: Passages,
    contexts: Passages,
    entailment: Number | None = None,
    *,
    claims: Claims = "words",
    window: Window = 30,
) -> Floats:
    """Share of the answer's checkable facts that its contexts do not support; 0 is best.

    H = max(unsupported / anchors, drift); the first term is 0 without anchors.  Anchors are numbers, dates and
    times, and assertive claims.  A number, date or time is supported if a context contains an equal value, with its
    sign, in any usual format.

    A claim is a triple of subject, verb and object: one anchor for each clause whose verb asserts.  It is supported if
    three quarters of the subject's words and three quarters of the object's (all of three or fewer) occur in one
    context, no two of them more than ``window`` words apart; the verb is not compared.  A number without support also
    fails the claim of its clause, unless it follows a word such as "in".  Questions, guesses ("may"), courtesy,
    sentences without a verb ("Капитан — Пётр") and an "I don't know" claim nothing, but their numbers are anchors; by
    the source's formula the words of an "I don't know" still drift (0.2).  The verbs are English and Russian.

    With ``claims="entailment"``, the first term is 1 - ``entailment``, a column that ``fm.models.entailment`` makes; a
    row without it is missing.

    Time grows with the occurrences of the rarest word of each claim in the contexts.

    >>> import fastmetrics as fm
    >>> contexts = [["The Eiffel Tower was completed on 31 March 1889 and is 330 metres tall."]] * 2
    >>> fm.hallucination(["The tower was finished in 1889.", "The tower was finished in 1890."], contexts)
    array([0., 1.])
    """
    return unsupported(answer, contexts, window, entailment if claims == "entailment" else None)


def unsupported(answer: Passage, contexts: Passage, window: int, entailed: Numbers | None = None) -> Floats:
    """The hallucination score from the data of the batch; claims are supported as they are ``entailed``, if given."""
    shares = anchors(answer, contexts, window).unsupported_shares if entailed is None else 1.0 - entailed.values
    return np.maximum(shares, _drift(answer, contexts))


@metric(
    bounds=(0, 1), better="lower", source="S3, scoring logic", caution=OTHER_VERBS, usual=False, unread=unread_anchors
)
def unsupported_share(answer: Passages, contexts: Passages, *, window: Window = 30) -> Floats:
    """Share of the answer's anchors that its contexts do not support, without the drift; 0 without anchors.

    >>> import fastmetrics as fm
    >>> fm.unsupported_share(["It was finished in 1889.", "In 1890."], [["It was finished in 1889."]] * 2)
    array([0., 1.])
    """
    return anchors(answer, contexts, window).unsupported_shares


@metric(
    bounds=(0, np.inf),
    better=None,
    source="S3, anchor extraction",
    caution=OTHER_VERBS,
    usual=False,
    unread=unread_anchors,
)
def anchor_count(answer: Passages, contexts: Passages, *, window: Window = 30) -> Floats:
    """Number of the answer's anchors: its numbers, dates and times, and its claims.

    >>> import fastmetrics as fm
    >>> fm.anchor_count(["It was finished in 1889."], [["It was finished in 1889."]])
    array([1.])
    """
    return anchors(answer, contexts, window).counts.astype(np.float64)


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S3, evidence matching",
    caution=OTHER_VERBS,
    usual=False,
    unread=unread_anchors,
)
def unsupported_count(answer: Passages, contexts: Passages, *, window: Window = 30) -> Floats:
    """Number of the answer's anchors that its contexts do not support.

    >>> import fastmetrics as fm
    >>> fm.unsupported_count(["It was finished in 1890."], [["It was finished in 1889."]])
    array([1.])
    """
    return anchors(answer, contexts, window).unsupported.astype(np.float64)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S3, high hallucination risk",
    rows=BY_MODEL,
    caution=of_claims,
    unread=unread_anchors,
)
def hallucination_risk(
    answer: Passages,
    contexts: Passages,
    entailment: Number | None = None,
    *,
    claims: Claims = "words",
    threshold: Annotated[Share, "the hallucination above which an answer is at risk"] = 0.6,
    window: Window = 30,
) -> Floats:
    """1 if ``hallucination`` is higher than ``threshold``, else 0; accepts its options.

    >>> import fastmetrics as fm
    >>> fm.hallucination_risk(["It opened in 1890."], [["The tower opened in 1889."]])
    array([1.])
    """
    entailed = entailment if claims == "entailment" else None
    return (unsupported(answer, contexts, window, entailed) > threshold).astype(np.float64)
