"""Ray Datasets and Spark DataFrames: scoring and summing their rows, batch by batch."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats, check, check_table
from fastmetrics.base.columns import as_arrow
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError
from fastmetrics.base.input_columns import is_id, listed
from fastmetrics.base.threads import cores, keep_to_one
from fastmetrics.engines.ray import ray_data
from fastmetrics.metrics.plan import Plan, ScoreRequest, parse, plan
from fastmetrics.metrics.score_batch import Scorer, fit, score_batch, slices
from fastmetrics.stats.summed_scores import CollectedScores, Sums, score_columns
from fastmetrics.stats.sums import State

# Scoring and summing rows of other systems (Ray, Spark), batch by batch.


def plan_rows(names: Sequence[str], request: ScoreRequest) -> Plan:
    """The plan for rows with these column names; keeps the ``id``, and leaves out the corpus metrics of suites.

    Raises ``OptionError`` for a corpus metric that the request names.
    """
    planned = plan(names, request)
    explicit = {parse(spec).name for spec in listed(request.metrics)}
    for score in planned.scores:
        if score.metric.corpus is not None and score.name in explicit:
            raise OptionError(
                f"{score.name} is one value per table and cannot be computed on a distributed table: "
                "score files by their paths"
            )
    return replace(planned, scores=tuple(score for score in planned.scores if score.metric.corpus is None))


@dataclass(frozen=True)
class RowScoring:
    """The scoring of rows; ``types`` has the type of columns that are absent or all null in some batch."""

    plan: Plan
    types: Mapping[str, pa.DataType]

    def scores(self, tables: Iterable[pa.Table]) -> Iterable[pa.RecordBatch]:
        """The scores of each table in turn, in batches of bounded size, at least one per table."""
        scorer = Scorer(self.plan)
        for table in tables:
            typed = self._typed(table)
            empty = True
            for batch in slices(typed):
                empty = False
                yield scorer(batch).replace_schema_metadata()  # the metadata contains the counts of this batch only
            if empty:
                yield score_batch(pa.RecordBatch.from_pylist([], typed.schema), self.plan).replace_schema_metadata()

    def check(self) -> None:
        """Score no rows, to report unsupported column types at once, if all types are known."""
        empty = {name: pa.array([], self.types.get(name, pa.null())) for name in self.plan.inputs}
        if not any(pa.types.is_null(array.type) for name, array in empty.items() if name not in self.plan.keep):
            list(self.scores([pa.table(empty)]))

    def _typed(self, table: pa.Table) -> pa.Table:
        return pa.table({name: self._column(table, name) for name in self.plan.inputs})

    def _column(self, table: pa.Table, name: str) -> pa.ChunkedArray:
        column = table[name] if name in table.column_names else pa.chunked_array([pa.nulls(table.num_rows)])
        check(column, f"column {name!r}")
        if name not in self.plan.keep and isinstance(column.type, pa.BaseExtensionType):
            column = _unwrapped(column, name)
        return column.cast(self.types[name]) if pa.types.is_null(column.type) and name in self.types else column


def _unwrapped(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column of an extension type as plain values: Ray makes tensors and pickles of lists."""
    if pa.types.is_list(column.type.storage_type) or pa.types.is_large_list(column.type.storage_type):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return pa.chunked_array([as_arrow(column.to_pylist(), name)])


def pack(tables: Iterable[pa.Table], names: Sequence[str], columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    """The values of the columns ``columns`` for each table, then one row with the sums of ``names`` over all tables."""
    states, rows = {name: State() for name in names}, 0
    for table in tables:
        check_table(table.select(list(names)))
        rows += table.num_rows
        for name, state in states.items():
            state.add(table[name])
        yield _packed(None, [_bytes(table[name]) for name in columns])
    yield _packed(json.dumps([rows, [state.to_json() for state in states.values()]]), [])


def _packed(sums: str | None, values: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch({"sums": pa.array([sums], pa.string()), "values": pa.array([values], pa.list_(pa.binary()))})


def _bytes(column: pa.ChunkedArray) -> bytes:
    """Numbers as raw bytes, NaN for missing ones."""
    return np.asarray(column.to_numpy(), np.float64).tobytes()


def unpack(texts: Iterable[str], names: Sequence[str]) -> Sums:
    """The combined sums from the results of ``pack``, in any order."""
    sums = Sums()
    sums.states = {name: State() for name in names}
    for text in texts:
        rows, states = json.loads(text)
        sums.n_rows += rows
        for name, state in zip(names, states, strict=True):
            sums.states[name] = sums.states[name].merge(State.from_json(state))
    return sums


# Ray Datasets: scoring a Dataset, and summing a Dataset of scores.


def score_dataset(dataset: Any, request: ScoreRequest, workers: int | None = None) -> Any:
    """A lazy Ray Dataset of the scores of another Dataset; see ``fastmetrics.score``."""
    ray = ray_data()
    types = _schema(dataset)
    planned = plan_rows(types.names, request)
    cores(workers)  # raises OptionError for an invalid number
    planned = fit(planned, lambda: _batches(dataset.select_columns(list(planned.inputs))))
    rows = RowScoring(planned, {field.name: field.type for field in types})
    rows.check()
    processors = int(ray.cluster_resources().get("CPU", 1))
    return dataset.map_batches(
        BatchWorker,
        fn_constructor_args=(ray.cloudpickle.dumps(rows),),
        batch_size=None,
        batch_format="pyarrow",
        # Start with one worker: the upstream and downstream steps need processors too.
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers or max(1, processors)),
        num_cpus=1 if processors > 1 else 0.5,
    )


def _schema(dataset: Any) -> pa.Schema:
    """The columns of a Dataset, with null type for types that are not Arrow's."""
    schema = dataset.schema()
    if schema is None:
        raise InputError("expected a Dataset with columns; Ray reports no columns for a Dataset without rows")
    types = [type_ if _is_arrows(type_) else pa.null() for type_ in schema.types]
    return pa.schema(list(zip(schema.names, types, strict=True)))


def _is_arrows(type_: Any) -> bool:
    return isinstance(type_, pa.DataType) and not isinstance(type_, pa.BaseExtensionType)


def _batches(dataset: Any) -> Iterator[pa.RecordBatch]:
    for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        check_table(table)
        yield from slices(table)


class BatchWorker:
    """A process that scores blocks of rows: it loads the kernels once and uses one core."""

    def __init__(self, rows: bytes) -> None:
        keep_to_one()
        self._rows: RowScoring = pickle.loads(rows)

    def __call__(self, table: pa.Table) -> pa.Table:
        """The scores of a block."""
        return pa.Table.from_batches(self._rows.scores([table]))


def collect_dataset(dataset: Any, choose: Callable[[Sequence[str]], Iterable[str]]) -> CollectedScores:
    """The sums of a Dataset's scores, and the values of the columns that ``choose`` returns, in one pass."""
    names = score_columns(_schema(dataset))
    columns = [name for name in choose(names) if name in names]
    packed = dataset.select_columns(names).map_batches(
        _pack, fn_args=(names, columns), batch_size=None, batch_format="pyarrow"
    )
    stored = packed.materialize()
    tables = partial(stored.iter_batches, batch_size=None, batch_format="pyarrow")
    texts = (text for table in tables() for text in table["sums"].drop_null().to_pylist())

    def values(name: str) -> Iterator[Floats]:
        at = columns.index(name)
        for table in tables():
            for row in table["values"]:
                if len(row):
                    yield np.frombuffer(row[at].as_buffer(), np.float64)

    return CollectedScores(unpack(texts, names), values)


def _pack(table: pa.Table, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
    return pa.Table.from_batches(pack([table], names, columns))


# Spark: scoring a DataFrame, and summing a DataFrame of scores.
#
# Spark's workers score the Arrow batches that they receive; they must be able to import this package.


def score(df: Any, request: ScoreRequest) -> Any:
    """A DataFrame of scores, with the same bits as ``fastmetrics.score``, computed when it is used.

    A score is null where an input is missing, NaN where it is undefined.  For a metric that needs all rows first
    (``tfidf_cosine``), the DataFrame is read once immediately.  Raises ``ColumnError`` and ``UnknownNameError`` like
    ``fastmetrics.score``, ``OptionError`` for a corpus metric, which a DataFrame cannot store, and for an embedder, and
    ``MissingExtraError`` if Spark is not installed.

    ::

        scores = score(spark.read.parquet("answers"), ScoreRequest("token_f1"))
        scores.write.parquet("scores")
    """
    if request.embedder is not None:
        raise OptionError(Argument("embedder", request.embedder), ": a Spark DataFrame needs its embeddings as columns")
    types = _types()
    _check(df)
    planned = plan_rows(df.columns, request)
    planned = fit(planned, lambda: _local(df, planned.inputs))
    _rows(df, planned).check()
    own = ((name, df.schema[column]) for name, column in planned.copied.items())
    fields = [types.StructField(name, field.dataType, field.nullable, field.metadata) for name, field in own]
    fields += [types.StructField(name, types.StringType()) for name in planned.extracted]
    fields += [types.StructField(name, types.DoubleType()) for name in planned.names]
    scores = partial(_scores, pickle.dumps(RowScoring(planned, {})), planned.inputs)
    return _numbered(df, planned.inputs).mapInArrow(scores, types.StructType(fields))


def collect_dataframe(df: Any, choose: Callable[[Sequence[str]], Iterable[str]]) -> CollectedScores:
    """The sums of a DataFrame's scores, and the values of the columns that ``choose`` returns, in one pass.

    Spark's workers compute exact sums, so any partitions in any order give the same bits.  The values are stored on the
    workers' disks until ``release`` is called.
    """
    types = _types()
    _check(df)
    kinds = types.NumericType | types.BooleanType
    names = [f.name for f in df.schema if isinstance(f.dataType, kinds) and not is_id(f.name)]
    columns = [name for name in choose(names) if name in names]
    schema = types.StructType(
        [
            types.StructField("sums", types.StringType()),
            types.StructField("values", types.ArrayType(types.BinaryType())),
        ]
    )
    packed = _numbered(df, names).mapInArrow(partial(_pack_of_spark, names, columns), schema).persist(_disk())
    try:
        texts = (row["sums"] for row in packed.where("sums is not null").select("sums").toLocalIterator())
        return CollectedScores(unpack(texts, names), partial(_values, packed, columns), packed.unpersist)
    except BaseException:
        packed.unpersist()
        raise


def _types() -> Any:
    try:
        from pyspark.sql import types
    except ImportError as error:
        raise MissingExtraError.of("pyspark", "spark") from error
    return types


def _disk() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _check(df: Any) -> None:
    if not hasattr(df, "mapInArrow"):
        raise InputError(f"expected a Spark DataFrame, got {type(df).__name__}")


def _rows(df: Any, planned: Plan) -> RowScoring:
    """The scoring of rows, with the Arrow types of the input columns."""
    from pyspark.sql.pandas.types import to_arrow_type

    used = [name for name in planned.inputs if name not in planned.keep]
    return RowScoring(planned, {name: to_arrow_type(df.schema[name].dataType) for name in used})


def _numbered(df: Any, names: Sequence[str]) -> Any:
    """These columns renamed to numbers, because dots and backticks in names have a meaning in Spark."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return df.selectExpr(*(f"{name} as c{number}" for number, name in enumerate(quoted)))


def _tables(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.Table]:
    for batch in batches:
        yield pa.Table.from_batches([batch]).rename_columns(list(names))


def _scores(rows: bytes, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """On a worker: the scores of a partition's batches; Spark runs one worker per core, and each uses one core."""
    keep_to_one()
    scorer: RowScoring = pickle.loads(rows)
    return scorer.scores(_tables(batches, names))


def _pack_of_spark(
    names: Sequence[str], columns: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterable[pa.RecordBatch]:
    keep_to_one()
    return pack(_tables(batches, names), names, columns)


def _values(packed: Any, columns: Sequence[str], name: str) -> Iterator[Floats]:
    at = columns.index(name)
    rows = packed.where("sums is null").selectExpr(f"values[{at}] as one")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield np.frombuffer(row["one"], np.float64)


def _local(df: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a DataFrame in this process, a batch at a time."""
    types = _types()
    schema = types.StructType([types.StructField("batch", types.BinaryType())])
    for row in _numbered(df, names).mapInArrow(_ship, schema).toLocalIterator(prefetchPartitions=True):
        for batch in pa.ipc.open_stream(pa.py_buffer(bytes(row["batch"]))):
            renamed = batch.rename_columns(list(names))
            check_table(renamed)
            yield renamed


def _ship(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})
