"""Spark: scoring a DataFrame, and summing a DataFrame of scores.

Spark's workers score the Arrow batches that they receive; they must be able to import this package.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.arrow import check_table
from fastmetrics.base.errors import Argument, InputError, MissingExtraError, OptionError
from fastmetrics.base.input_columns import is_id
from fastmetrics.base.threads import keep_to_one
from fastmetrics.engines.cluster_rows import RowScoring, pack, plan_rows, unpack
from fastmetrics.metrics.plan import Plan, ScoreRequest
from fastmetrics.metrics.score_batch import fit
from fastmetrics.stats.summed_scores import CollectedScores

__all__ = ["collect", "score"]


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
    fields = [df.schema[name] for name in planned.keep]
    fields += [types.StructField(name, types.DoubleType()) for name in planned.names]
    scores = partial(_scores, pickle.dumps(RowScoring(planned, {})), planned.inputs)
    return _numbered(df, planned.inputs).mapInArrow(scores, types.StructType(fields))


def collect(df: Any, choose: Callable[[Sequence[str]], Iterable[str]]) -> CollectedScores:
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
    packed = _numbered(df, names).mapInArrow(partial(_pack, names, columns), schema).persist(_disk())
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


def _pack(names: Sequence[str], columns: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
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
