"""Writing a whole table, in memory or streamed, or a page, into one file atomically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.errors import OptionError, OutputError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.output.encoders import KEY, dump, undefined_as_null, writing
from fastmetrics.tables.output.output_formats import encoder, output_format
from fastmetrics.tables.output.output_place import OutputPlace
from fastmetrics.tables.output.recorded_types import described
from fastmetrics.tables.remote.addresses import as_local, shown

_META = ".meta.json"


def table_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a table, for :func:`write_whole`; ``inputs`` are what the run reads.

    Raises ``OutputError`` if it may not be written there, ``OptionError`` for an unknown suffix.
    """
    if output_format(path)[0] == "folder":
        OutputPlace(path, inputs, overwrite=True)  # the reason, if a device or a folder is there
        raise OptionError(f"output {shown(as_local(path))!r}: expected the name of a file, with a suffix")
    beside = () if output_format(path)[0] == "parquet" else (_META,)
    return OutputPlace(path, inputs, overwrite=overwrite, beside=beside)


def check_without_place(*, overwrite: bool, guard: bool) -> None:
    """Raise ``OptionError`` for an option of files where no file is written."""
    for name, value, default in (("overwrite", overwrite, False), ("guard", guard, True)):
        if value != default:
            raise OptionError(Argument(name, value), ": applies to a file; name it with ", Argument("output"))


def write_whole(
    table: pa.Table | pa.RecordBatchReader,
    place: OutputPlace,
    metadata: Mapping[str, Any],
    keys: set[str],
    *,
    guard: bool = True,
) -> int:
    """Write ``table`` in the format of the place's suffix; NaN becomes null except in the ``keys``.

    The ``metadata`` are stored in a Parquet file, or for another format in ``<path>.meta.json``.  With a ``guard``,
    text of CSV that a spreadsheet would run gets a leading quote; returns the number of such cells.

    Raises ``OutputError`` if the file cannot be written, or if another run wrote it since the place was checked.
    """
    format, compression = output_format(place.text)
    with writing(place.shown), place.unfinished() as folder:
        whole = folder / "whole"
        writer = encoder(whole, table.schema.with_metadata({KEY: dump(metadata)}), format, compression, guard=guard)
        try:
            for batch in table.to_batches() if isinstance(table, pa.Table) else table:
                writer.write(undefined_as_null(batch, keys))
            writer.close({})
            if format != "parquet":
                about = {**metadata, **described(table.schema, writer, whole)}
                (folder / "meta").write_text(dump(about) + "\n", encoding="utf-8")
                place.check_unchanged()
                place.put(folder / "meta", _META)
            place.put(whole)
        finally:
            writer.discard()
    return writer.guarded


def page_place(path: str | Path, inputs: Any, *, overwrite: bool = False) -> OutputPlace:
    """The place of a page, for :func:`write_page`; raises ``OutputError`` if it may not be written there."""
    return OutputPlace(path, inputs, overwrite=overwrite, page=True)


def write_page(place: OutputPlace, text: str | bytes) -> None:
    """Write a text, or bytes, to a file or an address atomically, or into a pipe or a device.

    Raises ``OutputError`` if it cannot be written, or if another run wrote it since the place was checked.
    """
    data = text if isinstance(text, bytes) else text.encode()
    if place.is_stream:
        try:
            with writing(place.shown), open(place.text, "ab", buffering=0) as stream:
                stream.write(data)
        except OutputError as error:
            if not isinstance(error.__cause__, BrokenPipeError):  # its reader has seen enough
                raise
        return
    with writing(place.shown), place.unfinished() as folder:
        (folder / "whole").write_bytes(data)
        place.put(folder / "whole")
