"""The rows of a table in any order, and tables of which only some rows are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Flags, Ints
from fastmetrics.derive.judge_maker import ASKED
from fastmetrics.errors import FileFormatError
from fastmetrics.tables.chunks import Chunk, Place, Reject, long_rows, too_long
from fastmetrics.tables.column_types import Selection, Widened
from fastmetrics.tables.invalid_utf8 import bad_text
from fastmetrics.tables.table_source import NarrowedSource, TableSource


class RowsByNumber:
    """The rows of a source by their number among all that can be read."""

    def __init__(self, source: TableSource, columns: Mapping[str, str], *, skip: bool) -> None:
        self._source, self._skip = source, skip
        self._selection = source.select(columns)
        self.places: list[tuple[int, Ints]] = []
        """The file and the rows of each chunk."""
        self._read_places()
        self.total = sum(len(rows) for _, rows in self.places)

    def _read_places(self) -> None:
        """Read all rows once; if a later row needs a wider column type, again with that type."""
        while True:
            try:
                self.places = [(chunk.file, rows) for chunk, _, rows in self._chunks()]
                return
            except Widened as wider:
                self._selection = self._selection.widen(wider.name, wider.type)

    def _chunks(self) -> Iterator[tuple[Chunk, pa.RecordBatch, Ints]]:
        """Each chunk with its good rows and their numbers in the file; bad rows are left out or end the run."""
        for chunk in self._source.chunks(self._selection):
            if chunk.rejects and not self._skip:
                raise FileFormatError(str(chunk.rejects[0]))
            if not len(chunk.rows):
                continue
            batch = self._source.conform(chunk, self._selection)
            most = self._source.max_row_bytes
            bad = {**bad_text(batch), **dict.fromkeys(long_rows(batch, most), (None, too_long(most)))}
            if bad and not self._skip:
                at = min(bad)
                place = Place(chunk.file, int(chunk.rows[at]))
                raise FileFormatError(str(Reject(place, *self._source.where(place), *bad[at], "")))
            good = np.ones(len(chunk.rows), np.bool_)
            good[list(bad)] = False
            yield chunk, batch.filter(pa.array(good)) if bad else batch, chunk.rows[good]

    def take(self, numbers: Ints) -> pa.Table:
        """The rows with these ascending numbers."""
        found, seen = [self._selection.schema.empty_table()], 0
        for _, batch, rows in self._chunks():
            first, last = np.searchsorted(numbers, (seen, seen + len(rows)))
            if first < last:
                found.append(pa.Table.from_batches([batch.take(pa.array(numbers[first:last] - seen))]))
            seen += len(rows)
        return pa.concat_tables(found)


class MarkedSource(NarrowedSource):
    """A source with the column ``ASKED``, which is true for the rows to judge."""

    def __init__(self, source: TableSource, rows: RowsByNumber, asked: Flags) -> None:
        super().__init__(source)
        marked: dict[int, list[Ints]] = {}
        seen = 0
        for file, numbers in rows.places:
            marked.setdefault(file, []).append(numbers[asked[seen : seen + len(numbers)]])
            seen += len(numbers)
        self._asked = {file: np.concatenate(numbers) for file, numbers in marked.items()}

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """The batch of a chunk, with the mark of each row."""
        batch = super().conform(chunk, selection)
        asked = np.isin(chunk.rows, self._asked.get(chunk.file, np.empty(0, np.int64)))
        return batch.append_column(ASKED, pa.array(asked))
