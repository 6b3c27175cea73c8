"""N vectors of D numbers each, from any source: columns of tables, arrays in files, local or at addresses; with their
ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import threadpoolctl

from fastmetrics.base.arrays import check, is_list, numpy_values, plain_column, plain_table
from fastmetrics.base.column_names import resolve
from fastmetrics.base.columns import as_arrow, fits, ids_in_index, is_column
from fastmetrics.base.errors import Argument, ColumnError, FileFormatError, InputError, UnknownNameError
from fastmetrics.base.limits import WHOLE
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.formats import NPY, table_formats
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.opening import expand, open_files
from fastmetrics.tables.sources import FileSource, FrameSource

# Finding the column of vectors in a table.


def holds_vectors(kind: pa.DataType) -> bool:
    """Whether a column of this type holds consecutive lists of numbers."""
    return is_list(kind) and not pa.types.is_null(kind.value_type) and fits("vector", kind)


def vector_column(schema: pa.Schema, column: str | None, option: str = "column") -> str:
    """The name of a table's column of vectors: the requested one, or else the only one.

    ``option`` is the argument that requests a column, for messages.
    Raises ``UnknownNameError`` if no column has the name, ``ColumnError`` if no column or several columns match.
    """
    if column is not None:
        if column not in schema.names:
            raise UnknownNameError.of("column", column, schema.names)
        return column
    fitting = [field.name for field in schema if holds_vectors(field.type)]
    if len(fitting) != 1:
        names = ", ".join(map(repr, fitting)) or "none"
        raise ColumnError(f"expected one column of lists of numbers, found {names}; name one with ", Argument(option))
    return str(fitting[0])


# Vectors in files: a column of tables of any format, or the arrays of ``.npy`` files, local or at addresses.
#
# Arrays are read, not memory-mapped: a map ends the process (SIGBUS) if another program shortens the file.


def _array(file: DataFile) -> npt.NDArray[Any]:
    """The array in a ``.npy`` file; raises ``FileFormatError`` for a damaged header, for any error in NumPy."""
    with reading(file.shown), np.errstate(over="ignore"), file.open()[0] as stream:
        try:
            array = np.lib.format.read_array(stream, allow_pickle=False)
            if stream.read(1):
                raise ValueError("bytes follow the array")
        except (ValueError, EOFError, IndexError, TypeError, TokenError, MemoryError) as error:
            raise FileFormatError(f"{file.shown}: cannot be read: not a .npy file of numbers: {error}") from error
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


# N vectors of D numbers each, from any source: this module opens and checks them.
#
# A :class:`Vectors` holds views of its source (an array, the values of an Arrow column) and returns blocks of rows, so
# that a million rows need no second copy.


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

    def __init__(self, parts: Sequence[npt.NDArray[Any]], dim: int) -> None:
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
        arrays.  ``column`` names the column of vectors of a table; without it the table must have exactly one.
        ``name`` is what errors call the vectors.

        Raises ``ColumnError`` (a ``ValueError``) where rows differ in length or hold something that is not a number,
        ``FileFormatError`` for a file that cannot be read, or has a bad row.
        """
        if isinstance(source, Vectors):
            return source
        if isinstance(source, str | os.PathLike) or is_table(source):
            return open_vectors(source, column, name=name, ids=False).vectors
        if isinstance(source, pa.Array | pa.ChunkedArray):
            return cls.of_column(source, name)
        if not isinstance(source, np.ndarray) and hasattr(source, "__arrow_c_stream__"):
            return cls.of_column(pa.chunked_array(source), name)
        return cls.of_array(source, name)

    @classmethod
    def joined(cls, each: Sequence[Vectors], name: str) -> Vectors:
        """Vectors of several files one after the other."""
        for vectors in each:
            check_same_width(each[0], vectors, name)
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
        return self._parts[0].dtype == self.dtype and bool(self._parts[0].flags.c_contiguous)

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
    if not pa.types.is_fixed_size_list(chunk.type) or chunk.type.list_size != dim:
        lengths = numpy_values(pc.list_value_length(chunk), null=dim)
        odd = np.flatnonzero(lengths != dim)
        if len(odd):
            row = int(odd[0])
            differs = f"{name}: row {first_row + row} has {lengths[row]} numbers, expected {dim} as in the rows before"
            raise ColumnError(differs)
    rows = _numbers(chunk.flatten()).reshape(len(chunk) - chunk.null_count, dim)
    if not chunk.null_count:
        return rows
    whole = np.full((len(chunk), dim), np.nan, rows.dtype)
    whole[np.asarray(chunk.is_valid())] = rows
    return whole


def _numbers(values: pa.Array) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def check_same_width(left: Vectors, right: Vectors, what: str) -> None:
    """Raise ``InputError`` unless both hold vectors of the same length."""
    if left.dim != right.dim:
        widths = f"{left.dim} and {right.dim} numbers"
        raise InputError(f"{what}: vectors of {widths} cannot be compared; embed both with one model")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread: the package's threads share the work; results do not depend on them."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


# Vectors with the ids of their rows, of files or of anything in memory.


@dataclass(frozen=True)
class OpenedVectors:
    """Vectors, and the ids of their rows if they have some; ``name`` is that of the vectors in messages."""

    vectors: Vectors
    ids: pa.Array | None
    name: str
    in_column: bool = True
    """Whether they are in a column of a table."""
    texts: pa.Array | None = None
    """The texts of the rows, if these were asked for and there are some."""


def open_vectors(
    source: VectorsLike,
    column: str | None = None,
    *,
    name: str = "vectors",
    option: str = "column",
    ids: bool = True,
    texts: str | bool = False,
) -> OpenedVectors:
    """The vectors of paths, a table of any kind, an array or a column, and ``ids`` and ``texts``, if asked for.

    A path is a file, folder, glob, address or ``-`` (standard input); the others are what :meth:`Vectors.of` takes.
    ``column`` and ``option`` are those of :func:`vector_column`; ``texts`` names a column, or stands for the usual one.

    Raises ``FileFormatError`` for a file that cannot be read or has a bad row, ``ColumnError`` for a column of another
    type, or if the choice of the column is ambiguous.
    """
    is_path = isinstance(source, str | os.PathLike)
    if isinstance(source, Vectors) or not (is_path or is_table(source)):
        _no_texts(texts, name)
        return OpenedVectors(Vectors.of(source, name=name), None, name, in_column=False)
    table: pa.Table
    if not is_path:
        frame = FrameSource(source, name=name)
        id_column = resolve(frame.names, needed={"id"}).get("id") if ids else None
        known = column in frame.names and not texts
        table = plain_table(frame.hold(filter(None, (column, id_column)) if known else frame.names))
        chosen = vector_column(table.schema, column, option)
        text_column = _text_column(table.schema.names, chosen, texts)
        described = f"column {chosen!r}"
    else:
        path = source if isinstance(source, str) else Path(source)
        files = expand(path, formats=(*table_formats(), NPY.name))
        name = files[0].shown if len(files) == 1 else shown_address(as_local(path))
        arrays = [file for file in files if file.format == NPY.name]
        if len(arrays) == len(files):
            _no_texts(texts, name)
            each = [Vectors.of_array(_array(file), name) for file in arrays]
            return OpenedVectors(Vectors.joined(each, name), None, name, in_column=False)
        if arrays:
            raise FileFormatError(f"{name}: expected .npy files or tables, got both, such as {arrays[0].shown}")
        opened = open_files([replace(file, sizes=WHOLE) for file in files])
        try:
            chosen = vector_column(_as_it_looks(opened), column, option)
            text_column = _text_column(opened.schema.names, chosen, texts)
        except (ColumnError, UnknownNameError) as error:
            raise type(error)(f"{name}: ", error.message) from error
        id_column = resolve(opened.schema.names, needed={"id"}).get("id") if ids else None
        kinds = {**({} if id_column is None else {id_column: "any"}), chosen: "vector"}
        table = whole_table(opened, kinds if text_column is None else {text_column: "text", **kinds})
        name = described = f"{name}: column {chosen!r}"
    vectors = Vectors.of_column(table[chosen], described)
    own_ids, own_texts = (None if own is None else table[own].combine_chunks() for own in (id_column, text_column))
    own_ids = ids_in_index(source) if own_ids is None and ids else own_ids
    return OpenedVectors(vectors, own_ids, name, texts=own_texts)


def _text_column(names: Sequence[str], vectors: str, texts: str | bool) -> str | None:
    """The column of texts that is named, or the one that was embedded, or else the first of the usual ones."""
    if isinstance(texts, str):
        if texts not in names:
            raise UnknownNameError.of("column", texts, names)
        return texts
    usual = (vectors.removesuffix("_embedding"), "question", "answer", "reference", "text")
    return next((name for name in usual if name in names and name != vectors), None) if texts else None


def _no_texts(texts: str | bool, name: str) -> None:
    if isinstance(texts, str):
        raise ColumnError(f"{name}: expected a table with the column {texts!r} of texts, got vectors alone")


def vectors_and_ids(source: VectorsLike, column: str | None = None, name: str = "vectors") -> tuple[Vectors, pa.Array]:
    """Opened vectors, and their ids: row numbers where there are none.

    >>> vectors, ids = vectors_and_ids({"id": ["a", "b"], "embedding": [[3.0, 4.0], [0.0, 1.0]]})
    >>> vectors.rows, vectors.dim, ids.to_pylist()
    (2, 2, ['a', 'b'])
    """
    opened = open_vectors(source, column, name=name)
    return opened.vectors, pa.array(np.arange(opened.vectors.rows)) if opened.ids is None else opened.ids
