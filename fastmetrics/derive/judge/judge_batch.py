"""From rows to calls, and from replies to scores, reasons and statuses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from fastmetrics.base.columns import as_text_lists
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.base.score_metadata import BatchSums
from fastmetrics.derive.calls.call import REPLY, Answer, Call, CallMaker, Model
from fastmetrics.derive.calls.call_sender import ModelCalls
from fastmetrics.derive.clients.completion import completion
from fastmetrics.derive.judge.first_replies import FirstReplies
from fastmetrics.derive.judge.judge_plan import JudgePlan
from fastmetrics.derive.judge.judged_columns import IDENTICAL, MISSING, TOO_LONG, UNASKED, JudgeRating, columns_of
from fastmetrics.derive.prompts.prompt import Template, Value, once_more, opening
from fastmetrics.derive.prompts.rubric import Rubric
from fastmetrics.derive.prompts.template import values_of
from fastmetrics.derive.replies.reply_forms import FORMS
from fastmetrics.derive.replies.reply_parsing import OK, UNPARSED, Reading, read_reply
from fastmetrics.metrics.batch import Batch, script_counts
from fastmetrics.metrics.score_batch import fingerprints, listed_texts

_SHOWN = 200
BEHIND = 3
"""Batches in progress: while the last calls of one are pending, the next ones keep the sender busy."""
IS_JUDGED = "\0asked"
"""The column that tells which rows are judged, if not all are; no column of a user has this name."""
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
            content = completion(answer.body).lacks or (reading.text or "").strip()[:_SHOWN]
            expected = f"score from {low:g} to {high:g}" if self.rubric.kind == "score" else f'"{self._form.field}"'
            return reading._replace(reason=f"no {expected} in: {content}")
        if self._swapped and reading.score is not None:
            return reading._replace(score=1 - reading.score)
        return reading


_Cell: TypeAlias = "JudgeRating | tuple[_RubricCalls, Call]"
"""A call of a row, or why there is none."""


def _not_asked(row: Sequence[Sequence[_Cell]]) -> tuple[list[_Cell], ...]:
    """A row without calls; its score is undefined, not missing, so that no reader takes it for a failed one."""
    return tuple([JudgeRating(UNASKED, math.nan, "not asked: --until was met") for _ in cells] for cells in row)


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
        if IS_JUDGED in batch.schema.names:
            asking = batch.column(IS_JUDGED).to_pylist()
            rows = [row if is_judged else _not_asked(row) for row, is_judged in zip(rows, asking, strict=True)]
        judgements = self._judged([entry for row in rows for cell in row for entry in cell])
        judged = [[[next(judgements) for _ in cell] for cell in row] for row in rows]
        arrays = {name: batch.column(name) for name in plan.keep}
        for place, rubric_calls in enumerate(self._rubrics):
            repeats = self._settings.repeats * (1 if rubric_calls.mirror is None else 2)
            replies = self._settings.keep_replies
            columns = columns_of([row[place] for row in judged], repeats, replies=replies, times=plan.times)
            arrays |= {rubric_calls.rubric.axis + suffix: array for suffix, array in columns.items()}
        sums = BatchSums({}, self._cautions(batch), fingerprints(batch, plan.identity))
        return sums.on(pa.record_batch(arrays))

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The column of each placeholder, texts that are lists parsed on request."""
        columns = {name: batch.column(column) for name, column in self._plan.columns.items()}
        lists = {name: column for name, column in self._plan.columns.items() if column in self._plan.lists}
        return {**columns, **{name: as_text_lists(columns[name], column) for name, column in lists.items()}}

    def _cautions(self, batch: pa.RecordBatch) -> dict[str, list[int]]:
        """The counts of rows that a note tells of."""
        texts = Batch(self._columns(batch))
        counts = listed_texts(texts, self._plan.columns)
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
        repeats, most = self._settings.repeats, self._settings.max_chars
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
            with first.turn:
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
