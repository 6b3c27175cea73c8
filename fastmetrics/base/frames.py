"""User tables of any kind: their column names, and selected columns as Arrow tables.

A column is converted only on request, so the types of other columns do not matter.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrow import check_table, fits, plain_table
from fastmetrics.base.columns import as_arrow
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.limits import SIZES


@dataclass(frozen=True)
class Frame:
    """An opened table: its column names as text, and a function that reads some columns, chunk by chunk."""

    names: list[str]
    pieces: Callable[[Sequence[str]], Iterable[pa.Table]]
    index: Any = None
    """The index of a pandas frame."""

    def read(self, names: Sequence[str]) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The schema of the columns ``names``, and their rows.  Raises ``ColumnError`` for a duplicate name."""
        _once(self.names, names)
        pieces = iter(self.pieces(names))
        first = next(pieces)
        return first.schema, itertools.chain([first], pieces)


def open_frame(table: Any, name: str = "") -> Frame:
    """Open a table of any kind; no column is converted yet.  ``name`` is what errors call it.

    Supported are Arrow tables, record batches and readers, lists and iterators of tables and batches, pandas and Polars
    frames, lazy frames, DuckDB relations, Hugging Face datasets, dicts of columns, lists and iterators of dicts, and
    any object that exports an Arrow stream.
    Raises ``ColumnError`` for anything else.

    >>> frame = open_frame({"answer": ["a"], "meta": [object()]})
    >>> frame.names
    ['answer', 'meta']
    >>> frame.read(["answer"])[0]
    answer: string
    """
    if isinstance(table, pa.Table | pa.RecordBatch):
        return _of_pieces(table.schema, [table])
    if isinstance(table, pa.RecordBatchReader):
        return _of_pieces(table.schema, itertools.chain([table.schema.empty_table()], table))
    if isinstance(table, Mapping):
        _check_split(table)
        return _of_columns(table, lambda _, key: table[key])
    if isinstance(table, list | tuple | Iterator):
        return _of_items(table, name)
    if hasattr(table, "collect_schema") and hasattr(table, "collect"):
        return _of_lazy(table)
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _of_columns(table.columns, lambda place, _: table.iloc[:, place], table.index)
    if is_relation(table):
        return _of_relation(table)
    if is_dataset(table):
        return _of_dataset(table)
    if hasattr(table, "get_column"):
        return _of_columns(table.columns, lambda _, name: table.get_column(name))
    kind = f"{name and name + ': '}expected a table, got a value of type {type(table).__name__}"
    if hasattr(table, "__arrow_c_stream__"):
        try:
            return open_frame(pa.RecordBatchReader.from_stream(table))
        except pa.ArrowInvalid as error:  # the stream contains a single column
            raise ColumnError(kind) from error
    raise ColumnError(kind)


def with_null_types(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """The table; a column without any value that is not of its kind is null: pandas types a column of NaN as numbers.

    >>> with_null_types(pa.table({"answer": pa.array([None], pa.float64())}), {"answer": "text"}).schema
    answer: null
    """
    for name, kind in kinds.items():
        column = table.column(name)
        if column.null_count == len(column) and not fits(kind, column.type):
            table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(len(column)))
    return table


def aligned_table(columns: Mapping[str, Any]) -> pa.Table:
    """A table from columns; raises ``ColumnError`` if their lengths differ."""
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ColumnError(f"columns differ in length: {', '.join(f'{n!r} has {k}' for n, k in lengths.items())}")
    return pa.table(dict(columns))


def _of_columns(keys: Iterable[Any], column: Callable[[int, Any], Any], index: Any = None) -> Frame:
    """A table from columns: ``column(place, key)`` returns the values of one."""
    keys = list(keys)
    names = [str(key) for key in keys]

    def pieces(columns: Sequence[str]) -> list[pa.Table]:
        places = {name: names.index(name) for name in columns}
        return [aligned_table({name: as_arrow(column(at, keys[at]), name) for name, at in places.items()})]

    return Frame(names, pieces, index)


def _of_items(table: Iterable[Any], name: str) -> Frame:
    """A table from a list or iterator of tables, or of dicts, one per row."""
    items = iter(table)
    head = list(itertools.islice(items, 1))
    if head and isinstance(head[0], pa.Table | pa.RecordBatch):
        return _of_pieces(head[0].schema, table if isinstance(table, list | tuple) else itertools.chain(head, items))
    rows = [*head, *items]
    for row in rows:
        if not isinstance(row, Mapping):
            kinds = f"a {type(table).__name__} with a {type(row).__name__}"
            expected = "expected a table, a list of dicts or a list of record batches"
            raise ColumnError(f"{name and name + ': '}{expected}, got {kinds}")
    keys = dict.fromkeys(key for row in rows for key in row)
    return _of_columns(keys, lambda _, key: [row.get(key) for row in rows])


def _of_pieces(schema: pa.Schema, tables: Iterable[Any]) -> Frame:
    """A table from consecutive Arrow tables and record batches that have the requested columns."""

    def pieces(columns: Sequence[str]) -> Iterator[pa.Table]:
        for place, piece in enumerate(tables):
            if not isinstance(piece, pa.Table | pa.RecordBatch):
                raise ColumnError(
                    f"item {place}: expected an Arrow table or record batch, got a {type(piece).__name__}"
                )
            have = piece.schema.names
            _once(have, columns)
            for name in columns:
                if name not in have:
                    raise ColumnError(f"item {place} lacks the column {name!r}, which the first item has")
            chosen = piece.select([have.index(name) for name in columns])
            check_table(chosen)
            yield plain_table(chosen if isinstance(chosen, pa.Table) else pa.Table.from_batches([chosen]))

    return Frame(schema.names, pieces)


def _of_lazy(table: Any) -> Frame:
    """A table from a lazy Polars frame; only the requested columns are computed."""

    def pieces(columns: Sequence[str]) -> Iterable[pa.Table]:
        from polars import selectors

        frame = table.select(selectors.by_name(*columns)).collect()
        return open_frame(frame).pieces(columns)

    return Frame(table.collect_schema().names(), pieces)


def is_relation(table: Any) -> bool:
    """Whether this is a relation of DuckDB: a query that has not been run."""
    return type(table).__name__ == "DuckDBPyRelation"


def _of_relation(relation: Any) -> Frame:
    """A table from a relation of DuckDB, which computes only the requested columns, in the order of its rows."""

    def pieces(columns: Sequence[str]) -> Iterable[pa.Table]:
        # a projection without columns would have no rows
        quoted = ['"' + name.replace('"', '""') + '"' for name in columns] or ["1"]
        reader = relation.project(", ".join(quoted)).to_arrow_reader(SIZES.read_batch_rows)
        tables = (pa.Table.from_batches([batch]) for batch in reader)
        return _of_pieces(reader.schema, itertools.chain([reader.schema.empty_table()], tables)).pieces(columns)

    return Frame(relation.columns, pieces)


def is_dataset(table: Any) -> bool:
    """Whether this is a Hugging Face dataset, read from disk or streamed."""
    return type(table).__module__.startswith("datasets.") and hasattr(table, "select_columns")


def _of_dataset(dataset: Any) -> Frame:
    """A table from a Hugging Face dataset, whose selection and order of rows it keeps."""
    if dataset.features is None:
        raise ColumnError("the streamed dataset does not know its columns: call its cast() with features, or load it")

    def pieces(columns: Sequence[str]) -> Iterable[pa.Table]:
        arrow = dataset.select_columns(list(columns)).with_format("arrow")
        schema = arrow.features.arrow_schema
        tables = arrow.iter(SIZES.read_batch_rows)
        return _of_pieces(schema, itertools.chain([schema.empty_table()], tables)).pieces(columns)

    return Frame(list(dataset.features), pieces)


def _check_split(table: Mapping[Any, Any]) -> None:
    """Raise ``ColumnError`` for a dictionary of datasets, each of which is a table."""
    if any(is_dataset(split) for split in table.values()):
        splits = ", ".join(map(repr, table))
        raise ColumnError(f"expected one dataset, got a dictionary of {splits}; choose one, as in datasets['test']")


def _once(names: Iterable[str], columns: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1 and name in columns:
            raise ColumnError(f"the table has {count} columns {name!r}")


def with_index(scores: pa.Table, index: Any) -> pa.Table:
    """The scores with the index of a pandas frame, stored as Arrow does, so that ``to_pandas`` restores it.

    The index is stored as columns, even a range index, so that it stays with its rows when the table is sorted or
    filtered.  An index level with the name of a score column loses its name.  Raises ``ColumnError`` for labels that
    cannot be a column.
    """
    import pandas as pd

    counts = Counter([*scores.column_names, *map(str, index.names)])
    names = [None if name is None or counts[str(name)] > 1 else str(name) for name in index.names]
    blank = pd.DataFrame(index=index.set_names(names), columns=pd.Index([], dtype=object))
    try:
        labels = pa.Table.from_pandas(blank, preserve_index=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"the frame's index cannot be copied to the scores: {error}; call reset_index() first"
        ) from error
    for field, column in zip(labels.schema, labels.columns, strict=True):
        scores = scores.append_column(field, column)
    return scores.replace_schema_metadata({**(scores.schema.metadata or {}), **labels.schema.metadata})


def index_columns(schema: pa.Schema) -> set[str]:
    """The columns of an Arrow table that contain the index of a pandas frame."""
    index_names = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return {name for name in schema.names if name in index_names or re.fullmatch(r"__index_level_\d+__", name)}
