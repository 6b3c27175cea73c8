"""Metrics called with raw columns: the way behind ``fm.token_f1(answers, references)`` and its siblings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Floats, as_arrow
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.cautions import notes
from fastmetrics.declaration.metric import Metric
from fastmetrics.core.frames import aligned_table
from fastmetrics.plan.plan import Score, parse
from fastmetrics.plan.score_batch import Shelf, slices
from fastmetrics.text.tokenize import Wordbook
from fastmetrics.core.threads import cores, ordered

T = TypeVar("T")


def score_columns(
    metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None
) -> Floats:
    """One metric over raw columns, which must be of one length: one float64 a row, NaN where it has no score."""
    return score_together([Score(metric.name, metric, metric.options(options))], columns, threads)[metric.name]


def count_columns(metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None) -> Any:
    """One corpus metric over raw columns, which must be of one length: what its ``finish`` makes of their counts."""
    complete = metric.options(options)
    assert metric.finish is not None
    counts = list(_map(lambda rows: metric.count(rows, complete), _table_of(columns), threads))
    return metric.finish(np.sum(counts, axis=0).tolist() if counts else [], **complete)


def score_together(scores: Sequence[Score], columns: Mapping[str, Any], threads: int | None) -> dict[str, Floats]:
    """Several metrics over the same raw columns, sharing what is derived from them; by the scores' names."""
    table = _table_of(columns)
    fitted = []
    for score in scores:
        rows = (_batch(batch) for batch in slices(table))
        fitted.append(score.options if score.metric.fit is None else score.metric.fit(rows, score.options))

    def compute(rows: Batch) -> list[Floats]:
        return [score.metric.compute(rows, options)[0] for score, options in zip(scores, fitted, strict=True)]

    pieces = list(_map(compute, table, threads))
    return {s.name: np.concatenate([piece[i] for piece in pieces] or [np.zeros(0)]) for i, s in enumerate(scores)}


def _table_of(columns: Mapping[str, Any]) -> pa.Table:
    """Raw columns by canonical name, without those that were not given."""
    return aligned_table({name: as_arrow(values, name) for name, values in columns.items() if values is not None})


def _batch(batch: pa.RecordBatch, words: Wordbook | None = None) -> Batch:
    return Batch(dict(zip(batch.schema.names, batch.columns, strict=True)), words=words)


def _map(function: Callable[[Batch], T], table: pa.Table, threads: int | None) -> Iterator[T]:
    """``function`` of each batch of a table."""
    shelf = Shelf()

    def compute(batch: pa.RecordBatch) -> T:
        with shelf.book() as words:
            return function(_batch(batch, words))

    return ordered(compute, slices(table), cores(threads))


def finish_counts(name: str, counts: Sequence[int]) -> float:
    """The value of the corpus metric that was asked for as ``name``, from its added counts."""
    asked = parse(name)
    assert asked.metric.finish is not None
    return float(asked.metric.finish(counts, **asked.options).score)


def caution_notes(counts: Mapping[str, Sequence[int]]) -> list[str]:
    """What a reader must know of scores: ``counts`` has, for each that has a caution, ``[rows, scored rows]``."""
    asked = {name: parse(name) for name, (rows, _) in counts.items() if rows}
    cautions = {name: (one.metric.caution(one.options), one.options) for name, one in asked.items()}
    return notes(counts, {name: (said, options) for name, (said, options) in cautions.items() if said is not None})
