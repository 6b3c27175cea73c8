"""The scores of a plan, for any table and output: with their metadata and summary, and batch by batch for clusters.

**Clusters.** Ray and Spark map one function over batches of rows, read and write the files, divide the work and repeat
what failed.  The function is a :class:`BatchScorer`; each worker makes its plan once from the names of the columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrays import check
from fastmetrics.base.column_names import listed
from fastmetrics.base.columns import as_arrow, check_type
from fastmetrics.base.errors import FileFormatError, InputError, MissingExtraError, OptionError
from fastmetrics.base.plugin_files import LOADED
from fastmetrics.base.score_metadata import METADATA, BatchSums, ScoreMetadata
from fastmetrics.base.threads import cores
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run import made_in_memory, make_columns, open_output
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.metric import Metric
from fastmetrics.metrics.parameters import ValuesIn
from fastmetrics.metrics.score_names import Score, parse
from fastmetrics.plans.plan import Plan, ScoreRequest, plan
from fastmetrics.plans.score_batch import Scorer, VocabularyPool, fitted
from fastmetrics.plans.stored_metadata import conclude, described, observe, signature, source_digests
from fastmetrics.results.summary import Summary, summarize, summary_of_run
from fastmetrics.tables.addresses import is_url
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.outputs import find_metadata
from fastmetrics.tables.readers import batch_of
from fastmetrics.tables.sources import FrameSource, TableSource

# The scores of a plan, for any output, and their metadata.


class ScoreMaker(ColumnMaker):
    """Scores under a fitted plan, as a scorer computes them, with the summary of an output.

    ``about`` returns the metadata about the run after all rows are scored.
    """

    computes = True

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

    @cached_property
    def least_rows(self) -> int | None:  # type: ignore[override]
        """1 with metrics of the user's, if all have a function of one row, and without vectors, of which the last
        digits may depend on the texts that are embedded together.
        """
        own = [score.metric for score in self._plan.scores if score.metric.function.__module__ in LOADED]
        alone = all(isinstance(need, ValuesIn) for metric in own for need in metric.needs.values())
        return 1 if own and alone and not any("embedder" in score.options for score in self._plan.scores) else None

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

    def summary(self, table: pa.Table, sums: BatchSums) -> Summary:
        """The summary of the scores of a table in memory."""
        return summary_of_run(self._plan, [self.observe(sums.on(table))], rejected=0, output=table)


def about_run(name: str | None, began: str | None) -> ScoreMetadata:
    """The metadata about the run itself."""
    return ScoreMetadata(name=name, began=began, ended=None if began is None else now())


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def score_table(
    table: Any,
    request: ScoreRequest,
    options: RunOptions,
    output: str | Path | None,
    *,
    threads: int | None,
    run_name: str | None,
    times: bool,
) -> Any:
    """The scores of a table, with notes as warnings, or the result of a run into an output; see ``score``."""
    if output is None:
        check_without_output(options, name=run_name, times=times or None)
    workers = cores(threads)
    source = open_table(table, options.files, schema=request.schema)
    # Open the output first: planning may read all rows, and an unwritable output should fail at once.
    target = None if output is None else open_output(output, source, options)
    has_name = None if output is None else run_name is not None
    about = partial(about_run, run_name, now() if times else None)
    maker = ScoreMaker(_planned(table, source, request, has_name=has_name), about=about)
    return make_columns(maker, source, target, options, workers)


def summarize_table(table: Any, request: ScoreRequest, options: RunOptions, threads: int | None) -> tuple[Summary, int]:
    """The summary of the scores of a table, which are not kept, and the number of its rows."""
    workers = cores(threads)
    source = open_table(table, options.files, schema=request.schema)
    maker = ScoreMaker(_planned(table, source, request))
    made, sums = made_in_memory(maker, source, workers, options.limits, options.progress)
    summary = maker.summary(made, sums)
    return replace(summary, notes=[*source.notes, *summary.notes]), made.num_rows


def _planned(table: Any, source: TableSource, request: ScoreRequest, *, has_name: bool | None = None) -> Plan:
    stored = partial(_stored, table, source)
    named_well = request.columns is None or isinstance(request.columns, Mapping)  # if not, the plan says so
    if request.schema is None and named_well and not any(is_url(file.path) for file in source.files):
        with suppress(FileFormatError):  # another tool's file beside the table has named nothing
            named = {name: own for name, own in (stored().named or {}).items() if own in source.names}
            if named:
                request = replace(request, columns={**named, **(request.columns or {})})
    return fitted(plan(source.names, request, has_blanks=source.has_blanks, has_name=has_name, stored=stored), source)


def _stored(table: Any, source: TableSource) -> ScoreMetadata:
    """The metadata that an earlier run, such as that of a judge, left with a table."""
    if source.files:
        return ScoreMetadata.of(find_metadata(source.files[0].path, source.files[:1]) or {})
    metadata = table.schema.metadata if isinstance(table, pa.Table | pa.RecordBatch) else None
    return ScoreMetadata.of(json.loads((metadata or {}).get(METADATA, b"{}")))


# Metrics of one row, which are computed from batches by themselves.


def check_has_rows(score: Score) -> None:
    """Raise ``OptionError`` for a metric with one value for a whole table."""
    if score.metric.corpus is not None:
        raise OptionError(
            f"{score.name} has one value for a whole table, not one for each row: "
            f"call fm.summarize(fm.score(table, {score.spec!r}))"
        )


def check_rows_alone(score: Score) -> None:
    """Raise ``OptionError`` for a metric that cannot be computed from one row alone."""
    check_has_rows(score)
    if score.metric.rows.fit is not None:
        score.metric.rows.fit(_NoRows(score), score.options)


class _NoRows:
    """Stands for all rows of a table where only some are at hand: reading them is the error."""

    def __init__(self, score: Score) -> None:
        self._score = score

    def __iter__(self) -> Iterator[Batch]:
        raise OptionError(
            f"{self._score.name} needs all rows before it scores the first: "
            f"call fm.score(table, {self._score.spec!r}), with the whole table"
        )


class BatchScorer:
    """The scores of batches of rows: what ``scorer`` returns; it can be pickled.

    ``schema`` has the columns of all batches, where it is known: a column that a batch lacks is null in it.
    """

    def __init__(self, request: ScoreRequest, schema: pa.Schema | None = None) -> None:
        self._request, self._schema = request, schema
        self._pool = VocabularyPool()
        self._makers: dict[tuple[str, ...], tuple[Plan, ScoreMaker]] = {}
        self._named = [parse(spec) for spec in listed(request.metrics)]
        for score in self._named:
            check_rows_alone(score)

    def __reduce__(self) -> tuple[Callable[..., BatchScorer], tuple[Any, ...]]:
        """Pickling drops plans and remembered words; the metrics bring the text of the plugins that declare them."""
        return _unpickled, ([score.metric for score in self._named], self._request, self._schema)

    def types(self, schema: pa.Schema) -> pa.Schema:
        """The columns of the scores of batches with the columns ``schema``."""
        return self(pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)).schema

    def reads(self, schema: pa.Schema) -> list[str]:
        """The columns that are read of those of the schema; raises the errors of ``score`` about columns."""
        planned, _ = self._planned(schema.names)
        for name, kind in planned.columns_read.items():
            if not pa.types.is_null(type_ := schema.field(name).type):
                check_type("", name, kind, type_)
        return list(planned.inputs)

    def __call__(self, batch: Any) -> Any:
        """The scores of a table or a record batch, as the same kind; raises the errors of ``score``."""
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if not isinstance(table, pa.Table):
            kinds = "expected a pyarrow.Table or a RecordBatch (in Ray, batch_format='pyarrow')"
            raise InputError(f"{kinds}, got {type(batch).__name__}")
        planned, maker = self._planned(table.column_names if self._schema is None else self._schema.names)
        columns = {name: self._column(table, name, name in planned.keep) for name in planned.inputs}
        try:
            rows = pa.table(columns)
        except pa.ArrowInvalid:
            for name, column in columns.items():
                check(column, f"column {name!r}")
            raise
        made, _ = made_in_memory(maker, FrameSource(rows), 1)
        if table is batch:
            return made
        return (made.combine_chunks().to_batches() or [batch_of(made.schema)])[0]

    def _planned(self, names: Sequence[str]) -> tuple[Plan, ScoreMaker]:
        if tuple(names) not in self._makers:
            planned = plan(names, self._request)
            planned = replace(planned, scores=tuple(one for one in planned.scores if one.metric.corpus is None))
            for score in planned.scores:
                check_rows_alone(score)
            self._makers[tuple(names)] = planned, ScoreMaker(planned, Scorer(planned, self._pool))
        return self._makers[tuple(names)]

    def _column(self, table: pa.Table, name: str, kept: bool) -> pa.ChunkedArray:
        """A column as the plan reads it: Ray makes tensors of vectors, and pickles lists of unequal lengths."""
        column = table[name] if name in table.column_names else pa.chunked_array([pa.nulls(table.num_rows)])
        if isinstance(column.type, pa.BaseExtensionType) and not kept:
            stored = column.type.storage_type
            if pa.types.is_list(stored) or pa.types.is_large_list(stored):
                return pa.chunked_array([chunk.storage for chunk in column.chunks], stored)
            return pa.chunked_array([as_arrow(column.to_pylist(), name)])
        known = None if self._schema is None else self._schema.field(name).type
        return column.cast(known) if pa.types.is_null(column.type) and known is not None else column


def _unpickled(metrics: Sequence[Metric], request: ScoreRequest, schema: pa.Schema | None) -> BatchScorer:
    return BatchScorer(request, schema)


# Ray Datasets and Spark DataFrames, whose clusters map the scorer over their rows.


def is_distributed(table: Any) -> bool:
    """Whether a table is a Ray Dataset or a Spark DataFrame."""
    return type(table).__module__.startswith(("ray.data", "pyspark."))


def score_distributed(table: Any, request: ScoreRequest) -> Any:
    """The scores of a Ray Dataset or a Spark DataFrame, as the same kind, computed when they are used.

    Raises the errors of ``scorer``, and for columns that lack or are of the wrong type, at once.
    """
    if type(table).__module__.startswith("ray.data"):
        schema = table.schema()
        if schema is None:
            raise InputError("expected a Dataset with columns; Ray reports no columns for a Dataset without rows")
        types = [one if isinstance(one, pa.DataType) else pa.null() for one in schema.types]
        plain = [pa.null() if isinstance(one, pa.BaseExtensionType) else one for one in types]
        columns = pa.schema(list(zip(schema.names, plain, strict=True)))
        scored = BatchScorer(request, columns)
        scored.reads(columns)
        return table.map_batches(scored, batch_format="pyarrow")
    try:
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    except ImportError as error:
        raise MissingExtraError.of("pyspark", "spark") from error
    columns = to_arrow_schema(table.schema)
    scored = BatchScorer(request, columns)
    names = scored.reads(columns)
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)  # dots and backticks have a meaning in Spark
    numbered = table.selectExpr(*(f"{name} as c{number}" for number, name in enumerate(quoted)))
    schema = scored.types(pa.schema([columns.field(name) for name in names]))
    return numbered.mapInArrow(
        lambda batches: (scored(batch.rename_columns(names)) for batch in batches), from_arrow_schema(schema)
    )
