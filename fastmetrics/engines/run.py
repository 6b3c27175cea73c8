"""Making the columns of a table: batches are mapped over threads, in memory or into an output that appears whole."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from fastmetrics.base.columns import with_index
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    FastmetricsError,
    FileFormatError,
    InputError,
    OutputError,
    warn_of,
)
from fastmetrics.base.limits import SIZES
from fastmetrics.base.progress import Progress, WorkDone, report
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import SETTINGS, BatchSums, ScoreMetadata
from fastmetrics.base.threads import Background, ordered
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult
from fastmetrics.plans.score_batch import map_batches, slices
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.encoders import KEY, dump, undefined_as_null, writing
from fastmetrics.tables.good_rows import good_rows, raw_text
from fastmetrics.tables.outputs import Output
from fastmetrics.tables.readers import BEGINNING, Chunk, Limits, Position, Reject, batch_of, divided
from fastmetrics.tables.resume import PartsFolder, compare, describe_inputs
from fastmetrics.tables.sources import FrameSource, TableSource

# Making the columns of one chunk of rows; a batch that fails is divided down to the row at fault.


# The exceptions that bad data can cause in scoring code; any other exception is a bug and stops the run.
_BAD_DATA = (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException)


@dataclass(frozen=True)
class Made:
    """The columns of one chunk: ``stop`` is the position after its last row."""

    part: int
    batches: list[pa.RecordBatch]
    rejects: list[Reject]
    stop: Position
    rows: int
    offset: int
    seconds: float
    resumed: int = 0
    """The rows that an earlier run made."""


class Begun(NamedTuple):
    """What is made of the good rows of a chunk so far: of how many, and how many of these by an earlier run."""

    rows: int = 0
    batches: Sequence[pa.RecordBatch] = ()
    rejects: Sequence[Reject] = ()
    resumed: int = 0


_STEP, _SAVED_EVERY = 0.5, 10.0
"""Seconds of a step where rows are made one by one, and of work that a kill may lose."""


@dataclass(frozen=True)
class Worker:
    """The function that each thread applies to a chunk; ``parts`` keep what is ``begun`` if the run is stopped."""

    source: TableSource
    selection: Selection
    maker: ColumnMaker
    schema: pa.Schema
    skip: bool
    parts: PartsFolder | None = None
    begun: dict[Position, Begun] = field(default_factory=dict)

    def __call__(self, item: tuple[int, Chunk]) -> Made:
        part, chunk = item
        began = time.perf_counter()
        good = good_rows(self.source, self.selection, chunk, skip=self.skip)
        made = self._whole(good) if len(good.rows) else Begun()
        stop = Position(chunk.file, chunk.stop)
        rows, rejects = len(chunk.rows) + len(chunk.rejects), [*good.rejects, *made.rejects]
        seconds = time.perf_counter() - began
        return Made(part, list(made.batches), rejects, stop, rows, chunk.offset, seconds, made.resumed)

    def _whole(self, chunk: Chunk) -> Begun:
        """The columns of all valid rows: in one step, or in several if a function of the user's makes each row."""
        at, rows = Position(chunk.file, int(chunk.rows[0])), len(chunk.rows)
        made, saved = self._kept(at, rows), time.monotonic()
        least = rows if self.parts is None else self.maker.least_rows or rows
        step = least
        while made.rows < rows:
            began, rejects = time.monotonic(), list(made.rejects)
            stop = min(made.rows + step, rows)
            batches = self._by_parts(chunk.slice(made.rows, stop, ()), rejects)
            made = made._replace(rows=stop, batches=[*made.batches, *batches], rejects=rejects)
            step = 2 * step if time.monotonic() - began < _STEP else max(least, step // 2)
            if self.parts is not None:
                self.begun[at] = made
                if time.monotonic() - saved > _SAVED_EVERY:
                    self._keep(at, made)
                    saved = time.monotonic()
        if len(made.batches) > 1:  # as if it were made at once, whatever the time
            made = made._replace(batches=[BatchSums.of(made.batches).on(_joined(made.batches, self.schema))])
        return made

    def _kept(self, at: Position, rows: int) -> Begun:
        """What an earlier run made of a chunk of so many rows."""
        found = None if self.parts is None else self.parts.kept(at)
        if found is None or found[1]["rows"] > rows or not self.maker.lasts(self.maker.observe(found[0])):
            return Begun()
        batch, about = found
        rejects = [Reject(**{**one, "position": Position(*one["position"])}) for one in about["rejects"]]
        return Begun(about["rows"], [batch], rejects, batch.num_rows)

    def _keep(self, at: Position, made: Begun) -> None:
        assert self.parts is not None
        rows = BatchSums.of(made.batches).on(_joined(made.batches, self.schema))
        self.parts.keep(at, rows, {"rows": made.rows, "rejects": [asdict(one) for one in made.rejects]})

    def keep_begun(self) -> None:
        """Save what is made of parts that are not finished."""
        for at, made in sorted(self.begun.items()):
            self._keep(at, made)

    def forget(self, before: Position) -> None:
        """Drop what is saved otherwise: the rows before a position."""
        for at in [*self.begun]:
            if at < before:
                self.begun.pop(at, None)

    def _by_parts(self, chunk: Chunk, rejects: list[Reject]) -> list[pa.RecordBatch]:
        """The columns of all valid rows: a batch that fails is split repeatedly, down to single rows.

        It is split in halves, or around the row that the error names.
        """
        try:
            return [self._made(chunk.batch)]
        except _BAD_DATA as error:
            if isinstance(error, FastmetricsError) and not isinstance(error, InputError):
                raise
            if not (self.skip or isinstance(error, InputError)):
                raise
            rows = len(chunk.rows)
            if rows > 1:
                bad = error.row if isinstance(error, InputError) else None
                ends = [0, rows // 2, rows] if bad is None else [0, bad, bad + 1, rows]
                pieces = [chunk.slice(*pair, ()) for pair in itertools.pairwise(ends) if pair[0] < pair[1]]
                return [batch for piece in pieces for batch in self._by_parts(piece, rejects)]
            position = Position(chunk.file, int(chunk.rows[0]))
            reason = str(error) or type(error).__name__
            reject = Reject(position, *self.source.where(position), None, reason, raw_text(chunk.batch, 0))
            if not self.skip:
                raise InputError(str(reject)) from error
            rejects.append(reject)
            return []

    def _made(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        made = self.maker(batch)
        if made.num_rows != batch.num_rows * self.maker.rows_each or not made.schema.equals(self.schema):
            raise AssertionError(f"scoring {batch.num_rows} rows gave {made.num_rows}, with {made.schema}")
        return made


# Runs in memory.


def make_columns(
    maker: ColumnMaker, source: TableSource, output: Output | None, options: RunOptions, threads: int
) -> pa.Table | RunResult:
    """The columns of a table: in an open ``output``, or in memory, where notes are warnings.

    Raises ``InputError`` for bad rows, unless they are skipped, and the errors of :func:`write_columns`.
    """
    if output is not None:
        return write_columns(maker, source, output, options, threads)
    made, notes = maker.described(*made_in_memory(maker, source, threads, options.limits, options.progress))
    warn_of([*source.notes, *notes])
    index = getattr(source, "index", None)
    return made if index is None else with_index(made, index.repeat(maker.rows_each) if maker.rows_each > 1 else index)


def made_in_memory(
    maker: ColumnMaker,
    source: TableSource,
    threads: int,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[pa.Table, BatchSums]:
    """The columns of a table, and their sums; raises the errors of bad rows."""
    if isinstance(source, FrameSource) and limits is None:
        batches = _of_frame(maker, source, threads, progress)
    else:
        batches = _of_source(maker, source, threads, limits or Limits(), progress)
    return _one_table(batches), BatchSums.of(batches)


def _of_source(
    maker: ColumnMaker,
    source: TableSource,
    threads: int,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
) -> list[pa.RecordBatch]:
    """The columns of all batches of a source, in order; at least one batch."""

    def read(selection: Selection) -> list[pa.RecordBatch]:
        empty = maker(batch_of(selection.schema))
        worker = Worker(source, selection, maker, empty.schema.remove_metadata(), skip=False)
        chunks = divided(source.chunks(selection, threads=threads), limits, to_first_reject=True)
        batches, rows = [empty], 0
        for made in ordered(worker, chunks, threads):
            batches += made.batches
            rows += made.rows
            nbytes = source.bytes_before(made.stop.file) + made.offset
            _report(Progress(rows, source.rows, nbytes, source.nbytes), progress)
        return batches

    return source.select(maker.columns).settled(read)


def _of_frame(
    maker: ColumnMaker, source: FrameSource, threads: int, progress: Callable[[Progress], None] | None
) -> list[pa.RecordBatch]:
    """The columns of a table in memory, converted as they are read; batches of a reader are scored as they come."""
    schema, tables = source.pieces(maker.columns, maker.columns)
    made: list[pa.RecordBatch] = []
    rows = 0
    for batch in map_batches(maker, _batches(tables, threads), threads, at_once=maker.computes):
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


# Runs into an output: parts of a fixed number of rows, from which a killed run goes on, become one whole output.


_PARTS_BEHIND = 2
"""Parts that may wait to be written while threads score."""


def open_output(output: str | Path, source: TableSource, options: RunOptions, *others: Any) -> Output:
    """The output of a run, which reads ``others`` too; raises ``OutputError`` if it exists or cannot be written."""
    opened = Output(output)
    inputs = [[file.path for file in source.files], others]
    unstable = _unstable(source)
    if options.resume and unstable is not None:
        raise OutputError(f"cannot resume {opened.path}: {unstable}; run again without ", Argument("resume", True))
    opened.check(inputs, resume=options.resume, overwrite=options.overwrite)
    return opened


def _unstable(source: TableSource) -> str | None:
    """Why a run cannot go on in the middle of the rows, if it cannot."""
    streams = (f"{file.shown} is a stream, which is read once" for file in source.files if file.checksum is not None)
    return source.unstable or next(streams, None)


def write_columns(
    maker: ColumnMaker, source: TableSource, output: Output, options: RunOptions, threads: int
) -> RunResult:
    """Make the columns of a table into an output, which appears whole.

    A run that is killed leaves ``<output>.partial`` with its finished parts, and ``resume=True`` goes on from there to
    the same bytes.  With ``on_error="skip"``, bad rows are written to ``<output>.rejects.jsonl``.  Raises
    ``OutputError`` if the output cannot be written or belongs to other settings, ``InputError`` for bad rows.
    """
    run = _Run(maker, source, output, options, threads)
    done = run.completed() if output.complete else None
    if done is None or not maker.is_settled(done.metadata):
        done = run.go()
    return maker.concluded(done, output.text)


@dataclass
class _Run:
    maker: ColumnMaker
    source: TableSource
    output: Output
    options: RunOptions
    threads: int
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("start", "read", "score", "write"), 0.0))
    done: int = 0
    resumed: int = 0
    """The rows of parts that an earlier run did not finish."""

    def go(self) -> RunResult:
        """Read, make and write all rows; what an earlier run left is taken from its parts."""
        began = time.perf_counter()
        keep = _unstable(self.source) is None
        selection = self.source.select(self.maker.columns)  # first: the identity of a frame is that of its columns
        with self.output.work(keep=keep) as work:
            parts = PartsFolder(work if keep else None, self.output.path, resume=self.options.resume)
            record = self._record()
            with self._timed("write"):
                selection = replace(selection, schema=parts.begin(record, selection.schema))

            def write(selected: Selection) -> tuple[int, int, Mapping[str, Any]]:
                if selected is not selection:  # a later row needs a wider type: start again with it
                    self.done = self.resumed = 0
                    with self._timed("write"):
                        parts.restart(record, selected.schema)
                return self._write(selected, parts, work)

            try:
                resumed, guarded, metadata = selection.settled(write)
            except FileFormatError as error:
                if self.options.files.on_error != "skip":
                    raise
                way = Argument("on_error", "skip")
                raise FileFormatError(
                    error.message, "; ", way, " leaves out rows, but the file cannot be read on"
                ) from error
        self.seconds["total"] = time.perf_counter() - began
        rejected = sum(part.rejects.count("\n") for part in parts.parts)
        return RunResult(
            output=self.output.path,
            rejects=self.output.rejects if rejected else None,
            rows=sum(part.rows for part in parts.parts),
            rejected=rejected,
            resumed_rows=resumed,
            observed=[observed for part in parts.parts for observed in part.observed],
            seconds=dict(self.seconds),
            guarded=guarded,
            notes=self.source.notes,
            metadata=metadata,
        )

    def _record(self) -> dict[str, Any]:
        """What must be equal for a run to be resumed."""
        limits = self._limits
        record = {
            **self.maker.signature,
            "order": list(self.maker.signature.get("scores", ())),  # equal mappings may differ in order
            "kinds": self.maker.columns,
            "input": {f"{number} {file[0]}": file[1:] for number, file in enumerate(self.source.fingerprint, 1)},
            "on_error": self.options.files.on_error,
            "part": limits.part_rows,
            "max_row_bytes": self.source.max_row_bytes,
            "pyarrow": pa.__version__,
            "sources": {"fastmetrics": __version__, **self.maker.sources},
        }
        return dict(json.loads(json.dumps(record)))

    @property
    def _limits(self) -> Limits:
        """The given or default limits; the number of rows per batch does not change the parts."""
        limits = self.options.limits or Limits(
            part_rows=SIZES.folder_part_rows if self.output.folder else SIZES.part_rows
        )
        rows = self.options.files.batch_rows
        return limits if rows is None else Limits(rows, limits.part_rows)

    def _write(self, selection: Selection, parts: PartsFolder, work: Path) -> tuple[int, int, Mapping[str, Any]]:
        """Write all parts; the rows of those that were finished, the guarded cells, and the metadata of the output."""
        with self._timed("start"):
            maker, keys = self.maker, set(selection.schema.names)
            empty = maker(batch_of(selection.schema))
            schema = empty.schema.remove_metadata()
        worker = Worker(self.source, selection, maker, schema, self.options.files.on_error == "skip", parts)

        with self.output.writer(work, schema.with_metadata({KEY: dump(maker.signature)})) as writer:

            def add(piece: Sequence[Made], ends: bool) -> None:
                """Write rows of one part, which may end it; copied, so that the bytes do not depend on the chunks."""
                with self._timed("write"):
                    batches = [batch for made in piece for batch in made.batches]
                    rows = _joined(batches, schema)
                    observed = maker.observe(BatchSums.of(batches or [empty]).on(rows))
                    rejects = sorted((one for made in piece for one in made.rejects), key=lambda one: one.position)
                    stored = undefined_as_null(rows, keys)
                    text = "".join(reject.to_json() + "\n" for reject in rejects)
                    parts.add(piece[0].part, stored, text, piece[-1].stop, observed)
                    if ends:
                        parts.end()
                    worker.forget(piece[-1].stop)
                    writer.write(piece[0].part, stored)

            for part, batches in parts.finished(lambda part: all(map(maker.lasts, part.observed))):
                with self._timed("write"):
                    for rows in batches:
                        writer.write(part.number, rows)
                self._advance(part.rows // maker.rows_each + part.rejects.count("\n"), part.stop, 0)
            resumed = sum(part.rows for part in parts.parts)
            start = parts.parts[-1].stop if parts.parts else BEGINNING
            background = Background(_PARTS_BEHIND if self.threads > 1 else 0)
            made = self._made(worker, start, len(parts.parts))
            try:
                for piece, ends in _pieces(made):
                    background.do(partial(add, piece, ends))
                background.finish()
            except (KeyboardInterrupt, SystemExit):
                background.close()
                with self._timed("write"):
                    worker.keep_begun()
                raise
            finally:
                background.close()
                made.close()
            if not parts.parts:  # an empty input also has counts
                add([Made(0, [], [], BEGINNING, 0, 0, 0.0)], True)
            conclusion = self._conclusion(parts)
            with self._timed("write"):
                guarded = writer.close(maker.signature, conclusion, [part.rejects for part in parts.parts])
        return resumed + self.resumed, guarded, {**maker.signature, **conclusion}

    def _made(self, worker: Worker, start: Position, done: int) -> Generator[Made, None, None]:
        """The columns of all rows from ``start`` on, before which there are so many parts."""
        chunks = self.source.chunks(worker.selection, start, self.threads)
        limits = self._limits
        items = self._read(divided(chunks, limits, done, to_first_reject=not worker.skip))
        results = ordered(worker, items, self.threads)
        try:
            for made in results:
                self.seconds["score"] += made.seconds
                self.resumed += made.resumed
                self._advance(made.rows, made.stop, made.offset)
                yield made
        finally:
            results.close()

    def _read(self, items: Iterator[tuple[int, Chunk]]) -> Iterator[tuple[int, Chunk]]:
        while True:
            with self._timed("read"):
                item = next(items, None)
            if item is None:
                return
            yield item

    def _conclusion(self, parts: PartsFolder) -> dict[str, Any]:
        """What is known of the output when all rows are made."""
        rejected = sum(part.rejects.count("\n") for part in parts.parts)
        observed = [one for part in parts.parts for one in part.observed]
        concluded = dict(self.maker.conclude(observed, rejected))
        concluded.setdefault("n_rejected", rejected)
        if not concluded.get("metrics"):  # nothing else has the number of rows
            concluded |= ScoreMetadata(n_rows=sum(part.rows for part in parts.parts)).to_json()
        return {**concluded, **self._inputs, **self._sources}

    @property
    def _sources(self) -> dict[str, Any]:
        """The digests of the files of plugins, for the metadata; a file without any has no entry."""
        return ScoreMetadata(sources=self.maker.sources or None).to_json()

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        """The description of the input files, for the metadata."""
        files = [(file.name, file.size) for file in self.source.files]
        return ScoreMetadata(inputs=describe_inputs(files, self.source.how_read) if files else None).to_json()

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            with writing(self.output.path) if stage == "write" else nullcontext():
                yield
        finally:
            self.seconds[stage] += time.perf_counter() - began

    def _advance(self, rows: int, stop: Position, offset: int) -> None:
        """Report rows done up to a position, ``offset`` bytes into its file."""
        self.done += rows
        source = self.source
        nbytes = source.bytes_before(stop.file) + offset
        _report(Progress(self.done, source.rows, nbytes, source.nbytes), self.options.progress)

    def completed(self) -> RunResult:
        """The result of a complete output, from its metadata.

        Raises ``OutputError`` if it is not of these settings and inputs.
        """
        (stored, files), path = self.output.stored(), self.output.path
        stored = stored or {}
        if not self._inputs or not all(file.content or file.is_remote for file in self.source.files):
            unknown = f"{path} is complete, but nothing tells whether its input has changed; choose "
            raise OutputError(unknown, Argument("overwrite", True), " to replace it")
        self.source.select(self.maker.columns)
        signature = json.loads(json.dumps(self.maker.signature))
        settings = {name: value for name, value in stored.items() if name in SETTINGS or name in signature}
        settings |= {name: stored.get(name) for name in ("inputs", "sources")}
        compare(path, settings, {**signature, **self._inputs, "sources": self._sources.get("sources")})
        written = min((file.content[1] for file in files if file.content is not None), default=None)
        for file in self.source.files:
            if written is not None and file.content is not None and file.content[1] > written:
                changed = f"cannot resume {path}: {file.shown} changed after it was written; choose "
                raise OutputError(changed, Argument("overwrite", True), " to start again")
        rows, rejected = ScoreMetadata.of(stored).rows or 0, stored.get("n_rejected") or 0
        return RunResult(
            output=path,
            rejects=self.output.rejects if rejected else None,
            rows=rows,
            rejected=rejected,
            resumed_rows=rows,
            observed=[],
            seconds={**self.seconds, "total": 0.0},
            guarded=stored.get("guarded", 0),
            notes=[f"{path} was complete: no row was scored again", *self.source.notes],
            metadata=stored,
            complete=True,
        )


def _pieces(made: Iterable[Made]) -> Iterator[tuple[list[Made], bool]]:
    """What is written together, and whether it ends a part: a part is in pieces if its rows are long."""
    together: list[Made] = []
    nbytes = 0
    for one in made:
        if together and (one.part != together[0].part or nbytes >= SIZES.part_bytes):
            yield together, one.part != together[0].part
            together, nbytes = [], 0
        together.append(one)
        nbytes += sum(batch.nbytes for batch in one.batches)
    if together:
        yield together, True


def _joined(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, schema=schema)
    arrays = [pa.concat_arrays([*column.chunks, *[pa.nulls(0, column.type)] * 2]) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
