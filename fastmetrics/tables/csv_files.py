"""CSV, TSV and sheets of workbooks: columns are text unless they are requested as numbers, flags or lists."""

from __future__ import annotations

import codecs
import csv
import datetime
import functools
import io
import json
import re
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_text
from fastmetrics.base.errors import Argument, FileFormatError, MissingExtraError, UnknownNameError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.text_structure import flag_of, printed_list, text_list
from fastmetrics.tables.column_types import Selection, T, WrongCells, coerce
from fastmetrics.tables.encoders import TextEncoder, metadata_beside, unguarded
from fastmetrics.tables.input_files import PLAIN, DataFile, read_by_default, reading
from fastmetrics.tables.readers import Chunk, Format, Position, Reader, Reject, Rows, batch_of, too_long

# Numbers, flags and lists in the notation of CSV.


_NOTHING = ["", "NA", "N/A", "n/a", "NULL", "null", "None"]
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+|nan|inf(inity)?)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)


def with_points(text: pa.Array) -> pa.Array:
    """Numbers with a decimal comma with a point instead; other texts as they are.

    >>> with_points(pa.array(["0,5", "-1,25e3", "1,000.5", "a,b", None])).to_pylist()
    ['0.5', '-1.25e3', '1,000.5', 'a,b', None]
    """
    return pc.replace_substring_regex(text, r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$", r"\1.\2")


_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"


def ambiguous(text: pa.ChunkedArray) -> str | None:
    """The first number whose comma may be a decimal one or separate thousands, where no other number tells.

    >>> ambiguous(pa.chunked_array([["1,250", "3"]])), ambiguous(pa.chunked_array([["1,250", "3,5"]]))
    ('1,250', None)
    """
    commas = text.filter(pc.match_substring(text, ","))
    unclear = pc.match_substring_regex(commas, _THOUSANDS)
    return commas[0].as_py() if len(commas) and pc.all(unclear).as_py() else None


def _converter(type_: pa.DataType, kind: str) -> Callable[[str], Any]:
    """What makes a value of a cell that is not blank, for a column of this type."""
    if is_list(type_) and kind in ("texts", "values", "choices"):
        return text_list
    if is_list(type_):
        return lambda text: coerce(_expected("a list in JSON", text, printed_list(text)), type_, kind)
    return flag_of if pt.is_boolean(type_) else _number_of


def _number_of(text: str) -> float:
    return float(_expected("a number", text, _NUMBER.fullmatch(text))[0])


def _expected(what: str, text: str, found: T | None) -> T:
    if found is None:
        raise ValueError(f"expected {what}, got {text[:40]!r}")
    return found


def as_it_looks(text: pa.ChunkedArray, *, comma: bool = False) -> pa.ChunkedArray:
    """A column of text as whole numbers, numbers, flags or lists, if all of it looks so; as it is otherwise.

    With ``comma``, numbers may have a decimal comma.

    >>> as_it_looks(pa.chunked_array([["1", "2"], ["", "NA"]])).to_pylist()
    [1, 2, None, None]
    """
    empty = pc.is_in(text, pa.array(_NOTHING))
    values = pc.if_else(empty, pa.scalar(None, pa.string()), text)
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values))])
    for type_ in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return (with_points(values) if comma and pt.is_floating(type_) else values).cast(type_)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.starts_with(values, "[")).as_py():
        try:
            lists = [None if value is None else json.loads(value) for value in values.to_pylist()]
            return pa.chunked_array([pa.array(lists)])
        except (ValueError, RecursionError):
            return text
    return text


# Reading: cells are bytes until a row is known to have as many fields as the header.


LARGEST = 1 << 30
_BOM = b"\xef\xbb\xbf"
_END = uuid.uuid4().hex.encode()
"""The cells of a line that is added at the end: a quote that is not closed takes it in."""
_RAGGED = re.compile(r"CSV parse error: .*Expected \d+ columns, got \d+", re.DOTALL)
_DELIMITERS = (",", ";", "\t", "|")
_FIRST = 20
"""The records, with the header, by whose fields the delimiter is found."""
_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""The first line by which Excel knows the delimiter."""
_CHARACTER_BYTES = 4
"""The most bytes of a character in UTF-8."""
_HEAD = 1 << 20
"""The most bytes of the header and the first row together."""


class _Stream:
    """A file without a byte order mark, with a line end after its last line, and then the line ``end``."""

    def __init__(self, stream: Any, end: bytes) -> None:
        self.closed = False
        self._stream = stream
        self._end = end
        self._last: bytes | None = None

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        if self._last is None:
            data = data.removeprefix(_BOM)
        if data:
            self._last = data[-1:]
        else:
            rest = (b"" if self._last in (None, b"\n") else b"\n") + self._end
            data, self._end, self._last = rest[:size], rest[size:], b"\n"
        return data

    def close(self) -> None:
        self.closed = True


class _Recoded:
    """The bytes of a file in UTF-8; what its encoding lacks stays as it is, so that its row is a bad row."""

    def __init__(self, stream: pa.NativeFile, encoding: str) -> None:
        self._errors = "surrogatepass" if encoding.lower().startswith(("utf-16", "utf-32")) else "surrogateescape"
        self._text = io.TextIOWrapper(stream, encoding, self._errors, newline="")

    def read(self, size: int) -> bytes:
        return self._text.read(size // _CHARACTER_BYTES).encode("utf-8", self._errors)


def _plain(text: str) -> bytes:
    return text.encode("latin-1")


def _decoded(cells: pa.Array) -> pa.Array:
    """The original bytes of cells of which each byte was read as the character of that number."""
    if pc.all(pc.string_is_ascii(cells.view(pa.string()))).as_py() in (True, None):
        return cells
    return pa.array([None if cell is None else _plain(cell.decode()) for cell in cells.to_pylist()], pa.binary())


def _records(head: str, delimiter: str) -> list[list[str]]:
    """The first records, as far as the text has them; the last one may be cut."""
    records: list[list[str]] = []
    with suppress(csv.Error):
        for record in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter):
            records += [record] if record else []
            if len(records) == _FIRST:
                break
    return records if len(head) < _HEAD or len(records) < 2 else records[:-1] if len(records) < _FIRST else records


def _in_utf16(file: DataFile) -> DataFile:
    """The file, with the encoding UTF-16 if its byte order mark says so, as that of Excel's "Unicode Text" does."""
    if file.settings.encoding is not None:
        return file
    with reading(file.shown), file.open()[0] as stream:
        marked = stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return replace(file, settings=replace(file.settings, encoding="utf-16")) if marked else file


class DelimitedReader(Reader):
    """One CSV or TSV file with a header; row numbers count the records after it."""

    is_text = True
    has_types = False

    def __init__(self, file: DataFile) -> None:
        about = metadata_beside(file)
        if about and file.settings is read_by_default():
            file = replace(file, settings=PLAIN)  # this package wrote it
        file = _in_utf16(file)
        super().__init__(file)
        self.has_blanks = file.settings.blank == "missing"
        self._guarded = bool(about.get("guarded"))
        with reading(file.shown), file.open()[0] as stream:
            head = self._bytes(stream).read(_HEAD).removeprefix(_BOM).decode("latin-1")
        stated = _SEPARATOR.match(head)
        self._above = 0 if stated is None else 1
        head = head if stated is None else head[stated.end() :]
        records = {delimiter: _records(head, delimiter) for delimiter in _DELIMITERS}
        self._delimiter = self._found_delimiter(records, None if stated is None else stated[1])
        self._keep_how_read()
        header = self._header(head, records[self._delimiter])
        self.rows = None if header else 0
        names = unguarded(pa.array(header, pa.string())).to_pylist() if self._guarded else header
        self.schema = pa.schema([(name, pa.string()) for name in names])
        self._written = dict(zip(names, header, strict=True))

    def _bytes(self, stream: pa.NativeFile) -> Any:
        """The file in UTF-8, from its bytes."""
        encoding = self.file.settings.encoding
        return stream if encoding is None else _Recoded(stream, encoding)

    def _found_delimiter(self, records: Mapping[str, Sequence[Sequence[str]]], stated: str | None) -> str:
        """The delimiter that is named or ``stated`` above the header, or with which most of the first records have as
        many fields as the header: of several, that with most fields.

        Raises ``FileFormatError`` if the named one is not in the header and another one is.
        """
        named = self.file.settings.delimiter
        if named is not None:
            delimiter = "\t" if named == "tab" else named
            others = [other for other in _DELIMITERS if len(next(iter(records[other]), ())) > 1]
            if len(next(iter(records[delimiter]), ())) == 1 and others:
                if self.file.settings is read_by_default():  # named for another file of the command
                    return max(others, key=lambda other: len(records[other][0]))
                found = " and ".join("tab" if other == "\t" else repr(other) for other in others)
                message = f"{self.file.shown}: the header has {found}; expected "
                raise FileFormatError(message, Argument("delimiter", named))
            return delimiter
        if stated in _DELIMITERS or self.file.format == "tsv":
            return stated or "\t"
        equal = {}
        for mark, some in records.items():
            width = len(some[0]) if some else 0
            same = sum(len(record) == width for record in some)
            equal[mark] = (same, width) if width > 1 and same > len(some) // 2 else (0, 0)
        return max(_DELIMITERS, key=equal.__getitem__)

    def _keep_how_read(self) -> None:
        """Record what was found as settings of the file, with which it is read again."""
        settings = self.file.settings
        if settings.delimiter is None and self._delimiter != {"csv": ",", "tsv": "\t"}.get(self.file.format):
            settings = replace(settings, delimiter="tab" if self._delimiter == "\t" else self._delimiter)
        self.has_decimal_comma = settings.decimal == "," or (
            settings.decimal is None and self._delimiter in (";", "\t")
        )
        self.file = replace(self.file, settings=settings)

    def _header(self, head: str, records: Sequence[Sequence[str]]) -> list[str]:
        if head.strip() and (not records or (len(head) >= _HEAD and "\n" not in head)):
            raise FileFormatError(f"{self.file.shown}: expected a header of at most {_HEAD:,} bytes")
        try:
            return [_plain(name).decode() for name in records[0]] if records else []
        except UnicodeDecodeError as error:
            message = (
                f"{self.file.shown}: the header is not UTF-8; if it has another encoding, such as cp1252 or cp1251: "
            )
            way = Argument("encoding", ..., otherwise="save it as UTF-8")
            raise FileFormatError(message, way) from error

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The records from ``start`` on."""
        block, ragged = self.file.sizes.csv_block_bytes, False
        while True:
            try:
                for chunk in self._chunks(selection, number, start, block, ragged=ragged):
                    yield chunk
                    start = max(start, chunk.stop)
                return
            except pa.ArrowInvalid as error:
                if "Empty CSV file" in str(error):  # a header without a line end and without rows
                    return
                if "straddl" in str(error):
                    block = self._larger(block, start)
                elif not ragged and _RAGGED.search(str(error)):
                    ragged = True
                else:
                    with reading(self.file.shown):
                        raise

    def _larger(self, block: int, row: int) -> int:
        """A larger block for a record that did not fit; raises ``FileFormatError`` if it is too long."""
        most = min(self.file.max_row_bytes, LARGEST)
        if block >= most:
            raise FileFormatError(f"{self.file.shown}, {self.where(row)}: {too_long(most)}; or a quote is not closed")
        return min(4 * block, most)

    def _chunks(self, selection: Selection, number: int, start: int, block: int, *, ragged: bool) -> Iterator[Chunk]:
        """The records; if some are ``ragged``, rejecting those with more or fewer fields than the header.

        Of those, Arrow passes the text as UTF-8, so bytes, which may be invalid, are read as the characters of Latin-1.
        """
        rejects: list[Reject] = []
        skipped: list[int] = []

        def note(row: pacsv.InvalidRow) -> str:
            at = row.number - 2 - self._above  # Arrow counts the header and a line above it, and from 1
            skipped.append(at)
            if at >= start:
                reason = f"expected {row.expected_columns} fields, got {row.actual_columns}"
                raw = _plain(row.text).decode(errors="replace")
                rejects.append(Reject(Position(number, at), self.file.shown, self.where(at), None, reason, raw))
            return "skip"

        end = self._delimiter.encode().join([_END] * len(self.schema)) + b"\n"
        stream, tell = self.file.open()
        with stream:
            source, row, has_end = _Stream(self._bytes(stream), end), 0, False
            for cells in self._batches(source, selection, block, note if ragged else None):
                has_end = cells.num_rows > 0 and cells.column(0)[-1].as_py() == _END
                cells = cells.slice(0, cells.num_rows - has_end)
                rows, row = _number(cells.num_rows, row, skipped)
                keep = int(np.searchsorted(rows, start))
                if keep < len(rows):
                    yield self._chunk(cells.slice(keep), rows[keep:], selection, number, rejects, tell(), coded=ragged)
        if not has_end:
            last = self.where(max([row - 1, *skipped]))
            what = "a quoted field is not closed, so nothing tells where the row ends"
            raise FileFormatError(f"{self.file.shown}, {last}: {what}; close the quote, or double one within a text")
        if rejects:
            yield Chunk(number, np.empty(0, np.int64), batch_of(selection.schema), tuple(rejects))

    def _batches(
        self, source: _Stream, selection: Selection, block: int, note: Callable[[pacsv.InvalidRow], str] | None
    ) -> Iterator[pa.RecordBatch]:
        """Arrow's batches of the cells as bytes; with a ``note`` of ragged records, each byte as a character."""
        names = selection.schema.names or self.schema.names[:1]
        written = self._written
        inside = {name: written[name] if note is None else written[name].encode().decode("latin-1") for name in written}
        parsing = pacsv.ParseOptions(
            delimiter=self._delimiter,
            newlines_in_values=True,
            invalid_row_handler=note,
            ignore_empty_lines=len(self.schema) != 1,  # a blank line is the blank cell of an only column
        )
        converting = pacsv.ConvertOptions(
            column_types={inside[name]: pa.binary() for name in self.schema.names},
            include_columns=[inside[name] for name in names],
            strings_can_be_null=self.has_blanks,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        encoding = "utf8" if note is None else "latin-1"
        blocks = pacsv.ReadOptions(use_threads=False, block_size=block, encoding=encoding, skip_rows=self._above)
        # Arrow's threads read ahead and may outlive the interpreter, in which they would abort the process.  The buffer
        # gives them memory of Arrow, and closed it waits for the read in progress and asks Python for nothing more.
        with pa.BufferedInputStream(pa.PythonFile(source, mode="r"), block) as buffered:
            for batch in pacsv.open_csv(buffered, blocks, parsing, converting):
                yield batch.rename_columns(names)

    def _chunk(
        self,
        cells: pa.RecordBatch,
        rows: Rows,
        selection: Selection,
        number: int,
        ragged: list[Reject],
        offset: int,
        *,
        coded: bool,
    ) -> Chunk:
        rejects = [reject for reject in ragged if reject.position.row < int(rows[-1])]
        ragged[:] = ragged[len(rejects) :]
        columns = {name: _decoded(cells.column(name)) if coded else cells.column(name) for name in cells.schema.names}
        wrong: WrongCells = {}
        parsed = [
            self._parsed(columns[name].view(pa.string()), name, selection, wrong) for name in selection.schema.names
        ]
        batch = pa.RecordBatch.from_arrays(parsed, names=selection.schema.names)
        return Chunk(number, rows, batch, tuple(rejects), offset).without(
            wrong,
            self.place,
            lambda row: self._delimiter.join(
                (column[row].as_py() or b"").decode(errors="replace") for column in columns.values()
            ),
        )

    def _parsed(self, text: pa.StringArray, name: str, selection: Selection, wrong: WrongCells) -> pa.Array:
        """A column of text in its type; blank is null except in text columns."""
        text = unguarded(text) if self._guarded else text
        type_ = selection.schema.field(name).type
        if is_text(type_):
            return text.cast(type_)
        if pt.is_floating(type_):
            with suppress(pa.ArrowInvalid):
                blank = pc.equal(pc.binary_length(text), 0)
                return pc.if_else(blank, pa.scalar(None, pa.string()), text).cast(type_)
            text = with_points(text) if self.has_decimal_comma else text
        convert = _converter(type_, selection.kinds[name])

        def value(cell: bytes | None) -> Any:
            return None if cell is None or not cell.strip() else convert(cell.decode(errors="replace"))

        return selection.to_kind(name, text.view(pa.binary()).to_pylist(), value, wrong)


def _number(count: int, first: int, skipped: list[int]) -> tuple[Rows, int]:
    """The numbers of the next ``count`` good records from ``first`` on, and the next one; forgets earlier bad ones."""
    skipped[:] = bad = [row for row in skipped if row >= first]
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
        encoder=lambda path, schema, compression: TextEncoder(path, schema, compression, delimiter),
        compressions=("gzip", "zstd"),
    )


CSV = _delimited("csv", ",", lambda line: b"\t" not in line and any(mark in line for mark in (b",", b";", b"|")))
TSV = _delimited("tsv", "\t", lambda line: b"\t" in line)


# The sheets of Excel's workbooks: cells are text, as in CSV, unless they are requested as other values.


class SheetReader(DelimitedReader):
    """The one sheet of a workbook, or the one that is named; its first row that is not blank is the header.

    A workbook is read into memory as a whole, which its format demands.
    """

    def __init__(self, file: DataFile) -> None:
        Reader.__init__(self, file)
        self.has_blanks = file.settings.blank == "missing"
        self._guarded = False
        self._delimiter = "\t"
        self._above = 0
        header: list[str] = []
        for row in self._rows():
            self._above += 1
            if any(cell is not None for cell in row):
                header = [cell or "" for cell in row]
                break
        self.rows = None if header else 0
        self.schema = pa.schema([(name, pa.string()) for name in header])

    def where(self, row: int) -> str:
        """The row in messages, by the number that Excel shows."""
        return f"line {row + self._above + 1}"

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows below the header from ``start`` on."""
        names = selection.schema.names or self.schema.names[:1]
        places = [self.schema.names.index(name) for name in names]
        rows = islice(self._rows(), self._above + start, None)
        blank = None if self.has_blanks else ""
        while some := list(islice(rows, SIZES.batch_rows)):
            texts = [[blank if row[place] is None else row[place] for row in some] for place in places]
            columns = [pa.array(column, pa.string()).view(pa.binary()) for column in texts]
            cells = pa.RecordBatch.from_arrays(columns, names=names)
            numbers = np.arange(start, start + len(some), dtype=np.int64)
            start += len(some)
            yield self._chunk(cells, numbers, selection, number, [], self.file.size, coded=False)

    def _rows(self) -> Iterator[list[str | None]]:
        """The rows of the sheet as texts, of which those of blank cells are None."""
        try:
            import python_calamine as calamine
        except ModuleNotFoundError as error:
            raise MissingExtraError.of("python-calamine", "xlsx") from error
        shown = self.file.shown
        with reading(shown), self.file.open()[0] as stream:
            data = stream.read()
        _check_range(data, shown)
        try:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
            sheet = book.get_sheet_by_name(self._sheet(book))
            yield from ([_cell_text(cell) for cell in row] for row in sheet.iter_rows())
        except calamine.CalamineError as error:
            raise FileFormatError(f"{shown}: cannot be read as a workbook: {error}") from error

    def _sheet(self, book: Any) -> str:
        """The name of the sheet to read; raises ``FileFormatError`` where there are several and none is named."""
        named, names = self.file.settings.sheet, book.sheet_names
        if named is not None:
            if named not in names:
                raise FileFormatError(f"{self.file.shown}: {UnknownNameError.of('sheet', named, names)}")
            return named
        if len(names) != 1:
            sheets = f"the sheets {', '.join(map(repr, names))}" if names else "no sheet"
            message = f"{self.file.shown}: the workbook has {sheets}; name the one to read with "
            raise FileFormatError(message, Argument("sheet", names[0] if names else ...))
        return str(names[0])


_CELL = re.compile(rb'<c\s(?:[^>]*?\s)?r="([A-Z]{1,3})([0-9]{1,7})"')
_MOST_CELLS = 1 << 24
"""The cells that a sheet may have, unless a quarter of them hold something: its reader has room for all in between."""
_BLOCK = 1 << 20


def _check_range(data: bytes, shown: str) -> None:
    """Raise ``FileFormatError`` for a sheet with few cells that are far apart."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        for name in sheets:
            count, columns, rows = 0, 1, 1
            with archive.open(name) as stream:
                rest = b""
                while block := stream.read(_BLOCK):
                    text = rest + block
                    for cell in _CELL.finditer(text):
                        letters, row = cell.groups()
                        column = functools.reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)
                        count, columns, rows = count + 1, max(columns, column), max(rows, int(row))
                    rest = text[text.rfind(b"<") :]
            if columns * rows > max(_MOST_CELLS, 4 * count):
                far = f"{rows:,} rows and {columns:,} columns for {count:,} cells"
                raise FileFormatError(f"{shown}: a sheet has {far}; delete the cells that are far from the others")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        return  # the reader says what is wrong


def _cell_text(cell: Any) -> str | None:
    """A cell as the text that CSV would have."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


XLSX = Format("xlsx", (".xlsx",), SheetReader)
