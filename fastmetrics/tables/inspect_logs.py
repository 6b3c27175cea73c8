"""The ``.eval`` logs of Inspect: a zip archive with one JSON document for each sample, read in bounded memory."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.formats import Format
from fastmetrics.tables.input_files import reading
from fastmetrics.tables.json_lines import JsonLinesReader, LineBlock
from fastmetrics.tables.table_chunks import too_long

# The members of a zip archive.  The standard library lists all of them in memory, and does not unpack Zstandard.


class Member(NamedTuple):
    """A file of an archive: how it is packed, the bytes that it takes packed and unpacked, and where it begins."""

    name: str
    method: int
    packed: int
    size: int
    at: int


_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_ENTRY, _LOCAL = b"PK\x01\x02", b"PK\x03\x04"
_TAIL = 22 + (1 << 16) + 20
"""The most bytes of the end of an archive: its record, a comment, and the place of the record of a large one."""
_LEFT_OUT = 0xFFFFFFFF
"""A number that an extra field holds, as it is too large."""
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_BLOCK = 1 << 20


def members(stream: Any, size: int) -> Iterator[Member]:
    """The members of an archive of ``size`` bytes, in order of its directory.

    Raises ``ValueError`` for what is no whole archive.
    """
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + 22:
        raise ValueError("it has no directory at its end")
    length, at = struct.unpack_from("<II", tail, end + 12)
    if tail[end - 20 : end - 16] == _LOCATOR64:
        (where,) = struct.unpack_from("<Q", tail, end - 12)
        stream.seek(where)
        record = stream.read(56)
        if record[:4] != _END64:
            raise ValueError("its directory is damaged")
        length, at = struct.unpack_from("<QQ", record, 40)
    rest = b""
    while length > 0 or rest:
        stream.seek(at)
        data = stream.read(min(length, _BLOCK))
        at, length = at + len(data), length - len(data)
        rest, found = _entries(rest + data)
        yield from found
        if not data and rest:
            raise ValueError("its directory is cut")


def _entries(data: bytes) -> tuple[bytes, list[Member]]:
    """The whole entries at the beginning of a part of a directory, and what is left of it."""
    found = []
    place = 0
    while len(data) - place >= 46:
        if data[place : place + 4] != _ENTRY:
            raise ValueError("its directory is damaged")
        (method,) = struct.unpack_from("<H", data, place + 10)
        packed, size, name_size, extra_size, comment_size = struct.unpack_from("<IIHHH", data, place + 20)
        (at,) = struct.unpack_from("<I", data, place + 42)
        extra = place + 46 + name_size
        stop = extra + extra_size + comment_size
        if stop > len(data):
            break
        if _LEFT_OUT in (packed, size, at):
            large = _large(data[extra : extra + extra_size])
            size = next(large) if size == _LEFT_OUT else size
            packed = next(large) if packed == _LEFT_OUT else packed
            at = next(large) if at == _LEFT_OUT else at
        found.append(Member(data[place + 46 : extra].decode(errors="replace"), method, packed, size, at))
        place = stop
    return data[place:], found


def _large(extra: bytes) -> Iterator[int]:
    """The numbers of the extra field of a large member."""
    place = 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, place)
        if kind == 1:
            yield from struct.unpack_from(f"<{size // 8}Q", extra, place + 4)
        place += 4 + size
    raise ValueError("its directory is damaged")


def unpacked(stream: Any, member: Member) -> bytes:
    """The bytes of a member; raises ``ValueError`` for damaged ones, and for a compression that is not read."""
    stream.seek(member.at)
    head = stream.read(30)
    if head[:4] != _LOCAL or len(head) < 30:
        raise ValueError(f"{member.name} is not where its directory says")
    name_size, extra_size = struct.unpack_from("<HH", head, 26)
    stream.seek(member.at + 30 + name_size + extra_size)
    packed = stream.read(member.packed)
    if len(packed) < member.packed:
        raise ValueError(f"{member.name} is cut")
    try:
        if member.method == _ZSTD:
            return bytes(pa.decompress(packed, member.size, "zstd", asbytes=True))
        if member.method == _DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size)
    except (pa.ArrowException, OSError, zlib.error) as error:
        raise ValueError(f"{member.name} is damaged: {error}") from error
    if member.method != _STORED:
        raise ValueError(f"{member.name} is packed by method {member.method}; expected Zstandard or deflate")
    return packed


# A log as lines: each sample is one.


_SAMPLE = re.compile(r"samples/[^/]+\.json")
_LINE_ENDS = bytes.maketrans(b"\n\r", b"  ")


_KNOWN_BY = 20
"""The samples by which columns are known, even if they are long: one that failed lacks some of them."""


class InspectReader(JsonLinesReader):
    """A ``.eval`` log; its rows are the samples, in order of the archive's directory."""

    def blocks(self) -> Iterator[LineBlock]:
        """Some samples at a time, each as a line."""
        shown, most = self.file.shown, self.file.max_row_bytes
        number, size = 0, 0
        lines: list[bytes] = []
        stream, _ = self.file.open()
        with reading(shown), stream:
            try:
                for member in members(stream, self.file.size):
                    if not _SAMPLE.fullmatch(member.name):
                        continue
                    few = not number and len(lines) < _KNOWN_BY and size < most
                    full = size + member.size > self.file.sizes.line_block_bytes and not few
                    if lines and (full or member.size > most):
                        yield LineBlock(number, b"".join(lines), member.at)
                        number, lines, size = number + len(lines), [], 0
                    if member.size > most:
                        yield LineBlock(number, member.name.encode(), member.at, too_long(most))
                        number += 1
                        continue
                    lines.append(unpacked(stream, member).translate(_LINE_ENDS) + b"\n")
                    size += len(lines[-1])
            except ValueError as error:
                cut = "; was the log written to its end?"
                raise FileFormatError(f"{shown}: not a whole .eval log: {error}{cut}") from error
        if lines:
            yield LineBlock(number, b"".join(lines), self.file.size)

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"sample {row + 1}"


EVAL = Format("eval", (".eval",), InspectReader)
