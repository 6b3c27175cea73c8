"""Runs on this machine: on threads, into an output or in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.threads import WorkDone, cores, ordered, report
from fastmetrics.engines.job import Job, Progress, RunOptions, RunResult, Watcher
from fastmetrics.engines.run_job import open_output, run_on
from fastmetrics.engines.scored_parts import Finished, Score, Scored, Task, by_part, finish, pieces
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_chunks import Limits, Span, batch_of


def results_of(
    source: TableSource,
    score: Score,
    columns: Mapping[str, str],
    threads: int,
    limits: Limits | None = None,
    rows_each: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> list[pa.RecordBatch]:
    """The results of ``score`` for all batches of the ``columns`` (yours: kind), in order; at least one batch.

    ``score`` is that of a :class:`fastmetrics.engines.job.Job`.  Raises ``InputError`` with file and row for bad data.
    """
    selection = source.select(columns)
    while True:
        empty = score(batch_of(selection.schema))
        schema = empty.schema.remove_metadata()
        task = Task(source, selection, score, schema, limits or Limits(), False, lambda part: None, None, rows_each)
        batches = pieces(task, source.spans(), threads, lambda stage, seconds: None)
        results, rows = [empty], 0
        try:
            for scored in ordered(task.worker(), batches, threads):
                results += scored.batches
                rows += scored.rows
                nbytes = source.bytes_before(scored.stop.file) + scored.offset
                done = Progress(rows, source.rows, nbytes, source.nbytes)
                report(WorkDone("", rows, "rows", done.share))
                if progress is not None:
                    progress(done)
            return results
        except Widened as wider:  # a later row needs a wider type: start again with it
            selection = selection.widen(wider.name, wider.type)


__all__ = ["Job", "Progress", "RunResult", "Threads", "run"]

_PARTS_BEHIND = 2


class Threads:
    """The engine of one process: this thread reads, ``threads`` others score, one writes; one thread does it all."""

    def __init__(self, threads: int) -> None:
        self._threads = cores(threads)
        self.behind = _PARTS_BEHIND if threads > 1 else 0

    def parts(
        self, task: Task, spans: Sequence[Span], watcher: Watcher
    ) -> Generator[Callable[[], Finished], None, None]:
        """The parts in order; the caller's thread copies, observes and encodes each."""
        items = pieces(task, spans, self._threads, watcher.spent)
        results = ordered(task.worker(), items, self._threads)
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


def run(source: TableSource, job: Job, output: str | Path, *, threads: int = 1, **options: Any) -> RunResult:
    """Score ``source`` into ``output`` on threads of this process: ``run_on`` with ``RunOptions.of(**options)``.

    >>> import pathlib, tempfile, pyarrow as pa, pyarrow.compute as pc
    >>> from fastmetrics.tables import open_source
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("answer\\nyes\\n")
    >>> def score(batch):
    ...     return pa.record_batch({"length": pc.binary_length(batch["answer"]).cast(pa.float64())})
    >>> result = run(open_source(folder / "in.csv", format="csv"), Job(score, {"answer": "text"}), folder / "out.jsonl")
    >>> result.rows, result.output.read_text()
    (1, '{"length": 3}\\n')
    """
    chosen = RunOptions.of(**options)
    return run_on(Threads(threads), source, job, open_output(output, source, chosen), chosen)
