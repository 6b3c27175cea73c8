"""Counts over all pairs of two columns of texts, whose words and n-grams are counted once a text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Ints, Tokens
from fastmetrics.core.all_pair_tokens import Crossed
from fastmetrics.kernels.all_pairs import Grams, Posted, count_features, draw_lines, lcs_of_all, number_ngrams, post
from fastmetrics.kernels.ngrams import Lists

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
