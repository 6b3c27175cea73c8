"""A run without an output: the results of all batches, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from fastmetrics.core.threads import ordered
from fastmetrics.core.work_watch import WorkDone, report
from fastmetrics.engines.job import Progress
from fastmetrics.engines.score_chunk import Score
from fastmetrics.engines.span_parts import Task, pieces
from fastmetrics.tables.file_columns import Widened
from fastmetrics.tables.table_chunks import Limits, batch_of
from fastmetrics.tables.table_source import TableSource


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
