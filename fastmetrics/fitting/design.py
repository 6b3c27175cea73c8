"""The columns of a regression over scores: a line and bends for each, and flags of missing and undefined scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.core.arrays import Floats
from fastmetrics.metrics.shared.fitted_model import Curve, RowScores

_ENDS = (0.02, 0.98)
_BENDS = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)
_BEND = 0.5
"""The standard deviation of a bend; that of a line is 1, so that bends are penalised more."""
_RARE = 0.05
_REACH = 1e100
"""The largest score that is fitted as it is: the square of a sum of such scores is finite."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns for one score: ``knots``, the centre and scale of each column, and whether absences have columns."""

    knots: Floats
    centres: Floats
    scales: Floats
    flags: tuple[bool, bool]
    """Whether missing and undefined scores have a column each."""
    flag_shares: tuple[float, float]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.centres) + sum(self.flags)

    def columns(self, scores: RowScores) -> Floats:
        """The columns for scores; those of line and bends are 0 where the score is absent."""
        values, present = scores
        undefined = present & np.isnan(values)
        defined = present & ~undefined
        parts = np.zeros((len(values), self.width))
        raw = self._raw(values[defined])
        parts[defined, : len(self.centres)] = (raw - self.centres) / self.scales
        place = len(self.centres)
        for flag, has_column, share in zip((~present, undefined), self.flags, self.flag_shares, strict=True):
            if has_column:
                parts[:, place] = (flag - share) / _flag_scale(share)
                place += 1
        return parts

    def _raw(self, values: Floats) -> Floats:
        """The value within the knots, and a tent over each inner knot."""
        knots = self.knots
        clipped = np.clip(values, knots[0], knots[-1])
        tents = [
            np.interp(clipped, knots[place - 1 : place + 2], [0.0, 1.0, 0.0]) for place in range(1, len(knots) - 1)
        ]
        return np.stack([clipped, *tents], axis=1) if len(knots) > 1 else np.zeros((len(values), 0))

    def curve(self, coefficients: Floats) -> Curve:
        """The curve of a score from the coefficients of its columns."""
        width = len(self.centres)
        heights = ((self._raw(self.knots) - self.centres) / self.scales) @ coefficients[:width]
        raised = []
        level = 0.0
        place = width
        for has_column, share in zip(self.flags, self.flag_shares, strict=True):
            step = coefficients[place] / _flag_scale(share) if has_column else 0.0
            place += has_column
            level -= step * share
            raised.append(step)
        return Curve(self.knots, heights + level, float(level + raised[0]), float(level + raised[1]))


def _flag_scale(share: float) -> float:
    return max(float(np.sqrt(share * (1 - share))), _RARE)


def within_reach(values: Floats) -> Floats:
    """The scores, of which infinite and huge ones become the largest that a fit can square."""
    return np.clip(values, -_REACH, _REACH)


def basis_of(scores: RowScores, *, bends: bool) -> Basis:
    """The columns for a score, from its values in the rows at hand; a line alone, or a line with bends."""
    values, present = scores
    undefined = present & np.isnan(values)
    numbers = within_reach(values[present & ~undefined])
    knots = _knots(numbers, bends=bends)
    shares = float(np.mean(~present)), float(np.mean(undefined))
    flags = 0 < shares[0] < 1, 0 < shares[1] < 1
    basis = Basis(knots, np.zeros(0), np.ones(0), flags, shares)
    raw = basis._raw(numbers)
    centres = raw.mean(axis=0) if raw.shape[1] else np.zeros(0)
    spreads = raw.std(axis=0) if raw.shape[1] else np.zeros(0)
    scales = np.where(spreads > 0, spreads, 1.0)
    scales[1:] /= _BEND
    return Basis(knots, centres, scales, flags, shares)


def _knots(values: Floats, *, bends: bool) -> Floats:
    """Quantiles of the values, each once; all values if there are few of them."""
    if not len(values):
        return np.zeros(1)
    distinct = np.unique(values)
    if len(distinct) <= (len(_BENDS) if bends else 2):
        return distinct
    knots = np.unique(np.quantile(values, _BENDS if bends else _ENDS))
    return knots if len(knots) > 1 else distinct[[0, -1]]


def design(bases: Sequence[Basis], scores: Sequence[RowScores]) -> Floats:
    """The columns of all scores beside each other."""
    return np.concatenate([basis.columns(values) for basis, values in zip(bases, scores, strict=True)], axis=1)
