"""What is stored with scores: what their readers know of a metric, and the signature of the run."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.specs import Better
from fastmetrics.metrics.cited_support import embedder_of
from fastmetrics.metrics.fitted_metric import FittedMetric
from fastmetrics.metrics.metric import REGISTRY, Metric, Reading, labels_of
from fastmetrics.metrics.plan import Plan, Score
from fastmetrics.metrics.tokenizers import TOKENIZERS

# What the readers of scores know about a metric: stored with the scores where a column's name does not tell it.


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


# The signature of a run: every setting that the scores depend on.


def signature(planned: Plan) -> ScoreMetadata:
    """Everything the scores depend on: versions, metrics with all their options, and the columns they read."""
    return ScoreMetadata(
        version=__version__,
        unicode=unicodedata.unidata_version,
        scores={score.name: _settings(score) for score in planned.scores},
        columns=planned.used,
        passed_over=planned.passed_over or None,
        keep=planned.keep,
        lists=planned.lists or None,
        keep_counts=True if planned.keep_counts else None,
        options=planned.common or None,
        declared=to_store(planned) or None,
    )


def _settings(score: Score) -> dict[str, Any]:
    """The metric and its options; for a metric from outside this package also its code.

    A fitted score also has the settings of the metrics that it reads: their code, and the embedder of the run.
    """
    settings = _of_metric(score.metric, score.options)
    if isinstance(score.metric, FittedMetric):
        settings["reads"] = {
            part.name: _of_metric(part.metric, part.options) for part in score.metric.parts if part.metric is not None
        }
    return settings


def _of_metric(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    code, cut = code_of(metric), TOKENIZERS.get(str(options.get("tokenizer")))
    settings = {"metric": metric.name, **({} if code is None else {"code": code}), **_jsonable(options)}
    return settings if cut is None else {**settings, "tokenizer_code": _digest(cut)}


def code_of(metric: Metric) -> str | None:
    """A digest of the code of a metric from outside this package, or of the file of a fitted score; else None."""
    if isinstance(metric, FittedMetric):
        return metric.code
    if metric.function.__module__.startswith("fastmetrics."):
        return None
    return _digest(metric.function)


def _digest(function: Callable[..., Any]) -> str:
    return hashlib.sha256(inspect.getsource(inspect.unwrap(function)).encode()).hexdigest()[:16]


def _jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(options)
    if "embedder" in settings:  # its weights and precision; the location of the cache does not affect scores
        settings["embedder"] = embedder_of(options).signature
        del settings["cache"]
    return dict(json.loads(json.dumps(settings, default=repr)))
