"""A table in memory with the interface of files, so that a run reads both in the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import check_type, fits, plain
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.frames import open_frame, with_null_types
from fastmetrics.base.limits import SIZES
from fastmetrics.tables.file_columns import Selection, cast
from fastmetrics.tables.inputs.input_files import MAX_ROW_BYTES, DataFile
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Place, Span


class FrameSource:
    """A table of any kind that ``open_frame`` accepts; its columns are converted when they are selected.

    >>> source = FrameSource({"answer": ["yes", None], "meta": [object(), object()]})
    >>> [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))]
    [[{'answer': 'yes'}, {'answer': None}]]

    Raises ``ColumnError`` for anything else.
    """

    files: tuple[DataFile, ...] = ()
    notes: tuple[str, ...] = ()
    unstable: str | None = None

    def __init__(self, table: Any, max_row_bytes: int | None = None, name: str = "") -> None:
        self._frame = open_frame(table, name)
        self.names = list(dict.fromkeys(self._frame.names))
        self.index = self._frame.index
        """The index of a pandas frame."""
        self.max_row_bytes = MAX_ROW_BYTES if max_row_bytes is None else max_row_bytes
        self._columns: pa.Table | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Other processes get the selected columns only."""
        return {**self.__dict__, "_frame": None, "index": None}

    def hold(self, names: Iterable[str]) -> pa.Table:
        """The named columns, converted once; a reader or an iterator of batches can be read only by the first call.

        Raises ``ColumnError`` for a column that cannot be converted, or whose types differ between batches.
        """
        names = list(dict.fromkeys(names))
        return self._with(names).select(names)

    def _with(self, names: list[str]) -> pa.Table:
        """All columns that are converted, among them the named ones."""
        if self._columns is None or not set(names) <= set(self._columns.column_names):
            pieces = self._frame.read(names)[1]
            try:
                self._columns = pa.concat_tables(pieces, promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ColumnError(f"the batches of the table hold columns of different types: {error}") from error
        return self._columns

    def pieces(self, kinds: Mapping[str, str], names: Iterable[str]) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The named columns in their own types: their schema, and their rows as they are read, without a copy.

        Raises ``ColumnError`` for a column that is not of its kind.
        """
        names = list(names)
        if self._columns is not None and set(names) <= set(self._columns.column_names):
            chosen = self._columns.select(names)
            schema, pieces = chosen.schema, iter([chosen])
        else:
            schema, pieces = self._frame.read(names)
        if not all(fits(kind, schema.field(name).type) for name, kind in kinds.items()):
            whole = with_null_types(pa.concat_tables(pieces), kinds)
            schema, pieces = whole.schema, iter([whole])
        for name, kind in kinds.items():
            check_type("", name, kind, schema.field(name).type)
        return schema, pieces

    @property
    def rows(self) -> int | None:
        """The number of rows, once columns are selected."""
        return None if self._columns is None else int(self._columns.num_rows)

    @property
    def nbytes(self) -> int:
        """The bytes of the selected columns."""
        return 0 if self._columns is None else int(self._columns.nbytes)

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the selected columns, which differs for other values."""
        digest = hashlib.blake2b(digest_size=16)
        table = pa.table({}) if self._columns is None else self._columns
        with pa.PythonFile(_Hashing(digest), mode="w") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return [["table", digest.hexdigest()]]

    def file_rows(self, number: int) -> int | None:
        """The number of rows."""
        return self.rows

    def bytes_before(self, file: int) -> int:
        """No bytes: there are no files."""
        return 0

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches.

        Raises ``ColumnError`` for a column that is missing or not of its kind.
        """
        self.hold(columns)
        self._columns = with_null_types(self._with(list(columns)), columns)
        table = self._columns.select(list(columns))
        for name, kind in columns.items():
            check_type("", name, kind, table.schema.field(name).type)
        return plain_selection(table.schema, columns)

    def spans(self, start: Place = BEGINNING) -> list[Span]:
        """All rows from ``start`` on."""
        return [Span(start, None)]

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` on, in order."""
        row = start.row
        for batch in self.hold(selection.schema.names).slice(row).to_batches(max_chunksize=SIZES.read_batch_rows):
            yield Chunk(0, np.arange(row, row + batch.num_rows), batch)
            row += batch.num_rows

    def where(self, place: Place) -> tuple[str, str]:
        """The row of a position, for messages."""
        return "the table", f"row {place.row}"

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the types of the selection: no dictionaries, views or runs."""
        if chunk.batch.schema.equals(selection.schema):
            return chunk.batch
        arrays = [
            array if array.type == field.type else cast(array, field.type)
            for array, field in zip(chunk.batch.columns, selection.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=selection.schema)


def plain_selection(schema: pa.Schema, columns: Mapping[str, str]) -> Selection:
    """The columns of a schema with the types in batches: no dictionaries, views or runs."""
    return Selection(pa.schema([pa.field(field.name, plain(field.type)) for field in schema]), dict(columns))


class _Hashing:
    """A file that adds what is written to a digest."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True
