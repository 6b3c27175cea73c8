"""CSV and TSV: columns are text unless they are requested as numbers, flags or lists."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_text
from fastmetrics.base.errors import Argument, FileFormatError
from fastmetrics.base.text_structure import printed_list, text_list
from fastmetrics.tables.encoders import TextEncoder, metadata_beside, unguarded
from fastmetrics.tables.file_columns import Selection, Widened, WiderTypeError, WrongValueError, coerce
from fastmetrics.tables.formats import Format, Reader
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.table_chunks import Chunk, Position, Reject, Rows, batch_of, too_long

# Parsing columns of text as the requested types: numbers, flags and lists, in the notation of CSV.


_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_NOTHING = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+|nan|inf(inity)?)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)


def parse(text: pa.StringArray, type_: pa.DataType, kind: str) -> tuple[pa.Array, dict[int, str]]:
    """A column of text as ``type_``, and the errors of invalid rows (null). Empty is null except in text columns."""
    if is_text(type_):
        return text.cast(type_), {}
    if pt.is_floating(type_):
        try:
            filled = pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, pa.string()), text)
            return filled.cast(pa.float64()), {}
        except pa.ArrowInvalid:
            return _each(text, type_, _to_number)
    if pt.is_boolean(type_):
        return _each(text, type_, _to_flag)
    if is_list(type_) and kind in ("texts", "values"):
        return _each(text, type_, _to_texts)
    if is_list(type_):
        return _each(text, type_, lambda value: coerce(_to_list(value), type_, kind))
    raise AssertionError(f"a text column cannot be read as {type_}")


def _each(text: pa.StringArray, type_: pa.DataType, convert: Callable[[str], Any]) -> tuple[pa.Array, dict[int, str]]:
    values: list[Any] = []
    failures = {}
    for index, value in enumerate(text.view(pa.binary()).to_pylist()):
        try:
            values.append(convert(value.decode(errors="replace")) if value is not None and value.strip() else None)
        except WrongValueError as error:
            values.append(None)
            failures[index] = str(error)
    return pa.array(values, type_), failures


def _to_number(value: str) -> float:
    if _NUMBER.fullmatch(value) is None:
        raise WrongValueError(f"expected a number, got {value[:40]!r}")
    return float(value)


def _to_flag(value: str) -> bool:
    if value.strip().lower() not in _FLAGS:
        raise WrongValueError(f"expected true or false, got {value[:40]!r}")
    return _FLAGS[value.strip().lower()]


def _to_list(value: str) -> Any:
    items = printed_list(value)
    if items is None:
        raise WrongValueError(f"expected a list in JSON, got {value[:40]!r}")
    return items


def _to_texts(value: str) -> list[str | None] | None:
    try:
        return text_list(value)
    except ValueError as error:
        raise WrongValueError(str(error)) from None


def as_it_looks(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text as whole numbers, numbers, flags or lists, if all of it looks so; as it is otherwise.

    >>> as_it_looks(pa.chunked_array([["1", "2"], ["", "NA"]])).to_pylist()
    [1, 2, None, None]
    """
    empty = pc.is_in(text, pa.array(_NOTHING))
    values = pc.if_else(empty, pa.scalar(None, pa.string()), text)
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values))])
    for type_ in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return values.cast(type_)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.starts_with(values, "[")).as_py():
        try:
            lists = [None if value is None else json.loads(value) for value in values.to_pylist()]
            return pa.chunked_array([pa.array(lists)])
        except (ValueError, RecursionError):
            return text
    return text


# CSV and TSV: columns are text unless they are requested as numbers, flags or lists.
#
# ``LineNumbers`` finds the start of each record, and unclosed quotes.


LARGEST = 1 << 30
_BOM = b"\xef\xbb\xbf"
_ALONE = threading.Lock()


class Stream:
    """A file with a line end after its last line; counts quotes, because an odd count indicates an unclosed one.

    If ``coded``, each byte becomes the character of that number, so that Arrow always finds valid UTF-8.
    """

    def __init__(self, stream: pa.NativeFile, *, coded: bool) -> None:
        self.stream = stream
        self.count = 0
        self.closed = False
        self._coded = coded
        self._last: bytes | None = None

    def read(self, size: int = -1) -> bytes:
        data = self._start(size) if self._last is None else self._block(size)
        if not data and self._last not in (None, b"\n"):
            data = b"\n"
        self._last = data[-1:] or self._last
        self.count += data.count(b'"')
        return data if not self._coded or data.isascii() else data.decode("latin-1").encode()

    def _start(self, size: int) -> bytes:
        # Arrow removes the BOM itself if the file needs no recoding.
        data = self._block(size)
        return data.removeprefix(_BOM) if self._coded else data

    def _block(self, size: int) -> bytes:
        # A recoded byte may take two bytes, and at most ``size`` bytes may be returned.
        data: bytes = self.stream.read(size // 2 if self._coded else size)
        return data

    def close(self) -> None:
        self.closed = True


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The original bytes of a batch's cells that were read through a coded ``Stream``."""
    return pa.RecordBatch.from_arrays([_decoded(column) for column in batch.columns], schema=batch.schema)


def _decoded(cells: pa.Array) -> pa.Array:
    if pc.all(pc.string_is_ascii(cells.view(pa.string()))).as_py() in (True, None):
        return cells
    return pa.array([plain_bytes(cell.decode()) for cell in cells.to_pylist()], pa.binary())


def coded_name(name: str) -> str:
    """A column name as it appears through a coded ``Stream``."""
    return name.encode().decode("latin-1")


def plain_bytes(text: str) -> bytes:
    """The original bytes of a text that was read through a coded ``Stream``."""
    return text.encode("latin-1")


class LineNumbers:
    """The line of each record, found by a second pass that stops at the last requested record.

    Thread-safe; the lines of recent records are cached, because requests are close together.
    """

    def __init__(self, file: DataFile, delimiter: str, lone: bool) -> None:
        self._file = file
        self._lone = lone
        self._delimiter = delimiter
        self._lines = np.zeros(0, np.int64)
        # Arrow's limit: a record may extend over two blocks
        self._most = 2 * max(file.sizes.csv_block_bytes, file.max_row_bytes)

    def _begin(self) -> None:
        self._lines = np.zeros(self._file.sizes.line_numbers, np.int64)
        self._record = -1
        self._start = 1
        self._records = self._walk()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling drops the counts."""
        return LineNumbers, (self._file, self._delimiter, self._lone)

    def _walk(self) -> Iterator[int]:
        with self._file.open()[0] as stream:
            reader = csv.reader(text_lines(stream, self._most), delimiter=self._delimiter)
            start = 1
            try:
                for record in reader:
                    if record or (self._lone and start > 1):
                        yield start
                    start = reader.line_num + 1
            except csv.Error:  # the start of a record that is too long
                yield start

    def of(self, row: int) -> int:
        """The line of a record; the header is record -1."""
        record = row + 1
        with _field_size(self._most):
            if not len(self._lines) or record <= self._record - len(self._lines):
                self._begin()
            while self._record < record:
                self._start = next(self._records, self._start)
                self._record += 1
                self._lines[self._record % len(self._lines)] = self._start
            return int(self._lines[record % len(self._lines)])

    def refuse_open_quote(self) -> None:
        """Raise ``FileFormatError`` if the last record's quote is not closed."""
        with self._file.open()[0] as stream:
            lines = text_lines(stream, self._most)
            reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
            start = 1
            try:
                with _field_size(self._most):
                    for _ in reader:
                        start = reader.line_num + 1
            except csv.Error as error:
                if "unexpected end" in str(error):
                    message = f"{self._file.shown}, line {start}: a quoted field is not closed"
                    raise FileFormatError(message) from None


def text_lines(stream: Any, most: int) -> Iterator[str]:
    """The lines of a stream, one character per byte; raises ``csv.Error`` for a line of more than ``most``.

    Latin-1 maps every byte to a character, so invalid UTF-8 cannot stop the counting of lines.
    """
    text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
    while line := text.readline(most + 1):
        if len(line) > most:
            raise csv.Error(too_long(most))
        yield line


@contextmanager
def _field_size(most: int) -> Iterator[None]:
    """Allow the csv module cells of this size, in one thread at a time, because its limit is global."""
    with _ALONE:
        limit = csv.field_size_limit(min(most, LARGEST))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


_RAGGED = re.compile(r"CSV parse error: .*Expected \d+ columns, got \d+", re.DOTALL)


_DELIMITERS = (",", ";", "\t", "|")
_HEAD = 1 << 16


def _widths(head: str, delimiter: str) -> list[int]:
    """The numbers of fields of the first two records."""
    try:
        records = (record for record in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if record)
        return [len(record) for record in itertools.islice(records, 2)]
    except csv.Error:
        return []


class DelimitedReader(Reader):
    """One CSV or TSV file with a header; row numbers count the records after it."""

    is_text = True
    has_types = False

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        self.has_blanks = file.settings.blank == "missing"
        self._guarded = bool(metadata_beside(file).get("guarded"))
        self._delimiter = self._found_delimiter()
        header = self._header()
        self._lines = LineNumbers(file, self._delimiter, len(header) == 1)
        self.rows = None if header else 0
        names = unguarded(pa.array(header, pa.string())).to_pylist() if self._guarded else header
        self.schema = pa.schema([(name, pa.string()) for name in names])
        self._written = dict(zip(names, header, strict=True))

    def _found_delimiter(self) -> str:
        """The delimiter that is named, or that divides the header and the first row alike; a comma in doubt.

        Raises ``FileFormatError`` if the named one is not in the header and another one is.
        """
        named = self.file.settings.delimiter
        if named is None and self.file.format == "tsv":
            return "\t"
        with reading(self.file.shown), self.file.open()[0] as stream:
            head = stream.read(_HEAD).decode("latin-1")
        widths = {delimiter: _widths(head, delimiter) for delimiter in _DELIMITERS}
        if named is not None:
            delimiter = "\t" if named == "tab" else named
            others = [other for other in _DELIMITERS if widths[other][:1] > [1]]
            if widths[delimiter][:1] == [1] and others:
                found = " and ".join("tab" if other == "\t" else repr(other) for other in others)
                message = f"{self.file.shown}: the header has {found}; expected "
                raise FileFormatError(message, Argument("delimiter", named))
            return delimiter
        even = [
            delimiter for delimiter in _DELIMITERS if widths[delimiter][:1] > [1] and len({*widths[delimiter]}) == 1
        ]
        return "," if "," in even or len(even) != 1 else even[0]

    def _header(self) -> list[str]:
        with reading(self.file.shown), self.file.open()[0] as stream:
            marked = stream.read(3) == b"\xef\xbb\xbf"
        with reading(self.file.shown), self.file.open()[0] as stream:
            stream.read(3 if marked else 0)
            lines = text_lines(stream, self.file.max_row_bytes)
            try:
                row = next((row for row in csv.reader(lines, delimiter=self._delimiter) if row), [])
                names = [name.encode("latin-1").decode() for name in row]
            except UnicodeDecodeError as error:
                message = (
                    f"{self.file.shown}, line 1: the header is not UTF-8; name the encoding, such as cp1251, with "
                )
                raise FileFormatError(message, Argument("encoding")) from error
            except csv.Error as error:
                raise FileFormatError(f"{self.file.shown}, line 1: {error}") from error
        return names

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"line {self._lines.of(row)}"

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The records from ``start`` on."""
        block, chunks_of = self.file.sizes.csv_block_bytes, self._read_even
        while True:
            try:
                for chunk in chunks_of(selection, number, start, block):
                    yield chunk
                    start = max(start, chunk.stop)
                return
            except pa.ArrowInvalid as error:
                if "Empty CSV file" in str(error):  # a header without a line end and without rows
                    return
                if "straddl" in str(error):
                    block = self._larger(block, start)
                elif chunks_of == self._read_even and _RAGGED.search(str(error)):
                    chunks_of = self._read_ragged
                else:
                    with reading(self.file.shown):
                        raise

    def _larger(self, block: int, row: int) -> int:
        """A larger block for a record that did not fit; raises ``FileFormatError`` if it is too long."""
        most = min(self.file.max_row_bytes, LARGEST)
        if block >= most:
            raise FileFormatError(f"{self.file.shown}, {self.where(row)}: {too_long(most)}; or a quote is not closed")
        return min(4 * block, most)

    def _read_even(self, selection: Selection, number: int, start: int, block: int) -> Iterator[Chunk]:
        """The records, if all have as many fields as the header."""
        row = 0
        for batch, offset in self._batches(selection, block, None):
            rows = np.arange(row, row + batch.num_rows, dtype=np.int64)
            row += batch.num_rows
            keep = max(0, start - int(rows[0])) if len(rows) else 0
            if keep < len(rows):
                yield self._chunk(batch.slice(keep), rows[keep:], selection, number=number, ragged=[], offset=offset)

    def _read_ragged(self, selection: Selection, number: int, start: int, block: int) -> Iterator[Chunk]:
        """The records, rejecting those with more or fewer fields; their bytes may be invalid UTF-8."""
        ragged: list[Reject] = []
        skipped: list[int] = []

        def note(row: pacsv.InvalidRow) -> str:
            if row.number - 2 >= start:
                ragged.append(self._ragged(row, number))
            else:
                skipped.append(row.number - 2)
            return "skip"

        row = 0
        for batch, offset in self._batches(selection, block, note):
            rows, row = _number(batch.num_rows, row, [*skipped, *(reject.position.row for reject in ragged)])
            keep = int(np.searchsorted(rows, start))
            if keep < len(rows):
                cells = decoded(batch.slice(keep))
                yield self._chunk(cells, rows[keep:], selection, number=number, ragged=ragged, offset=offset)
        if ragged:
            yield Chunk(number, np.empty(0, np.int64), batch_of(selection.schema), tuple(ragged))

    def _batches(
        self, selection: Selection, block: int, note: Callable[[pacsv.InvalidRow], str] | None
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Arrow's batches of the cells as bytes, and the number of bytes of the file read so far.

        With a ``note`` of ragged records, whose text Arrow passes as UTF-8, the bytes are coded.
        """
        names = selection.schema.names or self.schema.names[:1]
        inside = self._written if note is None else {name: coded_name(raw) for name, raw in self._written.items()}
        stream, tell = self.file.open()
        counted = Stream(stream, coded=note is not None)
        with counted.stream:
            reader = pacsv.open_csv(
                pa.PythonFile(counted, mode="r"),
                pacsv.ReadOptions(use_threads=False, block_size=block, column_names=None),
                pacsv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=note,
                    ignore_empty_lines=len(self.schema) != 1,  # a blank line is the blank cell of an only column
                ),
                pacsv.ConvertOptions(
                    column_types={inside[name]: pa.binary() for name in self.schema.names},
                    include_columns=[inside[name] for name in names],
                    strings_can_be_null=self.has_blanks,
                    quoted_strings_can_be_null=False,
                    null_values=[""],
                ),
            )
            for batch in reader:
                yield batch.rename_columns(names), tell()
            if counted.count % 2:
                self._lines.refuse_open_quote()

    def _ragged(self, row: pacsv.InvalidRow, number: int) -> Reject:
        position = Position(number, row.number - 2)
        reason = f"expected {row.expected_columns} fields, got {row.actual_columns}"
        raw = plain_bytes(row.text).decode(errors="replace")
        return Reject(position, self.file.shown, self.where(position.row), None, reason, raw)

    def _chunk(
        self, batch: pa.RecordBatch, rows: Rows, selection: Selection, *, number: int, ragged: list[Reject], offset: int
    ) -> Chunk:
        last = int(rows[-1])
        rejects = [reject for reject in ragged if reject.position.row < last]
        ragged[:] = ragged[len(rejects) :]
        columns: dict[str, pa.Array] = {}
        wrong: dict[int, tuple[str, str]] = {}
        for field in selection.schema:
            text = batch.column(batch.schema.get_field_index(field.name)).view(pa.string())
            text = unguarded(text) if self._guarded else text
            try:
                columns[field.name], failures = parse(text, field.type, selection.kinds[field.name])
            except WiderTypeError as wider:
                raise Widened(field.name, wider.type) from None
            for index, reason in failures.items():
                wrong.setdefault(index, (field.name, reason))
        parsed_batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        if wrong:
            for index in sorted(wrong):
                column, reason = wrong[index]
                raw = self._delimiter.join(str(value) for value in _cells(batch, index))
                position = Position(number, int(rows[index]))
                rejects.append(Reject(position, self.file.shown, self.where(position.row), column, reason, raw))
            good = np.ones(len(rows), dtype=bool)
            good[list(wrong)] = False
            parsed_batch, rows = parsed_batch.filter(pa.array(good)), rows[good]
            rejects.sort(key=lambda reject: reject.position)
        return Chunk(number, rows, parsed_batch, tuple(rejects), offset)


def _cells(batch: pa.RecordBatch, index: int) -> Iterator[str]:
    for column in batch.columns:
        yield (column[index].as_py() or b"").decode(errors="replace")


def _number(count: int, first: int, skipped: list[int]) -> tuple[Rows, int]:
    """The numbers of the next ``count`` good records from ``first`` on, and the next number."""
    bad = [row for row in skipped if row >= first]
    if not bad or bad[0] >= first + count:
        return np.arange(first, first + count, dtype=np.int64), first + count
    candidates = np.arange(first, first + count + len(bad), dtype=np.int64)
    rows = candidates[~np.isin(candidates, bad)][:count]
    return rows, int(rows[-1]) + 1 if count else first


def _delimited(name: str, delimiter: str, looks_like: Callable[[bytes], bool]) -> Format:
    return Format(
        name,
        (f".{name}",),
        DelimitedReader,
        looks_like=lambda head: looks_like(head.split(b"\n")[0]),
        encoder=lambda path, schema, compression, guard: TextEncoder(
            path, schema, compression, guard=guard, delimiter=delimiter
        ),
        compressions=("gzip", "zstd"),
    )


CSV = _delimited("csv", ",", lambda line: b"," in line and b"\t" not in line)
TSV = _delimited("tsv", "\t", lambda line: b"\t" in line)
