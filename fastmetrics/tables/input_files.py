"""Finding the files of an input, their formats, and opening their bytes."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa

from fastmetrics.core.batch_sizes import SIZES, STANDARD, ReadSizes
from fastmetrics.errors import FileFormatError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.file_formats import FORMATS, Wanted
from fastmetrics.tables.input_streams import compression_of, is_pipe, spool, unpacked
from fastmetrics.tables.remote import files as remote
from fastmetrics.tables.remote import globs
from fastmetrics.tables.remote.addresses import as_local, as_utf8, is_url, last_name, parse
from fastmetrics.tables.remote.stores import cause, plainly, store

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
        now = None if self.content is None else _content(self.path)
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
        found = os.stat(self.path)
        if self.checksum is not None:
            return [self.shown, found.st_size, self.checksum]
        return [os.path.abspath(self.path), found.st_size, found.st_mtime_ns]

    def open(self) -> tuple[pa.NativeFile, Callable[[], int]]:
        """The decompressed bytes as a stream, and a counter of the bytes read."""
        with reading(self.shown):
            file = pa.OSFile(self.path) if self.stamp is None else self._remote(self.stamp)
            return unpacked(file, self.compression), file.tell

    def _remote(self, stamp: remote.Stamp) -> pa.PythonFile:
        """The bytes at an address; Arrow files are read in smaller blocks than text."""
        ahead = SIZES.remote_ahead_bytes if self.format != "arrow" else SIZES.remote_ahead_bytes // 16
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


_HEAD = 4096


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def expand(
    inputs: str | Path | Sequence[str | Path], format: str | None = None, formats: Sequence[str] = FORMATS
) -> list[DataFile]:
    """The files for paths, folders, globs and ``-`` (standard input); the files of a folder are sorted by name.

    Each has one of the ``formats``, and all have ``format`` if it is given.
    """
    if format is not None and format not in formats:
        raise OptionError(Argument("format", format), f": expected one of {', '.join(formats)}")
    wanted = Wanted(format, formats)
    given = [inputs] if isinstance(inputs, (str, Path)) else list(inputs)
    if not given:
        raise OptionError("no input given")
    found: list[DataFile] = []
    for one in map(as_local, given):
        if one == "-":
            found.append(_spooled(sys.stdin.buffer, "standard input", wanted))
        elif is_url(one):
            found.extend(_behind(one, wanted))
        elif os.path.isdir(one):
            within = _in_folder(one, wanted)
            if not within:
                raise FileFormatError(f"{one}: {_no_file(wanted)}")
            found.extend(within)
        elif not os.path.exists(one) and glob.has_magic(one):
            once: dict[str, DataFile] = {}  # "rows/**" matches a folder and also its files: keep each file once
            for match in globs.on_disk(one):
                for file in _in_folder(match, wanted) if os.path.isdir(match) else [_file(match, wanted)]:
                    once.setdefault(os.path.normpath(file.path), file)
            if not once:
                raise FileFormatError(f"{one}: no file matches")
            found.extend(once.values())
        else:
            found.append(_file(one, wanted))
    return found


def _no_file(wanted: Wanted) -> str:
    """The error for a folder without matching files."""
    kind = "table files" if wanted.formats == FORMATS else f"files of the formats {', '.join(wanted.formats)}"
    return f"the folder contains no {kind}"


def _file(path: str, wanted: Wanted, keys: Mapping[str, str | None] | None = None) -> DataFile:
    as_utf8(os.path.abspath(path))
    kind, compression = wanted.by_name(path)
    with reading(path), open(path, "rb") as stream:
        if is_pipe(path):
            return _spooled(stream, path, wanted)
        head = stream.read(16)
        content = _content(path)
    # Absolute path, because other processes may have other working directories.
    format = kind or wanted.by_bytes(head, path)
    return DataFile(os.path.abspath(path), path, format, compression, keys or {}, content=content)


def _content(path: str) -> tuple[int, int] | None:
    """The size and modification time of a file; None for a device, or if there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    return (about.st_size, about.st_mtime_ns) if stat.S_ISREG(about.st_mode) else None


def _behind(address: str, wanted: Wanted) -> list[DataFile]:
    """The files for an address."""
    shown = parse(address).shown
    with reading(shown), plainly():
        found = remote.find(address)
    files = []
    for one in found:
        keys, kind, compression = {}, *wanted.by_name(one.url.name)
        if one.relative is not None:
            if kind is None:
                continue
            keys = dict(_hive(step) for step in one.relative.split("/")[:-1] if "=" in step)
        if kind is None:
            with reading(one.url.shown):
                kind = wanted.by_bytes(remote.RemoteFile(one.url, one.stamp, ahead=16).read(16), one.url.shown)
        files.append(DataFile(str(one.url), one.url.shown, kind, compression, keys, stamp=one.stamp))
    if not files:
        lacking = "no file matches" if glob.has_magic(parse(address).path) else _no_file(wanted)
        raise FileFormatError(f"{shown}: {lacking}")
    return files


def _in_folder(folder: str, wanted: Wanted) -> list[DataFile]:
    files = []
    for where, name in walked(folder, _refuse):
        if wanted.by_name(name)[0] is not None:
            relative = os.path.relpath(where, folder).split(os.sep)
            keys = dict(_hive(step) for step in relative if "=" in step)
            files.append(_file(os.path.join(where, name), wanted, keys))
    return sorted(files, key=lambda file: file.path)


def walked(folder: str, onerror: Callable[[OSError], None] | None) -> Iterator[tuple[str, str]]:
    """The folder and name of each file below a folder that an input may have, by name."""
    for where, folders, names in os.walk(folder, onerror=onerror, followlinks=True):
        folders[:] = sorted(name for name in folders if _holds_input(os.path.join(where, name), folder))
        yield from ((where, name) for name in sorted(names) if not name.startswith(("_", ".")))


def _refuse(error: OSError) -> None:
    """Raise an error for a folder that cannot be listed, so that its rows are not silently missing."""
    raise FileFormatError(f"{error.filename}: cannot be read: {os.strerror(error.errno or 0)}") from error


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
    return not any(os.path.join(one, "").startswith(target) for one in above)


def _hive(step: str) -> tuple[str, str | None]:
    key, _, value = step.partition("=")
    return unquote(key), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _spooled(stream: BinaryIO, path: str, wanted: Wanted) -> DataFile:
    """The copied file of a stream, with format and compression from its first bytes."""
    with reading(path):
        first = stream.read(_HEAD)
    compression, kind = compression_of(first), wanted.by_name(path)[0]
    if compression is None:  # streams may be endless
        kind = kind or wanted.by_bytes(first, path)
    with reading(path):
        copy, checksum = spool(stream, path, first)
    made = DataFile(copy, path, "", compression, checksum=checksum)
    if kind is None:
        with reading(path), made.open()[0] as text:
            head = text.read(_HEAD)
        kind = wanted.by_bytes(head, path)
    return replace(made, format=kind)
