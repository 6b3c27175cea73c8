"""From files of vectors to files of rankings for the retrieval metrics: embed, search, rank, measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.core.threads import cores
from fastmetrics.vectors.search.neighbors import RECALL, Distance, Index
from fastmetrics.vectors.search.queries import Queries
from fastmetrics.vectors.vector_arrays import Ids

RANKINGS = pa.schema([("retrieved_ids", pa.large_list(pa.string())), ("retrieved_scores", pa.large_list(pa.float64()))])
"""The columns of rankings besides the ids of the queries; ids may also be numbers."""
_NONE: npt.NDArray[np.float64] = np.zeros(0)


@dataclass(frozen=True)
class SearchTimes:
    """Seconds of the queries of a search: of embedding some of the texts, in PostgreSQL, on the way to it and back."""

    embedding: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)
    sql: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)
    fetching: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)

    def shown(self) -> dict[str, str]:
        """The percentiles as text, "-" for what was not measured."""
        numbers = self.percentiles()
        return {
            name: " / ".join(f"{number:.2f}" for number in numbers.get(name, {}).values()) or "-" for name in vars(self)
        }

    def percentiles(self) -> dict[str, dict[str, float]]:
        """The 50th, 95th and 99th percentile of each that was measured, in milliseconds."""
        return {
            name: {f"p{share}": float(np.percentile(values, share) * 1e3) for share in (50, 95, 99)}
            for name, values in vars(self).items()
            if len(values)
        }


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
    latency: SearchTimes = field(default_factory=SearchTimes)
    embedder: str | None = None
    """The signature of the embedder of the queries, if they are texts."""

    @property
    def comparison(self) -> str:
        """The settings of a search in a table beside each other; of another search what embedding a text takes."""
        return f"embedding: {self.latency.shown()['embedding']} ms (p50 / p95 / p99)" if self.embedder else ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the search, for the file's metadata."""
        return {
            "method": self.method,
            "metric": self.metric,
            "recall": self.recall,
            "recall_sample": self.recall_sample,
            **({} if self.embedder is None else {"embedder": self.embedder}),
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
    rows = Queries.of_vectors(vectors, column)
    return Index.build(rows.vectors, metric=metric, method=method, names=rows.ids, threads=workers)


def search_run(
    index: Index,
    queries: Queries,
    *,
    k: int = 10,
    recall: float = RECALL,
    threads: int | None = None,
) -> SearchRankings:
    """The ``k`` nearest rows of an index for every query, as names and scores, best first.

    An approximate index is searched with enough effort for the given ``recall``.
    """
    workers = cores(threads)
    neighbors = index.search(queries.vectors, k=k, recall=recall, threads=workers)
    table = rankings_of(queries.ids, index.names, neighbors.ids, neighbors.scores)
    return SearchRankings(
        table,
        neighbors.method,
        neighbors.metric,
        neighbors.recall,
        neighbors.recall_sample,
        latency=SearchTimes(embedding=queries.seconds),
        embedder=queries.embedder,
    )


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
