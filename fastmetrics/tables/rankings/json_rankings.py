"""Rankings and judgements as JSON or Python objects: ``{query: {document: number}}``, or a list of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.tables.file_columns import describe

_UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, to detect duplicate documents."""


def load(text: bytes, name: str, kind: str, columns: Callable[[Sequence[str]], list[str]]) -> pa.Table:
    """The table of a JSON file; ``columns`` finds the columns of query, document and ``kind`` in records.

    Raises a ``FileFormatError`` or ``ColumnError`` with the expected form for other JSON.
    """
    form = f"{{query: {{document: {kind}}}}}, or a list of objects with query, document and {kind}"
    try:
        loaded = json.loads(text, object_pairs_hook=Pairs)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{name}: malformed JSON: {error}; expected {form}") from None
    if isinstance(loaded, Pairs):
        for query, docs in loaded:
            if not isinstance(docs, Pairs):
                got = f"query {_brief(query)} holds {_description(docs)}"
                raise FileFormatError(f"{name}: expected {form}; {got}")
        return table_of(loaded, name, kind)
    if not isinstance(loaded, list):
        raise FileFormatError(f"{name}: expected {form}; got {_description(loaded)}")
    for row, record in enumerate(loaded):
        if not isinstance(record, Pairs):
            raise FileFormatError(f"{name}: expected {form}; item {row} is {_description(record)}")
    return _of_records([dict(record) for record in loaded], name, kind, columns)


def table_of(queries: Sequence[tuple[Any, Sequence[tuple[Any, Any]]]], name: str, kind: str) -> pa.Table:
    """The table of ``(query, [(document, value), …])``; raises ``ColumnError`` for a value that is not a number."""
    counts = [len(docs) for _, docs in queries]
    pairs = list(chain.from_iterable(docs for _, docs in queries))
    heads = _texts([str(query) for query, _ in queries])
    places = pa.array(np.repeat(np.arange(len(queries), dtype=np.int32), counts))
    try:
        values = pa.array([value for _, value in pairs], pa.float64(), from_pandas=False)
    except _UNFIT:
        places_and_values = (
            (f"query {_brief(query)}, document {_brief(doc)}", value) for query, docs in queries for doc, value in docs
        )
        values = pa.array([_number(value, f"{name}, {where}") for where, value in places_and_values], pa.float64())
    docs = _texts([str(doc) for doc, _ in pairs])
    return pa.table({"query": pa.DictionaryArray.from_arrays(places, heads), "doc": docs, kind: values})


def _of_records(
    records: list[dict[str, Any]], name: str, kind: str, columns: Callable[[Sequence[str]], list[str]]
) -> pa.Table:
    if not records:
        return table_of([], name, kind)
    query, doc, value = columns(list(dict.fromkeys(key for record in records for key in record)))
    values = [record.get(value) for record in records]
    try:
        numbers = pa.array(values)
    except _UNFIT:
        numbers = pa.array([_number(number, f"{name}, row {row}") for row, number in enumerate(values)], pa.float64())
    return pa.table({"query": _ids(records, query, name), "doc": _ids(records, doc, name), kind: numbers})


def _ids(records: list[dict[str, Any]], key: str, name: str) -> pa.Array:
    """The ids of records as text, null if missing."""
    ids: list[str | None] = []
    for row, record in enumerate(records):
        value = record.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise ColumnError(
                f"{name}, row {row}: expected a string or a whole number as {key!r}, got {_description(value)}"
            )
        ids.append(None if value is None else str(value))
    return _texts(ids)


def _number(value: Any, where: str) -> float | None:
    """A number as float64; missing values are reported later."""
    try:
        if not isinstance(value, str):
            return None if value is None else float(value)
    except (TypeError, OverflowError):
        pass
    raise ColumnError(f"{where}: expected a number that a float64 holds, got {_description(value)}")


def _texts(strings: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(strings, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([None if text is None else well_formed(text) for text in strings], pa.large_string())


def _description(value: Any) -> str:
    """A short description of a JSON value."""
    if value is None:
        return "null"
    return "an object" if isinstance(value, Pairs) else well_formed(describe(value))


def _brief(name: Any) -> str:
    return repr(well_formed(str(name))[:80])
