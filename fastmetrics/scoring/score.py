"""``fm.score``: scores of an in-memory table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fastmetrics.core.column_kinds import check
from fastmetrics.core.corpus_counts import METADATA, add_counts, metadata
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.core.input_columns import resolve
from fastmetrics.core.threads import cores, ordered
from fastmetrics.errors import ColumnError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.plan.declared import KEY, to_store
from fastmetrics.plan.plan import Plan, keeping_counts, plan
from fastmetrics.plan.score_batch import Scorer, fit, score_batch, slices


def score(
    table: Any,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    threads: int | None = None,
    suites: Sequence[str] | str = (),
    embedder: Any = None,
    cache: str | os.PathLike[str] | None = None,
    no_relevant: str | None = None,
    keep_counts: bool = False,
    lists: Sequence[str] | str = (),
) -> pa.Table:
    """Score every row of a table.

    ``table`` is an Arrow table, record batch or record batch reader, a pandas or Polars frame, a lazy Polars frame, a
    dict of columns, a list of dicts, or a list or generator of record batches.  Only the columns that a metric needs
    are converted; other columns may have any type.  ``metrics`` are names, optionally with options, in a list or
    separated by commas: ``"token_f1,squad_f1(version=2)"``.  ``suites`` are whole families whose columns exist:
    lexical, answerability, grounding, generation, verdict, writing, retrieval, semantic, operations, all.  The default
    is ``core``: lexical, retrieval, semantic and operations.  ``columns={canonical: yours}`` and the preset ``schema``
    map your column names.  ``embedder`` (a name, a function, an ``Embedder``) computes missing embeddings from the
    texts; grounding uses it too, with the default ``wordllama``.  ``cache`` is a folder that stores embeddings.
    ``no_relevant`` sets the score of retrieval metrics on rows without relevant documents, unless a metric sets its
    own: ``"zero"``, or ``"undefined"`` (NaN, the default), which excludes the row from the mean.  ``lists`` names your
    columns of references or contexts whose texts are lists in JSON (``'["Paris", "Paris, France"]'``): each is parsed,
    any other text is a list of one.  Without it such a text is one text, and ``summarize`` notes it.

    ``keep_counts`` adds a column ``<metric>.counts``, a list of integers per row, for each corpus metric that is based
    on counts; :func:`fastmetrics.results.comparison.compare` needs it for resampling.

    Returns an Arrow table with the ``id`` column, if there is one, and one float64 column per metric: null where an
    input is missing, NaN where the metric is undefined.  The counts of a corpus metric are stored in the table's
    metadata, from which ``summarize`` computes its value.  The scores of a pandas frame include its index, in the
    columns where Arrow stores it; ``to_pandas`` restores it, so ``frame.join(scores.to_pandas()[["token_f1"]])``
    assigns each score to its row even after filtering or sorting.  Polars has no index: join its frames by ``id``.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["Paris", None], "reference": ["paris", "Rome"]}, metrics=["exact_match"]).to_pydict()
    {'exact_match': [1.0, None]}

    For a Ray Dataset or Spark DataFrame, the result is a Dataset or DataFrame of scores, which the cluster computes
    when it is read; corpus metrics are not available then.  On Ray, ``threads`` is the number of workers, by default
    one per core.

    Raises ``ColumnError`` for a column that is missing, duplicated or of the wrong type, ``UnknownNameError`` for an
    unknown metric, ``InputError`` for text that is not UTF-8.
    """
    outside = type(table).__module__.startswith(("ray.data", "pyspark."))
    if keep_counts and outside:
        raise OptionError(Argument("keep_counts", True), ": score files with score_files, or a table in memory")
    if type(table).__module__.startswith("ray.data"):
        from fastmetrics.engines.ray_datasets import score_dataset

        return score_dataset(table, metrics, columns, schema, threads, suites, embedder, cache, no_relevant, lists)
    if type(table).__module__.startswith("pyspark."):
        from fastmetrics.engines.spark import score as score_dataframe

        if embedder is not None:
            raise OptionError(Argument("embedder", embedder), ": a Spark DataFrame needs its embeddings as columns")
        return score_dataframe(table, metrics, columns, schema, suites, no_relevant=no_relevant, lists=lists)
    workers = cores(threads)
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    found = resolve(names, columns, schema, {"id"})
    keep = [found["id"]] if "id" in found else []
    planned = plan(names, metrics, columns, schema, keep, suites, embedder, cache, no_relevant, lists)
    planned = keeping_counts(planned) if keep_counts or planned.is_all_corpus else planned
    schema_of, pieces = frame.read(planned.inputs)
    for name, kind in planned.kinds.items():
        check("", name, kind, schema_of.field(name).type)
    batches: Iterator[pa.RecordBatch] = (batch for piece in pieces for batch in slices(piece, workers))
    if any(score.metric.rows.fit is not None for score in planned.scores):
        held = list(batches)
        batches, planned = iter(held), fit(planned, lambda: held)
    scored = list(ordered(Scorer(planned), batches, workers))
    if not scored:
        scored = [score_batch(pa.RecordBatch.from_pylist([], schema_of), planned)]
    made = _joined(scored, planned)
    if frame.index is not None:
        made = with_index(made, frame.index)
    counts, cautions, _ = add_counts(scored)
    rows = {name: (made.num_rows, made[name].null_count) for name in planned.names}
    declared = to_store(planned)
    known: dict[bytes, str] = {METADATA: json.dumps({KEY: declared})} if declared else {}
    if counts or any(rows for rows, _ in cautions.values()):
        known = metadata(rows, counts, cautions, options=planned.common, n_rows=made.num_rows, declared=declared)
    return made.replace_schema_metadata({**(made.schema.metadata or {}), **known}) if known else made


def _joined(scored: Sequence[pa.RecordBatch], planned: Plan) -> pa.Table:
    """One table from the scores of all batches; types of kept columns may differ between batches."""
    tables = [pa.Table.from_batches([batch]).replace_schema_metadata() for batch in scored]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        kept = ", ".join(map(repr, planned.keep))
        raise ColumnError(f"column {kept}: the batches hold values of different types: {error}") from error
