"""Metrics called with raw columns: ``fm.token_f1(answers, references)`` and the like, and several by ``fm.rouge``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.arrow import check_type
from fastmetrics.base.columns import as_arrow
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.base.frames import aligned_table, with_null_types
from fastmetrics.base.input_columns import COLUMNS, listed
from fastmetrics.base.threads import cores
from fastmetrics.metrics.batch import Batch, where_present
from fastmetrics.metrics.metric import REGISTRY, Metric
from fastmetrics.metrics.plan import Score, parse
from fastmetrics.metrics.rouge import KINDS, PARTS
from fastmetrics.metrics.score_batch import Shelf, map_batches, slices
from fastmetrics.text.tokenize import Wordbook

T = TypeVar("T")


_CALLS: dict[str, tuple[Metric, Callable[..., Any]]] = {}


def callable_of(name: str) -> Callable[..., Any]:
    """The function ``fastmetrics.<name>``, the same object as long as the declaration is the same."""
    metric = REGISTRY[name]
    if _CALLS.get(name, (None,))[0] is not metric:
        _CALLS[name] = metric, _called_with_columns(metric)
    return _CALLS[name][1]


def _called_with_columns(metric: Metric) -> Callable[..., Any]:
    """A metric called with raw columns and its options."""

    @functools.wraps(metric.function)
    def call(*columns: Any, threads: int | None = None, **keywords: Any) -> Any:
        present, options = columns_and_options(metric, columns, keywords)
        return (score_columns if metric.corpus is None else count_columns)(metric, present, options, threads)

    call.__signature__ = _signature(metric)  # type: ignore[attr-defined]
    return call


def columns_and_options(
    metric: Metric, columns: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns by canonical name, and the options, of a metric called with both.

    Raises ``TypeError`` for columns that are missing or too many.
    """
    present = dict(zip(metric.needs, columns, strict=False))
    if len(columns) > len(metric.needs):
        raise TypeError(
            f"{metric.name}() takes {len(metric.needs)} columns ({', '.join(metric.needs)}), got {len(columns)}"
        )
    options: dict[str, Any] = {}
    for option, value in keywords.items():
        (present if option in metric.needs and option not in present else options)[option] = value
    present = {column: values for column, values in present.items() if values is not None}
    lacking = [column for column in metric.required if column not in present]
    if lacking:
        raise TypeError(f"{metric.name}() needs the columns {', '.join(lacking)}")
    if not metric.fits(present):
        raise TypeError(f"{metric.name}() needs the columns {metric.rows.either}")
    return present, options


def _signature(metric: Metric) -> inspect.Signature:
    """The signature: the columns by position or name, then the options and ``threads`` by name."""
    keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    columns = [
        inspect.Parameter(name, either, default=None if name in metric.optional else inspect.Parameter.empty)
        for name in metric.needs
    ]
    options = [inspect.Parameter(name, keyword, default=value) for name, value in metric.defaults.items()]
    return inspect.Signature([*columns, *options, inspect.Parameter("threads", keyword, default=None)])


def score_columns(
    metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None
) -> Floats:
    """One metric over raw columns of equal length: one float64 per row, NaN where it has no score."""
    return score_together([Score(metric.name, metric, metric.options(options), metric.name)], columns, threads)[
        metric.name
    ]


def count_columns(metric: Metric, columns: Mapping[str, Any], options: Mapping[str, Any], threads: int | None) -> Any:
    """One corpus metric over raw columns of equal length: the result of its ``finish``."""
    workers = cores(threads)
    complete = metric.options(options)
    assert metric.corpus is not None
    if metric.corpus.over is not None:
        scores_read = [parse(spec) for spec in metric.reads(complete)]
        for score in scores_read:
            if not score.metric.fits([column for column, values in columns.items() if values is not None]):
                raise TypeError(f"{metric.name}() needs the columns of {score.name}: {', '.join(score.metric.needs)}")
        scores = score_together(scores_read, columns, workers)
        return metric.corpus.finish(lambda: [tuple(scores[score.name] for score in scores_read)], **complete)
    kinds = {column: need.kind for column, need in metric.needs.items() if hasattr(need, "kind")}
    if metric.keeps is not None:
        arrays = list(
            _map(
                lambda rows: (where_present(*metric.row_counts(rows, complete)),),
                table_of_columns(columns, kinds),
                workers,
            )
        )
        return metric.corpus.finish(lambda: arrays, **complete)
    counted = _map(lambda rows: metric.row_counts(rows, complete), table_of_columns(columns, kinds), workers)
    counts = [added[present].sum(axis=0) for added, present in counted]
    return metric.corpus.finish(np.sum(counts, axis=0).tolist() if counts else [], **complete)


def score_together(scores: Sequence[Score], columns: Mapping[str, Any], threads: int | None) -> dict[str, Floats]:
    """Several metrics over the same raw columns, sharing derived data; by score name."""
    workers = cores(threads)
    table = table_of_columns(columns)
    fitted = []
    for score in scores:
        rows = (_batch(batch) for batch in slices(table))
        fitted.append(score.options if score.metric.rows.fit is None else score.metric.rows.fit(rows, score.options))

    def compute(rows: Batch) -> list[Floats]:
        return [score.metric.compute(rows, options)[0] for score, options in zip(scores, fitted, strict=True)]

    pieces = list(_map(compute, table, workers))
    return {s.name: np.concatenate([piece[i] for piece in pieces] or [np.zeros(0)]) for i, s in enumerate(scores)}


def table_of_columns(columns: Mapping[str, Any], kinds: Mapping[str, str] = MappingProxyType({})) -> pa.Table:
    """Raw columns by canonical name, without absent ones; ``kinds`` overrides the kinds of columns."""
    table = aligned_table({name: as_arrow(values, name) for name, values in columns.items() if values is not None})
    kinds = {name: kinds.get(name, COLUMNS[name].kind) for name in table.column_names}
    table = with_null_types(table, kinds)
    for field in table.schema:
        check_type("", field.name, kinds[field.name], field.type)
    return table


def _batch(batch: pa.RecordBatch, words: Wordbook | None = None) -> Batch:
    return Batch(dict(zip(batch.schema.names, batch.columns, strict=True)), words=words)


def _map(function: Callable[[Batch], T], table: pa.Table, threads: int) -> Iterator[T]:
    """``function`` applied to each batch of a table."""
    shelf = Shelf()

    def compute(batch: pa.RecordBatch) -> T:
        with shelf.book() as words:
            return function(_batch(batch, words))

    return map_batches(compute, slices(table, threads), threads)


def rouge(
    answer: Any,
    reference: Any,
    *,
    types: Sequence[str] | str = ("rouge1", "rouge2", "rougeL"),
    stemmer: bool = False,
    tokenizer: str = "rouge",
    threads: int | None = None,
) -> dict[str, Floats]:
    """ROUGE of every answer: precision, recall and F1 for each of ``types``, equal to rouge-score 0.1.2.

    ``types`` are among rouge1 … rouge9, rougeL and rougeLsum.  ``reference`` contains one text or a list of texts per
    row; for each type, the reference with the highest F1 counts.  The arrays have the names of the row metrics, and are
    NaN where an input is missing.

    >>> import fastmetrics as fm
    >>> fm.rouge(["the cat sat on it"], ["The cat sat."], types=["rouge2"])
    {'rouge2_precision': array([0.5]), 'rouge2_recall': array([1.]), 'rouge2_f1': array([0.66666667])}

    Raises ``UnknownNameError`` for another type, ``OptionError`` for another tokenizer, ``ColumnError`` for columns
    that differ in length.
    """
    expected = [f"rouge{kind}" for kind in KINDS]
    types = listed(types)
    for kind in types:
        if kind not in expected:
            raise UnknownNameError.of("type of ROUGE", kind, expected)
    names = [f"{kind}_{part}" for kind in types for part in PARTS]
    options = REGISTRY["rouge1_f1"].options({"stemmer": stemmer, "tokenizer": tokenizer})
    # longer n-grams first: counting them also counts the shorter ones
    scores = [Score(name, REGISTRY[name], options, name) for name in sorted(names, reverse=True)]
    scored = score_together(scores, {"answer": answer, "reference": reference}, threads)
    return {name: scored[name] for name in names}
