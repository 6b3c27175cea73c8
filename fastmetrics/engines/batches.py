"""Rows that other systems hold and move: what to score of them, batch by batch, and their sums, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.columns import resolve
from fastmetrics.errors import OptionError
from fastmetrics.planning import Plan, plan
from fastmetrics.scoring import Scorer, score_batch, slices
from fastmetrics.stats.moments import State
from fastmetrics.stats.parts import Sums


def plan_rows(
    names: Sequence[str],
    metrics: Sequence[str] | str | None,
    columns: Mapping[str, str] | None,
    schema: str | None,
    suites: Sequence[str] | str,
    keep: Sequence[str] = (),
) -> Plan:
    """The plan for rows in columns of these names; keeps the ``id``.  Raises ``OptionError`` for a corpus metric."""
    found = resolve(names, columns, schema)
    kept = [found["id"]] if "id" in found else []
    planned = plan(names, metrics, columns, schema, list(dict.fromkeys([*kept, *keep])), suites)
    for score in planned.scores:
        if score.metric.finish is not None:
            raise OptionError(
                f"{score.name} is one value a table, which has no place among rows that come in pieces: "
                "score files with score_files"
            )
    return planned


@dataclass(frozen=True)
class Rows:
    """What to score of rows; a column that is all null in some batch, and has no type there, has that of ``types``."""

    plan: Plan
    types: Mapping[str, pa.DataType]

    def scores(self, tables: Iterable[pa.Table]) -> Iterable[pa.RecordBatch]:
        """The scores of each table in turn, in batches of bounded size, and at least one of each."""
        scorer = Scorer(self.plan)
        for table in tables:
            typed = self._typed(table.select(list(self.plan.inputs)))
            empty = True
            for batch in slices(typed):
                empty = False
                yield scorer(batch)
            if empty:
                yield score_batch(pa.RecordBatch.from_pylist([], typed.schema), self.plan)

    def _typed(self, table: pa.Table) -> pa.Table:
        fields = [
            field.with_type(self.types[field.name])
            if pa.types.is_null(field.type) and field.name in self.types
            else field
            for field in table.schema
        ]
        return table.cast(pa.schema(fields))


def pack(tables: Iterable[pa.Table], names: Sequence[str], asked: Sequence[str]) -> Iterable[pa.RecordBatch]:
    """The sums of the columns ``names`` over all tables in a last row, after each table's values of those ``asked``."""
    states, rows = {name: State() for name in names}, 0
    for table in tables:
        rows += table.num_rows
        for name, state in states.items():
            state.add(table[name])
        yield _packed(None, [_bytes(table[name]) for name in asked])
    yield _packed(json.dumps([rows, [state.to_json() for state in states.values()]]), [])


def _packed(sums: str | None, values: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch({"sums": pa.array([sums], pa.string()), "values": pa.array([values], pa.list_(pa.binary()))})


def _bytes(column: pa.ChunkedArray) -> bytes:
    """Numbers as they lie in memory, NaN where there is none."""
    return np.asarray(column.to_numpy(), np.float64).tobytes()


def unpack(texts: Iterable[str], names: Sequence[str]) -> Sums:
    """The sums that ``pack`` made, of all pieces together, in whatever order they come."""
    sums = Sums()
    sums.states = {name: State() for name in names}
    for text in texts:
        rows, states = json.loads(text)
        sums.n_rows += rows
        for name, state in zip(names, states, strict=True):
            sums.states[name] = sums.states[name].merge(State.from_json(state))
    return sums
