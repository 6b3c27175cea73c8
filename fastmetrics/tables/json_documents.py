"""JSON documents, and archives of them: their records one by one in bounded memory, and what a document contains."""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError
from fastmetrics.base.paths import EVERY, Steps, spelled
from fastmetrics.base.presets import may_be_known
from fastmetrics.tables.encoders import DEPTH, TextEncoder
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.json_lines import BOM, SHOWN, TOKEN, JsonLinesReader, LineBlock, outline, record_of, values_of
from fastmetrics.tables.readers import Format, Reader, too_long

# The records of a document, each as one line.


_CUT = "the document ends within this record: it was not written to its end, or cut"


def document_blocks(file: DataFile, keys: Steps) -> Iterator[LineBlock]:
    """The items of the list at ``keys`` of a document, or of the document, which is a list; each is one line.

    Raises ``FileFormatError`` for a document that has no such list, or has more after its end.
    """
    import ijson

    lines: list[bytes] = []
    size = number = 0
    most = file.max_row_bytes + 1  # of a line and its end
    stream, tell = file.open()
    with reading(file.shown), stream:
        try:
            for line in _items(file, stream, ".".join([*map(str, keys), "item"])):
                if lines and (size + len(line) > file.sizes.line_block_bytes or len(line) > most):
                    yield LineBlock(number, b"".join(lines), tell())
                    number, lines, size = number + len(lines), [], 0
                if len(line) > most:
                    yield LineBlock(number, line[:SHOWN], tell(), too_long(file.max_row_bytes))
                    number += 1
                    continue
                lines.append(line)
                size += len(line)
            fault = ""
        except ijson.IncompleteJSONError:
            fault = _CUT
        except json.JSONDecodeError as error:
            if error.msg == "Extra data":
                raise FileFormatError(f"{file.shown}: more follows the end of the JSON document") from error
            fault = f"malformed JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1} of the document"
    if lines:
        yield LineBlock(number, b"".join(lines), file.size)
    number += len(lines)
    if not number and not _has_list(file, keys):
        raise FileFormatError(f"{file.shown}: ", *_no_records(file, keys, cut=bool(fault)))
    if fault:
        yield LineBlock(number, b"", file.size, fault)


def _items(file: DataFile, stream: pa.NativeFile, place: str) -> Iterator[bytes]:
    """The items of a list as lines, parsed one by one; the rest of what is no strict JSON, such as NaN, as a whole."""
    import ijson
    import orjson

    count = 0
    start = stream.read(len(BOM))
    try:
        for item in ijson.items(_Joined(start.removeprefix(BOM), stream), place, buf_size=1 << 16, use_float=True):
            try:
                line = orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE)
            except TypeError:  # nested too deeply for it
                line = _line(item)
            yield line
            count += 1
    except (ijson.IncompleteJSONError, UnicodeError) as error:
        if "premature EOF" in str(error):
            raise
        value = values_of(head_of(file, None))
        for step in place.split(".")[:-1]:
            value = value.get(step) if isinstance(value, dict) else None
        yield from map(_line, value[count:] if isinstance(value, list) else ())


_LONE = re.compile(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])", re.DOTALL)
"""The escape of half a surrogate pair, which the parser would replace in silence."""


_LONG = re.compile(rb"[0-9]{1000}")
"""A part of a number that may have too many digits for Python and for the parser."""


class _Joined:
    """A stream behind bytes that were already read from it.

    Half of a surrogate pair, and what may be a number of too many digits, are a ``UnicodeError``: the document is then
    read as a whole.
    """

    def __init__(self, start: bytes, stream: pa.NativeFile) -> None:
        self._start, self._stream = start, stream
        self._last = b""

    def read(self, size: int) -> bytes:
        start, self._start = self._start[:size], self._start[size:]
        data: bytes = start or self._stream.read(size)
        seen = self._last + data
        if b"\\u" in seen and any(match.end() + 6 <= len(seen) or not data for match in _LONE.finditer(seen)):
            raise UnicodeError("half of a surrogate pair")
        if _LONG.search(data) is not None:
            raise UnicodeError("a number of many digits")
        self._last = seen[-11:]
        return data


def _line(item: Any) -> bytes:
    """A record as a line of JSON; one that JSON cannot hold in UTF-8 with escapes."""
    try:
        return json.dumps(item, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(item).encode() + b"\n"
    except RecursionError:
        return b"[" * (DEPTH + 1) + b"\n"  # which is refused as such


def _has_list(file: DataFile, keys: Steps) -> bool:
    """Whether a document without records has at least the list."""
    import ijson

    place = ".".join(map(str, keys))
    with reading(file.shown), file.open()[0] as stream, suppress(ijson.IncompleteJSONError, UnicodeError):
        return any(prefix == place and event == "start_array" for prefix, event, _ in ijson.parse(_Joined(b"", stream)))
    return False


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


def head_of(file: DataFile, nbytes: int | None = _HEAD) -> bytes:
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
    encoder=TextEncoder,
    compressions=("gzip", "zstd"),
)


# The ``.eval`` logs of Inspect: a zip archive with one document for each sample, as lines.


_LINE_ENDS = bytes.maketrans(b"\n\r", b"  ")
"""JSON has line ends only between values: within strings they are escaped."""
_ZSTD = 93
"""The method of compression that the standard library does not unpack."""


def _unpacked(archive: zipfile.ZipFile, stream: pa.NativeFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; raises ``BadZipFile`` for damaged ones."""
    if member.compress_type != _ZSTD:
        return archive.read(member)
    stream.seek(member.header_offset + _LOCAL_SIZES)
    name_size, extra_size = struct.unpack("<HH", stream.read(4))
    stream.seek(name_size + extra_size, os.SEEK_CUR)
    return bytes(pa.decompress(stream.read(member.compress_size), member.file_size, "zstd", asbytes=True))


_LOCAL_SIZES = 26
"""Where the header of a member has the sizes of its name and extra field, which end it."""

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
                archive = zipfile.ZipFile(stream)
                for member in archive.infolist():
                    if member.filename == _START and member.file_size <= most:
                        version = record_of(_unpacked(archive, stream, member)).get("version", 0)
                    if not _SAMPLE.fullmatch(member.filename):
                        continue
                    few = not number and len(lines) < _KNOWN_BY and size < most
                    full = size + member.file_size > self.file.sizes.line_block_bytes and not few
                    if lines and (full or member.file_size > most):
                        yield LineBlock(number, b"".join(lines), member.header_offset)
                        number, lines, size = number + len(lines), [], 0
                    if member.file_size > most:
                        yield LineBlock(number, member.filename.encode(), member.header_offset, too_long(most))
                        number += 1
                        continue
                    lines.append(_unpacked(archive, stream, member).translate(_LINE_ENDS) + b"\n")
                    size += len(lines[-1])
            except (zipfile.BadZipFile, zlib.error, ValueError, struct.error, EOFError) as error:
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
