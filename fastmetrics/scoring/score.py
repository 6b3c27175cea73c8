"""``fm.score``: the scores of a table, in memory or in files, as a table or in a file with metadata and a summary.

What computes is imported when a function is called: the command line reads the options of ``score`` here, and its help
page needs no kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import LimitedText, Optional, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.shared_parameters import Help
from fastmetrics.tables.input_files import Files, file_settings


def score(
    table: shared.Table,
    metrics: shared.Metrics = None,
    *,
    output: shared.Output = None,
    suites: shared.Suites = (),
    no_relevant: shared.NoRelevant = "undefined",
    lists: shared.Lists = (),
    strip_thoughts: shared.StripThoughts = False,
    extract: shared.Extract = None,
    keep_extracted: shared.KeepExtracted = False,
    normalize: shared.Normalize = None,
    prices: shared.Prices = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    keep: shared.Keep = (),
    keep_counts: Annotated[bool, Help("Store each row's counts for corpus metrics, for compare.")] = False,
    threads: shared.Threads = None,
    files: Files = None,
    resume: shared.Resume = False,
    overwrite: shared.Overwrite = False,
    progress: Annotated[
        Callable[[Progress], None] | None, Help("A function that is called with the progress while rows are scored.")
    ] = None,
    name: shared.Name = None,
    times: Annotated[
        bool, Help("Store the start and end of the run; the bytes of the output then differ each time.")
    ] = False,
) -> Any:
    """Score every row of a table, in memory or in files; return the scores, or write them to a file.

    ``table`` is a table of any kind, or paths and addresses (docs/data.md).  Without ``metrics`` and ``suites``, the
    suite ``core`` is scored.

    Without ``output``, returns a table with the ``id``, if there is one, and a float64 column per metric: null where an
    input is missing, NaN where the metric is undefined.  A pandas frame keeps its index.  Notes on the rows are a
    :class:`ScoreWarning`.  A Ray Dataset or a Spark DataFrame returns its own kind: its cluster maps :func:`scorer`
    over it.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["Paris", None], "reference": ["paris", "Rome"]}, metrics=["exact_match"]).to_pydict()
    {'exact_match': [1.0, None]}

    With ``output``, a file or a folder of parts, tables of any size are scored in bounded memory, and the result has
    the paths, the numbers of rows and the ``summary``.  The output is atomic; ``resume=True`` continues a killed run
    with the same bytes.  With ``on_error="skip"`` in ``files``, bad rows go to a rejects file and are counted.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = folder / "rows.jsonl"
    >>> _ = rows.write_text('{"answer": "in Paris", "reference": "Paris"}')
    >>> scored = fm.score(rows, "token_f1", output=folder / "scores.parquet")
    >>> round(scored.summary["token_f1"].mean, 3)
    0.667

    Raises ``ColumnError`` for a column that is missing, duplicated or of the wrong type, ``UnknownNameError`` for an
    unknown metric, ``InputError`` for bad data, with file and row, ``OptionError`` for an invalid option,
    ``OutputError`` if the output exists or cannot be written.
    """
    from fastmetrics.engines.column_maker import RunOptions
    from fastmetrics.plans.plan import ScoreRequest
    from fastmetrics.scoring import score_runs

    request = ScoreRequest(
        metrics,
        columns,
        schema,
        keep,
        suites,
        embedder,
        cache,
        no_relevant,
        lists,
        keep_counts,
        strip_thoughts,
        extract,
        keep_extracted,
        normalize,
        prices,
    )
    options = RunOptions(file_settings(files), resume, overwrite, progress)
    run_name = argument("name", name, Optional(LimitedText(200, "a name")))
    if score_runs.is_distributed(table):
        only_rows = {"output": output, "files": files, "keep_counts": keep_counts or None, "threads": threads}
        for option, value in only_rows.items():
            if value is not None:
                way = ": the cluster that holds the rows reads and writes files, and divides the work"
                raise OptionError(Argument(option, value), way)
        return score_runs.score_distributed(table, request)
    return score_runs.score_table(table, request, options, output, threads=threads, run_name=run_name, times=times)


def scorer(
    metrics: shared.Metrics = None,
    *,
    suites: shared.Suites = (),
    no_relevant: shared.NoRelevant = "undefined",
    lists: shared.Lists = (),
    strip_thoughts: shared.StripThoughts = False,
    extract: shared.Extract = None,
    keep_extracted: shared.KeepExtracted = False,
    normalize: shared.Normalize = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    keep: shared.Keep = (),
) -> Any:
    """A function from batches of rows to their scores, for the workers of Ray, Spark, Dask or a queue.

    It takes a ``pa.Table`` or a ``pa.RecordBatch`` and returns the same kind, with the ``id``, the columns in ``keep``
    and a float64 column per metric: the values that :func:`score` gives to these rows.  It can be pickled, and starts
    no threads.  ``types`` gives the schema of its results for the schema of its batches.  docs/extending.md has the
    lines for Ray and Spark; a folder of the Parquet files that they write is a score file for ``summarize``,
    ``compare`` and ``gate``.

    >>> import pyarrow as pa, fastmetrics as fm
    >>> score_batch = fm.scorer("token_f1")
    >>> batch = pa.table({"id": [7], "answer": ["in Paris"], "reference": ["Paris"]})
    >>> score_batch(batch)["token_f1"][0].as_py() == fm.score(batch, "token_f1")["token_f1"][0].as_py()
    True
    >>> score_batch.types(batch.schema).names
    ['id', 'token_f1']

    Raises ``UnknownNameError`` for an unknown metric, ``OptionError`` for an invalid option, and for a metric whose
    value depends on all rows, such as ``corpus_bleu`` or ``tfidf_cosine``; suites leave these out.  A call raises the
    errors of ``score`` about columns and data.
    """
    from fastmetrics.plans.plan import ScoreRequest
    from fastmetrics.scoring.score_runs import BatchScorer

    return BatchScorer(
        ScoreRequest(
            metrics,
            columns,
            schema,
            keep,
            suites,
            embedder,
            cache,
            no_relevant,
            lists,
            strip_thoughts=strip_thoughts,
            extract=extract,
            keep_extracted=keep_extracted,
            normalize=normalize,
        )
    )
