"""A run on any engine: finished parts are saved, remaining parts are scored, and the output is atomic; locally on
threads.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from fastmetrics.base.columns import with_index
from fastmetrics.base.errors import Argument, ColumnError, FastmetricsError, InputError, OutputError, warn_of
from fastmetrics.base.limits import SIZES
from fastmetrics.base.progress import WorkDone, report
from fastmetrics.base.public_names import source_digest
from fastmetrics.base.score_metadata import SETTINGS, BatchSums, ScoreMetadata
from fastmetrics.base.threads import Background, cores, ordered
from fastmetrics.engines.column_maker import (
    ColumnMaker,
    Engine,
    Finished,
    Progress,
    RunOptions,
    RunResult,
    Task,
    Watcher,
)
from fastmetrics.metrics.score_batch import map_batches, slices
from fastmetrics.tables.encoders import (
    KEY,
    Encoder,
    ParquetEncoder,
    described,
    dump,
    undefined_as_null,
    writing,
)
from fastmetrics.tables.file_columns import Selection, Widened
from fastmetrics.tables.file_formats import encoder
from fastmetrics.tables.opening import DATABASE
from fastmetrics.tables.run_outputs import Output, compare, describe_inputs
from fastmetrics.tables.sources import FrameSource, TableSource
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Limits, Position, Reject, Rows, Split, batch_of, cut
from fastmetrics.tables.table_rows import good_rows, raw_text

# Scoring the chunks of a table, and finishing the parts of its splits.


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

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, item: tuple[int, Chunk]) -> Scored:
        part, chunk = item
        began = time.perf_counter()
        good = good_rows(self._task.source, self._task.selection, chunk, skip=self._task.skip)
        rejects = list(good.rejects)
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
            if not (self._task.skip or isinstance(error, InputError)):
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
            if not self._task.skip:
                raise InputError(str(reject)) from error
            rejects.append(reject)
            return []

    def _scores(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        scores = self._task.maker(batch)
        if scores.num_rows != batch.num_rows * self._task.maker.rows_each or not scores.schema.equals(
            self._task.schema
        ):
            raise AssertionError(f"scoring {batch.num_rows} rows gave {scores.num_rows}, with {scores.schema}")
        return scores

    def _reject(self, position: Position, column: str | None, reason: str, raw: str) -> Reject:
        path, where = self._task.source.where(position)
        return Reject(position, path, where, column, reason, raw)


_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


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
    sums = BatchSums.of(batches or [task.maker(batch_of(task.selection.schema))])
    observed = task.maker.observe(sums.on(part))
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


# Writing finished parts to the work folder and the output while scoring continues.


class PartWriter:
    """Receives parts in order, saves each, and encodes the output in parallel; ``signed`` is the output's schema."""

    def __init__(self, output: Output, signed: pa.Schema) -> None:
        self._output = output
        self._signed = signed
        self._encoder: Encoder | None = None
        self.seconds = 0.0
        self.guarded = 0
        """After the output is complete, the number of its cells with a leading quote."""
        if not output.folder:
            with writing(output.path):
                self._encoder = encoder(output.temporary, signed, output.format, output.compression)

    def add(self, number: int, make: Callable[[], Finished]) -> None:
        """Save a new part, completed by ``make``, and write it to the output."""
        began = time.perf_counter()
        part = make()
        self._output.work.save(
            number, part.data, rows=part.rows, rejects=part.rejects, stop=part.stop, observed=part.observed
        )
        if self._encoder is not None:
            self._encode(_batch_of(pa.py_buffer(part.data[0])) if part.batch is None else part.batch)
        self.seconds += time.perf_counter() - began

    def reuse(self, data: pa.Buffer) -> None:
        """Write a part saved by an earlier run to the output."""
        began = time.perf_counter()
        if not self._output.folder:
            self._encode(_batch_of(data))
        self.seconds += time.perf_counter() - began

    def _encode(self, part: pa.RecordBatch) -> None:
        if self._encoder is not None:
            with writing(self._output.path):
                self._encoder.write(part)

    def close(self, signature: Mapping[str, Any], conclusion: Mapping[str, Any]) -> None:
        """Complete the output under its temporary name and rename it."""
        began = time.perf_counter()
        beside: dict[str, Any] = {}
        with writing(self._output.path):
            if self._encoder is not None:
                self._encoder.close(conclusion)
                self.guarded = self._encoder.guarded
                if self._output.sidecar is not None:
                    beside = described(self._signed, self._encoder)
                self._encoder = None
        self._output.commit(dump({**signature, **conclusion, **beside}))
        self.seconds += time.perf_counter() - began

    def discard(self) -> None:
        """Discard the unfinished file; the parts stay."""
        if self._encoder is not None:
            self._encoder.discard()
            self._encoder = None
            self._output.temporary.unlink(missing_ok=True)


def _batch_of(data: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_stream(data).read_next_batch()


# A run on any engine: finished parts are saved, remaining parts are scored, and the output is atomic.


def _limits(target: Output, options: RunOptions) -> Limits:
    """The given or default limits; the number of rows per batch does not change the parts."""
    limits = options.limits or (Limits(part_rows=SIZES.folder_part_rows) if target.folder else Limits())
    rows = options.files.batch_rows
    return limits if rows is None else replace(limits, batch_rows=rows)


def open_output(output: str | Path, source: TableSource, options: RunOptions, *others: Any) -> Output:
    """The output of a run, which reads ``others`` too; raises ``OutputError`` if it exists or cannot be written."""
    target = Output(output, options.files.work)
    inputs = [[file.path for file in source.files], others]
    target.check(inputs, resume=options.resume, overwrite=options.overwrite)
    return target


def make_columns(
    maker: ColumnMaker, source: TableSource, output: Output | None, options: RunOptions, engine: Engine
) -> pa.Table | RunResult:
    """Make the columns of a table: into an open ``output``, or in memory, where notes are warnings.

    An output is atomic and has the same bytes on every engine.  A run that ends early for any reason leaves
    ``<output>.partial`` with its finished parts, if any (for an output in a store, a folder in ``work``), and
    ``resume=True`` continues from there on any engine.  With ``on_error="skip"``, bad rows are written to
    ``<output>.rejects.jsonl``.  Raises ``OutputError`` if the output cannot be written or belongs to other settings,
    ``InputError`` for bad rows.
    """
    if output is None:
        assert isinstance(engine, Threads), "other engines write outputs"
        made, notes = made_in_memory(maker, source, engine.threads, options.limits, options.progress)
        warn_of([*source.notes, *notes])
        return made
    with output.work:
        return maker.concluded(_Run(engine, source, maker, output, options).go(), output.text)


class _Run:
    def __init__(
        self, engine: Engine, source: TableSource, maker: ColumnMaker, output: Output, options: RunOptions
    ) -> None:
        self._engine = engine
        self._source = source
        files = [(file.name, file.size) for file in source.files]
        self._inputs = ScoreMetadata(inputs=describe_inputs(files, source.how_read) if files else None).to_json()
        self._maker = maker
        self._output = output
        self._limits = _limits(output, options)
        self._skip = options.files.on_error == "skip"
        self._resume = options.resume
        self._progress = options.progress
        self._work = output.work
        self._seconds = dict.fromkeys(("start", "read", "score", "write", "total"), 0.0)
        self._done = 0
        self._resumed = 0
        self._guarded = 0
        self._metadata: Mapping[str, Any] = {}

    def go(self) -> RunResult:
        began = perf_counter()
        selection = self._source.select(self._maker.columns)  # first: the identity of a frame is that of its columns
        record = self._record()
        earlier = self._work.recorded() if self._resume and self._work.unfinished() else None
        if earlier is not None:
            if self._source.unstable is not None and not self._work.is_finished:
                refused = f"cannot resume {self._output.path}: {self._source.unstable}; choose "
                raise OutputError(refused, Argument("overwrite", True), " to start again")
            run, schema = earlier
            compare(self._output.path, run, record)
            selection = Selection(schema, selection.kinds)
        if self._output.complete or (self._resume and self._work.is_finished):
            if self._work.is_finished:
                self._output.finish()
            return self._completed(checked=earlier is not None)
        if earlier is not None:
            self._work.load()
        else:
            self._work.start(record, selection.schema)
        self._until_wide_enough(selection, record)
        self._seconds["total"] = perf_counter() - began
        return self._result()

    def _completed(self, *, checked: bool) -> RunResult:
        """The result of a complete output, from its metadata.

        Raises ``OutputError`` if it is not of these settings and inputs, unless that is ``checked``.
        """
        stored, files = self._output.stored()
        stored, path = stored or {}, self._output.path
        if not checked:
            readable = all(
                file.content is not None or (file.is_remote and file.format != DATABASE) for file in self._source.files
            )
            if not (self._inputs and readable) or self._maker.sources:
                unknown = f"{path} is complete, but nothing tells whether its input has changed; choose "
                raise OutputError(unknown, Argument("overwrite", True), " to replace it")
            signature = json.loads(json.dumps(self._maker.signature))
            settings = {name: value for name, value in stored.items() if name in SETTINGS or name in signature}
            compare(path, {**settings, "inputs": stored.get("inputs")}, {**signature, **self._inputs})
            written = min((file.content[1] for file in files if file.content is not None), default=None)
            for file in self._source.files:
                if written is not None and file.content is not None and file.content[1] > written:
                    changed = f"cannot resume {path}: {file.shown} changed after it was written; choose "
                    raise OutputError(changed, Argument("overwrite", True), " to start again")
        rows, rejected = ScoreMetadata.of(stored).rows or 0, stored.get("n_rejected") or 0
        return RunResult(
            output=path,
            rejects=self._output.rejects if rejected else None,
            rows=rows,
            rejected=rejected,
            resumed_rows=rows,
            observed=[],
            seconds=dict(self._seconds),
            guarded=stored.get("guarded", 0),
            notes=[f"{path} was complete: no row was scored again", *self._source.notes],
            metadata=stored,
            complete=True,
        )

    def _until_wide_enough(self, selection: Selection, record: Mapping[str, Any]) -> None:
        """Run; if a later row needs a wider column type, the run is restarted with that type."""
        while True:
            try:
                return self._all_parts(selection)
            except Widened as wider:
                selection = selection.widen(wider.name, wider.type)
                self._done = self._resumed = 0
                self._work.start(record, selection.schema)

    def _record(self) -> dict[str, Any]:
        """The data that must be equal for a run to be resumed."""
        limits = self._limits
        record = {
            **self._maker.signature,
            "order": list(self._maker.signature.get("scores", ())),  # equal mappings may differ in order
            "kinds": self._maker.columns,
            "input": {f"{number} {file[0]}": file[1:] for number, file in enumerate(self._source.fingerprint, 1)},
            "on_error": "skip" if self._skip else "fail",
            "part": [limits.part_rows, limits.part_bytes],
            "max_row_bytes": self._source.max_row_bytes,
            "pyarrow": pa.__version__,
            "sources": {"fastmetrics": source_digest(), **self._maker.sources},
        }
        return dict(json.loads(json.dumps(record)))

    def _result(self) -> RunResult:
        parts = [self._work.parts[number] for number in sorted(self._work.parts)]
        rejected = sum(part.rejects for part in parts)
        return RunResult(
            output=self._output.path,
            rejects=self._output.rejects if rejected else None,
            rows=sum(part.rows for part in parts),
            rejected=rejected,
            resumed_rows=self._resumed,
            observed=[part.observed for part in parts],
            seconds=dict(self._seconds),
            guarded=self._guarded,
            notes=self._source.notes,
            metadata=self._metadata,
        )

    def _task(self, selection: Selection) -> tuple[Task, pa.Schema]:
        """The data for the workers, and the output's schema with metadata."""
        maker = self._maker
        schema = maker(batch_of(selection.schema)).schema.remove_metadata()
        self._output.check_types(schema)
        signed = schema.with_metadata({KEY: dump(maker.signature)})
        whole = signed if self._output.folder else None
        return Task(self._source, selection, maker, schema, self._limits, self._skip, whole), signed

    def _all_parts(self, selection: Selection) -> None:
        began = perf_counter()
        task, signed = self._task(selection)
        self.spent("start", perf_counter() - began)
        writer = PartWriter(self._output, signed)
        background = Background(self._engine.behind)
        try:
            number, position, more = 0, BEGINNING, True
            while more:
                number, position = self._reuse(number, position, writer, background)
                number, more = self._score_parts(number, position, task, writer=writer, background=background)
                background.finish()
                position = self._work.parts[number - 1].next if number else position
            if not number:  # an empty input also has counts
                writer.add(0, lambda: finish(task, [Scored(0, [], [], BEGINNING, 0, 0, 0.0)]))
                number = 1
            parts = [self._work.parts[number] for number in range(number)]
            rejected = sum(part.rejects for part in parts)
            concluded = dict(self._maker.conclude([part.observed for part in parts], rejected))
            concluded.setdefault("n_rejected", rejected)
            if not concluded.get("metrics"):  # nothing else has the number of rows
                concluded |= ScoreMetadata(n_rows=sum(part.rows for part in parts)).to_json()
            self._metadata = {**self._maker.signature, **concluded, **self._inputs}
            writer.close(self._maker.signature, {**concluded, **self._inputs})
            self._guarded = writer.guarded
        finally:
            background.close()
            writer.discard()
            self._seconds["write"] += writer.seconds

    def _reuse(
        self, number: int, position: Position, writer: PartWriter, background: Background
    ) -> tuple[int, Position]:
        """Reuse the finished parts from ``number`` on; returns the number and position of the first part to compute."""
        while (data := self._work.part(number)) is not None and self._maker.lasts(self._work.parts[number].observed):
            part = self._work.parts[number]
            background.do(lambda data=data: writer.reuse(data))  # type: ignore[misc]
            self._resumed += part.rows
            number, position = number + 1, part.next
            self.done(part.rows // self._maker.rows_each + part.rejects, position, 0)
        return number, position

    def _score_parts(
        self, number: int, position: Position, task: Task, *, writer: PartWriter, background: Background
    ) -> tuple[int, bool]:
        """Score parts from ``number`` up to the next finished one or the end; its number, and whether it exists."""
        parts = self._engine.parts(task, self._source.splits(position), self)
        try:
            for make in parts:
                background.do(lambda number=number, make=make: writer.add(number, make))  # type: ignore[misc]
                number += 1
                if number in self._work.parts:
                    return number, True
        finally:
            parts.close()
        return number, False

    def spent(self, stage: str, seconds: float) -> None:
        """Record seconds that a worker spent on a stage."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def done(self, rows: int, stop: Position, offset: int) -> None:
        """Record rows done up to a position, ``offset`` bytes into its file."""
        self._done += rows
        source = self._source
        progress = Progress(self._done, source.rows, source.bytes_before(stop.file) + offset, source.nbytes)
        _report(progress, self._progress)


# Runs on this machine: on threads, into an output or in memory.


def made_in_memory(
    maker: ColumnMaker,
    source: TableSource,
    threads: int,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[pa.Table, list[str]]:
    """The columns of a table with their metadata and the index of a pandas frame, and the notes on them."""
    if isinstance(source, FrameSource) and limits is None:
        batches = _of_frame(maker, source, threads, progress)
    else:
        batches = _of_source(maker, source, threads, limits or Limits(), progress)
    table, notes = maker.described(_one_table(batches), BatchSums.of(batches))
    index = getattr(source, "index", None)
    if index is not None:
        table = with_index(table, index if maker.rows_each == 1 else index.repeat(maker.rows_each))
    return table, notes


def _of_source(
    maker: ColumnMaker,
    source: TableSource,
    threads: int,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
) -> list[pa.RecordBatch]:
    """The columns of all batches of a source, in order; at least one batch.

    Raises ``InputError`` with file and row for bad data.
    """
    selection = source.select(maker.columns)
    while True:
        empty = maker(batch_of(selection.schema))
        task = Task(source, selection, maker, empty.schema.remove_metadata(), limits, False)
        batches = pieces(task, source.splits(), threads, lambda stage, seconds: None)
        made, rows = [empty], 0
        try:
            for scored in ordered(Worker(task), batches, threads):
                made += scored.batches
                rows += scored.rows
                nbytes = source.bytes_before(scored.stop.file) + scored.offset
                _report(Progress(rows, source.rows, nbytes, source.nbytes), progress)
            return made
        except Widened as wider:  # a later row needs a wider type: start again with it
            selection = selection.widen(wider.name, wider.type)


def _of_frame(
    maker: ColumnMaker, source: FrameSource, threads: int, progress: Callable[[Progress], None] | None
) -> list[pa.RecordBatch]:
    """The columns of a table in memory, converted as they are read; batches of a reader are scored as they come."""
    schema, tables = source.pieces(maker.columns, maker.columns)
    made: list[pa.RecordBatch] = []
    rows = 0
    for batch in map_batches(maker, _batches(tables, threads), threads):
        made.append(batch)
        rows += batch.num_rows // maker.rows_each
        if progress is not None:
            progress(Progress(rows, source.rows, 0, source.nbytes))
    return made or [maker(batch_of(schema))]


def _batches(tables: Iterator[pa.Table], threads: int) -> Iterator[pa.RecordBatch]:
    """The batches of consecutive tables; one that is alone is divided evenly over the threads if it is small."""
    head = list(itertools.islice((table for table in tables if table.num_rows), 2))
    for table in itertools.chain(head, tables):
        yield from slices(table, threads if len(head) == 1 else 1)


def _one_table(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """One table of all batches; types of kept columns may differ between batches."""
    tables = [pa.Table.from_batches([batch]).replace_schema_metadata() for batch in batches]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        first, *others = (table.schema for table in tables)
        unlike = [name for name in first.names if any(first.field(name) != other.field(name) for other in others)]
        columns = ", ".join(map(repr, unlike))
        raise ColumnError(f"column {columns}: the batches hold values of different types: {error}") from error


def _report(done: Progress, progress: Callable[[Progress], None] | None) -> None:
    report(WorkDone("", done.rows, "rows", done.total_rows, done.share))
    if progress is not None:
        progress(done)


_PARTS_BEHIND = 2


class Threads:
    """The engine of one process: this thread reads, ``threads`` others score, one writes; one thread does it all."""

    def __init__(self, threads: int) -> None:
        self.threads = cores(threads)
        self.behind = _PARTS_BEHIND if threads > 1 else 0

    def parts(
        self, task: Task, splits: Sequence[Split], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts in order; the caller's thread copies, observes and encodes each."""
        items = pieces(task, splits, self.threads, watcher.spent)
        results = ordered(Worker(task), items, self.threads)
        try:
            for scored in by_part(_watched(results, watcher)):
                yield partial(finish, task, scored)
        finally:
            results.close()


def _watched(results: Iterator[Scored], watcher: Watcher) -> Iterator[Scored]:
    for scored in results:
        watcher.spent("score", scored.seconds)
        watcher.done(scored.rows, scored.stop, scored.offset)
        yield scored
