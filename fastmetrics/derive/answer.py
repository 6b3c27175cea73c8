"""Answering the questions of a table with a bot: ``answer``, and code shared with ``answer_files``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Optional, Text, Whole, argument
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.column_kinds import check
from fastmetrics.core.corpus_counts import METADATA
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import ordered
from fastmetrics.derive.answer_maker import AnswerMaker, AnswerPlan, Bot, added, observe, plan_answering
from fastmetrics.derive.budget import Spending
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.function_bot import FunctionBot
from fastmetrics.derive.judge_maker import BEHIND
from fastmetrics.derive.judge_settings import ASKABLE_AGAIN
from fastmetrics.derive.prompt_bot import PromptBot
from fastmetrics.derive.row_sample import sampled
from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.faq.bot import StrictMatchBot
from fastmetrics.tables.chunks import batch_of


def answer(
    table: Any,
    bot: Any,
    *,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | str | None = None,
    repeats: int = 1,
    retry: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 1,
) -> pa.Table:
    """Let a bot answer every question of ``table``, which may be any table that ``score`` accepts.

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

    >>> import fastmetrics as fm
    >>> faq = fm.StrictMatchBot({"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]})
    >>> answered = fm.answer({"id": [1], "question": ["How can I pay?"], "reference": ["Online."]}, faq)
    >>> answered.select(["id", "reference", "system", "answer"]).to_pylist()
    [{'id': 1, 'reference': 'Online.', 'system': 'strict match', 'answer': 'Online.'}]

    Raises ``ColumnError`` if the question column is missing or an output column already exists, ``InputError`` for a
    prompt that is too long for the model, before any call, ``ServiceError`` if a server or a function fails repeatedly,
    ``OptionError`` for an unsupported bot.
    """
    asked = bot_of(bot)
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    drawing = {} if sample is None else {"rows": sample, "seed": seed}
    plan = planned(names, asked, system, columns, keep, retry, drawing, repeats)
    schema_of, pieces = frame.read(list(plan.kinds))
    for name, kind in plan.kinds.items():
        check("", name, kind, schema_of.field(name).type)
    held = pa.concat_tables(pieces, promote_options="permissive")
    if sample is not None:
        held = sampled(held, sample, seed)
    batches = [batch for batch in held.to_batches(max_chunksize=SIZES.asked_rows) if batch.num_rows]
    check_prompts(plan, batches)
    with asking(plan) as (maker, _):
        made = [maker(batch_of(held.schema)), *ordered(maker, iter(batches), BEHIND)]
    answered = pa.Table.from_batches(made)
    if frame.index is not None and sample is None:
        answered = with_index(answered, frame.index if repeats == 1 else frame.index.repeat(repeats))
    said = json.dumps({**plan.signature, "answered": added([observe(answered)])})
    return answered.replace_schema_metadata({**(answered.schema.metadata or {}), METADATA: said})


def bot_of(bot: Any) -> Bot:
    """A bot, or a function wrapped as one; raises ``OptionError`` for anything else."""
    if isinstance(bot, PromptBot | FunctionBot | StrictMatchBot):
        return bot
    if callable(bot):
        return FunctionBot(bot)
    raise OptionError(Argument("bot"), f": expected a bot or a function of the question, got {type(bot).__name__}")


def planned(
    names: Sequence[str],
    bot: Bot,
    system: str | None,
    columns: Mapping[str, str] | None,
    keep: Sequence[str] | str | None,
    retry: Sequence[str] | str,
    sample: Mapping[str, int],
    repeats: int,
) -> AnswerPlan:
    """The plan, with checked options."""
    argument("repeats", repeats, Whole(1, 1_000))
    argument("system", system, Optional(Text(200, "a name")))
    again = (retry,) if isinstance(retry, str) else tuple(retry)
    for status in again:
        argument("retry", status, Choice(*ASKABLE_AGAIN))
    kept = None if keep is None else listed(keep)
    return plan_answering(
        names, bot, system=system, columns=columns, keep=kept, repeats=repeats, retry=again, sample=sample
    )


def check_prompts(plan: AnswerPlan, batches: Iterable[pa.RecordBatch]) -> None:
    """Raise ``InputError`` if a prompt is too long for the model; other bots need no check."""
    if not isinstance(plan.bot, PromptBot):
        return
    maker = AnswerMaker(plan)
    for batch in batches:
        maker.check(batch)


@contextmanager
def asking(plan: AnswerPlan) -> Iterator[tuple[AnswerMaker, Spending]]:
    """A maker of answers, with its store and window if it needs them, and the spending record."""
    bot = plan.bot
    if isinstance(bot, StrictMatchBot):
        yield AnswerMaker(plan), Spending()
        return
    budget = bot.budget()
    with CallStore(bot.store_path) as calls, bot.window(calls, budget) as window:
        yield AnswerMaker(plan, window), budget.spending
