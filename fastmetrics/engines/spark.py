"""Spark: a DataFrame of rows to one of scores, and the sums of a DataFrame of scores.

Spark's own workers do the scoring, over the Arrow batches that it hands them; they must be able to import this package.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Floats
from fastmetrics.core.arrow_checks import check_table
from fastmetrics.core.input_columns import is_id
from fastmetrics.core.threads import keep_to_one
from fastmetrics.engines.outside_rows import Rows, pack, plan_rows, unpack
from fastmetrics.errors import InputError, MissingExtraError
from fastmetrics.plan.plan import Plan
from fastmetrics.plan.score_batch import fit
from fastmetrics.stats.score_sums import Collected

__all__ = ["collect", "score"]


def score(
    df: Any,
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    suites: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    no_relevant: str | None = None,
) -> Any:
    """A DataFrame of the scores of another's rows, with the bits of ``fastmetrics.score``, made when it is used.

    ``metrics``, ``columns``, ``schema``, ``suites`` and ``no_relevant`` as in ``fastmetrics.score``; ``keep`` names
    columns to copy beside the ``id``.  A score is null where an input is missing, NaN where it is undefined.  A metric
    that must know all rows first (``tfidf_cosine``) has them read once, now.  Raises ``ColumnError`` and
    ``UnknownNameError`` as ``fastmetrics.score`` does, ``OptionError`` for a corpus metric, which has no place among
    rows, and ``MissingExtraError`` where Spark is not installed.

    ::

        scores = score(spark.read.parquet("answers"), metrics=["token_f1"])
        scores.write.parquet("scores")
    """
    types = _types()
    _check(df)
    planned = plan_rows(df.columns, metrics, columns, schema, suites, keep, no_relevant=no_relevant)
    planned = fit(planned, lambda: _local(df, planned.inputs))
    _rows(df, planned).check()
    made = [df.schema[name] for name in planned.keep]
    made += [types.StructField(name, types.DoubleType()) for name in planned.names]
    scores = partial(_scores, pickle.dumps(Rows(planned, {})), planned.inputs)
    return _numbered(df, planned.inputs).mapInArrow(scores, types.StructType(made))


def collect(df: Any, asked: Callable[[Sequence[str]], Iterable[str]]) -> Collected:
    """The sums of a DataFrame's scores, and the values of the columns that are ``asked`` for, from reading it once.

    Spark's workers add up exact sums, so any partitions in any order give the same bits.  The values are kept on the
    workers' disks until ``release`` is called.
    """
    types = _types()
    _check(df)
    kinds = types.NumericType | types.BooleanType
    names = [f.name for f in df.schema if isinstance(f.dataType, kinds) and not is_id(f.name)]
    wanted = [name for name in asked(names) if name in names]
    made = types.StructType(
        [
            types.StructField("sums", types.StringType()),
            types.StructField("values", types.ArrayType(types.BinaryType())),
        ]
    )
    packed = _numbered(df, names).mapInArrow(partial(_pack, names, wanted), made).persist(_disk())
    try:
        texts = (row["sums"] for row in packed.where("sums is not null").select("sums").toLocalIterator())
        return Collected(unpack(texts, names), partial(_values, packed, wanted), packed.unpersist)
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
        raise InputError(f"a Spark DataFrame was expected, not {type(df).__name__}")


def _rows(df: Any, planned: Plan) -> Rows:
    """What to score, with the types that the columns of scores' inputs have once they are Arrow's."""
    from pyspark.sql.pandas.types import to_arrow_type

    used = [name for name in planned.inputs if name not in planned.keep]
    return Rows(planned, {name: to_arrow_type(df.schema[name].dataType) for name in used})


def _numbered(df: Any, names: Sequence[str]) -> Any:
    """The columns of these names under numbers, as dots and backticks in a name mean something to Spark."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return df.selectExpr(*(f"{name} as c{number}" for number, name in enumerate(quoted)))


def _tables(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.Table]:
    for batch in batches:
        yield pa.Table.from_batches([batch]).rename_columns(list(names))


def _scores(rows: bytes, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """On a worker: the scores of a partition's batches; Spark runs one worker a core, each keeps to its own."""
    keep_to_one()
    made: Rows = pickle.loads(rows)
    return made.scores(_tables(batches, names))


def _pack(names: Sequence[str], asked: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    keep_to_one()
    return pack(_tables(batches, names), names, asked)


def _values(packed: Any, wanted: Sequence[str], name: str) -> Iterator[Floats]:
    at = wanted.index(name)
    rows = packed.where("sums is null").selectExpr(f"values[{at}] as one")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield np.frombuffer(row["one"], np.float64)


def _local(df: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a DataFrame in this process, a batch at a time."""
    types = _types()
    made = types.StructType([types.StructField("batch", types.BinaryType())])
    for row in _numbered(df, names).mapInArrow(_ship, made).toLocalIterator(prefetchPartitions=True):
        for batch in pa.ipc.open_stream(pa.py_buffer(bytes(row["batch"]))):
            named = batch.rename_columns(list(names))
            check_table(named)
            yield named


def _ship(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})
