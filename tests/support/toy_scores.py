"""A toy scoring function and a table for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import InputError
from fastmetrics.engines.job import Job

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


JOB = Job(score, KINDS, {"version": "1", "metrics": ["length", "ratio"]})


def table(rows: int) -> pa.Table:
    answers = [None if n % 7 == 3 else "ab cd" * (n % 5) for n in range(rows)]
    return pa.table({"id": [f"q{n}" for n in range(rows)], "answer": answers})


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
