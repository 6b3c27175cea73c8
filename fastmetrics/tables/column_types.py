"""Columns of files: selection, and conversion of types and values to those of the column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_number, is_text, plain, plain_array, well_formed
from fastmetrics.base.errors import shown
from fastmetrics.base.paths import Path, spelled, text_within, type_of
from fastmetrics.base.text_structure import FLAGS, flag_of, is_value, number_text, of_likelihoods

T = TypeVar("T")
WrongCells: TypeAlias = dict[int, tuple[str | None, str]]
"""The bad rows of a batch, each with its column, if it is one, and the reason."""


@dataclass(frozen=True)
class Selection:
    """The columns to read, under the user's names, with the type in each batch and the kind."""

    schema: pa.Schema
    kinds: Mapping[str, str]
    paths: Mapping[str, Path] = field(default_factory=dict)
    """The paths among the names."""

    def roots(self, schema: pa.Schema) -> Selection:
        """The columns of a file with ``schema`` that the selected ones are or are within."""
        types: dict[str, pa.DataType] = {}
        for chosen in self.schema:
            if chosen.name not in self.paths:
                types[chosen.name] = chosen.type
        for path in self.paths.values():
            for name in path.columns(schema.names):
                types.setdefault(name, plain(schema.field(name).type))
        return Selection(pa.schema(list(types.items())), {name: self.kinds.get(name, "any") for name in types})

    def to_kind(self, name: str, items: Iterable[T], convert: Callable[[T], Any], wrong: WrongCells) -> pa.Array:
        """The column of the values that ``convert`` makes of the items, in its type.

        What it refuses by a ``ValueError`` is null, and added to ``wrong``.  Raises ``Widened`` for a value that needs
        a wider type.
        """
        values: list[Any] = []
        for place, item in enumerate(items):
            value = None
            try:
                value = convert(item)
            except Widened as wider:
                raise Widened(wider.type, name) from None
            except ValueError as error:
                wrong.setdefault(place, (name, str(error)))
            values.append(value)
        return pa.array(values, self.schema.field(name).type)

    def of_records(self, name: str, records: Iterable[Mapping[str, Any]], wrong: WrongCells) -> pa.Array:
        """The column of records of parsed JSON, or of texts of JSON, as by :meth:`to_kind`."""
        type_, kind, path = self.schema.field(name).type, self.kinds[name], self.paths.get(name)

        def converted(record: Mapping[str, Any]) -> Any:
            value = record.get(name) if path is None else path.value(record)
            try:
                return coerce(value, type_, kind)
            except ValueError as error:
                within = text_within(type_of(value)) if kind in _OF_TEXTS else None
                if within is None:
                    raise
                place = f"{spelled((name,)) if path is None else name}{within}"
                raise WrongValueError(f"{error}; columns (--columns) can name a path within, as {place}") from None

        return self.to_kind(name, records, converted, wrong)

    def settled(self, read: Callable[[Selection], T]) -> T:
        """What ``read`` makes of the columns; it starts again with a wider type where a later row needs one."""
        selection = self
        while True:
            try:
                return read(selection)
            except Widened as wider:
                selection = selection.widen(wider.name, wider.type)

    def widen(self, name: str, type_: pa.DataType) -> Selection:
        """The same selection with one column of another type."""
        at = self.schema.get_field_index(name)
        return replace(self, schema=self.schema.set(at, pa.field(name, type_)))

    def without(self, names: Collection[str]) -> Selection:
        """The same selection without some columns."""
        return replace(self, schema=pa.schema([field for field in self.schema if field.name not in names]))


_OF_TEXTS = ("text", "texts", "value", "values")
"""The kinds of columns of text."""


class Widened(Exception):  # noqa: N818 - a signal, not an error: reading starts again with a wider type
    """A column needs a wider type than its first rows."""

    def __init__(self, type_: pa.DataType, name: str = "") -> None:
        super().__init__(f"column {name!r} needs {type_}")
        self.name = name
        self.type = type_


class WrongValueError(ValueError):
    """A value that its column cannot contain; the text says what was expected."""


def entries_type(type_: pa.MapType) -> pa.ListType:
    """The type of a map's entries as a list of structs."""
    return pa.list_(pa.struct([pa.field("key", type_.key_type, nullable=False), pa.field("value", type_.item_type)]))


def fields_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The paths of all fields of a schema with their types, as an outline of JSON has them.

    >>> list(fields_of(pa.schema({"id": pa.int64(), "docs": pa.list_(pa.struct({"text": pa.string()}))})))
    ['id', 'docs', 'docs[].text']
    """
    paths: dict[str, pa.DataType] = {}

    def add(path: str, type_: pa.DataType) -> None:
        while pt.is_nested(type_) and is_list(type_):
            path, type_ = f"{path}[]", type_.value_type
        for inner in type_ if pt.is_struct(type_) else ():
            paths[f"{path}.{inner.name}"] = inner.type
            add(f"{path}.{inner.name}", inner.type)

    for column in schema:
        paths[column.name] = column.type
        add(column.name, column.type)
    return paths


def unify(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The common type, or None: nulls, strings of any layout, numbers, and lists of those can be combined."""
    first, second = plain(first), plain(second)
    if first == second or pt.is_null(second):
        return first
    if pt.is_null(first):
        return second
    if is_text(first) and is_text(second):
        return pa.large_string()
    if pt.is_integer(first) and pt.is_integer(second):
        return pa.int64()
    if is_number(first) and is_number(second):
        return pa.float64()
    if is_list(first) and is_list(second):
        inner = unify(first.value_type, second.value_type)
        return None if inner is None else pa.list_(inner)
    return None


def loose(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """The type of a column of text files that disagree: lists take precedence over scalars, text over the rest."""
    return next((type_ for type_ in (first, second) if is_list(type_)), pa.string())


def key_types(keys: Iterable[Mapping[str, str | None]]) -> dict[str, pa.DataType]:
    """The types of the keys of hive folders: integers if all values of a key are, else strings."""
    values: dict[str, list[str]] = {}
    for of_file in keys:
        for key, value in of_file.items():
            values.setdefault(key, []).extend([] if value is None else [value])
    whole = re.compile(r"0|-?[1-9][0-9]{0,17}")
    return {key: pa.int64() if all(map(whole.fullmatch, some)) else pa.string() for key, some in values.items()}


def cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """An array of any layout converted to the type, which is of the same kind."""
    if array.type == type_:
        return array
    array = plain_array(array)
    return array if array.type == type_ else array.cast(type_)


def settle(kind: str, inferred: pa.DataType | None) -> pa.DataType:
    """The type for reading a column of this kind from text, given its first rows."""
    inferred = pa.null() if inferred is None else inferred
    listed = is_list(inferred)
    item = inferred.value_type if listed else inferred
    inner = item.value_type if is_list(item) else item
    if kind == "choices":
        kind = "any" if pt.is_struct(item) else "values"
    if kind in ("value", "values") and is_value(item):
        return inferred
    text, number, id_ = pa.string(), pa.float64(), pa.int64() if pt.is_integer(inner) else pa.string()
    several = pa.list_(text) if listed else text
    types = {
        **dict.fromkeys(("text", "json"), text),
        **dict.fromkeys(("value", "values", "texts"), several),
        "jsons": several if is_text(item) else text,
        "id": id_ if inner is item else text,
        "ids": pa.list_(id_ if listed and inner is item else text),
        "id_groups": pa.list_((pa.list_(id_) if is_list(item) else id_) if listed else text),
        "number": number,
        "amounts": pa.list_(number) if listed else number,
        **dict.fromkeys(("numbers", "vector"), pa.list_(number)),
        "vectors": pa.list_(number if listed and inner is item else pa.list_(number)),
        "flag": pa.bool_(),
    }
    return types.get(kind) or _written(inferred)


def _written(type_: pa.DataType) -> pa.DataType:
    """The inferred type, with times as their original text."""
    if pt.is_null(type_) or pt.is_temporal(type_):
        return pa.string()
    if is_list(type_):
        return pa.list_(_written(type_.value_type))
    if pt.is_struct(type_):
        return pa.struct([pa.field(field.name, _written(field.type)) for field in type_])
    return type_


def coerce(value: Any, type_: pa.DataType, kind: str) -> Any:
    """A JSON value converted to the type of its column.

    An integer among string ids becomes a string, a string of digits a number; a string among lists of texts becomes a
    list of one; 0 and 1 are flags.  Raises ``WrongValueError``, or ``Widened`` if a wider column type would fit.
    """
    if value is None:
        return None
    if kind == "choices":
        return coerce(value, type_, "any" if pt.is_struct(type_.value_type if is_list(type_) else type_) else "values")
    if is_list(type_):
        return _coerce_list(value, type_, kind)
    if is_text(type_):
        return _coerce_text(value, kind)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if pt.is_integer(type_) and number and isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if pt.is_floating(type_) and number:
        return _as_float(value)
    if pt.is_floating(type_) and isinstance(value, str) and _NUMERAL.fullmatch(value):  # as OTLP writes whole numbers
        return float(value)
    if pt.is_boolean(type_) and (isinstance(value, bool) or (kind == "flag" and number and value in (0, 1))):
        return bool(value)
    if kind == "flag" and isinstance(value, str):
        return flag_of(value) if value.strip() else None
    if kind == "amounts" and isinstance(value, list):
        raise Widened(pa.list_(pa.float64()))
    if kind in ("value", "values") and isinstance(value, str | list | int | float):
        raise Widened(pa.list_(pa.string()) if isinstance(value, list) else pa.string())
    if kind == "id" and (isinstance(value, str) or (number and isinstance(value, int))):
        raise Widened(pa.string())
    if kind == "any":
        if pt.is_struct(type_) and isinstance(value, dict):
            return {field.name: coerce(value.get(field.name), field.type, "any") for field in type_}
        raise Widened(pa.float64() if pt.is_integer(type_) and isinstance(value, float) else pa.string())
    raise _unfit(value, kind)


_NUMERAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_KINDS = {
    "text": ("a string", ""),
    "texts": ("a string or a list of strings", "text"),
    "value": ("a string", "value"),
    "values": ("a string or a list of strings", "value"),
    "any": ("any value", "any"),
    "jsons": ("any value", "json"),
    "ids": ("a list of texts or whole numbers", "id"),
    "id_groups": ("a list of texts or whole numbers, or a list of such lists", "id"),
    "id": ("a string or a whole number", ""),
    "number": ("a number", ""),
    "amounts": ("a number or a list of numbers", "number"),
    "numbers": ("a list of numbers", "number"),
    "flag": (FLAGS, ""),
    "vector": ("a list of numbers", "number"),
    "vectors": ("a list of numbers, or a list of such lists", "vector"),
}
"""What a value of each kind is, for messages, and the kind of the items of a list."""


def _unfit(value: Any, kind: str) -> WrongValueError:
    likely = of_likelihoods(value)
    return WrongValueError(f"expected {_KINDS[kind][0]}, got {describe(value)}{likely and f' of {likely}'}")


def _coerce_list(value: Any, type_: pa.DataType, kind: str) -> Any:
    if kind == "vectors" and not is_list(type_.value_type):
        if isinstance(value, list) and any(isinstance(item, list) for item in value):
            raise Widened(pa.list_(type_))
        return _coerce_list(value, type_, "vector")
    if kind == "id_groups" and isinstance(value, list):
        if is_list(type_.value_type):  # a plain list: each id is a group of its own
            return [_coerce_list(item if isinstance(item, list) else [item], type_.value_type, "ids") for item in value]
        if any(isinstance(item, list) for item in value):
            raise Widened(pa.list_(type_))
    if kind == "jsons" and not _is_texts(value):
        return [_coerce_text(value, "json")]
    if kind in ("value", "values") and isinstance(value, list) and any(isinstance(item, list) for item in value):
        raise _unfit(value, kind)
    if _is_single(value, kind):
        value = [value]
    if not isinstance(value, list):
        if kind == "any":
            raise Widened(pa.string())
        raise _unfit(value, kind)
    try:
        return [coerce(item, type_.value_type, _KINDS[kind][1]) for item in value]
    except Widened as wider:
        raise Widened(pa.string() if kind == "any" else pa.list_(wider.type)) from None


def _is_single(value: Any, kind: str) -> bool:
    """Whether a value is an item of a column of this kind, which also holds lists of such items."""
    if kind == "vectors":
        return isinstance(value, list) and any(isinstance(item, int | float) for item in value)
    if kind in ("value", "values"):
        return isinstance(value, str | int | float)
    return (isinstance(value, str) and kind == "texts") or (isinstance(value, int | float) and kind == "amounts")


def _is_texts(value: Any) -> bool:
    """Whether a value is a list of texts: of a column of JSON, several texts of JSON."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(item, str) for item in value)


def _coerce_text(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return well_formed(value)
    if kind == "jsons" and _is_texts(value):
        raise Widened(pa.list_(pa.string()))
    if kind in ("texts", "value", "values") and isinstance(value, list):
        raise Widened(pa.list_(pa.string()))
    if kind in ("value", "values") and isinstance(value, int | float):
        return number_text(value)
    if kind == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind in ("any", "json", "jsons"):
        return _coerce_text(json.dumps(value, ensure_ascii=False), kind)
    raise _unfit(value, kind)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise WrongValueError(f"expected a number, got a whole number of {len(str(value))} digits") from None


def describe(value: Any) -> str:
    """A short description of a JSON value, for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        value_text = shown(value)
        return value_text if value_text.startswith("a ") else f"the number {value_text}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"
