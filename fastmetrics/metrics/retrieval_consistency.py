"""Whether repeats of one query retrieve the same documents (S2): one number a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Choice, Real, Rows, argument
from fastmetrics.core.arrays import Floats, Ints, codes_of
from fastmetrics.errors import ColumnError
from fastmetrics.kernels.ranking import ids as id_kernels
from fastmetrics.kernels.ranking import rank_overlap as kernels
from fastmetrics.retrieval.ids import frozen, offsets, spans, take_ids
from fastmetrics.retrieval.rankings import Rankings, rankings


def retrieval_consistency(question: Any, retrieved_ids: Any, *, k: int = 10, against: str = "pairs") -> float:
    """How much the first ``k`` documents of the repeats of a query have in common.

    For each query that occurs twice or more, the mean over all pairs of its repeats of |A ∩ B| / |A ∪ B| of their
    first ``k`` documents (1 for two empty ones); then the mean over these queries, NaN if there is none.  ``question``
    holds what tells queries apart, texts or ids; rows that lack it, or their ranking, are left out.

    ``against="first"`` is the reading of S2: the share of all repeats, the first row of each query left out, whose
    first ``k`` documents are those of that row in the same order.

    >>> retrieval_consistency(["q", "q", "r"], [["a", "b"], ["b", "c"], ["d"]], k=2)
    0.3333333333333333

    Raises ``ColumnError`` for columns of different length, ``OptionError`` for k below 1 and for an ``against`` that is
    neither ``"pairs"`` nor ``"first"``.  Source: S2, tier 1.
    """
    k = argument("k", k, Rows)
    if argument("against", against, Choice("pairs", "first")) == "first":
        return _as_the_first(question, retrieved_ids, k)
    return _over_pairs(question, retrieved_ids, k, kernels.shares_in_common)


def retrieval_rbo(question: Any, retrieved_ids: Any, *, p: float = 0.9) -> float:
    """Rank-biased overlap of the rankings of the repeats of a query.

    Pairs and queries are put together as in :func:`retrieval_consistency`.  RBO of two rankings of lengths s ≤ l, with
    X_d ids in common after d ranks, extrapolated to what follows:
    (1-p)/p · (Σ_{d≤l} X_d/d · p^d + Σ_{s<d≤l} X_s(d-s)/(sd) · p^d) + ((X_l - X_s)/l + X_s/s) · p^l.

    >>> round(retrieval_rbo([1, 1], [["a", "b", "c"], ["a", "b", "c"]]), 12)
    1.0

    Raises ``OptionError`` unless 0 < p < 1.  Source: S2, tier 1; Webber, Moffat and Zobel 2010, equation 32.
    """
    argument("p", p, Real(0.0, 1.0, above=True, below=True))
    return _over_pairs(
        question, retrieved_ids, None, lambda ids, starts, pairs: kernels.rank_biased_overlaps(ids, starts, pairs, p)
    )


def _by_query(question: Any, retrieved: Any) -> tuple[Rankings, Ints, Ints]:
    """The rankings, the number of each row's query, and the rows that have both, query after query."""
    lists = rankings(retrieved, "retrieved_ids")
    codes = codes_of(question, "question")
    if codes.size != len(lists):
        raise ColumnError(f"column 'question' has {codes.size} rows, column 'retrieved_ids' {len(lists)}")
    order = np.argsort(codes, kind="stable")
    return lists, codes, order[(codes[order] >= 0) & lists.valid[order]]


def _as_the_first(question: Any, retrieved: Any, k: int) -> float:
    """The share of repeats with the same first ``k`` documents as the first row of their query."""
    lists, codes, order = _by_query(question, retrieved)
    first = _first(lists, k)
    starts = np.concatenate([[True], codes[order][1:] != codes[order][:-1]])[: order.size]
    others = order[~starts]
    if not others.size:
        return float("nan")
    models = order[starts][np.cumsum(starts)[~starts] - 1]
    sizes = first.sizes
    alike = sizes[others] == sizes[models]
    one, other = (spans(first.starts[:-1][rows[alike]], sizes[rows[alike]]) for rows in (others, models))
    differs = _differ(first, one, other)
    owner = np.repeat(np.arange(int(alike.sum())), sizes[others[alike]])
    same = np.bincount(owner, differs, int(alike.sum())) == 0
    return int(same.sum()) / others.size


def _differ(lists: Rankings, one: Ints, other: Ints) -> Floats:
    """1.0 where the ids at two places differ; of text, equal keys are settled by the bytes."""
    ids, starts = lists.ids, np.arange(one.size + 1)
    pairs = np.stack([one, other], axis=1).ravel()
    repeated = id_kernels.repeats(take_ids(ids, pairs), frozen(2 * starts))
    return np.where(repeated[1::2], 0.0, 1.0)


def _over_pairs(question: Any, retrieved: Any, k: int | None, compare: Callable[..., Floats]) -> float:
    lists, codes, order = _by_query(question, retrieved)
    _, counts = np.unique(codes[order], return_counts=True)
    starts = offsets(counts)
    firsts = np.repeat(np.arange(order.size), np.repeat(starts[1:], counts) - np.arange(order.size) - 1)
    places = np.arange(order.size)
    seconds = spans(places + 1, np.repeat(starts[1:], counts) - places - 1)
    if not firsts.size:
        return float("nan")
    first = _first(lists, k)
    shares = compare(first.ids, first.starts, frozen(np.stack([order[firsts], order[seconds]], axis=1)))
    owner = np.repeat(np.arange(counts.size), counts)[firsts]
    ascending = np.lexsort((shares, owner))  # so that the order of the rows changes no bit
    totals = np.bincount(owner, shares[ascending], counts.size)[counts > 1]
    means = totals / (counts * (counts - 1) / 2)[counts > 1]
    return math.fsum(means.tolist()) / means.size


def _first(lists: Rankings, k: int | None) -> Rankings:
    """The first ``k`` ids of each row, without those that repeat one."""
    sizes = lists.sizes if k is None else np.minimum(lists.sizes, k)
    picked = spans(lists.starts[:-1], sizes)
    ids, starts = take_ids(lists.ids, picked), offsets(sizes)
    once = ~id_kernels.repeats(ids, starts)
    return Rankings(
        take_ids(ids, np.flatnonzero(once)), frozen(offsets(once.astype(np.int64))[starts]), lists.valid, lists.kind
    )
