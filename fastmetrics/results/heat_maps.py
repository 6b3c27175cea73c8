"""Heat maps of segments and metrics; the colour of a cell shows how much better or worse it is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.drawing import Cells, Matrices
from fastmetrics.base.notes import Note, said
from fastmetrics.base.specs import Better

METRICS = 16
"""Maximum number of metrics in a heat map."""
_DARKEST = 6
"""Number of levels up to the ends of the colour map, whose outer levels are too dark for black text."""


@dataclass(frozen=True)
class HeatCell:
    """A figure of a segment: text, level from −3 (bad) to 3 (good) or None, and whether it is marked as notable."""

    text: str
    level: int | None
    n: int
    marked: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Rows of segments, columns of metrics; a cell is None if the segment has no such figure."""

    metrics: Sequence[str]
    lines: Sequence[tuple[str, Sequence[HeatCell | None]]]
    n_metrics: int
    """Number of metrics, including those not shown."""


def heat_map(
    cells: Mapping[tuple[str, str], tuple[float, str, int, bool]],
    better: Mapping[str, Better],
    bounds: Mapping[str, tuple[float, float] | None],
    differences: Sequence[tuple[str, float]],
    decided: Collection[str] = (),
) -> HeatMap | None:
    """Metrics with the same bounds have one scale of colours, which the largest of the differences of metrics ends.

    A metric without a direction has no colour. The metrics of ``decided`` and those with a marked cell come first.
    """
    notable = {metric for (_, metric), (*_, marked) in cells.items() if marked} | set(decided)
    every = sorted(dict.fromkeys(metric for _, metric in cells), key=lambda metric: metric not in notable)
    metrics = every[:METRICS]
    widest: dict[Any, float] = {}
    for metric, delta in differences:
        if not math.isnan(delta) and better.get(metric) is not None:
            scale = scale_of(metric, bounds)
            widest[scale] = max(widest.get(scale, 0.0), abs(delta))
    lines = [
        (
            segment,
            [
                _cell(cells.get((segment, metric)), widest.get(scale_of(metric, bounds), 0.0), better.get(metric))
                for metric in metrics
            ],
        )
        for segment in dict.fromkeys(segment for segment, _ in cells)
    ]
    return HeatMap(metrics, lines, len(every)) if lines else None


def scale_of(metric: str, bounds: Mapping[str, tuple[float, float] | None]) -> tuple[float, float] | str:
    """What the metrics of one scale have in common: their bounds; a metric without finite bounds is alone."""
    own = bounds.get(metric)
    return own if own is not None and all(map(math.isfinite, own)) else metric


def _cell(cell: tuple[float, str, int, bool] | None, widest: float, better: Better) -> HeatCell | None:
    if cell is None:
        return None
    delta, text, n, marked = cell
    if math.isnan(delta):
        return HeatCell("–", None, n)
    if better is None:
        return HeatCell(text, None, n, marked)
    sign = -1 if better == "lower" else 1
    return HeatCell(text, round(3 * sign * delta / widest) if widest else 0, n, marked)


def heat_picture(heats: Mapping[str, HeatMap], marked: str, notes: Sequence[str] = ()) -> Matrices:
    """Heat maps beside each other, under their titles; ``marked`` says what the mark of a cell means."""
    first = next(iter(heats.values()))
    cut = first.n_metrics > len(first.metrics) and Note("drawn", most=METRICS, n=first.n_metrics, what="metrics")
    return Matrices(
        panels={
            title: Cells(
                rows=[name for name, _ in heat.lines],
                columns=heat.metrics,
                texts=[
                    ["" if one is None else one.text + "*" * one.marked for one in cells] for _, cells in heat.lines
                ],
                shades=np.array([[(one.level or 0) if one else 0 for one in cells] for _, cells in heat.lines], float),
            )
            for title, heat in heats.items()
        },
        colors=("PuOr", -_DARKEST, _DARKEST),
        title=f"purple is better, orange is worse; * {marked}",
        notes=said(cut, list(notes)),
    )
