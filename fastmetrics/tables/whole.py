"""A table that is there already, into one file, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.errors import OptionError, OutputError
from fastmetrics.tables.sinks import KEY, dump, encoder, output_format, undefined_as_null, writing


def write_whole(
    table: pa.Table, path: str | Path, metadata: Mapping[str, Any], keys: set[str], *, overwrite: bool = False
) -> None:
    """Write ``table`` in the format that the suffix of ``path`` says; NaN becomes null in all but the ``keys``.

    Raises ``OutputError`` if the file exists, unless ``overwrite``, or cannot be written, ``OptionError`` for a suffix
    nobody knows.
    """
    format, compression = output_format(path)
    target = Path(path)
    if format == "folder":
        raise OptionError(f"output {str(path)!r}: expected the name of a file, with a suffix")
    if target.exists() and not overwrite:
        raise OutputError(f"{target} exists; choose overwrite to replace it")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with writing(target):
        made = encoder(temporary, table.schema.with_metadata({KEY: dump(metadata)}), format, compression)
        try:
            for batch in table.to_batches():
                made.write(undefined_as_null(batch, keys).cast(table.schema))
            made.close({})
            os.replace(temporary, target)
        finally:
            made.abandon()
            temporary.unlink(missing_ok=True)
