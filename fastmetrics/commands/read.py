"""A whole file as one table, for commands that need all of it at once."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.files import reading
from fastmetrics.tables.stores import plainly, store
from fastmetrics.tables.urls import as_local, is_url, last_name, parse, shown

_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv", ".jsonl": "json", ".json": "json"}


def read(path: str | Path) -> pa.Table:
    """The rows of a Parquet, Arrow IPC, CSV or JSON-lines file; raises ``FileFormatError`` for anything else."""
    text = as_local(path)
    suffix = os.path.splitext(last_name(text))[1]
    if suffix not in _FORMATS:
        raise FileFormatError(f"{shown(text)}: a file ending in {', '.join(_FORMATS)} was expected")
    with reading(shown(text)), plainly():
        place = store(parse(text)) if is_url(text) else None
        inside, system = (text, None) if place is None else (place.path, place.system)
        return ds.dataset(inside, format=_FORMATS[suffix], filesystem=system).to_table()
