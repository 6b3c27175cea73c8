"""What the metadata beside a text file record of its columns: their types, and which cells are null.

They hold for exactly the file that was written: its size and a digest of its beginning are recorded too.  A file that
was changed since, or replaced, is read like any other file of its format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrow import plain
from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.output.encoding.encoders import Encoder
from fastmetrics.tables.remote.addresses import is_url, parse, shown
from fastmetrics.tables.remote.small_files import read_small
from fastmetrics.tables.remote.stores import passing
from fastmetrics.tables.text_values import decode_schema, encode_schema

_BEGINNING = 1 << 16


@dataclass(frozen=True)
class Recorded:
    """The record of a text file: the ``columns`` it was written with; whether text begins with quotes (``guarded``);
    the rows that are null in a CSV file of one column of text; whether the file was ``changed`` since.
    """

    columns: pa.Schema | None = None
    guarded: bool = False
    null_rows: Sequence[int] = ()
    changed: bool = False

    @property
    def schema(self) -> pa.Schema | None:
        """The columns with their types, if the file is the one that was written."""
        return None if self.changed else self.columns

    @property
    def is_plain(self) -> bool:
        """Whether JSON itself shows the types of all columns."""
        return all(_is_plain(field.type) for field in self.columns or ())


NO_RECORD = Recorded()


def described(schema: pa.Schema, encoder: Encoder, path: Path) -> dict[str, Any]:
    """The metadata beside a complete file: its columns and, for text, what :func:`recorded` needs.

    They also contain the number of ``guarded`` cells, if any: the reader removes their quotes.
    """
    output = {field.name: str(field.type) for field in schema}
    about: dict[str, Any] = {"output": output}
    if encoder.is_text:
        with open(path, "rb") as file:
            about["file"] = {"bytes": path.stat().st_size, "sha256": _digest(file.read(_BEGINNING))}
        about["schema"] = encode_schema(pa.schema([(field.name, plain(field.type)) for field in schema]))
    if encoder.null_rows:
        about["null_rows"] = list(encoder.null_rows)
    return {**about, **({"guarded": encoder.guarded} if encoder.guarded else {})}


def recorded(file: DataFile) -> Recorded:
    """The record of a text file; empty for a file without metadata beside it, a copied stream, and a web address.

    Raises ``FileFormatError`` if the metadata cannot be read.
    """
    if file.checksum is not None or (is_url(file.path) and parse(file.path).scheme in ("http", "https")):
        return NO_RECORD
    metadata = _beside(file)
    guarded = bool(metadata.get("guarded"))
    schema = recorded_schema(metadata)
    if schema is None:
        return Recorded(guarded=guarded)
    rows = metadata.get("null_rows")
    whole = isinstance(rows, list) and all(isinstance(row, int) for row in rows)
    null_rows = rows if whole and isinstance(rows, list) else ()
    return Recorded(schema, guarded, null_rows, changed=not _is_of(metadata, file))


def _is_plain(type_: pa.DataType) -> bool:
    if pt.is_list(type_):
        return _is_plain(type_.value_type)
    if pt.is_struct(type_):
        return all(_is_plain(field.type) for field in type_)
    return type_ in (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.null())


def recorded_schema(metadata: Mapping[str, Any]) -> pa.Schema | None:
    """The columns of a text file with their types, according to its metadata; None if unknown."""
    try:
        return decode_schema(metadata["schema"])
    except (KeyError, TypeError, ValueError, OSError, pa.ArrowException):
        return None


def _beside(file: DataFile) -> Mapping[str, Any]:
    """The metadata beside a file; empty if there are none, or if a store does not say whether there are."""
    name = str(parse(file.path).beside(".meta.json")) if is_url(file.path) else f"{file.path}.meta.json"
    try:
        with reading(shown(name)):
            data = read_small(name)
    except FileFormatError as error:
        if file.is_remote and not passing(error.__cause__):
            return {}
        raise
    try:
        metadata = {} if data is None else json.loads(data)
    except (ValueError, RecursionError):  # the file of another program
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _is_of(metadata: Mapping[str, Any], file: DataFile) -> bool:
    """Whether metadata are of the file, by its size and its first bytes as stored."""
    about = metadata.get("file")
    if not isinstance(about, dict) or about.get("bytes") != file.size:
        return False
    stream = replace(file, compression=None).open()[0]
    with reading(file.shown), stream:
        return bool(about.get("sha256") == _digest(stream.read(_BEGINNING)))


def _digest(beginning: bytes) -> str:
    return hashlib.sha256(beginning).hexdigest()
