"""Novelty: what an answer adds to its contexts."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels import claim_support
from fastmetrics.kernels.folding import UNLISTED
from fastmetrics.kernels.values import WEAK
from fastmetrics.metrics.batch import UNSPACED, Caution, Words, english_and_russian_words, written
from fastmetrics.metrics.claim_support import Passage, Passages, shared_pairs, supported_values, unread_anchors
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import divide

_NEGATIONS = english_and_russian_words("negations", "novel_word_rate needs none")
_NUMBERS = english_and_russian_words("number words", "numbers in digits count in any language")
_NAMES = Caution(
    "are in a script other than Latin and Cyrillic, and most others have no capital letters, by which names are found",
    "novel_word_rate needs none",
    written(UNLISTED),
)


@metric(
    bounds=(0, 1),
    better="lower",
    source="See et al. 2017, novel n-grams (n = 1), over content words",
    cues=["novel_ngrams", "novelty", "extractiveness"],
    caution=UNSPACED,
)
def novel_word_rate(answer: Passages, contexts: Passages) -> Floats:
    """Share of the answer's content words that no context contains in any form.

    R = novel / content: the ``words`` of the answer that are no stop words (English and Russian) and no negations, and
    those of them whose form without its ending (as in ``hallucination``) no context contains.  Repeated words count
    each time.  Undefined (NaN) for an answer without content words, null where answer or contexts are missing.

    >>> import fastmetrics as fm
    >>> contexts = [["The tower was completed in 1889. It attracts visitors."]] * 2
    >>> fm.novel_word_rate(["The towers attract a visitor.", "The bridge attracts a visitor."], contexts).round(3)
    array([0.   , 0.333])
    """
    content, shared, _ = _content_words(answer, contexts)
    return divide(content - shared, content, empty=np.nan)


@metric(
    bounds=(0, 1),
    better="lower",
    source="See et al. 2017, novel n-grams (n = 2)",
    cues=["novel_ngrams", "novelty", "extractiveness"],
    caution=UNSPACED,
)
def novel_bigram_rate(answer: Words, contexts: Passages) -> Floats:
    """Share of the answer's pairs of adjacent words that are adjacent in no context.

    R = novel / (words - 1), over the ``words`` of the answer; every occurrence counts, and no pair spans two contexts.
    ``drift`` is 0.2 where R is above 0.8.  Undefined (NaN) for an answer of fewer than two words, null where
    answer or contexts are missing.

    >>> import fastmetrics as fm
    >>> fm.novel_bigram_rate(["Bob met Ann"], [["Ann met Bob", "Bob met Eve"]])
    array([0.5])
    """
    pairs = np.maximum(answer.counts - 1, 0)
    return divide(pairs - shared_pairs(answer, contexts), pairs, empty=np.nan)


@metric(
    bounds=(0, 1),
    better="lower",
    source="Nan et al. 2021, 1 - precision of the entities against the source",
    cues=["entity_precision", "novel_entity_rate", "factuality"],
    caution=_NAMES,
)
def novel_name_rate(answer: Passages, contexts: Passages) -> Floats:
    """Share of the names in the answer that no context contains.

    R = novel / names.  Names are found by their capital letter, not by a model: each of the ``words`` that begins with
    one, is no stop word, and is not the first of its sentence.  A name is novel if its lowercase form is no word of a
    context; a name of two words counts twice.  German nouns count as names, as do all words of a text in capitals.
    Names in scripts without capital letters are not found, and a summary notes such rows.  Undefined (NaN) for an
    answer without names, null where answer or contexts are missing.

    >>> import fastmetrics as fm
    >>> fm.novel_name_rate(["Later, Gustave Eiffel met Ann."], [["Eiffel built it; Ann was there."]]).round(3)
    array([0.333])
    """
    n_words = len(answer.vocabulary)
    names, novel = claim_support.count_names(answer.marks, answer.ids, answer.roles, contexts.words, n_words)
    return divide(novel, names, empty=np.nan)


@metric(
    bounds=(0, 1),
    better="lower",
    source="Nan et al. 2021, 1 - precision against the source, over numbers, dates and times",
    cues=["number_precision", "numeric_accuracy", "factuality"],
    caution=_NUMBERS,
    unread=unread_anchors,
)
def novel_number_rate(answer: Passages, contexts: Passages) -> Floats:
    """Share of the answer's numbers, dates and times that no context contains.

    R = novel / all: the anchors of ``hallucination`` without its claims.  A context contains a value if it has an equal
    one in any usual format.  Undefined (NaN) for an answer without numbers, dates and times, null where answer or
    contexts are missing.

    >>> import fastmetrics as fm
    >>> fm.novel_number_rate(["In May 1889, 1,000 came."], [["Some 1000 came on 6 May 1890."]])
    array([0.5])
    """
    values, supported, _ = supported_values(answer, contexts)
    strong = values.kinds < WEAK
    rows = np.repeat(np.arange(len(answer.text)), np.diff(values.bounds))
    n = len(answer.text)
    novel = np.bincount(rows[strong & ~supported], minlength=n)
    return divide(novel, np.bincount(rows[strong], minlength=n), empty=np.nan)


@metric(
    bounds=(0, 1),
    better="lower",
    source="Kryscinski et al. 2020, negated sentences as errors; Hutto and Gilbert 2014, the reach of a negation",
    cues=["negation"],
    caution=_NEGATIONS,
)
def negation_mismatch(answer: Passages, contexts: Passages) -> Floats:
    """Share of the answer's content words that the contexts contain, but with the opposite polarity alone.

    R = opposite / shared.  Shared are the content words of ``novel_word_rate`` that a context contains.  A word is
    negated if one of the three ``words`` before it in its text is a negation: "not", "no", "never", "without", "n't"
    and the like, in English and Russian.  It counts as opposite if it is negated in the answer and nowhere in the
    contexts, or the reverse.  Undefined (NaN) without shared words, null where answer or contexts are missing.

    >>> import fastmetrics as fm
    >>> fm.negation_mismatch(["The museum isn't open on Monday."], [["The museum is open on Monday."]]).round(3)
    array([0.667])
    """
    _, shared, opposite = _content_words(answer, contexts)
    return divide(opposite, shared, empty=np.nan)


def _content_words(answer: Passage, contexts: Passage) -> tuple[Ints, Ints, Ints]:
    """The counts of ``count_content_words``."""
    tokens, senses = answer.tokens, answer.senses
    words = claim_support.WordKinds(senses.roles, senses.negations, senses.stems)
    counts: tuple[Ints, Ints, Ints] = answer.memo.remember(
        claim_support.count_content_words,
        lambda: claim_support.count_content_words(
            tokens.ids, tokens.starts, tokens.stops, contexts.words, words, senses.n_stems
        ),
        contexts,
    )
    return counts
