"""Judging every row of a table with a model, ``fm.judge``: in memory, or into a score file with a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import kept_columns
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import LimitedText, Optional, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.shared_parameters import Help
from fastmetrics.engines.column_maker import RunOptions, check_without_output
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.models.call_sender import Spending
from fastmetrics.models.call_store import CallStore, check_apart
from fastmetrics.models.judge_batch import BEHIND, JudgeSettings, plan_judging
from fastmetrics.models.judged_tables import described, open_answers, sampled, with_row_numbers
from fastmetrics.models.prompts import Rubric
from fastmetrics.scoring.score_runs import about_run, now
from fastmetrics.tables.input_files import Files, file_settings
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.targets import check_not_read

# Judging every row of a table with a model, ``fm.judge``: in memory, or into a score file.


def judge(
    table: shared.Table,
    rubrics: Annotated[
        JudgeSettings | str | Path | Rubric | Sequence[str | Path | Rubric],
        Help(
            "Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
            "answer_faithfulness, e2e, context_precision, context_recall, supported_claims, show_answer (0 to"
            " 1), preference (of two answers), or your own .toml files."
        ),
    ],
    *,
    output: shared.Output = None,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    lists: shared.Lists = (),
    keep: shared.Keep = (),
    sample: shared.Sample = None,
    seed: shared.Seed = 0,
    pairwise: Annotated[
        bool, Help("Compare the answers of two tables, joined by id, by rubrics such as preference.")
    ] = False,
    files: Files = None,
    resume: shared.Resume = False,
    overwrite: shared.Overwrite = False,
    name: shared.Name = None,
    times: Annotated[
        bool,
        Help(
            "Store the start and end of the run, and the latency of each call; the bytes of the output then "
            "differ each time."
        ),
    ] = False,
    progress: Annotated[
        Callable[[Progress], None] | None, Help("A function that is called with the progress while rows are judged.")
    ] = None,
    watch: Annotated[
        Callable[[Spending], None] | None, Help("A function that is called with the spending before the first call.")
    ] = None,
    **settings: Annotated[Any, Help("Settings of :class:`JudgeSettings`, by name, if rubrics are not such settings.")],
) -> Any:
    """Let a model rate every row of ``table``, in memory or in files, as ``score`` accepts them.

    ``rubrics`` are a :class:`JudgeSettings`, or rubrics with the settings of that class by name, of which ``model`` is
    required.  A rubric is the name of a built-in one, in a ``language``, or a .toml file of the same format.

    Returns the ``id``, the columns in ``keep`` and for each rubric X ``judge_X``, ``_reason``, ``_status``,
    ``_repairs``, tokens and ``_call``; a row without a score is null, and its status says why.  Every reply is stored
    before it is read, and none is paid for twice.  With ``pairwise``, ``table`` is two tables of answers to the same
    questions.  docs/judges.md has columns, statuses, rubrics, limits.

    >>> import tempfile, pathlib, fastmetrics as fm
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> judged = fm.judge(
    ...     table, "safety", model="m", base_url="http://localhost:1/v1", store=folder / "calls.sqlite", max_calls=0
    ... )
    >>> judged.select(["id", "judge_safety", "judge_safety_status"]).to_pylist()
    [{'id': 1, 'judge_safety': None, 'judge_safety_status': 'budget'}]

    With ``output``, the judgements are written as ``score`` writes scores, and the result has the ``summary``, the
    ``spending`` and the ``failed`` rows by status.  ``watch`` receives the spending record before the first call.

    Raises the errors of ``score``, ``ServiceError`` if the server refuses calls or fails repeatedly, or if no first
    reply has a score (received replies are in the store), ``ColumnError`` for a rubric placeholder without a column,
    ``FileFormatError`` for a file that is not a rubric, ``OptionError`` for an invalid setting.
    """
    if isinstance(rubrics, JudgeSettings) and settings:
        raise OptionError(Argument(next(iter(settings))), ": set it in the JudgeSettings")
    judging = rubrics if isinstance(rubrics, JudgeSettings) else JudgeSettings(rubrics, **settings)
    # large batches keep the sender busy, even while the last calls of a batch are pending
    limits = Limits(batch_rows=max(SIZES.call_rows, judging.calls.concurrency), part_rows=SIZES.answered_part_rows)
    files = file_settings(files)
    options = RunOptions(files, resume, overwrite, progress, limits)
    argument("name", name, Optional(LimitedText(200, "a name")))
    if output is None:
        check_without_output(options, name=name)
    else:
        check_apart(judging.store_path, output)
        check_not_read(str(output), table if pairwise else ())
    opened, systems = open_answers(table, pairwise, judging.loaded_rubrics, columns, schema, files)
    target = None if output is None else open_output(output, opened, options)
    plan = plan_judging(
        opened.names,
        judging,
        columns,
        schema,
        kept_columns(keep, opened.names),
        has_name=name is not None,
        times=times,
        sample=described(sample, seed),
        lists=lists,
        systems=systems,
    )
    source = sampled(opened, plan.columns, sample, seed)
    plan = replace(plan, has_blanks=source.has_blanks, keep=with_row_numbers(plan.keep, source))
    budget = judging.budget()
    with CallStore(judging.store_path) as calls, judging.sender(calls, budget) as sender:
        if watch is not None:
            watch(budget.spending)
        about = partial(about_run, name, now() if times else None)
        maker = replace(plan, sender=sender, about=about)
        made = make_columns(maker, source, target, options, BEHIND)
    return made if target is None else replace(made, spending=budget.spending)
