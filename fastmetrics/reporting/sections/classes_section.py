"""The section of a classifier: accuracy and F1, the confusion matrix, labels and segments of each system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
class Classes:
    """The figures of all systems beside each other, those of each, and the notes."""

    figures: Grid
    systems: Mapping[str, Classification]
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
        found,
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
    names, pieces = source.pieces(wanted)
    table = pa.table({name: pa.array([], pa.string()) for name in names})
    parts = []
    for piece in pieces:
        parts.append(piece.select(names))
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


SECTION = Section(
    "classes",
    labels=WORDS["sections"]["classes"],
    content=_content,
    template="{% include 'classes_section.html' %}",
)
