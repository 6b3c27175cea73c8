"""The pure function from a span of the input to its finished parts, which every engine maps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.core.corpus_counts import BatchSums
from fastmetrics.engines.score_chunk import Score, Scored, Worker
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.output.encoders import ParquetEncoder, undefined_as_null, writing
from fastmetrics.tables.table_chunks import Chunk, Limits, Place, Span, batch_of, cut
from fastmetrics.tables.table_source import TableSource

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
    stop: Place
    observed: Any
    batch: pa.RecordBatch | None = None
    offset: int = 0


def pieces(
    task: Task, spans: Iterable[Span], threads: int, spent: Callable[[str, float], None]
) -> Iterator[tuple[int, Chunk]]:
    """The rows of the spans, split into batches and parts; each span starts a new part."""
    part = 0
    for span in spans:
        chunks_of_span = task.source.chunks(task.selection, span.start, threads, span.stop)
        chunks = cut(chunks_of_span if task.skip else _to_first_reject(chunks_of_span), task.limits, part)
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
    rejects = sorted((reject for chunk in scored for reject in chunk.rejects), key=lambda reject: reject.place)
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
