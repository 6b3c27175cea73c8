"""JSON documents, and archives of them: their records one by one in bounded memory, and what a document contains."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import Argument, FileFormatError
from fastmetrics.base.paths import EVERY, Steps, spelled
from fastmetrics.base.presets import may_be_known
from fastmetrics.kernels.byte_search import DEPTH_AT, FOUND_AT, ITEM_AT, KEY_AT, SKIPPED, STATE, find_items
from fastmetrics.tables.encoders import TextEncoder
from fastmetrics.tables.formats import Format, Reader
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.json_lines import BOM, SHOWN, TOKEN, JsonLinesReader, LineBlock, outline, record_of
from fastmetrics.tables.table_chunks import too_long

# The records of a document, each as one line.


_ITEMS = 1 << 16
"""Items that are found at a time."""
_LINE_ENDS = bytes.maketrans(b"\n\r", b"  ")
"""JSON has line ends only between values: within strings they are escaped."""
_CUT = "the document ends within this record: it was not written to its end, or cut"


def document_blocks(file: DataFile, keys: Steps) -> Iterator[LineBlock]:
    """The items of the list at ``keys`` of a document, or of the document, which is a list; each is one line.

    Raises ``FileFormatError`` for a document that has no such list, or has more after its end.
    """
    encoded = [str(key).encode() for key in keys]
    names = np.frombuffer(b"".join(encoded), np.uint8)
    bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    state = np.zeros(STATE, np.int64)
    state[[ITEM_AT, KEY_AT]] = -1
    starts, stops = np.empty(_ITEMS, np.int64), np.empty(_ITEMS, np.int64)
    number, rest, ended = 0, b"", False
    stream, tell = file.open()
    with reading(file.shown), stream:
        while data := stream.read(file.sizes.line_block_bytes):
            if not rest and not tell() > len(data):
                data = data.removeprefix(BOM)
            data, at = rest + data, len(rest)
            view = np.frombuffer(data, np.uint8)
            while at < len(data):
                if ended and not data[at:].strip():
                    break
                if ended:
                    raise FileFormatError(f"{file.shown}: more follows the end of the JSON document")
                found, at = find_items(view, at, names, bounds, state, starts, stops)
                ended = state[DEPTH_AT] <= 0 and data[at - 1] in b"]}"
                yield from _lines(data, starts[:found], stops[:found], number, tell(), file.max_row_bytes)
                number += found
            begin = max(int(state[ITEM_AT]), int(state[KEY_AT]))
            rest = data[begin:] if begin >= 0 else b""
            for place in (ITEM_AT, KEY_AT):
                state[place] -= begin if state[place] >= 0 else 0
            if len(rest) > file.max_row_bytes and state[ITEM_AT] >= 0:
                yield LineBlock(number, rest[:SHOWN], tell(), too_long(file.max_row_bytes))
                number, rest = number + 1, b""
                state[ITEM_AT] = SKIPPED
    if state[FOUND_AT] and state[DEPTH_AT]:
        yield LineBlock(number, rest[:SHOWN], file.size, _CUT)
    elif not state[FOUND_AT]:
        raise FileFormatError(f"{file.shown}: ", *_no_records(file, keys, cut=bool(state[DEPTH_AT])))


def _lines(data: bytes, starts: Ints, stops: Ints, first: int, offset: int, most: int) -> Iterator[LineBlock]:
    """Items as blocks of lines, of which one that is too long is a block of its own."""
    lines: list[bytes] = []
    for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True), first):
        if stop - start > most:
            if lines:
                yield LineBlock(number - len(lines), b"\n".join([*lines, b""]), offset)
            lines = []
            yield LineBlock(number, data[start : start + SHOWN], offset, too_long(most))
        else:
            lines.append(data[start:stop].translate(_LINE_ENDS))
    if lines:
        yield LineBlock(first + len(starts) - len(lines), b"\n".join([*lines, b""]), offset)


def _no_records(file: DataFile, keys: Steps, *, cut: bool) -> list[object]:
    """Why a document gives no records, and what to type."""
    lists = record_lists(outline(head_of(file)))
    have = f"it has lists of objects at {', '.join(map(repr, lists))}" if lists else "it has no list of objects"
    if keys:
        why = f"the document has no list at {spelled(keys)!r}" + ("; it seems to be cut" if cut else "")
    else:
        why = "the file is one JSON object, not a list of records or one object a line"
    if lists:
        return [f"{why}; {have}; name the one to read with ", Argument("records", lists[0])]
    return [f"{why}; {have}; an object that is one row stands on one line"]


# What a document contains, from its first bytes.


_HEAD = 1 << 20


def head_of(file: DataFile, nbytes: int = _HEAD) -> bytes:
    """The first bytes of a file, unpacked."""
    with reading(file.shown), file.open()[0] as stream:
        head: bytes = stream.read(nbytes)
    return head.removeprefix(BOM)


def record_lists(paths: Mapping[str, None]) -> list[str]:
    """The lists of objects of an outline that are not within another list."""
    return [path.removesuffix("[]") for path in paths if path.endswith("[]") and "[]" not in path[:-2] and path != "[]"]


# The format of a file of JSON, which is a document or has one record a line.


class JsonDocumentReader(JsonLinesReader):
    """One JSON document: a list of records, or an object with such a list at ``settings.records``."""

    def blocks(self) -> Iterator[LineBlock]:
        """The records that are read one by one, each as a line."""
        return document_blocks(self.file, self._keys)

    def begin(self) -> None:
        """Recognise the preset by the first bytes, and find the list of records."""
        self._keys: Steps = ()
        head = head_of(self.file)
        is_list = _is_list(head)
        paths = outline(head) if self.file.schema is not None or may_be_known(head) else {}
        records = self.recognise({path.removeprefix("[]."): None for path in paths} if is_list else paths)
        if is_list or not records:
            self.within = records
        else:
            place = records.index(EVERY)
            self._keys, self.within = records[:place], records[place + 1 :]

    def know_by(self, schema: pa.Schema) -> None:
        """Nothing more."""

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"record {row + 1}"


def is_document(head: bytes) -> bool:
    """Whether the first bytes of a file of JSON are those of one document, rather than of one object a line.

    >>> is_document(b'[{"a": 1}]'), is_document(b'{"a": 1}\\n{"a": 2}\\n'), is_document(b'{\\n "rows": [')
    (True, False, True)
    """
    head = head.lstrip()
    if head.startswith(b"["):
        return True
    line, end, _ = head.partition(b"\n")
    depth = sum({b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0) for token in TOKEN.finditer(line))
    return depth > 0 and bool(end or len(head) >= _HEAD - 3)


def _json_reader(file: DataFile) -> Reader:
    return JsonDocumentReader(file) if is_document(head_of(file)) else JsonLinesReader(file)


def _lines_reader(file: DataFile) -> Reader:
    """The reader of a file of lines, unless it is a list."""
    return JsonDocumentReader(file) if _is_list(head_of(file, 64)) else JsonLinesReader(file)


def _is_list(head: bytes) -> bool:
    return head.lstrip()[:1] == b"["


def _looks_like_json(head: bytes) -> bool:
    return head.removeprefix(BOM).lstrip().startswith((b"{", b"["))


JSON = Format("json", (".json",), _json_reader, looks_like=_looks_like_json)
JSONL = Format(
    "jsonl",
    (".jsonl", ".ndjson"),
    _lines_reader,
    encoder=lambda path, schema, compression, guard, excel: TextEncoder(path, schema, compression, guard=guard),
    compressions=("gzip", "zstd"),
)


# The ``.eval`` logs of Inspect: a zip archive with one document for each sample, read in bounded memory.
#
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


def _unpacked(stream: Any, member: Member) -> bytes:
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
_START, _VERSION = "_journal/start.json", 2
"""What an archive begins with, and the newest version of logs whose samples are known to be found."""

_KNOWN_BY = 20
"""The samples by which columns are known, even if they are long: one that failed lacks some of them."""


class InspectReader(JsonLinesReader):
    """A ``.eval`` log; its rows are the samples, in order of the archive's directory."""

    def blocks(self) -> Iterator[LineBlock]:
        """Some samples at a time, each as a line."""
        shown, most = self.file.shown, self.file.max_row_bytes
        number = size = version = 0
        lines: list[bytes] = []
        stream, _ = self.file.open()
        with reading(shown), stream:
            try:
                for member in members(stream, self.file.size):
                    if member.name == _START and member.size <= most:
                        version = record_of(_unpacked(stream, member)).get("version", 0)
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
                    lines.append(_unpacked(stream, member).translate(_LINE_ENDS) + b"\n")
                    size += len(lines[-1])
            except ValueError as error:
                cut = "; was the log written to its end?"
                raise FileFormatError(f"{shown}: not a whole .eval log: {error}{cut}") from error
        if lines:
            yield LineBlock(number, b"".join(lines), self.file.size)
        elif not number and version > _VERSION:
            read = f"versions up to {_VERSION} are read; write it as JSON (inspect log convert --to json)"
            raise FileFormatError(f"{shown}: a log of version {version}, in which no samples are found; {read}")

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"sample {row + 1}"


EVAL = Format("eval", (".eval",), InspectReader)
