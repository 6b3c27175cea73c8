"""Outputs that are written at once and whole: tables, pages and folders, at targets that are checked before anything is
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.tables.addresses import as_local, is_database, is_url, shown_address
from fastmetrics.tables.encoders import KEY, described, dump, undefined_as_null
from fastmetrics.tables.file_formats import encoder, output_format
from fastmetrics.tables.targets import META, Folder, LocalTarget, RemoteTarget, StreamTarget, Target, is_stream
from fastmetrics.tables.written_tables import DatabaseTarget


def target(
    path: str | Path,
    *,
    folder: Folder | None = None,
    beside: Sequence[str] = (),
    stream: bool = False,
) -> Target:
    """The target for a path or address.

    ``folder`` is the kind of folder that the output is, ``beside`` the suffixes of the files beside it, and
    ``stream`` whether it may go into a pipe or a device.
    """
    text = as_local(path)
    if is_database(text):
        return DatabaseTarget(text, beside)
    if is_url(text):
        return RemoteTarget(text, folder, beside)
    return StreamTarget(text) if stream and is_stream(text) else LocalTarget(text, folder, beside)


def table_target(path: str | Path, inputs: Any, *, overwrite: bool = False) -> Target:
    """The target of a table, for :func:`write_whole`; ``inputs`` are what the run reads.

    Raises ``OutputError`` if it may not be written there, ``OptionError`` for an unknown suffix.
    """
    if output_format(path)[0] == "folder":
        target(path).check(inputs, overwrite=True)  # the reason, if a device or a folder is there
        raise OptionError(f"output {shown_address(as_local(path))!r}: expected the name of a file, with a suffix")
    return _checked(target(path, beside=() if output_format(path)[0] == "parquet" else (META,)), inputs, overwrite)


def page_target(path: str | Path, inputs: Any, *, overwrite: bool = False) -> Target:
    """The target of a page, which may also go into a pipe or a device, for ``Target.write``.

    Raises ``OutputError`` if it may not be written there.
    """
    return _checked(target(path, stream=True), inputs, overwrite)


def folder_target(path: str | Path, inputs: Any, mark: str, *, overwrite: bool = False) -> Target:
    """The target of a folder, for :func:`whole_folder`: an existing one is replaced only if it has the file ``mark``.

    Raises ``OutputError`` if it may not be written there.
    """
    return _checked(target(path, folder=Folder(mark)), inputs, overwrite)


def _checked(place: Target, inputs: Any, overwrite: bool) -> Target:
    place.check(inputs, overwrite=overwrite)
    return place


def check_without_target(*, overwrite: bool) -> None:
    """Raise ``OptionError`` for an option of files where no file is written."""
    if overwrite:
        raise OptionError(Argument("overwrite", overwrite), ": applies to a file; name it with ", Argument("output"))


def write_whole(
    table: pa.Table | pa.RecordBatchReader,
    place: Target,
    metadata: Mapping[str, Any],
    keys: set[str],
) -> int:
    """Write ``table`` in the format of the target's suffix; NaN becomes null except in the ``keys``.

    The ``metadata`` are stored in a Parquet file, or for another format in ``<path>.meta.json``.  Text
    of CSV that a spreadsheet would run gets a leading quote; returns the number of such cells.

    Raises ``OutputError`` if the file cannot be written, or if another run wrote it since the target was checked.
    """
    format, compression = output_format(place.text)
    with place.whole() as folder:
        signed = table.schema.with_metadata({KEY: dump(metadata)})
        writer = encoder(folder / "whole", signed, format, compression)
        try:
            for batch in table.to_batches() if isinstance(table, pa.Table) else table:
                writer.write(undefined_as_null(batch, keys))
            writer.close({})
        finally:
            writer.discard()
        if format != "parquet":
            about = {**metadata, **described(table.schema, writer)}
            (folder / "meta").write_text(dump(about) + "\n", encoding="utf-8")
    return writer.guarded


@contextmanager
def whole_folder(place: Target) -> Iterator[Path]:
    """A temporary folder to fill; it takes its place at the end, and is deleted after an error.

    Raises ``OutputError`` for a folder that cannot be written, or that another run wrote since the check.
    """
    with place.whole() as folder:
        (folder / "whole").mkdir()
        yield folder / "whole"
