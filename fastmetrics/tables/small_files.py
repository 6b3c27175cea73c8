"""Small files as a whole, on this machine or at an address."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.tables.addresses import as_local, is_url, parse, shown_address
from fastmetrics.tables.input_files import MAX_ROW_BYTES, compression_of, reading, unpacked
from fastmetrics.tables.remote_files import patiently, plainly, store


def read_small(path: str | Path) -> bytes | None:
    """The bytes of a small file, unpacked if they are compressed, or None if there is no such file."""
    if not is_url(path):
        return _local(path) if Path(path).is_file() else None
    with plainly():
        place = store(parse(path))
        try:
            data: Any = patiently(lambda: place.system.open_input_file(place.path).read())
        except FileNotFoundError:
            return None
    return _unpacked(bytes(data), parse(path).shown)


def _local(path: str | Path) -> bytes:
    with open(path, "rb") as file:
        return _unpacked(_limited(file, str(path)), str(path))


def _unpacked(data: bytes, shown: str) -> bytes:
    """The unpacked bytes of a file, whose first bytes show the compression."""
    with unpacked(pa.BufferReader(data), compression_of(data)) as file:
        return _limited(file, shown)


def _limited(file: Any, shown: str) -> bytes:
    """The bytes of a file; raises ``FileFormatError`` if it does not end within a limit."""
    data: bytes = file.read(MAX_ROW_BYTES + 1)
    if len(data) > MAX_ROW_BYTES:
        raise FileFormatError(f"{shown}: the file has more than {MAX_ROW_BYTES:,} bytes; expected a small file of text")
    return data


def read_text(path: str | Path) -> str:
    """The text of a small UTF-8 file, unpacked if it is compressed, without a byte order mark.

    Raises ``FileFormatError`` for a file that is missing, cannot be read or is not UTF-8.
    """
    where = as_local(path)
    with reading(shown_address(where)):
        data = read_small(where) if is_url(where) else _local(where)
    if data is None:
        raise FileFormatError(f"{shown_address(where)}: cannot be read: there is no such file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{shown_address(where)}: byte {error.start:,} is not UTF-8; convert the file first"
        raise FileFormatError(message) from error


def local_path(path: str | os.PathLike[str], argument: str) -> Path:
    """The path of a file or folder that must be on this machine; raises ``OptionError`` for an address."""
    where = as_local(path if isinstance(path, str) else Path(path))
    if is_url(where):
        raise OptionError(Argument(argument, shown_address(where)), ": expected a path on this machine, not an address")
    return Path(where)
