"""What the readers of scores know about a metric: stored with the scores where a column's name does not tell it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.specs import Better
from fastmetrics.declaration.metric import Metric, Reading
from fastmetrics.declaration.metric_labels import labels_of
from fastmetrics.metrics import REGISTRY
from fastmetrics.plan.fitted_metric import FittedMetric
from fastmetrics.plan.plan import Plan, Score


@dataclass(frozen=True)
class Declared:
    """The declaration of a score column; infinite bounds are null in JSON."""

    spec: str
    """The metric with its options."""
    better: Better
    bounds: tuple[float, float]
    statistics: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    reading: Reading | None = None

    @classmethod
    def of(cls, metric: Metric, spec: str) -> Declared:
        """The declaration of a metric with options."""
        labels = labels_of(metric.labels, spec.removeprefix(metric.name))
        return cls(spec, metric.better, metric.bounds, metric.statistics, labels, metric.reading)

    @classmethod
    def of_score(cls, score: Score) -> Declared:
        """The declaration of a score; one with the user's own name has no label."""
        declared = cls.of(score.metric, score.spec)
        return declared if score.name == score.spec else cls(**{**vars(declared), "labels": {}})

    @classmethod
    def of_json(cls, name: str, stored: Any) -> Declared:
        """A stored declaration; raises ``FileFormatError`` for another structure."""
        try:
            low, high = stored["bounds"]
            reading = stored["reading"]
            if stored["better"] not in ("higher", "lower", None):
                raise ValueError(f"better: {stored['better']!r}")
            return cls(
                spec=str(stored["spec"]),
                better=stored["better"],
                bounds=(-math.inf if low is None else float(low), math.inf if high is None else float(high)),
                statistics=tuple(map(str, stored["statistics"])),
                labels={str(statistic): str(label) for statistic, label in stored["labels"].items()},
                reading=None if reading is None else (float(reading[0]), _number_or_none(reading[1])),
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the declaration of {name!r} in the metadata cannot be read: {error!r}") from error

    def to_json(self) -> dict[str, Any]:
        """The declaration as plain values."""
        bounds = [bound if math.isfinite(bound) else None for bound in self.bounds]
        reading = None if self.reading is None else list(self.reading)
        return {**asdict(self), "bounds": bounds, "statistics": list(self.statistics), "reading": reading}


Stored: TypeAlias = Mapping[str, Declared]
"""The declarations in the metadata of scores, by column."""


def _number_or_none(value: Any) -> float | None:
    return None if value is None else float(value)


def to_store(planned: Plan) -> dict[str, Any]:
    """The declarations to store with the scores of a plan: of other packages' metrics, and of users' own names."""
    hidden = [score for score in planned.scores if score.name != score.spec or not _is_built_in(score.metric)]
    return {score.name: Declared.of_score(score).to_json() for score in hidden}


def _is_built_in(metric: Metric) -> bool:
    built_in = (
        REGISTRY[metric.name].function.__module__.startswith("fastmetrics.") if metric.name in REGISTRY else False
    )
    return built_in and not isinstance(metric, FittedMetric)
