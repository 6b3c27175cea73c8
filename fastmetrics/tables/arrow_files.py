"""Parquet and Arrow files, read in batches with bounded memory; offsets are checked before data is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.base.arrays import check_names, check_table
from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.encoders import ArrowEncoder, ParquetEncoder
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.readers import Chunk, Format, Reader, row_bytes
from fastmetrics.tables.remote_files import patiently

# Parquet files, read in batches with bounded memory.


_PROBE_ROWS = 8
_SMALL_DICTIONARY = 16 << 10
_END_BYTES = 8
"""The end of a Parquet file: the length of the data about its columns, and four letters."""


def stored_columns(parquet: pq.ParquetFile, names: Collection[str]) -> list[int]:
    """The columns of values that store the columns ``names``, by their numbers in a row group.

    PyArrow ends the process at some damage in what the file says of a column: only columns that are read are looked at.
    """
    paths = (parquet.schema.column(index).path for index in range(len(parquet.schema)))
    return [index for index, path in enumerate(paths) if path.split(".")[0] in names]


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
        """The file, with the columns ``coded`` read as dictionaries; of a remote one, a run takes few requests."""
        options = {"pre_buffer": self.file.is_remote, "read_dictionary": coded}
        if self.file.is_remote:
            return patiently(lambda: pq.ParquetFile(self.file.at_random(), **options))
        return pq.ParquetFile(self.file.path, buffer_size=self.file.sizes.parquet_buffer_bytes, **options)

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows from ``start`` on; row groups before it are not read.

        Columns selected as dictionaries are read as dictionaries if they are text.
        """
        own = set(self.schema.names)
        names = [name for name in selection.schema.names if name in own]
        coded = [field.name for field in selection.schema if pa.types.is_dictionary(field.type)]
        with reading(self.file.shown), self._open(coded) as parquet:
            if self.file.is_remote:
                self._check_open(parquet)
            for first, groups in _runs(parquet.metadata, start):
                row = first
                for batch in _batches(parquet, names, groups, self.file.sizes):
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


def _runs(metadata: pq.FileMetaData, start: int) -> Iterator[tuple[int, list[int]]]:
    """Runs of row groups to read together, so that small ones are cheap, each with its first row."""
    row = first = 0
    groups: list[int] = []
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row + rows > start:
            first = row if not groups else first
            groups.append(group)
        row += rows
        if groups and row - first >= SIZES.parquet_run_rows:
            yield first, groups
            groups = []
    if groups:
        yield first, groups


def _batches(parquet: pq.ParquetFile, names: list[str], groups: list[int], most: ReadSizes) -> Iterator[pa.RecordBatch]:
    """Batches of about ``most.parquet_bytes``.

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
        first = next(probe, None)
        width = max(width, _widest(first)) if first else width
    fitting = max(1, min(rows, most.parquet_rows, most.parquet_bytes // width))
    # Decoding in one thread is as fast, because scoring and writing use the other threads.
    yield from parquet.iter_batches(fitting, row_groups=groups, columns=names, use_threads=False)


def _widest(batch: pa.RecordBatch) -> int:
    """The bytes of the longest row of a valid batch; errors are reported when it is read again."""
    try:
        check_table(batch)
    except InputError:
        return 0
    return int(row_bytes(batch).max())


PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    ParquetReader,
    magic=(b"PAR1",),
    encoder=lambda path, schema, compression: ParquetEncoder(path, schema),
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
    encoder=lambda path, schema, compression: ArrowEncoder(path, schema),
)
