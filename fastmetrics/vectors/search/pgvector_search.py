"""Nearest rows of a table with pgvector: by its index, in blocks of queries, with the recall and the latencies."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.allowed_values import Choice, argument
from fastmetrics.core.display import Grid
from fastmetrics.errors import ColumnError, InputError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.databases.database_address import DatabaseTable, quoted, with_query
from fastmetrics.tables.databases.database_types import converted
from fastmetrics.tables.databases.sessions import Session
from fastmetrics.vectors.search.neighbors import Distance, Index
from fastmetrics.vectors.search.queries import Queries
from fastmetrics.vectors.search.search_files import LATENCY, SearchRankings, SearchTimes, rankings_of

OPERATORS = {"cosine": "<=>", "euclidean": "<->", "dot": "<#>"}
SETTINGS = {
    "ef_search": "hnsw.ef_search",
    "iterative_scan": "hnsw.iterative_scan",
    "max_scan_tuples": "hnsw.max_scan_tuples",
    "probes": "ivfflat.probes",
    "max_probes": "ivfflat.max_probes",
    "ivfflat_iterative_scan": "ivfflat.iterative_scan",
}
"""The settings of a search, and their names in pgvector."""
_BLOCK = 64
"""Queries of one statement."""


@dataclass(frozen=True)
class Chunks:
    """Where the vectors are: the address of a database, a table in it, and its columns."""

    address: str
    table: str
    vector: str
    id: str
    where: str | None
    metric: Distance

    @property
    def rows(self) -> str:
        """The rows that are searched, in SQL."""
        condition = f" AND ({self.where}\n)" if self.where else ""
        return f"{self._table.relation} WHERE {quoted(self.vector)} IS NOT NULL{condition}"

    @property
    def _table(self) -> DatabaseTable:
        return DatabaseTable.of(f"{self.address}{'&' if '?' in self.address else '?'}table={quote(self.table)}")

    def session(self, settings: Mapping[str, Any]) -> Session:
        """A connection that only reads, with these settings of its searches."""
        session = Session(self._table)
        session.execute("SET LOCAL jit = off")
        for name, value in settings.items():
            session.execute(f"SET LOCAL {SETTINGS[name]} = '{value}'")
        return session

    def vectors(self) -> Queries:
        """All vectors and their ids, read once, in binary."""
        sql = f"SELECT {quoted(self.id)} AS id, {quoted(self.vector)} AS vector FROM {self.rows}"
        (address,) = with_query(self.address, sql)
        return Queries.of_vectors(address, "vector")

    def statement(self, block: str, k: int) -> str:
        """The ``k`` nearest rows of each query in a block of vectors."""
        distance = f"{quoted(self.vector)} {OPERATORS[self.metric]} q.v"
        columns = f"{quoted(self.id)} AS id, {distance} AS distance"
        nearest = f"SELECT {columns} FROM {self.rows} ORDER BY {distance} LIMIT {k}"
        clocks = ", ".join(
            f"extract(epoch FROM {clock}_timestamp())::float8 AS {name}"
            for name, clock in (("clock", "clock"), ("began", "statement"))
        )
        return f"SELECT q.n, r.id, r.distance, {clocks} FROM ({block}) q CROSS JOIN LATERAL ({nearest}) r"


@dataclass(frozen=True)
class TableRun(SearchRankings):
    """Rankings from a table: ``index`` is that which served, None for an exact search.

    ``short`` counts lists of fewer rows than there are, ``ties`` lists whose last row has an equal beyond the list.
    """

    index: str | None = None
    search_settings: Mapping[str, Any] | None = None
    ties: int = 0
    sweep: tuple[TableRun, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the search and what was measured, but for times, for the file's metadata."""
        more = {
            "index": self.index,
            "settings": dict(self.search_settings or {}),
            "short": self.short,
            "ties": self.ties,
        }
        return {**super().settings, **more}

    def to_dict(self) -> dict[str, Any]:
        """What was measured, with the latencies in milliseconds."""
        others = {"sweep": [run.to_dict() for run in self.sweep]} if self.sweep else {}
        return {**super().to_dict(), **others}

    @property
    def comparison(self) -> str:
        """The settings that were measured beside each other."""
        header = ("settings", "index", "recall", "short lists", "ties", *self.latency.shown())
        return f"{Grid(header, [run._row() for run in (self, *self.sweep)])}\n{LATENCY}"

    def _row(self) -> list[str]:
        chosen = ", ".join(f"{name}={value}" for name, value in (self.search_settings or {}).items()) or "-"
        counts = [f"{self.short:,}", f"{self.ties:,}"]
        return [chosen, self.index or "none", f"{self.recall:.4f}", *counts, *self.latency.shown().values()]


def search_table(
    chunks: Chunks,
    queries: Queries,
    *,
    k: int,
    exact: bool,
    settings: Sequence[Mapping[str, str]],
    threads: int | None,
) -> TableRun:
    """The ``k`` nearest rows of a table for every query, beside the exact ones.

    The exact rows are computed here from all vectors, which are read once; searches by the index, one for each of the
    ``settings``, are measured against them.
    """
    argument("metric", chunks.metric, Choice(*OPERATORS))
    whole_rows = chunks.vectors()
    stored, names = whole_rows.vectors, whole_rows.ids
    if not stored.rows:
        which = " that meet the condition of where" if chunks.where else ""
        raise InputError(
            f"table {chunks.table!r}: no rows with a vector in {chunks.vector!r}{which}; nothing to search"
        )
    if names.null_count:
        raise ColumnError(f"column {chunks.id!r}: {names.null_count:,} ids are null; expected the id of each row")
    whole = Index.build(stored, metric=chunks.metric, method="exact", names=names, threads=threads)
    exact_rows = whole.search(queries.vectors, k=min(k + 1, max(1, stored.rows)), threads=threads)
    beyond = exact_rows.distances[:, k - 1 : k + 1]
    ties = int(np.sum(beyond[:, 0] == beyond[:, 1])) if beyond.shape[1] == 2 else 0
    if exact:
        rankings = rankings_of(queries.ids, names, exact_rows.ids[:, :k], exact_rows.scores[:, :k])
        measured = TableRun(rankings, "exact", chunks.metric, 1.0, queries.vectors.rows, ties=ties)
        return replace(measured, latency=SearchTimes(queries.seconds), embedder=queries.embedder)
    runs = [
        _by_index(chunks, queries, names, k=k, expected=exact_rows.ids[:, :k], chosen=chosen, ties=ties)
        for chosen in settings or [{}]
    ]
    return replace(runs[0], sweep=tuple(runs[1:]))


def _by_index(
    chunks: Chunks,
    queries: Queries,
    names: pa.Array,
    *,
    k: int,
    expected: npt.NDArray[np.int64],
    chosen: Mapping[str, str],
    ties: int,
) -> TableRun:
    """A search by the index with some settings, measured against the exact rows."""
    vectors = queries.vectors
    rows = np.full((vectors.rows, k), -1, np.int64)
    distances = np.full((vectors.rows, k), np.nan)
    seconds, fetching = np.zeros(vectors.rows), np.zeros(vectors.rows)
    session = chunks.session(chosen)
    try:
        index = _index_of(session.plan(chunks.statement(_constant(vectors.dim or 1), k)))
        for start in range(0, vectors.rows, _BLOCK):
            block = vectors.block(start, min(start + _BLOCK, vectors.rows))
            count = len(block)
            began = time.perf_counter()
            reply = session.bound(chunks.statement(_slices(vectors.dim, count), k), _bound(block))
            elapsed = time.perf_counter() - began
            number = np.asarray(reply["n"], np.int64) - 1
            place = np.arange(len(number)) - np.searchsorted(number, number)
            nearest_ids = converted(reply["id"].combine_chunks(), names.type)
            rows[start + number, place] = np.asarray(pc.index_in(nearest_ids, names).fill_null(-1), np.int64)
            distances[start + number, place] = np.asarray(reply["distance"], np.float64)
            own = _seconds(number, np.asarray(reply["clock"]), np.asarray(reply["began"]), count)
            seconds[start : start + count] = own
            fetching[start : start + count] = max(0.0, elapsed - own.sum()) / count
    finally:
        session.close()
    scores = 1.0 - distances if chunks.metric == "cosine" else -distances
    expected_counts = (expected >= 0).sum(axis=1)
    right = [len(np.intersect1d(own[own >= 0], true[true >= 0])) for own, true in zip(rows, expected, strict=True)]
    recall = sum(right) / expected_counts.sum() if expected_counts.sum() else 1.0
    short = int(np.sum((rows >= 0).sum(axis=1) < expected_counts))
    rankings = rankings_of(queries.ids, names, rows, scores)
    latency = SearchTimes(queries.seconds, sql=seconds, fetching=fetching)
    name = "index" if index is not None else "scan"
    run = TableRun(rankings, name, chunks.metric, recall, vectors.rows, short, ties=ties)
    return replace(run, index=index, search_settings=chosen, latency=latency, embedder=queries.embedder)


def _seconds(
    number: npt.NDArray[np.int64], clock: npt.NDArray[Any], began: npt.NDArray[Any], count: int
) -> npt.NDArray[np.float64]:
    """The seconds of each query of a block: from the last row of the one before to its own last row."""
    last = np.full(count, np.nan)
    last[number] = clock  # the last one stays
    ends = np.concatenate([began[:1] if len(began) else [0.0], last])
    ends = np.fmax.accumulate(ends)
    return np.nan_to_num(np.diff(ends))


def _bound(block: npt.NDArray[Any]) -> pa.RecordBatch:
    """A block of vectors as one list of float32, which PostgreSQL gets in binary."""
    numbers = pa.array(np.ascontiguousarray(block, np.float32).reshape(-1))
    return pa.record_batch({"block": pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)})


def _slices(dim: int, count: int) -> str:
    """The vectors of a block, numbered from 1."""
    piece = f"(($1::float4[])[(n - 1) * {dim} + 1 : n * {dim}])::vector"
    return f"SELECT n, {piece} AS v FROM generate_series(1, {count}) n"


def _constant(dim: int) -> str:
    """One vector, for the plan of a search."""
    return f"SELECT 1 AS n, array_fill(0.1::float4, ARRAY[{dim}])::vector AS v"


def _index_of(plan: Any) -> str | None:
    """The name of the index that serves the nearest rows in a plan, if any does."""
    if isinstance(plan, list):
        return next((name for name in map(_index_of, plan) if name is not None), None)
    if plan.get("Node Type") == "Index Scan" and "Order By" in plan:
        return str(plan.get("Index Name"))
    return _index_of([part for part in (plan.get("Plan"), *plan.get("Plans", ())) if part is not None])


def settings_of(text: str, option: str) -> dict[str, str]:
    """Settings of pgvector in a text.

    >>> settings_of("ef_search=100,iterative_scan=relaxed_order", "pgvector")
    {'ef_search': '100', 'iterative_scan': 'relaxed_order'}

    Raises ``OptionError`` for anything else.
    """
    chosen = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or name not in SETTINGS or not re.fullmatch(r"[\w.]+", value):
            expected = f": expected settings such as ef_search=100, of {', '.join(SETTINGS)}"
            raise OptionError(Argument(option, text), expected)
        chosen[name] = value
    return chosen
