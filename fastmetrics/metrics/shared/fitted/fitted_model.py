"""A fitted score: the curves or trees over other scores, the calibration, and what its file says beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.specs import Side
from fastmetrics.kernels.fitted_scores import add_curve, add_trees, calibrate, count_parts, logistic, terms

RowScores = tuple[Floats, Flags]
"""The scores of rows, and whether each row is complete: a score that is NaN in a complete row is undefined."""


@dataclass(frozen=True, eq=False)
class Curve:
    """How much one score adds: straight lines between ``knots``, and the heights of missing and undefined scores."""

    knots: Floats
    heights: Floats
    missing: float
    undefined: float

    def add(self, scores: RowScores, sums: Floats) -> None:
        """Add the heights at the scores to the sums of the rows."""
        values, present = scores
        add_curve(values, present, self.knots, self.heights, np.array([self.missing, self.undefined]), sums)


@dataclass(frozen=True, eq=False)
class ScoreShares:
    """The distribution of a score over the labelled rows: the shares between ``edges``, then of missing, undefined."""

    edges: Floats
    shares: Floats

    def counts(self, scores: RowScores) -> Ints:
        """The numbers of rows in each of the parts."""
        counts = np.zeros(len(self.edges) + 3, np.int64)
        count_parts(*scores, self.edges, counts)
        return counts


@dataclass(frozen=True, eq=False)
class Feature:
    """A score that a fitted score reads: a metric by its spec, or a column of numbers of the table."""

    name: str
    is_column: bool
    spread: ScoreShares
    curve: Curve | None = None
    """None for trees."""
    weight: float | None = None
    """The weight in a weighted mean."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Decision trees over the scores, and over flags of undefined scores, which follow the scores in number."""

    nodes: Ints
    """For each node the number of its score or −1 for a leaf, the nodes to the left and right, and 1 if NaN goes left.
    """
    splits: Floats
    """The largest score that goes left, or the value of a leaf."""
    roots: Ints

    def add(self, scores: Sequence[RowScores], sums: Floats) -> None:
        """Add the values of the leaves to the sums of the rows."""
        add_trees(columns_of_trees(scores), self.nodes, self.splits, self.roots, sums)


def columns_of_trees(scores: Sequence[RowScores]) -> Floats:
    """A row for each score, NaN where it is missing or undefined, and a row that flags where it is undefined."""
    columns = np.empty((2 * len(scores), len(scores[0][0])))
    for place, (values, present) in enumerate(scores):
        columns[place] = np.where(present, values, np.nan)
        columns[len(scores) + place] = present & np.isnan(values)
    return columns


@dataclass(frozen=True, eq=False)
class Calibration:
    """The map from sums to scores: ``platt`` (a logistic curve), ``isotonic`` (rising lines) or ``line``."""

    kind: str
    slope: float = 1.0
    offset: float = 0.0
    knots: Floats = field(default_factory=lambda: np.zeros(0))
    heights: Floats = field(default_factory=lambda: np.zeros(0))

    def apply(self, sums: Floats) -> None:
        """Replace sums by scores."""
        if self.kind == "platt":
            logistic(sums, self.slope, self.offset, terms())
        elif self.kind == "isotonic":
            calibrate(sums, self.knots, self.heights)
        else:
            sums *= self.slope
            sums += self.offset


@dataclass(frozen=True)
class Threshold:
    """A cut of the score with a promise: on rows kept apart, the figure reaches ``target`` with ``confidence``."""

    target: float
    confidence: float
    cut: float | None
    """None where the labels do not suffice."""
    rows: int
    """The rows that the figure is a share of, at the cut; without a cut, at the first one that was tested."""
    hits: int
    needed: int | None = None
    """Without a cut: about how many rows kept apart would suffice, if the shares stay as they are."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted score, as its file has it."""

    name: str
    kind: str
    """``splines``, ``boosting`` or ``weights``."""
    better: Side
    bounds: tuple[float, float]
    intercept: float
    features: Sequence[Feature]
    trees: Trees | None
    calibration: Calibration
    thresholds: Mapping[str, Threshold]
    labels: Mapping[str, Any]
    """What it was fitted on: the column, numbers of rows and groups, the fingerprint."""
    evaluation: Mapping[str, Any]
    version: str
    """The version of this package that wrote the file."""

    @property
    def n_labelled(self) -> int:
        """The number of independent labelled rows: of groups, if there are any."""
        return max(int(self.labels.get("groups", self.labels.get("rows", 1))), 1)

    def sums(self, scores: Sequence[RowScores]) -> Floats:
        """The sums of the rows before calibration."""
        sums = np.full(len(scores[0][0]), self.intercept)
        if self.trees is not None:
            self.trees.add(scores, sums)
        for feature, values in zip(self.features, scores, strict=True):
            if feature.curve is not None:
                feature.curve.add(values, sums)
        return sums

    def score(self, scores: Sequence[RowScores]) -> RowScores:
        """The scores of the rows, from those of the features; missing where all of them are missing."""
        present = np.logical_or.reduce([present for _, present in scores])
        values = self.sums(scores)
        self.calibration.apply(values)
        return np.where(present, np.clip(values, *self.bounds), np.nan), present
