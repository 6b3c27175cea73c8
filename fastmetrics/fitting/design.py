"""The columns of a regression over scores: a line and bends for each, and flags of missing and undefined scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.metrics.fitted_file import Curve, RowScores

_ENDS = (0.02, 0.98)
_BENDS = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)
_BEND = 0.5
"""The standard deviation of a bend; that of a line is 1, so that bends are penalised more."""
_RARE = 0.05
_REACH = 1e100
"""The largest score that is fitted as it is: the square of a sum of such scores is finite."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns for one score: ``knots``, the columns at the knots, and whether absences have columns."""

    knots: Floats
    at_knots: Floats
    flags: tuple[bool, bool]
    """Whether missing and undefined scores have a column each."""
    flag_shares: tuple[float, float]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.at_knots.shape[1] + sum(self.flags)

    def curve(self, coefficients: Floats) -> Curve:
        """The curve of a score from the coefficients of its columns."""
        place = self.at_knots.shape[1]
        heights = self.at_knots @ coefficients[:place]
        raised = []
        level = 0.0
        for has_column, share in zip(self.flags, self.flag_shares, strict=True):
            step = float(coefficients[place]) / _flag_scale(share) if has_column else 0.0
            place += has_column
            level -= step * share
            raised.append(step)
        return Curve(self.knots, heights + level, level + raised[0], level + raised[1])


def _flag_scale(share: float) -> float:
    return max(float(np.sqrt(share * (1 - share))), _RARE)


def within_reach(values: Floats) -> Floats:
    """The scores, of which infinite and huge ones become the largest that a fit can square, and tiny ones 0."""
    return np.where(np.abs(values) < 1 / _REACH, 0.0, np.clip(values, -_REACH, _REACH))


def basis_of(scores: RowScores, *, bends: bool) -> tuple[Basis, Floats]:
    """The basis for a score, a line alone or a line with bends, and its columns: those of absent scores are 0."""
    values, present = scores
    undefined = present & np.isnan(values)
    defined = present & ~undefined
    numbers = within_reach(values[defined])
    knots = _knots(numbers, bends=bends)
    absent = ~present, undefined
    shares = float(np.mean(absent[0])), float(np.mean(absent[1]))
    raw = _raw(numbers, knots)
    centres, spreads = (raw.mean(axis=0), raw.std(axis=0)) if raw.shape[1] else (np.zeros(0), np.zeros(0))
    scales = np.where(spreads > 0, spreads, 1.0)
    scales[1:] /= _BEND
    at_knots = (_raw(knots, knots) - centres) / scales
    basis = Basis(knots, at_knots, (0 < shares[0] < 1, 0 < shares[1] < 1), shares)
    columns = np.zeros((len(values), basis.width))
    columns[defined, : len(centres)] = (raw - centres) / scales
    kinds = [kind for kind, has_column in enumerate(basis.flags) if has_column]
    for place, kind in enumerate(kinds, len(centres)):
        columns[:, place] = (absent[kind] - shares[kind]) / _flag_scale(shares[kind])
    return basis, columns


def _raw(values: Floats, knots: Floats) -> Floats:
    """The value within the knots, and a tent over each inner knot."""
    clipped = np.clip(values, knots[0], knots[-1])
    tents = [np.interp(clipped, knots[place - 1 : place + 2], [0.0, 1.0, 0.0]) for place in range(1, len(knots) - 1)]
    return np.stack([clipped, *tents], axis=1) if len(knots) > 1 else np.zeros((len(values), 0))


def _knots(values: Floats, *, bends: bool) -> Floats:
    """Quantiles of the values, each once; all values if there are few of them."""
    if not len(values):
        return np.zeros(1)
    distinct = np.unique(values)
    if len(distinct) <= (len(_BENDS) if bends else 2):
        return distinct
    knots = np.unique(np.quantile(values, _BENDS if bends else _ENDS))
    return knots if len(knots) > 1 else distinct[[0, -1]]
