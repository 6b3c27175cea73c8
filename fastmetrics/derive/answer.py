"""Answering the questions of a table with a bot: ``answer``, and code shared with ``answer_files``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, Optional, Text, argument
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.column_kinds import check
from fastmetrics.core.corpus_counts import METADATA
from fastmetrics.core.frames import open_frame, with_index
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import cores, ordered
from fastmetrics.derive.answer_maker import AnswerMaker, AnswerPlan, Bot, added, observe, plan_answering
from fastmetrics.derive.budget import Spending
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.full_context_bot import FullContextBot
from fastmetrics.derive.function_bot import FunctionBot
from fastmetrics.derive.judge import BEHIND
from fastmetrics.derive.judge_settings import ASKABLE_AGAIN
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
    retry: Sequence[str] | str = (),
    sample: int | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> pa.Table:
    """Let a bot answer every question of ``table``, which may be any table that ``score`` accepts.

    ``bot`` is a :class:`FullContextBot`, a :class:`StrictMatchBot`, a :class:`FunctionBot`, or a function of one
    question, which is wrapped in one.  Returns the table's columns, or the id, the question and the columns in
    ``keep``, plus ``system`` (by default the bot's name), ``answer``, ``answer_status``, ``answer_reason``,
    ``latency_ms`` (of one call), ``prompt_tokens`` and ``completion_tokens``.  Score this table, and compare it by
    ``system``.

    A row without an answer is null, and its status says why: ``missing`` (the question is null), ``refused``,
    ``unparsed`` (no text in the reply), ``http``, ``timeout``, ``error`` (an exception in a function) or ``budget``.
    An answer that the model cut short is ``truncated``; all others are ``ok``.  A model's replies are stored in the
    bot's ``store`` and requested once, as in :func:`judge`; ``retry`` names statuses (unparsed, truncated, refused) to
    request again.  ``sample`` answers a random sample of that size, drawn with ``seed``; ``threads`` is used by the
    matcher.

    >>> import fastmetrics as fm
    >>> faq = fm.StrictMatchBot({"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]})
    >>> answered = fm.answer({"id": [1], "question": ["How can I pay?"], "reference": ["Online."]}, faq)
    >>> answered.select(["id", "reference", "system", "answer"]).to_pylist()
    [{'id': 1, 'reference': 'Online.', 'system': 'strict match', 'answer': 'Online.'}]

    Raises ``ColumnError`` if the question column is missing or an output column already exists, ``InputError`` for a
    prompt that is too long for the model, before any call, ``ServiceError`` if a server or a function fails repeatedly,
    ``OptionError`` for an unsupported bot.
    """
    cores(threads)
    asked = bot_of(bot)
    frame = open_frame(table)
    names = list(dict.fromkeys(frame.names))
    drawing = {} if sample is None else {"rows": sample, "seed": seed}
    plan = planned(names, asked, system, columns, keep, retry, drawing)
    schema_of, pieces = frame.read(list(plan.kinds))
    for name, kind in plan.kinds.items():
        check("", name, kind, schema_of.field(name).type)
    held = pa.concat_tables(pieces, promote_options="permissive")
    if sample is not None:
        held = sampled(held, sample, seed)
    batches = [batch for batch in held.to_batches(max_chunksize=SIZES.asked_rows) if batch.num_rows]
    check_prompts(plan, batches)
    with asking(plan, threads) as (maker, _):
        made = [maker(batch_of(held.schema)), *ordered(maker, iter(batches), BEHIND)]
    answered = pa.Table.from_batches(made)
    if frame.index is not None and sample is None:
        answered = with_index(answered, frame.index)
    said = json.dumps({**plan.signature, "answered": added([observe(answered)])})
    return answered.replace_schema_metadata({**(answered.schema.metadata or {}), METADATA: said})


def bot_of(bot: Any) -> Bot:
    """A bot, or a function wrapped as one; raises ``OptionError`` for anything else."""
    if isinstance(bot, FullContextBot | FunctionBot | StrictMatchBot):
        return bot
    if callable(bot):
        return FunctionBot(bot)
    raise OptionError(Argument("bot"), f": expected a bot or a function of one question, got {type(bot).__name__}")


def planned(
    names: Sequence[str],
    bot: Bot,
    system: str | None,
    columns: Mapping[str, str] | None,
    keep: Sequence[str] | str | None,
    retry: Sequence[str] | str,
    sample: Mapping[str, int],
) -> AnswerPlan:
    """The plan, with checked options."""
    argument("system", system, Optional(Text(200, "a name")))
    again = (retry,) if isinstance(retry, str) else tuple(retry)
    for status in again:
        argument("retry", status, Choice(*ASKABLE_AGAIN))
    kept = None if keep is None else listed(keep)
    return plan_answering(names, bot, system=system, columns=columns, keep=kept, retry=again, sample=sample)


def check_prompts(plan: AnswerPlan, batches: Iterable[pa.RecordBatch]) -> None:
    """Raise ``InputError`` if a prompt is too long for the model; other bots need no check."""
    if not isinstance(plan.bot, FullContextBot):
        return
    maker = AnswerMaker(plan)
    for batch in batches:
        maker.check(batch)


@contextmanager
def asking(plan: AnswerPlan, threads: int | None) -> Iterator[tuple[AnswerMaker, Spending]]:
    """A maker of answers, with its store and window if it needs them, and the spending record."""
    bot = plan.bot
    if isinstance(bot, StrictMatchBot):
        yield AnswerMaker(plan, threads=threads), Spending()
        return
    budget = bot.budget()
    with CallStore(bot.store_path) as calls, bot.window(calls, budget) as window:
        yield AnswerMaker(plan, window), budget.spending
