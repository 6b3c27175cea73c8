"""The bytes and records of a CSV or TSV file: the start of each record, and unclosed quotes."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.errors import FileFormatError
from fastmetrics.tables.chunks import too_long
from fastmetrics.tables.input_files import DataFile

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
        data = self._start(size) if self._last is None else self._read(size)
        if not data and self._last not in (None, b"\n"):
            data = b"\n"
        self._last = data[-1:] or self._last
        self.count += data.count(b'"')
        return data if not self._coded or data.isascii() else data.decode("latin-1").encode()

    def _start(self, size: int) -> bytes:
        # Arrow removes the BOM itself if the file needs no recoding.
        found = self._read(size)
        return found.removeprefix(_BOM) if self._coded else found

    def _read(self, size: int) -> bytes:
        # A recoded byte may take two bytes, and at most ``size`` bytes may be returned.
        found: bytes = self.stream.read(size // 2 if self._coded else size)
        return found

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

    def __init__(self, file: DataFile, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        self._kept = np.zeros(0, np.int64)
        # Arrow's limit: a record may extend over two blocks
        self._most = 2 * max(SIZES.csv_block_bytes, file.max_row_bytes)

    def _begin(self) -> None:
        self._kept = np.zeros(SIZES.line_numbers, np.int64)
        self._record = -1
        self._start = 1
        self._records = self._walk()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling drops the counts."""
        return LineNumbers, (self._file, self._delimiter)

    def _walk(self) -> Iterator[int]:
        with self._file.open()[0] as stream:
            reader = csv.reader(text_lines(stream, self._most), delimiter=self._delimiter)
            start = 1
            try:
                for record in reader:
                    if record:
                        yield start
                    start = reader.line_num + 1
            except csv.Error:  # the start of a record that is too long
                yield start

    def of(self, row: int) -> int:
        """The line of a record; the header is record -1."""
        wanted = row + 1
        with _field_size(self._most):
            if not len(self._kept) or wanted <= self._record - len(self._kept):
                self._begin()
            while self._record < wanted:
                self._start = next(self._records, self._start)
                self._record += 1
                self._kept[self._record % len(self._kept)] = self._start
            return int(self._kept[wanted % len(self._kept)])

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
