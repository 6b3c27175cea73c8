"""Vectors in PostgreSQL with pgvector: loading them, and the nearest rows of a table with recall and latencies."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import is_list
from fastmetrics.base.column_names import is_id, kept_columns
from fastmetrics.base.display import Grid, NotebookTables
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    OutputError,
    UnknownColumnError,
)
from fastmetrics.base.options import Choice, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import ordered
from fastmetrics.tables.addresses import is_database, parse
from fastmetrics.tables.addresses import shown_address as shown_path
from fastmetrics.tables.databases import Connections, DatabaseTable, Session, quoted, table_parts
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import is_paths, open_source, open_table, with_query
from fastmetrics.vectors.neighbors import Distance, Index
from fastmetrics.vectors.search_files import LATENCY, Queries, SearchRankings, SearchTimes, rankings_of
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike

# A table with vectors of pgvector: its rows, and the SQL and the connections that search it.


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


_ID_TYPES = {pa.string(): "text", pa.float64(): "double precision"}
"""The types in SQL of ids that are read in these types."""


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
    def shown(self) -> str:
        """The address and the table, for messages."""
        return self._table.url.shown

    @property
    def _table(self) -> DatabaseTable:
        return DatabaseTable.of(f"{self.address}{'&' if '?' in self.address else '?'}table={quote(self.table)}")

    def session(self, settings: Mapping[str, Any]) -> Session:
        """A connection that only reads, with these settings of its searches."""
        session = Session(self._table)
        try:
            session.execute("SET LOCAL jit = off")
            if settings:  # PostgreSQL takes any value of a setting until pgvector is loaded, and then drops a wrong one
                session.row("SELECT '[1]'::vector::text")
            for name, value in settings.items():
                session.execute(f"SET LOCAL {SETTINGS[name]} = '{value}'")
        except BaseException:
            session.close()
            raise
        return session

    def read(self) -> Queries:
        """All vectors and their ids, read once, in binary.

        Raises ``InputError`` if there are none, and ``ColumnError`` for null ids.
        """
        sql = f"SELECT {quoted(self.id)}, {quoted(self.vector)} FROM {self.rows}"
        (address,) = with_query(self.address, sql)
        source = open_source(address)
        table = whole_table(source, {self.id: "any", self.vector: "vector"})
        vectors = Vectors.of_column(table[self.vector], f"table {self.table!r}: column {self.vector!r}")
        if not vectors.rows:
            which = " that meet the condition of where" if self.where else ""
            raise InputError(
                f"table {self.table!r}: no rows with a vector in {self.vector!r}{which}; nothing to search"
            )
        ids = table[self.id].combine_chunks()
        if ids.null_count:
            raise ColumnError(f"column {self.id!r}: {ids.null_count:,} ids are null; expected the id of each row")
        return Queries(vectors, ids)

    def nearest(self, block: npt.NDArray[Any], k: int, ids: pa.DataType) -> tuple[str, pa.RecordBatch]:
        """The query for the ``k`` nearest rows of each vector of a block, with their ``ids``, and its parameter.

        The parameter is all numbers as one list of float32, which PostgreSQL gets in binary.
        """
        count, dim = block.shape
        piece = f"(($1::float4[])[(n - 1) * {dim} + 1 : n * {dim}])::vector"
        numbers = pa.array(np.ascontiguousarray(block, np.float32).reshape(-1))
        offsets = pa.array([0, len(numbers)], pa.int32())
        sql = self._statement(f"SELECT n, {piece} AS v FROM generate_series(1, {count}) n", k, _ID_TYPES.get(ids))
        return sql, pa.record_batch({"block": pa.ListArray.from_arrays(offsets, numbers)})

    def index(self, session: Session, dim: int, k: int) -> str | None:
        """The name of the index that serves a search, if one does."""
        constant = f"SELECT 1 AS n, array_fill(0.1::float4, ARRAY[{dim}])::vector AS v"
        return _index_of(session.plan(self._statement(constant, k)))

    def _statement(self, block: str, k: int, id_type: str | None = None) -> str:
        """The ``k`` nearest rows of each query in a block of vectors, each with the clock of the server.

        ``OFFSET 0`` makes PostgreSQL compute each vector of the block once, not once for each row compared with it.
        """
        distance = f"{quoted(self.vector)} {OPERATORS[self.metric]} q.v"
        id_ = quoted(self.id) if id_type is None else f"CAST({quoted(self.id)} AS {id_type})"
        columns = f"{id_} AS id, {distance} AS distance"
        nearest = f"SELECT {columns} FROM {self.rows} ORDER BY {distance} LIMIT {k}"
        clocks = ", ".join(
            f"extract(epoch FROM {clock}_timestamp())::float8 AS {name}"
            for name, clock in (("clock", "clock"), ("began", "statement"))
        )
        return f"SELECT q.n, r.id, r.distance, {clocks} FROM ({block} OFFSET 0) q CROSS JOIN LATERAL ({nearest}) r"


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


# Loading vectors from files into a table of PostgreSQL with an index of pgvector.


_OPERATORS = {"cosine": "vector_cosine_ops", "euclidean": "vector_l2_ops", "dot": "vector_ip_ops"}
_METHODS = ("hnsw", "ivfflat", "none")
_BLOCK = 8192


@dataclass(frozen=True)
class LoadedVectors(NotebookTables):
    """The table that was written: its rows, the dimension of its vectors, and the method of its index."""

    table: str
    rows: int
    dim: int
    method: str


def load_vectors(
    vectors: Annotated[
        VectorsLike,
        Help("A file, folder, glob or address of vectors; their ids, or row numbers, become the primary key."),
    ],
    database: Annotated[str, Help("The address of the database: ``postgresql://host/db``.")],
    *,
    table: Annotated[str, Help("The name of the new table.")],
    vector: Annotated[str, Help("The column of vectors in the table.")] = "embedding",
    id: Annotated[str, Help("The column of ids in the table.")] = "id",
    column: shared.Column = None,
    keep: shared.Keep = (),
    metric: Annotated[Distance, Help("Distance of the index: cosine, euclidean or dot.")] = "cosine",
    method: Annotated[str, Help("Index of pgvector: hnsw, ivfflat or none.")] = "hnsw",
    overwrite: shared.Overwrite = False,
) -> LoadedVectors:
    """Load vectors, of files or in memory, into a new table with an index of pgvector, for trying :func:`search`.

    One transaction writes the rows, in binary, and builds the index: the table is there with all rows or not at all.
    The extension ``vector`` is created if it is absent.  With ``keep="text"``, the table of chunks has what
    ``evaluate_rag`` reads.

    >>> load_vectors("chunks.parquet", "sqlite:///chunks.db", table="chunks")
    Traceback (most recent call last):
    fastmetrics.base.errors.OptionError: sqlite:///chunks.db: expected a PostgreSQL database, which has pgvector

    Raises ``OptionError`` for an invalid option, ``ColumnError`` for null ids, ``InputError`` for vectors of different
    lengths, and ``OutputError`` if the table exists or cannot be written, for repeated ids and vectors with NaN.
    """
    argument("metric", metric, Choice(*_OPERATORS))
    argument("method", method, Choice(*_METHODS))
    if not is_database(database) or parse(database).scheme != "postgresql":
        shown = parse(database).shown if is_database(database) else shown_path(database)
        raise OptionError(f"{shown}: expected a PostgreSQL database, which has pgvector")
    target = DatabaseTable.of(f"{database}{'&' if '?' in database else '?'}table={quote(table)}")
    shown = target.url.shown
    stored = Queries.of_vectors(vectors, column)
    rows, ids = stored.vectors, stored.ids
    if ids.null_count:
        name = shown_path(vectors) if is_paths(vectors) else "vectors"
        raise ColumnError(f"{name}: {ids.null_count:,} ids are null; expected the id of each row")
    kept = _kept(vectors, keep, {id, vector})
    if not rows.dim:
        raise OutputError(f"cannot write {shown}: the vectors have no numbers")
    index = f"CREATE INDEX ON {target.relation} USING {method} ({quoted(vector)} {_OPERATORS[metric]})"
    try:
        session = Session(target, writes=True)
        try:
            _write(session, target, rows, pa.table({id: ids, **kept}), vector, overwrite)
            if method != "none":
                session.execute(index)
            session.commit()
        finally:
            session.close()
    except FileFormatError as error:
        raise OutputError(f"cannot write {error!s}") from None
    except ConnectionError as error:
        raise OutputError(f"cannot write {shown}: {error}") from None
    return LoadedVectors(table, rows.rows, rows.dim, method)


def _kept(vectors: VectorsLike, keep: Sequence[str] | str, taken: set[str]) -> dict[str, pa.ChunkedArray]:
    """The columns to copy of the table that holds the vectors; of all, lists and the ids are left out."""
    if not keep:
        return {}
    source = open_table(vectors, name="vectors")
    names = kept_columns(keep, source.names)
    for name in names:
        if name not in source.names:
            raise UnknownColumnError(source.names.unknown(name))
        if name in taken and keep != "all":
            raise OptionError(Argument("keep", name), ": the new table has ids or vectors of this name")
    table = whole_table(source, dict.fromkeys(names, "any"))
    return {
        name: table[name]
        for name in names
        if keep != "all" or not (name in taken or is_id(name) or is_list(table[name].type))
    }


def _write(
    session: Session,
    target: DatabaseTable,
    rows: Vectors,
    beside: pa.Table,
    vector: str,
    overwrite: bool,
) -> None:
    """Write the rows as arrays of float4, which PostgreSQL converts; ids are first ``beside``."""
    *schema, name = table_parts(target.table or "")
    staging = ".".join(map(quoted, [*schema, f"{name}_staging"]))
    session.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if session.row(f"SELECT to_regclass('{target.relation.replace(chr(39), chr(39) * 2)}')::text") != (None,):
        if not overwrite:
            exists = f"{target.url.shown}: the table exists; choose "
            raise OutputError(exists, Argument("overwrite", True), " to replace it")
        session.execute(f"DROP TABLE {target.relation}")
    names = beside.schema.append(pa.field(vector, pa.list_(pa.float32())))

    def batch(start: int) -> pa.RecordBatch:
        block = np.ascontiguousarray(rows.block(start, min(start + _BLOCK, rows.rows)), np.float32)
        offsets = pa.array(np.arange(len(block) + 1) * rows.dim, pa.int32())
        lists = pa.ListArray.from_arrays(offsets, pa.array(block.reshape(-1)))
        others = [column.slice(start, len(block)).combine_chunks() for column in beside.columns]
        return pa.RecordBatch.from_arrays([*others, lists], schema=names)

    reader = pa.RecordBatchReader.from_batches(names, map(batch, range(0, rows.rows, _BLOCK)))
    session.create(f"{name}_staging", reader, schema[0] if schema else None)
    own = ", ".join(map(quoted, beside.column_names))
    columns = f"{own}, {quoted(vector)}::vector({rows.dim}) AS {quoted(vector)}"
    session.execute(f"CREATE TABLE {target.relation} AS SELECT {columns} FROM {staging}")
    session.execute(f"DROP TABLE {staging}")
    session.execute(f"ALTER TABLE {target.relation} ADD PRIMARY KEY ({quoted(beside.column_names[0])})")


# Nearest rows of a table with pgvector: by its index, in blocks of queries, with the recall and the latencies.


MOST_CONNECTIONS = 4
"""Connections that search unless the user chooses their number."""
_SEARCH_BLOCK = 64
"""The most queries of one statement."""


@dataclass(frozen=True)
class TableRun(SearchRankings):
    """Rankings from a table: ``index`` is that which served, None for an exact search.

    ``short`` counts lists of fewer rows than there are, ``ties`` lists whose last row has an equal beyond the list.
    ``seconds`` is the time of all queries, which ``connections`` searched side by side.
    """

    index: str | None = None
    search_settings: Mapping[str, Any] | None = None
    ties: int = 0
    connections: int = 0
    seconds: float = 0.0
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
        times = {"connections": self.connections, "queries_per_second": self._rate} if self.connections else {}
        others = {"sweep": [run.to_dict() for run in self.sweep]} if self.sweep else {}
        return {**super().to_dict(), **times, **others}

    @property
    def comparison(self) -> str:
        """The settings that were measured beside each other."""
        rate = ("queries/s",) if self.connections else ()
        header = ("settings", "index", "recall", "short lists", "ties", *rate, *self.latency.shown())
        several = f", of {self.connections} connections at a time" if self.connections > 1 else ""
        heading = f"{LATENCY}{several}\n" if self.latency.shown() else ""
        return f"{heading}{Grid(header, [run._row() for run in (self, *self.sweep)])}"

    @property
    def _rate(self) -> float:
        return self.table.num_rows / self.seconds if self.seconds else 0.0

    def _row(self) -> list[str]:
        chosen = ", ".join(f"{name}={value}" for name, value in (self.search_settings or {}).items()) or "-"
        counts = [f"{self.short:,}", f"{self.ties:,}", *([f"{self._rate:,.0f}"] if self.connections else [])]
        return [chosen, self.index or "none", f"{self.recall:.4f}", *counts, *self.latency.shown().values()]


def search_table(
    chunks: Chunks,
    queries: Queries,
    *,
    k: int,
    exact: bool,
    settings: Sequence[Mapping[str, str]],
    threads: int | None,
    connections: int,
) -> TableRun:
    """The ``k`` nearest rows of a table for every query, beside the exact ones.

    The exact rows are computed here from all vectors, which are read once; searches by the index, one for each of the
    ``settings``, are measured against them.
    """
    argument("metric", chunks.metric, Choice(*OPERATORS))
    stored = chunks.read()
    vectors, names = stored.vectors, stored.ids
    whole = Index.build(vectors, metric=chunks.metric, method="exact", names=names, threads=threads)
    exact_rows = whole.search(queries.vectors, k=min(k + 1, max(1, vectors.rows)), threads=threads)
    beyond = exact_rows.distances[:, k - 1 : k + 1]
    ties = int(np.sum(beyond[:, 0] == beyond[:, 1])) if beyond.shape[1] == 2 else 0
    if exact:
        rankings = rankings_of(queries.ids, names, exact_rows.ids[:, :k], exact_rows.scores[:, :k])
        measured = TableRun(rankings, "exact", chunks.metric, 1.0, queries.vectors.rows, ties=ties)
        return replace(measured, latency=SearchTimes(queries.seconds), embedder=queries.embedder)
    by_index = partial(_by_index, chunks, queries, stored, k=k, expected=exact_rows.ids[:, :k], most=connections)
    try:
        runs = [replace(by_index(chosen=chosen), ties=ties) for chosen in settings or [{}]]
    except ConnectionError as error:
        raise FileFormatError(f"{chunks.shown}: the connection was lost during the search: {error}") from None
    return replace(runs[0], sweep=tuple(runs[1:]))


def _by_index(
    chunks: Chunks,
    queries: Queries,
    stored: Queries,
    *,
    k: int,
    expected: npt.NDArray[np.int64],
    chosen: Mapping[str, str],
    most: int,
) -> TableRun:
    """A search by the index with some settings, measured against the exact rows."""
    vectors, names = queries.vectors, stored.ids
    rows = np.full((vectors.rows, k), -1, np.int64)
    distances = np.full((vectors.rows, k), np.nan)
    seconds, fetching = np.zeros(vectors.rows), np.zeros(vectors.rows)
    began = time.perf_counter()
    with closing(Connections(partial(chunks.session, chosen), most)) as connections:
        with connections.session() as session:
            index = chunks.index(session, vectors.dim or 1, k)
        size = max(1, min(_SEARCH_BLOCK, -(-vectors.rows // connections.count)))

        def reply_to(start: int) -> tuple[int, pa.Table, float]:
            """The reply to a block of queries, with their number, and its seconds."""
            block = vectors.block(start, min(start + size, vectors.rows))
            sql, parameter = chunks.nearest(block, k, names.type)
            with connections.session() as session:
                sent = time.perf_counter()
                reply = session.bound(sql, parameter)
                return len(block), reply, time.perf_counter() - sent

        starts = range(0, vectors.rows, size)
        for start, (count, reply, elapsed) in zip(starts, ordered(reply_to, starts, connections.count), strict=True):
            number = np.asarray(reply["n"], np.int64) - 1
            place = np.arange(len(number)) - np.searchsorted(number, number)
            rows[start + number, place] = np.asarray(
                pc.index_in(reply["id"].combine_chunks().cast(names.type), names).fill_null(-1), np.int64
            )
            distances[start + number, place] = np.asarray(reply["distance"], np.float64)
            own = _seconds(number, np.asarray(reply["clock"]), np.asarray(reply["began"]), count)
            seconds[start : start + count] = own
            fetching[start : start + count] = max(0.0, elapsed - own.sum()) / count
    all_seconds = time.perf_counter() - began
    scores = 1.0 - distances if chunks.metric == "cosine" else -distances
    expected_counts = (expected >= 0).sum(axis=1)
    right = [len(np.intersect1d(own[own >= 0], true[true >= 0])) for own, true in zip(rows, expected, strict=True)]
    recall = sum(right) / expected_counts.sum() if expected_counts.sum() else 1.0
    return TableRun(
        rankings_of(queries.ids, names, rows, scores),
        "index" if index is not None else "scan",
        chunks.metric,
        recall,
        vectors.rows,
        short=int(np.sum((rows >= 0).sum(axis=1) < expected_counts)),
        latency=SearchTimes(queries.seconds, sql=seconds, fetching=fetching),
        embedder=queries.embedder,
        index=index,
        search_settings=chosen,
        connections=connections.count,
        seconds=all_seconds,
    )


def _seconds(
    number: npt.NDArray[np.int64], clock: npt.NDArray[Any], began: npt.NDArray[Any], count: int
) -> npt.NDArray[np.float64]:
    """The seconds of each query of a block: from the last row of the one before to its own last row."""
    last = np.full(count, np.nan)
    last[number] = clock  # the last one stays
    ends = np.concatenate([began[:1] if len(began) else [0.0], last])
    ends = np.fmax.accumulate(ends)
    return np.nan_to_num(np.diff(ends))
