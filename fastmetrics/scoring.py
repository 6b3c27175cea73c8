"""A plan and a record batch make scores: the pure function that threads, the command line and clusters all map.

``score`` and the batch functions of single metrics go the same way: the columns become Arrow, the table is cut into
batches, and :func:`score_batch` scores each.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fastmetrics.arrays import as_arrow
from fastmetrics.batch import Batch
from fastmetrics.columns import resolve
from fastmetrics.corpus import add_counts, metadata
from fastmetrics.errors import ColumnError
from fastmetrics.planning import Plan, plan
from fastmetrics.text.tokenize import Wordbook
from fastmetrics.threads import cores, ordered

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
    used = {c: name for c, name in plan.columns.items() if any(c in s.metric.needs for s in plan.scores)}
    return make({column: batch.column(name) for column, name in used.items()}, plan.shared, words)


def score_batch(
    batch: pa.RecordBatch,
    plan: Plan,
    make: Callable[[Mapping[str, pa.Array], Collection[str], Wordbook | None], Batch] = Batch,
    words: Wordbook | None = None,
    watch: Callable[[str], AbstractContextManager[Any]] = nullcontext,
) -> pa.RecordBatch:
    """The scores of a record batch: the kept columns, then one float64 column a metric.

    A score is null where an input is missing and NaN where it is undefined.  A corpus metric has no column: its counts
    are in the schema's metadata, as JSON under the key ``fastmetrics``.  The function is pure; ``words`` it has met
    before save time and change nothing.  A profiler gives ``make`` and ``watch`` to see what is derived, and how long
    each metric takes.
    """
    rows = rows_of(batch, plan, make, words)
    arrays = [batch.column(name) for name in plan.keep]
    counts: dict[str, list[int]] = {}
    for score in plan.scores:
        with watch(score.name):
            if score.metric.finish is not None:
                counts[score.name] = score.metric.count(rows, score.options).tolist()
                continue
            values, present = score.metric.compute(rows, score.options)
        arrays.append(pa.array(values, pa.float64(), mask=~present))
    scored = pa.RecordBatch.from_arrays(arrays, names=[*plan.keep, *plan.names])
    return scored.replace_schema_metadata(metadata({}, counts)) if counts else scored


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

    ``table`` is an Arrow table, record batch or record batch reader, a pandas or Polars frame, a dict of columns or a
    list of dicts.  ``metrics`` are names, with options if need be: ``"token_f1"``, ``"squad_f1(version=2)"``; and
    ``suites`` whole families whose columns exist: lexical, grounding, generation, verdict, writing, retrieval,
    semantic, operations, all.  With neither, it is ``core``: lexical, retrieval, semantic and operations.
    ``columns={canonical: yours}`` and the preset ``schema`` say what your columns are called where their names do not.
    ``embedder`` (a name, a function, an ``Embedder``) turns texts into the embeddings that the table lacks; grounding
    uses it too, and ``wordllama`` without it. ``cache`` is a folder that keeps what was embedded.

    Returns an Arrow table with the ``id`` column, if there is one, and one float64 column a metric: null where an input
    is missing, NaN where the metric is undefined.  The counts of a corpus metric go into the table's metadata, for
    ``summarize`` to make its value of.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["Paris", None], "reference": ["paris", "Rome"]}, metrics=["exact_match"]).to_pydict()
    {'exact_match': [1.0, None]}

    Of a Ray Dataset it makes a Dataset of scores, when that is read, on ``threads`` workers of the cluster, by default
    one a processor; a corpus metric has no place in it.

    Raises ``ColumnError`` for a column that is missing, doubled or of the wrong type, ``UnknownNameError`` for a metric
    nobody knows, ``InputError`` for text that is not UTF-8.
    """
    if type(table).__module__.startswith("ray.data"):
        from fastmetrics.engines.datasets import score_dataset

        return score_dataset(table, metrics, columns, schema, threads, suites, embedder, cache)
    if type(table).__module__.startswith("pyspark."):
        raise ColumnError("expected a table, got a DataFrame of Spark: score it with fastmetrics.engines.spark.score")
    schema_of, batches = _record_batches(table)
    names = schema_of.names
    found = resolve(names, columns, schema)
    keep = [found["id"]] if "id" in found else []
    planned = plan(names, metrics, columns, schema, keep, suites, embedder, cache)
    if any(score.metric.fit is not None for score in planned.scores):
        held = list(batches)
        batches, planned = iter(held), fit(planned, lambda: held)
    scored = list(ordered(Scorer(planned), batches, cores(threads)))
    if not scored:
        scored = [score_batch(pa.RecordBatch.from_pylist([], schema_of), planned)]
    made = pa.Table.from_batches(scored)
    counts = add_counts(scored)
    rows = {name: (made.num_rows, made[name].null_count) for name in planned.names}
    return made.replace_schema_metadata(metadata(rows, counts)) if counts else made


def aligned_table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns side by side; raises ``ColumnError`` if their lengths differ."""
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ColumnError(f"columns differ in length: {', '.join(f'{n!r} has {k}' for n, k in lengths.items())}")
    return pa.table(dict(columns))


def _record_batches(table: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema of any table, and its rows in batches of bounded size."""
    if isinstance(table, pa.RecordBatchReader):
        return table.schema, (part for batch in table for part in slices(pa.Table.from_batches([batch])))
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    elif isinstance(table, list | tuple):
        strange = next((row for row in table if not isinstance(row, Mapping)), table)
        if strange is not table:
            raise ColumnError(f"expected a table or a list of dicts, got a list with a {type(strange).__name__}")
        seen = dict.fromkeys(name for row in table for name in row)
        table = aligned_table({name: as_arrow([row.get(name) for row in table], name) for name in seen})
    elif not isinstance(table, pa.Table):
        if hasattr(table, "collect_schema") and hasattr(table, "collect"):
            raise ColumnError(f"expected a table, got a {type(table).__name__}: collect() it")
        if not hasattr(table, "columns") and not isinstance(table, Mapping):
            raise ColumnError(f"expected a table, got {type(table).__name__}")
        held = table.keys() if isinstance(table, Mapping) else table.columns
        _once(str(name) for name in held)
        table = aligned_table({str(name): as_arrow(table[name], str(name)) for name in held})
    _once(table.schema.names)
    return table.schema, slices(table)


def _once(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ColumnError(f"the table has {count} columns {name!r}")


def slices(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of ``table`` in batches of at most ``BATCH_ROWS`` rows and about ``BATCH_BYTES`` bytes."""
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES * table.num_rows // max(table.nbytes, 1)))
    for batch in table.to_batches(max_chunksize=rows):
        if batch.num_rows:
            yield batch
