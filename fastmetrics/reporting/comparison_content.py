"""The page of a comparison: tables of differences, each with its interval drawn, letters, and segments by colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.core.display import Grid, number
from fastmetrics.reporting.charts.heat_map import HeatMap, heat_of_changes
from fastmetrics.reporting.plain_text import visible
from fastmetrics.reporting.readings import turn
from fastmetrics.results.compare.compare import compare
from fastmetrics.results.compare.comparison import Comparison
from fastmetrics.results.compare.comparison_tables import bounds, signed
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.stats.intervals.interval_notes import MARK

_MANY_ROWS = 100_000


@dataclass(frozen=True)
class Difference:
    """A metric of two systems: its figures as text, its interpretation, and the position of its interval."""

    metric: str
    pair: str
    cells: Sequence[str]
    verdict: str
    turn: str
    """gain, loss, change or same, from the test's verdict."""
    drawn: tuple[float, float, float] | None
    """Low, Δ and high in percent of a line with 0 in the middle."""


@dataclass(frozen=True)
class Against:
    """The contents of the comparison page."""

    systems: Sequence[str]
    differences: Sequence[Difference]
    rankings: Sequence[Grid]
    heat: HeatMap | None
    notes: Sequence[str]


def compared(systems: Sequence[ScoreRun], asked: Any) -> Against:
    """The first system against the others."""
    if any(run.read([]).num_rows == 0 for run in systems):
        return Against([visible(run.name) for run in systems], [], [], None, ["a run has no rows: nothing to compare"])
    large = max(run.read([]).num_rows for run in systems) >= _MANY_ROWS
    found = compare(
        list(systems),
        by=[[name] for name in asked.by] or None,
        tests="t" if large else "fisher",
        allow_differences=asked.allow_differences,
        seed=asked.seed,
        threads=asked.threads,
    )
    whole = [one for one in found if one.segment is None]
    return Against(
        [visible(name) for name in found.systems],
        [_difference(found, one) for one in whole],
        [_letters(one) for one in found.rankings],
        heat_of_changes(found),
        [visible(note) for note in found.remarks()],
    )


def _letters(ranking: Any) -> Grid:
    cells = zip(map(visible, ranking.systems), map(number, ranking.means), ranking.letters, strict=True)
    return Grid((visible(ranking.metric), "mean", "group"), list(cells))


def _difference(found: Comparison, one: Any) -> Difference:
    verdict = found.verdict(one)
    won = "–" if one.wins is None else f"{one.wins:,} / {one.ties:,} / {one.losses:,}"
    cells = (
        number(one.mean_baseline),
        number(one.mean_other),
        signed(one.delta),
        bounds(one.low, one.high, "" if one.interval_note is None else MARK),
        number(one.p_corrected),
        number(one.n_paired),
        number(one.n_only_baseline),
        number(one.n_only_other),
        won,
        number(one.d_z),
    )
    reached = max((abs(value) for value in (one.low, one.delta, one.high) if math.isfinite(value)), default=0.0)
    drawn = None
    if reached and not math.isnan(one.low):
        low, middle, high = (round(50 + 46 * value / reached, 2) for value in (one.low, one.delta, one.high))
        drawn = (low, middle, high)
    seen = "same" if verdict == "–" else turn(found.better[one.metric], one.delta)
    pair = f"{visible(one.baseline)} → {visible(one.other)}" if len(found.systems) > 2 else ""
    return Difference(visible(one.metric), pair, cells, verdict, seen, drawn)
