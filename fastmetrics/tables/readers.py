"""What reads the files of a format: the chunks of rows that it gives, and the interface of readers and formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_list_view, numpy_values
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.presets import Preset
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.encoders import Encoder
from fastmetrics.tables.input_files import DataFile

# Chunks of rows: their positions in the input, and dividing them into batches and parts.


Rows = npt.NDArray[np.int64]

RAW_CHARACTERS = 10_000


class Position(NamedTuple):
    """The position of a row in the input: file and row of the file, both from 0."""

    file: int
    row: int


BEGINNING = Position(0, 0)


@dataclass(frozen=True)
class Reject:
    """A row that could not be read or scored. ``where`` is "line 7" (from 1) or "row 6" (from 0)."""

    position: Position
    path: str
    where: str
    column: str | None
    reason: str
    raw: str

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.path}, {self.where}{column}: {self.reason}"

    def to_json(self) -> str:
        """One line of a rejects file; the raw row is truncated after 10,000 characters."""
        unit, number = self.where.split()
        record = {"file": self.path, unit: int(number), "column": self.column, "reason": self.reason}
        return json.dumps({**record, "raw": self.raw[:RAW_CHARACTERS]}, ensure_ascii=False)


@dataclass(frozen=True)
class Chunk:
    """Rows of one file: ``rows`` are their numbers in it; ``rejects`` are bad rows before or among them.

    ``offset`` is the number of bytes of the file read so far, if its rows are not counted beforehand.
    """

    file: int
    rows: Rows
    batch: pa.RecordBatch
    rejects: tuple[Reject, ...] = ()
    offset: int = 0

    @property
    def stop(self) -> int:
        """The row after the last one, good or bad; 0 if there is none."""
        last = int(self.rows[-1]) if len(self.rows) else -1
        return 1 + max([last, *(reject.position.row for reject in self.rejects)])

    def without(
        self,
        wrong: Mapping[int, tuple[str | None, str]],
        where: Callable[[Position], tuple[str, str]],
        raw: Callable[[int], str],
    ) -> Chunk:
        """The chunk without its wrong rows, which are rejects: each with its column and the reason.

        ``where`` gives the file and row of a position for messages, and ``raw`` the text of a row of the batch.
        """
        if not wrong:
            return self
        good = np.ones(len(self.rows), np.bool_)
        good[list(wrong)] = False
        rejects = list(self.rejects)
        for row, reason in wrong.items():
            position = Position(self.file, int(self.rows[row]))
            rejects.append(Reject(position, *where(position), *reason, raw(row)))
        rejects.sort(key=lambda reject: reject.position)
        batch = self.batch.filter(pa.array(good))
        return Chunk(self.file, self.rows[good], batch, tuple(rejects), self.offset)

    def slice(self, start: int, stop: int, rejects: tuple[Reject, ...]) -> Chunk:
        """The rows from ``start`` to before ``stop``, without a copy."""
        return Chunk(self.file, self.rows[start:stop], self.batch.slice(start, stop - start), rejects, self.offset)


@dataclass(frozen=True)
class Limits:
    """Maximum rows of a batch (the unit of work; fewer if rows are long), and the rows of a part (the unit of saving).

    The end of a part depends only on the input and on ``part_rows``, and so do the output files.
    """

    batch_rows: int = field(default_factory=lambda: SIZES.read_batch_rows)
    part_rows: int = field(default_factory=lambda: SIZES.part_rows)


def batch_of(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def cell_bytes(array: pa.Array) -> Rows:
    """The bytes of content in each cell, in any layout: a dictionary's words count at each use.

    >>> cell_bytes(pa.array(["ab", None, "é"])).tolist()
    [2, 0, 2]
    """
    type_ = array.type
    if pt.is_dictionary(type_):
        words = cell_bytes(array.dictionary)
        return np.append(words, 0)[_filled(array.indices, len(words))]
    if isinstance(type_, pa.BaseExtensionType):
        return cell_bytes(array.storage)
    if pt.is_run_end_encoded(type_):
        runs = np.searchsorted(array.run_ends, np.arange(len(array)) + array.offset, side="right")
        return cell_bytes(array.values)[runs]
    if pt.is_map(type_):
        ends = np.concatenate([[0], np.cumsum(cell_bytes(array.keys) + cell_bytes(array.items))])
        return np.asarray(np.diff(ends[numpy_values(array.offsets)]), dtype=np.int64)
    if is_list_view(type_):
        return _view_bytes(array)
    if is_list(type_):
        if pt.is_fixed_size_list(type_):
            array = array.cast(pa.list_(type_.value_type))
        lengths = _filled(pc.list_value_length(array), 0)
        ends = np.concatenate([[0], np.cumsum(cell_bytes(array.flatten()))])
        stops = np.cumsum(lengths)
        return np.asarray(ends[stops] - ends[stops - lengths], dtype=np.int64)
    if pt.is_struct(type_):
        return np.asarray(sum((cell_bytes(field) for field in array.flatten()), np.zeros(len(array), np.int64)))
    if pt.is_primitive(type_) or pt.is_decimal(type_):
        return np.full(len(array), max(1, type_.bit_width // 8), dtype=np.int64)
    if pt.is_null(type_):
        return np.zeros(len(array), dtype=np.int64)
    if pt.is_string_view(type_) or pt.is_binary_view(type_):
        return _word_bytes(array)
    return _filled(pc.binary_length(array), 0)


def _view_bytes(array: pa.Array) -> Rows:
    """The bytes in each list of a list view, whose lists may share elements; each element counts one byte more.

    Views in which few elements are repeated very often are thus split before they are expanded.
    """
    ends = np.concatenate([[0], np.cumsum(cell_bytes(array.values) + 1)])
    starts, sizes = numpy_values(array.offsets), numpy_values(array.sizes)
    return np.where(_valid(array), ends[starts + sizes] - ends[starts], 0).astype(np.int64)


def _word_bytes(array: pa.Array) -> Rows:
    """The bytes of each string of a view; the length is the first of its four numbers."""
    lengths = np.frombuffer(array.buffers()[1], np.int32)[4 * array.offset :: 4][: len(array)]
    return np.where(_valid(array), lengths, 0).astype(np.int64)


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    return numpy_values(array.is_valid())


def _filled(lengths: pa.Array, null: int) -> Rows:
    """The numbers as NumPy, with nulls replaced by ``null``."""
    return np.asarray(numpy_values(lengths, null), dtype=np.int64)


def row_bytes(batch: pa.RecordBatch) -> Rows:
    """The bytes of content in each row."""
    return np.asarray(sum((cell_bytes(column) for column in batch.columns), np.zeros(batch.num_rows, np.int64)))


def too_long(most: int) -> str:
    """The error message for a row of more than this many bytes."""
    return f"the row has more than {most:,} bytes, the limit of max_row_bytes"


def long_rows(batch: pa.RecordBatch, most: int) -> list[int]:
    """The rows of more than ``most`` bytes, in a batch with plain layouts."""
    if batch.nbytes <= most:
        return []
    numbers: list[int] = np.flatnonzero(row_bytes(batch) > most).tolist()
    return numbers


def divided(
    chunks: Iterable[Chunk], limits: Limits, done: int = 0, *, to_first_reject: bool = False
) -> Iterator[tuple[int, Chunk]]:
    """Chunks no larger than a batch, each with the number of its part; ``chunks`` begin after the ``done`` first parts.

    A part has ``part_rows`` good rows, and the bad rows among and after them.  What follows the first bad row, which
    may be endless, is not read if that row ends the run.
    """
    first = done * limits.part_rows
    for chunk in chunks:
        good = np.searchsorted(chunk.rows, [reject.position.row for reject in chunk.rejects])
        rows, start = len(chunk.rows), 0
        long = chunk.batch.nbytes > SIZES.read_batch_bytes
        ends = np.cumsum(row_bytes(chunk.batch)) if long else np.zeros(rows, np.int64)
        before = tuple(reject for reject, place in zip(chunk.rejects, good, strict=True) if place == 0)
        part = max(0, first - 1) // limits.part_rows
        if before and part >= done:
            yield part, chunk.slice(0, 0, before)
        while start < rows:
            part = (first + start) // limits.part_rows
            filled = ends[start - 1] * (start > 0) + SIZES.read_batch_bytes
            fits = max(start + 1, int(np.searchsorted(ends, filled, side="right")))
            stop = min(rows, start + limits.batch_rows, fits, (part + 1) * limits.part_rows - first)
            own = tuple(one for one, place in zip(chunk.rejects, good, strict=True) if start < place <= stop)
            yield part, chunk.slice(start, stop, own)
            start = stop
        first += rows
        if chunk.rejects and to_first_reject:
            return


# The interface of a format: how its files are recognised, what reads them, and what writes them.


class Reader(ABC):
    """Base class of the readers of one file; a reader sets ``schema``, all columns, and ``rows`` if the file tells."""

    schema: pa.Schema
    rows: int | None = None
    unreadable: FileFormatError | None = None
    """Why the file seems to have no columns, if no other file has any."""
    is_text = False
    """Whether the values of columns without a known type become those of the requested kind."""
    has_types = True
    """Whether the columns have types at all."""
    has_blanks = False
    """Whether a missing value of a column of text is a blank cell."""
    has_decimal_comma = False
    """Whether numbers among the texts may have a decimal comma."""
    has_late_columns = False
    """Whether a column may occur that is not in ``schema``; ``holds`` then looks for it."""

    preset: Preset | None = None
    """The preset that was named, or by whose signs the file was recognised."""

    note: str | None = None
    """What the reader of a result should know."""
    unstable: str | None = None
    """Why a run cannot go on in the middle of the rows, if it cannot."""

    follows_paths = False
    """Whether ``read`` gives the columns of paths; others give the columns that the paths go into."""

    def __init__(self, file: DataFile) -> None:
        self.file = file
        self.unreadable_columns: Mapping[str, str] = {}
        """The columns of ``schema`` that cannot be read, with the reasons."""

    def states(self, name: str) -> bool:
        """Whether the type of a column is known."""
        return not self.is_text

    def fingerprint(self) -> list[Any]:
        """The identity of the rows, which differs for changed rows."""
        return self.file.fingerprint()

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if the rows were changed since they were opened."""
        self.file.check_unchanged()

    def holds(self, name: str) -> bool:
        """Whether a column that is not in ``schema`` occurs in any row."""
        return False

    def where(self, row: int) -> str:
        """A row in messages, from its number."""
        return f"row {row}"

    def place(self, position: Position) -> tuple[str, str]:
        """The file and row of a position of this file, for messages."""
        return self.file.shown, self.where(position.row)

    @abstractmethod
    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The selected columns of the rows from ``start`` on; ``number`` is that of the file, for the chunks.

        A column of ``selection`` that the file lacks, a folder name gives it, is left out.
        """


MakeEncoder: TypeAlias = Callable[[Path, pa.Schema, str | None], Encoder]
"""The encoder for a path and a schema, with a compression."""


@dataclass(frozen=True)
class Format:
    """A format of files; :data:`fastmetrics.tables.formats.FORMATS` lists all."""

    name: str
    suffixes: Sequence[str]
    reader: Callable[[DataFile], Reader] | None
    """Opens a file as a table; None for a format that is no table."""
    magic: tuple[bytes, ...] = ()
    """The first bytes of a file."""
    looks_like: Callable[[bytes], Any] | None = None
    """Whether the first bytes of a file without any format's ``magic`` are of this format."""
    encoder: MakeEncoder | None = None
    """Writes a file; None for a format that is only read."""
    compressions: Sequence[str] = ()
    """The suffixes of compressions of written files."""
