"""Vectors in files: a column of tables of any format, or the arrays of ``.npy`` files, local or at addresses.

Arrays are not memory-mapped, because a map ends the process (SIGBUS) if another program shortens the file.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import ColumnError, FileFormatError, UnknownNameError
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.limits import SIZES, WHOLE
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.file_formats import NPY, table_formats
from fastmetrics.tables.input_files import DataFile, reading, spool
from fastmetrics.tables.input_paths import expand
from fastmetrics.tables.sources import FileSource, open_files
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.vectors.vector_columns import vector_column


@dataclass(frozen=True)
class FileRows:
    """The rows of a two-dimensional array in a file from a byte ``offset`` on: slices and lists of rows are arrays.

    ``check`` is called after each read, and raises an error if the file was changed.
    """

    path: str | os.PathLike[str]
    shown: str
    offset: int
    shape: tuple[int, int]
    stored: np.dtype[Any]
    check: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers, in the byte order of this machine."""
        return self.stored.newbyteorder("=")

    def __getitem__(self, rows: slice | Ints) -> npt.NDArray[Any]:
        """Some rows as a new array; raises ``FileFormatError`` if the file was changed or cannot be read."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._runs(np.array([start]), np.array([max(start, stop)]))
        if not len(rows):
            return self[:0]
        distinct, places = np.unique(rows, return_inverse=True)
        breaks = np.flatnonzero(np.diff(distinct) > 1)
        runs = self._runs(distinct[np.append(0, breaks + 1)], distinct[np.append(breaks, -1)] + 1)
        return np.asarray(runs[places])

    def _runs(self, starts: Ints, stops: Ints) -> npt.NDArray[Any]:
        """The rows of several runs, from each start to before its stop."""
        rows_read = np.empty((int((stops - starts).sum()), self.shape[1]), self.stored)
        width = rows_read.itemsize * self.shape[1]
        room = rows_read.view(np.uint8).reshape(-1).data if rows_read.size else memoryview(b"")
        with reading(self.shown), open(self.path, "rb", buffering=0) as file:
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                piece, room = room[: (stop - start) * width], room[(stop - start) * width :]
                file.seek(self.offset + start * width)
                while len(piece) and (size := file.readinto(piece)):
                    piece = piece[size:]
                if len(piece):
                    self.check()
                    raise FileFormatError(f"{self.shown}: the file ends before row {stop - 1:,} of {len(self):,}")
        self.check()
        return rows_read


_HEADERS: Mapping[tuple[int, int], Callable[[io.BytesIO], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""The readers of the headers of ``.npy`` files, by version; version 3.0 is of records only."""


@dataclass(frozen=True)
class VectorFiles:
    """Contents of files: two-dimensional ``arrays``, or a ``column`` of lists; and the tables' ids, if any.

    ``name`` is the name of the vectors in messages.
    """

    name: str
    arrays: Sequence[npt.NDArray[Any] | FileRows]
    column: pa.ChunkedArray | None = None
    ids: pa.Array | None = None


def read_vectors(path: str | os.PathLike[str], column: str | None = None, option: str = "column") -> VectorFiles:
    """The vectors of a file, folder, glob, address or ``-`` (standard input), and their ids.

    The rows of arrays are read when they are needed; large ones of compressed or remote files
    are copied to the disk first.  ``column`` and ``option`` as in :func:`vector_column`.

    Raises ``FileFormatError`` for a file that cannot be read or has a bad row, ``ColumnError`` for a column of another
    type, or if the choice of the column is ambiguous.
    """
    path = path if isinstance(path, str) else Path(path)
    files = expand(path, formats=(*table_formats(), NPY.name))
    name = files[0].shown if len(files) == 1 else shown_address(as_local(path))
    arrays = [file for file in files if file.format == NPY.name]
    if len(arrays) == len(files):
        return VectorFiles(name, [_array(file) for file in arrays])
    if arrays:
        raise FileFormatError(f"{name}: expected .npy files or tables, got both, such as {arrays[0].shown}")
    source = open_files([replace(file, sizes=WHOLE) for file in files])
    try:
        chosen = vector_column(_as_it_looks(source), column, option)
    except (ColumnError, UnknownNameError) as error:
        raise type(error)(f"{name}: ", error.message) from error
    id_column = resolve(source.schema.names, needed={"id"}).get("id")
    kinds = {**({} if id_column is None else {id_column: "any"}), chosen: "vector"}
    table = whole_table(source, kinds)
    ids = None if id_column is None else table[id_column].combine_chunks()
    return VectorFiles(f"{name}: column {chosen!r}", [], table[chosen], ids)


def _array(file: DataFile) -> npt.NDArray[Any] | FileRows:
    """The array in a ``.npy`` file; raises ``FileFormatError`` for a damaged header, for any error in NumPy."""
    with reading(file.shown), np.errstate(over="ignore"):
        try:
            if not file.is_remote and file.compression is None:
                return _local(file)
            return _streamed(file)
        except (ValueError, EOFError, IndexError, TypeError, TokenError, MemoryError) as error:
            raise FileFormatError(f"{file.shown}: cannot be read: not a .npy file of numbers: {error}") from error


def _local(file: DataFile) -> npt.NDArray[Any] | FileRows:
    """The rows in the file, or another array as a whole."""
    mapped = np.load(file.path, mmap_mode="r", allow_pickle=False)  # reads the header; nothing reads the map
    if not isinstance(mapped, np.memmap):
        raise ValueError("a .npz file; expected one array")
    excess = file.size - mapped.offset - mapped.nbytes
    if excess > 0:
        raise ValueError(f"{excess:,} bytes follow the array")
    if mapped.ndim != 2 or mapped.dtype.kind not in "fiub" or not mapped.flags.c_contiguous:
        return _unpacked(file)
    count, dim = mapped.shape
    return FileRows(file.path, file.shown, mapped.offset, (count, dim), mapped.dtype, file.check_unchanged)


def _streamed(file: DataFile) -> npt.NDArray[Any] | FileRows:
    """The array of a compressed or remote file: in memory if it is small, else the rows of a copy on the disk.

    No more bytes are unpacked than it has.
    """
    with file.open()[0] as stream:
        head = stream.read(SIZES.stream_block_bytes)
        size = _stated_size(head)
        unread = max(0, size - len(head))
        copy = None
        if size <= SIZES.array_bytes:
            array = np.lib.format.read_array(io.BytesIO(head + stream.read(unread)), allow_pickle=False)
        else:
            path, checksum = spool(stream, file.shown, head, unread)
            copy = replace(file, path=path, checksum=checksum, compression=None, stamp=None, content=None)
        if len(head) > size or stream.read(1):
            raise ValueError("bytes follow the array")
    file.check_unchanged()
    return array if copy is None else _local(copy)


def _stated_size(head: bytes) -> int:
    """The bytes of a ``.npy`` file by its header."""
    begin = io.BytesIO(head)
    version = np.lib.format.read_magic(begin)
    if version not in _HEADERS:
        raise ValueError(f"expected one array of numbers in version 1.0 or 2.0 of the format, got {version}")
    shape, _, dtype = _HEADERS[version](begin)
    return begin.tell() + math.prod(shape) * dtype.itemsize


def _unpacked(file: DataFile) -> npt.NDArray[Any]:
    """The array of a local file in memory."""
    with file.open()[0] as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    file.check_unchanged()
    return array


def _as_it_looks(source: FileSource) -> pa.Schema:
    """The columns; a column without a type, as in CSV, becomes a list column if its first cell is in brackets."""
    if source.has_types:
        return source.schema
    first = next(source.chunks(source.select(dict.fromkeys(source.schema.names, "text"))), None)
    cells = first.batch.slice(0, 1).to_pylist() if first is not None else []
    listed = {name for cell in cells for name, text in cell.items() if text.lstrip().startswith("[")}
    vectors = pa.list_(pa.float64())
    return pa.schema([(f.name, vectors if f.name in listed else f.type) for f in source.schema])
