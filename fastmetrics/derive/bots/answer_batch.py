"""From a batch of questions to a bot's answers, with statuses, latency and tokens."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.errors import Argument, ColumnError, UnknownNameError, quoted
from fastmetrics.base.input_columns import COLUMNS, kept_columns, resolve
from fastmetrics.base.options import Choice, LimitedText, Optional, Whole, argument
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.derive.bots.bot import Bot, CallBot, DirectBot
from fastmetrics.derive.bots.function_bot import RETURNED
from fastmetrics.derive.calls.call import REPLY, Answer, Call
from fastmetrics.derive.calls.call_sender import ModelCalls
from fastmetrics.derive.clients.completion import completion
from fastmetrics.derive.judge.judge_settings import ASKABLE_AGAIN
from fastmetrics.derive.judge.judged_columns import MISSING, UNSETTLED, summed
from fastmetrics.derive.prompts.template import columns_of, kind_of, values_of
from fastmetrics.derive.replies.reply_parsing import OK, REFUSED, TRUNCATED, UNPARSED

REPEAT = "repeat"
"""The output column with the number of the repeat, from 1, if there are several."""

OUTPUT_TYPES: Mapping[str, pa.DataType] = {
    "system": pa.string(),
    "answer": pa.string(),
    "answer_status": pa.string(),
    "answer_reason": pa.string(),
    "latency_ms": pa.float64(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
    "answer_call": pa.string(),
}
"""The output columns and their types."""


@dataclass(frozen=True)
class AnswerPlan:
    """The bot, its name, the question column, and the columns to copy."""

    bot: Bot
    system: str
    question: str
    keep: Sequence[str]
    reads: Mapping[str, str]
    """The column of the table for each column that the bot reads."""
    repeats: int = 1
    retry: tuple[str, ...] = ()
    sample: Mapping[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, str]:
        """The input columns and their kinds."""
        kinds = {column: kind_of(name) for name, column in self.reads.items()}
        return {**dict.fromkeys(self.keep, "any"), **kinds, self.question: "text"}

    @property
    def output_types(self) -> dict[str, pa.DataType]:
        """The output columns and their types."""
        returned = self.bot.returns
        number = {REPEAT: pa.int64()} if self.repeats > 1 else {}
        return {**number, **OUTPUT_TYPES, **{name: RETURNED[name] for name in returned}}

    @property
    def signature(self) -> ScoreMetadata:
        """All settings that affect the answers."""
        return ScoreMetadata(
            version=__version__,
            system=self.system,
            answers=self.bot.settings,
            columns={"question": self.question, **self.reads},
            keep=self.keep,
            repeats=self.repeats if self.repeats > 1 else None,
            sample=self.sample or None,
        )


def plan_answering(
    names: Sequence[str],
    bot: Bot,
    *,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | str | None = None,
    repeats: int = 1,
    retry: Sequence[str] | str = (),
    sample: Mapping[str, int] | None = None,
) -> AnswerPlan:
    """The plan for a table with columns of these ``names``; all columns are copied unless ``keep`` selects some.

    Raises ``ColumnError`` without a question column, for an unknown column that the bot reads or that is kept, and for
    a kept column with the name of an output column, ``OptionError`` for an invalid option.
    """
    argument("repeats", repeats, Whole(1, 1_000))
    argument("system", system, Optional(LimitedText(200, "a name")))
    again = (retry,) if isinstance(retry, str) else tuple(retry)
    for status in again:
        argument("retry", status, Choice(*ASKABLE_AGAIN))
    reads = list(bot.reads)
    resolved = resolve(names, columns, needed={"question", *(name for name in reads if name in COLUMNS)})
    if "question" not in resolved:
        raise ColumnError(f"answering needs the column 'question'; the table has: {quoted(names)}")
    used = columns_of(reads, resolved, names)
    for name in reads:
        if name not in used:
            raise ColumnError(f"{bot.use_of(name)} is no column; the table has: {quoted(names)}")
    ids = [column for name, column in resolve(names, None, needed={"id"}).items() if name == "id"]
    copied = list(names)
    if keep is not None:
        copied = list(dict.fromkeys([*ids, resolved["question"], *kept_columns(keep, names)]))
    sampled = dict(sample or {})
    plan = AnswerPlan(bot, system or bot.name, resolved["question"], copied, used, repeats, again, sampled)
    for name in copied:
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
        if name in plan.output_types:
            raise ColumnError(
                f"the kept column {name!r} has the name of an output column; rename it, or remove it from ",
                Argument("keep"),
            )
    return plan


class Answered(NamedTuple):
    """The bot's answer to one question, or why there is none."""

    answer: str | None = None
    status: str = MISSING
    reason: str | None = None
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    call: str | None = None
    returned: Mapping[str, Any] = {}


class BatchAnswerer:
    """Maps a batch of questions to the kept columns and the answers; equal batches give equal calls."""

    def __init__(self, plan: AnswerPlan, sender: ModelCalls | None = None) -> None:
        self._plan, self._sender = plan, sender
        self._turn = threading.Lock()
        self._checked = 0

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns and the output columns: each row once for each repeat."""
        plan, bot = self._plan, self._plan.bot
        if isinstance(bot, CallBot):
            answers = self._answers_of_calls(bot, batch)
        else:
            answers = self._matched(bot, batch.column(plan.question))
        columns: dict[str, Any] = {REPEAT: list(range(1, plan.repeats + 1)) * batch.num_rows}
        columns["system"] = [plan.system] * len(answers)
        columns |= {name: [answer[place] for answer in answers] for place, name in enumerate(list(OUTPUT_TYPES)[1:])}
        returned = [name for name in plan.output_types if name not in columns]
        columns |= {name: [answer.returned.get(name) for answer in answers] for name in returned}
        rows = pa.array(np.repeat(np.arange(batch.num_rows), plan.repeats))
        arrays = {
            name: batch.column(name) if plan.repeats == 1 else batch.column(name).take(rows) for name in plan.keep
        }
        return pa.record_batch(
            {**arrays, **{name: pa.array(columns[name], type_) for name, type_ in plan.output_types.items()}}
        )

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise ``InputError`` if a prompt is too long; rows are counted from the first checked batch."""
        bot = self._plan.bot
        if isinstance(bot, CallBot) and bot.asks_model:
            for row, values in enumerate(self._values(batch), self._checked + 1):
                if None not in values:
                    bot.check(values, row)
            self._checked += batch.num_rows

    def _values(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        """The values of the columns that the bot reads, row by row; None for a missing one."""
        return list(zip(*(values_of(batch.column(column)) for column in self._plan.reads.values()), strict=True))

    def _matched(self, bot: DirectBot, questions: pa.Array) -> list[Answered]:
        """The answers of the FAQ, one question at a time, so that each latency is that of its question alone."""
        repeated = [question for question in questions.to_pylist() for _ in range(self._plan.repeats)]
        with self._turn:
            replies = [None if question is None else bot.answer(question) for question in repeated]
        return [
            Answered(reason="null: question") if reply is None else Answered(reply.answer, OK, None, reply.latency_ms)
            for reply in replies
        ]

    def _answers_of_calls(self, bot: CallBot, batch: pa.RecordBatch) -> list[Answered]:
        """The answers of all rows, repeat by repeat; stored replies with a status in ``retry`` are requested again."""
        sender, plan = self._sender, self._plan
        assert sender is not None, "a maker without a sender can only check prompts"
        answers: list[Answered | None] = []
        calls: dict[int, Call] = {}
        for values in self._values(batch):
            lacking = [name for name, value in zip(plan.reads, values, strict=True) if value is None]
            for repeat in range(plan.repeats):
                if not lacking:
                    calls[len(answers)] = bot.call(values, repeat)
                answers.append(Answered(reason=f"null: {', '.join(lacking)}") if lacking else None)
        replies = dict(zip(calls, sender.ask(list(calls.values())), strict=True))
        by_place = {place: _answer_in(reply, calls[place]) for place, reply in replies.items()}
        stale = [p for p, reading in by_place.items() if reading.status in plan.retry and sender.is_old(replies[p])]
        if stale:
            again = sender.ask([calls[place] for place in stale], again=True)
            by_place |= {place: _answer_in(reply, calls[place]) for place, reply in zip(stale, again, strict=True)}
        return [answer or by_place[place] for place, answer in enumerate(answers)]


def _answer_in(answer: Answer, call: Call) -> Answered:
    """The answer in a reply; a truncated reply keeps its text and gets the status ``truncated``."""
    if answer.outcome != REPLY:
        return Answered(None, answer.outcome, answer.body or None, call=call.id)
    reply = completion(answer.body)
    body = json.loads(answer.body)
    returned = body.get("returned") or {}
    spent = (answer.latency_ms, answer.prompt_tokens, answer.completion_tokens, call.id, returned)
    if reply.refused is not None:
        return Answered(None, REFUSED, reply.refused, *spent)
    if reply.truncated:
        return Answered(reply.text, TRUNCATED, "the reply reached the token limit", *spent)
    if reply.text is None and "returned" not in body:
        return Answered(None, UNPARSED, f"no text: {reply.lacks}", *spent)
    return Answered(reply.text, OK, None, *spent)


def observe(part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
    """Rows by status."""
    return {"statuses": dict(Counter(part.column("answer_status").to_pylist()))}


def added(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summed counts of several parts, with the statuses in alphabetical order."""
    return {"statuses": summed(part["statuses"] for part in parts)}


def lasts(observed: Mapping[str, Any]) -> bool:
    """Whether no row of a part needs to be asked again."""
    return not any(status in observed["statuses"] for status in UNSETTLED)
