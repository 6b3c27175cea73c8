"""Parsing columns of text as the requested types: numbers, flags and lists, in the notation of CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrow import is_list, is_text
from fastmetrics.base.columns import text_list
from fastmetrics.tables.file_columns import WrongValueError, coerce

_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_NOTHING = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+|nan|inf(inity)?)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)


def parse(text: pa.StringArray, type_: pa.DataType, kind: str) -> tuple[pa.Array, dict[int, str]]:
    """A column of text as ``type_``, and the errors of invalid rows (null). Empty is null except in text columns."""
    if is_text(type_):
        return text.cast(type_), {}
    if pt.is_floating(type_):
        try:
            filled = pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, pa.string()), text)
            return filled.cast(pa.float64()), {}
        except pa.ArrowInvalid:
            return _each(text, type_, _to_number)
    if pt.is_boolean(type_):
        return _each(text, type_, _to_flag)
    if is_list(type_) and kind == "texts":
        return _each(text, type_, _to_texts)
    if is_list(type_):
        return _each(text, type_, lambda value: coerce(_to_list(value), type_, kind))
    raise AssertionError(f"a text column cannot be read as {type_}")


def _each(text: pa.StringArray, type_: pa.DataType, convert: Callable[[str], Any]) -> tuple[pa.Array, dict[int, str]]:
    values: list[Any] = []
    failures = {}
    for index, value in enumerate(text.view(pa.binary()).to_pylist()):
        try:
            values.append(convert(value.decode(errors="replace")) if value is not None and value.strip() else None)
        except WrongValueError as error:
            values.append(None)
            failures[index] = str(error)
    return pa.array(values, type_), failures


def _to_number(value: str) -> float:
    if _NUMBER.fullmatch(value) is None:
        raise WrongValueError(f"expected a number, got {value[:40]!r}")
    return float(value)


def _to_flag(value: str) -> bool:
    if value.strip().lower() not in _FLAGS:
        raise WrongValueError(f"expected true or false, got {value[:40]!r}")
    return _FLAGS[value.strip().lower()]


def _to_list(value: str) -> Any:
    try:
        return json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        raise WrongValueError(f"expected a list in JSON, got {value[:40]!r}") from None


def _to_texts(value: str) -> list[str | None] | None:
    try:
        return text_list(value)
    except ValueError as error:
        raise WrongValueError(str(error)) from None


def as_it_looks(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text as whole numbers, numbers or flags, if all of it looks so; as it is otherwise.

    >>> as_it_looks(pa.chunked_array([["1", "2"], ["", "NA"]])).to_pylist()
    [1, 2, None, None]
    """
    empty = pc.is_in(text, pa.array(_NOTHING))
    values = pc.if_else(empty, pa.scalar(None, pa.string()), text)
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values))])
    for type_ in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return values.cast(type_)
        except pa.ArrowInvalid:
            continue
    return text
