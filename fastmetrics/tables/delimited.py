"""CSV and TSV: everything is text until a column is asked for as numbers, flags or lists."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.types as pt

from fastmetrics.errors import ColumnError, FileFormatError
from fastmetrics.tables.chunks import Chunk, Place, Reject, Rows
from fastmetrics.tables.files import DataFile, reading
from fastmetrics.tables.kinds import Selection, WrongValueError, coerce, is_list

BLOCK = 4 << 20
_LARGEST_BLOCK = 1 << 30
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+|nan|inf(inity)?)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)


class DelimitedReader:
    """One CSV or TSV file with a header; a row's number counts the records after it."""

    def __init__(self, file: DataFile) -> None:
        self.file = file
        self._delimiter = "\t" if file.format == "tsv" else ","
        self._lines = _LineNumbers(file, self._delimiter)
        header = self._header()
        self.rows: int | None = None if header else 0
        doubled = [name for at, name in enumerate(header) if name in header[:at]]
        if doubled:
            raise ColumnError(f"{file.shown}: column {doubled[0]!r} appears twice in the header")
        self.schema = pa.schema([(name, pa.string()) for name in header])

    def _header(self) -> list[str]:
        with reading(self.file.shown), self.file.open()[0] as stream:
            marked = stream.read(3) == b"\xef\xbb\xbf"
        with reading(self.file.shown), self.file.open()[0] as stream:
            stream.read(3 if marked else 0)
            # Latin-1 first: the text layer decodes ahead, and bytes after the header are none of its business.
            text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
            try:
                row = next((row for row in csv.reader(text, delimiter=self._delimiter) if row), [])
                names = [name.encode("latin-1").decode() for name in row]
            except UnicodeDecodeError as error:
                raise FileFormatError(f"{self.file.shown}, line 1: the header is not UTF-8") from error
            except csv.Error as error:
                raise FileFormatError(f"{self.file.shown}, line 1: {error}") from error
        return names

    def where(self, row: int) -> str:
        """The row in messages."""
        return f"line {self._lines.of(row)}"

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The records from ``start`` on."""
        block = BLOCK
        while True:
            try:
                for chunk in self._read(selection, number, start, block):
                    yield chunk
                    start = max(start, chunk.stop)
                return
            except pa.ArrowInvalid as error:
                if "straddl" not in str(error) or block >= _LARGEST_BLOCK:
                    with reading(self.file.shown):
                        raise
                block *= 4

    def _read(self, selection: Selection, number: int, start: int, block: int) -> Iterator[Chunk]:
        ragged: list[Reject] = []

        def note(row: pacsv.InvalidRow) -> str:
            if row.number - 2 >= start:
                ragged.append(self._ragged(row, number))
            else:
                skipped.append(row.number - 2)
            return "skip"

        skipped: list[int] = []
        names = selection.schema.names
        stream, tell = self.file.open()
        counted = _Stream(stream)
        with counted.stream:
            reader = pacsv.open_csv(
                pa.PythonFile(counted, mode="r"),
                pacsv.ReadOptions(use_threads=False, block_size=block, column_names=None),
                pacsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=note),
                pacsv.ConvertOptions(
                    column_types={name: pa.binary() for name in self.schema.names},
                    include_columns=names or self.schema.names[:1],
                    strings_can_be_null=False,
                ),
            )
            row = 0
            for batch in reader:
                rows, row = _number(batch.num_rows, row, [*skipped, *(reject.place.row for reject in ragged)])
                keep = int(np.searchsorted(rows, start))
                if keep < len(rows):
                    yield self._chunk(
                        batch.slice(keep), rows[keep:], selection, number=number, ragged=ragged, offset=tell()
                    )
            if counted.count % 2:
                self._lines.refuse_open_quote()
            if ragged:
                yield Chunk(number, np.empty(0, np.int64), batch_of(selection.schema), tuple(ragged))

    def _ragged(self, row: pacsv.InvalidRow, number: int) -> Reject:
        place = Place(number, row.number - 2)
        reason = f"expected {row.expected_columns} fields, got {row.actual_columns}"
        return Reject(place, self.file.shown, self.where(place.row), None, reason, row.text)

    def _chunk(
        self, batch: pa.RecordBatch, rows: Rows, selection: Selection, *, number: int, ragged: list[Reject], offset: int
    ) -> Chunk:
        last = int(rows[-1])
        rejects = [reject for reject in ragged if reject.place.row < last]
        ragged[:] = ragged[len(rejects) :]
        arrays = []
        wrong: dict[int, tuple[str, str]] = {}
        for field in selection.schema:
            text = batch.column(batch.schema.get_field_index(field.name)).view(pa.string())
            parsed, failures = parse(text, field.type, selection.kinds[field.name])
            arrays.append(parsed)
            for index, reason in failures.items():
                wrong.setdefault(index, (field.name, reason))
        parsed_batch = pa.RecordBatch.from_arrays(arrays, schema=selection.schema)
        if wrong:
            for index in sorted(wrong):
                column, reason = wrong[index]
                raw = self._delimiter.join(str(value) for value in _cells(batch, index))
                place = Place(number, int(rows[index]))
                rejects.append(Reject(place, self.file.shown, self.where(place.row), column, reason, raw))
            good = np.ones(len(rows), dtype=bool)
            good[list(wrong)] = False
            parsed_batch, rows = parsed_batch.filter(pa.array(good)), rows[good]
            rejects.sort(key=lambda reject: reject.place)
        return Chunk(number, rows, parsed_batch, tuple(rejects), offset)


def batch_of(schema: pa.Schema) -> pa.RecordBatch:
    """A batch of no rows."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _cells(batch: pa.RecordBatch, index: int) -> Iterator[str]:
    for column in batch.columns:
        yield column[index].as_py().decode(errors="replace")


def _number(count: int, first: int, skipped: list[int]) -> tuple[Rows, int]:
    """The numbers of the next ``count`` good records from ``first`` on, and the number to go on from."""
    bad = [row for row in skipped if row >= first]
    if not bad or bad[0] >= first + count:
        return np.arange(first, first + count, dtype=np.int64), first + count
    candidates = np.arange(first, first + count + len(bad), dtype=np.int64)
    rows = candidates[~np.isin(candidates, bad)][:count]
    return rows, int(rows[-1]) + 1 if count else first


def parse(text: pa.StringArray, type_: pa.DataType, kind: str) -> tuple[pa.Array, dict[int, str]]:
    """A column of text as ``type_``, and why which rows failed (they hold null). Empty is null except in text."""
    if pt.is_string(type_):
        return text, {}
    if pt.is_floating(type_):
        try:
            filled = pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, pa.string()), text)
            return filled.cast(pa.float64()), {}
        except pa.ArrowInvalid:
            return _each(text, type_, _to_number)
    if pt.is_boolean(type_):
        return _each(text, type_, _to_flag)
    if is_list(type_):
        return _each(text, type_, lambda value: coerce(_to_list(value), type_, kind))
    raise AssertionError(f"no column of text is read as {type_}")


def _each(text: pa.StringArray, type_: pa.DataType, convert: Callable[[str], Any]) -> tuple[pa.Array, dict[int, str]]:
    values: list[Any] = []
    failures = {}
    for index, value in enumerate(text.view(pa.binary()).to_pylist()):
        try:
            values.append(convert(value.decode(errors="replace")) if value.strip() else None)
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
    try:
        return json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        raise WrongValueError(f"expected a list in JSON, got {value[:40]!r}") from None


class _Stream:
    """A file that ends its last line, and counts its quotes: an odd count hints at one that never closes."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self.stream = stream
        self.count = 0
        self.closed = False
        self._ahead: bytes | None = None

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.stream.read(size) if self._ahead is None else self._ahead
        self._ahead = self.stream.read(size)
        if data and not self._ahead and not data.endswith(b"\n"):
            data += b"\n"
        self.count += data.count(b'"')
        return data

    def close(self) -> None:
        self.closed = True


class _LineNumbers:
    """The line on which each record starts, found by a second reading that goes only as far as it is asked to."""

    def __init__(self, file: DataFile, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        self._record = -1
        self._start = 1
        self._records = self._walk()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process counts anew."""
        return _LineNumbers, (self._file, self._delimiter)

    def _walk(self) -> Iterator[int]:
        # Latin-1 maps every byte to a character, so that invalid UTF-8 cannot stop the count.
        with self._file.open()[0] as stream:
            text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
            reader = csv.reader(text, delimiter=self._delimiter)
            start = 1
            for record in reader:
                if record:
                    yield start
                start = reader.line_num + 1

    def of(self, row: int) -> int:
        """The line of a record, the header being record -1."""
        if row + 1 < self._record:
            self._record, self._records = -1, self._walk()
        with _any_field_size():
            while self._record < row + 1:
                self._start = next(self._records, self._start)
                self._record += 1
        return self._start

    def refuse_open_quote(self) -> None:
        """Raise ``FileFormatError`` if the last record's quote never closes."""
        with self._file.open()[0] as stream:
            text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
            reader = csv.reader(text, delimiter=self._delimiter, strict=True)
            start = 1
            try:
                with _any_field_size():
                    for _ in reader:
                        start = reader.line_num + 1
            except csv.Error as error:
                if "unexpected end" in str(error):
                    message = f"{self._file.shown}, line {start}: a quoted field is never closed"
                    raise FileFormatError(message) from None


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Let the csv module read cells of any size; its limit is the process's, so it is put back."""
    limit = csv.field_size_limit(_LARGEST_BLOCK)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
