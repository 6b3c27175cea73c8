"""Parquet and Arrow files, read in batches with bounded memory; sizes and offsets are checked before data is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.base.arrays import check_names, check_table
from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.encoders import ArrowEncoder, ParquetEncoder
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.formats import Format, Reader
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile, reading
from fastmetrics.tables.remote_files import patiently
from fastmetrics.tables.table_chunks import Chunk, Position, Reject, batch_of, row_bytes, too_long

# The sizes in a Parquet file's metadata and page headers, which show a row that is too long before it is unpacked.


_LENGTH_BYTES = 8
"""Maximum bytes of a value's length and levels, which are no content."""
_LEVELS = 8
"""The maximum size of what precedes the levels in a page, in lengths of values."""
_HEADER_BYTES = 1 << 16
"""Bytes read for a page header, which can contain statistics."""
_END_BYTES = 8
"""The end of a Parquet file: the length of the data about its columns, and four letters."""
_COUNTED = {0: 5, 2: 7, 3: 8}
"""The field of a page header that contains the number of values, by the type of the page: data, dictionary, data 2."""


class Page(NamedTuple):
    """The sizes of a page: ``nbytes`` of its unpacked content, and how many values they encode."""

    nbytes: int
    values: int

    @property
    def content(self) -> int:
        """The bytes without the lengths and levels of the values, at least."""
        return max(0, self.nbytes - _LENGTH_BYTES * (self.values + _LEVELS))


def stored_columns(parquet: pq.ParquetFile, names: Collection[str]) -> list[int]:
    """The columns of values that store the columns ``names``, by their numbers in a row group.

    PyArrow ends the process at some damage in what the file says of a column: only columns that are read are looked at.
    """
    paths = (parquet.schema.column(index).path for index in range(len(parquet.schema)))
    return [index for index, path in enumerate(paths) if path.split(".")[0] in names]


def long_columns(
    parquet: pq.ParquetFile,
    names: Collection[str],
    most: int,
    page_bytes: int,
    headers: Callable[[int], pa.NativeFile | None],
) -> Iterator[tuple[int, str]]:
    """The row groups with columns of more than ``page_bytes`` that must contain a row of more than ``most`` bytes.

    Each comes with the column.  The sizes give the mean of the values of a column or a page, and the longest value has
    at least the mean.  ``headers`` opens the file to read page headers within so many bytes, or returns None.
    """
    indices = stored_columns(parquet, names)
    for number in range(parquet.metadata.num_row_groups):
        group = parquet.metadata.row_group(number)
        if group.total_byte_size <= page_bytes:
            continue
        for column in map(group.column, indices):
            if _has_long(column, group.num_rows, most, page_bytes, headers):
                yield number, column.path_in_schema.split(".")[0]
                break


def _has_long(
    column: Any, rows: int, most: int, page_bytes: int, headers: Callable[[int], pa.NativeFile | None]
) -> bool:
    size = column.total_uncompressed_size
    if column.physical_type != "BYTE_ARRAY" or size <= page_bytes:
        return False
    file = headers(column.total_compressed_size)
    if file is None:
        return bool(Page(size, column.num_values).content > most * rows)
    with file:
        pages = list(_pages(file, column))
    long = any(page.nbytes > page_bytes and page.content > most * page.values for page in pages)
    return long or sum(page.content for page in pages) > most * rows


def _pages(file: pa.NativeFile, column: Any) -> Iterator[Page]:
    """The pages of a column chunk, up to the first header that cannot be read."""
    starts = [column.data_page_offset, column.dictionary_page_offset]
    position = min(start for start in starts if start)
    end = position + column.total_compressed_size
    while position < end:
        file.seek(position)
        try:
            header, length = _struct(file.read(min(_HEADER_BYTES, end - position)), 0)
            counted = _COUNTED.get(header[1])
            if counted is not None:
                yield Page(header[2], header[counted][1])
            position += length + max(0, header[3])
        except (IndexError, KeyError, TypeError, RecursionError):  # the reader of the values reports damage
            return


_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_BITS = 64


def _struct(data: bytes, at: int) -> tuple[Mapping[int, Any], int]:
    """A structure of Thrift's compact protocol by the numbers of its fields, and the position after it.

    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
    """
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind that page headers have; raises ``KeyError`` for another."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if _BYTE < kind < _DOUBLE:
        return _integer(data, at)
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        return None, at + size
    if kind == _STRUCT:
        return _struct(data, at)
    raise KeyError(kind)


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < _BITS:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise KeyError(shift)


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag order: 0, -1, 1, -2, ..."""
    number, at = _unsigned(data, at)
    return (number >> 1) ^ -(number & 1), at


# Parquet files, read in batches with bounded memory.


_PROBE_ROWS = 8
_SMALL_DICTIONARY = 16 << 10


class ParquetReader(Reader):
    """One Parquet file."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        with reading(file.shown), self._open() as parquet:
            self.schema = parquet.schema_arrow.remove_metadata()
            self.rows = parquet.metadata.num_rows
            check_names(self.schema, file.shown, FileFormatError)
            if not file.is_remote:  # of others when they are read: opening many takes few requests
                self._check_open(parquet)
            self._pieces = list(_pieces(parquet.metadata, file.sizes))

    def _check_open(self, parquet: pq.ParquetFile) -> None:
        """Raise ``FileFormatError`` for a file with encrypted columns: PyArrow ends the process at their sizes.

        Such a file has a signature after the data about its columns, so that its end is longer than these.
        """
        stated = patiently(self._footer_bytes)
        if stated > parquet.metadata.serialized_size:
            raise FileFormatError(f"{self.file.shown}: has encrypted columns; write it without encryption")

    def _footer_bytes(self) -> int:
        """The bytes of the data about the columns, as the end of the file states them."""
        file: pa.NativeFile = self.file.at_random() if self.file.is_remote else pa.OSFile(self.file.path)
        with file:
            file.seek(file.size() - _END_BYTES)
            return int.from_bytes(file.read(4), "little")

    def _open(self, coded: Sequence[str] = ()) -> pq.ParquetFile:
        """The file, with the columns ``coded`` read as dictionaries; remote files are fetched in larger ranges."""
        options = {"pre_buffer": False, "read_dictionary": coded}
        if self.file.is_remote:
            return patiently(
                lambda: pq.ParquetFile(self.file.at_random(), buffer_size=self.file.sizes.remote_ahead_bytes, **options)
            )
        return pq.ParquetFile(self.file.path, buffer_size=self.file.sizes.parquet_buffer_bytes, **options)

    def _fetching(self, parquet: pq.ParquetFile, names: list[str], coded: Sequence[str]) -> pq.ParquetFile:
        """The file with all columns of a run fetched in few requests, if they fit into memory."""
        if not self.file.is_remote or _largest_run(parquet, names) > self.file.sizes.remote_fetch_bytes:
            return parquet
        options = {"metadata": parquet.metadata, "pre_buffer": True, "read_dictionary": coded}
        return patiently(lambda: pq.ParquetFile(self.file.at_random(), **options))

    @property
    def pieces(self) -> Sequence[tuple[int, float]]:
        """The row groups."""
        return self._pieces

    def read(
        self, selection: Selection, number: int, start: int, threads: int, stop: int | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` to before ``stop``, a row group boundary; other row groups are not read.

        Columns selected as dictionaries are read as dictionaries if they are text.
        """
        own = set(self.schema.names)
        names = [name for name in selection.schema.names if name in own]
        coded = [field.name for field in selection.schema if pa.types.is_dictionary(field.type)]
        with reading(self.file.shown), self._open(coded) as parquet:
            if self.file.is_remote:
                self._check_open(parquet)
            fetching = self._fetching(parquet, names, coded)
            long = self._long_groups(parquet, names)
            for first, groups in _runs(parquet.metadata, start, stop, long):
                if groups[0] in long:
                    size = parquet.metadata.row_group(groups[0]).num_rows
                    yield from self._rejected(number, groups[0], long[groups[0]], range(first, first + size), start)
                    continue
                row = first
                for batch in _batches(parquet, names, groups, fetching, self.file.sizes):
                    check_table(batch, f"{self.file.shown}, from row {row}, column", FileFormatError)
                    keep = max(0, start - row)
                    if keep < batch.num_rows:
                        rows = np.arange(row + keep, row + batch.num_rows, dtype=np.int64)
                        yield Chunk(number, rows, batch.slice(keep))
                    row += batch.num_rows
                stated = sum(parquet.metadata.row_group(group).num_rows for group in groups)
                if row - first != stated:
                    missing = f"row groups {groups[0]} to {groups[-1]} have {row - first:,} rows, expected {stated:,}"
                    raise FileFormatError(f"{self.file.shown}: {missing}; the file is damaged: write it again")

    def _long_groups(self, parquet: pq.ParquetFile, names: Collection[str]) -> dict[int, str]:
        """The row groups with a row that is too long, and that would take much memory to find it, by their sizes."""
        most = max(self.file.max_row_bytes, MAX_ROW_BYTES)
        columns = long_columns(parquet, names, most, self.file.sizes.parquet_page_bytes, self._headers)
        return dict(columns)

    def _headers(self, nbytes: int) -> pa.NativeFile | None:
        """The file, to read the headers within so many bytes; None if they are remote and take several requests."""
        if not self.file.is_remote:
            return pa.OSFile(self.file.path)
        return self.file.at_random() if nbytes <= self.file.sizes.remote_ahead_bytes else None

    def _rejected(self, number: int, group: int, column: str, rows: range, start: int) -> Iterator[Chunk]:
        """The rows of a row group from ``start`` on as bad rows, in chunks."""
        reason = too_long(self.file.max_row_bytes)
        if len(rows) > 1:
            whole = f"row group {group} (rows {rows[0]} to {rows[-1]}) is not read, because in it"
            reason = f"{whole} {reason.replace('the row', 'at least one row', 1)}"
        nothing = batch_of(pa.schema([]))
        for first in range(max(start, rows.start), rows.stop, self.file.sizes.parquet_rows):
            positions = (
                Position(number, row) for row in range(first, min(first + self.file.sizes.parquet_rows, rows.stop))
            )
            rejects = (
                Reject(position, self.file.shown, self.where(position.row), column, reason, "")
                for position in positions
            )
            yield Chunk(number, np.empty(0, np.int64), nothing, tuple(rejects))


def _pieces(metadata: pq.FileMetaData, sizes: ReadSizes) -> Iterator[tuple[int, float]]:
    """The first row of each row group, and its share of a split, by rows or, if they are long, by bytes."""
    row = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        yield row, max(group.num_rows / sizes.parquet_split_rows, group.total_byte_size / sizes.parquet_split_bytes)
        row += group.num_rows


def _runs(
    metadata: pq.FileMetaData, start: int, stop: int | None, alone: Collection[int] = ()
) -> Iterator[tuple[int, list[int]]]:
    """Runs of row groups to read together, so that small ones are cheap, each with its first row.

    A row group in ``alone`` is a run of its own.
    """
    row = first = 0
    groups: list[int] = []
    for group in range(metadata.num_row_groups):
        if stop is not None and row >= stop:
            break
        rows = metadata.row_group(group).num_rows
        if groups and group in alone:
            yield first, groups
            groups = []
        if row + rows > start:
            first = row if not groups else first
            groups.append(group)
        row += rows
        if groups and (row - first >= SIZES.parquet_run_rows or group in alone):
            yield first, groups
            groups = []
    if groups:
        yield first, groups


def _largest_run(parquet: pq.ParquetFile, names: list[str]) -> int:
    """The bytes of the columns in the largest run of row groups that are read together."""
    largest, indices = 0, stored_columns(parquet, names)
    for _, groups in _runs(parquet.metadata, 0, None):
        row_groups = (parquet.metadata.row_group(group) for group in groups)
        columns = (group.column(index) for group in row_groups for index in indices)
        largest = max(largest, sum(column.total_compressed_size for column in columns))
    return largest


def _batches(
    parquet: pq.ParquetFile, names: list[str], groups: list[int], fetching: pq.ParquetFile, most: ReadSizes
) -> Iterator[pa.RecordBatch]:
    """Batches of about ``most.parquet_bytes``, read through ``fetching``, which is the same file.

    The sizes of row groups give the width of a row, except if long cells repeat: a dictionary contains each value
    once.  So for a large dictionary, the first rows are decoded to measure them.
    """
    rows = size = 0
    doubtful, indices = False, stored_columns(parquet, names)
    for group in groups:
        metadata = parquet.metadata.row_group(group)
        rows += metadata.num_rows
        for column in map(metadata.column, indices):
            size += column.total_uncompressed_size
            start = column.dictionary_page_offset
            doubtful |= start is not None and column.data_page_offset - start > _SMALL_DICTIONARY
    width = max(1, size // max(1, rows))
    if doubtful:
        probe = parquet.iter_batches(_PROBE_ROWS, row_groups=groups[:1], columns=names, use_threads=False)
        width = max([width, *(_widest(batch) for batch in _first(probe))])
    fitting = max(1, min(rows, most.parquet_rows, most.parquet_bytes // width))
    # Decoding in one thread is as fast, because scoring and writing use the other threads.
    yield from fetching.iter_batches(fitting, row_groups=groups, columns=names, use_threads=False)


def _widest(batch: pa.RecordBatch) -> int:
    """The bytes of the longest row of a valid batch; errors are reported when it is read again."""
    try:
        check_table(batch)
    except InputError:
        return 0
    return int(row_bytes(batch).max())


def _first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            yield batch
        return


PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    ParquetReader,
    magic=(b"PAR1",),
    encoder=lambda path, schema, compression, guard, excel: ParquetEncoder(path, schema),
)


# Arrow IPC files and streams; their offsets are checked before any data is read.


class ArrowReader(Reader):
    """One Arrow IPC file or stream; also Feather version 2."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        with reading(file.shown), self._open(None)[0] as arrow:
            self.schema = arrow.schema.remove_metadata()
            check_names(self.schema, file.shown, FileFormatError)

    def _open(self, columns: list[int] | None) -> tuple[Any, Callable[[], int]]:
        """The file or stream, and how many of its bytes have been read."""
        stream, tell = self.file.open()
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=columns)
        if self.file.compression is None:
            magic = stream.read(6)
            stream.seek(0)
            if magic == b"ARROW1":
                return pa.ipc.open_file(stream, options=options), tell
        return pa.ipc.open_stream(stream, options=options), tell

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows from ``start`` on."""
        names = [name for name in selection.schema.names if name in self.schema.names]
        indices = [self.schema.get_field_index(name) for name in names]
        with reading(self.file.shown):
            arrow, tell = self._open(indices)
            row, most = 0, self.file.sizes.arrow_rows
            for batch, offset in _each(arrow, tell, self.file.size):
                check_table(batch, f"{self.file.shown}, from row {row}, column", FileFormatError)
                for keep in range(max(0, start - row), batch.num_rows, most):
                    piece = batch.slice(keep, most)
                    first = row + keep
                    yield Chunk(number, np.arange(first, first + len(piece), dtype=np.int64), piece, (), offset)
                row += batch.num_rows


def _each(arrow: Any, tell: Callable[[], int], size: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches, each with the approximate number of bytes of the file read so far."""
    if isinstance(arrow, pa.ipc.RecordBatchFileReader):
        for index in range(arrow.num_record_batches):
            yield arrow.get_batch(index), size * (index + 1) // arrow.num_record_batches
    else:
        for batch in arrow:
            yield batch, tell()


ARROW = Format(
    "arrow",
    (".arrow", ".feather", ".ipc", ".arrows"),
    ArrowReader,
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    encoder=lambda path, schema, compression, guard, excel: ArrowEncoder(path, schema),
)
