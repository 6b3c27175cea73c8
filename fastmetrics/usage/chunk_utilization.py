"""``fm.chunk_utilization``: which chunks of a knowledge base the rankings of a log use (S2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.allowed_values import Real, Rows, argument
from fastmetrics.core.arrays import Flags, Ints
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import cores
from fastmetrics.errors import ColumnError
from fastmetrics.usage.chunk_ids import as_log, chunk_ids, comparable, raise_unknown
from fastmetrics.usage.chunk_use import ChunkUse, figures, hub_line
from fastmetrics.usage.cited_ids import cited_ids
from fastmetrics.usage.listed_ids import ListedIds, listed_ids
from fastmetrics.usage.log import Columns, Part, open_log
from fastmetrics.usage.score_sums import mean_of, score_column, sum_names, summed
from fastmetrics.usage.tally import KEY, Tally, counted

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

    Returns a ``ChunkUse``, which prints the figures; its ``to_arrow()`` has a row per chunk.  Source: S2.

    Parameters:

    - ``log``: a table or files of a log
    - ``chunks``: the table of all chunks
    - ``k``: the positions of each ranking to count
    - ``scores``: the numeric columns to average
    - ``share``: the share of all positions to fill
    - ``chunk_column``: the column of chunk ids in ``chunks``; by default chunk_id or id
    - ``columns``: your names of columns, by canonical name
    - ``schema``: a preset of column names
    - ``format``: the format of the files, if their names do not tell
    - ``threads``: the number of threads; by default one for each core

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
    counting = Counting(log.has, tuple(score_names), k)
    counts = log.parts(counting.count, counting.add_up, workers)
    return _result(counts, total, counting, share)


@dataclass(frozen=True)
class Counted:
    """Counts of a part of a log: rows with a ranking, without one, with a short one, and the tally of ids."""

    rows: int
    missing: int
    short: int
    tables: Sequence[pa.Table]


@dataclass(frozen=True)
class Counting:
    """The counting of a log with the given columns."""

    has: frozenset[str]
    scores: tuple[str, ...]
    k: int

    @property
    def names(self) -> list[str]:
        """The columns of the tally."""
        optional = [name for name, column in (("cited", "answer"), ("relevant", "relevant_ids")) if column in self.has]
        return ["retrieved", "ranks", *optional, *(column for name in self.scores for column in sum_names(name))]

    def count(self, part: Part) -> Counted:
        """The counts of a part."""
        rows = part.rows
        retrieved = listed_ids(rows.column("retrieved_ids"), "retrieved_ids", part.first)
        sizes = np.bincount(retrieved.rows, minlength=rows.num_rows)[retrieved.valid]
        tables = {"": (retrieved, self._retrieved(part, retrieved.where(retrieved.places < self.k).once()))}
        if "answer" in self.has:
            key, listed = "", retrieved
            if "context_ids" in self.has:
                key, listed = "context", listed_ids(rows.column("context_ids"), "context_ids", part.first)
            cited = np.zeros(listed.codes.size, np.bool_)
            cited[cited_ids(rows.column("answer"), listed)] = True
            tables.setdefault(key, (listed, {}))[1]["cited"] = listed.where(cited).once().counts()
        if "relevant_ids" in self.has:
            relevant = listed_ids(rows.column("relevant_ids"), "relevant_ids", part.first)
            tables["relevant"] = relevant, {"relevant": relevant.where(_relevant(part, relevant)).once().counts()}
        return Counted(
            len(sizes),
            rows.num_rows - len(sizes),
            int((sizes < self.k).sum()),
            [self._filled(listed.words, counts) for listed, counts in tables.values()],
        )

    def _retrieved(self, part: Part, top: ListedIds) -> dict[str, Any]:
        n = len(top.words)
        counts: dict[str, Any] = {"retrieved": top.counts(), "ranks": np.bincount(top.codes, top.places + 1, n)}
        for name in self.scores:
            counts |= summed(name, top.codes, score_column(part.rows, name, part.first)[top.rows], n)
        return counts

    def _filled(self, ids: pa.Array, counts: Mapping[str, Any]) -> pa.Table:
        nothing = np.zeros(len(ids), np.int64)
        return counted(ids, {name: counts.get(name, nothing) for name in self.names})

    def add_up(self, parts: Any) -> Counted:
        """The sum of all parts; ids become text if some parts have numbers and others text."""
        tally, rows, missing, short = Tally(self.names), 0, 0, 0
        for part in parts:
            rows, missing, short = rows + part.rows, missing + part.missing, short + part.short
            for table in part.tables:
                tally.add(table)
        return Counted(rows, missing, short, [tally.table()])


def _relevant(part: Part, relevant: ListedIds) -> Flags:
    """Which of the judged ids are relevant."""
    if "relevance" not in part.rows.schema.names:
        return np.ones(relevant.codes.size, np.bool_)
    grades = part.rows.column("relevance")
    sizes = np.bincount(relevant.rows, minlength=len(relevant.valid))
    graded = np.asarray(grades.is_valid()) & relevant.valid
    lengths = np.asarray(pc.fill_null(pc.list_value_length(grades), 0)) if not pa.types.is_null(grades.type) else sizes
    wrong = np.flatnonzero(graded & (sizes != lengths))
    if wrong.size:
        row = int(wrong[0])
        of = f"expected a grade for each of {sizes[row]} relevant ids, got {lengths[row]}"
        raise ColumnError(f"column 'relevance', row {part.first + row}: {of}")
    if not graded.any():
        return np.ones(relevant.codes.size, np.bool_)
    flat = grades.filter(pa.array(graded)).flatten()
    values = np.ones(relevant.codes.size)
    values[graded[relevant.rows]] = np.asarray(flat.cast(pa.float64()).fill_null(0.0))
    return values >= 1


def _result(counted: Counted, total: pa.Array | None, counting: Counting, share: float) -> ChunkUse:
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
    counted: Counted,
    counting: Counting,
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


def _by_use(ids: pa.Array, counts: Mapping[str, Ints], counting: Counting) -> pa.Table:
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
