"""The typical words and questions of a topic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.text.lexicons import lexicon
from fastmetrics.usage.domain.word_counts import words_of
from fastmetrics.usage.log import Units

WORDS, SAMPLES = 10, 5


def typical_words(questions: pa.Array, topic: Ints, n: int) -> list[list[str]]:
    """The 10 words of each topic with the largest class-based TF-IDF; ties in the order of the words.

    W = f(word, topic) · ln(1 + A / f(word)), with A the mean number of words of a topic.  Source: Grootendorst 2022.
    """
    words = words_of(questions)
    stop = pa.array([*lexicon("stop_en"), *lexicon("stop_ru")], pa.large_string())
    mask = ~np.asarray(pc.is_in(words.spelled, stop))[words.ids] & (topic[words.rows] >= 0)
    ids, owner = words.ids[mask], topic[words.rows[mask]]
    every = np.bincount(ids, minlength=len(words.spelled))
    pairs, counts = np.unique(owner * max(len(words.spelled), 1) + ids, return_counts=True)
    owner, ids = np.divmod(pairs, max(len(words.spelled), 1))
    weights = counts * np.log1p(len(mask[mask]) / n / every[ids]) if n else counts
    lists = []
    for at in range(n):
        own = np.flatnonzero(owner == at)
        least = np.partition(weights[own], -WORDS)[-WORDS] if len(own) > WORDS else 0.0
        own = own[weights[own] >= least]
        spelled = words.spelled.take(pa.array(ids[own])).to_pylist()
        lists.append([word for _, word in sorted(zip((-weights[own]).tolist(), spelled, strict=True))[:WORDS]])
    return lists


def samples(questions: pa.Array, units: Units, topic: Ints, n: int) -> list[list[str]]:
    """The 5 distinct questions of each topic nearest to its centre; ties go to the first rows."""
    codes = np.asarray(questions.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
    lists = []
    for at in range(n):
        rows = np.flatnonzero((topic == at) & (codes >= 0))
        near = units[rows] @ units[rows].mean(axis=0) if len(rows) else np.zeros(0)
        rows = rows[np.argsort(-near.round(6), kind="stable")]
        first = np.sort(np.unique(codes[rows], return_index=True)[1])[:SAMPLES]
        lists.append(questions.take(pa.array(rows[first])).to_pylist())
    return lists
