"""The vectors page: the first two principal components, one point per row, coloured by any metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import Argument, InputError, OptionError, visible
from fastmetrics.reporting.page_rows import shorts
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.row_texts import cut, row_texts
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.reporting.sections.section import WORDS, Section
from fastmetrics.results.row_groups import SortedIds
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_table
from fastmetrics.vectors.projection import AXES, Points, pca
from fastmetrics.vectors.vector_arrays import open_vectors

POINTS = 2_000
"""Maximum number of points, evenly spaced in the table."""
_METRICS = 30
"""Maximum number of metrics for the colours: the first ones."""
_OPTION = "vectors_column"
_VALUES = 7
"""Maximum number of values of a column with colours of their own: the most frequent ones."""
_LABEL = 60
"""Maximum characters of such a value."""
_TEXT = 160
"""Maximum characters of a point's text."""


@dataclass(frozen=True)
class VectorsPage:
    """The data of the templates, and the points that the script draws."""

    n: int
    """Rows with a finite vector."""
    left_out: int
    explained: Sequence[float]
    """The shares of the variance of principal components; empty for other points."""
    points: dict[str, Any]

    @property
    def shown(self) -> int:
        """Number of drawn points."""
        return len(self.points["at"])


def vectors_page(rows: PairedRows, options: ReportOptions) -> VectorsPage:
    """The vectors of the rows, matched by id, or by position if the vectors have no ids.

    Raises ``InputError`` if they share no id, or if the numbers of vectors and rows differ.
    """
    placed = None if options.vectors_column is not None else _placed(options.vectors)
    if placed is None:
        opened = open_vectors(options.vectors, options.vectors_column, option=_OPTION)
        if options.vectors_column is not None and not opened.in_column:
            is_array = f": {visible(opened.name)} is an array, which has no columns"
            raise OptionError(Argument(_OPTION, options.vectors_column), is_array)
        projection = pca(opened.vectors, 2, threads=options.threads)
        name, ids = opened.name, opened.ids
        spots_of_all, explained = projection.points, projection.explained.tolist()
    else:
        name, ids = "vectors", placed.column("id").combine_chunks()
        axes = [name for name in AXES if name in placed.column_names]
        spots_of_all, explained = np.column_stack([as_numbers(placed.column(name)) for name in axes]), []
    places = _places(rows, len(spots_of_all), ids, visible(name))
    met = np.flatnonzero(places >= 0)
    met = met[np.isfinite(spots_of_all[places[met], 0])]
    chosen = met[:: max(1, -(-len(met) // POINTS))]
    spots = spots_of_all[places[chosen]]
    found_texts = row_texts(rows.main, rows.ids, chosen.tolist(), rows.texts)
    points = {
        "at": chosen.tolist(),
        "id": [rows.label(int(row)) for row in chosen],
        **{name: shorts(spots[:, at]) for at, name in enumerate(AXES[: spots.shape[1]])},
        "text": [str(texts.get("question") or texts.get("answer") or "")[:_TEXT] for texts in found_texts],
        "scores": [shorts(rows.main.values(name)[chosen]) for name in rows.names[:_METRICS]],
    }
    points |= {"columns": _columns(rows, chosen.tolist()), "explained": bool(explained)}
    return VectorsPage(len(met), rows.n - len(met), explained, points)


def _placed(vectors: Any) -> pa.Table | None:
    """The points of ``project``, as its result, its table or its file; None for vectors."""
    if isinstance(vectors, np.ndarray) or (isinstance(vectors, str | Path) and str(vectors).endswith(".npy")):
        return None
    table = vectors.to_arrow() if isinstance(vectors, Points) else vectors
    source = open_table(table, name="vectors")
    if not {"id", "x", "y", "sampled"} <= set(source.names):
        return None
    return whole_table(source, {name: "any" for name in ("id", *AXES) if name in source.names})


def _columns(rows: PairedRows, places: Sequence[int]) -> list[dict[str, Any]]:
    """The kept columns by which points can be coloured: the most frequent values, and the value of each point."""
    coloured = []
    for name, values in zip(rows.shown_columns.names, zip(*rows.shown_columns.to(places), strict=True), strict=False):
        counts = Counter(value for value in values if value is not None)
        if 1 < len(counts) < max(3, len(values) / 2):
            first = [value for value, _ in counts.most_common(_VALUES)]
            codes = [
                None if value is None else first.index(value) if value in first else len(first) for value in values
            ]
            coloured.append({"name": visible(name), "values": [cut(value)[:_LABEL] for value in first], "codes": codes})
    return coloured


def _places(rows: PairedRows, n: int, ids: pa.Array | None, name: str) -> Ints:
    """The position of each row's vector among ``n``, −1 for none."""
    if ids is not None and rows.labels is not None:
        own, theirs = (_as_text(some) for some in (rows.labels, ids))
        if own.equals(theirs):
            return np.arange(n)
        for id, count in SortedIds.of(theirs).duplicates():
            raise InputError(f"{name}: the id {id!r} occurs in {count:,} rows; give each row one vector")
        places = np.asarray(pc.index_in(own, value_set=theirs).fill_null(-1)).astype(np.int64)
        if rows.n and not (places >= 0).any():
            raise InputError(f"{name} has none of the ids of the scores, such as {own[0].as_py()!r}")
        return places
    if n != rows.n:
        raise InputError(f"{name} has {n:,} vectors without ids for {rows.n:,} rows; give them ids")
    return np.arange(n)


def _as_text(ids: pa.Array) -> pa.Array:
    return ids.cast(pa.large_string())


def points_of(page: VectorsPage | None, names: Sequence[str]) -> dict[str, Any] | None:
    """The points for the script, with the names of the metrics."""
    return None if page is None else {**page.points, "metrics": list(map(visible, names[:_METRICS]))}


SECTION = Section(
    "vectors",
    labels=WORDS["sections"]["vectors"],
    content=lambda section_input: (
        None if section_input.options.vectors is None else vectors_page(section_input.rows, section_input.options)
    ),
    template="{% include 'vectors_section.html' %}",
    data=lambda page, names: {"points": points_of(page, names)},
)
