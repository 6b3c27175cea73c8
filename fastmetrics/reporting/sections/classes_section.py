"""The section of a classifier: accuracy and F1, the confusion matrix, labels and segments of each system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.column_names import resolve
from fastmetrics.base.display import Grid, cell, number
from fastmetrics.base.errors import ColumnError
from fastmetrics.reporting.sections.section import WORDS, Section, SectionInput, merged_notes
from fastmetrics.results.classification import EXPECTED, PREDICTED, Classification, classification, label_columns
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.worst_rows import TextSource
from fastmetrics.stats.confusion import FIGURES

_MOST_LABELS = 20
"""Maximum number of labels of columns that are taken for labels without being named."""
_EACH = 5
"""Least number of rows for each label of such columns."""
_LOOKED_AT = 5_000
"""Number of rows that are looked at before all of them are."""
_NAMES = (*PREDICTED, *EXPECTED, "label", "answer", "reference")


@dataclass(frozen=True)
class SystemClasses:
    """The figures of a system, and its matrix with a level of colour for each cell."""

    name: str
    found: Classification
    matrix: Sequence[tuple[str, Sequence[tuple[str, int | None]]]]

    @property
    def header(self) -> Sequence[str]:
        """The headings of the matrix."""
        return self.found.confusion.grid().header

    @property
    def others(self) -> Sequence[Grid]:
        """The tables beside the matrix: labels, of many the most frequent errors, and segments."""
        _, labels, _, *others = self.found.grids()
        return [labels, *others]


@dataclass(frozen=True)
class Classes:
    """The figures of all systems beside each other, those of each, and the notes."""

    figures: Grid
    systems: Sequence[SystemClasses]
    notes: Sequence[str]


def _content(given: SectionInput) -> Classes | None:
    found: dict[str, Classification] = {}
    for run in given.systems:
        labels = _labels(run, given.sources.get(run.name), given)
        if labels is not None:
            found[run.name] = labels
    if not found:
        return None
    rows = [
        (label, *(f"{number(figure.value)} {cell(figure)}" for figure in of_all))
        for name, label in FIGURES.items()
        for of_all in [[getattr(one, name) for one in found.values()]]
    ]
    notes = merged_notes({name: one.remarks() for name, one in found.items()})
    return Classes(
        Grid(("figure", *found), rows),
        [SystemClasses(name, one, _matrix(one)) for name, one in found.items()],
        notes,
    )


def _labels(run: ScoreTable, source: TextSource | None, given: SectionInput) -> Classification | None:
    """The labels that are named, or columns of few values; from the scores, else from the file of texts.

    Raises ``ColumnError`` for a named column that neither has.
    """
    options = given.options
    named = [name for name in (options.predicted, options.expected) if name is not None]

    def columns_of(table: pa.Table) -> tuple[str, str] | None:
        try:
            columns = label_columns(table.column_names, options.predicted, options.expected)
        except ColumnError:
            return None
        return columns if named or all(_has_few(table[name]) for name in columns) else None

    wanted = [*named, *_NAMES, *options.by]
    table = _kept(run, wanted)
    columns = columns_of(table)
    if columns is None and source is not None:
        table = _of_source(source, wanted, columns_of)
        columns = columns_of(table)
    if columns is None or table.num_rows < _EACH:
        if named:
            label_columns(run.columns, options.predicted, options.expected)
        return None
    by = [name for name in options.by if name in table.column_names]
    return classification(table, predicted=columns[0], expected=columns[1], by=by or None)


def _kept(run: ScoreTable, wanted: Sequence[str]) -> pa.Table:
    """The columns of a run that may hold labels, under their own names or that of answers and references."""
    canonical = resolve(run.columns, needed=())
    names = {name: name for name in wanted if name in run.columns}
    names |= {name: canonical[name] for name in ("answer", "reference") if name in canonical}
    return run.read(list(names.values())).rename_columns(list(names))


def _of_source(source: TextSource, wanted: Sequence[str], columns_of: Callable[[pa.Table], object]) -> pa.Table:
    """Such columns of a file of texts; of its first rows, if these hold no labels."""
    columns, pieces = source.pieces(wanted)
    names = {name: column for name, column in columns.items() if name != "id"}
    table = pa.table({name: pa.array([], pa.string()) for name in names})
    parts = []
    for piece in pieces:
        parts.append(pa.table({name: piece.column(column) for name, column in names.items()}))
        table = pa.concat_tables(parts)
        if columns_of(table) is None:
            break
    return table


def _has_few(column: pa.ChunkedArray) -> bool:
    """Whether a column holds labels: few different texts or flags, each of several rows."""
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not (is_text or pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type)):
        return False
    if pc.count_distinct(column.slice(0, _LOOKED_AT)).as_py() > _MOST_LABELS:
        return False
    distinct = pc.count_distinct(column).as_py()
    return 1 < distinct <= min(_MOST_LABELS, len(column) / _EACH)


def _matrix(found: Classification) -> list[tuple[str, list[tuple[str, int | None]]]]:
    """The printed matrix with levels: of hits up to 3, of errors down to −3, by their share of the expected rows."""
    lines = []
    grid = found.confusion.grid()
    for row, (name, *cells) in enumerate(grid.rows):
        counts = [int(cell.replace(",", "")) for cell in cells]
        levels: list[int | None] = [None] * len(cells)
        if row < len(grid.rows) - 1 and counts[-1]:
            shares = [count / counts[-1] for count in counts[:-1]]
            levels[:-1] = [_level(share) * (1 if at == row else -1) for at, share in enumerate(shares)]
        lines.append((name, list(zip(cells, levels, strict=True))))
    return lines


def _level(share: float) -> int:
    return sum(share > limit for limit in (0.0, 0.1, 0.5))


SECTION = Section(
    "classes",
    labels=WORDS["sections"]["classes"],
    content=_content,
    template="{% include 'classes_section.html' %}",
)
