"""Reading a whole file as one table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa

from fastmetrics.core.input_columns import is_id
from fastmetrics.core.score_metadata import ScoreMetadata
from fastmetrics.results.runs.score_file import metadata_of, stored_scores
from fastmetrics.tables import open_source
from fastmetrics.tables.formats.csv_cells import as_it_looks
from fastmetrics.tables.whole_table import whole_table


def read_table(path: str | Path | Sequence[str | Path], text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV of other programs, the columns ``text`` (by default all) and ids are read as text and the types of
    the others are inferred; files written by this package have their types in every format.  The metadata of the table
    contain the stored declarations of the scores.
    """
    source = open_source(path)
    metadata: ScoreMetadata | None = None
    scores: Collection[str] = ()
    if isinstance(path, str | Path):  # several files are read as tables of any kind
        metadata = metadata_of(path, source.files)
        scores = stored_scores(metadata) or ()
    table = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if metadata is not None and metadata.declared is not None:
        table = table.replace_schema_metadata(ScoreMetadata(declared=metadata.declared).for_schema())
    if text is None or source.has_types:
        return table
    for at, field in enumerate(table.schema):
        if field.name not in text and field.name not in scores and not is_id(field.name):
            table = table.set_column(at, field.name, as_it_looks(table.column(at)))
    return table
