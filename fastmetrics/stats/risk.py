"""The risk-coverage curve: exact, for any order of the rows.

**Risk and coverage.** Rows of equal confidence have no defined order, so the curve is the mean over all their orders,
which has a closed form. The area needs all rows sorted and cannot be added up from counts of a fixed size. It is
computed from two score columns that a run adds to its output. Losses are integer multiples of 2⁻⁵², their sums are
exact, and the mean of the curve is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats, floats_of_arrow
from fastmetrics.base.columns import as_array, by_index
from fastmetrics.base.display import Grid, NotebookTables, head_of, row_count, rows_note
from fastmetrics.base.drawing import Curves, Picture, Plotted
from fastmetrics.base.errors import ColumnError, InputError

Pairs: TypeAlias = Callable[[], Iterable[tuple[Floats, Floats]]]
"""Returns the same rows, confidence and quality, in batches, at each call."""

_HALF = 26  # losses are multiples of 2⁻⁵², summed in two halves of 26 bits


@dataclass(frozen=True, eq=False)
class RiskCoverage(NotebookTables, Plotted):
    """The risk among the i most confident of n rows, for each i from 1 to n: ``coverage`` is i/n.

    ``confidence`` is the lowest among the i rows.
    """

    coverage: Floats
    risk: Floats
    confidence: Floats

    def to_arrow(self) -> pa.Table:
        """One row for each i."""
        return pa.table({"coverage": self.coverage, "risk": self.risk, "confidence": self.confidence})

    def grids(self) -> Sequence[Grid]:
        """The first rows."""
        return [head_of(self.to_arrow())]

    def remarks(self) -> Sequence[str]:
        """How many rows there are, if not all are shown."""
        return rows_note(len(self.risk))

    def picture(self) -> Picture:
        """The risk over the coverage, with the mean risk, which is ``aurc``."""
        if not len(self.risk):
            raise InputError("no row has a confidence and a quality to draw")
        area = float(np.mean(self.risk))
        return Curves(
            curves={"": (self.coverage, self.risk)},
            axis_names=("coverage: share of rows, the most confident first", "risk: the mean of 1 − quality"),
            lines={"axhline": {"y": area}},
            marker="",
            title=f"area under the curve {area:.4f}, {row_count(len(self.risk))}",
        )


def risk_coverage(confidence: Any, quality: Any) -> RiskCoverage:
    """The risk-coverage curve: the risk among the i most confident rows, for each i.

    The risk of rows is the mean of 1 - ``quality``, which is between 0 and 1.  For each i from 1 to n, the result has
    ``coverage`` (i/n), ``risk`` (of the i rows of highest ``confidence``) and ``confidence`` (the lowest among them),
    and ``plot()`` draws the curve.  Rows of equal confidence are unordered: their risk is the mean over all their
    orders.  Rows without a confidence or a quality (null, NaN) are excluded.  The mean of ``risk`` is ``aurc``.

    >>> risk_coverage([0.9, 0.2, 0.5, 0.5], [1, 0, 1, 0]).risk.tolist()
    [0.0, 0.25, 0.3333333333333333, 0.5]

    Raises ``ColumnError`` for columns of different lengths, ``InputError`` for a quality outside 0 to 1.

    Source: the RAG project, uncertainty gate; El-Yaniv and Wiener 2010, selective prediction; Geifman and El-Yaniv
    2017.
    """
    sure, good = (
        floats_of_arrow(as_array(values, name), name)
        for name, values in by_index({"confidence": confidence, "quality": quality}).items()
    )
    if len(sure) != len(good):
        raise ColumnError(f"columns differ in length: {len(sure):,} rows of confidence, {len(good):,} of quality")
    ranked, curve = _ranked(sure, good)
    n = len(curve)
    return RiskCoverage(np.arange(1, n + 1) / max(n, 1), curve, ranked)


def risks(pairs: Pairs) -> Floats:
    """The risks of the whole curve; the result does not depend on batches and their order."""
    pieces = [(np.zeros(0), np.zeros(0)), *pairs()]
    confidence, quality = (np.concatenate([piece[at] for piece in pieces]) for at in (0, 1))
    return _ranked(confidence, quality)[1]


def _ranked(confidence: Floats, quality: Floats) -> tuple[Floats, Floats]:
    """The confidences of rows with both values, the highest first, and the risk of the rows up to each.

    Raises ``InputError`` for an invalid quality.
    """
    defined = ~(np.isnan(confidence) | np.isnan(quality))
    confidence, quality = confidence[defined] + 0.0, quality[defined]  # makes −0.0 equal to 0.0 bit by bit
    outside = (quality < 0) | (quality > 1 + 1e-12)
    if outside.any():
        raise InputError(f"quality: expected numbers from 0 to 1, got {quality[outside][0]:g}")
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    units = np.rint((1.0 - np.minimum(quality[order], 1.0)) * (1 << 2 * _HALF)).astype(np.int64)
    upper, lower = (np.cumsum(half) for half in (units >> _HALF, units & ((1 << _HALF) - 1)))
    losses = np.append(0.0, np.ldexp(upper.astype(np.float64), -_HALF) + np.ldexp(lower.astype(np.float64), -2 * _HALF))
    edges = np.append(
        0, 1 + np.flatnonzero(np.append(ranked[1:] != ranked[:-1], np.ones(min(len(ranked), 1), np.bool_)))
    )
    sizes = np.diff(edges)
    before, after = (np.repeat(ends, sizes) for ends in (edges[:-1], edges[1:]))  # of the rows of equal confidence
    place = np.arange(1, len(ranked) + 1)
    mean = losses[before] + (losses[after] - losses[before]) * ((place - before) / (after - before))
    return ranked, np.where(place == after, losses[after], mean) / place
