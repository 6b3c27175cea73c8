"""The queries of a search, vectors or texts, and the rankings that it writes for the retrieval metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import resolve
from fastmetrics.base.display import FIRST, Grid, NotebookTables, lines_of, rows_note
from fastmetrics.base.errors import Argument, ColumnError, quoted
from fastmetrics.base.notes import Note, said
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import is_paths, open_table
from fastmetrics.vectors.embedder import Embedder
from fastmetrics.vectors.neighbors import Distance, Index
from fastmetrics.vectors.vector_arrays import Ids, Vectors, VectorsLike, vectors_and_ids

# The queries of a search: vectors, or texts and the embedder that makes vectors of them, in files or in memory.


_TIMED = 256
"""Texts that are embedded once more, each alone, for the latency of one."""


@dataclass(frozen=True)
class Queries:
    """The vectors of queries and their ids, or row numbers where there are no ids.

    Of texts also the signature of the ``embedder``, and the ``seconds`` of embedding one text, for some of them.
    """

    vectors: Vectors
    ids: pa.Array
    embedder: str | None = None
    seconds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of_vectors(cls, queries: VectorsLike, column: str | None = None) -> Queries:
        """The vectors of files, a table, an array or a column; of a table, those of a column or of the only one."""
        return cls(*vectors_and_ids(queries, column, "queries"))

    @classmethod
    def of_texts(cls, queries: Any, column: str | None, embedder: Embedder) -> Queries:
        """The embeddings of a column of texts of files or a table, by default the question.

        Raises ``ColumnError`` for a column that is missing or no text, and for a text that is null.
        """
        name = shown_address(as_local(queries)) if is_paths(queries) else "queries"
        source = open_table(queries, name="queries")
        columns = resolve(source.names, None if column is None else {"question": column}, needed={"id", "question"})
        texts_column = columns.get("question", "question")
        if texts_column not in source.names:
            missing = f"{name}: no column {texts_column!r}, only {quoted(source.names)}; name that of the texts with "
            raise ColumnError(missing, Argument("query_column"))
        kinds = {columns["id"]: "any"} if "id" in columns else {}
        table = whole_table(source, {**kinds, texts_column: "text"})
        texts = table[texts_column].combine_chunks()
        if texts.null_count:
            row = int(np.argmin(texts.is_valid()))
            own = f" (id {table[columns['id']][row].as_py()!r})" if "id" in columns else ""
            null = f"column {texts_column!r}, row {row:,}{own}: null"
            raise ColumnError(f"{name}: {null}; expected the text of each query; leave it out")
        vectors = Vectors.of_array(embedder.embed(texts), f"{name}: column {texts_column!r}")
        rows = np.linspace(0, len(texts) - 1, min(_TIMED, len(texts))).astype(np.int64)
        seconds = np.array([_seconds(embedder, texts[row].as_py()) for row in rows.tolist()])
        ids = table[columns["id"]].combine_chunks() if "id" in columns else pa.array(np.arange(len(texts)))
        return cls(vectors, ids, embedder.signature, seconds)


def _seconds(embedder: Embedder, text: str) -> float:
    """The seconds of the model for one text, whatever is cached."""
    began = time.perf_counter()
    embedder.model.encode([text])
    return time.perf_counter() - began


# From files of vectors to files of rankings for the retrieval metrics: embed, search, rank, measure.


RANKINGS = pa.schema([("retrieved_ids", pa.large_list(pa.string())), ("retrieved_scores", pa.large_list(pa.float64()))])
"""The columns of rankings besides the ids of the queries; ids may also be numbers."""
_NONE: npt.NDArray[np.float64] = np.zeros(0)
LATENCY = "latency: p50 / p95 / p99 in ms"
"""Stands below a table of latencies."""


@dataclass(frozen=True)
class SearchTimes:
    """Seconds of the queries of a search: of embedding some of the texts, of searching some queries in an index of
    FAISS, one at a time, or of each query in PostgreSQL (``sql``), and on the way to it and back (``fetching``).
    """

    embedding: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)
    search: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)
    sql: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)
    fetching: npt.NDArray[np.float64] = field(default_factory=lambda: _NONE)

    def shown(self) -> dict[str, str]:
        """The percentiles of each that was measured, as text."""
        return {
            name: " / ".join(f"{number:.2f}" for number in numbers.values())
            for name, numbers in self.percentiles().items()
        }

    def percentiles(self) -> dict[str, dict[str, float]]:
        """The 50th, 95th and 99th percentile of each that was measured, in milliseconds."""
        return {
            name: {f"p{share}": float(np.percentile(values, share) * 1e3) for share in (50, 95, 99)}
            for name, values in vars(self).items()
            if len(values)
        }


@dataclass(frozen=True)
class SearchRankings(NotebookTables):
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
    n_zero_norm: int = 0
    """Queries that are zero vectors, which have no cosine: their scores are 0, and their rows the first ones."""

    @property
    def comparison(self) -> str:
        """The settings of a search in a table beside each other; of another search the latencies alone."""
        if not (shown := self.latency.shown()):
            return ""
        return f"{LATENCY}\n{Grid(tuple(shown), [[*shown.values()]])}"

    def grids(self) -> Sequence[Grid]:
        """The settings with what was measured, and the first rankings."""
        measured = {**{name: str(value) for name, value in self.settings.items()}, **self.latency.shown()}
        first = self.table.slice(0, FIRST).to_pylist()
        number = ("id", lambda row: str(row["id"]))
        return [lines_of([measured], *measured), lines_of(first, number, "retrieved_ids", "retrieved_scores")]

    def remarks(self) -> Sequence[str]:
        """How many rankings there are, if not all are shown, and which say nothing."""
        return [*rows_note(self.table.num_rows), *self.notes]

    @property
    def notes(self) -> list[str]:
        """A note on zero vectors, if there are any."""
        return said(self.n_zero_norm and Note("zero_queries", n=self.n_zero_norm))

    def to_dict(self) -> dict[str, Any]:
        """What was measured, with the latencies in milliseconds."""
        return {**self.settings, "queries": self.table.num_rows, "latency_ms": self.latency.percentiles()}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict())

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
    metric: Annotated[Distance, Help("Distance: cosine, euclidean or dot.")] = "cosine",
    method: Annotated[str | None, Help("Method: exact, ivf, hnsw or pq; by default chosen by size.")] = None,
    column: shared.Column = None,
    threads: shared.Threads = None,
) -> Index:
    """An index of the vectors in files; its rows are named by the tables' id column, or else by their numbers.

    ``vectors`` is a file, folder, glob, address or ``-`` (standard input), of tables of any format or ``.npy`` arrays.
    """
    workers = cores(threads)
    rows = Queries.of_vectors(vectors, column)
    return Index.build(rows.vectors, metric=metric, method=method, names=rows.ids, threads=workers)


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
