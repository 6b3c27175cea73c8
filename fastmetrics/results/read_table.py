"""Reading a whole file as one table."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from fastmetrics.results.score_files import said_scores
from fastmetrics.tables import open_source
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.tables.remote.addresses import as_local, shown
from fastmetrics.tables.text_columns import as_it_looks
from fastmetrics.tables.whole_table import whole_table


def read(path: str | Path, text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV, the columns ``text`` (by default all) are read as text and the types of the others are inferred;
    scores in files written by this package are numbers in every format.
    """
    source = open_source(path)
    scores = said_scores(find_metadata(path, source.files), shown(as_local(path))) or ()
    found = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if text is None or any(file.format not in ("csv", "tsv") for file in source.files):
        return found
    for at, field in enumerate(found.schema):
        if field.name not in text and field.name not in scores:
            found = found.set_column(at, field.name, as_it_looks(found.column(at)))
    return found
