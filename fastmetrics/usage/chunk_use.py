"""The use of each chunk of a knowledge base in a log: the figures, and the table behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Ints
from fastmetrics.core.display import Grid, Shown

_SHOWN = 10
_MOST = 20


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
        head = self.table.slice(0, _MOST)
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
