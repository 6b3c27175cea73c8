"""The logged cost of a call, time and tokens, with percentiles in summaries (the QA framework, the RAG project).

**Rounds.** Token counts of several rounds are a list, and their sum is used. Where each round is its own row, each row
is scored separately, and ``fm.tokens_by_id`` adds up the rows of one id. A sum that lacks a round would be too small,
and fewer tokens are better, so an empty list and a list with a null count as missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.columns import as_array, codes_of
from fastmetrics.base.errors import ColumnError
from fastmetrics.metrics.batch import Batch, Number, Options
from fastmetrics.metrics.metric import REGISTRY, RowHooks, metric
from fastmetrics.metrics.parameters import Either


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S0 and S1, latency",
    statistics=("p50", "p90", "p95", "p99"),
    labels={"p50": "P50 Latency (ms)"},
    aliases=["latency"],
)
def latency_ms(latency_ms: Number) -> Floats:
    """Milliseconds from request to answer, as logged.

    A summary adds the 50th, 90th, 95th and 99th percentile, interpolated linearly as NumPy does.

    >>> import fastmetrics as fm
    >>> fm.latency_ms([120, 80.5, None])
    array([120. ,  80.5,   nan])
    """
    return latency_ms.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def prompt_tokens(prompt_tokens: Number) -> Floats:
    """Tokens of the prompt, as logged; for a list of rounds, their sum.

    >>> import fastmetrics as fm
    >>> fm.prompt_tokens([512, 498])
    array([512., 498.])
    """
    return prompt_tokens.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def completion_tokens(completion_tokens: Number) -> Floats:
    """Tokens of the answer, as logged; for a list of rounds, their sum.

    >>> import fastmetrics as fm
    >>> fm.completion_tokens([24, 31])
    array([24., 31.])
    """
    return completion_tokens.values


def _counted(batch: Batch, options: Options) -> Flags:
    """The rows with known tokens, as a total or as both components."""
    complete = [
        np.logical_and.reduce([batch.present(column) for column in columns])
        for columns in _TOTALS
        if set(columns) <= set(batch.columns)
    ]
    return np.logical_or.reduce(complete)


_TOTALS = (("total_tokens",), ("prompt_tokens", "completion_tokens"))


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, total tokens",
    labels={"mean": "Avg Total Tokens"},
    cues=["tokens"],
    rows=RowHooks(either=Either(_TOTALS, _counted)),
)
def total_tokens(
    total_tokens: Number = None,  # type: ignore[assignment]
    prompt_tokens: Number = None,  # type: ignore[assignment]
    completion_tokens: Number = None,  # type: ignore[assignment]
) -> Floats:
    """Tokens of prompt and answer together: as logged, otherwise ``prompt_tokens`` + ``completion_tokens``.

    For a list with a number for each round of a question, the sum; null if the list is empty or contains null, because
    a sum without some round would be too small.  Each row is scored separately: for a table with a row per round,
    ``fm.tokens_by_id`` gives a row per question.

    >>> import fastmetrics as fm
    >>> fm.total_tokens([536, None], prompt_tokens=[[512], [498, 20]], completion_tokens=[[24], [31, 1]])
    array([536., 550.])
    """
    parts = (
        None if prompt_tokens is None or completion_tokens is None else prompt_tokens.values + completion_tokens.values
    )
    if parts is None:
        return total_tokens.values
    return parts if total_tokens is None else np.where(np.isnan(total_tokens.values), parts, total_tokens.values)


def tokens_by_id(
    id: Any, *, total_tokens: Any = None, prompt_tokens: Any = None, completion_tokens: Any = None
) -> pa.Table:
    """The total tokens of each question whose rounds are separate rows: the sum of ``total_tokens`` per id.

    Columns: ``id``, in the order of first occurrence, ``rounds`` (its number of rows) and ``total_tokens``, null if the
    tokens of a round are missing.  Rows without an id are ignored.  All rows are held in memory.

    >>> tokens_by_id(["q1", "q2", "q1"], prompt_tokens=[10, 20, 30], completion_tokens=[1, 2, 3]).to_pylist()
    [{'id': 'q1', 'rounds': 2, 'total_tokens': 44.0}, {'id': 'q2', 'rounds': 1, 'total_tokens': 22.0}]

    Raises ``ColumnError`` for columns of different lengths, or if ``total_tokens`` and one of its components are
    missing.  Source: the RAG project.
    """
    parts = {"total_tokens": total_tokens, "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    columns = {name: as_array(values, name) for name, values in parts.items() if values is not None}
    declared = REGISTRY["total_tokens"]
    if not declared.fits(columns):
        raise ColumnError(f"tokens_by_id needs the column {declared.rows.either}")
    ids = as_array(id, "id")
    for name, values in columns.items():
        if len(values) != len(ids):
            raise ColumnError(f"columns differ in length: {len(ids):,} ids, {len(values):,} {name}")
    tokens, present = declared.compute(Batch(columns), {})
    codes = codes_of(ids, "id")
    rows = np.flatnonzero(codes >= 0)
    _, firsts, owner, sizes = np.unique(codes[rows], return_index=True, return_inverse=True, return_counts=True)
    sums = np.bincount(owner, np.where(present, tokens, 0.0)[rows], len(sizes))
    unknown = np.bincount(owner, ~present[rows], len(sizes)) > 0
    return pa.table({"id": ids.take(rows[firsts]), "rounds": sizes, "total_tokens": pa.array(sums, mask=unknown)})
