"""``fm.with_scores``: a table with its scores as further columns in its own kind, and metrics as functions of rows."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import resolve
from fastmetrics.base.columns import is_dataset, is_relation
from fastmetrics.base.errors import ColumnError, OptionError, warn_of
from fastmetrics.base.progress import Progress
from fastmetrics.base.score_metadata import METADATA, ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.engines.run import made_in_memory
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS, Metric
from fastmetrics.metrics.score_names import Score, canonical_name, parse
from fastmetrics.metrics.suites import functions
from fastmetrics.plans.notes import notes_of
from fastmetrics.plans.plan import Plan, ScoreRequest, plan
from fastmetrics.plans.score_batch import Scorer, VocabularyPool, fitted
from fastmetrics.scoring.metric_functions import columns_and_options, scored_columns
from fastmetrics.scoring.score import score
from fastmetrics.scoring.score_runs import ScoreMaker, check_has_rows, check_rows_alone
from fastmetrics.tables.opening import is_paths
from fastmetrics.tables.sources import FrameSource

# Metrics of one row as functions of columns and of tables, for the expressions and functions of other tools.


class RowFunction:
    """A score of each row from columns: the same bits as ``fm.score``, null where an input is missing.

    It is thread-safe, remembers words between calls, and can be sent to other processes.
    """

    def __init__(self, score: Score) -> None:
        check_rows_alone(score)
        self.score = score
        self._pool = VocabularyPool()
        self._lock = threading.Lock()
        self.told = ToldOnce()

    def __reduce__(self) -> tuple[type[RowFunction], tuple[Score]]:
        """Pickling drops the remembered words."""
        return RowFunction, (self.score,)

    def __call__(self, columns: Mapping[str, Any], threads: int | None = 1) -> pa.ChunkedArray:
        """The scores of columns (canonical name: values); undefined scores are NaN.

        With one thread, the calling thread computes; with more, calls of several threads take turns.

        Raises ``ColumnError`` for columns of different lengths or of the wrong type.
        """
        workers = cores(threads)
        with self._lock if workers > 1 else nullcontext():
            scored = scored_columns([self.score], columns, workers, self._pool)
        self.told.warn_of(notes_of(scored.planned, scored.sums))
        return pa.chunked_array(scored.columns(self.score.name), pa.float64())


class ToldOnce:
    """The notes of a function that other tools call with one piece of a table after another: the first are told."""

    def __init__(self) -> None:
        self._told = False

    def warn_of(self, notes: Sequence[str]) -> None:
        """Hand on notes, unless some were handed on before."""
        if notes and not self._told:
            self._told = True
            warn_of(notes)


class TableFunction:
    """The scores of each row of tables, one table after another, by one plan: the same bits as ``fm.score``.

    It remembers words between calls.  Calls of several threads take turns, each with all its threads: threads of two
    calls at a time would learn the same words beside each other.  It can be sent to other processes.
    """

    def __init__(self, planned: Plan) -> None:
        for requested in planned.scores:
            check_rows_alone(requested)
        self.plan = replace(planned, keep=())
        self._scorer = Scorer(self.plan)
        self._lock = threading.Lock()
        self.told = ToldOnce()

    def __reduce__(self) -> tuple[type[TableFunction], tuple[Plan]]:
        """Pickling drops the remembered words."""
        return TableFunction, (self.plan,)

    def __call__(self, source: FrameSource, threads: int) -> pa.Table:
        """The scores of a table."""
        source.hold(self.plan.inputs)  # before the turn: Polars may convert on threads that wait for theirs
        with self._lock:
            maker = ScoreMaker(self.plan, self._scorer)
            scores, notes = maker.described(*made_in_memory(maker, source, threads))
        self.told.warn_of(notes)
        return scores


def score_of(metric: str | Metric, options: Mapping[str, Any]) -> Score:
    """The score that a metric, or a spec such as ``squad_f1(version=2)``, computes with further options.

    Raises ``UnknownNameError`` for an unknown metric or option, ``OptionError`` for an invalid value.
    """
    score = parse(metric) if isinstance(metric, str) else Score(metric.name, metric, metric.options({}), metric.name)
    if not options:
        return score
    complete = score.metric.options({**score.options, **options})
    explicit = [name for name in complete if complete[name] != score.metric.defaults[name]]
    name = canonical_name(score.metric, complete, explicit)
    return Score(name, score.metric, complete, name)


def metric_of_name(name: str, module: str) -> Metric:
    """The metric that an attribute of a module names; raises ``AttributeError`` for another name."""
    if name.startswith("_") or name not in SPELLINGS:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return REGISTRY[SPELLINGS[name]]


# ``fm.with_scores``: a table with its scores as further columns, in the table's own kind.


def with_scores(
    table: Annotated[
        Any,
        Help(
            "A pandas or Polars frame, a lazy Polars frame, an Arrow table or record batch, a Hugging Face "
            "dataset, a dict of columns, or a list of dicts."
        ),
    ],
    metrics: Annotated[
        Sequence[str] | str | None,
        Help("Names of metrics with one score per row, with options, as in :func:`fastmetrics.score`."),
    ] = None,
    *,
    columns: Annotated[Mapping[str, str] | None, Help("Your names of input columns, ``{canonical: yours}``.")] = None,
    schema: shared.Schema = None,
    suites: Annotated[Sequence[str] | str, Help("Families of metrics whose columns exist.")] = (),
    embedder: Annotated[Any, Help("Computes missing embeddings from the texts.")] = None,
    cache: Annotated[str | Path | None, Help("A folder that stores embeddings.")] = None,
    no_relevant: Annotated[
        str, Help('The score of retrieval metrics on rows without relevant documents, ``"zero"`` or ``"undefined"``.')
    ] = "undefined",
    lists: Annotated[
        Sequence[str] | str,
        Help("Your columns whose texts are lists, as JSON, Python or NumPy writes them, or joined: contexts=|."),
    ] = (),
    strip_thoughts: Annotated[bool, Help("Whether what a reasoning model thought is left out of the answers.")] = False,
    extract: Annotated[
        Sequence[str] | str | None, Help("Where the answer stands in the text, as in ``fastmetrics.score``.")
    ] = None,
    keep_extracted: shared.KeepExtracted = False,
    normalize: shared.Normalize = None,
    threads: shared.Threads = None,
    progress: Annotated[Callable[[Progress], None] | None, Help("Called with the rows scored so far.")] = None,
) -> Any:
    """The table with one more column for each metric, as a table of the same kind; the table itself is unchanged.

    A pandas frame keeps its index, and an absent score is NaN there.  Other tables keep null (an input is missing)
    apart from NaN (the metric is undefined).  A lazy Polars frame stays lazy: its scores are computed when it is
    collected.  The scores are the same bits as those of :func:`fastmetrics.score`.

    Frames of pandas (in ``attrs``) and Arrow tables carry which columns were scored, and the names in ``columns``:
    ``compare``, ``summarize_by`` and ``report`` take these scores as metrics, not your own numbers, and ``worst_rows``
    shows your texts.  Of other kinds with texts beside the scores, the columns named like metrics or judges are
    taken, and ``compare`` says what it leaves out; ``metrics=`` takes any column.

    >>> import fastmetrics as fm
    >>> fm.with_scores([{"answer": "in Paris", "reference": "Paris", "user": 7}], "token_recall")
    [{'answer': 'in Paris', 'reference': 'Paris', 'user': 7, 'token_recall': 1.0}]

    Raises ``ColumnError`` for a table of another kind and for unsuitable columns, ``UnknownNameError`` for an unknown
    metric, and ``OptionError`` for an invalid option, for a metric with the name of a column, and for a metric with one
    value a table; a lazy frame also refuses metrics that need all rows before they score the first.
    """
    is_lazy = hasattr(table, "collect_schema") and hasattr(table, "collect")
    add = None if is_lazy else adder_of(table)
    source = FrameSource(table)
    source.index = None  # the table keeps it
    levels = table.columns.nlevels if _is_pandas(table) else 1
    request = ScoreRequest(
        metrics,
        columns,
        schema,
        (),
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
    planned = plan_beside(source, request, levels=levels)
    if add is None:
        return lazy_scores(table, planned, {name: name for name in source.names}, threads)
    maker = ScoreMaker(fitted(planned, source))
    scores, notes = maker.described(*made_in_memory(maker, source, cores(threads), progress=progress))
    warn_of(notes)
    return add(table, scores.select(planned.added))


def plan_beside(source: FrameSource, request: ScoreRequest, *, levels: int = 1) -> Plan:
    """The plan of scores that become columns of their own table, whose names have ``levels``.

    Raises ``OptionError`` for a metric with one value a table, or with the name of a column.
    """
    planned = plan(source.names, request)
    for requested in planned.scores:
        check_has_rows(requested)
        if str(_label(requested.name, levels)) in source.names:
            raise OptionError(
                f"the table has a column {requested.name!r} already; drop it, or give the score a name of its own: "
                f"{requested.metric.name}(name='...')"
            )
    return replace(planned, keep=())


def lazy_scores(frame: Any, planned: Plan, beside: Mapping[str, str], threads: int | None) -> Any:
    """Columns of a lazy Polars frame, by new names, and the scores of a plan, in one expression, to read them once.

    Raises ``OptionError`` for a metric that needs all rows.
    """
    import polars as pl

    score, names, workers = TableFunction(planned), list(planned.inputs), cores(threads)

    def compute(series: Sequence[Any]) -> Any:
        source = FrameSource(dict(zip(names, aligned(series), strict=True)))
        return pl.DataFrame(pl.from_arrow(score(source, workers))).to_struct(_STRUCT)

    types = pl.Struct({**dict.fromkeys(planned.extracted, pl.String), **dict.fromkeys(planned.names, pl.Float64)})
    scores = pl.map_batches([pl.col(name) for name in names], compute, return_dtype=types, is_elementwise=True)
    columns = [pl.col(column).alias(name) for name, column in beside.items()]
    return frame.select([*columns, scores.alias(_STRUCT)]).unnest(_STRUCT)


def aligned(series: Sequence[Any]) -> list[Any]:
    """Series of equal length: Polars hands a constant to a function as a series of one value."""
    rows = max(len(column) for column in series)
    lengths = {len(column) for column in series}
    if 0 in lengths:
        return [column.clear() for column in series]
    return [column.new_from_index(0, rows) if len(column) == 1 < rows else column for column in series]


_STRUCT = "fastmetrics scores"
"""The name of the column that holds all scores until it is divided into columns."""


def own_kind(scores: pa.Table, frame: Any) -> Any:
    """A table of scores as a frame of the kind of ``frame``: of pandas, with its index, or of Polars."""
    if _is_pandas(frame):
        return scores.to_pandas()
    import polars as pl

    return pl.from_arrow(scores)


def own_series(scores: pa.ChunkedArray, frame: Any, name: str) -> Any:
    """Scores as a series of the kind of ``frame``: of pandas, with its index, or of Polars."""
    if _is_pandas(frame):
        import pandas as pd

        return pd.Series(scores.to_numpy(), frame.index, name=name)
    import polars as pl

    return pl.Series(name, scores)


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "iloc") and hasattr(table, "columns")


def adder_of(table: Any) -> Callable[[Any, pa.Table], Any]:
    """The function that adds scores to a table of this kind; raises ``ColumnError`` for an unsuitable kind."""
    if _is_pandas(table):
        return _to_pandas
    if hasattr(table, "get_column"):
        return lambda frame, scores: frame.with_columns(own_kind(scores, frame))
    if isinstance(table, pa.Table | pa.RecordBatch):
        return _to_arrow
    if is_dataset(table) and hasattr(table, "data"):
        return _to_dataset
    if isinstance(table, Mapping):
        return lambda frame, scores: {**frame, **scores.to_pydict()}
    if isinstance(table, list) and all(isinstance(row, Mapping) for row in table):
        return lambda rows, scores: [{**row, **more} for row, more in zip(rows, scores.to_pylist(), strict=True)]
    raise ColumnError(_unsuitable(table))


def _unsuitable(table: Any) -> str:
    """The message for a table to which no columns can be added, with what to do instead."""
    if is_paths(table):
        return 'with_scores adds columns to a table in memory; for files, call fm.score(paths, output=..., keep="all")'
    if is_relation(table):
        return (
            "a DuckDB relation is a query; call fm.duckdb.register(connection) and "
            "SELECT *, token_f1(answer, reference) FROM ..."
        )
    if isinstance(table, Iterator) or hasattr(table, "read_next_batch"):
        return f"a {type(table).__name__} can be read only once; make a table of it first"
    if is_dataset(table):
        return "a streamed dataset is read once; call dataset.map(fm.datasets.scorer(metrics), batched=True)"
    return f"expected a table to which columns can be added, got a value of type {type(table).__name__}"


def _to_pandas(frame: Any, scores: pa.Table) -> Any:
    scored = frame.copy(deep=False)
    for name in scores.column_names:
        scored[_label(name, frame.columns.nlevels)] = scores[name].to_numpy()
    # pandas has no null apart from NaN, so what summarize finds missing is missing or undefined
    numbers = [column.name for column in scores.schema if pa.types.is_floating(column.type)]  # verdicts are texts, too
    undefined = {name: int(pc.sum(pc.is_nan(scores[name])).as_py() or 0) for name in numbers}
    before = frame.attrs.get(METADATA.decode())
    noted = _noted(scores, before.encode() if isinstance(before, str) else None, undefined)
    scored.attrs = {**frame.attrs, **{key.decode(): value for key, value in noted.items()}}
    return scored


def _noted(scores: pa.Table, before: bytes | None, undefined: Mapping[str, int] | None = None) -> dict[bytes, str]:
    """The metadata of scores, with those of a table that they are added to, for ``summarize``; none if there are none.

    Of two metadata that are not of the same rows and options, the later are kept.  ``undefined`` are the numbers of
    undefined scores where the table cannot tell them from missing ones.
    """
    added = ScoreMetadata.of_schema(scores.schema)
    if added == ScoreMetadata():
        return {}
    if undefined is not None:
        counts = {name: replace(of, n_undefined=undefined.get(name, 0)) for name, of in (added.metrics or {}).items()}
        added = replace(added, metrics=counts or None)
    earlier = ScoreMetadata.of_text(before)
    added = replace(added, scored=[*dict.fromkeys([*(earlier.scored or ()), *(added.scored or ())])])
    if earlier.rows == added.rows and (earlier.options or {}) == (added.options or {}):
        of_scores = ("metrics", "cautions", "unread", "drift", "declared", "counts")
        both: dict[str, Any] = {
            name: {**(getattr(earlier, name) or {}), **(getattr(added, name) or {})} or None for name in of_scores
        }
        added = replace(earlier | added, **both)
    return added.for_schema()


def _label(name: str, levels: int) -> str | tuple[str, ...]:
    """The label of a score among columns of pandas whose labels have several levels."""
    return name if levels == 1 else (name, *[""] * (levels - 1))


def _to_arrow(table: Any, scores: pa.Table) -> Any:
    more = scores.combine_chunks()
    for name in scores.column_names:
        column = more[name]
        table = table.append_column(name, column if isinstance(table, pa.Table) else column.combine_chunks())
    noted = _noted(scores, (table.schema.metadata or {}).get(METADATA))
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **noted}) if noted else table


def _to_dataset(dataset: Any, scores: pa.Table) -> Any:
    import datasets

    if not len(dataset):  # concatenate_datasets leaves out what has no rows
        for name in scores.column_names:
            dataset = dataset.add_column(name, scores[name].to_numpy())
        return dataset
    return datasets.concatenate_datasets([dataset, datasets.Dataset(scores.replace_schema_metadata())], axis=1)


# The accessor ``frame.fm`` of pandas and Polars frames: scores in the frame's own kind.


class LazyFrameAccessor:
    """Scores of a lazy frame: ``frame.fm.score(...)`` and ``frame.fm.with_scores(...)``, both lazy."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, metrics: Any = None, *, threads: int | None = None, **options: Any) -> Any:
        """The lazy scores: ``id``, if there is one, and a column for each metric.

        The options are ``threads`` and those of :func:`fastmetrics.with_scores` that choose columns and metrics.
        """
        planned = plan(FrameSource(self._frame).names, ScoreRequest(metrics, **options))
        return lazy_scores(self._frame, planned, planned.copied, threads)

    def with_scores(self, metrics: Any = None, **options: Any) -> Any:
        """The frame with its scores as further columns, as :func:`fastmetrics.with_scores` returns it."""
        return with_scores(self._frame, metrics, **options)


class FrameAccessor:
    """Scores of a frame: ``frame.fm.score(...)``, ``frame.fm.with_scores(...)``, ``frame.fm.token_f1(...)``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, metrics: Any = None, **options: Any) -> Any:
        """The scores as a frame of the same kind: ``id``, if there is one, and a column for each metric.

        ``metrics`` and the options are those of :func:`fastmetrics.score` without an ``output``.
        """
        return own_kind(score(self._frame, metrics, **options), self._frame)

    def with_scores(self, metrics: Any = None, **options: Any) -> Any:
        """The frame with its scores as further columns, as :func:`fastmetrics.with_scores` returns it."""
        return with_scores(self._frame, metrics, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        metric_of_name(name, "the accessor fm")
        return functools.partial(self._metric, name)

    def __dir__(self) -> list[str]:
        return ["score", "with_scores", *functions()]

    def _metric(self, name: str, *columns: str, threads: int | None = None, **keywords: Any) -> Any:
        """One metric as a series; the columns are names of the frame, by default those that the metric looks for."""
        metric = metric_of_name(name, "the accessor fm")
        names = [str(column) for column in self._frame.columns]
        if not columns and not metric.needs.keys() & keywords.keys():
            mapping = resolve(names, None, None, metric.needs)
            keywords = {column: mapping[column] for column in metric.needs if column in mapping} | keywords
        present, options = columns_and_options(metric, columns, keywords)
        for column in map(str, present.values()):
            if names.count(column) > 1:
                raise ColumnError(f"the table has {names.count(column)} columns {column!r}")
        scores = RowFunction(score_of(metric, options))
        return own_series(
            scores({column: self._frame[name] for column, name in present.items()}, threads),
            self._frame,
            scores.score.name,
        )
