"""A toy scoring function and a table for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import InputError
from fastmetrics.base.threads import cores
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.tables.sources import TableSource

KINDS = {"id": "id", "answer": "text"}


def score(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Length, and a ratio that is undefined (NaN) for an empty answer and missing (null) for none."""
    length = pc.binary_length(batch["answer"]).cast(pa.float64())
    columns = {"id": batch["id"], "length": length, "ratio": pc.divide(pc.subtract(length, 1.0), length)}
    ratio = pc.if_else(pc.equal(length, 0.0), pa.scalar(float("nan")), columns["ratio"])
    return pa.record_batch({**columns, "ratio": ratio})


def choosy(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Scores, but not of rows whose answer says so."""
    if pc.any(pc.equal(batch["answer"], "bad")).as_py():
        raise InputError("column 'answer': expected a good one")
    return score(batch)


@dataclass(frozen=True)
class FunctionMaker(ColumnMaker):
    """Columns that a function makes of a batch, with functions for what it observes and concludes."""

    score: Callable[[pa.RecordBatch], pa.RecordBatch]
    reads: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    observed: Callable[[Any], Any] | None = None
    conclusion: Callable[[Sequence[Any], int], Mapping[str, Any]] | None = None
    keeps: Callable[[Any], bool] | None = None

    @property
    def columns(self) -> Mapping[str, str]:
        return self.reads

    @property
    def signature(self) -> Mapping[str, Any]:
        return self.settings

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self.score(batch)

    def observe(self, part: pa.RecordBatch | pa.Table) -> Any:
        return None if self.observed is None else self.observed(part)

    def conclude(self, observed: Sequence[Any], rejected: int) -> Mapping[str, Any]:
        return {} if self.conclusion is None else self.conclusion(observed, rejected)

    def lasts(self, observed: Any) -> bool:
        return self.keeps is None or self.keeps(observed)


def run(source: TableSource, maker: ColumnMaker, output: str | Path, *, threads: int = 1, **options: Any) -> RunResult:
    """A run on threads of this process."""
    chosen = RunOptions.of(**options)
    return make_columns(maker, source, open_output(output, source, chosen), chosen, cores(threads))


JOB = FunctionMaker(score, KINDS, {"version": "1", "metrics": ["length", "ratio"]})


def table(rows: int) -> pa.Table:
    answers = [None if n % 7 == 3 else "ab cd" * (n % 5) for n in range(rows)]
    return pa.table({"id": [f"q{n}" for n in range(rows)], "answer": answers})


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
