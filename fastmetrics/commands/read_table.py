"""A whole file as one table, for commands that need all of it at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from fastmetrics.errors import FileFormatError
from fastmetrics.results.score_files import said_scores
from fastmetrics.tables import Place, Selection, Source, open_source
from fastmetrics.tables.column_types import Widened
from fastmetrics.tables.invalid_utf8 import bad_text
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.tables.remote.addresses import as_local, shown
from fastmetrics.tables.text_columns import as_it_looks


def read(path: str | Path, text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or whatever else ``open_source`` opens; raises ``FileFormatError`` for a bad row.

    Of CSV and TSV, the columns ``text`` (by default all) are text, as they are written, and the others what they look
    like; the scores of a file that this package wrote are numbers whatever the format.
    """
    source = open_source(path)
    scores = said_scores(find_metadata(path, source.files), shown(as_local(path))) or ()
    found = _all_rows(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if text is None or any(file.format not in ("csv", "tsv") for file in source.files):
        return found
    for at, field in enumerate(found.schema):
        if field.name not in text and field.name not in scores:
            found = found.set_column(at, field.name, as_it_looks(found.column(at)))
    return found


def _all_rows(source: Source, kinds: dict[str, str]) -> pa.Table:
    selection = source.select(kinds)
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
