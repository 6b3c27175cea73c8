"""What a column may hold: kinds, the Arrow types that fit them, and values brought to a type.

A *kind* is what ``fastmetrics.columns`` says of a column (text, texts, ids, id, number, amounts,
numbers, flag, vector), or ``any`` for a column that is only copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.core.arrays import well_formed
from fastmetrics.errors import ColumnError
from fastmetrics.errors.messages import shown


@dataclass(frozen=True)
class Selection:
    """The columns to read, under the user's names: the type each batch gives them, and their kinds."""

    schema: pa.Schema
    kinds: Mapping[str, str]

    def widen(self, name: str, type_: pa.DataType) -> Selection:
        """The same selection with one column of another type."""
        at = self.schema.get_field_index(name)
        return replace(self, schema=self.schema.set(at, pa.field(name, type_)))

    def without(self, names: Collection[str]) -> Selection:
        """The same selection but for some columns."""
        return replace(self, schema=pa.schema([field for field in self.schema if field.name not in names]))


class Widened(Exception):  # noqa: N818 - a signal, not an error: reading starts again with a wider type
    """A column turned out to need a wider type than its first rows showed."""

    def __init__(self, name: str, type_: pa.DataType) -> None:
        super().__init__(f"column {name!r} needs {type_}")
        self.name = name
        self.type = type_

    def __reduce__(self) -> tuple[type[Widened], tuple[str, pa.DataType]]:
        return Widened, (self.name, self.type)


class WrongValueError(ValueError):
    """One value that its column cannot hold; the text says what was expected."""


class WiderTypeError(ValueError):
    """One value that its column could hold if it had the type ``type``."""

    def __init__(self, type_: pa.DataType) -> None:
        super().__init__(str(type_))
        self.type = type_


def is_text(type_: pa.DataType) -> bool:
    """Whether the type holds strings, in whichever layout."""
    if pt.is_dictionary(type_):
        return is_text(type_.value_type)
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_))


def is_list(type_: pa.DataType) -> bool:
    """Whether the type holds lists, in whichever layout."""
    return bool(pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_))


def is_list_view(type_: pa.DataType) -> bool:
    """Whether the type holds lists that may lie in any order."""
    return bool(pt.is_list_view(type_) or pt.is_large_list_view(type_))


def as_lists(array: pa.Array) -> pa.Array:
    """An array of lists of any layout as one whose lists follow each other; Arrow's own cast of views is broken."""
    ends = np.concatenate([[0], np.cumsum(np.asarray(array.value_lengths().fill_null(0)))])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), array.flatten(), mask=mask)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_))


def _list_of(test: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda type_: is_list(type_) and (pt.is_null(type_.value_type) or test(type_.value_type))


def _is_id(type_: pa.DataType) -> bool:
    return is_text(type_) or bool(pt.is_integer(type_))


_FITS: Mapping[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "text": ("strings", is_text),
    "texts": ("strings or lists of strings", lambda type_: is_text(type_) or _list_of(is_text)(type_)),
    "ids": ("lists of strings or of whole numbers", _list_of(_is_id)),
    "id": ("strings or whole numbers", _is_id),
    "number": ("numbers", _is_number),
    "amounts": ("numbers or lists of numbers", lambda type_: _is_number(type_) or _list_of(_is_number)(type_)),
    "numbers": ("lists of numbers", _list_of(_is_number)),
    "flag": ("true or false", lambda type_: bool(pt.is_boolean(type_) or pt.is_integer(type_))),
    "vector": ("lists of numbers", _list_of(_is_number)),
    "any": ("anything but unions", lambda type_: not pt.is_union(type_)),
}

_ELEMENT = {"texts": "text", "ids": "id", "amounts": "number", "numbers": "number", "vector": "number", "any": "any"}


def check(path: str, name: str, kind: str, type_: pa.DataType) -> None:
    """Raise ``ColumnError`` unless a column of this type can be of this kind."""
    expected, fits = _FITS[kind]
    if not (pt.is_null(type_) or fits(plain(type_))):
        raise ColumnError(f"{path}: column {name!r} holds {type_}; expected {expected}")


def plain(type_: pa.DataType) -> pa.DataType:
    """The type with dictionaries, runs and views replaced by what they stand for."""
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return plain(type_.value_type)
    if pt.is_string_view(type_):
        return pa.string()
    if pt.is_binary_view(type_):
        return pa.binary()
    if is_list_view(type_) or (is_list(type_) and plain(type_.value_type) != type_.value_type):
        return pa.list_(plain(type_.value_type))
    return type_


def unify(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that holds both, or None: nulls, strings of any layout, numbers, and lists of those mix."""
    first, second = plain(first), plain(second)
    if first == second or pt.is_null(second):
        return first
    if pt.is_null(first):
        return second
    if is_text(first) and is_text(second):
        return pa.large_string()
    if pt.is_integer(first) and pt.is_integer(second):
        return pa.int64()
    if _is_number(first) and _is_number(second):
        return pa.float64()
    if is_list(first) and is_list(second):
        inner = unify(first.value_type, second.value_type)
        return None if inner is None else pa.list_(inner)
    return None


def settle(kind: str, inferred: pa.DataType | None) -> pa.DataType:
    """The type in which a column of this kind is read from text, given what its first rows look like."""
    listed = inferred is not None and is_list(inferred)
    whole = inferred is not None and pt.is_integer(inferred.value_type if listed else inferred)
    if kind == "text":
        return pa.string()
    if kind == "texts":
        return pa.list_(pa.string()) if listed else pa.string()
    if kind == "id":
        return pa.int64() if whole else pa.string()
    if kind == "ids":
        return pa.list_(pa.int64() if whole and listed else pa.string())
    if kind == "number":
        return pa.float64()
    if kind == "amounts":
        return pa.list_(pa.float64()) if listed else pa.float64()
    if kind in ("numbers", "vector"):
        return pa.list_(pa.float64())
    if kind == "flag":
        return pa.bool_()
    return _written(inferred)


def _written(type_: pa.DataType | None) -> pa.DataType:
    """The inferred type, with times left as the text that they were."""
    if type_ is None or pt.is_null(type_) or pt.is_temporal(type_):
        return pa.string()
    if is_list(type_):
        return pa.list_(_written(type_.value_type))
    if pt.is_struct(type_):
        return pa.struct([pa.field(field.name, _written(field.type)) for field in type_])
    return type_


def coerce(value: Any, type_: pa.DataType, kind: str) -> Any:
    """A JSON value as its column holds it.

    A whole number among string ids becomes a string; a string among lists of texts becomes a list of one; 0 and 1
    are flags. Raises ``WrongValueError``, or ``WiderTypeError`` where a wider column type would do.
    """
    if value is None:
        return None
    if is_list(type_):
        return _coerce_list(value, type_, kind)
    if pt.is_string(type_):
        return _coerce_text(value, kind)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if pt.is_integer(type_) and number and isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if pt.is_floating(type_) and number:
        return _as_float(value)
    if pt.is_boolean(type_) and (isinstance(value, bool) or (kind == "flag" and number and value in (0, 1))):
        return bool(value)
    if kind == "amounts" and isinstance(value, list):
        raise WiderTypeError(pa.list_(pa.float64()))
    if kind == "id" and (isinstance(value, str) or (number and isinstance(value, int))):
        raise WiderTypeError(pa.string())
    if kind == "any":
        if pt.is_struct(type_) and isinstance(value, dict):
            return {field.name: coerce(value.get(field.name), field.type, "any") for field in type_}
        raise WiderTypeError(pa.float64() if pt.is_integer(type_) and isinstance(value, float) else pa.string())
    raise WrongValueError(f"expected {_EXPECTED[kind]}, got {describe(value)}")


_EXPECTED = {
    "text": "a string",
    "texts": "a string or a list of strings",
    "ids": "a list of ids",
    "id": "a string or a whole number",
    "number": "a number",
    "amounts": "a number or a list of numbers",
    "numbers": "a list of numbers",
    "flag": "true or false",
    "vector": "a list of numbers",
}


def _coerce_list(value: Any, type_: pa.DataType, kind: str) -> Any:
    if (isinstance(value, str) and kind == "texts") or (isinstance(value, int | float) and kind == "amounts"):
        value = [value]
    if not isinstance(value, list):
        if kind == "any":
            raise WiderTypeError(pa.string())
        raise WrongValueError(f"expected {_EXPECTED[kind]}, got {describe(value)}")
    try:
        return [coerce(item, type_.value_type, _ELEMENT[kind]) for item in value]
    except WiderTypeError as wider:
        raise WiderTypeError(pa.string() if kind == "any" else pa.list_(wider.type)) from None


def _coerce_text(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return well_formed(value)
    if kind == "texts" and isinstance(value, list):
        raise WiderTypeError(pa.list_(pa.string()))
    if kind == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "any":
        return _coerce_text(json.dumps(value, ensure_ascii=False), kind)
    raise WrongValueError(f"expected {_EXPECTED[kind]}, got {describe(value)}")


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise WrongValueError(f"expected a number, got a whole number of {len(str(value))} digits") from None


def describe(value: Any) -> str:
    """A JSON value in a few words, for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        told = shown(value)
        return told if told.startswith("a ") else f"the number {told}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"
