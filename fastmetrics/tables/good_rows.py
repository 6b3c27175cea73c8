"""The finished batches of a table: rows with the selected columns and types, and without bad rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.invalid_utf8 import bad_text, raw_text
from fastmetrics.tables.table_chunks import Chunk, Limits, Place, Reject, Rows, batch_of, cut, long_rows, too_long
from fastmetrics.tables.table_source import TableSource


@dataclass(frozen=True)
class GoodRows:
    """The good rows of a chunk, their numbers in the file, and its bad rows."""

    batch: pa.RecordBatch
    rows: Rows
    rejects: list[Reject]


def good_rows(
    source: TableSource, selection: Selection, chunk: Chunk, *, skip: bool = False, any_length: bool = False
) -> GoodRows:
    """The rows of a chunk whose text is UTF-8 and that are not too long, with the selected columns and types.

    Raises ``FileFormatError`` for the first bad row, unless bad rows are to be skipped; rows of ``any_length`` are good
    where no limit can be set.
    """
    rejects = list(chunk.rejects)
    if rejects and not skip:
        raise FileFormatError(str(rejects[0]))
    if not len(chunk.rows):
        return GoodRows(batch_of(selection.schema), chunk.rows, rejects)
    batch, rows = source.conform(chunk, selection), chunk.rows
    most = source.max_row_bytes
    long = {} if any_length else dict.fromkeys(long_rows(batch, most), (None, too_long(most)))
    bad = {**bad_text(batch), **long}
    if not bad:
        return GoodRows(batch, rows, rejects)
    for index in sorted(bad):
        place = Place(chunk.file, int(rows[index]))
        raw = "" if index in long else raw_text(batch, index)
        reject = Reject(place, *source.where(place), *bad[index], raw)
        if not skip:
            raise FileFormatError(str(reject))
        rejects.append(reject)
    good = np.ones(len(rows), np.bool_)
    good[list(bad)] = False
    return GoodRows(batch.filter(pa.array(good)), rows[good], rejects)


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
    for chunk in chunks if limits is None else (chunk for _, chunk in cut(chunks, limits)):
        batch = good_rows(source, selection, chunk, skip=skip, any_length=any_length).batch
        if batch.num_rows:
            yield batch
