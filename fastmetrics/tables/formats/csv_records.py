"""The bytes of a CSV or TSV file and its records: where each starts, and whether the last one's quote closes."""

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
_KEPT = 1 << 20
_ALONE = threading.Lock()


class Stream:
    """A file that ends its last line, and counts its quotes: an odd count hints at one that never closes.

    If ``coded``, each of its bytes becomes the character of that number, so that Arrow finds UTF-8 whatever they are.
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
        # Of a file that is not coded, Arrow leaves the mark out.
        found = self._read(size)
        return found.removeprefix(_BOM) if self._coded else found

    def _read(self, size: int) -> bytes:
        # A coded byte may take two: no more than was asked for must come of it.
        found: bytes = self.stream.read(size // 2 if self._coded else size)
        return found

    def close(self) -> None:
        self.closed = True


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The bytes of a batch's cells that were read through a coded ``Stream``."""
    return pa.RecordBatch.from_arrays([_decoded(column) for column in batch.columns], schema=batch.schema)


def _decoded(cells: pa.Array) -> pa.Array:
    if pc.all(pc.string_is_ascii(cells.view(pa.string()))).as_py() in (True, None):
        return cells
    return pa.array([plain_bytes(cell.decode()) for cell in cells.to_pylist()], pa.binary())


def coded_name(name: str) -> str:
    """A column's name as Arrow finds it through a coded ``Stream``."""
    return name.encode().decode("latin-1")


def plain_bytes(text: str) -> bytes:
    """The bytes of a text that was read through a coded ``Stream``."""
    return text.encode("latin-1")


class LineNumbers:
    """The line on which each record starts, found by a second reading that goes only as far as it is asked to.

    Several threads may ask; what they ask for lies close together, so the lines of the last records are kept.
    """

    def __init__(self, file: DataFile, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        self._kept = np.zeros(0, np.int64)
        # what Arrow reads: a record that begins in one block of two
        self._most = 2 * max(SIZES.csv_block_bytes, file.max_row_bytes)

    def _begin(self) -> None:
        self._kept = np.zeros(_KEPT, np.int64)
        self._record = -1
        self._start = 1
        self._records = self._walk()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process counts anew."""
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
            except csv.Error:  # a record that is too long, but starts here all the same
                yield start

    def of(self, row: int) -> int:
        """The line of a record, the header being record -1."""
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
        """Raise ``FileFormatError`` if the last record's quote never closes."""
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
                    message = f"{self._file.shown}, line {start}: a quoted field is never closed"
                    raise FileFormatError(message) from None


def text_lines(stream: Any, most: int) -> Iterator[str]:
    """The lines of a stream, each byte a character; raises ``csv.Error`` for one of more than ``most``.

    Latin-1 maps every byte to a character, so that invalid UTF-8 cannot stop who counts lines.
    """
    text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
    while line := text.readline(most + 1):
        if len(line) > most:
            raise csv.Error(too_long(most))
        yield line


@contextmanager
def _field_size(most: int) -> Iterator[None]:
    """Let the csv module read cells of up to so many bytes, in one thread at a time: its limit is the process's."""
    with _ALONE:
        limit = csv.field_size_limit(min(most, LARGEST))
        try:
            yield
        finally:
            csv.field_size_limit(limit)
