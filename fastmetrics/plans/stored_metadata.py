"""What is stored with scores: what their readers know of a metric, the sums from which a summary is made, the signature
of the run, and digests of code.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.base.public_names import PACKAGE, __version__
from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata
from fastmetrics.base.specs import Better
from fastmetrics.metrics.cited_support import embedder_of
from fastmetrics.metrics.fitted_metric import FittedMetric
from fastmetrics.metrics.metric import REGISTRY, Metric, Reading, labels_of
from fastmetrics.metrics.score_names import Score
from fastmetrics.metrics.tokenizers import TOKENIZERS
from fastmetrics.plans.notes import input_drifts, notes_of
from fastmetrics.plans.plan import Plan
from fastmetrics.stats.fingerprints import fingerprint, fingerprint_text, is_hashable
from fastmetrics.stats.sums import State

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
        """The declaration of a metric with options; one that is called by its label, such as ``mrr``, has no other."""
        has_own = bool(metric.labels) and spec.startswith(metric.name)
        labels = labels_of(metric.labels, spec.removeprefix(metric.name)) if has_own else {}
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
            what = f"the declaration of {name!r} in the metadata cannot be read; score the rows again"
            raise FileFormatError(what) from error

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


# The sums of the rows, from which the readers of scores make a summary.


def described(scores: pa.Table, planned: Plan, sums: BatchSums) -> tuple[pa.Table, list[str]]:
    """Scores in memory with what ``summarize`` needs in their metadata, and the notes on them."""
    metadata = ScoreMetadata(declared=to_store(planned) or None, named=planned.named or None, scored=planned.names)
    if sums.counts or sums.drift or sums.unread or any(rows for rows, _ in sums.cautions.values()):
        of_ids = _fingerprint(scores, planned) if sums.counts else None
        metadata |= ScoreMetadata(
            options=planned.common or None,
            metrics={name: RowCounts(scores.num_rows, scores[name].null_count, 0, 0) for name in planned.names},
            counts=sums.counts,
            cautions=sums.cautions,
            unread=sums.unread or None,
            drift=input_drifts(planned, sums.drift) or None,
            n_rows=None if planned.names else scores.num_rows,
            fingerprint=of_ids,
        )
    return scores.replace_schema_metadata({**(scores.schema.metadata or {}), **metadata.for_schema()}), notes_of(
        planned, sums
    )


def _fingerprint(scores: pa.Table, planned: Plan) -> dict[str, str] | None:
    """The fingerprint of the ids, by which a summary tells whether the counts in the metadata are those of its rows."""
    own = planned.columns.get("id")
    column = next((name for name, copied in planned.copied.items() if copied == own), None)
    if column is None or not is_hashable(scores[column].type):
        return None
    sums = [fingerprint([chunk]) for chunk in scores[column].chunks]
    return {"ids": fingerprint_text([sum(part) for part in zip(*sums, strict=True)])} if sums else None


def observe(names: Sequence[str], part: pa.RecordBatch) -> dict[str, Any]:
    """The sums of a part's scores, its counts of corpus metrics, cautions and drift, and its fingerprints."""
    states = {name: State() for name in names}
    for name, state in states.items():
        state.add(part.column(name))
    scores = {name: state.to_json() for name, state in states.items()}
    return {"scores": scores, "n_rows": part.num_rows, **BatchSums.of([part]).to_json()}


def merged(observed: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, State]:
    """The sums of the scores of all parts, by score."""
    states = {name: State() for name in names}
    for part in observed:
        for name, text in part["scores"].items():
            states[name] = states[name].merge(State.from_json(text))
    return states


def conclude(planned: Plan, observed: Sequence[Mapping[str, Any]], rejected: int) -> ScoreMetadata:
    """The metadata about the rows of an output, from which a summary distinguishes missing, undefined and failed."""
    rows = {
        # infinite scores are stored as they are, undefined ones as null
        name: RowCounts(
            state.n + state.n_missing + state.n_undefined, state.n_missing, state.n_undefined - state.n_infinite, 0
        )
        for name, state in merged(observed, planned.names).items()
    }
    sums = BatchSums.added(observed)
    return ScoreMetadata(
        metrics=rows,
        n_rejected=rejected,
        counts=sums.counts or None,
        cautions=sums.cautions or None,
        unread=sums.unread or None,
        drift=input_drifts(planned, sums.drift) or None,
        # Without a score column, nothing else has the number of rows.
        n_rows=None if planned.names else sum(part["n_rows"] for part in observed),
        fingerprint={rows_by: fingerprint_text(of_rows) for rows_by, of_rows in sums.fingerprint.items()} or None,
    )


# The signature of a run: every setting that the scores depend on.


def signature(planned: Plan) -> ScoreMetadata:
    """Everything the scores depend on: versions, metrics with all their options, and the columns they read."""
    return ScoreMetadata(
        version=__version__,
        unicode=unicodedata.unidata_version,
        scores={score.name: _settings(score) for score in planned.scores},
        columns=planned.used_as,
        named=planned.named or None,
        passed_over=planned.passed_over or None,
        keep=planned.keep,
        lists=list_specs(planned.lists) or None,
        keep_counts=True if planned.keep_counts else None,
        strip_thoughts=True if planned.strip_thoughts else None,
        extracted=planned.extracted or None,
        options=planned.common or None,
        declared=to_store(planned) or None,
    )


def list_specs(lists: Mapping[str, str]) -> list[str]:
    """The columns of lists as they are written: ``contexts`` or ``contexts=|``."""
    return [f"{name}={separator}" if separator else name for name, separator in lists.items()]


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


# The files of code that custom metrics run: a digest of a function alone would miss a constant or a helper beside it
# that changes between the halves of a resumed run.  What a file imports is not seen.


def source_digests(planned: Plan) -> dict[str, str]:
    """A digest per file outside this package that declares a metric of a plan; a metric of a notebook has no file."""
    return _digests(_functions(planned))


def source_of(function: Callable[..., Any]) -> str:
    """A digest of the code of a function: of its file.

    Without a file, as in a notebook, it is that of the function alone, and empty if its source is unknown.
    """
    while isinstance(function, functools.partial):
        function = function.func
    source = json.dumps(_digests([function])) if hasattr(function, "__module__") else "{}"
    if source == "{}":
        try:
            source = inspect.getsource(function)
        except (OSError, TypeError):
            return ""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _digests(functions: Iterable[Callable[..., Any]]) -> dict[str, str]:
    """The digests of the files that declare functions, by their names: of a plugin, of the text that was run."""
    digests: dict[str, str] = {}
    for module in sorted({inspect.unwrap(function).__module__ for function in functions}):
        path, text = LOADED.get(module) or (getattr(sys.modules.get(module), "__file__", None), None)
        if path is None or Path(path).resolve().is_relative_to(PACKAGE):
            continue
        with suppress(OSError):  # a module in an archive has no file
            content = Path(path).read_bytes() if text is None else text.encode()
            digest = hashlib.sha256(content).hexdigest()[:16]
            known = digests.setdefault(Path(path).name, digest)
            if digest not in known:  # files of the same name in different folders
                digests[Path(path).name] = f"{known} {digest}"
    return digests


def _functions(planned: Plan) -> Iterator[Callable[..., Any]]:
    """The functions of the metrics, of the metrics that fitted ones read, and of the tokenizers in their options."""
    for score in planned.scores:
        parts = [(score.metric, score.options)]
        if isinstance(score.metric, FittedMetric):
            parts = [(part.metric, part.options) for part in score.metric.parts if part.metric is not None]
        for metric, options in parts:
            yield metric.function
            tokenizer = TOKENIZERS.get(str(options.get("tokenizer")))
            if tokenizer is not None:
                yield tokenizer
