"""A table as its readers see it, in memory or in files, and the rule that tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.limits import STANDARD, ReadSizes
from fastmetrics.base.options import Optional, Whole, argument
from fastmetrics.tables.databases.database_address import with_query
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.inputs.input_files import DataFile
from fastmetrics.tables.sources.file_source import FileSource, open_source
from fastmetrics.tables.sources.frame_source import FrameSource
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Place, Span


class TableSource(Protocol):
    """An opened table: its columns, and its rows in chunks; a table in memory is one file without a name."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known."""

    @property
    def nbytes(self) -> int:
        """The bytes of the files, or of the columns in memory."""

    @property
    def max_row_bytes(self) -> int:
        """The maximum bytes of a row; a longer row is a bad row."""

    @property
    def files(self) -> Sequence[DataFile]:
        """The files."""

    @property
    def notes(self) -> Sequence[str]:
        """What the reader of a result should know."""

    @property
    def unstable(self) -> str | None:
        """Why a run cannot go on in the middle of the rows, if it cannot."""

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the table, which differs for a changed table."""

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file, if it is known."""

    def bytes_before(self, file: int) -> int:
        """The bytes of the files before the given one."""

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches."""

    def spans(self, start: Place = BEGINNING) -> list[Span]:
        """The rows from ``start`` on in spans that can be scored independently."""

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` to before ``stop``, in order."""

    def where(self, place: Place) -> tuple[str, str]:
        """The file and row of a position, for messages."""

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with exactly the selected columns and types."""


class NarrowedSource:
    """A source that shows another one in a narrower form; a subclass changes its rows or columns."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self.names = source.names
        self.rows = source.rows
        self.nbytes = source.nbytes
        self.max_row_bytes = source.max_row_bytes
        self.files = source.files
        self.notes = source.notes
        self.unstable = source.unstable

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the source."""
        return self._source.fingerprint

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file of the source."""
        return self._source.file_rows(number)

    def bytes_before(self, file: int) -> int:
        """The bytes of the files before the given one."""
        return self._source.bytes_before(file)

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns of the source."""
        return self._source.select(columns)

    def spans(self, start: Place = BEGINNING) -> list[Span]:
        """The spans of the source."""
        return self._source.spans(start)

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The rows of the source."""
        return self._source.chunks(selection, start, threads, stop)

    def where(self, place: Place) -> tuple[str, str]:
        """The file and row of a position."""
        return self._source.where(place)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the selected types."""
        return self._source.conform(chunk, selection)


def is_paths(data: Any, *, or_column: bool = False) -> bool:
    """Whether an argument of data is paths: the rule of all functions.

    A text or a ``Path`` is a path, an address or a pattern, and a list of them is several.  An argument that may also
    be a plain column, ``or_column``, differs in one point: a list of texts is a column, and several paths are ``Path``
    objects.  Anything else is in memory: a column
    (:func:`fastmetrics.base.columns.is_column`) or a table
    (:func:`fastmetrics.base.frames.open_frame`).

    >>> is_paths("rows.parquet"), is_paths(["a.csv", "b.csv"]), is_paths({"answer": ["yes"]}), is_paths([])
    (True, True, False, False)
    >>> is_paths("rows.parquet", or_column=True), is_paths(["yes", "no"], or_column=True)
    (True, False)
    """
    several = isinstance(data, Sequence) and not isinstance(data, str | bytes) and bool(data)
    kinds = Path if or_column else str | Path
    return isinstance(data, str | Path) or (several and all(isinstance(path, kinds) for path in data))


def open_table(
    table: Any,
    format: str | None = None,
    max_row_bytes: int | None = None,
    query: str | None = None,
    sizes: ReadSizes = STANDARD,
    *,
    name: str = "table",
    or_column: bool = False,
) -> TableSource:
    """Open a table of any kind, or files by their paths, as ``open_source`` does; ``query`` is that of a database.

    Files that are opened already, with other sizes for example, stay as they are.

    ``name`` is the argument, for messages, and ``or_column`` that of :func:`is_paths`.

    Raises ``ColumnError`` for anything else, ``OptionError`` for the ``format`` of a table in memory, and the errors of
    ``open_source``.
    """
    if isinstance(table, FileSource):
        return table
    if is_paths(table, or_column=or_column):
        if query is not None:
            table = with_query(table, query)
        return open_source(table, format, max_row_bytes, sizes)
    if query is not None:
        raise OptionError(
            Argument("query", query), ": a table in memory has none; give it with the address of a database"
        )
    if format is not None:
        raise OptionError(Argument("format", format), ": a table in memory has none; give it with paths")
    return FrameSource(table, argument("max_row_bytes", max_row_bytes, Optional(Whole(1, 1 << 62))), name)
