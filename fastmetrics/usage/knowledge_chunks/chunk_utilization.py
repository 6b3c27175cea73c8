"""``fm.chunk_utilization``: which chunks of a knowledge base the rankings of a log use (the RAG benchmark)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Ints
from fastmetrics.base.display import Grid, Shown
from fastmetrics.base.input_columns import listed
from fastmetrics.base.options import Real, Rows, argument
from fastmetrics.base.threads import cores
from fastmetrics.usage.counts_by_key import KEY, mean_of
from fastmetrics.usage.knowledge_chunks.chunk_counts import ChunkCounter, ChunkCounts
from fastmetrics.usage.knowledge_chunks.chunk_ids import as_log, chunk_ids, comparable, raise_unknown
from fastmetrics.usage.log import Columns, open_log

_SHOWN = 10
_LISTED = 20


@dataclass(frozen=True)
class ChunkUse(Shown):
    """Use of a knowledge base, over the first ``k`` positions of all rankings of a log.

    Without a table of chunks, ``total_chunks``, ``unused_chunks`` and ``unused_ids`` are None, ``utilization_rate`` is
    NaN, and ``gini`` covers the used chunks only.
    """

    k: int
    rows: int
    """Rows with a ranking."""
    missing: int
    """Rows without a ranking, which are ignored."""
    short: int
    """Rows whose ranking has fewer than ``k`` positions."""
    total_chunks: int | None
    used_chunks: int
    """Chunks in the first ``k`` positions of at least one row."""
    unused_chunks: int | None
    utilization_rate: float
    """used_chunks / total_chunks."""
    places: int
    """Filled positions; a chunk that a row repeats counts once."""
    gini: float
    """Gini coefficient of the chunks' counts: 0 for equal use, near 1 if few fill all positions; NaN without any."""
    share: float
    chunks_filling_share: int
    """The smallest number of chunks that fill the ``share`` of all positions."""
    never_cited: int | None
    """Used chunks that no answer cites; None for a log without answers."""
    expected_unseen: float
    """Chao1: the estimated number of unseen chunks, f1(f1−1) / (2(f2+1))."""
    unknown_chunks: int
    """Distinct ids in the first ``k`` positions that are missing in the table of chunks; other figures exclude them."""
    unused_ids: Sequence[str | int] | None = field(repr=False)
    never_cited_ids: Sequence[str | int] | None = field(repr=False)
    hubs: Sequence[str | int] = field(repr=False)
    """Chunks with counts above the mean of all chunks plus two standard deviations, most used first."""
    unknown_ids: Sequence[str | int] = field(repr=False)
    """The first unknown ids, at most 100."""
    table: pa.Table = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """One row per chunk, most used first: ``chunk``, ``retrieved`` (rows), ``mean_rank`` (from 1), and more.

        Further columns are ``cited`` and ``relevant`` (rows whose answer cites the chunk, whose ``relevant_ids``
        contain it), and ``mean_<score>``, the mean over the rows that retrieved the chunk.
        """
        return self.table

    def to_dict(self) -> dict[str, object]:
        """All figures and lists of ids, and at most 20 ``most_used`` chunks of the table."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "table"}
        head = self.table.slice(0, _LISTED)
        return {**figures, "most_used": [row for row in head.to_pylist() if row.get("retrieved")]}

    def grids(self) -> list[Grid]:
        """The figures, and the chunks used most."""
        lists = {"unused_ids", "never_cited_ids", "hubs", "unknown_ids", "most_used"}
        figures = {name: value for name, value in self.to_dict().items() if name not in lists and value is not None}
        rows = [(name, _written(value)) for name, value in {**figures, "hubs": len(self.hubs)}.items()]
        head = self.table.slice(0, _SHOWN)
        columns = [list(map(_written, head[name].to_pylist())) for name in head.column_names]
        return [Grid(("figure", "value"), rows), Grid(tuple(head.column_names), list(zip(*columns, strict=True)))]

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        notes = [f"{self.rows:,} rankings, their first {self.k} places"]
        if self.missing:
            notes.append(f"{self.missing:,} rows without a ranking were left out")
        if self.total_chunks is None:
            notes.append("without a table of chunks, unused chunks are unknown and gini covers the used chunks only")
        if self.unknown_chunks:
            some = ", ".join(map(repr, self.unknown_ids[:3]))
            notes.append(f"{self.unknown_chunks:,} retrieved ids are not in the table of chunks: {some}, ...")
        return notes


def _written(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def figures(counts: Ints, share: float) -> Mapping[str, float | int]:
    """The figures computed from the counts of all chunks, used or not.

    With the counts x in ascending order, Gini's coefficient is Σ(2i − n − 1)·xᵢ / (n·Σx).
    """
    ordered = np.sort(counts)
    n, total = len(ordered), int(ordered.sum())
    weights = 2 * np.arange(1, n + 1) - n - 1
    gini = float(sum(map(int, weights * ordered))) / (n * total) if total else float("nan")
    filled = np.cumsum(ordered[::-1])
    least = math.ceil(Fraction(repr(share)) * total)  # in decimals as written: 0.07 of 100 is 7, in floats 7.000…01
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return {
        "places": total,
        "gini": gini,
        "chunks_filling_share": int(np.searchsorted(filled, least)) + 1 if total else 0,
        "expected_unseen": once * (once - 1) / (2 * (twice + 1)),
    }


def hub_line(counts: Ints) -> float:
    """The count above which a chunk is a hub: mean plus two standard deviations (population)."""
    return float(counts.mean() + 2 * counts.std()) if len(counts) else 0.0


_EXAMPLES = 100


def chunk_utilization(
    log: Any,
    *,
    chunks: Any = None,
    k: int = 10,
    scores: Sequence[str] | str = (),
    share: float = 0.8,
    chunk_column: str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    format: str | None = None,
    threads: int | None = None,
) -> ChunkUse:
    """How much of a knowledge base the rankings of a log use: chunks in the first ``k`` positions of any row / all.

    ``log`` is a column of lists of ids, or a log: a table or paths, as for ``score``,
    with a column ``retrieved_ids``.  The optional columns ``answer``, ``context_ids``, ``relevant_ids`` and
    ``relevance`` of a log are read too, and so are the columns that ``scores`` names: the score of a row counts for
    every chunk in its first ``k`` positions.  An answer cites what is in square brackets: an id, or a number that
    counts the row's ``context_ids`` (without that column, its ``retrieved_ids``) from 1.  A chunk with grade 1 or more
    is relevant.

    ``chunks`` lists the ids of all chunks: a column, or a table or file with a column ``chunk_id``, ``id``,
    ``document_id``, or ``chunk_column``.  A repeated id in a row counts once, at its first position.  All counts are
    integers, so threads, files and the order of rows cannot change the result.

    Returns a ``ChunkUse``, which prints the figures; its ``to_arrow()`` has a row per chunk.

    Source: the RAG benchmark.

    Parameters:

    - ``log``: A table or files of a log.
    - ``chunks``: Table of all chunks, also those never retrieved, with their sources.
    - ``k``: Positions of each ranking to count.
    - ``scores``: Numeric columns to average: token_f1,latency_ms.
    - ``share``: Report how many chunks fill this share of all positions.
    - ``chunk_column``: Column of chunk ids in the table of chunks; by default chunk_id or id.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``schema``: A preset of column names: ragas, deepeval, mlflow, hf, autorag.
    - ``format``: The format of all files, if their suffixes do not show it: parquet, jsonl, csv, tsv, arrow.
    - ``threads``: Number of threads, from 1 to 1,024; by default one for each core available to this process, of
      profile one.

    >>> use = chunk_utilization([["a", "b"], ["a", "c"], None], chunks=["a", "b", "c", "d"], k=1)
    >>> use.used_chunks, use.total_chunks, use.utilization_rate, use.unused_ids
    (1, 4, 0.25, ['b', 'c', 'd'])
    >>> use.to_arrow().slice(0, 2).to_pylist()
    [{'chunk': 'a', 'retrieved': 2, 'mean_rank': 1.0}, {'chunk': 'b', 'retrieved': 0, 'mean_rank': nan}]

    Raises ``ColumnError`` for a missing column, a column of the wrong type or a null id; ``InputError`` for duplicate
    chunk ids, or if no retrieved id is among the chunks; ``OptionError`` for a ``k`` below 1.
    """
    workers = cores(threads)
    k, share = argument("k", k, Rows), float(argument("share", share, Real(0.0, 1.0, above=True)))
    score_names = list(dict.fromkeys(listed(scores)))
    how = Columns(columns, schema, format)
    optional = ("answer", "context_ids", "relevant_ids", "relevance")
    log = open_log(as_log(log), ["retrieved_ids"], optional, score_names, how)
    total = None if chunks is None else chunk_ids(chunks, chunk_column)
    counting = ChunkCounter(log.has, tuple(score_names), k)
    counts = log.parts(counting.count, counting.add_up, workers)
    return _result(counts, total, counting, share)


def _result(counted: ChunkCounts, total: pa.Array | None, counting: ChunkCounter, share: float) -> ChunkUse:
    [table] = counted.tables
    keys, total = comparable(table[KEY].combine_chunks(), total)
    counts = {name: np.asarray(table[name]) for name in counting.names}
    unknown = np.zeros(len(keys), np.bool_)
    if total is not None:
        places = pc.index_in(keys, total)
        unknown = np.asarray(places.is_null())
        at = np.asarray(places.fill_null(0)).astype(np.int64)
        counts = {name: _spread(values, at, ~unknown, len(total)) for name, values in counts.items()}
        if not (counts["retrieved"] > 0).any() and (np.asarray(table["retrieved"]) > 0).any():
            raise_unknown(keys, total)
    strange = np.flatnonzero(unknown & (np.asarray(table["retrieved"]) > 0))
    ids = keys if total is None else total
    order = np.lexsort((_places_in_order(ids), -counts["retrieved"]))
    ids, counts = ids.take(pa.array(order)), {name: values[order] for name, values in counts.items()}
    return _figures(counted, counting, ids, counts, keys.take(pa.array(strange)), share, has_total=total is not None)


def _figures(
    counted: ChunkCounts,
    counting: ChunkCounter,
    ids: pa.Array,
    counts: Mapping[str, Ints],
    strange: pa.Array,
    share: float,
    *,
    has_total: bool,
) -> ChunkUse:
    retrieved = counts["retrieved"]
    used = retrieved > 0
    pick = partial(_listed, ids)
    uncited = used & (counts["cited"] == 0) if "cited" in counts else None
    n_used = int(used.sum())
    line = hub_line(retrieved if has_total else retrieved[used])
    return ChunkUse(
        k=counting.k,
        rows=counted.rows,
        missing=counted.missing,
        short=counted.short,
        total_chunks=len(ids) if has_total else None,
        used_chunks=n_used,
        unused_chunks=len(ids) - n_used if has_total else None,
        utilization_rate=n_used / len(ids) if has_total and len(ids) else float("nan"),
        share=share,
        never_cited=None if uncited is None else int(uncited.sum()),
        unknown_chunks=len(strange),
        unused_ids=pick(~used) if has_total else None,
        never_cited_ids=None if uncited is None else pick(uncited),
        hubs=pick(retrieved > line),
        unknown_ids=strange.sort()[:_EXAMPLES].to_pylist() if len(strange) else [],
        table=_by_use(ids, counts, counting),
        **figures(retrieved if has_total else retrieved[used], share),  # type: ignore[arg-type]
    )


def _by_use(ids: pa.Array, counts: Mapping[str, Ints], counting: ChunkCounter) -> pa.Table:
    n = counts["retrieved"]
    ranks = np.divide(counts["ranks"], n, out=np.full(len(n), np.nan), where=n > 0)
    table = {"chunk": ids, "retrieved": n, **{name: counts[name] for name in ("cited", "relevant") if name in counts}}
    sums = pa.table({name: pa.array(values) for name, values in counts.items()})
    return pa.table({**table, "mean_rank": ranks, **{f"mean_{name}": mean_of(sums, name) for name in counting.scores}})


def _listed(ids: pa.Array, which: Flags) -> list[Any]:
    return list(ids.filter(pa.array(which)).to_pylist())


def _spread(counts: Ints, at: Ints, mask: Flags, n: int) -> Ints:
    """The counts at the positions of their chunks."""
    spread = np.zeros(n, np.int64)
    spread[at[mask]] = counts[mask]
    return spread


def _places_in_order(ids: pa.Array) -> Ints:
    """The position of each id among the sorted ids."""
    ranks = np.empty(len(ids), np.int64)
    ranks[np.asarray(pc.array_sort_indices(ids))] = np.arange(len(ids))
    return ranks
