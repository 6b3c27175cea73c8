"""The labelled rows: labels, groups and the scores that a fit may read, with the checks of all three."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.arrow import is_text
from fastmetrics.base.columns import as_array, as_numbers
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.fitting.design import within_reach
from fastmetrics.metrics.fitted_file import RowScores

LEAST_ROWS, LEAST_OF_A_CLASS, LEAST_GROUPS = 30, 10, 10
FOLDS = 5
_SHOWN = 5
_COPY = 1 - 1e-9
LARGEST = 1e100
"""The largest label: the sum of the squares of such labels is finite."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labels of rows (0 and 1 if ``is_binary``), their groups numbered from 0, and scores by name."""

    labels: Floats
    is_binary: bool
    groups: Ints
    scores: dict[str, RowScores]
    has_groups: bool

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows, by their numbers or by flags."""
        scores = {name: (values[rows], present[rows]) for name, (values, present) in self.scores.items()}
        return replace(self, labels=self.labels[rows], groups=self.groups[rows], scores=scores)

    @property
    def clusters(self) -> Ints | None:
        """The groups, if rows are dependent."""
        return self.groups if self.has_groups else None

    @property
    def values(self) -> list[RowScores]:
        """The scores in order."""
        return list(self.scores.values())

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(np.unique(self.groups))


def labels_of(table: pa.Table, label: str, positive: float | None) -> tuple[Floats, bool]:
    """The labels, NaN where there is none, and whether they are 0 and 1.

    Raises ``ColumnError`` for a column that is absent or holds text, ``InputError`` for infinite labels or one class.
    """
    column = column_of(table, label)
    if is_text(as_array(column, label).type):
        values = [shown.as_py() for shown in pc.unique(column).drop_null()[:_SHOWN]]
        raise ColumnError(
            f"column {label!r} holds text ({', '.join(map(repr, values))}); expected labels that are numbers or "
            "booleans: convert the classes to 1 (good) and 0 (bad), or to grades"
        )
    labels = as_numbers(column, label)
    if (np.abs(labels) > LARGEST).any():
        row = int(np.flatnonzero(np.abs(labels) > LARGEST)[0])
        value = "an infinite one" if np.isinf(labels[row]) else f"{labels[row]:g}"
        raise InputError(f"column {label!r}: expected finite labels up to {LARGEST:g}, row {row:,} holds {value}")
    distinct = np.unique(labels[~np.isnan(labels)])
    if positive is None and len(distinct) == 2:
        positive = float(distinct[1])
    if positive is not None:
        labels = np.where(np.isnan(labels), np.nan, labels >= positive)
    return labels, positive is not None


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of the table; raises ``UnknownNameError`` for another name."""
    if name not in table.column_names:
        raise UnknownNameError.of("column", name, table.column_names)
    return table.column(name)


def groups_of(table: pa.Table, group: str | None) -> Ints:
    """The number of each row's group; a row without a group is one of its own."""
    if group is None:
        return np.arange(table.num_rows)
    column = as_array(column_of(table, group), group)
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {group!r}: expected groups that are texts or numbers, got {column.type}")
    codes = column.dictionary_encode().indices.cast(pa.int64())
    own = pa.array(np.arange(table.num_rows) + table.num_rows)
    numbers = pc.if_else(codes.is_valid(), codes, own)
    return np.unique(np.asarray(numbers), return_inverse=True)[1].astype(np.int64)


def check_rows(rows: LabelledRows, label: str, group: str | None, *, n_apart: int = 0) -> None:
    """Raise ``InputError`` for labels that no evaluation on held-out groups could use.

    ``n_apart`` is the number of rows that are kept apart for the cuts, which ``rows`` are without.
    """
    n, what = len(rows), f"column {label!r}"
    if n_apart:
        what += f", without the {n_apart:,} rows that are kept apart for the cuts"
    if n < LEAST_ROWS:
        raise InputError(
            f"{what}: {n:,} labelled rows are too few to fit and evaluate a score; label {LEAST_ROWS} or more"
        )
    if len(np.unique(rows.labels)) < 2:
        raise InputError(f"{what}: all {n:,} labels are {rows.labels[0]:g}; a fit needs rows of two classes or grades")
    if rows.has_groups and rows.n_groups < LEAST_GROUPS:
        raise InputError(
            f"{what}: the {n:,} labelled rows have too few groups of {group!r} ({rows.n_groups}); an evaluation on "
            f"held-out groups needs {LEAST_GROUPS} or more"
        )
    if not rows.is_binary:
        return
    for value in (0, 1):
        of_class = rows.labels == value
        count, n_groups = int(of_class.sum()), len(np.unique(rows.groups[of_class]))
        name = "positive" if value else "negative"
        if count < LEAST_OF_A_CLASS:
            raise InputError(f"{what}: only {count} of {n:,} rows are {name}; label {LEAST_OF_A_CLASS} or more")
        if n_groups < FOLDS:
            raise InputError(
                f"{what}: all {count:,} {name} rows are in {n_groups} of {rows.n_groups:,} groups of {group!r}; "
                f"held-out groups need {name} rows in {FOLDS} or more"
            )


def check_leaks(rows: LabelledRows, grades: Floats, label: str) -> None:
    """Raise ``InputError`` for a score that is a copy of the label: equal order, with as many values as the label.

    ``grades`` are the labels before they became two classes.
    """
    from scipy.stats import rankdata

    for name, (values, present) in rows.scores.items():
        usable = present & np.isfinite(values)
        if usable.sum() < LEAST_ROWS or len(np.unique(values[usable])) < 2:
            continue
        scores = values[usable]
        same_size = [
            labels[usable]
            for labels in (rows.labels, grades)
            if len(np.unique(labels[usable])) == len(np.unique(scores))
        ]
        agreements = [float(np.corrcoef(rankdata(scores), rankdata(labels))[0, 1]) for labels in same_size]
        if any(abs(agreement) > _COPY for agreement in agreements):
            raise InputError(
                f"{name!r} is a copy of the label {label!r}: both rank all {int(usable.sum()):,} rows alike, so a "
                "score fitted on it repeats it; leave it out with ",
                Argument("metrics"),
            )


def repeated_questions(table: pa.Table, question: str | None, groups: Ints) -> int:
    """The number of rows whose question is also in another group."""
    if question is None or question not in table.column_names:
        return 0
    codes = np.asarray(as_array(table.column(question), question).dictionary_encode().indices.fill_null(-1))
    pairs = np.unique(np.stack([codes, groups]), axis=1)[0]
    several = np.bincount(pairs[pairs >= 0], minlength=1) > 1
    return int(np.count_nonzero(several[codes[codes >= 0]]))


def filled(values: Floats, present: Flags) -> Floats:
    """Scores without missing and undefined ones, which take the median of the others; infinite ones stay."""
    usable = present & ~np.isnan(values)
    middle = float(np.median(within_reach(values[usable]))) if usable.any() else 0.0
    return np.where(usable, values, middle)
