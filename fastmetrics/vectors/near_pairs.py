"""Near duplicates: pairs of rows whose vectors have almost the same direction, ``fm.vectors.duplicates``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.display import HIDDEN, Grid, Shown, head_of, lines_of, plain, rows_note
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.base.progress import WorkDone, report
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores, ordered
from fastmetrics.vectors.pair_scan import Floats, survey
from fastmetrics.vectors.vector_arrays import Ids, Vectors, VectorsLike, one_blas_thread, open_vectors

MOST = 1_000
"""The default number of pairs of a table."""
_DIGITS = 12
"""Decimals of a cosine: those in which equal directions agree, whatever their lengths."""
_SHOWN = 60
"""Characters of a text that are printed."""


@dataclass(frozen=True)
class NearPairs:
    """The nearest pairs of rows, nearest first, equally near ones by their rows, and how many are near in all."""

    rows: Ids
    others: Ids
    cosines: Floats
    count: int
    paired: npt.NDArray[np.bool_]
    """Which rows have another one that is near."""
    known: npt.NDArray[np.bool_]
    """Which rows have a direction: they are finite, and not zero."""

    def table(self, ids: pa.Array | None = None, texts: pa.Array | None = None, numbers: Ids | None = None) -> pa.Table:
        """One line per pair: ``row`` and ``other`` from 0 (or their ``numbers``), ids, the cosine, and texts."""
        both = [rows if numbers is None else numbers[rows] for rows in (self.rows, self.others)]
        columns: dict[str, Any] = dict(zip(("row", "other"), both, strict=True))
        for names, values in ((("id", "other_id"), ids), (("text", "other_text"), texts)):
            if names[0] == "text":
                columns["cosine"] = self.cosines
            if values is not None:
                columns |= {
                    name: values.take(pa.array(rows))
                    for name, rows in zip(names, (self.rows, self.others), strict=True)
                }
        return pa.table(columns)


def shown_pairs(pairs: pa.Table) -> Grid:
    """The first pairs, their texts cut."""
    names = [name for name in ("text", "other_text") if name in pairs.column_names]
    for name in names:
        cut = pc.utf8_slice_codeunits(pairs[name].cast(pa.large_string()), 0, _SHOWN)
        pairs = pairs.set_column(pairs.column_names.index(name), name, cut)
    return head_of(pairs)


def near_pairs(vectors: Vectors, near: float, most: int, threads: int) -> NearPairs:
    """Every pair of rows whose cosine is at least ``near``, and the ``most`` nearest of them."""
    norms = survey(vectors, threads).norms
    known = np.isfinite(norms) & (norms > 0)
    rows, size, least = np.flatnonzero(known), SIZES.vector_tile_rows, round(near, _DIGITS)
    starts, paired = range(0, len(rows), size), np.zeros(vectors.rows, np.bool_)

    def units(start: int) -> tuple[Ids, Floats]:
        here = rows[start : start + size]
        return here, vectors.take(here).astype(np.float64) / norms[here, None]

    def nearest(parts: Sequence[tuple[Floats, Ids, Ids]]) -> tuple[Floats, Ids, Ids]:
        cosines, some, others = (np.concatenate(each) for each in zip(*parts, strict=True))
        best = np.lexsort((others, some, -cosines))[:most]
        return cosines[best], some[best], others[best]

    def part(start: int) -> tuple[tuple[Floats, Ids, Ids], int]:
        down, left = units(start)
        best, count = _none(), 0
        for other in range(start, len(rows), size):
            across, right = units(other)
            tile = left @ right.T
            if other == start:
                tile[np.tril_indices(len(tile))] = -np.inf
            at = np.flatnonzero(tile >= least - 10.0**-_DIGITS)
            cosines = np.clip(np.round(tile.ravel()[at], _DIGITS), -1.0, 1.0)
            at, cosines = at[cosines >= least], cosines[cosines >= least]
            if not len(at):
                continue
            count += len(at)
            some, others = np.divmod(at, len(across))
            paired[down[some]] = paired[across[others]] = True
            first = np.argsort(-cosines, kind="stable")[:most]
            best = nearest([best, (cosines[first], down[some[first]], across[others[first]])])
        report(WorkDone("comparing vectors", min(start + size, len(rows)), "rows", len(rows)))
        return best, count

    best, count = _none(), 0
    with one_blas_thread():
        for found, more in ordered(part, starts, threads):
            best, count = nearest([best, found]), count + more
    return NearPairs(best[1], best[2], best[0], count, paired, known)


def _none() -> tuple[Floats, Ids, Ids]:
    return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)


@dataclass(frozen=True)
class Duplicates(Shown):
    """The near duplicates of some vectors: ``table`` has a line per pair, nearest first."""

    rows: int
    left_out: int
    """Rows without a direction: null, not finite, or all zeros."""
    near: float
    pairs: int
    """All pairs at a cosine of at least ``near``."""
    rows_in_pairs: int
    table: pa.Table = field(repr=False, metadata=HIDDEN)
    """``row`` and ``other`` from 0, ``id`` and ``other_id``, ``cosine``, ``text`` and ``other_text``."""

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One line per pair of the table."""
        return list(self.table.to_pylist())

    def to_arrow(self) -> pa.Table:
        """The table of pairs."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """The figures, and the pairs of the table."""
        return {**super().to_dict(), "table": self.table.to_pylist()}

    def grids(self) -> list[Grid]:
        """The figures, and the nearest pairs."""
        figures = lines_of(list(plain(self).items()), "figure=0", "value=1")
        return [figures, shown_pairs(self.table)] if self.table.num_rows else [figures]

    def remarks(self) -> Sequence[str]:
        """How many pairs there are, if not all are shown."""
        return rows_note(self.pairs)


def duplicates(
    vectors: Annotated[VectorsLike, Help("An array, table, column or file of vectors.")],
    *,
    near: shared.Near = 0.9,
    limit: Annotated[int, Help("The most pairs in the table: the nearest ones.")] = MOST,
    column: shared.Column = None,
    text: Annotated[
        str | None, Help("The column of the texts; by default question, answer, reference or text.")
    ] = None,
    threads: shared.Threads = None,
) -> Duplicates:
    """Pairs of near duplicates with their similarity: the cosine of two rows is at least ``near``.

    The ``table`` has a line per pair, nearest first, equally near ones by number of row: ``row`` and ``other`` from 0,
    ``id`` and ``other_id`` where the table of vectors has ids, ``cosine``, and ``text`` and ``other_text`` where it has
    texts: of vectors in ``answer_embedding`` those in ``answer``.  It has the ``limit`` nearest pairs; ``pairs`` counts
    all.  Every pair is compared (100,000 rows take minutes), in float64; cosines have twelve decimals, so that equal
    directions have 1.  Rows that are null, not finite or zero have no direction: they are ``left_out``.

    >>> found = duplicates({"id": ["a", "b", "c"], "embedding": [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]}, near=0.7)
    >>> found.pairs, found.table.to_pylist()
    (1, [{'row': 0, 'other': 2, 'id': 'a', 'other_id': 'c', 'cosine': 0.8}])

    Raises ``OptionError`` for a ``near`` outside −1 to 1 or a ``limit`` below 1, ``UnknownNameError`` for an unknown
    column.
    """
    near, limit = float(argument("near", near, Real(-1.0, 1.0))), argument("limit", limit, Whole(1, 10_000_000))
    opened = open_vectors(vectors, column, texts=text or True)
    found = near_pairs(opened.vectors, near, limit, cores(threads))
    return Duplicates(
        rows=opened.vectors.rows,
        left_out=int((~found.known).sum()),
        near=near,
        pairs=found.count,
        rows_in_pairs=int(found.paired.sum()),
        table=found.table(opened.ids, opened.texts),
    )
