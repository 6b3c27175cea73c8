"""Small files as a whole, on this machine or at an address."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastmetrics.errors import FileFormatError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.input_files import reading
from fastmetrics.tables.remote.addresses import as_local, is_url, parse, shown
from fastmetrics.tables.remote.stores import plainly, store
from fastmetrics.tables.retry import patiently


def read_small(path: str | Path) -> bytes | None:
    """The bytes of a small file, or None if there is none."""
    if not is_url(path):
        return Path(path).read_bytes() if Path(path).is_file() else None
    with plainly():
        place = store(parse(path))
        try:
            data: Any = patiently(lambda: place.system.open_input_file(place.path).read())
        except FileNotFoundError:
            return None
    return bytes(data)


def read_text(path: str | Path) -> str:
    """The text of a small UTF-8 file, without a byte order mark.

    Raises ``FileFormatError`` for a file that is missing, cannot be read or is not UTF-8.
    """
    where = as_local(path)
    with reading(shown(where)):
        data = read_small(where) if is_url(where) else Path(where).read_bytes()
    if data is None:
        raise FileFormatError(f"{shown(where)}: cannot be read: there is no such file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{shown(where)}: byte {error.start:,} is not UTF-8; convert the file first"
        raise FileFormatError(message) from error


def local_path(path: str | os.PathLike[str], argument: str) -> Path:
    """The path of a file or folder that must be on this machine; raises ``OptionError`` for an address."""
    where = as_local(path if isinstance(path, str) else Path(path))
    if is_url(where):
        raise OptionError(Argument(argument, shown(where)), ": expected a path on this machine, not an address")
    return Path(where)
