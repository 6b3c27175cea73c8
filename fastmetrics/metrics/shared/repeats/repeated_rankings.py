"""Comparing the rankings of repeats of one query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.columns import codes_of
from fastmetrics.base.errors import ColumnError
from fastmetrics.kernels import ranking_measures as kernels
from fastmetrics.kernels import rankings as id_kernels
from fastmetrics.metrics.shared.repeats.repeated_questions import Repeats
from fastmetrics.retrieval.rankings import Rankings, frozen, offsets, rankings, spans, take_ids


def consistency(question: Any, retrieved_ids: Any, k: int, against: str) -> Repeats:
    """Overlap of the first ``k`` documents of the repeats of a query, by pairs or against the first."""
    if against == "first":
        return _as_the_first(question, retrieved_ids, k)
    return _over_pairs(question, retrieved_ids, k, kernels.shares_in_common)


def rank_biased_overlap(question: Any, retrieved_ids: Any, p: float) -> Repeats:
    """Rank-biased overlap of the rankings of the repeats of a query."""
    return _over_pairs(
        question, retrieved_ids, None, lambda ids, starts, pairs: kernels.rank_biased_overlaps(ids, starts, pairs, p)
    )


def _by_query(question: Any, retrieved: Any) -> tuple[Rankings, Ints, Ints]:
    """The rankings sorted by query, the number of each row's query, and the rows that have both."""
    lists = rankings(retrieved, "retrieved_ids")
    codes = codes_of(question, "question")
    if codes.size != len(lists):
        raise ColumnError(f"column 'question' has {codes.size} rows, column 'retrieved_ids' {len(lists)}")
    order = np.argsort(codes, kind="stable")
    return lists, codes, order[(codes[order] >= 0) & lists.valid[order]]


def _as_the_first(question: Any, retrieved: Any, k: int) -> Repeats:
    """The share of repeats with the same first ``k`` documents as the first row of their query."""
    lists, codes, order = _by_query(question, retrieved)
    missing = codes.size - order.size
    first = _first(lists, k)
    starts = np.concatenate([[True], codes[order][1:] != codes[order][:-1]])[: order.size]
    others = order[~starts]
    if not others.size:
        return Repeats(math.nan, 0, 0, missing)
    models = order[starts][np.cumsum(starts)[~starts] - 1]
    sizes = first.sizes
    alike = sizes[others] == sizes[models]
    left, right = (spans(first.starts[:-1][rows[alike]], sizes[rows[alike]]) for rows in (others, models))
    differs = _differ(first, left, right)
    owner = np.repeat(np.arange(int(alike.sum())), sizes[others[alike]])
    same = np.bincount(owner, differs, int(alike.sum())) == 0
    return Repeats(int(same.sum()) / others.size, len(np.unique(codes[others])), int(others.size), missing)


def _differ(lists: Rankings, left: Ints, right: Ints) -> Floats:
    """1.0 where the ids at two positions differ; for text, equal keys are confirmed by the bytes."""
    ids, starts = lists.ids, np.arange(left.size + 1)
    pairs = np.stack([left, right], axis=1).ravel()
    repeated = id_kernels.repeats(take_ids(ids, pairs), frozen(2 * starts))
    return np.where(repeated[1::2], 0.0, 1.0)


def _over_pairs(question: Any, retrieved: Any, k: int | None, compare: Callable[..., Floats]) -> Repeats:
    lists, codes, order = _by_query(question, retrieved)
    _, counts = np.unique(codes[order], return_counts=True)
    starts = offsets(counts)
    firsts = np.repeat(np.arange(order.size), np.repeat(starts[1:], counts) - np.arange(order.size) - 1)
    places = np.arange(order.size)
    seconds = spans(places + 1, np.repeat(starts[1:], counts) - places - 1)
    missing = codes.size - order.size
    if not firsts.size:
        return Repeats(math.nan, 0, 0, missing)
    first = _first(lists, k)
    shares = compare(first.ids, first.starts, frozen(np.stack([order[firsts], order[seconds]], axis=1)))
    owner = np.repeat(np.arange(counts.size), counts)[firsts]
    ascending = np.lexsort((shares, owner))  # makes the sum independent of the order of the rows
    totals = np.bincount(owner, shares[ascending], counts.size)[counts > 1]
    means = totals / (counts * (counts - 1) / 2)[counts > 1]
    return Repeats(math.fsum(means.tolist()) / means.size, int(means.size), int(firsts.size), missing)


def _first(lists: Rankings, k: int | None) -> Rankings:
    """The first ``k`` ids of each row without duplicates."""
    sizes = lists.sizes if k is None else np.minimum(lists.sizes, k)
    picked = spans(lists.starts[:-1], sizes)
    ids, starts = take_ids(lists.ids, picked), offsets(sizes)
    once = ~id_kernels.repeats(ids, starts)
    return Rankings(
        take_ids(ids, np.flatnonzero(once)), frozen(offsets(once.astype(np.int64))[starts]), lists.valid, lists.kind
    )
