"""Answering the questions of files with a bot into a file that ``score`` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.derive.answer import asking, bot_of, check_prompts, planned
from fastmetrics.derive.answer_maker import AnswerPlan, added, lasts, observe
from fastmetrics.derive.budget import Spending
from fastmetrics.derive.finished_output import open_calls_output
from fastmetrics.derive.judge_files import Paths, drawn
from fastmetrics.derive.judge_maker import BEHIND
from fastmetrics.derive.judged_columns import failed_calls
from fastmetrics.derive.store_file import check_apart
from fastmetrics.engines.job import Job, Progress, RunOptions, RunResult
from fastmetrics.engines.local import Threads
from fastmetrics.engines.run import run_on
from fastmetrics.faq.bot import StrictMatchBot
from fastmetrics.tables import Source, open_source
from fastmetrics.tables.chunks import Limits, cut


@dataclass(frozen=True)
class AnsweredFiles:
    """The result of ``answer_files``: the output path, the rows by status, and the spending."""

    run: RunResult
    statuses: Mapping[str, int]
    spending: Spending

    @property
    def failed(self) -> Mapping[str, int]:
        """The rows whose calls failed, by status."""
        return failed_calls(self.statuses)


def answer_files(
    inputs: Paths,
    output: str | Path,
    bot: Any,
    *,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | str | None = None,
    repeats: int = 1,
    retry: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 1,
    format: str | None = None,
    max_row_bytes: int | None = None,
    on_error: str = "fail",
    resume: bool = False,
    overwrite: bool = False,
    work: str | Path | None = None,
    guard: bool = True,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
) -> AnsweredFiles:
    """Let a bot answer the questions of files, like ``answer`` for tables, and write a file, like ``score``.

    The output is atomic.  A model's replies are always stored, so another run, with or without ``resume``, pays for
    nothing twice.  ``watch`` receives the spending record before the first call.

    >>> import tempfile, pathlib, fastmetrics as fm
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "questions.jsonl").write_text('{"id": 1, "question": "Capital of France?"}')
    >>> done = fm.answer_files(folder / "questions.jsonl", folder / "answers.jsonl", lambda question: "Paris")
    >>> done.run.rows, done.statuses
    (1, {'ok': 1})

    Raises the errors of ``answer`` and ``score``.
    """
    asked = bot_of(bot)
    limits = Limits(
        batch_rows=max(SIZES.asked_rows, getattr(asked, "concurrency", 1)), part_rows=SIZES.answered_part_rows
    )
    options = RunOptions(on_error, resume, overwrite, work, guard, progress, limits=limits)
    if not isinstance(asked, StrictMatchBot):
        check_apart(asked.store_path, output)
    source = open_source(inputs, format, max_row_bytes)
    target = open_calls_output(output, source, options)
    source, drawing = drawn(source, sample, seed)
    plan = planned(source.schema.names, asked, system, columns, keep, retry, drawing, repeats)
    check_prompts(plan, _columns_read(source, plan))
    with asking(plan) as (maker, spending):
        if watch is not None:
            watch(spending)
        job = Job(maker, plan.kinds, plan.signature, observe, _said, lasts, plan.repeats)
        result = run_on(Threads(BEHIND), source, job, target, options)
    return AnsweredFiles(result, added(result.observed)["statuses"], spending)


def _said(parts: list[Any], rejected: int) -> Mapping[str, Any]:
    return {"answered": added(parts), "n_rejected": rejected}


def _columns_read(source: Source, plan: AnswerPlan) -> Iterator[pa.RecordBatch]:
    """The columns that the bot reads, batch by batch; the run itself reports bad rows."""
    selection = source.select({yours: plan.kinds[yours] for yours in plan.reads.values()})
    for _, chunk in cut(source.chunks(selection), Limits(batch_rows=SIZES.asked_rows)):
        if len(chunk.rows):
            yield source.conform(chunk, selection)
