"""From a batch of questions to a bot's answers, with statuses, latency and tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from fastmetrics.core.input_columns import resolve
from fastmetrics.core.version import __version__
from fastmetrics.derive.call import REPLY, Answer, Call
from fastmetrics.derive.completion import completion
from fastmetrics.derive.full_context_bot import FullContextBot
from fastmetrics.derive.function_bot import RETURNED, FunctionBot
from fastmetrics.derive.judged_columns import MISSING, UNSETTLED
from fastmetrics.derive.reply_parsing import OK, REFUSED, TRUNCATED, UNPARSED
from fastmetrics.derive.window import Window
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.errors.messages import Argument, quoted
from fastmetrics.faq.bot import StrictMatchBot

CallBot: TypeAlias = FullContextBot | FunctionBot
"""A bot that makes calls through a window and a store."""

Bot: TypeAlias = CallBot | StrictMatchBot

MADE: Mapping[str, pa.DataType] = {
    "system": pa.string(),
    "answer": pa.string(),
    "answer_status": pa.string(),
    "answer_reason": pa.string(),
    "latency_ms": pa.float64(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
}
"""The output columns and their types."""


@dataclass(frozen=True)
class AnswerPlan:
    """The bot, its name, the question column, and the columns to copy."""

    bot: Bot
    system: str
    question: str
    keep: Sequence[str]
    retry: tuple[str, ...] = ()
    sample: Mapping[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, str]:
        """The input columns and their kinds."""
        return {**dict.fromkeys(self.keep, "any"), self.question: "text"}

    @property
    def signature(self) -> dict[str, Any]:
        """All settings that affect the answers."""
        told = {"bot": "strict match"} if isinstance(self.bot, StrictMatchBot) else self.bot.settings
        sampled = {"sample": dict(self.sample)} if self.sample else {}
        return {
            "fastmetrics": __version__,
            "system": self.system,
            "answers": told,
            "columns": {"question": self.question},
            "keep": list(self.keep),
            **sampled,
        }


def plan_answering(
    names: Sequence[str],
    bot: Bot,
    *,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
    retry: Sequence[str] = (),
    sample: Mapping[str, int] | None = None,
) -> AnswerPlan:
    """The plan for a table with columns of these ``names``; all columns are copied unless ``keep`` selects some.

    Raises ``ColumnError`` without a question column, for an unknown kept column, and for a kept column with the name of
    an output column.
    """
    found = resolve(names, columns, needed={"question"})
    if "question" not in found:
        raise ColumnError(f"answering needs the column 'question'; the table has: {quoted(names)}")
    ids = [yours for one, yours in resolve(names, None, needed={"id"}).items() if one == "id"]
    kept = list(names) if keep is None else list(dict.fromkeys([*ids, found["question"], *keep]))
    made = {*MADE, *(bot.returns if isinstance(bot, FunctionBot) else ())}
    for name in kept:
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
        if name in made:
            raise ColumnError(
                f"the kept column {name!r} has the name of an output column; rename it, or remove it from ",
                Argument("keep"),
            )
    named = "strict match" if isinstance(bot, StrictMatchBot) else bot.name
    return AnswerPlan(bot, system or named, found["question"], kept, tuple(retry), dict(sample or {}))


class Answered(NamedTuple):
    """The bot's answer to one question, or why there is none."""

    answer: str | None = None
    status: str = MISSING
    reason: str | None = None
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    returned: Mapping[str, Any] = {}


class AnswerMaker:
    """Maps a batch of questions to the kept columns and the answers; equal batches give equal calls."""

    def __init__(self, plan: AnswerPlan, window: Window | None = None, threads: int | None = None) -> None:
        self._plan, self._window, self._threads = plan, window, threads
        self._checked = 0

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns and the output columns."""
        plan, bot = self._plan, self._plan.bot
        questions = batch.column(plan.question)
        matched = isinstance(bot, StrictMatchBot)
        said = self._matched(bot, questions) if isinstance(bot, StrictMatchBot) else self._asked(bot, questions)
        made: dict[str, Any] = {"system": [plan.system] * len(said)}
        made |= dict(zip(list(MADE)[1:], zip(*(one[:6] for one in said), strict=True), strict=True)) if said else {}
        arrays = {name: batch.column(name) for name in plan.keep}
        arrays |= {name: pa.array(made.get(name, []), kind) for name, kind in MADE.items()}
        for name in () if matched else self._returns:
            arrays[name] = pa.array([one.returned.get(name) for one in said], RETURNED[name])
        return pa.record_batch(arrays)

    @property
    def _returns(self) -> Sequence[str]:
        bot = self._plan.bot
        return bot.returns if isinstance(bot, FunctionBot) else ()

    def calls(self, batch: pa.RecordBatch) -> list[Call]:
        """The calls for a batch."""
        bot = self._plan.bot
        if isinstance(bot, StrictMatchBot):
            return []
        return [
            bot.call(question) for question in batch.column(self._plan.question).to_pylist() if question is not None
        ]

    @property
    def question(self) -> str:
        """The column of questions."""
        return self._plan.question

    def checked_calls(self, batch: pa.RecordBatch) -> list[Call]:
        """The calls for a batch; raises ``InputError`` if a prompt is too long for the model."""
        self.check(batch)
        return self.calls(batch)

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise ``InputError`` if a prompt is too long; rows are counted from the first checked batch."""
        bot = self._plan.bot
        if isinstance(bot, FullContextBot):
            for row, question in enumerate(batch.column(self._plan.question).to_pylist(), self._checked + 1):
                if question is not None:
                    bot.check(question, row)
            self._checked += batch.num_rows

    def _matched(self, bot: StrictMatchBot, questions: pa.Array) -> list[Answered]:
        """The answers of the FAQ."""
        found = bot.answer_all(questions, threads=self._threads)
        columns = (found["answer"].to_pylist(), found["latency_ms"].to_pylist())
        return [
            Answered() if row is None else Answered(answer, OK, latency_ms=latency)
            for row, answer, latency in zip(found["index"].to_pylist(), *columns, strict=True)
        ]

    def _asked(self, bot: CallBot, questions: pa.Array) -> list[Answered]:
        """The answers to all questions; stored replies with a status in ``retry`` are requested again."""
        window = self._window
        assert window is not None, "a maker without a window can only list its calls"
        texts = questions.to_pylist()
        calls = {place: bot.call(text) for place, text in enumerate(texts) if text is not None}
        answers = dict(zip(calls, window.ask(list(calls.values())), strict=True))
        read = {place: _read(answer) for place, answer in answers.items()}
        stale = [p for p, one in read.items() if one.status in self._plan.retry and answers[p].time < window.began]
        if stale:
            again = window.ask([calls[place] for place in stale], again=True)
            read |= {place: _read(answer) for place, answer in zip(stale, again, strict=True)}
        return [read.get(place, Answered(reason="null: question")) for place in range(len(texts))]


def _read(answer: Answer) -> Answered:
    """The answer in a reply; a truncated reply keeps its text and gets the status ``truncated``."""
    if answer.outcome != REPLY:
        return Answered(None, answer.outcome, answer.body or None)
    found = completion(answer.body)
    told = json.loads(answer.body)
    returned = told.get("returned") or {}
    spent = (answer.latency_ms, answer.prompt_tokens, answer.completion_tokens, returned)
    if found.refused is not None:
        return Answered(None, REFUSED, found.refused, *spent)
    if found.truncated:
        return Answered(found.text, TRUNCATED, "the reply reached the token limit", *spent)
    if found.text is None and "returned" not in told:
        return Answered(None, UNPARSED, "the reply contains no text", *spent)
    return Answered(found.text, OK, None, *spent)


def observe(part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
    """Rows by status, and the sums of tokens and milliseconds."""
    sums = {name: sum(filter(None, part.column(name).to_pylist())) for name in (*_TOKENS, "latency_ms")}
    return {"statuses": dict(Counter(part.column("answer_status").to_pylist())), **sums}


_TOKENS = ("prompt_tokens", "completion_tokens")


def added(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summed counts of several parts, with the statuses in alphabetical order."""
    statuses: Counter[str] = Counter()
    for part in parts:
        statuses.update(part["statuses"])
    tokens = {name: sum(part[name] for part in parts) for name in _TOKENS}
    return {"statuses": dict(sorted(statuses.items())), **tokens, "latency_ms": sum(p["latency_ms"] for p in parts)}


def lasts(observed: Mapping[str, Any]) -> bool:
    """Whether no row of a part needs to be asked again."""
    return not any(status in observed["statuses"] for status in UNSETTLED)
