"""The rows that a page shows: the worst, the changed, those where metrics disagree, in the form that its script
reads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.reporting.report_options import ReportOptions, embedded
from fastmetrics.reporting.row_texts import row_texts, scores_of
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.results.distributions import Correlations
from fastmetrics.results.score_columns import declared_better

# Selecting the rows of a report: worst, best and median per metric, changed rows, rows where metrics disagree.


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


@np.errstate(over="ignore")  # a difference or a middle beyond the largest number is no row's
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


@np.errstate(over="ignore")
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


# The rows of a page, most informative first, in the form that its script reads, and their strata.


BUDGET = 3_600_000
"""Maximum bytes of the rows in a page."""
POOL = 1_000
"""Number of rows, with the highest hallucination scores, whose unsupported anchors are counted."""


def page_rows(
    rows: PairedRows, paired: Correlations | None, options: ReportOptions
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the page, most informative first, and its strata with the positions of their rows."""
    all_strata, texts, chosen = _strata(rows, paired, options)
    shown_rows: list[dict[str, Any]] = []
    weight = 0
    for row in described_rows(rows, chosen, [texts[at] for at in chosen]):
        weight += len(embedded(row).encode())
        if weight > BUDGET:
            break
        shown_rows.append(row)
    positions = {row["at"]: at for at, row in enumerate(shown_rows)}
    return shown_rows, [data for stratum in all_strata if (data := _stratum_data(stratum, positions))["rows"]]


def strata_of_all(rows: PairedRows, paired: Correlations | None, options: ReportOptions) -> list[dict[str, Any]]:
    """The strata with the numbers of their rows, for a page with all rows."""
    all_strata, *_ = _strata(rows, paired, options)
    return [_stratum_data(stratum, {int(row): int(row) for row in stratum.places}) for stratum in all_strata]


def _strata(
    rows: PairedRows, paired: Correlations | None, options: ReportOptions
) -> tuple[list[Stratum], dict[int, dict[str, Any]], list[int]]:
    """The strata, the texts that were read to find them, and the rows of a page, most informative first."""
    pairs = [(pair.a, pair.b) for pair in paired or () if pair.agreement < 1]
    better = declared_better(rows.names, rows.main.declared)
    all_strata = strata(rows.names, rows.main.values, rows.before, better, pairs)
    pool = _hallucinating(rows)
    chosen = [] if options.folder else candidates([*all_strata, *_changes_of_pairs(rows, better)], rows.n)
    looked = pool if options.folder else list(dict.fromkeys([*chosen, *pool]))
    texts = row_texts(rows.main, rows.ids, looked, rows.texts) if looked else []
    texts_by_row = dict(zip(looked, texts, strict=True))
    unsupported = _unsupported(pool, texts_by_row)
    chosen = list(dict.fromkeys([*(int(row) for stratum in unsupported for row in stratum.places), *chosen]))
    return [*unsupported, *all_strata], texts_by_row, chosen


def _changes_of_pairs(rows: PairedRows, better: Mapping[str, Better]) -> Iterator[Stratum]:
    """The rows that changed most between the further systems, the main run and the baseline: a page has them too."""
    for name in rows.names if rows.further else ():
        systems = [rows.before(name), rows.main.values(name)]
        systems += [system.scores(name) if system.has(name) else None for system in rows.further]
        for before, after in list(itertools.combinations(systems, 2))[1:]:
            if before is not None and after is not None:
                yield from changes(name, after, before, better.get(name))


def described_rows(
    rows: PairedRows, chosen: Sequence[int], texts: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Each row in the form that the script reads: position, id, texts, scores, and the baseline's scores and answer."""
    lacking = [None] * len(chosen)
    systems = [
        list(zip(*(lacking if one is None else shorts(one) for one in columns), strict=True)) or [()] * len(chosen)
        for columns in rows.scores(chosen)
    ]
    described = rows.described(chosen, texts, rows.earlier_answers(chosen))
    for at, row, after, before, *further in zip(chosen, described, *systems, strict=True):
        row |= {"at": at, "s": after} | ({"x": further} if further else {})
        yield row | ({"b": before} if rows.base is not None else {})


def _hallucinating(rows: PairedRows) -> list[int]:
    """The rows with the highest hallucination scores, if the metric was computed."""
    scores = scores_of(rows.main, "hallucination")
    if not scores:
        return []
    values = rows.main.values(scores[0])
    return [int(row) for row in least(np.where(values > 0, -values, np.nan), POOL)]


def _unsupported(pool: Sequence[int], texts: Mapping[int, Mapping[str, Any]]) -> list[Stratum]:
    """The rows of the pool with the most anchors that no context supports."""
    counts = np.array([sum(not anchor[2] for anchor in texts[row].get("anchors", ())) for row in pool], np.float64)
    places = least(np.where(counts > 0, -counts, np.nan), EACH)
    chosen = np.asarray(pool, np.int64)[places]
    return [Stratum("unsupported_anchors", (), len(pool), chosen)] if len(chosen) else []


def _stratum_data(stratum: Stratum, place: Mapping[int, int]) -> dict[str, Any]:
    positions = [place[int(row)] for row in stratum.places if int(row) in place]
    return {"kind": stratum.kind, "metrics": list(map(visible, stratum.metrics)), "n": stratum.n, "rows": positions}


def shorts(values: Iterable[float | None]) -> list[float | None]:
    """The values with six significant digits; None for those that are not finite.

    >>> shorts([1 / 3, None, math.inf])
    [0.333333, None, None]
    """
    numbers = values.tolist() if isinstance(values, np.ndarray) else values
    return [None if value is None or not math.isfinite(value) else float(f"{value:.6g}") for value in numbers]
