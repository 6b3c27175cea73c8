"""People's labels: found in a table, matched to scores, and made numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.errors import ColumnError, InputError, UnknownNameError
from fastmetrics.frames import index_columns
from fastmetrics.messages import Argument
from fastmetrics.stats.parts import Scores
from fastmetrics.stats.ratings import is_text


def label_table(labels: Any) -> pa.Table:
    """Labels in any form as a table; a mere sequence becomes its column ``label``."""
    if len(getattr(labels, "shape", ())) == 1:  # an array of NumPy, a series of pandas or Polars
        labels = pa.array(labels, from_pandas=True)
    first = labels[0] if isinstance(labels, Sequence) and len(labels) else None
    flat = isinstance(labels, pa.Array | pa.ChunkedArray | Sequence) and not isinstance(
        first, pa.Table | pa.RecordBatch
    )
    return Scores.of({"label": labels} if flat else labels).table()


def join(left: pa.Table, right: pa.Table, on: str | None) -> tuple[NDArray[np.int64], str]:
    """For each row of the scores the row of its labels, or −1; and what they were matched by."""
    if on is None and "id" in left.column_names and "id" in right.column_names:
        on = "id"
    if on is None:
        if left.num_rows != right.num_rows:
            lengths = f"{left.num_rows:,} rows of scores and {right.num_rows:,} of labels"
            shared = "name the column that both share with "
            raise ColumnError(f"{lengths} cannot be matched by position; {shared}", Argument("on"))
        return np.arange(left.num_rows), "position"
    keys = []
    for what, table in (("scores", left), ("labels", right)):
        if on not in table.column_names:
            raise ColumnError(f"the {what} have no column {on!r} to be matched by")
        key = table.column(on)
        if not (pa.types.is_integer(key.type) or is_text(key.type)):
            raise ColumnError(f"column {on!r} of the {what} holds {key.type}, not ids (text or integers)")
        key = key.cast(pa.string())
        counts = pc.value_counts(key.combine_chunks().drop_null())
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            first = twice[0]["values"].as_py()
            raise InputError(f"column {on!r} of the {what}: an id may occur once, but {first!r} occurs again")
        keys.append(key)
    rows = pc.index_in(keys[0], keys[1].combine_chunks(), skip_nulls=True)
    if rows.null_count == len(rows) > 0 and len(keys[1]):
        first, other = (next((one for one in key.to_pylist() if one is not None), None) for key in keys)
        raise InputError(f"scores and labels share no {on!r}: the scores have {first!r}, the labels {other!r}")
    return rows.fill_null(-1).to_numpy().astype(np.int64), on


def _is_label(kind: pa.DataType) -> bool:
    types = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return any(one(kind) for one in types)  # a column without a value may be one of labels


def _is_list(kind: pa.DataType) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed and _is_label(kind.value_type))


def ratings_of(
    table: pa.Table, label: str | None, raters: Sequence[str], joined_by: str
) -> tuple[str, dict[str, pa.ChunkedArray]]:
    """The name of the label, and a column for each rater, if there are several."""
    for name in [*raters, *([label] if label is not None else [])]:
        if name not in table.column_names:
            raise ColumnError(f"labels: {UnknownNameError.of('column', name, table.column_names)}")
    if raters:
        return label or "mean of the raters", {name: table.column(name) for name in raters}
    if label is None:
        keys = {"id", joined_by, *index_columns(table.schema)}
        fit = [f.name for f in table.schema if f.name not in keys and (_is_label(f.type) or _is_list(f.type))]
        if len(fit) != 1:
            could = f"; it could be one of {', '.join(fit) or 'none'}"
            raise ColumnError("name the column of labels with ", Argument("label"), could)
        label = fit[0]
    column = table.column(label)
    return label, _spread(label, column) if _is_list(column.type) else {}


def _spread(name: str, column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """A column for each place of a column of lists."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    flat = numbers(pc.list_flatten(column))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    spread = np.full((int(lengths.max(initial=0)), len(lengths)), np.nan)
    spread[places, rows] = flat
    return {f"{name}[{place}]": pa.chunked_array([pa.array(one)]) for place, one in enumerate(spread)}


def truth_of(table: pa.Table, label: str, ratings: Mapping[str, pa.ChunkedArray]) -> NDArray[np.float64]:
    """The labels as numbers, NaN where missing."""
    if label in table.column_names and not _is_list(table.column(label).type):
        columns = {label: table.column(label)}
    else:
        columns = dict(ratings)
    for name, column in columns.items():
        if not _is_label(column.type):
            raise ColumnError(f"column {name!r} of the labels holds {column.type}, not numbers or truth values")
    if not columns:
        return np.full(table.num_rows, np.nan)
    stacked = np.stack([numbers(column) for column in columns.values()])
    for name, infinite in zip(columns, np.isinf(stacked), strict=True):
        if infinite.any():
            raise ColumnError(f"column {name!r} of the labels, row {int(infinite.argmax())}: a label is not infinite")
    given = ~np.isnan(stacked)
    count = given.sum(axis=0)
    return np.where(count > 0, np.where(given, stacked, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column of numbers or truth values as float64, NaN for null."""
    kind = column.type
    column = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def positive_from(truth: NDArray[np.float64]) -> float | None:
    """The least label that counts as positive: 1 of 0 and 1, the higher one of two; None for graded labels."""
    distinct = np.unique(truth)
    if np.isin(distinct, (0.0, 1.0)).all():
        return 1.0
    return float(distinct[1]) if len(distinct) == 2 else None
