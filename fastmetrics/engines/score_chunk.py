"""Scoring one chunk of input: check it, score it, and optionally set bad rows aside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from fastmetrics.errors import FastmetricsError, InputError
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.good_rows import good_rows
from fastmetrics.tables.invalid_utf8 import raw_text
from fastmetrics.tables.table_chunks import Chunk, Place, Reject, Rows
from fastmetrics.tables.table_source import TableSource

Score = Callable[[pa.RecordBatch], pa.RecordBatch]

# The exceptions that bad data can cause in scoring code; any other exception is a bug and stops the run.
_BAD_DATA = (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException)


@dataclass(frozen=True)
class Scored:
    """The scores of one chunk: ``stop`` is the position after its last row."""

    part: int
    batches: list[pa.RecordBatch]
    rejects: list[Reject]
    stop: Place
    rows: int
    offset: int
    seconds: float


class Worker:
    """The function that each thread applies to a chunk; it has no mutable state."""

    def __init__(
        self,
        source: TableSource,
        selection: Selection,
        score: Score,
        schema: pa.Schema,
        *,
        skip: bool,
        rows_each: int = 1,
    ) -> None:
        self._source = source
        self._selection = selection
        self._score = score
        self._schema = schema
        self._skip = skip
        self._rows_each = rows_each

    def __call__(self, item: tuple[int, Chunk]) -> Scored:
        part, chunk = item
        began = time.perf_counter()
        good = good_rows(self._source, self._selection, chunk, skip=self._skip)
        rejects = good.rejects
        batches: list[pa.RecordBatch] = []
        places = [reject.place for reject in chunk.rejects]
        if len(chunk.rows):
            places.append(Place(chunk.file, int(chunk.rows[-1])))
            batches = self._by_halves(chunk.file, good.rows, good.batch, rejects)
        last = max(places)
        seconds = time.perf_counter() - began
        stop = Place(last.file, last.row + 1)
        return Scored(part, batches, rejects, stop, len(chunk.rows) + len(chunk.rejects), chunk.offset, seconds)

    def _by_halves(self, file: int, rows: Rows, batch: pa.RecordBatch, rejects: list[Reject]) -> list[pa.RecordBatch]:
        """The scores of all valid rows: a batch that fails is split in halves repeatedly, down to single rows."""
        try:
            return [self._scores(batch)]
        except _BAD_DATA as error:
            if isinstance(error, FastmetricsError) and not isinstance(error, InputError):
                raise
            if not (self._skip or isinstance(error, InputError)):
                raise
            if len(rows) > 1:
                middle = len(rows) // 2
                first = self._by_halves(file, rows[:middle], batch.slice(0, middle), rejects)
                return first + self._by_halves(file, rows[middle:], batch.slice(middle), rejects)
            reject = self._reject(
                Place(file, int(rows[0])), None, str(error) or type(error).__name__, raw_text(batch, 0)
            )
            if not self._skip:
                raise InputError(str(reject)) from error
            rejects.append(reject)
            return []

    def _scores(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        scores = self._score(batch)
        if scores.num_rows != batch.num_rows * self._rows_each or not scores.schema.equals(self._schema):
            raise AssertionError(f"scoring {batch.num_rows} rows gave {scores.num_rows}, with {scores.schema}")
        return scores

    def _reject(self, place: Place, column: str | None, reason: str, raw: str) -> Reject:
        path, where = self._source.where(place)
        return Reject(place, path, where, column, reason, raw)
