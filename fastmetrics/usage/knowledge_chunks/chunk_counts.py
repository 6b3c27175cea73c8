"""Counting the chunks of a log's rankings: how often each is retrieved, cited and relevant, and the sums of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags
from fastmetrics.base.errors import ColumnError
from fastmetrics.usage.counts_by_key import Tally, counted, score_column, score_sums, sum_names
from fastmetrics.usage.knowledge_chunks.cited_ids import cited_ids
from fastmetrics.usage.knowledge_chunks.listed_ids import ListedIds, listed_ids
from fastmetrics.usage.log import LogPart


@dataclass(frozen=True)
class ChunkCounts:
    """Counts of a part of a log: rows with a ranking, without one, with a short one, and the tally of ids."""

    rows: int
    missing: int
    short: int
    tables: Sequence[pa.Table]


@dataclass(frozen=True)
class ChunkCounter:
    """The counting of a log with the given columns."""

    has: frozenset[str]
    scores: tuple[str, ...]
    k: int

    @property
    def names(self) -> list[str]:
        """The columns of the tally."""
        optional = [name for name, column in (("cited", "answer"), ("relevant", "relevant_ids")) if column in self.has]
        return ["retrieved", "ranks", *optional, *(column for name in self.scores for column in sum_names(name))]

    def count(self, part: LogPart) -> ChunkCounts:
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
        return ChunkCounts(
            len(sizes),
            rows.num_rows - len(sizes),
            int((sizes < self.k).sum()),
            [self._filled(listed.words, counts) for listed, counts in tables.values()],
        )

    def _retrieved(self, part: LogPart, top: ListedIds) -> dict[str, Any]:
        n = len(top.words)
        counts: dict[str, Any] = {"retrieved": top.counts(), "ranks": np.bincount(top.codes, top.places + 1, n)}
        for name in self.scores:
            counts |= score_sums(name, top.codes, score_column(part.rows, name, part.first)[top.rows], n)
        return counts

    def _filled(self, ids: pa.Array, counts: Mapping[str, Any]) -> pa.Table:
        nothing = np.zeros(len(ids), np.int64)
        return counted(ids, {name: counts.get(name, nothing) for name in self.names})

    def add_up(self, parts: Any) -> ChunkCounts:
        """The sum of all parts; ids become text if some parts have numbers and others text."""
        tally, rows, missing, short = Tally(self.names), 0, 0, 0
        for part in parts:
            rows, missing, short = rows + part.rows, missing + part.missing, short + part.short
            for table in part.tables:
                tally.add(table)
        return ChunkCounts(rows, missing, short, [tally.table()])


def _relevant(part: LogPart, relevant: ListedIds) -> Flags:
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
