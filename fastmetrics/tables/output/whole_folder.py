"""Writing a folder of files atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastmetrics.errors import OptionError, OutputError
from fastmetrics.tables.output.encoders import writing
from fastmetrics.tables.output.write_table import check_free
from fastmetrics.tables.remote.addresses import as_local, is_url, shown


@contextmanager
def whole_folder(path: str | Path, mark: str, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder to fill; it is renamed to ``path`` at the end, and deleted after an error.

    An existing folder is replaced only with ``overwrite``, and only if it contains a file named ``mark``, which the
    caller writes into each folder of this kind.

    Raises ``OutputError`` for a path that exists or cannot be written, ``OptionError`` for an address.
    """
    where = as_local(path)
    if is_url(where):
        raise OptionError(f"{shown(where)}: expected a folder of this machine; copy it to an address when it is there")
    final = Path(where)
    check_free(str(final), overwrite)
    if final.exists() and not (final / mark).is_file():
        raise OutputError(f"{final} is not a folder that such a run made; choose another name, or delete it")
    hidden, old = (final.with_name(f".{final.name}.{os.getpid()}.{ending}") for ending in ("tmp", "old"))
    with writing(str(final)):
        hidden.mkdir()
    try:
        with writing(str(final)):
            yield hidden
            if final.exists():
                os.replace(final, old)
            os.replace(hidden, final)
    finally:
        for rest in (hidden, old):
            shutil.rmtree(rest, ignore_errors=True)
