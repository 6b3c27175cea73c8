"""The risk-coverage curve: exact, in bounded memory.

**Risk and coverage.** Rows of equal confidence have no defined order, so the curve is the mean over all their orders,
which has a closed form. The area needs all rows sorted and cannot be added up from counts of a fixed size. It is
computed from two score columns that a run adds to its output. Losses are integer multiples of 2⁻⁵², their sums are
exact, and the mean of the curve is rounded once. Up to 2,097,152 rows are sorted in memory. For more rows, exact order
statistics split the confidences into ranges of at most half as many rows, and the columns are read once for each range.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints, floats_of_arrow
from fastmetrics.base.columns import as_array, by_index
from fastmetrics.base.display import Grid, NotebookTables, first_rows, number, rows_note
from fastmetrics.base.drawing import GREY, PALETTE, canvas, drawn
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.stats.sums import order_statistics

Pairs: TypeAlias = Callable[[], Iterable[tuple[Floats, Floats]]]
"""Returns the same rows, confidence and quality, in batches, at each call."""

BUDGET = 1 << 21
"""Maximum rows in memory."""

_HALF = 26  # losses are multiples of 2⁻⁵², summed in two halves of 26 bits
_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class RiskCoverage(NotebookTables):
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
        rows = zip(self.coverage, self.risk, self.confidence, strict=True)
        return [first_rows(("coverage", "risk", "confidence"), (tuple(map(number, map(float, row))) for row in rows))]

    def remarks(self) -> Sequence[str]:
        """How many rows there are, if not all are shown."""
        return rows_note(len(self.risk))

    def plot(self, figure: Any = None) -> Any:
        """The axes of a chart: the risk over the coverage, with the mean risk, which is ``aurc``.

        ``figure`` is one of Matplotlib, or a part of one; by default a new one.  Raises ``InputError`` without a row.
        """
        if not len(self.risk):
            raise InputError("no row has a confidence and a quality to draw")
        figure = canvas(figure, 4.6, 3.4)
        axes = figure.add_subplot()
        area = float(np.mean(self.risk))
        axes.plot(self.coverage, self.risk, color=PALETTE[0])
        axes.axhline(area, color=GREY, linewidth=0.8)
        axes.set_xlabel("coverage: share of rows, the most confident first")
        axes.set_ylabel("risk: the mean of 1 − quality")
        axes.set_title(f"area under the curve {area:.4f}, {len(self.risk):,} rows", fontsize=9)
        return drawn(figure)


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
    rows = _RankedRows.of(sure, good)
    risks = np.concatenate([np.zeros(0), *_Curve().add(rows)])
    n = len(risks)
    return RiskCoverage(np.arange(1, n + 1) / max(n, 1), risks, -np.sort(-rows.confidence))


def risks(pairs: Pairs, budget: int = BUDGET) -> Iterator[Floats]:
    """The risks of the whole curve, in chunks; at most about ``budget`` rows are in memory at once.

    For more rows, the input is read repeatedly: once for each half a budget of rows, and at most seven more times to
    count the rows and choose the ranges.  The result does not depend on batches and their order.
    """
    n, pieces = 0, list[_RankedRows]()
    for rows in _rows_of(pairs):
        n += len(rows)
        pieces = [*pieces, rows] if n <= budget else []
    curve = _Curve()
    if n <= budget:
        yield from curve.add(_RankedRows.join(pieces))
        return
    parts = -(-n // max(budget // 2, 1))
    ranks = sorted({n * part // parts for part in range(1, parts)})
    ranked = order_statistics(lambda: (rows.confidence for rows in _rows_of(pairs)), ranks, budget)
    cuts = [np.inf, *sorted({value for value in ranked.values() if np.isfinite(value)}, reverse=True), -np.inf]
    for high, low in itertools.pairwise(cuts):
        between, level = [], _Level()
        for rows in _rows_of(pairs):
            level.add(rows.where(rows.confidence == high))
            between.append(rows.where((rows.confidence < high) & (rows.confidence > low)))
        yield from curve.add_level(level)
        yield from curve.add(_RankedRows.join(between))
    level = _Level()
    for rows in _rows_of(pairs):
        level.add(rows.where(rows.confidence == -np.inf))
    yield from curve.add_level(level)


def _rows_of(pairs: Pairs) -> Iterator[_RankedRows]:
    return (_RankedRows.of(confidence, quality) for confidence, quality in pairs())


@dataclass(frozen=True, eq=False)
class _RankedRows:
    """Rows with a confidence and a loss, in units of 2⁻⁵², by its two halves."""

    confidence: Floats
    upper: Ints
    lower: Ints

    @classmethod
    def of(cls, confidence: Floats, quality: Floats) -> _RankedRows:
        """The rows with both values; raises ``InputError`` for an invalid quality."""
        defined = ~(np.isnan(confidence) | np.isnan(quality))
        confidence, quality = confidence[defined] + 0.0, quality[defined]  # makes −0.0 equal to 0.0 bit by bit
        outside = (quality < 0) | (quality > 1 + 1e-12)
        if outside.any():
            raise InputError(f"quality: expected numbers from 0 to 1, got {quality[outside][0]:g}")
        units = np.rint((1.0 - np.minimum(quality, 1.0)) * (1 << 2 * _HALF)).astype(np.int64)
        return cls(confidence, units >> _HALF, units & ((1 << _HALF) - 1))

    @classmethod
    def join(cls, pieces: list[_RankedRows]) -> _RankedRows:
        """All rows of the pieces."""
        pieces = [cls.of(np.zeros(0), np.zeros(0)), *pieces]
        return cls(
            *(np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("confidence", "upper", "lower"))
        )

    def where(self, keep: Flags) -> _RankedRows:
        """The selected rows."""
        return _RankedRows(self.confidence[keep], self.upper[keep], self.lower[keep])

    def __len__(self) -> int:
        return len(self.confidence)


class _Level:
    """Any number of rows of one confidence: their number, and the sums of the halves of their losses."""

    def __init__(self) -> None:
        self.size = self.upper = self.lower = 0

    def add(self, rows: _RankedRows) -> None:
        """Count further rows."""
        self.size += len(rows)
        self.upper += int(rows.upper.sum())
        self.lower += int(rows.lower.sum())


class _Curve:
    """The curve so far: its number of rows, and the sums of the halves of their losses."""

    def __init__(self) -> None:
        self._rows = self._upper = self._lower = 0

    def add(self, rows: _RankedRows) -> Iterator[Floats]:
        """The risks of further rows, all less confident than the rows before."""
        order = np.argsort(-rows.confidence, kind="stable")
        sorted_by = rows.confidence[order]
        ends = np.flatnonzero(np.append(sorted_by[1:] != sorted_by[:-1], np.ones(min(len(rows), 1), np.bool_)))
        upper, lower = (np.cumsum(half[order])[ends] for half in (rows.upper, rows.lower))
        return self._extend(np.diff(ends, prepend=-1), upper, lower)

    def add_level(self, level: _Level) -> Iterator[Floats]:
        """The risks of further rows of equal confidence."""
        sums = (np.array([number], np.int64) for number in (level.size, level.upper, level.lower))
        return self._extend(*sums) if level.size else iter(())

    def _extend(self, sizes: Ints, upper: Ints, lower: Ints) -> Iterator[Floats]:
        """The risks of further ties, given their sizes and the sums of losses up to the end of each."""
        uppers, lowers = (
            np.concatenate([[before], before + sums]) for before, sums in ((self._upper, upper), (self._lower, lower))
        )
        losses = np.ldexp(uppers.astype(np.float64), -_HALF) + np.ldexp(lowers.astype(np.float64), -2 * _HALF)
        edges = np.concatenate([[0], np.cumsum(sizes)])
        before, total = self._rows, int(edges[-1])
        self._rows, self._upper, self._lower = before + total, int(uppers[-1]), int(lowers[-1])
        for start in range(0, total, _BLOCK):
            place = np.arange(start, min(start + _BLOCK, total))
            tie = np.searchsorted(edges, place, side="right") - 1
            into = place + 1 - edges[tie]
            mean = losses[tie] + (losses[tie + 1] - losses[tie]) * (into / sizes[tie])
            yield np.where(into == sizes[tie], losses[tie + 1], mean) / (before + place + 1)
