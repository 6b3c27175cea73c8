"""DuckDB: metrics as vectorised functions of SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from fastmetrics.base.column_names import listed
from fastmetrics.base.errors import OptionError
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.scoring.frames.with_scores import RowFunction, score_of
from fastmetrics.scoring.metric_functions import columns_and_options

PREFIX = "fm_"
"""Precedes the name of a metric that is also a function of DuckDB itself, such as ``jaccard``."""


def register(connection: Any, metrics: Sequence[str] | str | None = None) -> dict[str, str]:
    """Make metrics functions of a DuckDB connection: ``SELECT token_f1(answer, reference) FROM answers``.

    ``metrics`` are names with options, by default all metrics with one score per row.  The arguments of a function are
    the metric's columns in their order; optional columns may be left out at the end, and any argument may be constant.
    A score is null where an input is missing, NaN where the metric is undefined, and otherwise as by ``fm.score``.

    Returns the name of each function and its metric.  Names that DuckDB itself uses begin with ``fm_``, as in
    ``fm_jaccard``.  Names with other characters than letters, digits and ``_`` are quoted in SQL,
    ``"ndcg@10"(retrieved_ids, relevant_ids)``, unless the metric gets a name of its own: ``ndcg@10(name='ndcg_10')``.
    A second call replaces the functions of the first.  Functions belong to the whole database: register them on the
    connection once, and its cursors have them.

    >>> import duckdb
    >>> import fastmetrics as fm
    >>> with duckdb.connect() as connection:
    ...     _ = fm.duckdb.register(connection, "token_recall,squad_f1(version=2, name='squad')")
    ...     connection.sql("SELECT token_recall('in Paris', ['Paris', 'Rome']), squad('Rome', NULL)").fetchall()
    [(1.0, None)]

    Raises ``UnknownNameError`` for an unknown metric or option, and ``OptionError`` for an invalid option, for a metric
    that needs all rows, and for a function that another connection or cursor registered.  A query raises an error of
    DuckDB for columns that a metric cannot read.
    """
    row_metrics = [name for name, metric in REGISTRY.items() if metric.corpus is None]
    functions = [RowFunction(score_of(spec, {})) for spec in (row_metrics if metrics is None else listed(metrics))]
    names = {}
    for function in functions:
        name = _free_name(connection, function.score.name)
        connection.create_function(
            name, _lasting(function), None, "DOUBLE", type="arrow", null_handling="special", side_effects=False
        )
        names[name] = function.score.spec
    return names


def _free_name(connection: Any, name: str) -> str:
    """The name under which a metric can be a function, once an earlier registration is removed."""
    import duckdb

    for candidate in (name, PREFIX + name):
        with suppress(duckdb.InvalidInputException):  # no function of Python has this name
            connection.remove_function(candidate)
    if not _has(connection, name):
        return name
    with duckdb.connect() as other:
        is_own = _has(other, name)
    free = PREFIX + name if is_own else name
    if _has(connection, free):
        raise OptionError(
            f"the function {free} is in this database already, from another connection or cursor; register the metrics "
            "once, on the connection: its cursors have them"
        )
    return free


def _has(connection: Any, name: str) -> bool:
    """Whether a database has a function of this name."""
    exists = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"
    [(count,)] = connection.execute(exists, [name.lower()]).fetchall()
    return bool(count)


_FUNCTIONS: dict[tuple[int, str], tuple[RowFunction, Callable[..., pa.ChunkedArray]]] = {}
"""The functions that DuckDB may call, by metric and spec.

A function stays in the database when the cursor that registered it is closed, but DuckDB lets go of the Python object
then, and calls what is in its place.
"""


def _lasting(function: RowFunction) -> Callable[..., pa.ChunkedArray]:
    """The function that DuckDB calls, which lives as long as this process."""
    key = id(function.score.metric), function.score.spec
    lasting, call = _FUNCTIONS.setdefault(key, (function, _over_arrays(function)))
    lasting.told = function.told  # a new registration tells its notes again
    return call


def _over_arrays(function: RowFunction) -> Callable[..., pa.ChunkedArray]:
    """The function that DuckDB calls with a piece of each column; it has one thread of DuckDB's."""

    def score(*columns: pa.ChunkedArray) -> pa.ChunkedArray:
        present, _ = columns_and_options(function.score.metric, columns, {})
        return function(present)

    return score
