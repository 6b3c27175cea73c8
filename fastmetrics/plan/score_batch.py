"""A plan and a record batch make scores: the pure function that threads, the command line and clusters all map.

``score`` and the batch functions of single metrics go the same way: the columns become Arrow, the table is cut into
batches, and :func:`score_batch` scores each.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fastmetrics.declaration.batch import Batch
from fastmetrics.columns import resolve
from fastmetrics.core.corpus_counts import add_counts, metadata
from fastmetrics.errors import ColumnError
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.plan.plan import Plan, plan
from fastmetrics.text.tokenize import Wordbook
from fastmetrics.core.threads import cores, ordered

BATCH_ROWS = 4096
"""Rows scored at a time: few enough for a batch's words to stay in the cache."""

BATCH_BYTES = 8 << 20


def fit(plan: Plan, read: Callable[[], Iterable[pa.RecordBatch]]) -> Plan:
    """The plan with what some metrics must know of all rows before they score one; ``read`` gives them anew."""
    scores = []
    for score in plan.scores:
        if score.metric.fit is not None:
            rows = (rows_of(batch, plan) for batch in read())
            score = replace(score, options=score.metric.fit(rows, score.options))
        scores.append(score)
    return replace(plan, scores=tuple(scores))


def rows_of(batch: pa.RecordBatch, plan: Plan, make: Any = Batch, words: Wordbook | None = None) -> Batch:
    """The columns of a record batch that a plan needs, under their canonical names."""
    return make({column: batch.column(name) for column, name in plan.used.items()}, plan.shared, words)


def score_batch(
    batch: pa.RecordBatch,
    plan: Plan,
    make: Callable[[Mapping[str, pa.Array], Collection[str], Wordbook | None], Batch] = Batch,
    words: Wordbook | None = None,
    watch: Callable[[str], AbstractContextManager[Any]] = nullcontext,
) -> pa.RecordBatch:
    """The scores of a record batch: the kept columns, then one float64 column a metric.

    A score is null where an input is missing and NaN where it is undefined.  A corpus metric has no column: its counts
    are in the schema's metadata, as JSON under the key ``fastmetrics``, and so are those of cautions.  The function is
    pure; ``words`` it has met before save time and change nothing.  A profiler gives ``make`` and ``watch`` to see what
    is derived, and how long each metric takes.
    """
    rows = rows_of(batch, plan, make, words)
    arrays = [batch.column(name) for name in plan.keep]
    counts: dict[str, list[int]] = {}
    cautions: dict[str, list[int]] = {}
    for score in plan.scores:
        with watch(score.name):
            told = score.metric.cautioned(rows, score.options)
            if told is not None:
                cautions[score.name] = told
            if score.metric.finish is not None:
                counts[score.name] = score.metric.count(rows, score.options).tolist()
                continue
            values, present = score.metric.compute(rows, score.options)
        arrays.append(pa.array(values, pa.float64(), mask=~present))
    scored = pa.RecordBatch.from_arrays(arrays, names=[*plan.keep, *plan.names])
    return scored.replace_schema_metadata(metadata({}, counts, cautions)) if counts or cautions else scored


class Shelf:
    """Wordbooks for threads to use one after the other: one a thread, made when needed, replaced when full."""

    def __init__(self) -> None:
        self._free: deque[Wordbook] = deque()

    @contextmanager
    def book(self) -> Iterator[Wordbook]:
        """A book for this thread alone, put back at the end."""
        try:
            words = self._free.pop()
        except IndexError:
            words = Wordbook()
        yield words
        if not words.full:
            self._free.append(words)


class Scorer:
    """``score_batch`` under one plan, from any number of threads, with the words met so far at hand."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._shelf = Shelf()

    def __reduce__(self) -> tuple[type[Scorer], tuple[Plan]]:
        """Another process meets the words anew."""
        return Scorer, (self.plan,)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The scores of a batch."""
        with self._shelf.book() as words:
            return score_batch(batch, self.plan, words=words)


def score(
    table: Any,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    threads: int | None = None,
    suites: Sequence[str] | str = (),
    embedder: Any = None,
    cache: str | os.PathLike[str] | None = None,
) -> pa.Table:
    """Score every row of a table.

    ``table`` is an Arrow table, record batch or record batch reader, a pandas or Polars frame, a lazy frame of Polars,
    a dict of columns, a list of dicts, or a list or generator of record batches.  Only the columns that a metric needs
    are converted, so the others may hold anything.  ``metrics`` are names, with options if need be, in a list or
    separated by commas: ``"token_f1,squad_f1(version=2)"``; and ``suites`` whole families whose columns exist: lexical,
    grounding, generation, verdict, writing, retrieval, semantic, operations, all.  With neither, it is ``core``:
    lexical, retrieval, semantic and operations.
    ``columns={canonical: yours}`` and the preset ``schema`` say what your columns are called where their names do not.
    ``embedder`` (a name, a function, an ``Embedder``) turns texts into the embeddings that the table lacks; grounding
    uses it too, and ``wordllama`` without it. ``cache`` is a folder that keeps what was embedded.

    Returns an Arrow table with the ``id`` column, if there is one, and one float64 column a metric: null where an input
    is missing, NaN where the metric is undefined.  The counts of a corpus metric go into the table's metadata, for
    ``summarize`` to make its value of.  The scores of a pandas frame hold its row labels too, in the columns where
    Arrow keeps them: ``to_pandas`` makes them the index again, so ``frame.join(scores.to_pandas()[["token_f1"]])``
    puts each score on its row, whatever was filtered or sorted before and after.  Polars has no row labels: join its
    frames by ``id``.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["Paris", None], "reference": ["paris", "Rome"]}, metrics=["exact_match"]).to_pydict()
    {'exact_match': [1.0, None]}

    Of a Ray Dataset it makes a Dataset of scores, when that is read, on ``threads`` workers of the cluster, by default
    one a processor; a corpus metric has no place in it.

    Raises ``ColumnError`` for a column that is missing, doubled or of the wrong type, ``UnknownNameError`` for a metric
    nobody knows, ``InputError`` for text that is not UTF-8.
    """
    if type(table).__module__.startswith("ray.data"):
        from fastmetrics.engines.ray_datasets import score_dataset

        return score_dataset(table, metrics, columns, schema, threads, suites, embedder, cache)
    if type(table).__module__.startswith("pyspark."):
        raise ColumnError("expected a table, got a DataFrame of Spark: score it with fastmetrics.engines.spark.score")
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    found = resolve(names, columns, schema, {"id"})
    keep = [found["id"]] if "id" in found else []
    planned = plan(names, metrics, columns, schema, keep, suites, embedder, cache)
    schema_of, pieces = frame.read(planned.inputs)
    batches: Iterator[pa.RecordBatch] = (batch for piece in pieces for batch in slices(piece))
    if any(score.metric.fit is not None for score in planned.scores):
        held = list(batches)
        batches, planned = iter(held), fit(planned, lambda: held)
    scored = list(ordered(Scorer(planned), batches, cores(threads)))
    if not scored:
        scored = [score_batch(pa.RecordBatch.from_pylist([], schema_of), planned)]
    made = _joined(scored, planned)
    if frame.index is not None:
        made = with_index(made, frame.index)
    counts, cautions = add_counts(scored)
    rows = {name: (made.num_rows, made[name].null_count) for name in planned.names}
    known = {**(made.schema.metadata or {}), **metadata(rows, counts, cautions)}
    return made.replace_schema_metadata(known) if counts or any(rows for rows, _ in cautions.values()) else made


def _joined(scored: Sequence[pa.RecordBatch], planned: Plan) -> pa.Table:
    """One table of the scores of all batches, whose kept columns may differ in type as the batches did."""
    tables = [pa.Table.from_batches([batch]).replace_schema_metadata() for batch in scored]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        kept = ", ".join(map(repr, planned.keep))
        raise ColumnError(f"column {kept}: the batches hold values of different types: {error}") from error


def slices(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of ``table`` in batches of at most ``BATCH_ROWS`` rows and about ``BATCH_BYTES`` bytes."""
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES * table.num_rows // max(table.nbytes, 1)))
    for batch in table.to_batches(max_chunksize=rows):
        if batch.num_rows:
            yield batch
