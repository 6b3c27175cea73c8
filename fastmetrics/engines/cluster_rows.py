"""Scoring and summing rows of other systems (Ray, Spark), batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import check, check_table
from fastmetrics.base.columns import as_arrow
from fastmetrics.base.errors import OptionError
from fastmetrics.base.input_columns import listed
from fastmetrics.metrics.plan import Plan, ScoreRequest, parse, plan
from fastmetrics.metrics.score_batch import Scorer, score_batch, slices
from fastmetrics.stats.summed_scores import Sums
from fastmetrics.stats.sums import State


def plan_rows(names: Sequence[str], request: ScoreRequest) -> Plan:
    """The plan for rows with these column names; keeps the ``id``, and leaves out the corpus metrics of suites.

    Raises ``OptionError`` for a corpus metric that the request names.
    """
    planned = plan(names, request.with_id(names))
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
