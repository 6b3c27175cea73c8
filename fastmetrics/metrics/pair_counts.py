"""Counts over pairs of texts, the numerators and denominators of metrics; computed once for each pair of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints, Tokens
from fastmetrics.kernels import token_overlap as overlap
from fastmetrics.kernels.all_pairs import Grams, Posted, count_features, draw_lines, lcs_of_all, number_ngrams, post
from fastmetrics.kernels.lcs import lcs_lengths
from fastmetrics.kernels.ngrams import Lists, count_ngrams
from fastmetrics.metrics.batch import Crossed
from fastmetrics.text.tokenize import SECRET

# Counts over all pairs of two columns of texts, whose words and n-grams are counted once a text.


_FREQUENT = 8
"""A feature that one text in so many has is a bit: 64 of them take as long as the pairs that share such a feature."""


class CrossedTexts(NamedTuple):
    """The distinct texts of both sides of all pairs."""

    first: Tokens
    second: Tokens


class _Index(NamedTuple):
    grams: Grams
    posted: Posted


def crossed_texts(a: Tokens, b: Tokens) -> CrossedTexts | None:
    """The distinct texts of ``a`` and ``b`` in the order of the pairs, or None if the rows are not all pairs."""
    if isinstance(a, Crossed) and isinstance(b, Crossed) and a.is_first != b.is_first:
        return CrossedTexts(a.texts, b.texts) if a.is_first else CrossedTexts(b.texts, a.texts)
    return None


def matches(pairs: CrossedTexts, orders: int, *, distinct: bool = False) -> Ints:
    """For each order and pair: the size of the multiset intersection of the n-grams; of sets if ``distinct``."""
    first, second = pairs
    index = second.memo.of(("all pairs", orders, distinct), (), lambda: _index(second, orders, distinct))
    shared = np.zeros((orders, len(first), len(second)), np.int64)
    count_features(lists(first), index.grams, index.posted, shared)
    return shared.reshape(orders, -1)


def common_order(pairs: CrossedTexts) -> Ints:
    """For each pair: the length of the longest common subsequence."""
    first, second = pairs
    n_words = max(first.n_words, second.n_words)
    return lcs_of_all(lists(first), lists(second), n_words).reshape(-1)


def lists(tokens: Tokens) -> Lists:
    """The tokens in the form that kernels take."""
    return Lists(tokens.ids, tokens.starts, tokens.stops)


def _index(texts: Tokens, orders: int, distinct: bool) -> _Index:
    """The n-grams of the texts, and which texts have each."""
    grams, features, begins = number_ngrams(lists(texts), orders, distinct)
    starts, owners = post(features, texts.counts, int(begins[-1]) - 1)
    frequent = _FREQUENT * np.diff(starts) >= max(len(texts), 1)
    bits = np.full(len(frequent), -1, np.int32)
    firsts = np.zeros(orders + 1, np.int64)
    for order in range(orders):
        of_order = begins[order] + np.flatnonzero(frequent[begins[order] : begins[order + 1]])
        bits[of_order] = 64 * firsts[order] + np.arange(len(of_order))
        firsts[order + 1] = firsts[order] + -(-len(of_order) // 64)
    posted = Posted(starts, owners, bits, np.zeros((firsts[-1], len(texts)), np.uint64), firsts)
    draw_lines(posted)
    return _Index(grams, posted)


# Counts over pairs of texts, the numerators and denominators of metrics; computed once per pair of columns.


class Sets(NamedTuple):
    """Distinct tokens of each text of a pair, and of both."""

    a: Ints
    b: Ints
    shared: Ints


def shared(a: Tokens, b: Tokens) -> Ints:
    """Size of the multiset intersection of each pair."""
    pairs = crossed_texts(a, b)
    if pairs is not None:
        return a.memo.of(overlap.count_shared, (b,), lambda: matches(pairs, 1)[0])
    return _once(overlap.count_shared, a, b)


def sets(a: Tokens, b: Tokens) -> Sets:
    """Distinct tokens of each pair."""
    pairs = crossed_texts(a, b)
    if pairs is None:
        return Sets(*_once(overlap.count_sets, a, b))
    common = a.memo.of(overlap.count_sets, (b,), lambda: matches(pairs, 1, distinct=True)[0])
    of_first, of_second = (_once(overlap.count_sets, texts, texts)[0] for texts in pairs)
    of_first, of_second = np.repeat(of_first, len(of_second)), np.tile(of_second, len(of_first))
    a_is_first = isinstance(a, Crossed) and a.is_first
    return Sets(of_first, of_second, common) if a_is_first else Sets(of_second, of_first, common)


def same(a: Tokens, b: Tokens) -> Flags:
    """Whether the texts of each pair have the same tokens in the same order."""
    return a.memo.of(
        overlap.same_sequence,
        (b,),
        lambda: overlap.same_sequence(a.ids, a.starts, a.stops, b.ids, b.starts, b.stops),
    )


def ngrams(a: Tokens, b: Tokens, order: int) -> Ints:
    """For each order, up to at least ``order``, and each pair: the size of the multiset intersection of the n-grams."""
    counted: dict[str, Ints] = a.memo.of(count_ngrams, (b,), dict)
    longest = counted.get("longest")
    if longest is None and order == 1:
        return shared(a, b)[np.newaxis]
    if longest is None or len(longest) < order:
        counted["longest"] = longest = _matches(a, b, order)
    return longest


def _matches(a: Tokens, b: Tokens, order: int) -> Ints:
    pairs = crossed_texts(a, b)
    if pairs is not None:
        return matches(pairs, order)
    grouped, groups = _grouped(a)
    return count_ngrams(lists(grouped), lists(b), groups, max(a.n_words, b.n_words), order, False, SECRET[1])


def clipped(a: Tokens, b: Tokens, groups: Ints, orders: int) -> Ints:
    """Per order up to ``orders`` and row: n-grams of a that match the texts ``groups[row]:groups[row + 1]`` of b."""
    pairs, n_words = crossed_texts(a, b), max(a.n_words, b.n_words)
    if pairs is not None:  # each group is one text
        return a.memo.of((clipped, orders), (b,), lambda: matches(pairs, orders))
    return a.memo.of(
        (clipped, orders),
        (b,),
        lambda: count_ngrams(lists(a), lists(b), groups, n_words, orders, True, SECRET[1]),
    )


def lcs(a: Tokens, b: Tokens) -> Ints:
    """Length of the longest common subsequence of each pair."""
    pairs = crossed_texts(a, b)
    if pairs is not None:
        return a.memo.of(lcs_lengths, (b,), lambda: common_order(pairs))
    return a.memo.of(lcs_lengths, (b,), lambda: lcs_lengths(lists(a), lists(b), max(a.n_words, b.n_words)))


def _once(count: Callable[..., Any], a: Tokens, b: Tokens) -> Any:
    """``count`` of each pair, cached with ``a``."""

    def compute() -> Any:
        grouped, groups = _grouped(a)
        n_words = max(a.n_words, b.n_words)
        return count(grouped.ids, grouped.starts, grouped.stops, b.ids, b.starts, b.stops, groups, n_words)

    return a.memo.of(count, (b,), compute)


def _grouped(tokens: Tokens) -> tuple[Tokens, Ints]:
    """Adjacent repeated texts, such as an answer with several references, merged into one; and their groups.

    Text i stands for the texts ``groups[i]:groups[i + 1]``.
    """
    new = (np.diff(tokens.starts) != 0) | (np.diff(tokens.stops) != 0)
    if new.all():
        return tokens, np.arange(len(tokens) + 1)
    firsts = np.concatenate([[0], np.flatnonzero(new) + 1])
    return tokens.take(firsts), np.append(firsts, len(tokens))


def divide(counts: Ints, totals: Ints | Floats, empty: float) -> Floats:
    """``counts / totals``, and ``empty`` where the total is 0."""
    return np.divide(counts, totals, out=np.full(len(counts), empty), where=totals != 0)


def harmonic(precision: Floats, recall: Floats) -> Floats:
    """F1 of precision and recall, 0 if both are 0; operations are in the order of the SQuAD script."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total != 0)
