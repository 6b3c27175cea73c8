"""Columns as plain Python values or Arrow arrays for custom metrics, and row-by-row calls."""

from __future__ import annotations

import functools
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats
from fastmetrics.base.arrow import decoded
from fastmetrics.base.errors import PluginError, shown
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.base.options import Allowed, LimitedText, Real, Whole, of_hint
from fastmetrics.declaration.batch import Batch, Options

VALUES = (str, float, int, bool, list)
"""The annotations of a function of one row; a list may have an item type: ``list[str]``."""

_LARGEST = float(np.finfo(np.float64).max)
_OPTIONS: dict[Any, Allowed] = {int: Whole(-(2**63), 2**63 - 1), float: Real(-_LARGEST, _LARGEST), str: LimitedText()}


@dataclass(frozen=True)
class ValuesIn:
    """One Python value per row, None for null; with ``lists``, the whole list of a row."""

    lists: bool

    def of(self, batch: Batch, column: str, options: Options) -> NDArray[np.object_]:
        """The column's values, or, in a column of lists read item by item, the value of each item."""
        return batch.remember(("values", column, self.lists), lambda: _objects(self._values(batch, column)))

    def _values(self, batch: Batch, column: str) -> list[Any]:
        kind = COLUMNS[column].kind
        if self.lists:
            lists: list[Any] = batch.columns[column].to_pylist()
            return [value if value is None or isinstance(value, list) else [value] for value in lists]
        if kind in ("text", "texts"):
            text = batch.text(column)
            strings: list[Any] = text.strings()
            return strings if text.groups is not None else _nulls(strings, text.valid.tolist())
        if kind in ("number", "amounts", "flag"):
            numbers = batch.numbers(column).values.tolist()
            return _nulls(numbers, batch.present(column).tolist())
        return list(batch.columns[column].to_pylist())


@dataclass(frozen=True)
class ArrowIn:
    """The column as an Arrow array; for ``reference``, the strings of all lists in sequence."""

    def of(self, batch: Batch, column: str, options: Options) -> pa.Array:
        """The array with dictionaries decoded."""

        def make() -> pa.Array:
            if column == "reference" and batch.owners(column) is not None:
                return pa.array(batch.text(column).strings(), pa.string())
            return decoded(batch.columns[column])

        return batch.remember(("arrow", column), make)


def need_of(hint: Any, column: str) -> ValuesIn | ArrowIn | None:
    """The representation of a plain annotation (``str``, ``float``, ``int``, ``bool``, ``list[...]``, ``pa.Array``)."""
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    plain = hint if typing.get_origin(hint) is list else kinds[0]
    if isinstance(plain, type) and issubclass(plain, pa.Array):
        return ArrowIn()
    lists = plain is list or typing.get_origin(plain) is list
    if not lists and plain not in VALUES:
        return None
    if (
        COLUMNS[column].kind != "any"
        and lists != (COLUMNS[column].kind in ("texts", "ids", "numbers", "vector", "vectors"))
        and column != "reference"
    ):
        expected = "a list" if not lists else "one value a row"
        raise TypeError(f"{column}: the annotation {plain} does not match the column, which holds {expected}")
    return ValuesIn(lists)


def option_of(hint: Any) -> Allowed:
    """The allowed values of an option's annotation; ``int``, ``float`` and ``str`` allow all values of the type."""
    kind, *metadata = typing.get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if kind in (int, float, str) and not any(hasattr(entry, "take") for entry in metadata):
        return _OPTIONS[kind]
    return of_hint(hint)


def by_row(function: Callable[..., Any], required: Sequence[str], bounds: tuple[float, float]) -> Callable[..., Floats]:
    """The function called once per row with the row's values, at Python speed; incomplete rows give NaN."""

    @functools.wraps(function)
    def rows(**arguments: Any) -> Floats:
        columns = {name: values for name, values in arguments.items() if isinstance(values, np.ndarray)}
        options = {name: value for name, value in arguments.items() if name not in columns}
        scores = np.full(len(next(iter(columns.values()))), np.nan)
        for at in range(len(scores)):
            row = {name: values[at] for name, values in columns.items()}
            if all(row[name] is not None for name in required):
                scores[at] = _score(function, row, options, bounds)
        return scores

    return rows


def by_array(function: Callable[..., Any], bounds: tuple[float, float]) -> Callable[..., Floats]:
    """The function called with whole columns; its result must be one number per row within the bounds."""

    @functools.wraps(function)
    def whole(**arguments: Any) -> Floats:
        rows = len(next(value for value in arguments.values() if isinstance(value, pa.Array | np.ndarray)))
        returned = function(**arguments)
        try:
            scores = np.asarray(returned, np.float64)
        except (TypeError, ValueError) as error:
            message = f"metric {function.__name__}: expected one number per row, got {shown(returned)}"
            raise PluginError(message) from error
        if scores.shape != (rows,):
            raise PluginError(f"metric {function.__name__}: expected {rows:,} scores, got an array of {scores.shape}")
        low, high = bounds
        outside = np.flatnonzero((scores < low) | (scores > high))
        if len(outside):
            raise PluginError(_outside(function, scores[outside[0]], bounds))
        return scores

    return whole


def _score(function: Callable[..., Any], row: dict[str, Any], options: dict[str, Any], bounds: Any) -> float:
    """The score of one row; raises a ``PluginError`` that shows the row if the result is not a score."""
    inputs = ", ".join(f"{name}={shown(value)}" for name, value in row.items())
    try:
        score = function(**row, **options)
    except Exception as error:
        raise PluginError(f"metric {function.__name__} of {inputs}: {type(error).__name__}: {error}") from error
    if score is None:
        return math.nan
    if not isinstance(score, int | float | np.number | np.bool_):
        raise PluginError(f"metric {function.__name__} of {inputs}: expected a number or None, got {shown(score)}")
    if score < bounds[0] or score > bounds[1]:
        raise PluginError(f"{_outside(function, score, bounds)}, of {inputs}")
    return float(score)


def _outside(function: Callable[..., Any], score: Any, bounds: tuple[float, float]) -> str:
    return f"metric {function.__name__}: the score {score:g} is outside its bounds, {bounds[0]:g} to {bounds[1]:g}"


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _nulls(values: list[Any], present: list[bool]) -> list[Any]:
    return [value if is_present else None for value, is_present in zip(values, present, strict=True)]
