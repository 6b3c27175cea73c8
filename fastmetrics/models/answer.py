"""Answering the questions of a table with a bot, ``fm.answer``: statuses, latency and tokens beside the answers.

**Latency** is that of one question or one judgement. A FAQ bot answers questions one by one for it; ``match``, which
looks them up together, has none.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import COLUMNS, is_id, kept_columns, resolve
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownColumnError, quoted
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import Choice, LimitedText, Optional, Whole, argument
from fastmetrics.base.progress import Progress
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.engines.column_maker import ColumnMaker, RunOptions, RunResult, check_without_output
from fastmetrics.engines.run import make_columns, open_output
from fastmetrics.models.bots import RETURNED, Bot, CallBot, DirectBot, FunctionBot, PromptBot
from fastmetrics.models.call_sender import ModelCalls, Spending
from fastmetrics.models.call_store import CallStore, check_apart
from fastmetrics.models.calls import REPLY, Answer, Call, completion, is_blank
from fastmetrics.models.judge_batch import ASKABLE_AGAIN, BEHIND
from fastmetrics.models.judged_columns import FAILED, MISSING, UNSETTLED, failed_calls, summed
from fastmetrics.models.judged_tables import described, sampled, with_row_numbers
from fastmetrics.models.prompts import columns_of, kind_of, values_of
from fastmetrics.models.replies import CUT_THOUGHT, OK, REFUSED, TRUNCATED, UNPARSED
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.input_files import Files, file_settings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Limits
from fastmetrics.tables.sources import TableSource
from fastmetrics.text.thoughts import split_thoughts

# From a batch of questions to a bot's answers, with statuses, latency and tokens.


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


NO_MATCH = "no_match"
"""The status of a question that shares no word with any row of the FAQ."""


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


@dataclass(frozen=True)
class AnswerMaker(ColumnMaker):
    """The kept columns of a table, and the answers of a bot to its questions; equal batches give equal calls.

    ``system`` is the name of the bot.  Without a sender, a bot that makes calls can only check prompts.
    """

    bot: Bot
    system: str
    question: str
    keep: Sequence[str]
    reads: Mapping[str, str]
    """The column of the table for each column that the bot reads."""
    rows_each: int = 1
    """The repeats of each question."""
    retry: tuple[str, ...] = ()
    numbered: str | None = None
    """The column of the table that numbers the repeats of a question, from 1, if its rows are repeated already."""
    sample: Mapping[str, int] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    """The kept columns that the user named, by their canonical names."""
    sender: ModelCalls | None = None
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @property
    def columns(self) -> dict[str, str]:
        """The input columns and their kinds."""
        kinds = {column: kind_of(name) for name, column in self.reads.items()}
        number = {} if self.numbered is None else {self.numbered: "any"}
        return {**dict.fromkeys(self.keep, "any"), **number, **kinds, self.question: "text"}

    @property
    def least_rows(self) -> int | None:  # type: ignore[override]
        """As many questions as a function answers at the same time, if no store keeps its answers."""
        bot = self.bot
        return bot.concurrency if isinstance(bot, FunctionBot) and bot.store is None else None

    @property
    def output_types(self) -> dict[str, pa.DataType]:
        """The output columns and their types."""
        returned = self.bot.returns
        number = {REPEAT: pa.int64()} if self.rows_each > 1 else {}
        return {**number, **OUTPUT_TYPES, **{name: RETURNED[name] for name in returned}}

    @cached_property
    def signature(self) -> dict[str, Any]:
        """All settings that affect the answers."""
        return ScoreMetadata(
            version=__version__,
            system=self.system,
            answers=self.bot.settings,
            columns={"question": self.question, **self.reads},
            named=self.named or None,
            keep=self.keep,
            repeats=self.rows_each if self.rows_each > 1 else None,
            sample=self.sample or None,
        ).to_json()

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns and the output columns: each row once for each repeat."""
        bot = self.bot
        if isinstance(bot, CallBot):
            answers = self._answers_of_calls(bot, batch)
        else:
            answers = self._matched(bot, batch.column(self.question))
        columns: dict[str, Any] = {REPEAT: list(range(1, self.rows_each + 1)) * batch.num_rows}
        columns["system"] = [self.system] * len(answers)
        columns |= {name: [answer[place] for answer in answers] for place, name in enumerate(list(OUTPUT_TYPES)[1:])}
        returned = [name for name in self.output_types if name not in columns]
        columns |= {name: [answer.returned.get(name) for answer in answers] for name in returned}
        rows = pa.array(np.repeat(np.arange(batch.num_rows), self.rows_each))
        arrays = {
            name: batch.column(name) if self.rows_each == 1 else batch.column(name).take(rows) for name in self.keep
        }
        return pa.record_batch(
            {**arrays, **{name: pa.array(columns[name], type_) for name, type_ in self.output_types.items()}}
        )

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
        """Rows by status, and the first whose call failed, with its id and the reason."""
        statuses = part.column("answer_status").to_pylist()
        first = next((row for row, status in enumerate(statuses) if status in FAILED), None)
        failure = None
        if first is not None:
            own = next((name for name in self.keep if is_id(name)), None)
            place = "" if own is None else f"id {part.column(own)[first].as_py()}: "
            failure = f"{place}{part.column('answer_reason')[first].as_py() or statuses[first]}"
        return {"statuses": dict(Counter(statuses)), "failure": failure}

    def lasts(self, observed: Mapping[str, Any]) -> bool:
        """Whether no row of a part needs to be asked again."""
        return not any(status in observed["statuses"] for status in UNSETTLED)

    def is_settled(self, metadata: Mapping[str, Any]) -> bool:
        """Whether no row of an output needs to be asked again."""
        return self.lasts(metadata["answered"])

    def conclude(self, observed: Sequence[Mapping[str, Any]], rejected: int) -> dict[str, Any]:
        """The metadata about the rows, with the statuses in alphabetical order and the first failure, if any."""
        failure = next((part["failure"] for part in observed if part["failure"]), None)
        answered = {"statuses": summed(part["statuses"] for part in observed)} | (
            {} if failure is None else {"failure": failure}
        )
        return ScoreMetadata(answered=answered, n_rejected=rejected).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the rows by status, and a note on the first failure."""
        answered = run.metadata["answered"]
        statuses, notes = answered["statuses"], failure_notes(answered)
        return replace(run, counts=statuses, failed=failed_calls(statuses), notes=[*run.notes, *notes])

    def values(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        """The values of the columns that the bot reads, row by row; None for a missing one."""
        return list(zip(*(values_of(batch.column(column)) for column in self.reads.values()), strict=True))

    def _matched(self, bot: DirectBot, questions: pa.Array) -> list[Answered]:
        """The answers of the FAQ, one question at a time, so that each latency is that of its question alone."""
        repeated = [question for question in questions.to_pylist() for _ in range(self.rows_each)]
        with self._lock:
            replies = [None if question is None else bot.answer(question) for question in repeated]
        return [
            Answered(reason="null: question")
            if reply is None
            else Answered(
                reply.answer,
                OK if reply.index >= 0 else NO_MATCH,
                None if reply.index >= 0 else "no row of the FAQ shares a word with it",
                reply.latency_ms,
            )
            for reply in replies
        ]

    def _repeats(self, batch: pa.RecordBatch) -> Iterator[Sequence[int]]:
        """The numbers of the calls of each row, from 0; raises ``ColumnError`` for a number that is none."""
        for row in range(batch.num_rows):
            if self.numbered is None:
                yield range(self.rows_each)
                continue
            number = batch.column(self.numbered)[row].as_py()
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise ColumnError(
                    f"column {self.numbered!r}: expected the number of the repeat, from 1, got {number!r}"
                )
            yield (number - 1,)

    def _answers_of_calls(self, bot: CallBot, batch: pa.RecordBatch) -> list[Answered]:
        """The answers of all rows, repeat by repeat; stored replies with a status in ``retry`` are requested again."""
        sender = self.sender
        assert sender is not None, "only prompts can be checked"
        answers: list[Answered | None] = []
        calls: dict[int, Call] = {}
        for values, repeats in zip(self.values(batch), self._repeats(batch), strict=True):
            lacking = [name for name, value in zip(self.reads, values, strict=True) if value is None]
            for repeat in repeats:
                if not lacking:
                    calls[len(answers)] = bot.call(values, repeat)
                answers.append(Answered(reason=f"null: {', '.join(lacking)}") if lacking else None)
        replies = dict(zip(calls, sender.ask(list(calls.values())), strict=True))
        by_place = {place: _answer_in(reply, calls[place]) for place, reply in replies.items()}
        stale = [p for p, reading in by_place.items() if reading.status in self.retry and sender.is_old(replies[p])]
        if stale:
            again = sender.ask([calls[place] for place in stale], again=True)
            by_place |= {place: _answer_in(reply, calls[place]) for place, reply in zip(stale, again, strict=True)}
        return [answer or by_place[place] for place, answer in enumerate(answers)]


def failure_notes(answered: Mapping[str, Any]) -> list[str]:
    """A note on the first call that failed, if one did, from the metadata of answers."""
    return [f"the first call that failed: {answered['failure']}"] if "failure" in answered else []


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
) -> AnswerMaker:
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
        way = Argument("columns", {"question": ...})
        raise ColumnError(
            f"answering needs the column 'question'; the table has: {quoted(names)}; set its name with ", way
        )
    used = columns_of(reads, resolved, names)
    for name in reads:
        if name not in used:
            raise ColumnError(f"{bot.use_of(name)} is no column; the table has: {quoted(names)}")
    ids = [column for name, column in resolve(names, columns, needed={"id"}).items() if name == "id"]
    numbered = REPEAT if REPEAT in names and repeats == 1 else None
    sampled = dict(sample or {})
    maker = AnswerMaker(bot, system or bot.name, resolved["question"], (), used, repeats, again, numbered, sampled)
    kept = kept_columns("all" if keep is None else keep, names, resolved, maker.output_types)
    copied = kept if keep is None else list(dict.fromkeys([*ids, resolved["question"], *kept]))
    for name in copied:
        if name not in names:
            raise UnknownColumnError.of("column", name, names)
        if name in maker.output_types:
            raise ColumnError(
                f"the kept column {name!r} has the name of an output column; rename it, or remove it from ",
                Argument("keep"),
            )
    return replace(maker, keep=copied, named={name: own for name, own in (columns or {}).items() if own in copied})


def _answer_in(answer: Answer, call: Call) -> Answered:
    """The answer in a reply; a truncated reply keeps its text and gets the status ``truncated``."""
    if answer.outcome != REPLY:
        return Answered(None, answer.outcome, answer.body or None, call=call.id)
    reply = completion(answer.body)
    spent = (answer.latency_ms, answer.prompt_tokens, answer.completion_tokens, call.id, reply.returned or {})
    if reply.refused is not None:
        return Answered(None, REFUSED, reply.refused, *spent)
    if reply.returned is not None and reply.text is None:  # a function that answers with nothing but its other columns
        return Answered(None, OK, None, *spent)
    _, found, is_cut = split_thoughts(reply.text or "")
    text = None if is_blank(found) else found
    if reply.truncated:
        return Answered(text, TRUNCATED, "the reply reached the token limit", *spent)
    if is_cut or text is None:
        reason = CUT_THOUGHT if is_cut else reply.lacks or "a reply of thoughts without an answer"
        return Answered(None, UNPARSED, f"no text: {reason}", *spent)
    return Answered(text, OK, None, *spent)


# Answering the questions of a table with a bot: ``fm.answer``.


def answer(
    table: shared.Table,
    bot: shared.Bot,
    *,
    output: shared.Output = None,
    system: Annotated[str | None, Help("The value of the column system. Default: the bot's name.")] = None,
    columns: shared.Columns = None,
    keep: shared.KeepAll = None,
    repeats: Annotated[
        int, Help("Answers of each question, each from a call of its own; rows get the number of the repeat.")
    ] = 1,
    retry: Annotated[
        Sequence[str] | str, Help("Repeat stored calls with these statuses: unparsed,truncated,refused.")
    ] = (),
    sample: shared.Sample = None,
    seed: shared.Seed = 0,
    files: Files = None,
    resume: shared.Resume = False,
    overwrite: shared.Overwrite = False,
    progress: Annotated[
        Callable[[Progress], None] | None,
        Help("A function that is called with the progress while questions are answered."),
    ] = None,
    watch: Annotated[
        Callable[[Spending], None] | None, Help("A function that is called with the spending before the first call.")
    ] = None,
) -> Any:
    """Let a bot answer every question of ``table``, in memory or in files, as ``score`` accepts them.

    ``bot`` is one of this package's or a function of the question or of named columns.  Returns the table's columns, or
    the id, the question and the columns in ``keep``, plus ``system`` (by default the bot's name), ``answer``,
    ``answer_status``, ``answer_reason``, ``latency_ms`` (of one call), tokens and ``answer_call`` (equal in rows that
    share a call).  A row without an answer is null, and its status says why.  With ``repeats``, each row is answered
    and returned so many times; without, equal questions share one call (docs/judges.md).

    >>> import fastmetrics as fm
    >>> faq = {"question": ["Where is my card?", "How do I pay?"], "answer": ["By mail.", "Online."]}
    >>> faq = fm.retrieval.StrictMatchBot(faq)
    >>> answered = fm.answer({"id": [1], "question": ["How can I pay?"], "reference": ["Online."]}, faq)
    >>> answered.select(["id", "reference", "system", "answer"]).to_pylist()
    [{'id': 1, 'reference': 'Online.', 'system': 'faq', 'answer': 'Online.'}]

    With ``output``, the answers are written to a file that ``score`` reads, and the result has its paths, the rows by
    status and the ``spending``.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "questions.jsonl").write_text('{"id": 1, "question": "Capital of France?"}')
    >>> fm.answer(folder / "questions.jsonl", lambda question: "Paris", output=folder / "answers.jsonl").counts
    {'ok': 1}

    Raises the errors of ``score``, ``ColumnError`` if the question column is missing or an output column exists,
    ``InputError`` for a prompt that is too long, before any call, ``ServiceError`` if calls fail repeatedly,
    ``OptionError`` for an unsupported bot.
    """
    chosen = bot_of(bot)
    at_once = (chosen.concurrency or 1) if isinstance(chosen, CallBot) else 1
    limits = Limits(batch_rows=max(SIZES.call_rows, at_once), part_rows=SIZES.answered_part_rows)
    files = file_settings(files)
    options = RunOptions(files, resume, overwrite, progress, limits)
    if output is None:
        check_without_output(options)
    elif isinstance(chosen, CallBot):
        check_apart(chosen.store_path, output)
    opened = open_table(table, files)
    target = None if output is None else open_output(output, opened, options)
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
    source = sampled(opened, plan.columns, sample, seed)
    plan = replace(plan, keep=with_row_numbers(plan.keep, source))
    check_prompts(source, plan)
    with asking(plan) as (maker, spending):
        if watch is not None:
            watch(spending)
        made = make_columns(maker, source, target, options, BEHIND)
    return made if target is None else replace(made, spending=spending)


def bot_of(bot: Any) -> Bot:
    """A bot, or a function wrapped as one; raises ``OptionError`` for anything else."""
    if isinstance(bot, CallBot | DirectBot):
        return bot
    if callable(bot):
        return FunctionBot(bot)
    raise OptionError(Argument("bot"), f": expected a bot or a function of the question, got {type(bot).__name__}")


def check_prompts(source: TableSource, plan: AnswerMaker) -> None:
    """Raise ``InputError`` if a prompt is too long for the model; other bots need no check."""
    bot, read = plan.bot, 0
    if not isinstance(bot, PromptBot):
        return
    selection = source.select({column: plan.columns[column] for column in plan.reads.values()})
    # the run itself reports bad rows
    for batch in good_batches(source, selection, limits=Limits(batch_rows=SIZES.call_rows), skip=True):
        for row, values in enumerate(plan.values(batch), read + 1):
            if None not in values:
                bot.check(values, row)
        read += batch.num_rows


@contextmanager
def asking(plan: AnswerMaker) -> Iterator[tuple[AnswerMaker, Spending]]:
    """The maker of answers, with a sender if its bot needs one, and the spending record."""
    bot = plan.bot
    if not isinstance(bot, CallBot):
        yield plan, Spending()
        return
    budget = bot.budget()
    with CallStore(bot.store_path) as calls, bot.sender(calls, budget) as sender:
        yield replace(plan, sender=sender), budget.spending
