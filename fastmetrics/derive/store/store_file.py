"""Opening the SQLite file of a store of calls: a new one for its owner alone, one that can only be read as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from fastmetrics.base.errors import OutputError
from fastmetrics.tables.addresses import as_local, is_url
from fastmetrics.tables.input_files import WORK_SUFFIX
from fastmetrics.tables.output_places import make_private_folder

IN_MEMORY = Path(":memory:")
"""The path of a store that ends with its run."""

_PATIENCE = 60.0
"""Seconds to wait for another process to finish writing."""

_BETWEEN_TRIES = 0.02


class StoreFile:
    """A connection to the SQLite file of a store.

    A new file can be read and written by its owner alone, and so can the folders that are created for it; SQLite gives
    its temporary files the same permissions.  If the file or its folder cannot be written, the connection is
    ``read_only``.  SQLite then needs its shared memory beside the file, or a file without a log of changes; a log that
    an earlier run left is read in a temporary copy.
    """

    def __init__(self, path: Path) -> None:
        self.read_only = path != IN_MEMORY and path.exists() and not _is_writable(path)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if self.read_only:
            self.connection = self._open_to_read(path)
            return
        if path != IN_MEMORY:
            make_private_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.connection = _connect(str(path))

    def _open_to_read(self, path: Path) -> sqlite3.Connection:
        log = Path(f"{path}-wal")
        if not (log.exists() and log.stat().st_size):
            return _connect(f"{_uri(path)}?mode=ro&immutable=1", uri=True)
        connection = _connect(f"{_uri(path)}?mode=ro", uri=True)
        try:
            connection.execute("pragma schema_version").fetchone()
        except sqlite3.OperationalError:
            connection.close()
        else:
            return connection
        self._copy = tempfile.TemporaryDirectory(prefix="fastmetrics-")
        copied = Path(self._copy.name) / path.name
        for source in (path, log):
            shutil.copyfile(source, copied.with_name(source.name))
        return _connect(str(copied))

    def log_changes(self) -> None:
        """Let readers and one writer work at the same time, by a log of changes beside the file."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                # another run is opening the store, for which SQLite does not wait here
                time.sleep(_BETWEEN_TRIES)
            else:
                return

    def close(self) -> None:
        """Close the connection; closing it twice does nothing."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None


def check_apart(store: Path, output: str | Path) -> None:
    """Raise ``OutputError`` if an output, or a file that is written beside it, is the store or would contain it."""
    where = as_local(output)
    if is_url(where) or store == IN_MEMORY:
        return
    for path in (
        Path(f"{where.rstrip(os.sep)}{ending}") for ending in ("", ".meta.json", ".rejects.jsonl", WORK_SUFFIX)
    ):
        same = path.exists() and store.exists() and os.path.samefile(path, store)
        if same or Path(os.path.realpath(store)).is_relative_to(os.path.realpath(path)):
            raise OutputError(f"{path} is the store of calls {store}, or contains it; write to another name")


def _is_writable(path: Path) -> bool:
    """Whether a file can be written, with the files that SQLite makes beside it."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=uri)
