"""JSON lines: Arrow parses blocks of whole lines; a rejected block is parsed line by line to report the error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from fastmetrics.base.arrays import check_names, well_formed
from fastmetrics.base.column_names import is_id
from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.paths import EVERY, Path, PathError, Steps, merged, parse, records_at, spelled
from fastmetrics.base.presets import presets, recognised
from fastmetrics.tables.column_types import Selection, WrongCells, WrongValueError, describe, fields_of
from fastmetrics.tables.encoders import DEPTH, is_deep, metadata_beside
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.readers import Chunk, Position, Reader, Reject, batch_of, too_long

# A text file as blocks of whole lines, in bounded memory.


BOM = b"\xef\xbb\xbf"
SHOWN = 10_000


class LineBlock(NamedTuple):
    """Whole lines: the number of the first line, from 0, and the number of bytes of the file read so far.

    Or the start of one line that is not read, with the reason in ``cut``.
    """

    line: int
    data: bytes
    offset: int
    cut: str = ""


def blocks(file: DataFile) -> Iterator[LineBlock]:
    """The blocks of a file, without a byte order mark.

    A line that goes on for more bytes than a row may have is cut, and its rest is skipped.
    """
    size = file.sizes.line_block_bytes
    line, rest, is_first, over = 0, b"", True, False
    stream, tell = file.open()
    with reading(file.shown), stream:
        for data, at, is_last in _pieces(stream, size, tell, file.size):
            if over:
                _, end, data = data.partition(b"\n")
                line, over = line + len(end), not end
            data, is_first = rest + (data.removeprefix(BOM) if is_first else data), False
            stop = data.rfind(b"\n") + 1
            if is_last and len(data) - stop <= file.max_row_bytes:  # the last line needs no end
                stop = len(data)
            if stop:
                yield LineBlock(line, data[:stop], at)
                line += data.count(b"\n")
            rest = data[stop:]
            if len(rest) > max(file.max_row_bytes, size):
                yield LineBlock(line, rest[:SHOWN], at, too_long(file.max_row_bytes))
                rest, over = b"", True
    if rest:
        yield LineBlock(line, rest, file.size)


def _pieces(stream: Any, size: int, tell: Callable[[], int], end: int) -> Iterator[tuple[bytes, int, bool]]:
    """What is read at a time, the bytes of the file until there, and whether it is the last; a device never says."""
    data = stream.read(size)
    while data:
        at = tell()
        ahead = stream.read(size) if 0 < end <= at else None
        yield data, at, ahead == b""
        data = stream.read(size) if ahead is None else ahead


# What JSON contains, from its first bytes.


TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|[][{}:,]|[^][{}:,"\s]+', re.DOTALL)
_MOST_TOKENS = 200_000


def outline(head: bytes) -> dict[str, None]:
    """The paths within the first document of ``head``, in order; lists of objects end with ``[]``.

    >>> list(outline(b'{"n": 1, "rows": [{"a": "x"}, {"b": [2]}, '))
    ['n', 'rows', 'rows[]', 'rows[].a', 'rows[].b']
    """
    paths: dict[str, None] = {}
    stack: list[tuple[str, bool]] = []
    name = ""
    is_key = False
    for count, token in enumerate(TOKEN.finditer(head)):
        mark = token[0]
        if mark in (b"{", b"["):
            path = name
            if stack and not stack[-1][1]:
                path = f"{stack[-1][0]}[]"
                if mark == b"{":
                    paths[path] = None
            stack.append((path, mark == b"{"))
            is_key = mark == b"{"
        elif mark in (b"}", b"]"):
            stack.pop() if stack else None
            is_key = False
            if not stack:
                break
        elif mark == b",":
            is_key = bool(stack) and stack[-1][1]
        elif mark == b":":
            is_key = False
        elif is_key and token[1] is not None:
            key = token[1].decode(errors="replace")
            name = f"{stack[-1][0]}.{key}" if stack[-1][0] else key
            paths[name] = None
        if count > _MOST_TOKENS or len(stack) > DEPTH:
            break
    return paths


# JSON lines: Arrow parses blocks of whole lines; a rejected block is parsed line by line to report the error.


Entry = tuple[int, bytes, dict[str, Any] | WrongValueError]
"""A record, or what is wrong with it, with its number and the line that it is of."""


class NoGoodLineError(FileFormatError):
    """No line of the first block is a JSON object."""


class JsonLinesReader(Reader):
    """One file of JSON lines.

    Row numbers are line numbers, so blank lines count but give no row.  A column exists if a row of the first 8 MB has
    it; later columns are found when they are requested by name (``holds``).
    """

    is_text = True
    has_late_columns = True
    follows_paths = True

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        self.within: Steps = ()
        self._only: Path | None = None
        self._chosen: tuple[str, Any] | None = None
        """A field, and the value that it has in the records that are rows."""
        self.begin()
        first: LineBlock | None = None
        for block in self.blocks():
            if block.cut or block.data.strip():
                first = block if first is None or (first.cut and not block.cut) else first
            # A line that is too long is a bad row, and the next ones have columns; a device may have no next one.
            endless = file.content is None and not file.is_remote
            if first is not None and (endless or not first.cut):
                break
        self.rows = 0 if first is None else None
        if first is None:  # the columns of an output without rows
            columns = metadata_beside(file).get("output")
            self.schema = pa.schema([(name, pa.null()) for name in columns or () if isinstance(columns, dict)])
            return
        self.schema = pa.schema([])
        try:
            self.schema = self._infer(first)
            self.know_by(self.schema)
            self._chosen = self._first_of(first)
            if self.has_records:
                self.schema = self._infer(first)
        except NoGoodLineError as error:  # its lines are bad rows if there are other files
            self.unreadable = error

    def blocks(self) -> Iterator[LineBlock]:
        """The lines of the file, or what is read as such."""
        return blocks(self.file)

    def begin(self) -> None:
        """What is to be known before the first block."""

    def know_by(self, schema: pa.Schema) -> None:
        """Recognise the preset by the columns, and find the records within each line."""
        self.within = self.recognise(fields_of(schema))

    def recognise(self, paths: Collection[str]) -> Steps:
        """Recognise the preset of a file with these paths; the steps to its records, if it has such lists."""
        named = self.file.settings.records
        self.preset = presets().get(self.file.schema or "") or recognised(paths, named)
        if self.preset is None:
            return record_path(named)
        self._only = None if self.preset.only is None else parse(self.preset.only)
        has_list = any(path.startswith(f"{self.preset.records}[]") for path in paths)
        return record_path(named or (self.preset.records if has_list else None))

    def _first_of(self, block: LineBlock) -> tuple[str, Any] | None:
        """The field of which the preset reads the rows of one value, and its first value."""
        name = None if self.preset is None else self.preset.one_of
        if name is None or name not in self.schema.names:
            return None
        records = (record for *_, record in self._entries(block, block.line) if isinstance(record, dict))
        value = next((record[name] for record in records if record.get(name) is not None), None)
        if value is None:
            return None
        self.note = f"{self.file.shown}: the rows of {name} {value!r} are read, and those of others left out"
        return name, value

    @property
    def has_records(self) -> bool:
        """Whether the rows are records within the lines, or some of the lines."""
        return bool(self.within) or self._only is not None or self._chosen is not None

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"record {row + 1}" if self.has_records else f"line {row + 1}"

    def holds(self, name: str) -> bool:
        """Whether any line seems to have this key, anywhere in the file."""
        keys = {json.dumps(name, ensure_ascii=plain).encode() for plain in (True, False)}
        for block in self.blocks():
            if block.cut:
                raise FileFormatError(str(self._cut(block, 0, block.line)))
            if any(key in block.data for key in keys):
                return True
        return False

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The lines, or the records within them, from ``start`` on."""
        in_json = None if self.has_records else self._in_json(selection)
        row = 0
        for block in self.blocks():
            row = row if self.has_records else block.line
            if block.cut:
                if row >= start:
                    nothing = np.empty(0, np.int64), batch_of(selection.schema)
                    yield Chunk(number, *nothing, (self._cut(block, number, row),), block.offset)
                row += 1
                continue
            if not self.has_records:
                first, stop = max(row, start), row + block.data.count(b"\n") + (not block.data.endswith(b"\n"))
                if stop <= start:
                    continue
                data = block.data.split(b"\n", first - row)[-1] if first > row else block.data
                batch = None if in_json is None else parsed_lines(data, stop - first, in_json, threads)
                if batch is not None:
                    columns = [self._column(batch, field, selection) for field in selection.schema]
                    batch = pa.RecordBatch.from_arrays(columns, names=selection.schema.names)
                    yield Chunk(number, np.arange(first, stop, dtype=np.int64), batch, (), block.offset)
                    continue
            entries = self._entries(block, row)
            row += len(entries)
            yield self._one_by_one([entry for entry in entries if entry[0] >= start], block.offset, number, selection)

    def _entries(self, block: LineBlock, first: int) -> list[Entry]:
        """The lines of a block that are not blank, or the records within them, numbered from ``first``."""
        lines = _parsed_lines(block.data, first)
        if not self.has_records:
            return list(lines)
        found: list[tuple[bytes, dict[str, Any] | WrongValueError]] = []
        for _, line, record in lines:
            try:
                if isinstance(record, WrongValueError):
                    raise record
                for one in records_at(record, self.within) if self.within else (record,):
                    fits = self._chosen is None or one.get(self._chosen[0]) == self._chosen[1]
                    if fits and (self._only is None or self._only.value(one) is not None):
                        found.append((line, one))
            except (PathError, WrongValueError) as error:
                found.append((line, WrongValueError(str(error))))
        return [(row, *entry) for row, entry in enumerate(found, first)]

    def _infer(self, block: LineBlock) -> pa.Schema:
        """The columns of a block and their types; if rows disagree, the most general type."""
        if block.cut:
            raise NoGoodLineError(f"{self.file.shown}, {self.where(block.line)}: {block.cut}")
        schema = None if self.has_records else _schema_by_arrow(block.data)
        if schema is not None:
            return schema
        entries = self._entries(block, block.line)
        if self.has_records and not entries:
            path = spelled(self.within) if self._only is None else self.preset.only if self.preset else ""
            raise FileFormatError(f"{self.file.shown}: no {self.where(0).split()[0]} has an object at {path!r}")
        types = _fields([record for *_, record in entries if isinstance(record, dict)])
        wrong = next((entry for entry in entries if isinstance(entry[2], WrongValueError)), None)
        if not types and wrong is not None:
            raise NoGoodLineError(f"{self.file.shown}, {self.where(wrong[0])}: {wrong[2]}")
        return pa.schema(list(types.items()))

    def _in_json(self, selection: Selection) -> pa.Schema | None:
        """The types of the columns for Arrow's parser; None if the paths can only be followed row by row.

        Those are the paths whose values Arrow would not see: where the first rows have none, or of another kind.
        """
        read = pa.struct([field for field in selection.schema if field.name not in selection.paths])
        record = pa.struct(list(self.schema))
        try:
            for name, path in selection.paths.items():
                read = merged(read, path.read_from(record, selection.schema.field(name).type))
        except PathError:
            return None
        return pa.schema(list(read))

    @staticmethod
    def _column(batch: pa.RecordBatch, field: pa.Field, selection: Selection) -> pa.Array:
        """A selected column of what Arrow parsed."""
        if field.name in selection.paths:
            array = selection.paths[field.name].column(dict(zip(batch.schema.names, batch.columns, strict=True)))
            return array if array.type == field.type else array.cast(field.type)
        return batch.column(field.name)

    def _cut(self, block: LineBlock, number: int, row: int) -> Reject:
        """The error for a truncated line."""
        raw = block.data.decode(errors="replace")
        return Reject(Position(number, row), self.file.shown, self.where(row), None, block.cut, raw)

    def _one_by_one(self, entries: Sequence[Entry], offset: int, number: int, selection: Selection) -> Chunk:
        rows, lines, records = zip(*entries, strict=True) if entries else ((), (), ())
        wrong: WrongCells = {
            place: (None, str(record)) for place, record in enumerate(records) if isinstance(record, WrongValueError)
        }
        columns = []
        for name in selection.schema.names:  # a row that is wrong in one column asks for no wider type of the next
            good = ({} if place in wrong else record for place, record in enumerate(records))
            columns.append(selection.of_records(name, good, wrong))
        batch = pa.RecordBatch.from_arrays(columns, schema=selection.schema)
        chunk = Chunk(number, np.asarray(rows, dtype=np.int64), batch, (), offset)
        return chunk.without(wrong, self.place, lambda place: lines[place].decode(errors="replace"))


def parsed_lines(block: bytes, lines: int, schema: pa.Schema, threads: int = 1) -> pa.RecordBatch | None:
    """The block parsed by Arrow, or None if Arrow rejects it or if lines and rows do not correspond."""
    if block.count(b"\n{") + block.startswith(b"{") != lines or is_deep(block):
        return None
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    sizes = [SIZES.json_block_bytes, len(block) + 1] if threads > 1 else [len(block) + 1]
    for size in sizes:
        try:
            source = pa.BufferReader(block)
            table = pj.read_json(source, pj.ReadOptions(use_threads=threads > 1, block_size=size), options)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        if table.num_rows != lines:
            return None
        table = table.select(schema.names).combine_chunks()
        arrays = [column.chunk(0) if column.num_chunks else column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return None


def values_of(text: str | bytes) -> Any:
    """The value of a text of JSON; an integer of more digits than Python converts stays a text.

    Raises ``json.JSONDecodeError`` for any other text.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_integer)


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def record_of(line: bytes) -> dict[str, Any]:
    """The JSON object on a line; raises a ``WrongValueError`` with the reason for anything else."""
    if is_deep(line):
        raise WrongValueError(f"nested more than {DEPTH} levels deep")
    try:
        record = values_of(line.decode())
    except UnicodeDecodeError as error:
        raise WrongValueError(f"invalid UTF-8: byte 0x{line[error.start]:02x} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise WrongValueError(f"malformed JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}") from None
    if record is None:
        return {}
    if not isinstance(record, dict):
        raise WrongValueError(f"expected a JSON object, got {describe(record)}")
    return record


def _parsed_lines(data: bytes, first: int) -> Iterator[Entry]:
    """The lines that are not blank with their numbers, and their records, or what is wrong with them."""
    for row, line in enumerate(data.split(b"\n"), first):
        if line.strip():
            try:
                yield row, line, record_of(line)
            except WrongValueError as error:
                yield row, line, error


def record_path(text: str | None) -> Steps:
    """The steps of the setting ``records``, which lead to the items of a list.

    >>> record_path("data[].paragraphs") == record_path("data[].paragraphs[]")
    True
    """
    if text is None:
        return ()
    steps = parse(text).choices[0]
    return steps if steps[-1] == EVERY else (*steps, EVERY)


def _schema_by_arrow(data: bytes) -> pa.Schema | None:
    """The types of the columns of lines; None if Arrow's parser cannot say them, or would not keep all digits."""
    if is_deep(data) or _OBJECT.match(data) is None:  # Arrow's parser ends the process if the first line is null
        return None
    try:
        if _grows(data):
            return None
        schema = _arrow_schema(data)
        check_names(schema, "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, InputError):
        return None
    has_floats = any("double" in str(field.type) for field in schema)  # also within lists and objects
    return None if has_floats and _LONG_INTEGER.search(data) else schema


def _arrow_schema(data: bytes) -> pa.Schema:
    options = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
    return pj.read_json(pa.BufferReader(data), options).schema


def _grows(data: bytes) -> bool:
    """Whether later lines of a block have many names that its first ones lack: a column for each would be too many."""
    places = (0, len(data) // 2, max(0, len(data) - _SAMPLE))
    pieces = [data[at : at + _SAMPLE].split(b"\n", _SAMPLE_LINES + 1)[at > 0 : -1] for at in places]
    if len(data) <= 3 * _SAMPLE or not pieces[0]:
        return False
    first, whole = (
        len(fields_of(_arrow_schema(b"".join(line + b"\n" for piece in some for line in piece))))
        for some in (pieces[:1], pieces)
    )
    return whole - first > _NEW_NAMES


_SAMPLE, _SAMPLE_LINES, _NEW_NAMES = 1 << 16, 128, 100
_MOST_NAMES = 1_000
"""The names and paths that are listed of a file, of whose lines each may bring new ones; others are found by name."""
_OBJECT = re.compile(rb"\s*\{")
_LONG_INTEGER = re.compile(rb"[:\[,]\s*-?[0-9]{16,}\s*[,\]}]")
"""An integer that may not be a float: Arrow would take it for one, and an id would lose its last digits."""


def _fields(records: Sequence[dict[str, Any]]) -> dict[str, pa.DataType]:
    """The types of the values by name, without names that no column can have."""
    values: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            values.setdefault(name, []).append(value)
    named = islice(values.items(), _MOST_NAMES)
    return {name: _type_of(some, is_id(name)) for name, some in named if name == well_formed(name)}


def _type_of(values: list[Any], identifies: bool) -> pa.DataType:
    """The type of values by Arrow; of values of several kinds a list, if one is a list, or else text.

    Integers that no float holds are floats beside floats, but text if they identify rows.
    """
    objects = [value for value in values if isinstance(value, dict)]
    if len({name for value in objects for name in value}) > _MOST_NAMES:
        values = [dict(islice(value.items(), _MOST_NAMES)) for value in objects]
        return pa.struct(list(_fields(values).items()))
    try:
        return pa.array(values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        kinds = {type(value) for value in values if value is not None}
    if kinds == {dict}:
        return pa.struct(list(_fields([value for value in values if value is not None]).items()))
    if list in kinds:
        items = [item for value in values for item in (value if isinstance(value, list) else [value])]
        return pa.list_(_type_of(items, identifies))
    return pa.float64() if kinds == {int, float} and not identifies else pa.string()
