"""Selecting the rows of a report: worst, best and median per metric, changed rows, rows where metrics disagree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.specs import Better

EACH = 25
"""Maximum number of rows per stratum."""

_BLOCK = 1 << 18
"""Number of rows to look at together, to keep memory small."""
_CANDIDATES = 3_000
_PAIRS = 3


@dataclass(frozen=True)
class Stratum:
    """Notable rows: the kind, the metrics, the number of rows they come from, and the positions of the first rows."""

    kind: str
    """worst, best, median, fell, rose, disagree or unsupported_anchors."""
    metrics: tuple[str, ...]
    n: int
    """Number of rows that the stratum was chosen from."""
    places: Ints


def _least(values: Floats) -> Ints:
    return least(values, EACH)


def strata(
    names: Sequence[str],
    scores: Callable[[str], Floats],
    before: Callable[[str], Floats | None],
    better: Mapping[str, Better],
    pairs: Sequence[tuple[str, str]],
) -> list[Stratum]:
    """The strata of all rows: by the ``scores`` of each metric, by a baseline's scores, by ``pairs`` that disagree.

    Scores are read metric by metric, so that only one or two columns are in memory.
    """
    selected = []
    for name in names:
        values, earlier = scores(name), before(name)
        sign = -1.0 if better.get(name) == "lower" else 1.0
        n_finite = int(np.isfinite(values).sum())
        middle = float(np.median(values[np.isfinite(values)])) if n_finite else 0.0
        selected.append(Stratum("worst", (name,), n_finite, _least(sign * values)))
        selected.append(Stratum("best", (name,), n_finite, _least(-sign * values)))
        selected.append(Stratum("median", (name,), n_finite, _least(np.abs(values - middle))))
        if earlier is not None:
            selected += changes(name, values, earlier, better.get(name))
    for a, b in pairs[:_PAIRS]:
        first, second = scores(a), scores(b)
        both_known = np.isfinite(first) & np.isfinite(second)
        apart = _ranks(first, both_known)
        del first
        turned = -1.0 if (better.get(a) == "lower") != (better.get(b) == "lower") else 1.0
        apart -= _ranks(turned * second, both_known)
        del second
        np.abs(apart, out=apart)
        selected.append(
            Stratum("disagree", (a, b), int(both_known.sum()), _least(np.where(both_known, -apart, np.nan)))
        )
    return [stratum for stratum in selected if len(stratum.places)]


def changes(name: str, values: Floats, earlier: Floats, better: Better) -> list[Stratum]:
    """The rows that fell most and those that rose most from the earlier scores of a metric."""
    change = -(values - earlier) if better == "lower" else values - earlier
    moved = np.where(change == 0, np.nan, change)
    both = int(np.isfinite(change).sum())
    return [
        Stratum("fell", (name,), both, _least(np.where(moved < 0, moved, np.nan))),
        Stratum("rose", (name,), both, _least(np.where(moved > 0, -moved, np.nan))),
    ]


def candidates(all_strata: Sequence[Stratum], n_rows: int) -> list[int]:
    """The rows to show, most informative first: all rows if few, else the first of each stratum, the second, …"""
    first_rows = dict.fromkeys(_in_turn(all_strata))
    some = itertools.islice(
        itertools.chain(first_rows, (row for row in range(n_rows) if row not in first_rows)), _CANDIDATES
    )
    return list(some) if n_rows <= _CANDIDATES else list(first_rows)[:_CANDIDATES]


def _in_turn(all_strata: Sequence[Stratum]) -> Iterator[int]:
    for rank in range(EACH):
        for stratum in all_strata:
            if rank < len(stratum.places):
                yield int(stratum.places[rank])


def least(values: Floats, many: int) -> Ints:
    """The positions of the smallest values, ascending, ties by position; non-finite values are skipped."""
    if len(values) > _BLOCK:
        blocks = [start + least(values[start : start + _BLOCK], many) for start in range(0, len(values), _BLOCK)]
        places = np.concatenate(blocks)
        return places[least(values[places], many)]
    finite = np.flatnonzero(np.isfinite(values))
    scores = values[finite]
    if len(scores) > many:
        bound = np.partition(scores, many - 1)[many - 1]
        below, at = np.flatnonzero(scores < bound), np.flatnonzero(scores == bound)
        chosen = np.concatenate([below, at[: many - len(below)]])
    else:
        chosen = np.arange(len(scores))
    return finite[chosen[np.lexsort((chosen, scores[chosen]))]]


def _ranks(values: Floats, is_known: Flags) -> Floats:
    """The ranks of the known values, scaled to 0 to 1; ties have their mean rank."""
    distinct, counts = np.unique(values[is_known], return_counts=True)
    ranks_of_distinct = (np.cumsum(counts) - counts + (counts + 1) / 2) / max(int(counts.sum()), 1)
    ranks = np.full(len(values), np.nan)
    for start in range(0, len(values), _BLOCK):
        rows = start + np.flatnonzero(is_known[start : start + _BLOCK])
        ranks[rows] = ranks_of_distinct[np.searchsorted(distinct, values[rows])]
    return ranks
