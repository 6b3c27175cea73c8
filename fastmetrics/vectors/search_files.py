"""Files of vectors to files of rankings, ready for the retrieval metrics: embed, search, rank, measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fastmetrics.columns import resolve
from fastmetrics.core.arrow_checks import check
from fastmetrics.errors import FileFormatError
from fastmetrics.tables.input_files import reading
from fastmetrics.vectors.arrays import Vectors
from fastmetrics.vectors.neighbors import RECALL, Distance, Index


@dataclass(frozen=True)
class Run:
    """Rankings with ``id``, ``retrieved_ids`` and ``retrieved_scores``; how they were found, and the recall."""

    table: pa.Table
    method: str
    metric: str
    recall: float
    recall_sample: int

    @property
    def settings(self) -> dict[str, Any]:
        """How the rankings were found, for the file's metadata."""
        return {
            "method": self.method,
            "metric": self.metric,
            "recall": self.recall,
            "recall_sample": self.recall_sample,
        }


def build_index(
    vectors: Path,
    *,
    metric: Distance = "cosine",
    method: str | None = None,
    column: str | None = None,
    threads: int | None = None,
) -> Index:
    """An index of a file of vectors; its rows are called by the file's id column, or else by their numbers."""
    source = Vectors.of(vectors, column)
    return Index.build(source, metric=metric, method=method, names=_ids(vectors, source.rows), threads=threads)


def search_run(
    index: Index,
    queries: Path,
    *,
    k: int = 10,
    column: str | None = None,
    recall: float = RECALL,
    threads: int | None = None,
) -> Run:
    """The ``k`` nearest rows of an index for every vector in a file, by their names and scores, best first.

    An approximate index is searched as far as it takes for the share ``recall`` of the true neighbours.
    """
    asked = Vectors.of(queries, column)
    found = index.search(asked, k=k, recall=recall, threads=threads)
    kept = found.ids >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept.sum(axis=1))]), pa.int64())
    names = index.names.take(pa.array(found.ids[kept]))
    scores = pa.array(found.scores[kept])
    table = pa.table(
        {
            "id": _ids(queries, asked.rows),
            "retrieved_ids": pa.LargeListArray.from_arrays(offsets, names),
            "retrieved_scores": pa.LargeListArray.from_arrays(offsets, scores),
        }
    )
    return Run(table, found.method, found.metric, found.recall, found.recall_sample)


def _ids(path: Path, rows: int) -> pa.Array:
    """The file's id column, or row numbers where it has none."""
    with reading(str(path)):
        found = _id_column(path)
        if found is None:
            return pa.array(np.arange(rows))
        check(found, f"{path}: column 'id'", FileFormatError)
        found.validate(full=True)
        return found.combine_chunks()


def _id_column(path: Path) -> pa.ChunkedArray | None:
    if path.suffix.lower() in (".parquet", ".pq"):
        name = resolve(parquet.read_schema(path).names, needed={"id"}).get("id")
        return None if name is None else parquet.read_table(path, columns=[name]).column(name)
    if path.suffix.lower() in (".arrow", ".feather", ".ipc"):
        with pa.memory_map(str(path)) as mapped:
            table = pa.ipc.open_file(mapped).read_all()
        name = resolve(table.schema.names, needed={"id"}).get("id")
        return None if name is None else table.column(name)
    return None
