"""A whole file as one table, for commands that need all of it at once."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.files import reading
from fastmetrics.tables.stores import plainly, store
from fastmetrics.tables.urls import as_local, is_url, last_name, parse, shown

_FORMATS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".json": "json",
}


def read(path: str | Path, text: Collection[str] | None = None) -> pa.Table:
    """The rows of a Parquet, Arrow IPC, CSV, TSV or JSON-lines file; raises ``FileFormatError`` for anything else.

    Of CSV and TSV, the columns ``text`` (by default all) are text, as they are written.
    """
    address = as_local(path)
    suffix = os.path.splitext(last_name(address))[1]
    if suffix not in _FORMATS:
        raise FileFormatError(f"{shown(address)}: a file ending in {', '.join(_FORMATS)} was expected")
    with reading(shown(address)), plainly():
        place = store(parse(address)) if is_url(address) else None
        if place is None:
            with open(address, "rb") as stream:  # what cannot be read is named better here than by Arrow
                if not stream.read(1):
                    raise FileFormatError(f"{shown(address)}: the file is empty")
        inside, system = (address, None) if place is None else (place.path, place.system)
        format = _FORMATS[suffix]
        if format not in ("csv", "json"):
            return ds.dataset(inside, format=format, filesystem=system).to_table()
        names = ds.dataset(inside, format=_textual(suffix), filesystem=system).schema
        types = {field.name: pa.string() for field in names if text is None or field.name in text}
        if format == "csv":
            return ds.dataset(inside, format=_textual(suffix, types), filesystem=system).to_table()
        # Numbers are numbers in JSON, but Arrow takes strings that look like times for times.
        fields = [pa.field(one.name, pa.string()) if pa.types.is_temporal(one.type) else one for one in names]
        return ds.dataset(inside, pa.schema(fields), format="json", filesystem=system).to_table()


def _textual(suffix: str, types: dict[str, pa.DataType] | None = None) -> str | ds.CsvFileFormat:
    """How a file of text is read: of CSV columns of the given ``types``, the others as they look."""
    if _FORMATS[suffix] == "json":
        return "json"
    return ds.CsvFileFormat(
        parse_options=pacsv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(column_types=types),
    )
