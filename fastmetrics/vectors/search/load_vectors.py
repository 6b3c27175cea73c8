"""Loading vectors from files into a table of PostgreSQL with an index of pgvector."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from fastmetrics.base.display import FigureTable
from fastmetrics.base.errors import Argument, ColumnError, FileFormatError, OptionError, OutputError
from fastmetrics.base.options import Choice, argument
from fastmetrics.tables.addresses import is_database, parse
from fastmetrics.tables.addresses import shown_address as shown_path
from fastmetrics.tables.databases import DatabaseTable, Session, quoted, table_parts
from fastmetrics.tables.sources import is_paths
from fastmetrics.vectors.search.neighbors import Distance
from fastmetrics.vectors.search.queries import Queries
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike

_OPERATORS = {"cosine": "vector_cosine_ops", "euclidean": "vector_l2_ops", "dot": "vector_ip_ops"}
_METHODS = ("hnsw", "ivfflat", "none")
_BLOCK = 8192


@dataclass(frozen=True)
class LoadedVectors(FigureTable):
    """The table that was written: its rows, the dimension of its vectors, and the method of its index."""

    table: str
    rows: int
    dim: int
    method: str


def load_vectors(
    vectors: VectorsLike,
    database: str,
    *,
    table: str,
    vector: str = "embedding",
    id: str = "id",
    column: str | None = None,
    metric: Distance = "cosine",
    method: str = "hnsw",
    overwrite: bool = False,
) -> LoadedVectors:
    """Load vectors, of files or in memory, into a new table with an index of pgvector, for trying :func:`search`.

    One transaction writes the rows, in binary, and builds the index: the table is there with all rows or not at all.
    The extension ``vector`` is created if it is absent.

    Parameters:

    - ``vectors``: A file, folder, glob or address of vectors; their ids, or row numbers, become the primary key.
    - ``database``: The address of the database: ``postgresql://host/db``.
    - ``table``: The name of the new table.
    - ``vector``: The column of vectors in the table.
    - ``id``: The column of ids in the table.
    - ``column``: The column of vectors; by default the only one.
    - ``metric``: Distance of the index: cosine, euclidean or dot.
    - ``method``: Index of pgvector: hnsw, ivfflat or none.
    - ``overwrite``: Replace the output if it exists.

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
    if not rows.dim:
        raise OutputError(f"cannot write {shown}: the vectors have no numbers")
    try:
        session = Session(target, writes=True)
        try:
            _write(session, target, rows, ids, vector, id, _index_sql(target, vector, metric, method), overwrite)
            session.commit()
        finally:
            session.close()
    except FileFormatError as error:
        raise OutputError(f"cannot write {error!s}") from None
    except ConnectionError as error:
        raise OutputError(f"cannot write {shown}: {error}") from None
    return LoadedVectors(table, rows.rows, rows.dim, method)


def _index_sql(target: DatabaseTable, vector: str, metric: str, method: str) -> str | None:
    if method == "none":
        return None
    return f"CREATE INDEX ON {target.relation} USING {method} ({quoted(vector)} {_OPERATORS[metric]})"


def _write(
    session: Session,
    target: DatabaseTable,
    rows: Vectors,
    ids: pa.Array,
    vector: str,
    id: str,
    index: str | None,
    overwrite: bool,
) -> None:
    """Write the rows as arrays of float4, which PostgreSQL converts, and build the index."""
    *schema, name = table_parts(target.table or "")
    staging = ".".join(map(quoted, [*schema, f"{name}_staging"]))
    session.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if session.row(f"SELECT to_regclass('{target.relation.replace(chr(39), chr(39) * 2)}')::text") != (None,):
        if not overwrite:
            exists = f"{target.url.shown}: the table exists; choose "
            raise OutputError(exists, Argument("overwrite", True), " to replace it")
        session.execute(f"DROP TABLE {target.relation}")
    names = pa.schema([(id, ids.type), (vector, pa.list_(pa.float32()))])

    def batch(start: int) -> pa.RecordBatch:
        block = np.ascontiguousarray(rows.block(start, min(start + _BLOCK, rows.rows)), np.float32)
        offsets = pa.array(np.arange(len(block) + 1) * rows.dim, pa.int32())
        lists = pa.ListArray.from_arrays(offsets, pa.array(block.reshape(-1)))
        return pa.RecordBatch.from_arrays([ids.slice(start, len(block)), lists], schema=names)

    reader = pa.RecordBatchReader.from_batches(names, map(batch, range(0, rows.rows, _BLOCK)))
    session.create(f"{name}_staging", reader, schema[0] if schema else None)
    columns = f"{quoted(id)}, {quoted(vector)}::vector({rows.dim}) AS {quoted(vector)}"
    session.execute(f"CREATE TABLE {target.relation} AS SELECT {columns} FROM {staging}")
    session.execute(f"DROP TABLE {staging}")
    session.execute(f"ALTER TABLE {target.relation} ADD PRIMARY KEY ({quoted(id)})")
    if index is not None:
        session.execute(index)
