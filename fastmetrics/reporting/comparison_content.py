"""The page of a comparison: tables of differences, each with its interval drawn, letters, and segments by colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.core.display import Grid, number
from fastmetrics.core.visible_text import visible
from fastmetrics.reporting.charts.heat_map import HeatMap, heat_of_changes
from fastmetrics.reporting.readings import turn
from fastmetrics.results.compare.compare import compare
from fastmetrics.results.compare.comparison import Comparison
from fastmetrics.results.compare.comparison_tables import bounds, signed
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.stats.intervals.interval_notes import MARK

_MANY_ROWS = 100_000


@dataclass(frozen=True)
class DifferenceLine:
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
    differences: Sequence[DifferenceLine]
    rankings: Sequence[Grid]
    heat: HeatMap | None
    notes: Sequence[str]


def compared(systems: Sequence[ScoreRun], options: Any) -> Against:
    """The first system against the others."""
    if any(run.read([]).num_rows == 0 for run in systems):
        return Against([visible(run.name) for run in systems], [], [], None, ["a run has no rows: nothing to compare"])
    large = max(run.read([]).num_rows for run in systems) >= _MANY_ROWS
    comparison = compare(
        list(systems),
        by=[[name] for name in options.by] or None,
        tests="t" if large else "fisher",
        allow_differences=options.allow_differences,
        seed=options.seed,
        threads=options.threads,
    )
    whole = [difference for difference in comparison if difference.segment is None]
    return Against(
        [visible(name) for name in comparison.systems],
        [_difference(comparison, difference) for difference in whole],
        [_letters(ranking) for ranking in comparison.rankings],
        heat_of_changes(comparison),
        [visible(note) for note in comparison.remarks()],
    )


def _letters(ranking: Any) -> Grid:
    cells = zip(map(visible, ranking.systems), map(number, ranking.means), ranking.letters, strict=True)
    return Grid((visible(ranking.metric), "mean", "group"), list(cells))


def _difference(comparison: Comparison, difference: Any) -> DifferenceLine:
    verdict = comparison.verdict(difference)
    won = "–" if difference.wins is None else f"{difference.wins:,} / {difference.ties:,} / {difference.losses:,}"
    cells = (
        number(difference.mean_baseline),
        number(difference.mean_other),
        signed(difference.delta),
        bounds(difference.low, difference.high, "" if difference.interval_note is None else MARK),
        number(difference.p_corrected),
        number(difference.n_paired),
        number(difference.n_only_baseline),
        number(difference.n_only_other),
        won,
        number(difference.d_z),
    )
    reached = max(
        (abs(value) for value in (difference.low, difference.delta, difference.high) if math.isfinite(value)),
        default=0.0,
    )
    drawn = None
    if reached and not math.isnan(difference.low):
        low, middle, high = (
            round(50 + 46 * value / reached, 2) for value in (difference.low, difference.delta, difference.high)
        )
        drawn = (low, middle, high)
    seen = "same" if verdict == "–" else turn(comparison.better[difference.metric], difference.delta)
    pair = f"{visible(difference.baseline)} → {visible(difference.other)}" if len(comparison.systems) > 2 else ""
    return DifferenceLine(visible(difference.metric), pair, cells, verdict, seen, drawn)
