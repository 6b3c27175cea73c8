"""One column in every kind of container that can hold it, of any type: texts, numbers, booleans and lists."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tests.support.strategies import coded, coded_lists, ragged

POLARS = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean}
PANDAS = {str: "string", float: "Float64", int: "Int64", bool: "boolean"}


def kinds(values: Sequence[Any], seed: int = 0) -> dict[str, Any]:
    """The column by the name of its kind; nulls are None, or what the kind has for them."""
    values = _typed(values)
    array = pa.array(values)
    return dict([*_plain(values), *_frames(values, array), *_arrow(values, array, random.Random(seed))])


def _plain(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    yield "list", list(values)
    yield "tuple", tuple(values)
    yield "NumPy objects", _objects(values)
    if None not in values and not isinstance(values[0], list):
        yield "NumPy", np.array(list(values))
        yield "NumPy strided", np.array([copy for value in values for copy in (value, values[0])])[::2]
    if all(value is None or isinstance(value, str) for value in values):
        strings = [copy for value in values for copy in (value, "junk")]
        yield "NumPy strings strided", np.array(strings, dtype=np.dtypes.StringDType(na_object=None))[::2]
    if _is_matrix(values):
        yield "NumPy matrix", np.array(values)


def _frames(values: Sequence[Any], array: pa.Array) -> Iterator[tuple[str, Any]]:
    typical = next((value for value in values if _typical(value)), values[0])
    labels = [f"row {place}" for place in reversed(range(len(values)))]
    yield "pandas objects", pd.Series(_objects(values), index=labels, dtype=object)
    yield "pandas filtered", pd.Series(_objects([values[0], *values, None]), dtype=object).iloc[1:-1]
    yield "pandas Arrow", pd.Series(pd.array(list(values), dtype=pd.ArrowDtype(array.type)), index=labels)
    yield "Polars", pl.Series("column", list(values), dtype=_polars(typical))
    yield "Polars slice", pl.Series("column", [typical, *values, typical], dtype=_polars(typical))[1:-1]
    parts = [pl.Series("column", list(part), dtype=_polars(typical)) for part in (values[:1], values[1:])]
    yield "Polars chunks", pl.concat(parts, rechunk=False)
    if isinstance(typical, list):
        return
    yield "pandas", pd.Series(list(values), index=range(7, 7 + len(values)))
    yield "pandas nullable", pd.Series(list(values), index=labels, dtype=PANDAS[type(typical)])
    yield "pandas categories", pd.Series(pd.Categorical(list(values)), index=labels)
    if isinstance(typical, str):
        yield "Polars categories", pl.Series("column", list(values), dtype=pl.Categorical)


def _arrow(values: Sequence[Any], array: pa.Array, chance: random.Random) -> Iterator[tuple[str, Any]]:
    typical, half = next((value for value in values if _typical(value)), values[0]), len(values) // 2
    yield "Arrow", array
    yield "Arrow slice", pa.array([typical, None, *values, typical], array.type).slice(2, len(values))
    if isinstance(typical, str):
        yield "Arrow chunks", ragged(list(values), array.type, chance)
    else:
        yield "Arrow chunks", pa.chunked_array([array.slice(0, 0), array.slice(0, half), array.slice(half)])
    text_lists = isinstance(typical, list) and pa.types.is_string(array.type.value_type)
    for name, column in (coded_lists if text_lists else coded)(array, chance):
        yield f"Arrow {name}", column
    if isinstance(typical, list):
        yield "Arrow large lists", array.cast(pa.large_list(array.type.value_type))
        yield "Arrow list view", pa.array(list(values), pa.list_view(array.type.value_type))
        return
    yield "Arrow dictionary", array.dictionary_encode()
    yield "Arrow runs", pc.run_end_encode(array)
    if isinstance(typical, str):
        yield "Arrow large", array.cast(pa.large_string())
        yield "Arrow view", array.cast(pa.string_view())
    elif isinstance(typical, float) and all(value is None or value == round(value, 6) for value in values):
        yield "Arrow decimals", pa.array([None if v is None else Decimal(str(v)) for v in values])


def _typed(values: Sequence[Any]) -> list[Any]:
    """The values, all numbers as floats if one is."""
    floats = any(isinstance(value, float) for value in values)
    return [float(value) if floats and type(value) is int else value for value in values]


def _typical(value: Any) -> bool:
    """Whether the value tells the type of its column: not null, and a list has an item that is not null."""
    return any(item is not None for item in value) if isinstance(value, list) else value is not None


def _objects(values: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _polars(value: Any) -> Any:
    if isinstance(value, list):
        return pl.List(_polars(next((item for item in value if item is not None), "")))
    return POLARS[type(value)]


def _is_matrix(values: Sequence[Any]) -> bool:
    rows = [value for value in values if isinstance(value, list)]
    same = len(rows) == len(values) and len({len(row) for row in rows}) == 1
    return same and all(isinstance(cell, float) for row in rows for cell in row)


TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "rows": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "pandas frame": pd.DataFrame,
    "Polars frame": lambda columns: pl.DataFrame(columns, strict=False),
    "lazy Polars frame": lambda columns: pl.DataFrame(columns, strict=False).lazy(),
    "Arrow table": pa.table,
    "DuckDB relation": lambda columns: duckdb.from_arrow(pa.table(columns)),
    "Arrow table of chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 3), pa.table(columns).slice(3)]
    ),
    "record batches": lambda columns: pa.table(columns).to_batches(max_chunksize=4),
}
"""Tables of every kind, from columns as lists."""
