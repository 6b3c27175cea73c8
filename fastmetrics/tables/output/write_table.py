"""Writing a whole table, in memory or streamed, into one file atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.errors import OptionError, OutputError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.output.encoders import KEY, dump, encoder, output_format, undefined_as_null, writing
from fastmetrics.tables.output.recorded import described
from fastmetrics.tables.output.targets import upload
from fastmetrics.tables.remote.addresses import Url, as_local, is_url, parse, shown
from fastmetrics.tables.remote.files import look
from fastmetrics.tables.remote.stores import plainly, store


def write_whole(
    table: pa.Table | pa.RecordBatchReader,
    path: str | Path,
    metadata: Mapping[str, Any],
    keys: set[str],
    *,
    overwrite: bool = False,
    guard: bool = True,
) -> int:
    """Write ``table`` in the format of ``path``'s suffix; NaN becomes null except in the ``keys``.

    The ``metadata`` are stored in a Parquet file, or for another format in ``<path>.meta.json``.  With a ``guard``,
    text of CSV that a spreadsheet would run gets a leading quote; returns the number of such cells.

    Raises ``OutputError`` if the file exists, unless ``overwrite``, or cannot be written, ``OptionError`` for an
    unknown suffix.
    """
    format, compression = output_format(path)
    text = as_local(path)
    if format == "folder":
        raise OptionError(f"output {shown(text)!r}: expected the name of a file, with a suffix")
    check_free(text, overwrite)
    final = parse(text) if is_url(text) else text
    hidden = Path(text).with_name(f".{Path(text).name}.{os.getpid()}.tmp")
    with tempfile.TemporaryDirectory() as folder, writing(shown(text)):
        temporary = Path(folder) / "whole" if is_url(text) else hidden
        made = encoder(temporary, table.schema.with_metadata({KEY: dump(metadata)}), format, compression, guard=guard)
        try:
            for batch in table.to_batches() if isinstance(table, pa.Table) else table:
                made.write(undefined_as_null(batch, keys))
            made.close({})
            if format != "parquet":
                beside = temporary.with_name(f"{temporary.name}.meta")
                about = {**metadata, **described(table.schema, made, temporary, format)}
                beside.write_text(dump(about) + "\n", encoding="utf-8")
                _settle(beside, final.beside(".meta.json") if isinstance(final, Url) else f"{final}.meta.json")
            _settle(temporary, final)
        finally:
            made.discard()
            temporary.unlink(missing_ok=True)
    return made.guarded


def check_free(text: str, overwrite: bool) -> None:
    """Raise ``OutputError`` if the path or address exists, unless ``overwrite``."""
    with writing(shown(text)), plainly():
        exists = look(store(parse(text))).type.name != "NotFound" if is_url(text) else os.path.exists(text)
    if exists and not overwrite:
        raise OutputError(f"{shown(text)} exists; choose ", Argument("overwrite", True), " to replace it")


def write_page(path: str | Path, text: str | bytes, *, overwrite: bool = False) -> None:
    """Write a text, or bytes, to a file or an address atomically.

    Raises ``OutputError`` if the file exists, unless ``overwrite``, or cannot be written.
    """
    where = as_local(path)
    check_free(where, overwrite)
    hidden = Path(where).with_name(f".{Path(where).name}.{os.getpid()}.tmp")
    with tempfile.TemporaryDirectory() as folder, writing(shown(where)):
        temporary = Path(folder) / "whole" if is_url(where) else hidden
        try:
            temporary.write_bytes(text if isinstance(text, bytes) else text.encode())
            _settle(temporary, parse(where) if is_url(where) else where)
        finally:
            temporary.unlink(missing_ok=True)


def _settle(temporary: Path, final: str | Url) -> None:
    """Move a file to its final name, locally or in a store."""
    if isinstance(final, Url):
        upload(temporary, final)
    else:
        os.replace(temporary, final)
