"""Judging every row of a table with a model, ``fm.judge``: in memory, or into a score file with a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.input_columns import kept_columns
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import LimitedText, Optional, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.engines.column_maker import Progress, RunOptions, check_without_output
from fastmetrics.engines.run import Threads, make_columns
from fastmetrics.models.call_sender import Spending
from fastmetrics.models.call_store import CallStore, check_apart
from fastmetrics.models.judge_batch import BEHIND, JudgeSettings, plan_judging
from fastmetrics.models.judged_columns import (
    open_calls_output,
)
from fastmetrics.models.judged_tables import described, open_answers, sampled, with_row_numbers
from fastmetrics.models.prompts import Rubric
from fastmetrics.scoring.score import about_run, now
from fastmetrics.tables.opening import Files, FileSettings
from fastmetrics.tables.protected_inputs import check_not_read
from fastmetrics.tables.table_chunks import Limits

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
    ``model`` is called at ``base_url``, an address with an OpenAI-compatible chat completions API (by default the
    environment variable OPENAI_BASE_URL, or OpenAI's own), with the key in OPENAI_API_KEY.

    Returns the ``id``, the columns in ``keep`` and for each rubric X the columns ``judge_X`` (float64), ``_reason``,
    ``_status``, ``_repairs``, ``_prompt_tokens``, ``_completion_tokens`` and ``_call`` (equal in rows that share their
    calls).  A row without a score is null, never 0.  Its status is ``unparsed`` (also for a score outside the range),
    ``truncated``, ``refused``, ``http``, ``timeout``, ``budget``, ``missing`` (an input is null) or ``too_long`` (a
    prompt of more than ``max_chars`` characters); its reason gives details.  A comparison of identical answers is a tie
    without a call, with the status ``identical``.  ``keep_replies`` adds ``_reply`` and ``_trace``, the model's
    reasoning; ``times`` adds ``_latency_ms``, the milliseconds of one judgement.  With ``repeats``, score and latency
    are means over the repeats that have one, and ``_scores``, ``_statuses`` and ``_latencies_ms`` list all repeats.

    Every reply is stored in ``store``, an SQLite file (by default in the user's cache), under a hash of the model, the
    ``endpoint`` (by default host and path of the address), the ``parameters`` (by default a temperature of 0), the
    messages and the number of the repeat.  Stored calls are not repeated, except for the statuses in ``retry``
    (unparsed, truncated, refused); the next run repeats transient failures.  Identical prompts are sent once.

    ``client``, a :class:`ClientSettings` or a TOML file of it, has the limits, time-outs, retries, store and prices of
    calls; some are settings here too.  ``concurrency`` limits the concurrent calls; a refusal for too many requests
    halves the limit, and replies raise it again.  After ``max_calls`` requests, or when ``max_cost`` by prices might
    be exceeded, the remaining rows get the status ``budget``.  A call counts with its highest possible cost until it
    returns: one token per byte of the prompt, and a reply of ``parameters["max_tokens"]`` tokens, or 4,096.  A run
    stops if none of its first ``max_unparsed`` replies has a score (0: never), because all others would probably cost
    money for nothing; the error shows a reply.  ``sample`` judges a random sample of that size, drawn with ``seed``.
    ``lists`` is that of ``score``.

    With ``pairwise``, ``table`` is two tables of answers to the same questions, in a list or in a dict by name, and the
    rubrics compare two answers (``preference``).  The rows are those of the first table; the answers of the second,
    joined by id, are the column ``other_answer``, the second of the rubric's pair.  The score is 1 if the first system
    is better, 0 if the second is; the metadata name both, for :func:`judge_report`.

    >>> import tempfile, fastmetrics as fm
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> judged = fm.judge(table, "safety", model="m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged.select(["id", "judge_safety", "judge_safety_status"]).to_pylist()
    [{'id': 1, 'judge_safety': None, 'judge_safety_status': 'budget'}]

    With ``output``, the judgements are written to a file, as the scores of ``score``, whose options of outputs these
    are, and the result has its paths and counts, the ``summary``, the ``spending`` and the rows whose calls ``failed``
    by status.  A repeated run, with or without ``resume``, pays for nothing twice; it
    repeats transient failures.  ``watch`` receives the spending record before the first call.

    >>> import pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> settings = fm.JudgeSettings("safety", "m", base_url="http://localhost:1/v1", store=store, max_calls=0)
    >>> judged = fm.judge(table, settings, output=folder / "judged.parquet")
    >>> judged.summary["judge_safety"].n_error, judged.spending.requests
    (1, 0)

    Raises the errors of ``score``, ``ServiceError`` if the server refuses calls or fails repeatedly, or if no first
    reply has a score (received replies are in the store), ``ColumnError`` for a rubric placeholder without a column,
    ``FileFormatError`` for a file that is not a rubric, ``OptionError`` for an invalid setting, ``MissingExtraError``
    if the package ``httpx`` is not installed.
    """
    if isinstance(rubrics, JudgeSettings) and settings:
        raise OptionError(Argument(next(iter(settings))), ": set it in the JudgeSettings")
    judging = rubrics if isinstance(rubrics, JudgeSettings) else JudgeSettings(rubrics, **settings)
    # large batches keep the sender busy, even while the last calls of a batch are pending
    limits = Limits(batch_rows=max(SIZES.call_rows, judging.calls.concurrency), part_rows=SIZES.answered_part_rows)
    files = files or FileSettings()
    options = RunOptions(files, resume, overwrite, progress, limits)
    argument("name", name, Optional(LimitedText(200, "a name")))
    if output is None:
        check_without_output(options, name=name)
    else:
        check_apart(judging.store_path, output)
        check_not_read(str(output), table if pairwise else ())
    opened, systems = open_answers(table, pairwise, judging.loaded_rubrics, columns, schema, files)
    target = None if output is None else open_calls_output(output, opened, options)
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
        made = make_columns(maker, source, target, options, Threads(BEHIND))
    return made if target is None else replace(made, spending=budget.spending)
