"""A fitted score: a sum of curves over other scores, and the TOML file that holds it."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tomli_w

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.errors import FileFormatError, shown
from fastmetrics.base.public_names import __version__
from fastmetrics.base.specs import Side
from fastmetrics.kernels.fitted_scores import add_curve, count_parts, logistic, terms
from fastmetrics.stats.promises import Threshold
from fastmetrics.tables.input_files import read_text

# A fitted score: the curves over other scores, and what its file says beside them.


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
    curve: Curve


def summed_curves(
    curves: Sequence[Curve],
    scores: Sequence[RowScores],
    intercept: float,
    bounds: tuple[float, float],
    *,
    logistic_link: bool,
) -> Floats:
    """The sums of rows within bounds; a sum that is the log-odds of a positive label becomes its probability."""
    sums = np.full(len(scores[0][0]), intercept)
    for curve, values in zip(curves, scores, strict=True):
        curve.add(values, sums)
    if logistic_link:
        logistic(sums, terms())
    return np.clip(sums, *bounds)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted score, as its file has it."""

    name: str
    kind: str
    """``logistic``, or ``linear`` for labels that are no classes."""
    better: Side
    bounds: tuple[float, float]
    intercept: float
    features: Sequence[Feature]
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

    def score(self, scores: Sequence[RowScores]) -> RowScores:
        """The scores of the rows, from those of the features; missing where all of them are missing."""
        present = np.logical_or.reduce([present for _, present in scores])
        curves = [feature.curve for feature in self.features]
        is_odds = self.kind == "logistic"
        values = summed_curves(curves, scores, self.intercept, self.bounds, logistic_link=is_odds)
        return np.where(present, values, np.nan), present


# The file of a fitted score: TOML, written and read; every number is in it, and no code.


FORMAT = 2
"""The version of the structure of the file."""
SUFFIX = ".toml"
KINDS = ("logistic", "linear")
LARGEST = 1e150
"""The largest number in a file: differences and products of such numbers are finite."""


def text_of(model: FittedModel) -> str:
    """The text of the file of a fitted score."""
    values = {
        "format": FORMAT,
        "fastmetrics": model.version,
        "name": model.name,
        "kind": model.kind,
        "better": model.better,
        "bounds": list(model.bounds),
        "intercept": model.intercept,
        "features": [_feature(feature) for feature in model.features],
        "thresholds": {name: asdict(threshold) for name, threshold in model.thresholds.items()} or None,
        "labels": model.labels,
        "evaluation": model.evaluation,
    }
    return tomli_w.dumps(_without_none(values))


def _without_none(value: Any) -> Any:
    """The value without the items of dictionaries that are None: TOML has no null."""
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def _feature(feature: Feature) -> dict[str, Any]:
    curve, spread = feature.curve, feature.spread
    return {
        "column" if feature.is_column else "metric": feature.name,
        "knots": curve.knots.tolist(),
        "heights": curve.heights.tolist(),
        "missing": curve.missing,
        "undefined": curve.undefined,
        "edges": spread.edges.tolist(),
        "shares": spread.shares.tolist(),
    }


def load(path: str | os.PathLike[str]) -> FittedModel:
    """The fitted score in a file; raises ``FileFormatError`` for a file that is missing or has another structure."""
    return model_of(read_text(os.fspath(path)), os.fspath(path))


def model_of(text: str, path: str) -> FittedModel:
    """The fitted score in the text of the file ``path``."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileFormatError(f"{path}: expected a fitted score, as fit writes it, in TOML: {error}") from error
    if "format" not in values:
        raise FileFormatError(f"{path}: expected a fitted score, as fit writes it; the file does not state its format")
    if values["format"] != FORMAT:
        written = f", by fastmetrics {values['fastmetrics']}" if "fastmetrics" in values else ""
        raise FileFormatError(
            f"{path}: expected a fitted score of format {FORMAT}, got {shown(values['format'])}{written}; this is "
            f"fastmetrics {__version__}: fit the score again with it, or use the version that wrote it"
        )
    try:
        return _checked(_model(values))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"{path}: the fitted score cannot be read: {reason}; fit it again") from error


def digest_of(text: str) -> str:
    """A digest of the text of a file, for the signature of a run."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _model(values: Mapping[str, Any]) -> FittedModel:
    bounds = values["bounds"]
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ValueError(f"bounds: expected two numbers, got {shown(bounds)}")
    return FittedModel(
        name=_one_of_type(values["name"], "name", str),
        kind=_choice(values["kind"], "kind", KINDS),
        better=_choice(values["better"], "better", ("higher", "lower")),
        bounds=(_number(bounds[0], "bounds"), _number(bounds[1], "bounds")),
        intercept=_number(values["intercept"], "intercept"),
        features=[_feature_of(feature) for feature in values["features"]],
        thresholds={name: _threshold(entry) for name, entry in values.get("thresholds", {}).items()},
        labels=_about(values["labels"]),
        evaluation=_one_of_type(values["evaluation"], "evaluation", dict),
        version=_one_of_type(values["fastmetrics"], "fastmetrics", str),
    )


def _feature_of(values: Mapping[str, Any]) -> Feature:
    is_column = "column" in values
    knots, heights = _numbers(values["knots"], "knots"), _numbers(values["heights"], "heights")
    curve = Curve(knots, heights, _number(values["missing"], "missing"), _number(values["undefined"], "undefined"))
    spread = ScoreShares(_numbers(values["edges"], "edges"), _numbers(values["shares"], "shares"))
    kind = "column" if is_column else "metric"
    return Feature(_one_of_type(values[kind], kind, str), is_column, spread, curve)


def _threshold(values: Mapping[str, Any]) -> Threshold:
    """A threshold; TOML has no null."""
    return Threshold(**{"cut": None, **{name: _number(value, name) for name, value in values.items()}})


def _about(labels: Any) -> Mapping[str, Any]:
    """What the file says about the labels, of which descriptions show the number of rows."""
    for name in ("rows", "groups"):
        _number(_one_of_type(labels, "labels", dict).get(name, 0), name)
    _one_of_type(labels.get("embedder", ""), "embedder", str)
    return dict(labels)


def _checked(model: FittedModel) -> FittedModel:
    """The model if its parts fit together; raises ``ValueError`` otherwise."""
    for feature in model.features:
        knots = feature.curve.knots
        if not len(knots) or len(knots) != len(feature.curve.heights) or (np.diff(knots) <= 0).any():
            raise ValueError(f"{feature.name}: knots must rise, and each has a height")
    if not model.features or model.bounds[0] >= model.bounds[1]:
        raise ValueError("expected features, and bounds that rise")
    spreads = [feature.spread for feature in model.features]
    if any(len(spread.shares) != len(spread.edges) + 3 for spread in spreads):
        raise ValueError("expected a share for each part between edges, of missing and of undefined scores")
    if any((np.diff(spread.edges) <= 0).any() or (spread.shares < 0).any() for spread in spreads):
        raise ValueError("edges must rise, and no share is below 0")
    return model


def _numbers(values: Any, name: str) -> Floats:
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (np.abs(numbers) > LARGEST).any():
        raise ValueError(f"{name}: expected a list of finite numbers up to {LARGEST:g}, got {shown(values)}")
    return numbers


def _number(value: Any, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{name}: expected a finite number up to {LARGEST:g}, got {shown(value)}")
    return value


def _choice(value: Any, name: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name}: expected {' or '.join(allowed)}, got {shown(value)}")
    return value


def _one_of_type(value: Any, name: str, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected {kind.__name__}, got {shown(value)}")
    return value
