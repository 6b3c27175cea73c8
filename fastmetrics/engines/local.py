"""Score a data set on this machine: files in, threads over batches, parts saved on the way, files out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from fastmetrics.engines.parts import PartWriter
from fastmetrics.engines.work import Score, Scored, Worker
from fastmetrics.errors import OptionError
from fastmetrics.tables.checkpoint import compare, decode_schema, encode_schema
from fastmetrics.tables.chunks import Chunk, Limits, Place, Reject, cut
from fastmetrics.tables.delimited import batch_of
from fastmetrics.tables.kinds import Selection, Widened
from fastmetrics.tables.output import Output
from fastmetrics.tables.source import Source
from fastmetrics.threads import Background, ordered

_PARTS_BEHIND = 2
_FOLDER_PART_ROWS = 131_072


@dataclass(frozen=True)
class Progress:
    """How far a run is: rows done, rows in all (None if the files do not tell), bytes of files done and in all."""

    rows: int
    total_rows: int | None
    nbytes: int
    total_bytes: int


@dataclass(frozen=True)
class Job:
    """What to do with each batch, and what to say of it.

    ``score`` is pure: a batch of the wanted ``columns`` (yours: kind) in, as many rows of scores and kept columns out,
    of the same schema for any batch.  ``signature`` (JSON) says what made the scores: it goes into the output's
    metadata, and a run resumes only under the same.  ``observe`` sees each part's scores, NaN and null still apart,
    and returns JSON; ``conclude`` makes further metadata of all that was observed, in order, and of the number of rows
    that were rejected.
    """

    score: Score
    columns: Mapping[str, str]
    signature: Mapping[str, Any] = field(default_factory=dict)
    observe: Callable[[pa.RecordBatch], Any] = lambda part: None
    conclude: Callable[[list[Any], int], Mapping[str, Any]] = lambda observed, rejected: {}


@dataclass(frozen=True)
class RunResult:
    """What a run made: ``seconds`` are those spent reading, scoring (summed over threads), writing, and in all."""

    output: Path
    rejects: Path | None
    rows: int
    rejected: int
    resumed_rows: int
    observed: list[Any] = field(repr=False)
    seconds: Mapping[str, float]


def run(
    source: Source,
    job: Job,
    output: str | Path,
    *,
    threads: int = 1,
    limits: Limits | None = None,
    on_error: str = "fail",
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> RunResult:
    """Score ``source`` into ``output``, which appears whole or not at all, the same bytes for any threads and batches.

    A run that ends early, however it does, leaves ``<output>.partial`` with its finished parts if it has any, and
    ``resume=True`` goes on from there.  With ``on_error="skip"`` bad rows go to ``<output>.rejects.jsonl``.  Raises
    ``OutputError`` if the output exists or cannot be written or belongs to other settings, ``InputError`` for bad rows.

    >>> import pathlib, tempfile, pyarrow.compute as pc
    >>> from fastmetrics.tables import open_source
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("answer\\nyes\\n")
    >>> def score(batch):
    ...     return pa.record_batch({"length": pc.binary_length(batch["answer"]).cast(pa.float64())})
    >>> result = run(open_source(folder / "in.csv", format="csv"), Job(score, {"answer": "text"}), folder / "out.jsonl")
    >>> result.rows, result.output.read_text()
    (1, '{"length": 3}\\n')
    """
    if threads < 1:
        raise OptionError(f"threads={threads}: expected 1 or more")
    if on_error not in ("fail", "skip"):
        raise OptionError(f"on_error={on_error!r}: expected 'fail' or 'skip'")
    target = Output(output)
    target.check(source.files, resume=resume, overwrite=overwrite)
    if limits is None:
        limits = Limits(part_rows=_FOLDER_PART_ROWS) if target.folder else Limits()
    with target.work:
        return _Run(source, job, target, threads=threads, limits=limits, skip=on_error == "skip", progress=progress).go(
            resume
        )


class _Run:
    def __init__(
        self,
        source: Source,
        job: Job,
        output: Output,
        *,
        threads: int,
        limits: Limits,
        skip: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._source = source
        self._job = job
        self._output = output
        self._threads = threads
        self._limits = limits
        self._skip = skip
        self._progress = progress
        self._work = output.work
        self._seconds = {"read": 0.0, "score": 0.0, "write": 0.0, "total": 0.0}
        self._done = 0
        self._resumed = 0

    def go(self, resume: bool) -> RunResult:
        began = perf_counter()
        record = self._record()
        selection = self._source.select(self._job.columns)
        earlier = self._work.recorded() if resume and self._work.unfinished() else None
        if earlier is not None:
            compare(self._output.path, earlier, record)
            self._work.load()
            selection = Selection(decode_schema(earlier["schema"]), selection.kinds)
        else:
            self._work.start({**record, "schema": encode_schema(selection.schema)})
        if earlier is not None and self._work.committed():
            self._output.finish()
        else:
            selection = self._until_wide_enough(selection, record)
        self._seconds["total"] = perf_counter() - began
        return self._result()

    def _until_wide_enough(self, selection: Selection, record: Mapping[str, Any]) -> Selection:
        """Run; a late row that needs a wider column type starts the run again with it."""
        while True:
            try:
                self._all_parts(selection)
                return selection
            except Widened as wider:
                selection = selection.widen(wider.name, wider.type)
                self._done = self._resumed = 0
                self._work.start({**record, "schema": encode_schema(selection.schema)})

    def _record(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        limits = self._limits
        record = {
            "signature": self._job.signature,
            "columns": self._job.columns,
            "input": self._source.fingerprint,
            "on_error": "skip" if self._skip else "fail",
            "part": [limits.part_rows, limits.part_bytes],
            "pyarrow": pa.__version__,
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
        )

    def _all_parts(self, selection: Selection) -> None:
        schema = self._job.score(batch_of(selection.schema)).schema.remove_metadata()
        worker = Worker(self._source, selection, self._job.score, schema, skip=self._skip)
        kept = set(selection.schema.names)
        writer = PartWriter(self._output, schema, self._job.signature, kept, self._job.observe)
        background = Background(_PARTS_BEHIND if self._threads > 1 else 0)
        try:
            number, place, more = 0, Place(0, 0), True
            while more:
                number, place = self._reuse(number, place, writer, background)
                number, more = self._score_parts(
                    number, place, selection, worker=worker, writer=writer, background=background
                )
            background.finish()
            parts = [self._work.parts[number] for number in sorted(self._work.parts)]
            rejected = sum(part.rejects for part in parts)
            writer.close(self._job.conclude([part.observed for part in parts], rejected))
        finally:
            background.close()
            writer.abandon()
            self._seconds["write"] += writer.seconds

    def _reuse(self, number: int, place: Place, writer: PartWriter, background: Background) -> tuple[int, Place]:
        """Take over the finished parts from ``number`` on; the number and place of the first that is not."""
        while (found := self._work.read(number)) is not None:
            part, data = self._work.parts[number], found[0]
            background.do(lambda data=data: writer.reuse(data))  # type: ignore[misc]
            self._resumed += part.rows
            number, place = number + 1, part.next
            self._tell(part.rows + part.rejects, place, 0)
        return number, place

    def _score_parts(
        self,
        first: int,
        place: Place,
        selection: Selection,
        *,
        worker: Worker,
        writer: PartWriter,
        background: Background,
    ) -> tuple[int, bool]:
        """Score parts from ``first`` up to the next finished one or the end; its number, and whether there is one."""
        self._met = False
        part = first
        batches: list[pa.RecordBatch] = []
        rejects: list[Reject] = []
        stop = place

        def save() -> None:
            add = (part, list(batches), list(rejects), stop)
            background.do(lambda: writer.add(*add))
            batches.clear()
            rejects.clear()

        results = ordered(worker, self._pieces(first, place, selection), self._threads)
        try:
            for scored in results:
                if scored.part != part:
                    save()
                    part = scored.part
                batches.extend(scored.batches)
                rejects.extend(scored.rejects)
                stop = scored.stop
                self._account(scored)
        finally:
            results.close()
        if stop != place:
            save()
            part += 1
        return part, self._met

    def _pieces(self, first: int, place: Place, selection: Selection) -> Iterator[tuple[int, Chunk]]:
        """The input from ``place`` on in pieces, up to the next part that is already finished."""
        pieces = cut(self._source.chunks(selection, place, self._threads), self._limits, first)
        while True:
            began = perf_counter()
            item = next(pieces, None)
            self._seconds["read"] += perf_counter() - began
            if item is None:
                return
            if item[0] != first and item[0] in self._work.parts:
                self._met = True
                return
            yield item

    def _account(self, scored: Scored) -> None:
        self._seconds["score"] += scored.seconds
        self._tell(scored.rows, scored.stop, scored.offset)

    def _tell(self, rows: int, place: Place, offset: int) -> None:
        self._done += rows
        if self._progress is not None:
            source = self._source
            nbytes = source.bytes_before(place.file) + offset
            self._progress(Progress(self._done, source.rows, nbytes, source.nbytes))
