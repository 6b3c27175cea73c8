"""A file of an input: its identity, opening its bytes, and the files below a folder that are inputs."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import STANDARD, ReadSizes
from fastmetrics.tables.inputs.input_streams import unpacked
from fastmetrics.tables.remote import remote_files as remote
from fastmetrics.tables.remote.addresses import last_name, parse
from fastmetrics.tables.remote.stores import cause, store

MAX_ROW_BYTES = 64 << 20
"""Default maximum bytes of one row: a line of text, or its cells."""
WORK_SUFFIX = ".partial"
"""Suffix of the work folders of runs, which are never inputs."""


@dataclass(frozen=True)
class DataFile:
    """One input file: ``shown`` is its name in messages, ``keys`` its hive partition values.

    ``path`` is a local path or an address, resolved in each process; only an address has a ``stamp``.
    """

    path: str = field(repr=False)
    shown: str
    format: str
    compression: str | None = None
    keys: Mapping[str, str | None] = field(default_factory=dict)
    checksum: int | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    stamp: remote.Stamp | None = None
    sizes: ReadSizes = STANDARD
    content: tuple[int, int] | None = None
    """The size and modification time of a local file when it was opened; None for a device or a stream."""

    def check_unchanged(self) -> None:
        """Raise ``FileFormatError`` if a local file was changed since it was opened."""
        now = None if self.content is None else content_of(self.path)
        if now != self.content:
            change = f"{self.content[0]:,} bytes, now {now[0]:,}" if self.content and now else "now it is gone"
            if now and self.content and now[0] == self.content[0]:
                change = f"{now[0]:,} bytes, with other contents"
            advice = "copy it, or wait until it is complete, and read it again"
            raise FileFormatError(f"{self.shown}: the file changed while it was read ({change}); {advice}")

    @property
    def is_remote(self) -> bool:
        """Whether the file is at an address."""
        return self.stamp is not None

    @property
    def name(self) -> str:
        """The name without folders, which are specific to this machine; empty for a pipe."""
        return last_name(self.shown) if self.checksum is None else "stream"

    @property
    def size(self) -> int:
        """Bytes on disk, or in the store."""
        return os.stat(self.path).st_size if self.stamp is None else self.stamp[0]

    def fingerprint(self) -> list[Any]:
        """The identity of the file's content: path, size and modification time (a checksum for standard input)."""
        if self.stamp is not None:
            return [self.shown, *self.stamp]
        status = os.stat(self.path)
        if self.checksum is not None:
            return [self.shown, status.st_size, self.checksum]
        return [os.path.abspath(self.path), status.st_size, status.st_mtime_ns]

    def open(self) -> tuple[pa.NativeFile, Callable[[], int]]:
        """The decompressed bytes as a stream, and a counter of the bytes read."""
        with reading(self.shown):
            file = pa.OSFile(self.path) if self.stamp is None else self._remote(self.stamp)
            return unpacked(file, self.compression), file.tell

    def _remote(self, stamp: remote.Stamp) -> pa.PythonFile:
        """The bytes at an address; Arrow files are read in smaller blocks than text."""
        ahead = self.sizes.remote_ahead_bytes // (16 if self.format == "arrow" else 1)
        return pa.PythonFile(remote.RemoteFile(parse(self.path), stamp, ahead), mode="r")

    def at_random(self) -> str | pa.NativeFile:
        """The input of Arrow's Parquet reader: the local path, or a remote file with ranged reads."""
        if self.stamp is None:
            return self.path
        place = store(parse(self.path))
        if not place.native:
            return self._remote(self.stamp)
        return remote.unchanged(place, parse(self.path), self.stamp)


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Convert errors while reading a file into ``FileFormatError``."""
    try:
        yield
    except pa.ArrowCancelled:  # caused by an interrupt
        raise
    except pa.ArrowMemoryError as error:
        raise FileFormatError(f"{shown}: cannot be read: not enough memory: {error}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise FileFormatError(f"{shown}: cannot be read: {_first_line(error)}") from error
    except OSError as error:
        if error.errno is not None and error.strerror:
            raise FileFormatError(f"{shown}: cannot be read: {os.strerror(error.errno)}") from error
        raise FileFormatError(f"{shown}: cannot be read: {cause(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def content_of(path: str) -> tuple[int, int] | None:
    """The size and modification time of a file; None for a device, or if there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    return (about.st_size, about.st_mtime_ns) if stat.S_ISREG(about.st_mode) else None


def walked(folder: str, onerror: Callable[[OSError], None] | None) -> Iterator[tuple[str, str]]:
    """The folder and name of each file below a folder that an input may have, by name."""
    for where, folders, names in os.walk(folder, onerror=onerror, followlinks=True):
        folders[:] = sorted(name for name in folders if _holds_input(os.path.join(where, name), folder))
        yield from ((where, name) for name in sorted(names) if not name.startswith(("_", ".")))


def _holds_input(folder: str, top: str) -> bool:
    """Whether a folder below ``top`` is read: not hidden, not a work folder, not a link to a parent folder."""
    name = os.path.basename(folder)
    if name.startswith(("_", ".")) or name.endswith(WORK_SUFFIX):
        return False
    if not os.path.islink(folder):
        return True
    steps = os.path.relpath(os.path.dirname(folder), top).split(os.sep)
    above = (os.path.realpath(os.path.join(top, *steps[:count])) for count in range(len(steps) + 1))
    target = os.path.join(os.path.realpath(folder), "")
    return not any(os.path.join(path, "").startswith(target) for path in above)
