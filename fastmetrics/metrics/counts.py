"""What metrics divide: counts over pairs of texts, made once per pair of columns and remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.arrays import Flags, Floats, Ints, Tokens
from fastmetrics.kernels import overlap


class Sets(NamedTuple):
    """Distinct tokens of each text of a pair, and of both."""

    a: Ints
    b: Ints
    shared: Ints


def shared(a: Tokens, b: Tokens) -> Ints:
    """Size of the multiset intersection of each pair."""
    return _once(overlap.count_shared, a, b, max(a.n_words, b.n_words))


def sets(a: Tokens, b: Tokens) -> Sets:
    """Distinct tokens of each pair."""
    return Sets(*_once(overlap.count_sets, a, b, max(a.n_words, b.n_words)))


def same(a: Tokens, b: Tokens) -> Flags:
    """Whether the texts of each pair have the same tokens in the same order."""
    return _once(overlap.same_sequence, a, b)


def _once(count: Callable[..., Any], a: Tokens, b: Tokens, *rest: int) -> Any:
    """``count`` of the two, remembered with ``a``; holding ``b`` keeps its id its own."""
    key = (count, id(b))
    if key not in a.memo:
        a.memo[key] = (b, count(a.ids, a.starts, a.stops, b.ids, b.starts, b.stops, *rest))
    return a.memo[key][1]


def divide(counts: Ints, totals: Ints | Floats, empty: float) -> Floats:
    """``counts / totals``, and ``empty`` where the total is 0."""
    return np.divide(counts, totals, out=np.full(len(counts), empty), where=totals != 0)


def harmonic(precision: Floats, recall: Floats) -> Floats:
    """F1 of precision and recall, 0 where both are; in the order of operations of the SQuAD script."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total != 0)
