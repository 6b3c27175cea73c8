"""From the judgements of rows to columns: score, reason, status."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.column_names import CALL, COMPLETION_TOKENS, LATENCIES, LATENCY, PROMPT_TOKENS, REPAIRS
from fastmetrics.models.calls import BUDGET, ERROR, HTTP, TIMEOUT
from fastmetrics.models.replies import OK, Reading, total

# From the judgements of rows to columns: score, reason, status and further data.


MISSING, TOO_LONG = "missing", "too_long"
"""Statuses of rows without a call: an input is null, or the prompt is too long."""

IDENTICAL = "identical"
"""The status of a pair of identical answers, which is a tie without a call."""

SCORED = (OK, IDENTICAL)
"""Statuses of rows with a score."""

UNSETTLED = (HTTP, TIMEOUT, BUDGET, ERROR)
"""Statuses of rows that another run asks again."""

FAILED = (HTTP, TIMEOUT, ERROR)
"""Statuses of rows whose calls failed."""

_BETWEEN = ", "


def judge_columns(
    rows: Sequence[Sequence[Reading]], repeats: int, *, replies: bool, times: bool
) -> dict[str, pa.Array]:
    """The columns of one rubric by name suffix; each row has its repeats.

    The score is the mean over the repeats with a score; reason, status and reply are those of the first of these, or of
    the first repeat, and so is the call.  Tokens are summed.  The latency is that of one judgement: the mean over the
    repeats.

    >>> made = judge_columns([[Reading("ok", 4.0), Reading("ok", 5.0)]], 2, replies=False, times=False)
    >>> made[""].to_pylist(), made["_scores"].to_pylist()
    ([4.5], [[4.0, 5.0]])
    """
    first = [next((judgement for judgement in row if judgement.status in SCORED), row[0]) for row in rows]
    columns = {
        "": pa.array([_mean([judgement.score for judgement in row]) for row in rows], pa.float64()),
        "_reason": _texts([judgement.reason for judgement in first]),
        "_status": pa.array([judgement.status for judgement in first], pa.string()),
        REPAIRS: pa.array([_BETWEEN.join(judgement.repairs) or None for judgement in first], pa.string()),
        PROMPT_TOKENS: pa.array([total(judgement.prompt_tokens for judgement in row) for row in rows], pa.int64()),
        COMPLETION_TOKENS: pa.array(
            [total(judgement.completion_tokens for judgement in row) for row in rows], pa.int64()
        ),
        CALL: pa.array([row[0].call for row in rows], pa.string()),
    }
    if times:
        latencies = [[judgement.latency_ms for judgement in row] for row in rows]
        columns[LATENCY] = pa.array([_mean(row) for row in latencies], pa.float64())
        if repeats > 1:
            columns[LATENCIES] = pa.array(latencies, pa.list_(pa.float64()))
    if replies:
        columns["_reply"] = _texts([judgement.text for judgement in first])
        columns["_trace"] = _texts([judgement.trace for judgement in first])
    if repeats > 1:
        columns["_scores"] = pa.array(
            [[_null(judgement.score) for judgement in row] for row in rows], pa.list_(pa.float64())
        )
        columns["_statuses"] = pa.array(
            [[judgement.status for judgement in row] for row in rows], pa.list_(pa.string())
        )
    if repeats > 1 and replies:
        columns["_replies"] = pa.array([[judgement.text for judgement in row] for row in rows], pa.list_(pa.string()))
    return columns


def _texts(values: Sequence[str | None]) -> pa.Array:
    """A column of texts; half a surrogate pair, which a judge's JSON may hold, is U+FFFD."""
    return pa.array([None if value is None else well_formed(value) for value in values], pa.string())


def _null(score: float | None) -> float | None:
    return None if score is None or math.isnan(score) else score


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of the defined values; NaN if all are undefined, None if all are missing."""
    present = [value for value in values if value is not None]
    defined = [value for value in present if not math.isnan(value)]
    if defined:
        return math.fsum(defined) / len(defined)
    return math.nan if present else None


def failed_calls(statuses: Mapping[str, int]) -> dict[str, int]:
    """The rows whose calls failed, by status."""
    return {status: statuses[status] for status in FAILED if statuses.get(status)}


def counted(part: pa.RecordBatch | pa.Table, axis: str) -> dict[str, Any]:
    """The counts of a part for one rubric: rows per status and repair."""
    statuses = Counter(part.column(f"{axis}_status").to_pylist())
    repaired = (repairs for repairs in part.column(f"{axis}_repairs").to_pylist() if repairs)
    repairs = Counter(repair for names in repaired for repair in names.split(_BETWEEN))
    return {"statuses": dict(statuses), "repairs": dict(repairs)}


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts by name, summed, with the names in alphabetical order.

    >>> summed([{"ok": 2, "http": 1}, {"ok": 3}])
    {'http': 1, 'ok': 5}
    """
    total: Counter[str] = Counter()
    for part in counts:
        total.update(part)
    return dict(sorted(total.items()))


def added(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summed counts of several parts."""
    return {kind: summed(part[kind] for part in parts) for kind in ("statuses", "repairs")}
