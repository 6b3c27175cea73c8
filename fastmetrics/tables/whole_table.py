"""All rows of an opened input as one table, for those who need them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.chunks import Place
from fastmetrics.tables.column_types import Selection, Widened
from fastmetrics.tables.invalid_utf8 import bad_text
from fastmetrics.tables.source import Source


def whole_table(source: Source, columns: Mapping[str, str]) -> pa.Table:
    """The named columns (yours: kind) of all rows.

    Raises ``FileFormatError`` for the first bad row, ``ColumnError`` for a column that is missing or of another kind.
    """
    selection = source.select(columns)
    while True:
        try:
            return pa.Table.from_batches(_batches(source, selection), schema=selection.schema)
        except Widened as wider:
            selection = selection.widen(wider.name, wider.type)


def _batches(source: Source, selection: Selection) -> Iterator[pa.RecordBatch]:
    for chunk in source.chunks(selection):
        if chunk.rejects:
            raise FileFormatError(str(chunk.rejects[0]))
        batch = source.conform(chunk, selection)
        for row, (column, reason) in sorted(bad_text(batch).items()):
            path, where = source.where(Place(chunk.file, int(chunk.rows[row])))
            raise FileFormatError(f"{path}, {where}, column {column!r}: {reason}")
        yield batch
