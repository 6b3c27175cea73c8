"""Counts of judged rows (sums of scores, statuses, repairs, tokens) and their summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata
from fastmetrics.derive.judge.judged_columns import IDENTICAL, MISSING, SCORED, UNASKED, UNSETTLED, added, counted
from fastmetrics.metrics.batch import list_notes, script_notes
from fastmetrics.results.summary import MetricSummary, Summary
from fastmetrics.stats.summed_scores import fingerprint_text
from fastmetrics.stats.sums import State


def observe(axes: Sequence[str], part: pa.RecordBatch | pa.Table, sums: BatchSums | None = None) -> dict[str, Any]:
    """The sums of a part's scores, its rows by status, and its fingerprints (from its metadata by default)."""
    states = {}
    for axis in axes:
        states[axis] = State()
        states[axis].add(part.column(axis))
    return {
        "scores": {axis: state.to_json() for axis, state in states.items()},
        "judged": {axis: counted(part, axis) for axis in axes},
        **(BatchSums.of([part]) if sums is None else sums).to_json(),
    }


def lasts(observed: Mapping[str, Any]) -> bool:
    """Whether no row of a part needs to be asked again."""
    return not any(status in counts["statuses"] for counts in observed["judged"].values() for status in UNSETTLED)


def conclude(axes: Sequence[str], observed: Sequence[Mapping[str, Any]], rejected: int) -> ScoreMetadata:
    """The metadata about judged rows: missing and failed rows, statuses and repairs."""
    judged = judged_of(axes, observed)
    metrics = {}
    for axis in axes:
        statuses = judged[axis]["statuses"]
        rows, missing = sum(statuses.values()), statuses.get(MISSING, 0)
        undefined = sum(State.from_json(part["scores"][axis]).n_undefined for part in observed)
        failed = rows - missing - sum(statuses.get(status, 0) for status in (*SCORED, UNASKED))
        metrics[axis] = RowCounts(rows, missing, undefined, failed)
    sums = BatchSums.added(observed)
    return ScoreMetadata(
        metrics=metrics,
        n_rejected=rejected,
        judged=judged,
        cautions=sums.cautions or None,
        fingerprint={rows: fingerprint_text(of_rows) for rows, of_rows in sums.fingerprint.items()} or None,
    )


def judged_of(axes: Sequence[str], observed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of each judged column over all parts."""
    return {axis: added([part["judged"][axis] for part in observed]) for axis in axes}


def summary_of(
    axes: Sequence[str],
    observed: Sequence[Mapping[str, Any]],
    rejected: int,
    columns: Mapping[str, str],
    passed_over: Mapping[str, Sequence[str]],
) -> Summary:
    """The summary of judged rows, with notes on rows without scores and repairs."""
    cautions = BatchSums.added(observed).cautions
    metrics, notes = {}, [*list_notes(cautions), *script_notes(cautions)]
    for axis, judged in judged_of(axes, observed).items():
        state = State()
        for part in observed:
            state = state.merge(State.from_json(part["scores"][axis]))
        statuses = judged["statuses"]
        state.tell_apart(0, state.n_missing - statuses.get(MISSING, 0))
        state.add_errors(rejected)
        metrics[axis] = MetricSummary.of(state, {})
        notes += _notes(axis, statuses, judged["repairs"])
    rows = sum(judged_of(axes[:1], observed)[axes[0]]["statuses"].values())
    return Summary(rows, metrics, {}, {}, notes, columns, passed_over)


def _notes(axis: str, statuses: Mapping[str, int], repairs: Mapping[str, int]) -> list[str]:
    rows = sum(statuses.values())
    rows -= statuses.get(UNASKED, 0)
    lost = [f"{count:,} {status}" for status, count in statuses.items() if status not in (*SCORED, UNASKED)]
    without = sum(count for status, count in statuses.items() if status not in (*SCORED, UNASKED))
    repaired = [f"{count:,} {repair}" for repair, count in repairs.items()]
    notes = [f"{axis}: {without:,} of {rows:,} rows without a score: {', '.join(lost)}"] if lost else []
    same = statuses.get(IDENTICAL, 0)
    notes += [f"{axis}: {same:,} of {rows:,} pairs of answers are identical: ties without a call"] if same else []
    return notes + ([f"{axis}: repaired replies: {', '.join(repaired)}"] if repaired else [])
