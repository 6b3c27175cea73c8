"""``fm.with_scores``: a table with its scores as further columns, in the table's own kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import ColumnError, OptionError
from fastmetrics.base.frames import is_dataset, is_relation
from fastmetrics.base.threads import cores
from fastmetrics.engines.job import Progress
from fastmetrics.metrics.plan import Plan, ScoreRequest
from fastmetrics.scoring.frames.row_function import TableFunction, check_has_rows
from fastmetrics.scoring.score import scores_of_source
from fastmetrics.scoring.score_output import plan_table
from fastmetrics.tables.sources import FrameSource, is_paths


def with_scores(
    table: Any,
    metrics: Sequence[str] | str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    suites: Sequence[str] | str = (),
    embedder: Any = None,
    cache: str | Path | None = None,
    no_relevant: str = "undefined",
    lists: Sequence[str] | str = (),
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """The table with one more column for each metric, as a table of the same kind; the table itself is unchanged.

    A pandas frame keeps its index, and an absent score is NaN there.  Other tables keep null (an input is missing)
    apart from NaN (the metric is undefined).  A lazy Polars frame stays lazy: its scores are computed when it is
    collected.  The scores are the same bits as those of :func:`fastmetrics.score`.

    Parameters:

    - ``table``: a pandas or Polars frame, a lazy Polars frame, an Arrow table or record batch, a Hugging Face dataset,
      a dict of columns, or a list of dicts.
    - ``metrics``: names of metrics with one score per row, with options, as in :func:`fastmetrics.score`.
    - ``columns``: your names of input columns, ``{canonical: yours}``.
    - ``schema``: a preset of names: ragas, deepeval, mlflow, hf, autorag.
    - ``suites``: families of metrics whose columns exist.
    - ``embedder``: computes missing embeddings from the texts.
    - ``cache``: a folder that stores embeddings.
    - ``no_relevant``: the score of retrieval metrics on rows without relevant documents, ``"zero"`` or ``"undefined"``.
    - ``lists``: your columns of texts whose texts are lists in JSON.
    - ``threads``: the number of threads; one for each core by default.
    - ``progress``: called with the rows scored so far.

    >>> import fastmetrics as fm
    >>> fm.with_scores([{"answer": "in Paris", "reference": "Paris", "user": 7}], "token_recall")
    [{'answer': 'in Paris', 'reference': 'Paris', 'user': 7, 'token_recall': 1.0}]

    Raises ``ColumnError`` for a table of another kind and for unsuitable columns, ``UnknownNameError`` for an unknown
    metric, and ``OptionError`` for an invalid option, for a metric with the name of a column, and for a metric with one
    value a table; a lazy frame also refuses metrics that need all rows before they score the first.
    """
    add = None if _is_lazy(table) else adder_of(table)
    source = FrameSource(table)
    source.index = None  # the table keeps it
    levels = table.columns.nlevels if _is_pandas(table) else 1
    request = ScoreRequest(metrics, columns, schema, (), suites, embedder, cache, no_relevant, lists)
    planned = plan_beside(source, request, levels=levels)
    if add is None:
        return lazy_scores(table, planned, source.names, threads)
    return add(table, scores_of_source(source, planned, cores(threads), progress).select(planned.names))


def plan_beside(source: FrameSource, request: ScoreRequest, *, levels: int = 1) -> Plan:
    """The plan of scores that become columns of their own table, whose names have ``levels``.

    Raises ``OptionError`` for a metric with one value a table, or with the name of a column.
    """
    planned = plan_table(source, request)
    for requested in planned.scores:
        check_has_rows(requested)
        if str(_label(requested.name, levels)) in source.names:
            raise OptionError(
                f"the table has a column {requested.name!r} already; drop it, or give the score a name of its own: "
                f"{requested.metric.name}(name='...')"
            )
    return replace(planned, keep=())


def lazy_scores(frame: Any, planned: Plan, beside: Sequence[str], threads: int | None) -> Any:
    """Columns of a lazy Polars frame with the scores of a plan, all in one expression, so that a column is read once.

    Raises ``OptionError`` for a metric that needs all rows.
    """
    import polars as pl

    score, names, workers = TableFunction(planned), list(planned.inputs), cores(threads)

    def compute(series: Sequence[Any]) -> Any:
        source = FrameSource(dict(zip(names, aligned(series), strict=True)))
        return pl.DataFrame(pl.from_arrow(score(source, workers))).to_struct(_STRUCT)

    types = pl.Struct(dict.fromkeys(planned.names, pl.Float64))
    scores = pl.map_batches([pl.col(name) for name in names], compute, return_dtype=types, is_elementwise=True)
    return frame.select([*beside, scores.alias(_STRUCT)]).unnest(_STRUCT)


def aligned(series: Sequence[Any]) -> list[Any]:
    """Series of equal length: Polars hands a constant to a function as a series of one value."""
    rows = max(len(column) for column in series)
    lengths = {len(column) for column in series}
    if 0 in lengths:
        return [column.clear() for column in series]
    return [column.new_from_index(0, rows) if len(column) == 1 < rows else column for column in series]


_STRUCT = "fastmetrics scores"
"""The name of the column that holds all scores until it is divided into columns."""


def own_kind(scores: pa.Table, frame: Any) -> Any:
    """A table of scores as a frame of the kind of ``frame``: of pandas, with its index, or of Polars."""
    if _is_pandas(frame):
        return scores.to_pandas()
    import polars as pl

    return pl.from_arrow(scores)


def own_series(scores: pa.ChunkedArray, frame: Any, name: str) -> Any:
    """Scores as a series of the kind of ``frame``: of pandas, with its index, or of Polars."""
    if _is_pandas(frame):
        import pandas as pd

        return pd.Series(scores.to_numpy(), frame.index, name=name)
    import polars as pl

    return pl.Series(name, scores)


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "iloc") and hasattr(table, "columns")


def _is_lazy(table: Any) -> bool:
    return hasattr(table, "collect_schema") and hasattr(table, "collect")


def adder_of(table: Any) -> Callable[[Any, pa.Table], Any]:
    """The function that adds scores to a table of this kind; raises ``ColumnError`` for an unsuitable kind."""
    if _is_pandas(table):
        return _to_pandas
    if hasattr(table, "get_column"):
        return lambda frame, scores: frame.with_columns(own_kind(scores, frame))
    if isinstance(table, pa.Table | pa.RecordBatch):
        return _to_arrow
    if is_dataset(table) and hasattr(table, "data"):
        return _to_dataset
    if isinstance(table, Mapping):
        return lambda frame, scores: {**frame, **scores.to_pydict()}
    if isinstance(table, list) and all(isinstance(row, Mapping) for row in table):
        return lambda rows, scores: [{**row, **more} for row, more in zip(rows, scores.to_pylist(), strict=True)]
    raise ColumnError(_unsuitable(table))


def _unsuitable(table: Any) -> str:
    """The message for a table to which no columns can be added, with what to do instead."""
    if is_paths(table):
        return 'with_scores adds columns to a table in memory; for files, call fm.score(paths, output=..., keep="all")'
    if is_relation(table):
        return (
            "a DuckDB relation is a query; call fm.duckdb.register(connection) and "
            "SELECT *, token_f1(answer, reference) FROM ..."
        )
    if isinstance(table, Iterator) or hasattr(table, "read_next_batch"):
        return f"a {type(table).__name__} can be read only once; make a table of it first"
    if is_dataset(table):
        return "a streamed dataset is read once; call dataset.map(fm.datasets.scorer(metrics), batched=True)"
    return f"expected a table to which columns can be added, got a value of type {type(table).__name__}"


def _to_pandas(frame: Any, scores: pa.Table) -> Any:
    scored = frame.copy(deep=False)
    for name in scores.column_names:
        scored[_label(name, frame.columns.nlevels)] = scores[name].to_numpy()
    return scored


def _label(name: str, levels: int) -> str | tuple[str, ...]:
    """The label of a score among columns of pandas whose labels have several levels."""
    return name if levels == 1 else (name, *[""] * (levels - 1))


def _to_arrow(table: Any, scores: pa.Table) -> Any:
    more = scores.combine_chunks()
    for name in scores.column_names:
        column = more[name]
        table = table.append_column(name, column if isinstance(table, pa.Table) else column.combine_chunks())
    return table


def _to_dataset(dataset: Any, scores: pa.Table) -> Any:
    import datasets

    if not len(dataset):  # concatenate_datasets leaves out what has no rows
        for name in scores.column_names:
            dataset = dataset.add_column(name, scores[name].to_numpy())
        return dataset
    return datasets.concatenate_datasets([dataset, datasets.Dataset(scores.replace_schema_metadata())], axis=1)
