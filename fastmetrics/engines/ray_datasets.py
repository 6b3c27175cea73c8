"""Ray Datasets: scoring a Dataset, and summing a Dataset of scores."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.arrow import check_table
from fastmetrics.base.errors import InputError
from fastmetrics.base.threads import cores, keep_to_one
from fastmetrics.engines.cluster_rows import RowScoring, pack, plan_rows, unpack
from fastmetrics.engines.ray_cluster import ray_data
from fastmetrics.metrics.plan import ScoreRequest
from fastmetrics.metrics.score_batch import fit, slices
from fastmetrics.stats.summed_scores import CollectedScores, score_columns


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


def collect(dataset: Any, choose: Callable[[Sequence[str]], Iterable[str]]) -> CollectedScores:
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
