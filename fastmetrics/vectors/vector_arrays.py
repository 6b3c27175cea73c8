"""N vectors of D numbers each, from any source: this module opens and checks them.

A :class:`Vectors` holds views of its source (an array, the rows of a file, the values of an Arrow column) and returns
blocks of rows, so that a million rows need no second copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import threadpoolctl

from fastmetrics.base.arrow import check, plain_column, plain_table
from fastmetrics.base.columns import as_arrow, is_column
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.tables.sources import FrameSource
from fastmetrics.vectors.vector_columns import holds_vectors, vector_column
from fastmetrics.vectors.vector_files import FileRows

if TYPE_CHECKING:
    from fastmetrics.vectors.vector_files import VectorFiles

Block: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Ids: TypeAlias = npt.NDArray[np.int64]
Metric: TypeAlias = Literal["cosine", "euclidean"]
METRICS = get_args(Metric)
"""The distances of two vectors."""
VectorsLike: TypeAlias = Any
"""Inputs of :meth:`Vectors.of`: a 2-D array, rows of numbers, a table of any kind, a column, or a path."""


def is_table(source: VectorsLike) -> bool:
    """Whether vectors in memory are in a table, rather than a column or an array of any library.

    >>> is_table({"embedding": [[1.0]]}), is_table(pa.table({"embedding": [[1.0]]})), is_table([[1.0]])
    (True, True, False)
    """
    return not is_column(source) and (hasattr(source, "columns") or not hasattr(source, "__array__"))


class Vectors:
    """Rows of one length; ``rows`` × ``dim`` numbers of ``dtype`` float32 or float64.

    float16 is read as float32 and integers as float64.  A null row reads as a row of NaN.

    >>> vectors = Vectors.of([[3.0, 4.0], [0.0, 1.0]])
    >>> vectors.rows, vectors.dim, vectors.block(1, 2).tolist(), vectors.take([1, 0]).tolist()
    (2, 2, [[0.0, 1.0]], [[0.0, 1.0], [3.0, 4.0]])
    """

    def __init__(self, parts: Sequence[npt.NDArray[Any] | FileRows], dim: int) -> None:
        self._parts = [part for part in parts if len(part)]
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self.rows = int(self._starts[-1])
        self.dim = dim
        single = all(part.dtype in (np.float16, np.float32) for part in self._parts)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single and self._parts else np.float64)

    @classmethod
    def of(cls, source: VectorsLike, column: str | None = None, *, name: str = "vectors") -> Vectors:
        """The vectors in ``source``: a 2-D array, rows of numbers, a table of any kind, a column, or a path.

        A path means what it means to ``score``: a file, folder, glob or address of tables in any format, or of ``.npy``
        arrays, whose rows are read when they are needed if the file is local.  ``column`` names the column of vectors
        of a table; without it the table must have exactly one. ``name`` is what errors call the vectors.

        Raises ``ColumnError`` (a ``ValueError``) where rows differ in length or hold something that is not a number,
        ``FileFormatError`` for a file that cannot be read, or has a bad row.
        """
        if isinstance(source, Vectors):
            return source
        if isinstance(source, str | os.PathLike):
            from fastmetrics.vectors.vector_files import read_vectors

            return cls.of_files(read_vectors(source, column))
        if is_table(source):
            frame = FrameSource(source, name=name)
            table = plain_table(frame.hold([column] if column in frame.names else frame.names))
            chosen = vector_column(table.schema, column)
            return cls.of_column(table.column(chosen), f"column {chosen!r}")
        if isinstance(source, pa.Array | pa.ChunkedArray):
            return cls.of_column(source, name)
        if not isinstance(source, np.ndarray) and hasattr(source, "__arrow_c_stream__"):
            return cls.of_column(pa.chunked_array(source), name)
        return cls.of_array(source, name)

    @classmethod
    def of_files(cls, files: VectorFiles) -> Vectors:
        """The vectors that were read from files."""
        if files.column is not None:
            return cls.of_column(files.column, files.name)
        each = [
            cls([array], array.shape[1]) if isinstance(array, FileRows) else cls.of_array(array, files.name)
            for array in files.arrays
        ]
        for vectors in each:
            check_same_width(each[0], vectors, files.name)
        return cls([part for vectors in each for part in vectors._parts], each[0].dim)

    @classmethod
    def of_array(cls, source: Any, name: str = "vectors") -> Vectors:
        """The rows of a 2-D array, or of anything that NumPy converts to one."""
        try:
            array = np.asanyarray(source)
        except ValueError as error:
            raise ColumnError(f"{name}: the rows differ in length; expected N rows of D numbers") from error
        if array.ndim == 1 and array.dtype == object and len(array) and isinstance(array[0], list | tuple | np.ndarray):
            return cls.of_column(as_arrow(array, name), name)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ColumnError(
                f"{name}: expected a 2-D array of numbers, got {array.ndim}-D of {array.dtype}; "
                "for a single vector, pass vector[None, :]"
            )
        if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not array.dtype.isnative:
            array = array.astype(np.float64 if array.dtype.itemsize > 4 or array.dtype.kind != "f" else np.float32)
        return cls([array], array.shape[1])

    @classmethod
    def of_column(cls, column: pa.Array | pa.ChunkedArray, name: str = "vectors") -> Vectors:
        """The rows of an Arrow column of lists."""
        check(column, name)
        column = plain_column(column)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        if not holds_vectors(column.type):
            raise ColumnError(f"{name}: expected lists of numbers, got {column.type}")
        widths = [_width(chunk) for chunk in chunks]
        dim = next((width for width in widths if width >= 0), 0)
        parts = []
        row = 0
        for chunk in chunks:
            parts.append(_matrix(chunk, dim, row, name))
            row += len(chunk)
        return cls(parts, dim)

    def block(self, start: int, stop: int) -> Block:
        """Rows ``start`` to ``stop`` as one contiguous array: a read-only view if possible."""
        first = int(np.searchsorted(self._starts, start, "right")) - 1
        pieces = []
        while start < stop:
            offset = int(self._starts[first])
            end = min(stop, int(self._starts[first + 1]))
            pieces.append(self._parts[first][start - offset : end - offset])
            start, first = end, first + 1
        return self._frozen(pieces[0] if len(pieces) == 1 else np.concatenate(pieces or [np.empty((0, self.dim))]))

    def take(self, rows: npt.ArrayLike) -> Block:
        """The given rows, in the order given, as a new array."""
        numbers = np.asarray(rows, np.int64)
        block = np.empty((len(numbers), self.dim), self.dtype)
        parts = np.searchsorted(self._starts, numbers, "right") - 1
        for number in np.unique(parts):
            here = parts == number
            block[here] = self._parts[number][numbers[here] - self._starts[number]]
        return self._frozen(block)

    @property
    def single(self) -> bool:
        """Whether :meth:`all` is a view."""
        if len(self._parts) != 1:
            return False
        part = self._parts[0]
        return isinstance(part, np.ndarray) and part.dtype == self.dtype and bool(part.flags.c_contiguous)

    def all(self) -> Block:
        """Every row as one contiguous array: a read-only view if possible."""
        return self.block(0, self.rows)

    def _frozen(self, array: npt.NDArray[Any]) -> Block:
        block: Block = np.asarray(array, dtype=self.dtype, order="C").view(np.ndarray)
        block = block[:]  # a new view: making it read-only does not affect the caller's array
        block.setflags(write=False)
        return block


def _width(chunk: pa.Array) -> int:
    """Length of the chunk's first vector, -1 without any."""
    if pa.types.is_fixed_size_list(chunk.type):
        return int(chunk.type.list_size)
    first = next((row for row in range(len(chunk)) if chunk[row].is_valid), None)
    return -1 if first is None else len(chunk[first])


def _matrix(chunk: pa.Array, dim: int, first_row: int, name: str) -> npt.NDArray[Any]:
    """One chunk of a list column as rows: a view of its values unless it has nulls."""
    valid = np.asarray(chunk.is_valid())
    if pa.types.is_fixed_size_list(chunk.type):
        starts = (chunk.offset + np.arange(len(chunk), dtype=np.int64)) * dim
        lengths = np.full(len(chunk), int(chunk.type.list_size))
    else:
        offsets = np.asarray(chunk.offsets, np.int64)
        starts, lengths = offsets[:-1], np.diff(offsets)
    odd = np.flatnonzero(valid & (lengths != dim))
    if len(odd):
        row = int(odd[0])
        raise ColumnError(
            f"{name}: row {first_row + row} has {lengths[row]} numbers, expected {dim} as in the rows before"
        )
    values = _numbers(chunk.values)
    if valid.all() and np.array_equal(starts, starts[:1] + np.arange(len(chunk)) * dim):
        begin = int(starts[0]) if len(chunk) else 0
        return values[begin : begin + len(chunk) * dim].reshape(len(chunk), dim)
    rows = np.full((len(chunk), dim), np.nan, values.dtype)
    rows[valid] = values[starts[valid, None] + np.arange(dim)]
    return rows


def _numbers(values: pa.Array) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def check_same_width(left: Vectors, right: Vectors, what: str) -> None:
    """Raise ``InputError`` unless both hold vectors of the same length."""
    if left.dim != right.dim:
        raise InputError(f"{what}: vectors of {left.dim} and {right.dim} numbers cannot be compared")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread: the package's threads share the work; results do not depend on them."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield
