"""Ratings of the same units by several raters: columns of any table, as positions on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import doubles, narrowest
from fastmetrics.base.arrow import is_number, is_text
from fastmetrics.base.columns import as_array, as_arrow
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError, UnknownNameError
from fastmetrics.base.frames import index_columns, open_frame
from fastmetrics.base.input_columns import is_id, listed


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings on one scale; ``codes`` (units × raters) are ascending positions on it, −1 for none."""

    names: Sequence[str]
    codes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    """The number at each position; None for words."""
    scaled: bool
    """Whether an ordered scale was given; otherwise it consists of the sorted ratings that occur."""

    @property
    def ordered(self) -> bool:
        """Whether ratings are ordered; words need a given scale."""
        return self.scaled or self.values is not None


def read_ratings(
    ratings: Any, order: Sequence[Any] | None = None, raters: Sequence[str] | str | None = None
) -> Ratings:
    """The ratings in the columns of a table, or in a sequence of columns or an array of raters × units.

    The raters are the columns ``raters`` of a table, by default all but ``id`` and the pandas index.  ``order`` is the
    scale from the lowest to the highest rating; by default it comes from ordered categories, if the columns have them.
    """
    arrays = _columns(ratings, raters)
    if not arrays:
        raise InputError("expected ratings, one column for each rater")
    narrow = narrowest([array.type for array in arrays.values()])
    columns = [_plain(name, array, narrow) for name, array in arrays.items()]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"expected columns of equal length, one row per unit; their lengths are {lengths}")
    kinds = {column.type for column in columns if not pa.types.is_null(column.type)} or {pa.float64()}
    if len(kinds) != 1:
        raise ColumnError(
            "the ratings mix numbers and words; expected one of them; choose the columns of raters with ",
            Argument("raters"),
        )
    kind = kinds.pop()
    flat = pa.concat_arrays([column.cast(kind) for column in columns])
    scale = _ordered(arrays) if order is None else order
    categories = _distinct(flat) if scale is None else _scale(scale, kind)
    places = pc.index_in(flat, categories, skip_nulls=True)
    lacking = flat.filter(pc.and_(places.is_null(), flat.is_valid()))
    if len(lacking):
        raise OptionError(Argument("order", categories.to_pylist()), f": it lacks the rating {lacking[0].as_py()!r}")
    codes = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values = categories.to_numpy(zero_copy_only=False) if kind == pa.float64() else None
    return Ratings(list(arrays), codes.reshape(len(columns), -1).T, values, scale is not None)


def _columns(ratings: Any, raters: Sequence[str] | str | None) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The raters' columns by name; those of a plain sequence are named by position."""
    first = ratings[0] if isinstance(ratings, list | tuple) and ratings else ratings
    if not isinstance(first, Mapping) and not any(hasattr(type(first), name) for name in ("schema", "columns")):
        if raters is not None:
            raise OptionError(Argument("raters", raters), ": needs a table with named columns")
        return {f"ratings[{place}]": as_arrow(column, f"ratings[{place}]") for place, column in enumerate(ratings)}
    frame = open_frame(ratings)
    names = frame.names if raters is None else listed(raters)
    for name in names:
        if name not in frame.names:
            raise ColumnError(f"raters: {UnknownNameError.of('column', name, frame.names)}")
    if raters is None:
        names = [name for name in names if not is_id(name)]
    schema, pieces = frame.read(names)
    table = pa.concat_tables(pieces, promote_options="permissive")
    return {name: table.column(name) for name in names if raters is not None or name not in index_columns(schema)}


def _plain(name: str, column: pa.Array | pa.ChunkedArray, narrow: type[np.floating] | None = None) -> pa.Array:
    """A rater's column as numbers (float64, with the precision of a narrower type) or words, null without a rating."""
    array = as_array(column, name)
    kind = array.type
    if pa.types.is_null(kind):
        return array
    if is_number(kind) or pa.types.is_boolean(kind):
        array = doubles(array)
        if narrow is not None and pa.types.is_floating(kind):
            array = array.cast(pa.from_numpy_dtype(narrow), safe=False).cast(pa.float64())
        return pc.if_else(pc.is_nan(array), None, array)
    if is_text(kind):
        return array.cast(pa.string())
    raise ColumnError(f"column {name!r}: expected ratings as numbers or words, got {array.type}")


def _distinct(flat: pa.Array) -> pa.Array:
    return pa.array(np.unique(flat.drop_null().to_numpy(zero_copy_only=False)), flat.type)


def _scale(order: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A given order, in the type of the ratings."""
    if isinstance(order, str) or not len(order) or len(set(order)) < len(order):
        raise OptionError(Argument("order", order), ": expected a list of all ratings, from the lowest to the highest")
    scale = _plain("order", as_arrow(order, "order"))
    if scale.type != kind or scale.null_count:
        expected = "words" if is_text(kind) else "numbers"
        raise OptionError(Argument("order", order), f": expected {expected}, as the ratings are")
    return scale


def _ordered(arrays: Mapping[str, pa.Array | pa.ChunkedArray]) -> list[Any] | None:
    """The order of ordered categories of pandas and Polars."""
    first, *others = [_categories(array) for array in arrays.values()]
    if first is None or any(other != first for other in others):
        return None
    return first


def _categories(array: pa.Array | pa.ChunkedArray) -> list[Any] | None:
    if not (pa.types.is_dictionary(array.type) and array.type.ordered):
        return None
    chunk = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    return list(chunk.dictionary.to_pylist())
