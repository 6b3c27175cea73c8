"""Human labels: finding them in a table, matching them to scores, and converting them to numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_list, is_text, narrowest, rounded
from fastmetrics.base.column_names import is_id
from fastmetrics.base.columns import as_array, as_numbers, index_columns
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownColumnError, UnknownNameError
from fastmetrics.base.text_structure import as_flags

ROW = "row"
"""The column of row numbers, from 0, in a sheet of rows without ids."""


@dataclass(frozen=True)
class RowLabels:
    """The label of each row of scores, NaN for none."""

    name: str
    truth: Floats
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The row of its label, or −1."""
    joined_by: str = "position"
    """``position``, or the column that pairs labels and scores."""
    n_unmatched: int = 0
    """Labels that belong to no row of scores."""
    ratings: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    """The columns of several raters, whose mean is the label."""
    precision: type[np.floating] | None = None
    """The narrowest floating type of the labels below float64."""

    @classmethod
    def of(
        cls,
        scores: pa.Table,
        labels: pa.Table | None,
        *,
        label: str | None = None,
        on: str | None = None,
        raters: Sequence[str] = (),
        others: Collection[str] = (),
    ) -> RowLabels:
        """From a table of labels, or without one from a column of the scores; ``others`` are columns without labels."""
        table = scores if labels is None else labels
        rows, joined_by = (np.arange(scores.num_rows), "position") if labels is None else join(scores, table, on)
        name, ratings = _ratings_of(table, label, raters, [*others, *([on] if on is not None else [])])
        every = _truth_of(table, name, ratings)
        truth = np.full(len(rows), np.nan)
        truth[rows >= 0] = every[rows[rows >= 0]]
        kinds = [table.column(name).type] if name in table.column_names else [one.type for one in ratings.values()]
        precision = narrowest([kind.value_type if is_list(kind) else kind for kind in kinds])
        unmatched = int((~np.isnan(every)).sum() - (~np.isnan(truth)).sum())
        return cls(name, truth, rows, joined_by, unmatched, ratings, precision)

    def beside(self, column: pa.ChunkedArray) -> tuple[Floats, Floats]:
        """The scores of a column and the labels, both in the narrower of their precisions: equal values are equal."""
        narrow = self._precision_beside(column)
        return rounded(as_numbers(column), narrow), rounded(self.truth, narrow)

    def of_both(self, column: pa.ChunkedArray) -> tuple[Floats, Floats, Flags]:
        """The scores and the labels of the rows that have both, and which rows these are."""
        scores, truth = self.beside(column)
        both = np.isfinite(scores) & ~np.isnan(truth)
        return scores[both], truth[both], both

    def threshold(self, positive: float | None, column: pa.ChunkedArray) -> float | None:
        """The lowest positive score in the same precision."""
        return None if positive is None else float(rounded(np.array([positive]), self._precision_beside(column))[0])

    def _precision_beside(self, column: pa.ChunkedArray) -> type[np.floating] | None:
        own = [] if self.precision is None else [pa.from_numpy_dtype(self.precision)]
        return narrowest([column.type, *own])


def join(left: pa.Table, right: pa.Table, on: str | None) -> tuple[Ints, str]:
    """For each row of the scores the row of its labels, or −1; and the matching column."""
    if on is None and "id" in left.column_names and "id" in right.column_names:
        on = "id"
    if on is None and "id" not in left.column_names and ROW in right.column_names:
        return _join_numbers(left, right), ROW
    if on is None:
        return _join_rows(left, right)
    keys = []
    for what, table in (("scores", left), ("labels", right)):
        if on not in table.column_names:
            has = f"to match rows by; they have {', '.join(table.column_names)}; name a shared one with "
            raise UnknownColumnError(f"the {what} have no column {on!r} {has}", Argument("on"))
        key = as_array(table.column(on), on)
        if not (pa.types.is_integer(key.type) or is_text(key.type)):
            raise ColumnError(f"column {on!r} of the {what} holds {key.type}, not ids (text or integers)")
        key = key.cast(pa.string())
        counts = pc.value_counts(key.drop_null())
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            first = twice[0]["values"].as_py()
            raise InputError(f"column {on!r} of the {what}: expected unique ids, but {first!r} occurs twice")
        keys.append(key)
    rows = pc.index_in(keys[0], keys[1], skip_nulls=True)
    if rows.null_count == len(rows) > 0 and len(keys[1]):
        first, other = (next((value for value in key.to_pylist() if value is not None), None) for key in keys)
        raise InputError(
            f"scores and labels share no {on!r}; the scores have for example {first!r}, the labels {other!r}; "
            "name the column that both share with ",
            Argument("on"),
        )
    return rows.fill_null(-1).to_numpy().astype(np.int64), on


def _join_numbers(left: pa.Table, right: pa.Table) -> Ints:
    """Matching by the numbers of rows that a sheet of labels has."""
    numbers = as_array(right.column(ROW), ROW)
    if not pa.types.is_integer(numbers.type) or numbers.null_count:
        raise ColumnError(f"column {ROW!r} of the labels holds {numbers.type}, not the numbers of rows")
    if pc.count_distinct(numbers).as_py() < len(numbers):
        raise InputError(f"column {ROW!r} of the labels: expected each row once")
    rows = pc.index_in(pa.array(np.arange(left.num_rows)), numbers.cast(pa.int64()))
    return rows.fill_null(-1).to_numpy().astype(np.int64)


def _join_rows(left: pa.Table, right: pa.Table) -> tuple[Ints, str]:
    """Matching without ids: by position, or by the pandas index if both tables have it in different order."""
    if left.num_rows != right.num_rows:
        lengths = f"{left.num_rows:,} rows of scores and {right.num_rows:,} of labels"
        shared = "set the shared column with "
        raise ColumnError(f"{lengths} cannot be matched by position; {shared}", Argument("on"))
    first, second = _row_labels(left), _row_labels(right)
    if first is None or second is None or first == second:
        return np.arange(left.num_rows), "position"
    places = {label: row for row, label in enumerate(second)}
    if len(places) < len(second) or set(first) != set(places):
        shared = "scores and labels have a different pandas index: set the shared column with "
        raise ColumnError(shared, Argument("on"), ", or match them by position after reset_index(drop=True)")
    return np.array([places[label] for label in first], np.int64), "row labels"


def _row_labels(table: pa.Table) -> list[tuple[Any, ...]] | None:
    """The pandas index, if the table has one."""
    columns = [table.column(name).to_pylist() for name in sorted(index_columns(table.schema))]
    return list(zip(*columns, strict=True)) if columns else None


def _is_label(kind: pa.DataType) -> bool:
    types = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(is_type(kind) for is_type in types)  # an all-null column may contain labels


def are_flags(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a column holds nothing but flags, in words."""
    try:
        as_flags(as_array(column), "label")
    except InputError:
        return False
    return True


def _is_list(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed and _is_label(kind.value_type))


def _ratings_of(
    table: pa.Table, label: str | None, raters: Sequence[str], others: Collection[str]
) -> tuple[str, dict[str, pa.ChunkedArray]]:
    """The name of the label, excluding the columns ``others``, and a column for each rater, if several."""
    for name in [*raters, *([label] if label is not None else [])]:
        if name not in table.column_names:
            raise UnknownColumnError(f"labels: {UnknownNameError.of('column', name, table.column_names)}")
    if raters:
        return label or "mean of the raters", {name: table.column(name) for name in raters}
    if label is None:
        keys = {*others, ROW, *index_columns(table.schema)}
        free = [field for field in table.schema if not (is_id(field.name) or field.name in keys)]
        fit = [field.name for field in free if _is_label(field.type) or _is_list(field.type)]
        texts = [field.name for field in free if is_text(field.type)] if not fit else []
        fit += [name for name in texts if are_flags(table.column(name))]
        if len(fit) != 1:
            words = [field.name for field in free if is_text(field.type)]
            none = "no column holds numbers, true and false, yes and no, pass and fail"
            none += f": write the words of {', '.join(words)} as one of these pairs" if words else ""
            could = f"; candidates: {', '.join(fit)}" if fit else f"; {none}"
            raise ColumnError("set the column of labels with ", Argument("label"), could)
        label = fit[0]
    column = table.column(label)
    return label, _spread(label, column) if _is_list(column.type) else {}


def _spread(name: str, column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """A column for each position in a column of lists."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    flat = as_numbers(pc.list_flatten(column), name)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    spread = np.full((int(lengths.max(initial=0)), len(lengths)), np.nan)
    spread[places, rows] = flat
    return {f"{name}[{place}]": pa.chunked_array([pa.array(values)]) for place, values in enumerate(spread)}


def _truth_of(table: pa.Table, label: str, ratings: Mapping[str, pa.ChunkedArray]) -> Floats:
    """The labels as numbers, NaN where missing."""
    if label in table.column_names and not _is_list(table.column(label).type):
        columns = {label: table.column(label)}
    else:
        columns = dict(ratings)
    try:
        columns = {name: pa.chunked_array([as_flags(as_array(column, name), name)]) for name, column in columns.items()}
    except InputError as error:
        raise InputError(f"labels, row {error.row}: {error.message}") from None
    for name, column in columns.items():
        if not _is_label(column.type):
            raise ColumnError(f"column {name!r} of the labels holds {column.type}, not numbers or booleans")
    if not columns:
        return np.full(table.num_rows, np.nan)
    stacked = np.stack([as_numbers(column, name) for name, column in columns.items()])
    for name, infinite in zip(columns, np.isinf(stacked), strict=True):
        if infinite.any():
            raise ColumnError(f"column {name!r} of the labels, row {int(infinite.argmax())}: expected a finite label")
    present = ~np.isnan(stacked)
    count = present.sum(axis=0)
    return np.where(count > 0, np.where(present, stacked, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def clusters_of(tables: Mapping[str, pa.Table], name: str | None, rows: Ints) -> Ints | None:
    """The group number of each row of scores, by the column ``name`` of the labels, or of the scores.

    ``rows`` has, for each row of the scores, the row of its labels, or −1, which then is its group, too.  Groups are
    numbered in ascending order.
    """
    if name is None:
        return None
    what = next(what for what, table in tables.items() if name in table.column_names)
    places = rows[rows >= 0] if what == "labels" else np.flatnonzero(rows >= 0)
    groups = np.full(len(rows), -1)
    groups[rows >= 0] = group_numbers(
        as_array(tables[what].column(name), name), f"column {name!r} of the {what}", places
    )
    return groups


def group_numbers(column: pa.Array, name: str, places: Ints | None = None) -> Ints:
    """The number of the group of each row, or of the rows at ``places``, in ascending order of the groups."""
    kind = column.type
    if not (_is_label(kind) or is_text(kind) or pa.types.is_temporal(kind)):
        raise ColumnError(f"{name} holds {kind}, which cannot define groups")
    places = np.arange(len(column)) if places is None else places
    missing = places[column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)[places]]
    if len(missing):
        raise ColumnError(f"{name}, row {int(missing[0])}: the group is null")
    groups = column.cast(pa.large_string() if is_text(kind) else kind).take(pa.array(places))
    return np.asarray(pc.rank(groups, tiebreaker="dense").to_numpy(), np.int64) - 1


def positive_from(truth: Floats) -> float | None:
    """The lowest positive label: 1 for labels 0 and 1; None for grades, of which a sample may have two."""
    return 1.0 if np.isin(truth, (0.0, 1.0)).all() else None
