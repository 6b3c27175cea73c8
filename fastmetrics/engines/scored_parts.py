"""Scoring the chunks of a table, and finishing the parts of its splits."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import FastmetricsError, InputError
from fastmetrics.base.score_metadata import BatchSums
from fastmetrics.tables.encoders import ParquetEncoder, undefined_as_null, writing
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_chunks import Chunk, Limits, Position, Reject, Rows, Split, batch_of, cut
from fastmetrics.tables.table_rows import good_rows, raw_text

Score = Callable[[pa.RecordBatch], pa.RecordBatch]

# The exceptions that bad data can cause in scoring code; any other exception is a bug and stops the run.
_BAD_DATA = (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException)


@dataclass(frozen=True)
class Scored:
    """The scores of one chunk: ``stop`` is the position after its last row."""

    part: int
    batches: list[pa.RecordBatch]
    rejects: list[Reject]
    stop: Position
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
        positions = [reject.position for reject in chunk.rejects]
        if len(chunk.rows):
            positions.append(Position(chunk.file, int(chunk.rows[-1])))
            batches = self._by_parts(chunk.file, good.rows, good.batch, rejects)
        last = max(positions)
        seconds = time.perf_counter() - began
        stop = Position(last.file, last.row + 1)
        return Scored(part, batches, rejects, stop, len(chunk.rows) + len(chunk.rejects), chunk.offset, seconds)

    def _by_parts(self, file: int, rows: Rows, batch: pa.RecordBatch, rejects: list[Reject]) -> list[pa.RecordBatch]:
        """The scores of all valid rows: a batch that fails is split repeatedly, down to single rows.

        It is split in halves, or around the row that the error names.
        """
        try:
            return [self._scores(batch)]
        except _BAD_DATA as error:
            if isinstance(error, FastmetricsError) and not isinstance(error, InputError):
                raise
            if not (self._skip or isinstance(error, InputError)):
                raise
            if len(rows) > 1:
                bad = error.row if isinstance(error, InputError) else None
                ends = [0, len(rows) // 2, len(rows)] if bad is None else [0, bad, bad + 1, len(rows)]
                parts = [(start, stop) for start, stop in itertools.pairwise(ends) if start < stop]
                results = [
                    self._by_parts(file, rows[start:stop], batch.slice(start, stop - start), rejects)
                    for start, stop in parts
                ]
                return [scored for result in results for scored in result]
            reject = self._reject(
                Position(file, int(rows[0])), None, str(error) or type(error).__name__, raw_text(batch, 0)
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

    def _reject(self, position: Position, column: str | None, reason: str, raw: str) -> Reject:
        path, where = self._source.where(position)
        return Reject(position, path, where, column, reason, raw)


_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


@dataclass(frozen=True)
class Task:
    """The data that a worker needs.  ``signed``, the output's schema, is given if parts are whole Parquet files.

    ``observe`` receives each part while undefined (NaN) still differs from missing (null); its result is stored with
    the part as JSON for resumed runs.
    """

    source: TableSource
    selection: Selection
    score: Score
    schema: pa.Schema
    limits: Limits
    skip: bool
    observe: Callable[[pa.RecordBatch], Any]
    signed: pa.Schema | None = None
    rows_each: int = 1

    def worker(self) -> Worker:
        """The function that scores chunks."""
        return Worker(self.source, self.selection, self.score, self.schema, skip=self.skip, rows_each=self.rows_each)


@dataclass(frozen=True)
class Finished:
    """A stored part: the bytes of its file, the lines of its rejects, and the position of the next part."""

    data: list[pa.Buffer]
    rows: int
    rejects: str
    stop: Position
    observed: Any
    batch: pa.RecordBatch | None = None
    offset: int = 0


def pieces(
    task: Task, splits: Iterable[Split], threads: int, spent: Callable[[str, float], None]
) -> Iterator[tuple[int, Chunk]]:
    """The rows of the splits, split into batches and parts; each split starts a new part."""
    part = 0
    for split in splits:
        chunks_of_split = task.source.chunks(task.selection, split.start, threads, split.stop)
        chunks = cut(chunks_of_split if task.skip else _to_first_reject(chunks_of_split), task.limits, part)
        while True:
            began = time.perf_counter()
            item = next(chunks, None)
            spent("read", time.perf_counter() - began)
            if item is None:
                break
            part = item[0] + 1
            yield item


def _to_first_reject(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks up to the first bad row, which ends the run; the rest, which may be endless, is not read."""
    for chunk in chunks:
        yield chunk
        if chunk.rejects:
            return


def by_part(scored: Iterator[Scored]) -> Iterator[list[Scored]]:
    """The scored chunks, grouped by part."""
    together: list[Scored] = []
    for chunk in scored:
        if together and chunk.part != together[0].part:
            yield together
            together = []
        together.append(chunk)
    if together:
        yield together


def finish(task: Task, scored: list[Scored]) -> Finished:
    """The scored chunks of a part as a stored part; copied, so that its bytes do not depend on the chunks."""
    batches = [batch for chunk in scored for batch in chunk.batches]
    rejects = sorted((reject for chunk in scored for reject in chunk.rejects), key=lambda reject: reject.position)
    part = _joined(batches, task.schema)
    sums = BatchSums.of(batches or [task.score(batch_of(task.selection.schema))])
    observed = task.observe(sums.on(part))
    part = undefined_as_null(part, set(task.selection.schema.names))
    with writing("the scores"):
        data = _ipc(part) if task.signed is None else [parquet(part, task.signed)]
    return Finished(
        data,
        part.num_rows,
        "".join(reject.to_json() + "\n" for reject in rejects),
        scored[-1].stop,
        observed,
        None if task.signed is not None else part,
        scored[-1].offset,
    )


def parquet(part: pa.RecordBatch, signed: pa.Schema) -> pa.Buffer:
    """A Parquet file of one part."""
    sink = pa.BufferOutputStream()
    file = ParquetEncoder(sink, signed)
    file.write(part)
    file.close({})
    return sink.getvalue()


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, schema=schema)
    arrays = [pa.concat_arrays([*column.chunks, *[pa.nulls(0, column.type)] * 2]) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _ipc(part: pa.RecordBatch) -> list[pa.Buffer]:
    """The part as an Arrow IPC stream, in buffers of known size rather than a growing one."""
    return [part.schema.serialize(), part.serialize(), pa.py_buffer(_END_OF_STREAM)]
