"""The metadata that a run stores in its Parquet file."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.output.encoding.encoders import CONCLUSION, KEY


def metadata_in(parquet: pq.ParquetFile, shown: str) -> dict[str, Any] | None:
    """The signature and the conclusion of a run, or None if there are none."""
    metadata = {**(parquet.schema_arrow.metadata or {}), **(parquet.metadata.metadata or {})}
    if KEY.encode() not in metadata:
        return None
    return json_object(metadata[KEY.encode()], shown) | json_object(metadata.get(CONCLUSION.encode(), b"{}"), shown)


def json_object(data: bytes | str, shown: str) -> dict[str, Any]:
    """Metadata as an object; raises ``FileFormatError`` for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FileFormatError(f"{shown}: the metadata of fastmetrics are not a JSON object")
    return value
