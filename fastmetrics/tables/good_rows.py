"""The good rows of a table, in batches, in pieces, or whole; text that is not UTF-8 is reported by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_text
from fastmetrics.base.errors import Argument, FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.progress import WorkDone, report
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.readers import Chunk, Limits, Reject, batch_of, divided, long_rows, too_long
from fastmetrics.tables.sources import FrameSource, TableSource, plain_selection
from fastmetrics.text.text_keys import is_utf8

# Finding text that is not UTF-8, by column, and reporting it by cell.

_NOT_UTF8 = "invalid UTF-8"


def bad_text(batch: pa.RecordBatch) -> dict[int, tuple[str | None, str]]:
    """The rows with invalid UTF-8, each with its first invalid column and the reason."""
    bad: dict[int, tuple[str | None, str]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not _valid(column):
            for row in range(len(column)):
                reason = None if row in bad else _reason(column.slice(row, 1))
                if reason is not None:
                    bad[row] = (name, reason)
    return bad


def _valid(array: pa.Array) -> bool:
    return all(map(is_utf8, _text_within(array)))


def _reason(cell: pa.Array) -> str | None:
    for text in _texts(cell):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            return f"{_NOT_UTF8}: byte 0x{text[error.start]:02x} at byte {error.start}"
    return None


def _texts(array: pa.Array) -> Iterator[bytes]:
    for texts in _text_within(array):
        binary = pa.large_binary() if pt.is_large_string(texts.type) else pa.binary()
        yield from (text for text in texts.view(binary).to_pylist() if text is not None)


def _text_within(array: pa.Array) -> Iterator[pa.Array]:
    """The texts of an array, of its lists and of its objects."""
    if is_text(array.type):
        yield array
    elif pt.is_struct(array.type):
        for field in array.flatten():
            yield from _text_within(field)
    elif pt.is_nested(array.type) and is_list(array.type):
        yield from _text_within(array.flatten())


def raw_text(batch: pa.RecordBatch, row: int) -> str:
    """A short form of a row for the rejects file, with any bytes."""
    parts = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        cell = column.slice(row, 1)
        texts = [text.decode(errors="replace") for text in _texts(cell)]
        parts.append(f"{name}: {', '.join(texts) if texts else (cell[0].as_py() if _valid(cell) else '')}")
    return "; ".join(parts)


# The good rows of a table: chunk by chunk, in batches, in pieces, or whole.


def good_rows(
    source: TableSource, selection: Selection, chunk: Chunk, *, skip: bool = False, any_length: bool = False
) -> Chunk:
    """The rows of a chunk whose text is UTF-8 and that are not too long, with the selected columns and types.

    Raises ``FileFormatError`` for the first bad row, unless bad rows are to be skipped; rows of ``any_length`` are good
    where no limit can be set.
    """
    batch = source.conform(chunk, selection) if len(chunk.rows) else batch_of(selection.schema)
    if not batch.num_columns:  # most formats lose the number of rows with the last column
        batch = pa.record_batch([pa.nulls(len(chunk.rows))], ["nothing"]).select([])
    most = source.max_row_bytes
    long = {} if any_length else dict.fromkeys(long_rows(batch, most), (None, too_long(most)))
    bad = {**bad_text(batch), **long}
    good = replace(chunk, batch=batch).without(
        bad, source.where, lambda row: "" if row in long else raw_text(batch, row)
    )
    if good.rejects and not skip:
        ways: list[object] = []
        if _NOT_UTF8 in good.rejects[0].reason and not source.has_types:  # a file of text, whose encoding can be named
            way = Argument("encoding", ..., otherwise="save it as UTF-8")
            ways = ["; if it has another encoding, such as cp1252 or cp1251: ", way]
        raise FileFormatError(str(good.rejects[0]), *ways)
    return good


def good_batches(
    source: TableSource,
    selection: Selection,
    *,
    limits: Limits | None = None,
    skip: bool = False,
    any_length: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The batches of a table in order, no larger than the ``limits``; bad rows as in :func:`good_rows`."""
    chunks = source.chunks(selection)
    for chunk in chunks if limits is None else (chunk for _, chunk in divided(chunks, limits)):
        batch = good_rows(source, selection, chunk, skip=skip, any_length=any_length).batch
        if batch.num_rows:
            yield batch


T = TypeVar("T")


def whole_table(source: TableSource, columns: Mapping[str, str]) -> pa.Table:
    """The named columns (user's name: kind) of all rows.

    Raises ``FileFormatError`` for the first bad row, ``ColumnError`` for a column that is missing or of another kind.
    """

    def make(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
        return pa.Table.from_batches((piece.batch() for piece in pieces), schema=schema)

    return gathered(source, columns, make)


def read_in_turn(source: TableSource, columns: Mapping[str, str], few: int) -> pa.Table:
    """The table of :func:`whole_table`, ``few`` columns at a time, each in one buffer.

    For columnar files this takes no more time, and little memory in addition to the columns.  A source whose rows may
    have another order each time is read once.
    """
    if len(columns) <= few or source.unstable is not None:
        return whole_table(source, columns)
    names = list(columns)
    arrays: list[pa.ChunkedArray] = []
    for start in range(0, len(names), few):
        part = whole_table(source, {name: columns[name] for name in names[start : start + few]})
        arrays += [part.column(name).combine_chunks() for name in names[start : start + few]]
        del part
        pa.default_memory_pool().release_unused()
    return pa.table(dict(zip(names, arrays, strict=True)))


@dataclass(frozen=True)
class Piece:
    """Some rows to be read: their number, and a function that returns them, which another thread can call."""

    rows: int
    batch: Callable[[], pa.RecordBatch]


def gathered(
    source: TableSource,
    columns: Mapping[str, str],
    make: Callable[[pa.Schema, Iterator[Piece]], T],
    threads: int = 1,
    rejects: list[Reject] | None = None,
) -> T:
    """The result of ``make`` for the schema and the pieces of the named columns (user's name: kind), all rows in order.

    ``make`` is called again, from the first piece, if a later row of text files needs a wider type than the rows
    before it.  A table in memory is read piece by piece, once, and not held.  Raises the errors of :func:`whole_table`;
    bad rows of files are left out where there is a list of ``rejects``, which gets them.
    """
    if isinstance(source, FrameSource):
        return make(*_streamed(source, columns))
    return source.select(columns).settled(
        lambda selection: make(selection.schema, _pieces(source, selection, threads, rejects))
    )


def _pieces(source: TableSource, selection: Selection, threads: int, rejects: list[Reject] | None) -> Iterator[Piece]:
    rows = 0
    if rejects is not None:
        rejects.clear()
    for chunk in source.chunks(selection, threads=threads):
        if rejects is not None:  # the rows of the piece are numbered, so its good ones are to be known
            chunk = good_rows(source, selection, chunk, skip=True, any_length=True)
            rejects += chunk.rejects
        elif chunk.rejects:
            raise FileFormatError(str(chunk.rejects[0]))
        rows += len(chunk.rows)
        report(WorkDone("reading", rows, "rows", source.rows))
        yield Piece(len(chunk.rows), partial(_finished, source, selection, replace(chunk, rejects=())))


def _streamed(source: FrameSource, columns: Mapping[str, str]) -> tuple[pa.Schema, Iterator[Piece]]:
    schema, tables = source.pieces(columns, columns)
    selection = plain_selection(schema, columns)
    batches = (batch for table in tables for batch in table.to_batches(max_chunksize=SIZES.log_rows))
    none = np.empty(0, np.int64)
    pieces = (Piece(batch.num_rows, partial(source.conform, Chunk(0, none, batch), selection)) for batch in batches)
    return selection.schema, pieces


def _finished(source: TableSource, selection: Selection, chunk: Chunk) -> pa.RecordBatch:
    return good_rows(source, selection, chunk, any_length=True).batch
