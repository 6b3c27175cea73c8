"""Reading a whole file as one table."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.corpus_counts import METADATA
from fastmetrics.core.input_columns import is_id
from fastmetrics.plan.declared import KEY
from fastmetrics.results.score_files import said_scores
from fastmetrics.tables import open_source
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.tables.remote.addresses import as_local, shown
from fastmetrics.tables.text_columns import as_it_looks
from fastmetrics.tables.whole_table import whole_table


def read(path: str | Path | Sequence[str | Path], text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV of other programs, the columns ``text`` (by default all) and ids are read as text and the types of
    the others are inferred; files written by this package have their types in every format.  The metadata of the table
    contain the stored declarations of the scores.
    """
    source = open_source(path)
    metadata: Mapping[str, Any] | None = None
    scores: Collection[str] = ()
    if isinstance(path, str | Path):  # several files are read as tables of any kind
        metadata = find_metadata(path, source.files)
        scores = said_scores(metadata, shown(as_local(path))) or ()
    found = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if metadata is not None and KEY in metadata:
        found = found.replace_schema_metadata({METADATA: json.dumps({KEY: metadata[KEY]})})
    if text is None or source.has_types:
        return found
    for at, field in enumerate(found.schema):
        if field.name not in text and field.name not in scores and not is_id(field.name):
            found = found.set_column(at, field.name, as_it_looks(found.column(at)))
    return found
