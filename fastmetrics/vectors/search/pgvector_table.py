"""A table with vectors of pgvector: its rows, and the SQL and the connections that search it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError
from fastmetrics.tables.databases import DatabaseTable, Session, quoted, with_query
from fastmetrics.tables.sources import FileSource, open_source
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.vectors.search.neighbors import Distance
from fastmetrics.vectors.vector_arrays import Vectors

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


@dataclass(frozen=True)
class StoredVectors:
    """All vectors of a table and their ids, and the opened ``source``, which keeps its snapshot of the table."""

    vectors: Vectors
    ids: pa.Array
    source: FileSource


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

    def session(self, settings: Mapping[str, Any], snapshot: str | None) -> Session:
        """A connection that only reads, at the moment of a snapshot, with these settings of its searches."""
        session = Session(self._table, snapshot)
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

    def read(self) -> StoredVectors:
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
        return StoredVectors(vectors, ids, source)

    def nearest(self, block: npt.NDArray[Any], k: int) -> tuple[str, pa.RecordBatch]:
        """The query for the ``k`` nearest rows of each vector of a block, and its parameter.

        The parameter is all numbers as one list of float32, which PostgreSQL gets in binary.
        """
        count, dim = block.shape
        piece = f"(($1::float4[])[(n - 1) * {dim} + 1 : n * {dim}])::vector"
        numbers = pa.array(np.ascontiguousarray(block, np.float32).reshape(-1))
        offsets = pa.array([0, len(numbers)], pa.int32())
        sql = self._statement(f"SELECT n, {piece} AS v FROM generate_series(1, {count}) n", k)
        return sql, pa.record_batch({"block": pa.ListArray.from_arrays(offsets, numbers)})

    def index(self, session: Session, dim: int, k: int) -> str | None:
        """The name of the index that serves a search, if one does."""
        constant = f"SELECT 1 AS n, array_fill(0.1::float4, ARRAY[{dim}])::vector AS v"
        return _index_of(session.plan(self._statement(constant, k)))

    def _statement(self, block: str, k: int) -> str:
        """The ``k`` nearest rows of each query in a block of vectors, each with the clock of the server.

        ``OFFSET 0`` makes PostgreSQL compute each vector of the block once, not once for each row compared with it.
        """
        distance = f"{quoted(self.vector)} {OPERATORS[self.metric]} q.v"
        columns = f"{quoted(self.id)} AS id, {distance} AS distance"
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
