"""Answering the questions of a table with a bot: ``fm.answer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.frames import with_index
from fastmetrics.base.limits import SIZES
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.derive.bots.answer_batch import AnswerPlan, BatchAnswerer, added, lasts, observe, plan_answering
from fastmetrics.derive.bots.bot import Bot, CallBot, DirectBot
from fastmetrics.derive.bots.function_bot import FunctionBot
from fastmetrics.derive.calls.budget import Spending
from fastmetrics.derive.calls.finished_output import open_calls_output
from fastmetrics.derive.judge.judge_batch import BEHIND
from fastmetrics.derive.judge.judged_columns import failed_calls
from fastmetrics.derive.sampled_table import described, sampled
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.derive.store.store_file import check_apart
from fastmetrics.engines.job import FileSettings, Job, Progress, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run_job import Threads, results_of, run_on
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_chunks import Limits
from fastmetrics.tables.table_rows import good_batches


@dataclass(frozen=True)
class AnsweredFiles:
    """The result of ``answer`` with an ``output``: the output path, the rows by status, and the spending."""

    run: RunResult
    statuses: Mapping[str, int]
    spending: Spending

    @property
    def failed(self) -> Mapping[str, int]:
        """The rows whose calls failed, by status."""
        return failed_calls(self.statuses)


def answer(
    table: Any,
    bot: Any,
    *,
    output: str | Path | None = None,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | str | None = None,
    repeats: int = 1,
    retry: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 0,
    files: FileSettings | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Spending], None] | None = None,
) -> Any:
    """Let a bot answer every question of ``table``, in memory or in files, as ``score`` accepts them.

    ``bot`` is a :class:`FullContextBot`, a :class:`GivenContextsBot`, a :class:`StrictMatchBot`, a
    :class:`FunctionBot`, or a function of the question or of named columns, which is wrapped in one.  Returns the
    table's columns, or the id, the question and the columns in ``keep``, plus ``system`` (by default the bot's name),
    ``answer``, ``answer_status``, ``answer_reason``, ``latency_ms`` (of one call), ``prompt_tokens``,
    ``completion_tokens`` and ``answer_call`` (equal in rows that share a call).  Score this table, and compare it by
    ``system``.

    With ``repeats``, each row is answered so many times, by a call of its own each time, and returned so many times:
    with its id, and the number of the ``repeat`` from 1.  Metrics of repeats compare these rows.  Without, rows with
    equal questions share one call, so their answers are equal by construction.

    A row without an answer is null, and its status says why: ``missing`` (a column that the bot reads is null),
    ``refused``, ``unparsed`` (no text in the reply), ``http``, ``timeout``, ``error`` (an exception in a function) or
    ``budget``.  An answer that the model cut short is ``truncated``; all others are ``ok``.  A model's replies are
    stored in the bot's ``store`` and requested once, as in :func:`judge`; ``retry`` names statuses (unparsed,
    truncated, refused) to request again.  ``sample`` answers a random sample of that size, drawn with ``seed``.

    Parameters:

    - ``table``: The rows: a table in memory, or paths of files.
    - ``bot``: full-context: a model reads the knowledge and the question; given-contexts: a model reads the contexts of
      each row and the question; faq: the most similar FAQ row; MODULE:FUNCTION or FILE.py:FUNCTION: a Python function
      of the columns that its parameters name.
    - ``output``: The output: a file, with the format given by its suffix, a folder of parts, or an address.
    - ``system``: The value of the column system. Default: the bot's name.
    - ``columns``: Your column names: answer=text,... A name with a comma: '"answer=a,b"'.
    - ``keep``: Columns to copy to the output besides the id, or 'all'; answer and embed copy all by default. A name
      with a comma: '"a,b"'.
    - ``repeats``: Answers of each question, each from a call of its own; rows get the number of the repeat.
    - ``retry``: Repeat stored calls with these statuses: unparsed,truncated,refused.
    - ``sample``: Read only a random sample of this many rows.
    - ``seed``: Random seed.
    - ``files``: The settings of files, a ``FileSettings``.
    - ``resume``: Continue an interrupted run.
    - ``overwrite``: Replace the output if it exists.
    - ``progress``: A function that is called with the progress while questions are answered.
    - ``watch``: A function that is called with the spending before the first call.

    >>> import fastmetrics as fm
    >>> faq = fm.StrictMatchBot({"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]})
    >>> answered = fm.answer({"id": [1], "question": ["How can I pay?"], "reference": ["Online."]}, faq)
    >>> answered.select(["id", "reference", "system", "answer"]).to_pylist()
    [{'id': 1, 'reference': 'Online.', 'system': 'strict match', 'answer': 'Online.'}]

    With ``output``, the answers are written to a file that ``score`` reads; the options of outputs are those of
    ``score``, and the result has the ``run``, the rows by status (``statuses``), and the ``spending``.  A repeated run,
    with or without ``resume``, pays for nothing twice.  ``watch`` receives the spending record before the first call.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "questions.jsonl").write_text('{"id": 1, "question": "Capital of France?"}')
    >>> done = fm.answer(folder / "questions.jsonl", lambda question: "Paris", output=folder / "answers.jsonl")
    >>> done.run.rows, done.statuses
    (1, {'ok': 1})

    Raises the errors of ``score``, ``ColumnError`` if the question column is missing or an output column already
    exists, ``InputError`` for a prompt that is too long for the model, before any call, ``ServiceError`` if a server or
    a function fails repeatedly, ``OptionError`` for an unsupported bot.
    """
    chosen = bot_of(bot)
    limits = Limits(
        batch_rows=max(SIZES.call_rows, getattr(chosen, "concurrency", 1)), part_rows=SIZES.answered_part_rows
    )
    files = files or FileSettings()
    options = RunOptions(files, resume, overwrite, progress, limits)
    if output is None:
        check_without_output(options)
    elif isinstance(chosen, CallBot):
        check_apart(chosen.store_path, output)
    opened = files.open(table)
    target = None if output is None else open_calls_output(output, opened, options)
    plan = plan_answering(
        opened.names,
        chosen,
        system=system,
        columns=columns,
        keep=keep,
        repeats=repeats,
        retry=retry,
        sample=described(sample, seed),
    )
    source = sampled(opened, plan.kinds, sample, seed)
    check_prompts(plan, _columns_read(source, plan))
    with asking(plan) as (maker, spending):
        if watch is not None:
            watch(spending)
        if target is not None:
            job = Job(maker, plan.kinds, plan.signature.to_json(), observe, _conclude, lasts, plan.repeats)
            result = run_on(Threads(BEHIND), source, job, target, options)
            return AnsweredFiles(result, added(result.observed)["statuses"], spending)
        batches = results_of(source, maker, plan.kinds, BEHIND, limits, plan.repeats, progress)
    answered = pa.Table.from_batches(batches)
    index = None if sample is not None else getattr(opened, "index", None)
    if index is not None:
        answered = with_index(answered, index if repeats == 1 else index.repeat(repeats))
    metadata = replace(plan.signature, answered=added([observe(answered)]))
    return answered.replace_schema_metadata({**(answered.schema.metadata or {}), **metadata.for_schema()})


def _conclude(parts: list[Any], rejected: int) -> dict[str, Any]:
    return ScoreMetadata(answered=added(parts), n_rejected=rejected).to_json()


def _columns_read(source: TableSource, plan: AnswerPlan) -> Iterator[pa.RecordBatch]:
    """The columns that the bot reads, batch by batch; the run itself reports bad rows."""
    selection = source.select({column: plan.kinds[column] for column in plan.reads.values()})
    return good_batches(source, selection, limits=Limits(batch_rows=SIZES.call_rows), skip=True)


def bot_of(bot: Any) -> Bot:
    """A bot, or a function wrapped as one; raises ``OptionError`` for anything else."""
    if isinstance(bot, CallBot | DirectBot):
        return bot
    if callable(bot):
        return FunctionBot(bot)
    raise OptionError(Argument("bot"), f": expected a bot or a function of the question, got {type(bot).__name__}")


def check_prompts(plan: AnswerPlan, batches: Iterable[pa.RecordBatch]) -> None:
    """Raise ``InputError`` if a prompt is too long for the model; other bots need no check."""
    if not (isinstance(plan.bot, CallBot) and plan.bot.asks_model):
        return
    maker = BatchAnswerer(plan)
    for batch in batches:
        maker.check(batch)


@contextmanager
def asking(plan: AnswerPlan) -> Iterator[tuple[BatchAnswerer, Spending]]:
    """A maker of answers, with its store and sender if it needs them, and the spending record."""
    bot = plan.bot
    if not isinstance(bot, CallBot):
        yield BatchAnswerer(plan), Spending()
        return
    budget = bot.budget()
    with CallStore(bot.store_path) as calls, bot.sender(calls, budget) as sender:
        yield BatchAnswerer(plan, sender), budget.spending
