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

    ``table`` is a table of any kind, or paths and addresses (docs/data.md).  Without ``metrics`` and ``suites``, the
    suite ``core`` is scored.

    Without ``output``, returns a table with the ``id``, if there is one, and a float64 column per metric: null where an
    input is missing, NaN where the metric is undefined.  A pandas frame keeps its index; Ray and Spark return their own
    kind.  Notes on the rows are a :class:`ScoreWarning`.

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
    ``OutputError`` if the output exists or cannot be written, ``WorkerError`` if workers of a cluster fail.
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
        keep_extracted,
        normalize,
        prices,
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
