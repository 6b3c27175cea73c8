"""The files of an input: of paths, folders, patterns, addresses and streams, each with its format."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.tables import remote_files
from fastmetrics.tables import remote_files as remote
from fastmetrics.tables.addresses import as_local, as_utf8, is_database, is_url, parse
from fastmetrics.tables.file_formats import AllowedFormats, table_formats
from fastmetrics.tables.input_files import DataFile, compression_of, content_of, is_pipe, reading, spool, walked
from fastmetrics.tables.remote_files import plainly

_HEAD = 4096
DATABASE = "database"
"""The format of a table or query in a database."""


def expand(
    inputs: str | Path | Sequence[str | Path], format: str | None = None, formats: Sequence[str] | None = None
) -> list[DataFile]:
    """The files for paths, folders, globs and ``-`` (standard input); the files of a folder are sorted by name.

    Each has one of the ``formats``, by default those of tables, and all have ``format`` if it is given.
    """
    formats = table_formats() if formats is None else formats
    if format is not None and format not in formats:
        raise OptionError(Argument("format", format), f": expected one of {', '.join(formats)}")
    allowed = AllowedFormats(format, formats)
    paths = [inputs] if isinstance(inputs, (str, Path)) else list(inputs)
    if not paths:
        raise OptionError("no input given")
    files: list[DataFile] = []
    for path in map(as_local, paths):
        if path == "-":
            files.append(_spooled(sys.stdin.buffer, "standard input", allowed))
        elif is_database(path):
            files.append(_in_database(path, format if format in table_formats() else None))
        elif is_url(path):
            files.extend(_behind(path, allowed))
        elif os.path.isdir(path):
            within = _in_folder(path, allowed)
            if not within:
                raise FileFormatError(f"{path}: {_no_file(allowed)}")
            files.extend(within)
        elif not os.path.exists(path) and glob.has_magic(path):
            once: dict[str, DataFile] = {}  # "rows/**" matches a folder and also its files: keep each file once
            for match in remote_files.on_disk(path):
                for file in _in_folder(match, allowed) if os.path.isdir(match) else [_file(match, allowed)]:
                    once.setdefault(os.path.normpath(file.path), file)
            if not once:
                raise FileFormatError(f"{path}: no file matches")
            files.extend(once.values())
        else:
            files.append(_file(path, allowed))
    return files


def _in_database(address: str, format: str | None) -> DataFile:
    """The table or query at an address; raises ``OptionError`` for the format of a file."""
    shown = parse(address).shown
    if format is not None:
        raise OptionError(Argument("format", format), f": {shown} is in a database, which is no file")
    return DataFile(address, shown, DATABASE, stamp=(0, ""))


def _no_file(allowed: AllowedFormats) -> str:
    """The error for a folder without matching files."""
    kind = "table files" if allowed.formats == table_formats() else f"files of the formats {', '.join(allowed.formats)}"
    return f"the folder contains no {kind}"


def _file(path: str, allowed: AllowedFormats, keys: Mapping[str, str | None] | None = None) -> DataFile:
    as_utf8(os.path.abspath(path))
    kind, compression = allowed.by_name(path)
    with reading(path), open(path, "rb") as stream:
        if is_pipe(path):
            return _spooled(stream, path, allowed)
        head = stream.read(16)
        content = content_of(path)
    # Absolute path, because other processes may have other working directories.
    format = kind or allowed.by_bytes(head, path)
    return DataFile(os.path.abspath(path), path, format, compression, keys or {}, content=content)


def _behind(address: str, allowed: AllowedFormats) -> list[DataFile]:
    """The files for an address."""
    shown = parse(address).shown
    with reading(shown), plainly():
        matches = remote.find(address)
    files = []
    for match in matches:
        keys, kind, compression = {}, *allowed.by_name(match.url.name)
        if match.relative is not None:
            if kind is None:
                continue
            keys = dict(_hive(step) for step in match.relative.split("/")[:-1] if "=" in step)
        if kind is None:
            with reading(match.url.shown):
                kind = allowed.by_bytes(remote.RemoteFile(match.url, match.stamp, ahead=16).read(16), match.url.shown)
        files.append(DataFile(str(match.url), match.url.shown, kind, compression, keys, stamp=match.stamp))
    if not files:
        lacking = "no file matches" if glob.has_magic(parse(address).path) else _no_file(allowed)
        raise FileFormatError(f"{shown}: {lacking}")
    return files


def _in_folder(folder: str, allowed: AllowedFormats) -> list[DataFile]:
    files = []
    for where, name in walked(folder, _refuse):
        if allowed.by_name(name)[0] is not None:
            relative = os.path.relpath(where, folder).split(os.sep)
            keys = dict(_hive(step) for step in relative if "=" in step)
            files.append(_file(os.path.join(where, name), allowed, keys))
    return sorted(files, key=lambda file: file.path)


def _refuse(error: OSError) -> None:
    """Raise an error for a folder that cannot be listed, so that its rows are not silently missing."""
    raise FileFormatError(f"{error.filename}: cannot be read: {os.strerror(error.errno or 0)}") from error


def _hive(step: str) -> tuple[str, str | None]:
    key, _, value = step.partition("=")
    return unquote(key), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _spooled(stream: BinaryIO, path: str, allowed: AllowedFormats) -> DataFile:
    """The copied file of a stream, with format and compression from its first bytes."""
    with reading(path):
        first = stream.read(_HEAD)
    compression, kind = compression_of(first), allowed.by_name(path)[0]
    if compression is None:  # streams may be endless
        kind = kind or allowed.by_bytes(first, path)
    with reading(path):
        copy, checksum = spool(stream, path, first)
    file = DataFile(copy, path, "", compression, checksum=checksum)
    if kind is None:
        with reading(path), file.open()[0] as text:
            head = text.read(_HEAD)
        kind = allowed.by_bytes(head, path)
    return replace(file, format=kind)
