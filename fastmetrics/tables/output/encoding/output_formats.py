"""The formats of outputs: by the suffix of a name, and the encoder of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from fastmetrics.base.errors import OptionError
from fastmetrics.tables.file_formats import COMPRESSIONS, FORMATS, by_suffix
from fastmetrics.tables.output.encoding.encoders import Encoder
from fastmetrics.tables.remote.addresses import as_local, is_database, is_url, last_name, shown

PARTS = "parquet"
"""The format of the files in a folder."""


def output_format(path: str | Path) -> tuple[str, str | None]:
    """The format and compression by the output's name; ``folder`` without a suffix, with a final /, or for a folder.

    >>> output_format("scores.jsonl.gz"), output_format("scores/")
    (('jsonl', 'gzip'), ('folder', None))

    Raises ``OptionError`` for a name of an unknown format, or of one that is only read.
    """
    text = as_local(path)
    if text in ("", "-"):
        expected = "expected the name of a file or folder; scores cannot go to standard output"
        raise OptionError(f"output {text!r}: {expected}")
    if is_database(text):
        return PARTS, None  # until its rows are written to the table
    name = last_name(text)
    is_folder = name.endswith("/") if is_url(text) else text.endswith(("/", os.sep)) or os.path.isdir(text)
    if is_folder or not os.path.splitext(name)[1]:
        return "folder", None
    format, compression = by_suffix(name)
    output = FORMATS.get(format or "")
    if output is not None and output.encoder is not None and (not compression or compression in output.compressions):
        return output.name, compression
    unwritten = output is not None and output.encoder is None
    reason = f"files of the format {format} are read, but not written; " if unwritten else ""
    raise OptionError(f"output {shown(text)!r}: {reason}expected a name ending in {_endings()}, or a folder")


def _endings() -> str:
    """The suffixes of the formats that can be written, and of their compressions."""
    written = [format for format in FORMATS.values() if format.encoder is not None]
    suffixes = [suffix for format in written for suffix in format.suffixes]
    packed = [suffix for format in written if format.compressions for suffix in format.suffixes]
    names = {name for format in written for name in format.compressions}
    compressions = [suffix for suffix, name in COMPRESSIONS.items() if name in names]
    return f"{_listed(suffixes, 'or')} ({_listed(packed, 'and')} also with {_listed(compressions, 'or')})"


def _listed(words: Sequence[str], last: str) -> str:
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def encoder(path: Path, schema: pa.Schema, format: str, compression: str | None, *, guard: bool = True) -> Encoder:
    """The encoder of ``format`` for ``path``; the schema's metadata are stored if the format supports it."""
    make = FORMATS[PARTS if format == "folder" else format].encoder
    assert make is not None, format
    return make(path, schema, compression, guard)
