"""Reading a table or a query of a database: one moment of it, in batches, with the types that Arrow gives its
columns."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import check_names, check_table, is_list
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.tables.column_types import Selection, Widened, WrongCells, cast
from fastmetrics.tables.databases import DatabaseTable, Session, quoted
from fastmetrics.tables.input_files import DataFile, content_of, reading
from fastmetrics.tables.json_lines import parsed_lines
from fastmetrics.tables.readers import Chunk, Reader
from fastmetrics.tables.remote_files import patiently

# The columns of databases: their types in Arrow, and those as which the databases send them.


_COORDINATES: Mapping[str, np.dtype[Any]] = {"vector": np.dtype(">f4"), "halfvec": np.dtype(">f2")}
"""The numbers of pgvector's types, after a header of two 16-bit integers: the dimensions and zero."""
_HEADER = 4


def is_json(type_: pa.DataType) -> bool:
    """Whether a column contains JSON."""
    return isinstance(type_, pa.JsonType)


def readable_type(type_: pa.DataType) -> pa.DataType | None:
    """The type of a column as it is read: no types of one database alone; None if the column cannot be read.

    >>> readable_type(pa.uuid()), readable_type(pa.month_day_nano_interval())
    (DataType(string), None)
    """
    if is_json(type_) or isinstance(type_, pa.UuidType):
        return pa.string()
    if isinstance(type_, pa.OpaqueType):
        if type_.type_name == "numeric":
            return pa.float64()
        return pa.list_(pa.float32()) if type_.type_name in _COORDINATES else None
    if isinstance(type_, pa.BaseExtensionType) or pt.is_interval(type_) or pt.is_union(type_) or pt.is_map(type_):
        return None
    if is_list(type_):
        inner = readable_type(type_.value_type)
        if inner is None or inner == type_.value_type:
            return None if inner is None else type_
        return pa.list_(inner)
    return type_


def type_name(field: pa.Field) -> str:
    """The name of a type in its database."""
    stated = (field.metadata or {}).get(b"POSTGRESQL:type")
    return str(field.type) if stated is None else stated.decode()


def sql_type(type_: pa.DataType) -> str | None:
    """The type in SQL as which a database sends a column of a type of its own; None if it sends it as it is.

    >>> sql_type(pa.uuid()), sql_type(pa.list_(pa.uuid())), sql_type(pa.int64())
    ('text', 'text[]', None)
    """
    if is_json(type_) or isinstance(type_, pa.UuidType):
        return "text"
    if isinstance(type_, pa.OpaqueType) and type_.type_name == "numeric":
        return "double precision"
    inner = sql_type(type_.value_type) if is_list(type_) else None
    return None if inner is None else f"{inner}[]"


def _vectors(values: pa.Array, numbers: np.dtype[Any]) -> pa.Array:
    """The numbers of pgvector's binary form as lists."""
    sizes = np.asarray(pc.binary_length(values).fill_null(_HEADER)) - _HEADER
    data = b"".join(value[_HEADER:] for value in values.drop_null().to_pylist())
    coordinates = np.frombuffer(data, numbers).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(sizes // numbers.itemsize)]).astype(np.int32)
    mask = values.is_null() if values.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(coordinates), mask=mask)


# Columns of JSON in a database: the type that their first values have, and the values in the type of a column.


def json_type_of(cells: Iterable[str]) -> pa.DataType | None:
    """The type of JSON values; lists take precedence.  None for objects, whose text is their value.

    >>> json_type_of(['["a"]', "[]", "null"]), json_type_of(["[1.5]", '"a"']), json_type_of(['[{"a": 1}]'])
    (ListType(list<item: string>), ListType(list<item: double>), None)
    """
    values = [value for value in map(json.loads, cells) if value is not None]
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, dict) for items in (values, *lists) for item in items):
        return None
    try:
        type_ = pa.array(lists or values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.list_(pa.string()) if lists else pa.string()
    if lists and pa.types.is_null(type_.value_type):
        return pa.list_(pa.string())
    return pa.string() if pa.types.is_null(type_) else type_


# Reading a table or a query of a database: one moment of it, in batches.


_MIXED = re.compile(r"Type mismatch in column (\d+): ")
_JSON_SAMPLE = 1000
"""Rows whose values show the type of a column of JSON."""


class DatabaseReader(Reader):
    """The rows of one table or query; ``schema`` has the columns that can be read.

    A connection to PostgreSQL stays open as long as the reader: its transaction is the moment that reads one after the
    other show.
    """

    is_text = True
    unstable = "the rows of a database have no order that is the same each time"

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        self._table = DatabaseTable.of(file.path)
        self._content = self._local_content()
        with reading(file.shown):
            session = patiently(self._open)
        try:
            driver_schema = session.schema(f"SELECT * FROM {self._table.relation}")
            check_names(driver_schema, file.shown, FileFormatError)
            if not driver_schema.names:
                raise FileFormatError(f"{file.shown}: the query has no columns; expected select …")
            json_types = {
                field.name: self._json_type(session, field.name) for field in driver_schema if is_json(field.type)
            }
            self._json_types = {name: type_ for name, type_ in json_types.items() if type_ is not None}
            self.unreadable_columns = {
                field.name: f"{file.shown}: column {field.name!r} is of type {type_name(field)}, which cannot be read; "
                "leave it out of the query, or convert it there, for example to text"
                for field in driver_schema
                if readable_type(field.type) is None
            }
            self._sent = driver_schema
            self.schema = pa.schema([(field.name, self._type(field)) for field in driver_schema])
        except BaseException:
            session.close()
            raise
        self._free: Session | None = None
        self._give_back(session)

    def _open(self) -> Session:
        session = Session(self._table)
        weakref.finalize(self, session.close)
        return session

    def _give_back(self, session: Session) -> None:
        """Keep a connection to PostgreSQL for the next read, which sees the rows of the same moment."""
        if self._free is None and self._table.scheme == "postgresql":
            self._free = session
        else:
            session.close()

    def _type(self, field: pa.Field) -> pa.DataType:
        if field.name in self._json_types:
            return self._json_types[field.name]
        return readable_type(field.type) or pa.null()

    def _json_type(self, session: Session, name: str) -> pa.DataType | None:
        first = f"SELECT {quoted(name)} FROM {self._table.relation} LIMIT {_JSON_SAMPLE}"
        cells = (row[0] for row in session.rows(first))
        return json_type_of([str(cell) for cell in cells if cell is not None])

    def states(self, name: str) -> bool:
        """Whether the type of a column is known: SQLite and JSON have values of any type in a column."""
        if name in self._json_types:
            return False
        return self._table.scheme != "sqlite" or bool(pt.is_binary(self.schema.field(name).type))

    def fingerprint(self) -> list[Any]:
        """What is read, and the file that it is read from."""
        return [self.file.shown, self._table.digest, *(self._content or ())]

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if the file of the database was changed since it was opened."""
        if self._local_content() != self._content:
            changed = "the database changed while it was read; read it again when nothing writes to it"
            raise FileFormatError(f"{self.file.shown}: {changed}")

    def _local_content(self) -> list[Any] | None:
        """What identifies the file of a database and its log of changes."""
        if self._table.scheme == "postgresql":
            return None
        files = (content_of(self._table.path), content_of(f"{self._table.path}-wal"))
        return [list(content) for content in files if content is not None and content[0]]

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows, of which those before ``start`` are passed over."""
        row = 0
        session, self._free = self._free, None
        try:
            session = session or self._open()
            for batch in self._batches(session, self._sql(selection)):
                check_table(batch, f"{self.file.shown}, from row {row}, column", FileFormatError)
                if row + batch.num_rows > start:
                    skipped = max(0, start - row)
                    yield self._chunk(batch.slice(skipped), selection, number, row + skipped)
                row += batch.num_rows
        except ConnectionError as error:
            if session is not None:
                session.close()
                session = None
            lost = f"{self.file.shown}: the connection was lost after {row:,} rows: {error}"
            raise FileFormatError(f"{lost}; run it again") from None
        except FileFormatError as error:
            self._raise_mixed(error, selection)
            raise
        finally:
            if session is not None:
                self._give_back(session)

    def _raise_mixed(self, error: FileFormatError, selection: Selection) -> None:
        """Raise ``Widened`` for a column of SQLite whose later values are of another type than the first, if it can be.

        Otherwise raise a ``FileFormatError`` with the name of the column.
        """
        mixed = _MIXED.search(str(error))
        if mixed is None:
            return
        field = selection.schema.field(int(mixed[1]))
        if selection.kinds[field.name] in ("id", "any", "time"):
            raise Widened(pa.string(), field.name) from None
        what = "expected numbers in all rows, as in the first ones; convert the values in the query"
        raise FileFormatError(f"{self.file.shown}: column {field.name!r}: {what}") from None

    def _batches(self, session: Session, sql: str) -> Iterator[pa.RecordBatch]:
        """The batches, small ones joined; the first row of SQLite is that of the types."""
        waiting: list[pa.RecordBatch] = []
        skipped = 1 if self._table.scheme == "sqlite" else 0
        for batch in session.batches(sql):
            waiting.append(batch.slice(skipped))
            skipped = 0
            if sum(piece.num_rows for piece in waiting) >= SIZES.read_batch_rows // 2:
                yield from _joined(waiting)
                waiting = []
        if waiting:
            yield from _joined(waiting)

    def _chunk(self, batch: pa.RecordBatch, selection: Selection, number: int, row: int) -> Chunk:
        """A batch with the types of the selection; rows whose JSON does not fit are bad rows."""
        arrays: list[pa.Array] = []
        wrong: WrongCells = {}
        for field in selection.schema:
            name, column = field.name, batch.column(batch.schema.get_field_index(field.name))
            with reading(f"{self.file.shown}, from row {row}, column {name!r}"):
                if name in self._json_types:
                    texts = column.fill_null("null").to_pylist()
                    lines = "".join(f"{{{json.dumps(name)}:{text}}}\n" for text in texts)
                    parsed = parsed_lines(lines.encode(), len(texts), pa.schema([field]))
                    records = ({name: json.loads(text)} for text in texts)
                    array = selection.of_records(name, records, wrong) if parsed is None else parsed.column(0)
                else:
                    if isinstance(column.type, pa.OpaqueType):
                        column = _vectors(column.storage, _COORDINATES[column.type.type_name])
                    array = column if column.type == field.type else cast(column, field.type)
            arrays.append(array)
        rows = np.arange(row, row + batch.num_rows, dtype=np.int64)
        result = pa.RecordBatch.from_arrays(arrays, schema=selection.schema)
        return Chunk(number, rows, result).without(wrong, self.place, lambda _: "")

    def _sql(self, selection: Selection) -> str:
        """The selected columns of all rows."""
        columns = ", ".join(map(self._column, selection.schema)) or "1"
        if self._table.scheme != "sqlite":
            return f"SELECT {columns} FROM {self._table.relation}"
        types = ", ".join(f"{_typed_value(field.type)} AS {quoted(field.name)}" for field in selection.schema) or "1"
        # an index that has all columns would give the rows another order
        stored = " NOT INDEXED" if self._table.table is not None else ""
        return f"SELECT {types} UNION ALL SELECT * FROM (SELECT {columns} FROM {self._table.relation}{stored})"

    def _column(self, field: pa.Field) -> str:
        """A column, converted by the database; in SQLite, each value has a type of its own."""
        name = quoted(field.name)
        if self._table.scheme != "sqlite":
            type_ = sql_type(self._sent.field(field.name).type)
            return name if type_ is None else f"CAST({name} AS {type_}) AS {name}"
        if pt.is_string(field.type):
            return f"CAST({name} AS TEXT) AS {name}"
        if pt.is_floating(field.type):
            return f"CASE typeof({name}) WHEN 'integer' THEN CAST({name} AS REAL) ELSE {name} END AS {name}"
        return name


def _typed_value(type_: pa.DataType) -> str:
    """A value that shows SQLite's driver the type of a column, which it takes from the first row."""
    if pt.is_string(type_):
        return "''"
    return "0.5" if pt.is_floating(type_) else "x'00'" if pt.is_binary(type_) else "0"


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as pieces of at most the rows that are read at a time."""
    yield from pa.Table.from_batches(batches).combine_chunks().to_batches(SIZES.read_batch_rows)
