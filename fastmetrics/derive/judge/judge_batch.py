"""From rows to calls, and from replies to scores, reasons and statuses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from fastmetrics.core.corpus_counts import BatchSums
from fastmetrics.core.input_columns import COLUMNS
from fastmetrics.core.text_lists import as_text_lists
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.cautions import script_counts
from fastmetrics.derive.calls.call import REPLY, Answer, Call, CallMaker, Model
from fastmetrics.derive.calls.call_sender import ModelCalls
from fastmetrics.derive.clients.completion import completion
from fastmetrics.derive.judge.first_replies import FirstReplies
from fastmetrics.derive.judge.judge_plan import JudgePlan
from fastmetrics.derive.judge.judged_columns import IDENTICAL, MISSING, TOO_LONG, UNASKED, Judgement, columns_of
from fastmetrics.derive.prompts.prompt import Template, Value, once_more, opening
from fastmetrics.derive.prompts.rubric import Rubric
from fastmetrics.derive.prompts.template import values_of
from fastmetrics.derive.replies.reply_forms import FORMS
from fastmetrics.derive.replies.reply_parsing import OK, UNPARSED, Reading, read_reply
from fastmetrics.plan.score_batch import fingerprints, listed_texts

_SHOWN = 200
BEHIND = 3
"""Batches in progress: while the last calls of one are pending, the next ones keep the sender busy."""
ASKED = "\0asked"
"""The column that tells which rows are judged, if not all are; no column of a user has this name."""
AGAIN = "asked again"
"""The repair of an unreadable reply: the model was asked again."""


class _Asker:
    """One rubric, prepared to make calls; ``swapped`` puts the second column of its pair first."""

    def __init__(self, rubric: Rubric, model: Model, *, structured: bool, swapped: bool = False) -> None:
        self.rubric = rubric
        self._form = FORMS[rubric.kind]
        self._calls = CallMaker(model, self._form.schema if structured else None, [opening(rubric)])
        self._template = Template(rubric)
        self._swapped = swapped
        self.mirror: _Asker | None = None
        if rubric.pair and not swapped:
            self.mirror = _Asker(rubric, model, structured=structured, swapped=True)

    def calls(self, values: Sequence[Value], repeats: int, most: int) -> list[Call] | Judgement:
        """The calls of a row, from the values of the placeholders, or why it cannot be judged."""
        rubric = self.rubric
        if None in values:
            absent = {name for name, value in zip(rubric.columns, values, strict=True) if value is None}
            lacking = [name for name in rubric.columns if name in absent and name not in rubric.optional]
            if not lacking and rubric.one_of and absent.issuperset(rubric.one_of):
                lacking = list(rubric.one_of)
            if lacking:
                return Judgement(MISSING, reason=f"null: {', '.join(lacking)}")
        if rubric.pair:
            first, second = map(rubric.placeholders.index, ("first", "second"))
            if self._template.text(values[first]) == self._template.text(values[second]):
                return Judgement(IDENTICAL, 0.5, "the two answers are identical: a tie; no call was made")
            if self._swapped:
                values = list(values)
                values[first], values[second] = values[second], values[first]
        message = self._template.filled(values)
        if len(message.content) > most:
            told = f"{len(message.content):,} characters, above the limit max_chars of {most:,}; no call was made"
            return Judgement(TOO_LONG, reason=told)
        return [self._calls.call([message], repeat) for repeat in range(repeats)]

    def once_more(self, call: Call, text: str) -> Call:
        """The follow-up call after an unreadable reply."""
        return self._calls.call([*call.messages[1:], *once_more(self.rubric, text)], call.repeat)

    def read(self, answer: Answer) -> Reading:
        """The judgement in an answer."""
        if answer.outcome != REPLY:
            return Reading(answer.outcome, reason=answer.body or None)
        low, high = self.rubric.range
        reading = read_reply(answer.body, lambda found: self._form.score(found, low, high))
        if reading.status == UNPARSED:
            said = completion(answer.body).lacks or (reading.text or "").strip()[:_SHOWN]
            wanted = f"score from {low:g} to {high:g}" if self.rubric.kind == "score" else f'"{self._form.field}"'
            return reading._replace(reason=f"no {wanted} in: {said}")
        if self._swapped and reading.score is not None:
            return reading._replace(score=1 - reading.score)
        return reading


_Cell: TypeAlias = "Judgement | tuple[_Asker, Call]"
"""A call of a row, or why there is none."""


def _not_asked(row: Sequence[Sequence[_Cell]]) -> tuple[list[_Cell], ...]:
    """A row without calls; its score is undefined, not missing, so that no reader takes it for a failed one."""
    return tuple([Judgement(UNASKED, math.nan, "not asked: --until was met") for _ in cells] for cells in row)


@dataclass(slots=True)
class _Asked:
    """A call in progress: the answers so far, and the judgement."""

    asker: _Asker
    call: Call
    answers: list[Answer]
    reading: Reading

    @property
    def judgement(self) -> Judgement:
        told, first = self.reading, self.answers[0]
        prompt, completion, latency = first.prompt_tokens, first.completion_tokens, first.latency_ms
        if len(self.answers) > 1:
            counts = zip(*(one[2:5] for one in self.answers), strict=True)
            prompt, completion, latency = (_sum(each) for each in counts)
        return Judgement(
            told.status,
            told.score,
            told.reason,
            told.repairs,
            told.text,
            told.trace,
            prompt,
            completion,
            latency,
            self.call.id,
        )


def _sum(counts: Sequence[Any]) -> Any:
    """The sum of the known values, or None."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class BatchJudge:
    """Maps a batch of rows to judgements through a sender; equal batches give equal calls."""

    def __init__(self, plan: JudgePlan, sender: ModelCalls) -> None:
        self._plan = plan
        self._sender = sender
        self._first = FirstReplies(plan.model, plan.max_unparsed)
        self._askers = [_Asker(one, plan.model, structured=plan.structured) for one in plan.rubrics]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, and the columns of every rubric."""
        plan = self._plan
        rows = list(self._rows(batch))
        if ASKED in batch.schema.names:
            asking = batch.column(ASKED).to_pylist()
            rows = [row if one else _not_asked(row) for row, one in zip(rows, asking, strict=True)]
        asked = self._judged([one for row in rows for cell in row for one in cell])
        judged = [[[next(asked) for _ in cell] for cell in row] for row in rows]
        arrays = {name: batch.column(name) for name in plan.keep}
        for place, asker in enumerate(self._askers):
            repeats = plan.repeats * (1 if asker.mirror is None else 2)
            made = columns_of([row[place] for row in judged], repeats, replies=plan.keep_replies, times=plan.times)
            arrays |= {asker.rubric.axis + suffix: array for suffix, array in made.items()}
        sums = BatchSums({}, self._cautions(batch), fingerprints(batch, plan.identity))
        return sums.on(pa.record_batch(arrays))

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The column of each placeholder, texts that are lists parsed on request."""
        columns = {name: batch.column(yours) for name, yours in self._plan.columns.items()}
        lists = {name: yours for name, yours in self._plan.columns.items() if yours in self._plan.lists}
        return {**columns, **{name: as_text_lists(columns[name], yours) for name, yours in lists.items()}}

    def _cautions(self, batch: pa.RecordBatch) -> dict[str, list[int]]:
        """The counts of rows that a note tells of."""
        texts = Batch(self._columns(batch))
        counts = listed_texts(texts, self._plan.columns)
        for language in sorted({rubric.language for rubric in self._plan.rubrics}):
            named = {name for one in self._plan.rubrics if one.language == language for name in one.columns}
            counts |= script_counts(texts, language, sorted(named & texts.columns.keys() & COLUMNS.keys()))
        return counts

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[list[_Cell], ...]]:
        """The cells of each row, by rubric and repeat; an empty list counts as missing, an empty text does not."""
        columns = {name: values_of(column) for name, column in self._columns(batch).items()}
        nothing: list[Value] = [None] * batch.num_rows
        return zip(
            *(
                [
                    self._cells(asker, values)
                    for values in zip(*(columns.get(name, nothing) for name in asker.rubric.columns), strict=True)
                ]
                for asker in self._askers
            ),
            strict=True,
        )

    def _cells(self, asker: _Asker, values: Sequence[Value]) -> list[_Cell]:
        repeats, most = self._plan.repeats, self._plan.max_chars
        cells: list[_Cell] = []
        for one in (asker,) if asker.mirror is None else (asker, asker.mirror):
            made = one.calls(values, repeats, most)
            cells += [made] * repeats if isinstance(made, Judgement) else [(one, call) for call in made]
        return cells

    def _judged(self, cells: Sequence[_Cell]) -> Iterator[Judgement]:
        """The judgement of each cell, in order; all calls go through the sender together."""
        asked = iter(self._asked([cell for cell in cells if not isinstance(cell, Judgement)]))
        return (cell if isinstance(cell, Judgement) else next(asked).judgement for cell in cells)

    def _asked(self, wanted: Sequence[tuple[_Asker, Call]]) -> list[_Asked]:
        """The answers to calls; the first ones of a run are waited for, until one has a score."""
        first = self._first
        asked: list[_Asked] = []
        if first.undecided:
            with first.turn:
                while first.undecided and len(asked) < len(wanted):
                    some = self._settled(wanted[len(asked) : len(asked) + first.left])
                    asked += some
                    for one in some:
                        first.add(one.call.key, one.reading, len(one.answers))
        return asked + self._settled(wanted[len(asked) :])

    def _settled(self, wanted: Sequence[tuple[_Asker, Call]]) -> list[_Asked]:
        """The answers to calls; stored replies with a status in ``retry`` are requested again."""
        asked = self._replies(wanted, again=False) if wanted else []
        retry = self._plan.retry
        stale = [
            place
            for place, one in enumerate(asked)
            if one.reading.status in retry and any(map(self._sender.is_old, one.answers))
        ]
        if stale:
            for place, one in zip(stale, self._replies([wanted[at] for at in stale], again=True), strict=True):
                asked[place] = one
        return asked

    def _replies(self, wanted: Sequence[tuple[_Asker, Call]], *, again: bool) -> list[_Asked]:
        """The answers to calls, and to the follow-up calls after unreadable replies."""
        sender = self._sender
        answers = sender.ask([call for _, call in wanted], again=again)
        asked = [
            _Asked(asker, call, [answer], asker.read(answer))
            for (asker, call), answer in zip(wanted, answers, strict=True)
        ]
        unread = [one for one in asked if one.reading.status == UNPARSED and (one.reading.text or "").strip()]
        if unread:
            more = [one.asker.once_more(one.call, one.reading.text or "") for one in unread]
            for one, answer in zip(unread, sender.ask(more, again=again), strict=True):
                one.answers.append(answer)
                reading = one.asker.read(answer)
                repairs = (AGAIN, *reading.repairs) if reading.status == OK else ()
                one.reading = reading._replace(repairs=repairs)
        return asked
