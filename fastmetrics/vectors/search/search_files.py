"""From files of vectors to files of rankings for the retrieval metrics: embed, search, rank, measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.core.threads import cores
from fastmetrics.vectors.search.neighbors import RECALL, Distance, Index
from fastmetrics.vectors.vector_arrays import Ids, Vectors
from fastmetrics.vectors.vector_files import read_vectors


@dataclass(frozen=True)
class SearchRankings:
    """Rankings with ``id``, ``retrieved_ids`` and ``retrieved_scores``; the search method, and the recall."""

    table: pa.Table
    method: str
    metric: str
    recall: float
    recall_sample: int
    short: int = 0
    """Lists with fewer rows than there are, of a search in a table."""

    @property
    def comparison(self) -> str:
        """The settings of a search in a table beside each other."""
        return ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the search, for the file's metadata."""
        return {
            "method": self.method,
            "metric": self.metric,
            "recall": self.recall,
            "recall_sample": self.recall_sample,
        }


def build_index(
    vectors: str | Path,
    *,
    metric: Distance = "cosine",
    method: str | None = None,
    column: str | None = None,
    threads: int | None = None,
) -> Index:
    """An index of the vectors in files; its rows are named by the tables' id column, or else by their numbers.

    ``vectors`` is a file, folder, glob, address or ``-`` (standard input), of tables of any format or ``.npy`` arrays.
    """
    workers = cores(threads)
    source, ids = query_vectors(vectors, column)
    return Index.build(source, metric=metric, method=method, names=ids, threads=workers)


def search_run(
    index: Index,
    queries: str | Path,
    *,
    k: int = 10,
    column: str | None = None,
    recall: float = RECALL,
    threads: int | None = None,
) -> SearchRankings:
    """The ``k`` nearest rows of an index for every vector in files, as names and scores, best first.

    An approximate index is searched with enough effort for the given ``recall``.
    """
    workers = cores(threads)
    searched, ids = query_vectors(queries, column)
    neighbors = index.search(searched, k=k, recall=recall, threads=workers)
    table = rankings_of(ids, index.names, neighbors.ids, neighbors.scores)
    return SearchRankings(table, neighbors.method, neighbors.metric, neighbors.recall, neighbors.recall_sample)


def rankings_of(ids: pa.Array, names: pa.Array, rows: Ids, scores: npt.NDArray[np.float64]) -> pa.Table:
    """Rankings with the ids of queries, and the names and scores of their rows; rows of -1 are left out."""
    valid = rows >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(valid.sum(axis=1))]), pa.int64())
    return pa.table(
        {
            "id": ids,
            "retrieved_ids": pa.LargeListArray.from_arrays(offsets, names.take(pa.array(rows[valid]))),
            "retrieved_scores": pa.LargeListArray.from_arrays(offsets, pa.array(scores[valid])),
        }
    )


def query_vectors(path: str | Path, column: str | None) -> tuple[Vectors, pa.Array]:
    """The vectors of files and their ids, or row numbers if the files have no ids."""
    files = read_vectors(path, column)
    vectors = Vectors.of_files(files)
    return vectors, pa.array(np.arange(vectors.rows)) if files.ids is None else files.ids
