"""Metrics of one row as functions of columns and of tables, for the expressions and functions of other tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import OptionError
from fastmetrics.base.threads import cores, ordered
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS, Metric
from fastmetrics.metrics.plan import Plan, Score, canonical_name, parse
from fastmetrics.metrics.score_batch import Scorer, Shelf, slices
from fastmetrics.scoring.metric_functions import table_of_columns
from fastmetrics.scoring.score import scores_of_source
from fastmetrics.tables.sources import FrameSource


class RowFunction:
    """A score of each row from columns: the same bits as ``fm.score``, null where an input is missing.

    It is thread-safe, remembers words between calls, and can be sent to other processes.
    """

    def __init__(self, score: Score) -> None:
        check_rows_alone(score)
        self.score = score
        self._shelf = Shelf()
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[type[RowFunction], tuple[Score]]:
        """Pickling drops the remembered words."""
        return RowFunction, (self.score,)

    def __call__(self, columns: Mapping[str, Any], threads: int | None = 1) -> pa.ChunkedArray:
        """The scores of columns (canonical name: values); undefined scores are NaN.

        With one thread, the calling thread computes; with more, calls of several threads take turns.

        Raises ``ColumnError`` for columns of different lengths or of the wrong type.
        """
        workers = cores(threads)
        table = table_of_columns(columns)
        batches = slices(table, workers)
        with self._turn if workers > 1 else nullcontext():
            scores = ordered(self._compute, batches, workers) if workers > 1 else map(self._compute, batches)
            return pa.chunked_array(scores, pa.float64())

    def _compute(self, batch: pa.RecordBatch) -> pa.Array:
        with self._shelf.book() as words:
            rows = Batch(dict(zip(batch.schema.names, batch.columns, strict=True)), words=words)
            values, present = self.score.metric.compute(rows, self.score.options)
        return pa.array(values, pa.float64(), mask=~present)


class TableFunction:
    """The scores of each row of tables, one table after another, by one plan: the same bits as ``fm.score``.

    It remembers words between calls.  Calls of several threads take turns, each with all its threads: threads of two
    calls at a time would learn the same words beside each other.  It can be sent to other processes.
    """

    def __init__(self, planned: Plan) -> None:
        for requested in planned.scores:
            check_rows_alone(requested)
        self.plan = replace(planned, keep=())
        self._scorer = Scorer(self.plan)
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[type[TableFunction], tuple[Plan]]:
        """Pickling drops the remembered words."""
        return TableFunction, (self.plan,)

    def __call__(self, source: FrameSource, threads: int) -> pa.Table:
        """The scores of a table."""
        source.hold(self.plan.inputs)  # before the turn: Polars may convert on threads that wait for theirs
        with self._turn:
            return scores_of_source(source, self.plan, threads, None, self._scorer)


def score_of(metric: str | Metric, options: Mapping[str, Any]) -> Score:
    """The score that a metric, or a spec such as ``squad_f1(version=2)``, computes with further options.

    Raises ``UnknownNameError`` for an unknown metric or option, ``OptionError`` for an invalid value.
    """
    score = parse(metric) if isinstance(metric, str) else Score(metric.name, metric, metric.options({}), metric.name)
    if not options:
        return score
    complete = score.metric.options({**score.options, **options})
    explicit = [name for name in complete if complete[name] != score.metric.defaults[name]]
    name = canonical_name(score.metric, complete, explicit)
    return Score(name, score.metric, complete, name)


def check_has_rows(score: Score) -> None:
    """Raise ``OptionError`` for a metric with one value for a whole table."""
    if score.metric.corpus is not None:
        raise OptionError(
            f"{score.name} has one value for a whole table, not one for each row: "
            f"call fm.summarize(fm.score(table, {score.spec!r}))"
        )


def check_rows_alone(score: Score) -> None:
    """Raise ``OptionError`` for a metric that cannot be computed from one row alone."""
    check_has_rows(score)
    if score.metric.rows.fit is not None:
        score.metric.rows.fit(_NoRows(score), score.options)


def metric_of_name(name: str, module: str) -> Metric:
    """The metric that an attribute of a module names; raises ``AttributeError`` for another name."""
    if name.startswith("_") or name not in SPELLINGS:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return REGISTRY[SPELLINGS[name]]


class _NoRows:
    """Stands for all rows of a table where only some are at hand: reading them is the error."""

    def __init__(self, score: Score) -> None:
        self._score = score

    def __iter__(self) -> Iterator[Batch]:
        raise OptionError(
            f"{self._score.name} needs all rows before it scores the first: "
            f"call fm.score(table, {self._score.spec!r}), with the whole table"
        )
