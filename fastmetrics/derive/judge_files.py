"""Judging files of answers into a score file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fastmetrics.core.allowed_values import Text, argument
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.name_lists import listed
from fastmetrics.derive.asked_rows import FileRows, MarkedSource
from fastmetrics.derive.budget import Spending
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.finished_output import open_calls_output
from fastmetrics.derive.judge_maker import BEHIND, JudgeMaker
from fastmetrics.derive.judge_plan import JudgePlan, plan_judging
from fastmetrics.derive.judge_settings import JudgeSettings
from fastmetrics.derive.judge_until import Ended, Until, judge_until
from fastmetrics.derive.judged_columns import failed_calls
from fastmetrics.derive.judged_counts import conclude, judged_of, lasts, observe, summary_of
from fastmetrics.derive.row_sample import SampledSource
from fastmetrics.derive.store_file import check_apart
from fastmetrics.engines.job import Job, Progress, RunOptions, RunResult
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run import run_on
from fastmetrics.results.summary import Summary
from fastmetrics.tables import Source, open_source
from fastmetrics.tables.chunks import Limits

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class JudgedFiles:
    """The result of ``judge_files``: output path, summary, spending, and judgements whose calls failed, by status."""

    run: RunResult
    summary: Summary
    spending: Spending
    failed: Mapping[str, int] = field(default_factory=dict)
    ended: Ended | None = None
    """How judging ended, with ``until``."""


def judge_files(
    inputs: Paths,
    output: str | Path,
    settings: JudgeSettings,
    *,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] | str = (),
    lists: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 1,
    until: str | None = None,
    baseline: Any = None,
    format: str | None = None,
    max_row_bytes: int | None = None,
    on_error: str = "fail",
    resume: bool = False,
    overwrite: bool = False,
    work: str | Path | None = None,
    guard: bool = True,
    name: str | None = None,
    times: bool = False,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
) -> JudgedFiles:
    """Judge the rows of files, like ``judge`` for tables, and write a file, like ``score``.

    ``settings`` configure the judge, and the other arguments are those of ``score``; ``sample`` and ``seed``
    select a random sample of rows, ``until`` and ``baseline`` end judging as in ``judge``.  The output is atomic.  All
    replies are stored, so another run, with or without ``resume``, pays for nothing twice; it repeats transient
    failures.  ``watch`` receives the spending record before the first call.

    >>> import tempfile, pathlib, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "question": "Capital of France?", "answer": "Paris"}')
    >>> settings = fm.JudgeSettings(
    ...     "safety", "m", base_url="http://localhost:1/v1", store=folder / "calls.sqlite", max_calls=0
    ... )
    >>> judged = fm.judge_files(folder / "rows.jsonl", folder / "judged.parquet", settings)
    >>> judged.summary["judge_safety"].n_error, judged.spending.requests
    (1, 0)

    Raises the errors of ``judge`` and ``score``.
    """
    options = RunOptions(on_error, resume, overwrite, work, guard, progress, limits=_limits(settings))
    check_apart(settings.store_path, output)
    source = open_source(inputs, format, max_row_bytes)
    target = open_calls_output(output, source, options)
    if name is not None:
        argument("name", name, Text(200, "a name"))
    source, sampling = drawn(source, sample, seed)
    plan = plan_judging(
        source.schema.names,
        settings,
        columns,
        schema,
        listed(keep),
        named=name is not None,
        times=times,
        sample=sampling,
        lists=lists,
    )
    ending = Until.of(plan, until, seed, baseline)
    if ending is not None:
        plan = replace(plan, until=ending.signature)
    budget, ended = settings.budget(), None
    with CallStore(settings.store_path) as calls, settings.window(calls, budget) as window:
        if watch is not None:
            watch(budget.spending)
        maker, began = JudgeMaker(plan, window), _now() if times else None
        if ending is not None:
            rows = FileRows(source, plan.kinds, skip=on_error == "skip")
            ended, asked = judge_until(ending, rows.total, rows.take, maker, lambda: budget.spending.ended)
            source = source if asked is None else MarkedSource(source, rows, asked)
            budget.spending.found = 0  # the rows are read again, and their replies from the store counted again
        job = _job(plan, maker, partial(_about, name, began, ended))
        result = run_on(Threads(BEHIND), source, job, target, options)
    summary = summary_of(plan.axes, result.observed, result.rejected, plan.columns, plan.passed_over)
    statuses: Counter[str] = Counter()
    for axis in judged_of(plan.axes, result.observed).values():
        statuses.update(axis["statuses"])
    noted = replace(summary, notes=[*result.notes, *summary.notes, *([] if ended is None else ended.notes())])
    return JudgedFiles(result, noted, budget.spending, failed_calls(statuses), ended)


def _limits(settings: JudgeSettings) -> Limits:
    """Batch sizes that fill the window, even while the last calls of a batch are pending."""
    return Limits(batch_rows=max(SIZES.asked_rows, settings.concurrency), part_rows=SIZES.answered_part_rows)


def drawn(source: Source, sample: int | None, seed: int) -> tuple[Source, dict[str, int]]:
    """The selected rows, and the description of the sample for the signature, if there is one."""
    if sample is None:
        return source, {}
    return SampledSource(source, sample, seed), {"rows": sample, "seed": seed}


def _job(plan: JudgePlan, maker: JudgeMaker, about: Callable[[], Mapping[str, Any]]) -> Job:
    return Job(
        score=maker,
        columns=plan.kinds,
        signature=plan.signature,
        observe=partial(observe, plan.axes),
        conclude=lambda observed, rejected: {**conclude(plan.axes, observed, rejected), **about()},
        lasts=(lambda observed: False) if plan.until else lasts,  # which rows are judged may have changed
    )


def _about(name: str | None, began: str | None, ended: Ended | None) -> dict[str, Any]:
    """The metadata about the run itself."""
    named: dict[str, Any] = {} if name is None else {"name": name}
    if ended is not None:
        named["ended_by_until"] = ended.to_json()
    return named if began is None else {**named, "began": began, "ended": _now()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
