"""A whole file as one table, for commands that need all of it at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from fastmetrics.errors import FileFormatError

_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv", ".jsonl": "json", ".json": "json"}


def read(path: Path) -> pa.Table:
    """The rows of a Parquet, Arrow IPC, CSV or JSON-lines file; raises ``FileFormatError`` for anything else."""
    if path.suffix not in _FORMATS:
        raise FileFormatError(f"{path}: a file ending in {', '.join(_FORMATS)} was expected")
    try:
        return ds.dataset(path, format=_FORMATS[path.suffix]).to_table()
    except (OSError, pa.ArrowInvalid) as error:
        raise FileFormatError(f"{path}: {str(error).splitlines()[0]}") from error
