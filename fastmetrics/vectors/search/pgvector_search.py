"""Nearest rows of a table with pgvector: by its index, in blocks of queries, with the recall and the latencies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.display import Grid
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.options import Choice, argument
from fastmetrics.base.threads import ordered
from fastmetrics.tables.database_reader import converted
from fastmetrics.tables.databases import Connections
from fastmetrics.vectors.search.neighbors import Index
from fastmetrics.vectors.search.pgvector_table import OPERATORS, Chunks, StoredVectors
from fastmetrics.vectors.search.queries import Queries
from fastmetrics.vectors.search.search_files import LATENCY, SearchRankings, SearchTimes, rankings_of

MOST_CONNECTIONS = 4
"""Connections that search unless the user chooses their number."""
_BLOCK = 64
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
        caption = f"\n{LATENCY}{several}" if self.latency.shown() else ""
        return f"{Grid(header, [run._row() for run in (self, *self.sweep)])}{caption}"

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
    ``settings``, are measured against them.  All connections show the table at one moment.
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
    stored: StoredVectors,
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
    with closing(Connections(partial(chunks.session, chosen, stored.source.snapshot), most)) as connections:
        with connections.session() as session:
            index = chunks.index(session, vectors.dim or 1, k)
        size = max(1, min(_BLOCK, -(-vectors.rows // connections.count)))

        def reply_to(start: int) -> tuple[int, pa.Table, float]:
            """The reply to a block of queries, with their number, and its seconds."""
            block = vectors.block(start, min(start + size, vectors.rows))
            sql, parameter = chunks.nearest(block, k)
            with connections.session() as session:
                sent = time.perf_counter()
                reply = session.bound(sql, parameter)
                return len(block), reply, time.perf_counter() - sent

        starts = range(0, vectors.rows, size)
        for start, (count, reply, elapsed) in zip(starts, ordered(reply_to, starts, connections.count), strict=True):
            number = np.asarray(reply["n"], np.int64) - 1
            place = np.arange(len(number)) - np.searchsorted(number, number)
            nearest_ids = converted(reply["id"].combine_chunks(), names.type)
            rows[start + number, place] = np.asarray(pc.index_in(nearest_ids, names).fill_null(-1), np.int64)
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
