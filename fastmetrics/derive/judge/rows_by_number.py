"""The rows of a table in any order, and tables of which only some rows are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Ints
from fastmetrics.derive.judge.judge_batch import IS_JUDGED
from fastmetrics.tables.file_columns import Selection, Widened
from fastmetrics.tables.sources import NarrowedSource, TableSource
from fastmetrics.tables.table_chunks import Chunk
from fastmetrics.tables.table_rows import GoodRows, good_rows


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
                self.places = [(file, good.rows) for file, good in self._good() if len(good.rows)]
                return
            except Widened as wider:
                self._selection = self._selection.widen(wider.name, wider.type)

    def _good(self) -> Iterator[tuple[int, GoodRows]]:
        """The good rows of each chunk with the number of its file; bad rows are left out or end the run."""
        for chunk in self._source.chunks(self._selection):
            if len(chunk.rows) or chunk.rejects:
                yield chunk.file, good_rows(self._source, self._selection, chunk, skip=self._skip)

    def take(self, numbers: Ints) -> pa.Table:
        """The rows with these ascending numbers."""
        pieces, seen = [self._selection.schema.empty_table()], 0
        for _, good in self._good():
            first, last = np.searchsorted(numbers, (seen, seen + len(good.rows)))
            if first < last:
                pieces.append(pa.Table.from_batches([good.batch.take(pa.array(numbers[first:last] - seen))]))
            seen += len(good.rows)
        return pa.concat_tables(pieces)


class MarkedSource(NarrowedSource):
    """A source with the column ``IS_JUDGED``, which is true for the rows to judge."""

    def __init__(self, source: TableSource, rows: RowsByNumber, is_judged: Flags) -> None:
        super().__init__(source)
        marked: dict[int, list[Ints]] = {}
        seen = 0
        for file, numbers in rows.places:
            marked.setdefault(file, []).append(numbers[is_judged[seen : seen + len(numbers)]])
            seen += len(numbers)
        self._judged_rows = {file: np.concatenate(numbers) for file, numbers in marked.items()}

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """The batch of a chunk, with the mark of each row."""
        batch = super().conform(chunk, selection)
        is_judged = np.isin(chunk.rows, self._judged_rows.get(chunk.file, np.empty(0, np.int64)))
        return batch.append_column(IS_JUDGED, pa.array(is_judged))
