"""Writing judgements into a score file: its job, its metadata and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from fastmetrics.derive.calls.budget import Spending
from fastmetrics.derive.judge.judge_batch import BEHIND, BatchJudge
from fastmetrics.derive.judge.judge_plan import JudgePlan
from fastmetrics.derive.judge.judge_until import Ended
from fastmetrics.derive.judge.judged_columns import failed_calls, summed
from fastmetrics.derive.judge.judged_counts import conclude, judged_of, lasts, observe, summary_of
from fastmetrics.engines.job import Job, RunOptions, RunResult
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run_job import run_on
from fastmetrics.results.summary.summary import Summary
from fastmetrics.scoring.score_output import about_run
from fastmetrics.tables import Output
from fastmetrics.tables.table_source import TableSource


@dataclass(frozen=True)
class JudgedFiles:
    """The result of ``judge`` with an ``output``: summary, spending, and failed calls by status."""

    run: RunResult
    summary: Summary
    spending: Spending
    failed: Mapping[str, int] = field(default_factory=dict)
    ended: Ended | None = None
    """How judging ended, with ``until``."""


def write_judgements(
    source: TableSource,
    plan: JudgePlan,
    maker: BatchJudge,
    output: Output,
    options: RunOptions,
    about: tuple[str | None, str | None, Ended | None],
    spending: Spending,
) -> JudgedFiles:
    """Judge a source into an open output; ``about`` is the name of the run, its start, and how judging ended."""
    name, began, ended = about
    job = Job(
        score=maker,
        columns=plan.kinds,
        signature=plan.signature.to_json(),
        observe=partial(observe, plan.axes),
        conclude=lambda observed, rejected: (
            conclude(plan.axes, observed, rejected) | about_run(name, began, None if ended is None else ended.to_json())
        ).to_json(),
        lasts=(lambda observed: False) if plan.until else lasts,  # which rows are judged may have changed
    )
    result = run_on(Threads(BEHIND), source, job, output, options)
    summary = summary_of(plan.axes, result.observed, result.rejected, plan.columns, plan.passed_over)
    statuses = summed(axis["statuses"] for axis in judged_of(plan.axes, result.observed).values())
    notes = [*result.notes, *summary.notes, *([] if ended is None else ended.notes())]
    return JudgedFiles(result, replace(summary, notes=notes), spending, failed_calls(statuses), ended)
