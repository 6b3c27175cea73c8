"""The sheets of Excel's workbooks (``.xlsx``): cells are text, as in CSV, unless they are requested as other values."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError, MissingExtraError, UnknownNameError
from fastmetrics.base.limits import SIZES
from fastmetrics.tables.csv_files import DelimitedReader
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.formats import Format, Reader
from fastmetrics.tables.input_files import DataFile, reading
from fastmetrics.tables.table_chunks import Chunk


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
        try:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
            sheet = book.get_sheet_by_name(self._sheet(book))
            yield from ([_text(cell) for cell in row] for row in sheet.iter_rows())
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


def _text(cell: Any) -> str | None:
    """A cell as the text that CSV would have."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


XLSX = Format("xlsx", (".xlsx",), SheetReader)
