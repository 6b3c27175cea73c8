"""``fm.score``: the scores of a table, in memory or in files, as a table or in a file with metadata and a summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import LimitedText, Optional, argument
from fastmetrics.base.score_metadata import METADATA, BatchSums, ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.engines.column_maker import (
    ColumnMaker,
    Engine,
    Progress,
    RayCluster,
    RunOptions,
    RunResult,
    check_without_output,
)
from fastmetrics.engines.run import Threads, make_columns, open_output
from fastmetrics.metrics.plan import Plan, ScoreRequest, plan
from fastmetrics.metrics.score_batch import Scorer, fitted
from fastmetrics.metrics.stored_metadata import conclude, described, observe, signature, source_digests
from fastmetrics.results.summary import summarize, summary_of_run
from fastmetrics.tables.opening import Files, FileSettings
from fastmetrics.tables.run_outputs import find_metadata
from fastmetrics.tables.sources import TableSource

# The scores of a plan, for any engine and output, and their metadata.


class ScoreMaker(ColumnMaker):
    """Scores under a fitted plan, as a scorer computes them, with the summary of an output.

    ``about`` returns the metadata about the run after all rows are scored.
    """

    def __init__(
        self,
        planned: Plan,
        scorer: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        about: Callable[[], ScoreMetadata] = ScoreMetadata,
    ) -> None:
        self._plan, self._about = planned, about
        self._scorer = Scorer(planned) if scorer is None else scorer

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that are read."""
        return self._plan.columns_read

    @cached_property
    def signature(self) -> Mapping[str, Any]:
        """Everything the scores depend on."""
        return signature(self._plan).to_json()

    @property
    def sources(self) -> Mapping[str, str]:
        """The digests of files of plugins."""
        return source_digests(self._plan)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The scores of a batch."""
        return self._scorer(batch)

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
        """The sums of a part's scores."""
        return observe(self._plan.names, part)

    def conclude(self, observed: Sequence[Any], rejected: int) -> dict[str, Any]:
        """The metadata about the rows and the run."""
        return (conclude(self._plan, observed, rejected) | self._about()).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the summary of the scores."""
        if run.complete:
            summary = summarize(output)
        else:
            summary = summary_of_run(self._plan, run.observed, rejected=run.rejected, output=output)
        return replace(run, summary=replace(summary, notes=[*run.notes, *summary.notes]))

    def described(self, table: pa.Table, sums: BatchSums) -> tuple[pa.Table, list[str]]:
        """The scores of a table in memory with the data for ``summarize`` in the metadata, and the notes on them."""
        return described(table, self._plan, sums)


def engine_of(engine: str | RayCluster, threads: int | None) -> AbstractContextManager[Engine]:
    """The requested engine; raises ``OptionError`` for an unknown engine, or for threads of Ray."""
    if engine == "local":
        return nullcontext(Threads(cores(threads)))
    if not isinstance(engine, RayCluster) and engine != "ray":
        raise OptionError(Argument("engine", engine), ": expected local or ray")
    if threads is not None:
        alone = Argument("threads"), " is of the local engine; ray has ", Argument("workers"), ", each of one thread"
        raise OptionError(*alone)
    from fastmetrics.engines.ray import RayEngine

    cluster = engine if isinstance(engine, RayCluster) else RayCluster()
    return RayEngine(cluster.workers, cluster.address)


def about_run(name: str | None, began: str | None) -> ScoreMetadata:
    """The metadata about the run itself."""
    return ScoreMetadata(name=name, began=began, ended=None if began is None else now())


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# ``fm.score``: the scores of a table, in memory or in files, as a table or in a file.


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
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    embedder: shared.Embedder = None,
    cache: shared.Cache = None,
    keep: shared.Keep = (),
    keep_counts: Annotated[bool, Help("Store each row's counts for corpus metrics, for compare.")] = False,
    threads: shared.Threads = None,
    engine: Annotated[
        str | RayCluster, Help("local (threads of this process) or ray (processes of a Ray cluster).")
    ] = "local",
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

    ``table`` is an Arrow table, record batch or record batch reader, a pandas or Polars frame, a lazy Polars frame, a
    dict of columns, a list of dicts, or a list or generator of record batches.  Only the columns that a metric needs
    are converted; other columns may have any type.  A path, or a list of paths, means files: Parquet, JSON, CSV, TSV,
    Arrow, Excel or logs of other tools, folders or globs, addresses (``s3://``, ``gs://``, ``hdfs://``, ``file://`` and
    the schemes of fsspec), tables of databases (``postgresql://host/db?table=answers``, ``sqlite:///``,
    ``duckdb:///``), or ``"-"``, standard input.  ``files`` has the settings of files, a :class:`FileSettings`: their
    ``format`` if the suffixes do not show it, what to do ``on_error`` and others.

    ``metrics`` are names, optionally with options, in a list or separated by commas:
    ``"token_f1,squad_f1(version=2)"``.  ``suites`` are whole families whose columns exist: lexical, matching,
    edit_distance, answerability, grounding, generation, verdict, novelty, writing, retrieval, semantic,
    latency_and_cost, all.  The default is ``core``: lexical, retrieval, semantic and latency_and_cost.
    ``columns={canonical: yours}`` and the preset ``schema`` map your column names, or paths into nested data such as
    ``docs[].text`` (docs/data.md).  ``keep`` names columns to copy in addition to ``id``; ``keep="all"`` copies all.
    ``embedder`` (a name, a function, an ``Embedder``) computes missing embeddings from the texts; grounding uses it
    too, with the default ``wordllama``. ``cache`` is a folder that stores embeddings.  ``no_relevant`` sets the score
    of retrieval metrics on rows without relevant documents, unless a metric sets its own: ``"zero"``, or
    ``"undefined"`` (NaN, the default), which excludes the row from the mean.  ``lists`` names your columns whose texts
    are lists, as JSON, Python or NumPy writes them (``"['Paris' 'Paris, France']"``): each is parsed, any other text is
    a list of one; ``"contexts=|"`` divides texts at a separator.  Without it such a text is one text, and a note says
    so.  ``strip_thoughts`` leaves what a reasoning model thought (``<think>…</think>``) out of answers, and
    ``extract`` takes the answer out of the text, by the first of these extractors that finds one
    (:func:`fastmetrics.text.extraction.extractor`); a text without one counts as an empty answer.  Notes on the
    rows are in the summary of an output, and otherwise a :class:`ScoreWarning`.  ``keep_counts`` adds a column
    ``<metric>.counts``, a list of integers per row, for each corpus metric that is based on counts;
    :func:`fastmetrics.results.compare.compare` needs it for resampling (docs/comparing.md states its size).

    Without ``output``, returns an Arrow table with the ``id`` column, if there is one, and one float64 column per
    metric: null where an input is missing, NaN where the metric is undefined.  The counts of a corpus metric are stored
    in the table's metadata, from which ``summarize`` computes its value.  The scores of a pandas frame include its
    index, in the columns where Arrow stores it; ``to_pandas`` restores it, so
    ``frame.join(scores.to_pandas()[["token_f1"]])`` assigns each score to its row even after filtering or sorting.
    Polars has no index: join its frames by ``id``.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["Paris", None], "reference": ["paris", "Rome"]}, metrics=["exact_match"]).to_pydict()
    {'exact_match': [1.0, None]}

    For a Ray Dataset or Spark DataFrame, the result is a Dataset or DataFrame of scores, which the cluster computes
    when it is read; corpus metrics and outputs are not available then.  On Ray, ``threads`` is the number of workers,
    by default one per core.

    With ``output``, files of any size are scored with memory bounded by the batch size and the number of threads, and
    the result has the paths, the numbers of rows, and the ``summary``.  ``output`` is a file, whose suffix selects the
    format, or a folder of Parquet parts, or an address; before the upload, scores are written to the local folder
    ``work`` of ``files``, by default in the user's cache.  The output is atomic; an existing one is
    replaced only with ``overwrite=True``, and ``resume=True`` continues a killed run and gives the same bytes.  With
    ``on_error="skip"`` in ``files``, bad rows, including rows of more than ``max_row_bytes`` (64 MiB by default), go to
    a rejects file and are counted.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = folder / "rows.jsonl"
    >>> _ = rows.write_text('{"answer": "in Paris", "reference": "Paris"}')
    >>> scored = fm.score(rows, "token_f1", output=folder / "scores.parquet")
    >>> round(scored.summary["token_f1"].mean, 3)
    0.667

    The metadata of the output contain order-independent fingerprints of its rows: of the ids, and of ids and questions
    if the run reads the questions or has a ``name``.  They also contain the name, and with ``times`` the start and end
    of the run; without ``times``, runs of the same rows give the same bytes.  A resumed run has the name and the times
    of the call that finished it.  ``list_runs`` lists the outputs in a folder with this information.

    In CSV and TSV, kept text that a spreadsheet would run as a formula (``=1+1``) gets a leading quote, unless
    ``files`` has ``guard=False``.  The metadata beside the file (``OUT.meta.json``) count such
    cells, so this package reads the texts without the quotes.  Lossless is Parquet: lists and times are text in CSV.

    ``engine=fm.RayCluster(workers=8, address=...)`` scores on processes of a Ray cluster; ``"ray"`` is one that is
    started on this machine, with a process per core.  The output has the same bytes, and a run started on one engine
    may be resumed on the other.

    Raises ``ColumnError`` for a column that is missing, duplicated or of the wrong type, ``UnknownNameError`` for an
    unknown metric, ``InputError`` for text that is not UTF-8 and, with file and row, for bad data, ``OptionError`` for
    an invalid option, and for an option of outputs without one, ``OutputError`` if the output exists or cannot be
    written, ``MissingExtraError`` if Ray is not installed, and ``WorkerError`` if its workers cannot start or die
    repeatedly.
    """
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
    )
    files = files or FileSettings()
    options = RunOptions(files, resume, overwrite, progress)
    run_name = argument("name", name, Optional(LimitedText(200, "a name")))
    if output is None:
        check_without_output(options, engine=None if engine == "local" else engine, name=name, times=times or None)
    if _is_distributed(table):
        return _distributed(table, request, threads, output, keep_counts)
    runner = engine_of(engine, threads)
    source = files.open(table, schema)
    # Open the output first: planning may read all rows, and an unwritable output should fail at once.
    target = None if output is None else open_output(output, source, options)
    has_name = None if output is None else run_name is not None
    stored = partial(_stored, table, source)
    planned = plan(source.names, request, has_blanks=source.has_blanks, has_name=has_name, stored=stored)
    about = partial(about_run, run_name, now() if times else None)
    maker = ScoreMaker(fitted(planned, source), about=about)
    with runner as scoring:
        return make_columns(maker, source, target, options, scoring)


def _stored(table: Any, source: TableSource) -> ScoreMetadata:
    """The metadata that an earlier run, such as that of a judge, left with a table."""
    if source.files:
        return ScoreMetadata.of(find_metadata(source.files[0].path, source.files[:1]) or {})
    metadata = table.schema.metadata if isinstance(table, pa.Table | pa.RecordBatch) else None
    return ScoreMetadata.of(json.loads((metadata or {}).get(METADATA, b"{}")))


def _is_distributed(table: Any) -> bool:
    return type(table).__module__.startswith(("ray.data", "pyspark."))


def _distributed(
    table: Any, request: ScoreRequest, threads: int | None, output: str | Path | None, keep_counts: bool
) -> Any:
    """The scores of a Ray Dataset or Spark DataFrame, computed by its cluster."""
    for argument_, value in (("output", output), ("keep_counts", keep_counts or None)):
        if value is not None:
            raise OptionError(Argument(argument_, value), ": score files by their paths, or a table in memory")
    if type(table).__module__.startswith("ray.data"):
        from fastmetrics.engines.cluster_rows import score_dataset

        return score_dataset(table, request, threads)
    from fastmetrics.engines.cluster_rows import score as score_dataframe

    return score_dataframe(table, request)
