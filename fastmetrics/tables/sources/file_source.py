"""A table on disk, in any format and number of files, as one stream of record batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import check_type, plain
from fastmetrics.base.errors import Argument, ColumnError, FileFormatError, OptionError, UnknownNameError
from fastmetrics.base.limits import STANDARD, ReadSizes
from fastmetrics.tables.databases.database_reader import DatabaseReader
from fastmetrics.tables.file_columns import Selection, cast, key_types, loose, settle, unify
from fastmetrics.tables.file_formats import FORMATS
from fastmetrics.tables.formats.reader import Reader
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.inputs.input_paths import DATABASE, expand
from fastmetrics.tables.remote.remote_files import side_by_side
from fastmetrics.tables.retry import patient
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Place, Span


class FileSource:
    """An opened input: ``schema`` of all columns, ``rows`` if the files store it, ``nbytes`` on disk."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = _without_empty(readers)
        self.files = [reader.file for reader in self._readers]
        self._unfit: dict[str, str] = {}
        """The columns that cannot be read, with the reasons; the error is raised when such a column is requested."""
        self.schema = self._unified()
        counts = [reader.rows for reader in self._readers]
        self.rows: int | None = None if None in counts else sum(count for count in counts if count is not None)
        sizes = [file.size for file in self.files]
        self.nbytes = sum(sizes)
        self.max_row_bytes = min(file.max_row_bytes for file in self.files)
        self._before = np.concatenate([[0], np.cumsum(sizes)])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of this input, which differs for a changed input."""
        return [reader.fingerprint() for reader in self._readers]

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file, if it stores it."""
        return self._readers[number].rows

    def bytes_before(self, file: int) -> int:
        """The total size on disk of the files before the given one."""
        return int(self._before[file])

    def _unified(self) -> pa.Schema:
        """One schema for all files; text of any layout or numbers of any width can be mixed, other types must agree."""
        types: dict[str, pa.DataType] = {}
        origin: dict[str, Reader] = {}
        for reader in self._readers:
            self._unfit |= reader.unreadable_columns
            for name, count in Counter(reader.schema.names).items():
                if count > 1:
                    self._unfit.setdefault(name, f"{reader.file.shown}: the file has {count} columns {name!r}")
            for field in reader.schema:
                name = field.name
                type_ = types.get(name)
                joined = plain(field.type) if type_ is None else unify(type_, field.type)
                if joined is None:
                    other = origin[name]
                    if reader.is_text and other.is_text and not (reader.states(name) and other.states(name)):
                        joined = loose(type_, field.type)
                    else:
                        before = f"but {other.file.shown} holds {type_}"
                        self._unfit.setdefault(
                            name, f"{reader.file.shown}: column {name!r} holds {field.type}, {before}"
                        )
                        joined = type_
                types[name] = joined
                origin.setdefault(name, reader)
        keys = key_types([reader.file.keys for reader in self._readers])
        return pa.schema([*((name, t) for name, t in types.items() if name not in keys), *keys.items()])

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches.

        Raises ``ColumnError`` for a column that no file has, that one file lacks or has twice, whose type is of another
        kind, or whose type differs between files.
        A column of JSON lines that occurs only in late rows is found here; earlier rows are null.
        """
        fields = []
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        names = [set(reader.schema.names) for reader in self._readers]
        for name, kind in columns.items():
            if name in self._unfit:
                raise ColumnError(self._unfit[name])
            recorded = types.get(name)
            for reader, own in zip(self._readers, names, strict=True):
                self._require(reader, name, kind, name in own, recorded is not None)
            type_ = recorded if recorded is not None and self.is_typed(name) else settle(kind, recorded)
            fields.append(pa.field(name, type_))
        return Selection(pa.schema(fields), dict(columns))

    @property
    def notes(self) -> list[str]:
        """What the reader of a result should know: the files of this package that were changed since."""
        return [reader.change_note for reader in self._readers if reader.change_note is not None]

    @property
    def unstable(self) -> str | None:
        """Why a run cannot go on in the middle of the rows, if it cannot."""
        reasons = (f"{reader.file.shown}: {reader.unstable}" for reader in self._readers if reader.unstable is not None)
        return next(reasons, None)

    @property
    def snapshot(self) -> str | None:
        """The moment of PostgreSQL that the rows are of, as long as this source lives."""
        return next((reader.snapshot for reader in self._readers if reader.snapshot is not None), None)

    @property
    def has_types(self) -> bool:
        """Whether the columns have types: CSV has none, unless this package wrote it."""
        return any(reader.has_types for reader in self._readers)

    def is_typed(self, name: str) -> bool:
        """Whether a column has its own type, instead of one that depends on the requested kind, as text has."""
        if self._is_key(name) or not all(reader.is_text for reader in self._readers):
            return True
        return all(reader.states(name) for reader in self._readers if name in reader.schema.names)

    def _is_key(self, name: str) -> bool:
        return any(name in file.keys for file in self.files)

    @staticmethod
    def _require(reader: Reader, name: str, kind: str, has: bool, exists: bool) -> None:
        """Raise ``ColumnError`` if a reader has no such column, although others may, or one of another kind."""
        if name in reader.file.keys:
            return
        if has:
            if reader.states(name):
                check_type(f"{reader.file.shown}: ", name, kind, reader.schema.field(name).type)
        elif not (reader.has_late_columns and (exists or reader.holds(name))):
            nearest = UnknownNameError.of("column", name, reader.schema.names)
            raise ColumnError(f"{reader.file.shown}: {nearest}")

    def spans(self, start: Place = BEGINNING) -> list[Span]:
        """The rows from ``start`` on in spans that can be scored independently, computed without reading rows.

        A span is a run of Parquet row groups of 131,072 rows or more (256 MB, if their rows are long), or of whole
        files of other formats of 32 MB or more on disk; small files of any formats share a span.  The starts of
        spans depend only on the files, and each span starts a new part, so that every engine makes the same parts.
        """
        begins, share = [BEGINNING], 0.0
        for number, reader in enumerate(self._readers):
            for row, piece in self._pieces(number, reader):
                if share >= 1:
                    begins.append(Place(number, row))
                    share = 0.0
                share += piece
        spans = [Span(*pair) for pair in zip(begins, [*begins[1:], None], strict=True)]
        left = [span for span in spans if span.stop is None or span.stop > start]
        return [Span(max(start, span.start), span.stop) for span in left]

    def _pieces(self, number: int, reader: Reader) -> Sequence[tuple[int, float]]:
        """The rows at which a file can be divided, each with the share of a span that follows it."""
        if reader.pieces is not None:
            return reader.pieces
        return [(0, (self.bytes_before(number + 1) - self.bytes_before(number)) / reader.file.sizes.span_bytes)]

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` to before ``stop`` (the end of a span), or to the end of the input, in order.

        Types are those of the files until ``conform`` unifies them.
        """
        for number in range(start.file, len(self._readers)):
            if stop is not None and stop <= (number, 0):
                return
            reader = self._readers[number]
            row = start.row if number == start.file else 0
            ends = (stop.row,) if stop is not None and stop.file == number else ()
            # Columns from folder names (key=value) are not read from the files.
            within = selection.without(reader.file.keys) if reader.file.keys else selection
            chunks_from = self._watched_reader(reader, within, number, threads, *ends)
            yield from patient(chunks_from, row)

    @staticmethod
    def _watched_reader(
        reader: Any, selection: Selection, number: int, threads: int, *ends: int
    ) -> Callable[[int], Iterator[Chunk]]:
        def read(row: int) -> Iterator[Chunk]:
            try:
                with reading(reader.file.shown):
                    yield from reader.read(selection, number, row, threads, *ends)
            except FileFormatError:
                reader.check_unchanged()  # rather the cause than its effect
                raise
            reader.check_unchanged()

        return read

    def where(self, place: Place) -> tuple[str, str]:
        """The file and row of a position, for messages."""
        reader = self._readers[place.file]
        return reader.file.shown, reader.where(place.row)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with exactly the selected columns and types, hive partition keys among them."""
        batch, reader = chunk.batch, self._readers[chunk.file]
        if batch.schema.equals(selection.schema):
            return batch
        arrays = []
        for field in selection.schema:
            if field.name in reader.file.keys:
                key = reader.file.keys[field.name]
                array = pa.repeat(pa.scalar(key, pa.string()), batch.num_rows).cast(field.type)
            else:
                array = batch.column(batch.schema.get_field_index(field.name))
                if array.type != field.type:
                    with reading(reader.file.shown):
                        array = cast(array, field.type)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=selection.schema)


def _without_empty(readers: Sequence[Reader]) -> list[Reader]:
    """Skip files of 0 bytes, which jobs write for empty parts; raise an error if all files are empty."""
    full = [reader for reader in readers if reader.schema.names or reader.rows != 0]
    if not any(reader.schema.names for reader in full):
        for reader in full:
            if reader.unreadable is not None:
                raise reader.unreadable
    if not full:
        raise FileFormatError(f"{readers[0].file.shown}: the file is empty")
    return full


def open_source(
    inputs: str | Path | Sequence[str | Path],
    format: str | None = None,
    max_row_bytes: int | None = None,
    sizes: ReadSizes = STANDARD,
) -> FileSource:
    """Open files, folders, globs, ``-`` (standard input), or tables and queries of databases as one table.

    Formats go by suffix, then by the first bytes: Parquet, JSON lines, CSV and TSV (with a header), Arrow IPC files
    and streams; text may be compressed (.gz, .zst, .bz2, .xz).  A folder gives its files in order of path, with the
    keys of hive folders (``lang=de/``) as columns: of integers if all values of a key are whole numbers, otherwise of
    text.  In text formats ids that mix numbers and strings become strings in
    the whole column.  A row of more than ``max_row_bytes`` bytes, by default 64 MiB, is a bad row.  ``sizes``
    say how much is read at a time.  Raises ``FileFormatError`` for a file that is missing, empty, truncated, damaged or
    of an unknown format.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.csv")
    >>> _ = path.write_text("id,answer\\n7,yes\\n")
    >>> source = open_source(path)
    >>> source.schema.names
    ['id', 'answer']
    >>> [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))]
    [[{'answer': 'yes'}]]
    """
    files = [replace(file, sizes=sizes) for file in expand(inputs, format)]
    if max_row_bytes is not None:
        if max_row_bytes < 1:
            raise OptionError(Argument("max_row_bytes", max_row_bytes), ": expected at least 1")
        files = [replace(file, max_row_bytes=max_row_bytes) for file in files]
    return open_files(files)


def open_files(files: Sequence[DataFile]) -> FileSource:
    """Files of known formats as one table."""
    return FileSource(side_by_side(_reader, files))


def open_each(files: Sequence[DataFile]) -> list[FileSource]:
    """Each file that is not empty as a separate table."""
    return [FileSource([reader]) for reader in _without_empty(side_by_side(_reader, files))]


def _reader(file: DataFile) -> Reader:
    if file.format == DATABASE:
        return DatabaseReader(file)
    make = FORMATS[file.format].reader
    assert make is not None, file.format
    return make(file)
