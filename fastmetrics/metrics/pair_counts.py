"""Counts over pairs of texts, the numerators and denominators of metrics; computed once for each pair of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints, Tokens
from fastmetrics.kernels import token_overlap as overlap
from fastmetrics.kernels.lcs import lcs_lengths
from fastmetrics.kernels.ngrams import LONGEST, TOP, Lists, count_ngrams
from fastmetrics.text.tokenize import SECRET


def lists(tokens: Tokens) -> Lists:
    """The tokens in the form that kernels take."""
    return Lists(tokens.ids, tokens.starts, tokens.stops)


# Counts over pairs of texts, the numerators and denominators of metrics; computed once per pair of columns.


class Sets(NamedTuple):
    """Distinct tokens of each text of a pair, and of both."""

    a: Ints
    b: Ints
    shared: Ints


def shared(a: Tokens, b: Tokens) -> Ints:
    """Size of the multiset intersection of each pair."""
    return _once(overlap.count_shared, a, b)


def sets(a: Tokens, b: Tokens) -> Sets:
    """Distinct tokens of each pair."""
    return Sets(*_once(overlap.count_sets, a, b))


def same(a: Tokens, b: Tokens) -> Flags:
    """Whether the texts of each pair have the same tokens in the same order."""
    return a.memo.remember(
        overlap.same_sequence, lambda: overlap.same_sequence(a.ids, a.starts, a.stops, b.ids, b.starts, b.stops), b
    )


def ngrams(a: Tokens, b: Tokens, order: int) -> Ints:
    """For each order, up to at least ``order``, and each pair: the size of the multiset intersection of the n-grams."""
    counted: dict[str, Ints] = a.memo.remember(count_ngrams, dict, b)
    longest = counted.get("longest")
    if longest is None and order == 1:
        return shared(a, b)[np.newaxis]
    if longest is None or len(longest) < order:
        counted["longest"] = longest = _matches(a, b, order)
    return longest


def _matches(a: Tokens, b: Tokens, order: int) -> Ints:
    grouped, groups = _grouped(a)
    return count_ngrams(
        lists(grouped), lists(b), groups, max(a.n_words, b.n_words), order, False, SECRET[1], TOP, LONGEST
    )


def clipped(a: Tokens, b: Tokens, groups: Ints, orders: int) -> Ints:
    """Per order up to ``orders`` and row: n-grams of a that match the texts ``groups[row]:groups[row + 1]`` of b."""
    n_words = max(a.n_words, b.n_words)
    return a.memo.remember(
        (clipped, orders),
        lambda: count_ngrams(lists(a), lists(b), groups, n_words, orders, True, SECRET[1], TOP, LONGEST),
        b,
    )


def lcs(a: Tokens, b: Tokens) -> Ints:
    """Length of the longest common subsequence of each pair."""
    return a.memo.remember(lcs_lengths, lambda: lcs_lengths(lists(a), lists(b), max(a.n_words, b.n_words)), b)


def _once(count: Callable[..., Any], a: Tokens, b: Tokens) -> Any:
    """``count`` of each pair, cached with ``a``."""

    def compute() -> Any:
        grouped, groups = _grouped(a)
        n_words = max(a.n_words, b.n_words)
        return count(grouped.ids, grouped.starts, grouped.stops, b.ids, b.starts, b.stops, groups, n_words)

    return a.memo.remember(count, compute, b)


def _grouped(tokens: Tokens) -> tuple[Tokens, Ints]:
    """Adjacent repeated texts, such as an answer with several references, merged into one; and their groups.

    Text i stands for the texts ``groups[i]:groups[i + 1]``.
    """
    starts, stops = tokens.starts, tokens.stops
    new = (starts[1:] != starts[:-1]) | (stops[1:] != stops[:-1])
    if new.all():
        return tokens, np.arange(len(tokens) + 1)
    firsts = np.concatenate([[0], np.flatnonzero(new) + 1])
    return tokens.take(firsts), np.append(firsts, len(tokens))


def divide(counts: Ints, totals: Ints | Floats, empty: float) -> Floats:
    """``counts / totals``, and ``empty`` where the total is 0."""
    return np.divide(counts, totals, out=np.full(len(counts), empty), where=totals != 0)


def shares(counts: Ints, of_a: Ints, of_b: Ints) -> Floats:
    """Precision, recall and F1 of each pair, in three rows: 0 where nothing can be divided by."""
    return overlap.overlap_shares(counts, of_a, of_b)
