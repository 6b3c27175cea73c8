"""The signature of a run: every setting that the scores depend on."""

from __future__ import annotations

import hashlib
import inspect
import json
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.declaration.metric import Metric
from fastmetrics.declaration.tokenizers import TOKENIZERS
from fastmetrics.metrics.shared.claims.cited_support import embedder_of
from fastmetrics.plan.fitted_metric import FittedMetric
from fastmetrics.plan.plan import Plan, Score
from fastmetrics.plan.stored_declarations import to_store


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
