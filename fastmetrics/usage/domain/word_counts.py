r"""The words of questions, ``[\w-]{3,}`` in lower case: their counts, and the words that distinguish two groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, text_of_arrow
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.usage.counts_by_key import KEY, counted

SHORTEST = 3


class LogWords(NamedTuple):
    """The words of some texts: word i has the number ``ids[i]`` and is in text ``rows[i]``."""

    ids: Ints
    rows: Ints
    spelled: pa.Array


def words_of(texts: pa.Array, name: str = "question") -> LogWords:
    """The words of three characters or more."""
    vocabulary = Vocabulary(convention("hyphen_words"))
    tokens = vocabulary.tokenize(text_of_arrow(texts, name))
    text = vocabulary.spelled(0)
    bounds = np.append(text.starts, text.stops[-1:]).astype(np.int64)
    bounds = bounds if len(bounds) else np.zeros(1, np.int64)
    spelled = pa.Array.from_buffers(pa.large_string(), len(text), [None, pa.py_buffer(bounds), pa.py_buffer(text.data)])
    long = np.asarray(pc.greater_equal(pc.utf8_length(spelled), SHORTEST))
    words = tokens.where(long) if len(long) else tokens
    rows = np.repeat(np.arange(len(words)), words.counts)
    return LogWords(words.ids.astype(np.int64), rows, spelled)


def word_counts(words: LogWords, answered: Flags | None) -> pa.Table:
    """A tally of words: counts in all texts and in answered ones."""
    n = len(words.spelled)
    counts = {"all": np.bincount(words.ids, minlength=n)}
    counts["answered"] = (
        counts["all"] if answered is None else np.bincount(words.ids[answered[words.rows]], minlength=n)
    )
    present = counts["all"] > 0
    return counted(words.spelled.filter(pa.array(present)), {name: values[present] for name, values in counts.items()})


def log_odds(left: Ints, right: Ints) -> Floats:
    """z-scores of the log-odds ratio of each word between two groups; the prior is the words of both groups.

    With counts y and n = Σy of a group, counts α of both groups and α₀ = Σα: δ = ln((y₁+α)/(n₁+α₀−y₁−α)) −
    ln((y₂+α)/(n₂+α₀−y₂−α)), z = δ / √(1/(y₁+α) + 1/(y₂+α)).  A logarithm with denominator 0, for example with only
    one word, counts as 0.  Source: Monroe, Colaresi and Quinn 2008, equations 15 to 22.
    """
    prior = (left + right).astype(np.float64)
    total = prior.sum()
    delta, variance = np.zeros(len(prior)), np.zeros(len(prior))
    for sign, counts in ((1.0, left), (-1.0, right)):
        own = counts + prior
        others = counts.sum() + total - own
        ratio = np.divide(own, others, out=np.ones(len(own)), where=others > 0)
        delta += sign * np.log(ratio)
        variance += 1 / own
    return delta / np.sqrt(variance)


def most(table: pa.Table, weights: Ints | Floats, count: int) -> list[tuple[str, float]]:
    """The words of a tally with the largest weights above 0, ties in the order of the words."""
    return [(word, float(weight)) for word, weight in _ordered(table, weights, count) if weight > 0]


def _ordered(table: pa.Table, weights: Ints | Floats, count: int) -> list[tuple[str, float]]:
    """The largest weights; among ties with the last, the first words."""
    if not len(weights):
        return []
    weighted = pa.table({"weight": weights, KEY: table[KEY]})
    first = pc.select_k_unstable(weighted, min(count, len(weights)), [("weight", "descending"), (KEY, "ascending")])
    columns = weighted.take(first).to_pydict()
    return list(zip(columns[KEY], columns["weight"], strict=True))
