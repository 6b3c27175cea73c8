"""The plan of a judge for a table, from rows to calls, and from replies to scores, reasons and statuses."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from fastmetrics.base.errors import Argument, ColumnError, ServiceError, UnknownNameError, quoted
from fastmetrics.base.input_columns import COLUMNS, passed_over, resolve
from fastmetrics.base.options import Choice, Flag, Whole, about, argument, with_parameters
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import BatchSums, ScoreMetadata
from fastmetrics.base.text_structure import as_text_lists
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.notes import column_counts, script_counts
from fastmetrics.metrics.plan import text_lists
from fastmetrics.metrics.score_batch import fingerprints
from fastmetrics.metrics.stored_metadata import list_specs
from fastmetrics.models.call_sender import ModelCalls
from fastmetrics.models.call_setup import MODEL, RUBRICS, CallSettings, JudgeOptions
from fastmetrics.models.calls import REPLY, Answer, Call, CallMaker, Model
from fastmetrics.models.clients import MANY
from fastmetrics.models.judged_columns import IDENTICAL, MISSING, TOO_LONG, JudgeRating, judge_columns
from fastmetrics.models.prompts import (
    LANGUAGES,
    Rubric,
    Template,
    Value,
    columns_of,
    find_rubrics,
    kind_of,
    once_more,
    opening,
    values_of,
)
from fastmetrics.models.replies import FORMS, OK, REFUSED, TRUNCATED, UNPARSED, Reading, read_reply

# All settings of a judge, checked before anything is read.


ASKABLE_AGAIN = (UNPARSED, TRUNCATED, REFUSED)
"""Statuses of replies that can be requested again."""

_ALLOWED: Mapping[str, Any] = {
    "language": Choice(*LANGUAGES),
    "repeats": Whole(1, 1_000),
    "structured": Flag(),
    "max_unparsed": Whole(0, MANY),
    "keep_replies": Flag(),
}


@with_parameters
@dataclass(frozen=True)
class JudgeSettings(JudgeOptions, CallSettings):
    """The settings of :func:`judge`, which explains them.

    {parameters}

    >>> JudgeSettings(rubrics="safety", model="m", base_url="http://localhost:8000/v1").endpoint_name
    'localhost:8000/v1'

    Raises ``OptionError`` for an invalid setting, and the errors of :func:`find_rubrics` and :func:`price_of`.
    """

    rubrics: str | Path | Rubric | Sequence[str | Path | Rubric] = field(metadata=about(RUBRICS))
    model: str = field(metadata=about(MODEL))

    def __post_init__(self) -> None:
        """Check all settings."""
        self.check_calls()
        for name, allowed in _ALLOWED.items():
            argument(name, getattr(self, name), allowed)
        for status in self.statuses_to_retry:
            argument("retry", status, Choice(*ASKABLE_AGAIN))
        _ = self.loaded_rubrics

    @property
    def statuses_to_retry(self) -> tuple[str, ...]:
        """The statuses whose stored replies are requested again."""
        return (self.retry,) if isinstance(self.retry, str) else tuple(self.retry)

    @cached_property
    def loaded_rubrics(self) -> list[Rubric]:
        """The rubrics, read."""
        return find_rubrics(self.rubrics, self.language)


# The plan of a judge for a table: the rubrics, their columns, and the signature.


@dataclass(frozen=True)
class JudgePlan:
    """The settings and the columns of rubrics; ``columns`` are yours by placeholder, ``keep`` those to copy."""

    settings: JudgeSettings
    columns: Mapping[str, str]
    keep: Sequence[str]
    times: bool = False
    identity: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sample: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    has_blanks: bool = False
    """Whether a missing text is a blank cell of a file."""
    systems: Sequence[str] = ()
    """The names of the two tables whose answers are compared, if there are two."""

    @property
    def rubrics(self) -> Sequence[Rubric]:
        """The rubrics, read."""
        return self.settings.loaded_rubrics

    @property
    def axes(self) -> list[str]:
        """The columns of scores."""
        return [rubric.axis for rubric in self.rubrics]

    @property
    def kinds(self) -> dict[str, str]:
        """The input columns and their kinds."""
        copied = dict.fromkeys([*self.keep, *self.identity.values()], "any")
        return {**copied, **{column: kind_of(name) for name, column in self.columns.items()}}

    @property
    def signature(self) -> ScoreMetadata:
        """All settings that affect the judgements."""
        call_settings = {
            **self.settings.configured_model.identity,
            **{name: getattr(self.settings, name) for name in ("repeats", "structured")},
            "max_chars": self.settings.calls.max_chars,
            **({"systems": list(self.systems)} if self.systems else {}),
        }
        return ScoreMetadata(
            version=__version__,
            scores={
                rubric.axis: {"metric": rubric.axis, **rubric.settings(), **call_settings} for rubric in self.rubrics
            },
            columns=self.columns,
            passed_over=self.passed_over or None,
            keep=self.keep,
            lists=list_specs(self.lists) or None,
            sample=self.sample or None,
            more_columns=["replies"] * self.settings.keep_replies + ["times"] * self.times or None,
        )


def plan_judging(
    names: Sequence[str],
    settings: JudgeSettings,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] = (),
    *,
    has_name: bool = False,
    times: bool = False,
    sample: Mapping[str, int] | None = None,
    lists: Sequence[str] | str = (),
    systems: Sequence[str] = (),
) -> JudgePlan:
    """The plan for a table with columns of these ``names``; the id is kept if there is one.

    Runs with a name read the question for the fingerprint; ``lists`` are as in ``plan``.  Raises ``ColumnError`` for a
    placeholder without a column, for an unknown kept column, and for a kept column with the name of an output column.
    """
    rubrics = settings.loaded_rubrics
    holders = dict.fromkeys(name for rubric in rubrics for name in rubric.columns)
    resolved = resolve(names, columns, schema, {"id", *(name for name in holders if name in COLUMNS)})
    used = columns_of(holders, resolved, names)
    for rubric in rubrics:
        _check(rubric, used, names)
    copied = list(dict.fromkeys([*([resolved["id"]] if "id" in resolved else []), *keep]))
    plan = JudgePlan(
        settings=settings,
        columns=used,
        keep=copied,
        times=times,
        identity={
            name: resolved[name]
            for name in ("id", "question")
            if name in resolved and (has_name or name == "id" or name in used)
        },
        passed_over=passed_over(names, {name: column for name, column in used.items() if name in COLUMNS}),
        sample=dict(sample or {}),
        lists=text_lists(names, resolved, lists),
        systems=tuple(systems),
    )
    _check_kept(copied, names, plan.axes)
    return plan


def _check(rubric: Rubric, used: Mapping[str, str], names: Sequence[str]) -> None:
    for name in _lacking(rubric, used):
        has = f"the table has: {quoted(names)}"
        raise ColumnError(f"the rubric {rubric.name!r} needs the column {name}; {has}")


def _lacking(rubric: Rubric, used: Mapping[str, str]) -> Iterator[str]:
    yield from (repr(name) for name in rubric.columns if name not in used and name not in rubric.optional)
    if rubric.one_of and not any(name in used for name in rubric.one_of):
        yield " or ".join(map(repr, rubric.one_of))


def _check_kept(keep: Sequence[str], names: Sequence[str], axes: Sequence[str]) -> None:
    for name in keep:
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
        if any(name == axis or name.startswith(f"{axis}_") for axis in axes):
            raise ColumnError(f"the kept column {name!r} has the name of an output column; rename it")


# The first replies of a judge: a run stops early if none of them has a score.


_SHOWN = 300
_WITHOUT_SCORE = (UNPARSED, TRUNCATED)


class FirstReplies:
    """Counts the first replies of a model that have no score, up to ``most``; 0 is no limit.

    A judge that never replies in the requested form would fail on every row, and every reply costs money.  While
    ``undecided``, the caller holds ``lock`` and makes at most ``left`` judgements at a time.
    """

    def __init__(self, model: Model, most: int) -> None:
        self._model = model
        self._most = most
        self._replies: dict[bytes, int] = {}
        self._shown: Reading | None = None
        self._failure: ServiceError | None = None
        self.undecided = most > 0
        self.lock = threading.Lock()

    @property
    def left(self) -> int:
        """The number of judgements to make next, each of which may take a second request."""
        if self._failure is not None:
            raise self._failure
        return max(1, (self._most - sum(self._replies.values())) // 2)

    def add(self, key: bytes, reading: Reading, replies: int) -> None:
        """Record a judgement, by the key of its call, and its number of replies.

        A score ends the count.  Calls without a reply and refusals do not count: they say nothing about other rows.
        Raises ``ServiceError`` at the last of the replies without a score.
        """
        if reading.status == OK:
            self.undecided = False
        elif self.undecided and reading.status in _WITHOUT_SCORE:
            self._replies[key] = replies
            self._shown = self._shown or reading
            if sum(self._replies.values()) >= self._most:
                self._failure = ServiceError(*self._message(self._shown))
                raise self._failure

    def _message(self, reading: Reading) -> tuple[object, ...]:
        cut = ", cut at the token limit," if reading.status == TRUNCATED else ""
        text = (reading.text or "").strip()[:_SHOWN]
        count = sum(self._replies.values())
        return (
            f"{self._model.endpoint}: none of the first {count:,} replies of {self._model.name!r} has a score; "
            f"one of them{cut} is {text!r}. Try another model, another rubric or other ",
            Argument("parameters"),
            ". These replies are stored: the same run does not pay for them again. To judge the other rows all the "
            "same, use ",
            Argument("max_unparsed", 0),
        )


# From rows to calls, and from replies to scores, reasons and statuses.


_SHOWN_CHARACTERS = 200
BEHIND = 3
"""Batches in progress: while the last calls of one are pending, the next ones keep the sender busy."""
AGAIN = "asked again"
"""The repair of an unreadable reply: the model was asked again."""


class _RubricCalls:
    """One rubric, prepared to make calls; ``swapped`` puts the second column of its pair first."""

    def __init__(self, rubric: Rubric, model: Model, *, structured: bool, swapped: bool = False) -> None:
        self.rubric = rubric
        self._form = FORMS[rubric.kind]
        self._calls = CallMaker(model, self._form.schema if structured else None, [opening(rubric)])
        self._template = Template(rubric)
        self._swapped = swapped
        self.mirror: _RubricCalls | None = None
        if rubric.pair and not swapped:
            self.mirror = _RubricCalls(rubric, model, structured=structured, swapped=True)

    def calls(self, values: Sequence[Value], repeats: int, most: int) -> list[Call] | JudgeRating:
        """The calls of a row, from the values of the placeholders, or why it cannot be judged."""
        rubric = self.rubric
        if None in values:
            absent = {name for name, value in zip(rubric.columns, values, strict=True) if value is None}
            lacking = [name for name in rubric.columns if name in absent and name not in rubric.optional]
            if not lacking and rubric.one_of and absent.issuperset(rubric.one_of):
                lacking = list(rubric.one_of)
            if lacking:
                return JudgeRating(MISSING, reason=f"null: {', '.join(lacking)}")
        if rubric.pair:
            first, second = map(rubric.placeholders.index, ("first", "second"))
            if self._template.text(values[first]) == self._template.text(values[second]):
                return JudgeRating(IDENTICAL, 0.5, "the two answers are identical: a tie; no call was made")
            if self._swapped:
                values = list(values)
                values[first], values[second] = values[second], values[first]
        message = self._template.filled(values)
        if len(message.content) > most:
            reason = f"{len(message.content):,} characters, above the limit max_chars of {most:,}; no call was made"
            return JudgeRating(TOO_LONG, reason=reason)
        return [self._calls.call([message], repeat) for repeat in range(repeats)]

    def once_more(self, call: Call, text: str) -> Call:
        """The follow-up call after an unreadable reply."""
        return self._calls.call([*call.messages[1:], *once_more(self.rubric, text)], call.repeat)

    def read(self, answer: Answer) -> Reading:
        """The judgement in an answer."""
        if answer.outcome != REPLY:
            return Reading(answer.outcome, reason=answer.body or None)
        low, high = self.rubric.range
        reading = read_reply(answer.body, lambda fields: self._form.score(fields, low, high))
        if reading.status == UNPARSED:
            content = reading.reason or (reading.text or "").strip()[:_SHOWN_CHARACTERS]
            expected = f"score from {low:g} to {high:g}" if self.rubric.kind == "score" else f'"{self._form.field}"'
            return reading._replace(reason=f"no {expected} in: {content}")
        if self._swapped and reading.score is not None:
            return reading._replace(score=1 - reading.score)
        return reading


_Cell: TypeAlias = "JudgeRating | tuple[_RubricCalls, Call]"
"""A call of a row, or why there is none."""


@dataclass(slots=True)
class _JudgedCall:
    """A call in progress: the answers so far, and the judgement."""

    rubric_calls: _RubricCalls
    call: Call
    answers: list[Answer]
    reading: Reading

    @property
    def judgement(self) -> JudgeRating:
        reading, first = self.reading, self.answers[0]
        prompt, completion, latency = first.prompt_tokens, first.completion_tokens, first.latency_ms
        if len(self.answers) > 1:
            counts = zip(*(answer[2:5] for answer in self.answers), strict=True)
            prompt, completion, latency = (_sum(each) for each in counts)
        return JudgeRating(
            reading.status,
            reading.score,
            reading.reason,
            reading.repairs,
            reading.text,
            reading.trace,
            prompt,
            completion,
            latency,
            self.call.id,
        )


def _sum(counts: Sequence[Any]) -> Any:
    """The sum of the known values, or None."""
    values = [count for count in counts if count is not None]
    return sum(values) if values else None


class BatchJudge:
    """Maps a batch of rows to judgements through a sender; equal batches give equal calls."""

    def __init__(self, plan: JudgePlan, sender: ModelCalls) -> None:
        self._plan = plan
        self._sender = sender
        settings = self._settings = plan.settings
        model = settings.configured_model
        self._first = FirstReplies(model, settings.max_unparsed)
        self._rubrics = [_RubricCalls(rubric, model, structured=settings.structured) for rubric in plan.rubrics]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, and the columns of every rubric."""
        plan = self._plan
        rows = list(self._rows(batch))
        judgements = self._judged([entry for row in rows for cell in row for entry in cell])
        judged = [[[next(judgements) for _ in cell] for cell in row] for row in rows]
        arrays = {name: batch.column(name) for name in plan.keep}
        for place, rubric_calls in enumerate(self._rubrics):
            repeats = self._settings.repeats * (1 if rubric_calls.mirror is None else 2)
            replies = self._settings.keep_replies
            columns = judge_columns([row[place] for row in judged], repeats, replies=replies, times=plan.times)
            arrays |= {rubric_calls.rubric.axis + suffix: array for suffix, array in columns.items()}
        sums = BatchSums({}, self._cautions(batch), fingerprints(batch, plan.identity))
        return sums.on(pa.record_batch(arrays))

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The column of each placeholder, texts that are lists parsed on request."""
        columns = {name: batch.column(column) for name, column in self._plan.columns.items()}
        lists = {name: column for name, column in self._plan.columns.items() if column in self._plan.lists}
        return columns | {
            name: as_text_lists(columns[name], column, separator=self._plan.lists[column])
            for name, column in lists.items()
        }

    def _cautions(self, batch: pa.RecordBatch) -> dict[str, list[int]]:
        """The counts of rows that a note tells of."""
        texts = Batch(self._columns(batch))
        counts = column_counts(texts, self._plan.columns, batch.schema, has_blanks=self._plan.has_blanks)
        for language in sorted({rubric.language for rubric in self._plan.rubrics}):
            columns = {name for rubric in self._plan.rubrics if rubric.language == language for name in rubric.columns}
            counts |= script_counts(texts, language, sorted(columns & texts.columns.keys() & COLUMNS.keys()))
        return counts

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[list[_Cell], ...]]:
        """The cells of each row, by rubric and repeat; an empty list counts as missing, an empty text does not."""
        columns = {name: values_of(column) for name, column in self._columns(batch).items()}
        nothing: list[Value] = [None] * batch.num_rows
        return zip(
            *(
                [
                    self._cells(rubric_calls, values)
                    for values in zip(
                        *(columns.get(name, nothing) for name in rubric_calls.rubric.columns), strict=True
                    )
                ]
                for rubric_calls in self._rubrics
            ),
            strict=True,
        )

    def _cells(self, rubric_calls: _RubricCalls, values: Sequence[Value]) -> list[_Cell]:
        repeats, most = self._settings.repeats, self._settings.calls.max_chars
        cells: list[_Cell] = []
        for direction in (rubric_calls,) if rubric_calls.mirror is None else (rubric_calls, rubric_calls.mirror):
            calls = direction.calls(values, repeats, most)
            cells += [calls] * repeats if isinstance(calls, JudgeRating) else [(direction, call) for call in calls]
        return cells

    def _judged(self, cells: Sequence[_Cell]) -> Iterator[JudgeRating]:
        """The judgement of each cell, in order; all calls go through the sender together."""
        judged_calls = iter(self._judged_calls([cell for cell in cells if not isinstance(cell, JudgeRating)]))
        return (cell if isinstance(cell, JudgeRating) else next(judged_calls).judgement for cell in cells)

    def _judged_calls(self, calls: Sequence[tuple[_RubricCalls, Call]]) -> list[_JudgedCall]:
        """The answers to calls; the first ones of a run are waited for, until one has a score."""
        first = self._first
        judged: list[_JudgedCall] = []
        if first.undecided:
            with first.lock:
                while first.undecided and len(judged) < len(calls):
                    batch = self._settled(calls[len(judged) : len(judged) + first.left])
                    judged += batch
                    for entry in batch:
                        first.add(entry.call.key, entry.reading, len(entry.answers))
        return judged + self._settled(calls[len(judged) :])

    def _settled(self, calls: Sequence[tuple[_RubricCalls, Call]]) -> list[_JudgedCall]:
        """The answers to calls; stored replies with a status in ``retry`` are requested again."""
        judged = self._replies(calls, again=False) if calls else []
        retry = self._settings.statuses_to_retry
        stale = [
            place
            for place, entry in enumerate(judged)
            if entry.reading.status in retry and any(map(self._sender.is_old, entry.answers))
        ]
        if stale:
            for place, entry in zip(stale, self._replies([calls[at] for at in stale], again=True), strict=True):
                judged[place] = entry
        return judged

    def _replies(self, calls: Sequence[tuple[_RubricCalls, Call]], *, again: bool) -> list[_JudgedCall]:
        """The answers to calls, and to the follow-up calls after unreadable replies."""
        sender = self._sender
        answers = sender.ask([call for _, call in calls], again=again)
        judged = [
            _JudgedCall(rubric_calls, call, [answer], rubric_calls.read(answer))
            for (rubric_calls, call), answer in zip(calls, answers, strict=True)
        ]
        unread = [entry for entry in judged if entry.reading.status == UNPARSED and (entry.reading.text or "").strip()]
        if unread:
            more = [entry.rubric_calls.once_more(entry.call, entry.reading.text or "") for entry in unread]
            for entry, answer in zip(unread, sender.ask(more, again=again), strict=True):
                entry.answers.append(answer)
                reading = entry.rubric_calls.read(answer)
                repairs = (AGAIN, *reading.repairs) if reading.status == OK else ()
                entry.reading = reading._replace(repairs=repairs)
        return judged
