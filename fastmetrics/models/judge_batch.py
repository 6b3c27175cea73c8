"""The plan of a judge for a table, from rows to calls, and from replies to scores, reasons and statuses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pyarrow as pa

from fastmetrics.base.arrays import plain
from fastmetrics.base.column_names import COLUMNS, copied_columns, fitting_names, named_columns, passed_over, resolve
from fastmetrics.base.errors import Argument, ColumnError, ServiceError, UnknownColumnError, quoted
from fastmetrics.base.options import Choice, Flag, Whole, argument
from fastmetrics.base.paths import Names
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import BatchSums, RowCounts, ScoreMetadata
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.text_structure import as_text_lists
from fastmetrics.engines.column_maker import ColumnMaker, RunResult
from fastmetrics.metrics.batch import Batch
from fastmetrics.models.call_sender import ModelCalls
from fastmetrics.models.call_setup import MODEL, RUBRICS, CallSettings, JudgeOptions
from fastmetrics.models.calls import REPLY, Answer, Call, CallMaker, Model
from fastmetrics.models.clients import MANY
from fastmetrics.models.judged_columns import (
    IDENTICAL,
    MISSING,
    SCORED,
    TOO_LONG,
    UNSETTLED,
    added,
    counted,
    failed_calls,
    judge_columns,
    summed,
)
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
from fastmetrics.plans.notes import column_counts, column_notes, read_as, script_counts
from fastmetrics.plans.plan import text_lists
from fastmetrics.plans.score_batch import fingerprints
from fastmetrics.plans.stored_metadata import list_specs
from fastmetrics.results.score_columns import tells_sample
from fastmetrics.results.summary import MetricSummary, Summary, summarize
from fastmetrics.stats.fingerprints import fingerprint_text
from fastmetrics.stats.sums import State
from fastmetrics.tables.encoders import undefined_as_null

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


@dataclass(frozen=True)
class JudgeSettings(JudgeOptions, CallSettings):
    """The settings of :func:`judge`, which explains them.

    >>> JudgeSettings(rubrics="safety", model="m", base_url="http://localhost:8000/v1").endpoint_name
    'localhost:8000/v1'

    Raises ``OptionError`` for an invalid setting, and the errors of :func:`find_rubrics` and :func:`price_of`.
    """

    rubrics: Annotated[str | Path | Rubric | Sequence[str | Path | Rubric], Help(RUBRICS)]
    model: Annotated[str, Help(MODEL)]

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
        self._replies: dict[str | None, int] = {}
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

    def add(self, reading: Reading) -> None:
        """Record a judgement.

        A score ends the count.  Calls without a reply and refusals do not count: they say nothing about other rows.
        Raises ``ServiceError`` at the last of the replies without a score.
        """
        if reading.status == OK:
            self.undecided = False
        elif self.undecided and reading.status in _WITHOUT_SCORE:
            self._replies[reading.call] = reading.n_replies
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

    def calls(self, values: Sequence[Value], repeats: int, most: int) -> list[Call] | Reading:
        """The calls of a row, from the values of the placeholders, or why it cannot be judged."""
        rubric = self.rubric
        if None in values:
            absent = {name for name, value in zip(rubric.columns, values, strict=True) if value is None}
            lacking = [name for name in rubric.columns if name in absent and name not in rubric.optional]
            if not lacking and rubric.one_of and absent.issuperset(rubric.one_of):
                lacking = list(rubric.one_of)
            if lacking:
                return Reading(MISSING, reason=f"null: {', '.join(lacking)}")
        if rubric.pair:
            first, second = map(rubric.placeholders.index, ("first", "second"))
            if self._template.text(values[first]) == self._template.text(values[second]):
                return Reading(IDENTICAL, 0.5, "the two answers are identical: a tie; no call was made")
            if self._swapped:
                values = list(values)
                values[first], values[second] = values[second], values[first]
        message = self._template.filled(values)
        if len(message.content) > most:
            reason = f"{len(message.content):,} characters, above the limit max_chars of {most:,}; no call was made"
            return Reading(TOO_LONG, reason=reason)
        return [self._calls.call([message], repeat) for repeat in range(repeats)]

    def once_more(self, call: Call, text: str) -> Call:
        """The follow-up call after an unreadable reply."""
        return self._calls.call([*call.messages[1:], *once_more(self.rubric, text)], call.repeat)

    def read(self, call: Call, answer: Answer, *, is_old: bool) -> Reading:
        """The judgement in the answer to a call."""
        reading = (
            self._read(answer.body) if answer.outcome == REPLY else Reading(answer.outcome, None, answer.body or None)
        )
        spent = answer.prompt_tokens, answer.completion_tokens, answer.latency_ms
        return Reading(*reading[:6], *spent, call.id, 1, is_old)

    def _read(self, body: str) -> Reading:
        low, high = self.rubric.range
        reading = read_reply(body, lambda fields: self._form.score(fields, low, high))
        if reading.status == UNPARSED:
            content = reading.reason or (reading.text or "").strip()[:_SHOWN_CHARACTERS]
            expected = f"score from {low:g} to {high:g}" if self.rubric.kind == "score" else f'"{self._form.field}"'
            return reading._replace(reason=f"no {expected} in: {content}")
        if self._swapped and reading.score is not None:
            return reading._replace(score=1 - reading.score)
        return reading


_Cell: TypeAlias = "Reading | tuple[_RubricCalls, Call]"
"""A call of a row, or why there is none."""


# Counts of judged rows (sums of scores, statuses, repairs, tokens) and their summary.


def observe(axes: Sequence[str], part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
    """The sums of a part's scores, its rows by status, and the sums in its metadata."""
    states = {}
    for axis in axes:
        states[axis] = State()
        states[axis].add(part.column(axis))
    return {
        "scores": {axis: state.to_json() for axis, state in states.items()},
        "judged": {axis: counted(part, axis) for axis in axes},
        **BatchSums.of([part]).to_json(),
    }


def conclude(axes: Sequence[str], observed: Sequence[Mapping[str, Any]], rejected: int) -> ScoreMetadata:
    """The metadata about judged rows: missing and failed rows, statuses and repairs."""
    judged = judged_of(axes, observed)
    metrics = {}
    for axis in axes:
        statuses = judged[axis]["statuses"]
        rows, missing = sum(statuses.values()), statuses.get(MISSING, 0)
        undefined = sum(State.from_json(part["scores"][axis]).n_undefined for part in observed)
        failed = rows - missing - sum(statuses.get(status, 0) for status in SCORED)
        metrics[axis] = RowCounts(rows, missing, undefined, failed)
    sums = BatchSums.added(observed)
    return ScoreMetadata(
        metrics=metrics,
        n_rejected=rejected,
        judged=judged,
        cautions=sums.cautions or None,
        fingerprint={rows: fingerprint_text(of_rows) for rows, of_rows in sums.fingerprint.items()} or None,
    )


def judged_of(axes: Sequence[str], observed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of each judged column over all parts."""
    return {axis: added([part["judged"][axis] for part in observed]) for axis in axes}


def summary_of(
    axes: Sequence[str],
    observed: Sequence[Mapping[str, Any]],
    rejected: int,
    columns: Mapping[str, str],
    passed_over: Mapping[str, Sequence[str]],
) -> Summary:
    """The summary of judged rows, with notes on rows without scores and repairs."""
    cautions = BatchSums.added(observed).cautions
    metrics, notes = {}, column_notes(cautions)
    for axis, judged in judged_of(axes, observed).items():
        state = State()
        for part in observed:
            state = state.merge(State.from_json(part["scores"][axis]))
        statuses = judged["statuses"]
        state.tell_apart(0, state.n_missing - statuses.get(MISSING, 0))
        state.add_errors(rejected)
        metrics[axis] = MetricSummary.of(state, {})
        notes += _notes(axis, statuses, judged["repairs"])
    rows = sum(judged_of(axes[:1], observed)[axes[0]]["statuses"].values())
    return Summary(rows, metrics, {}, {}, notes, columns, passed_over)


def _notes(axis: str, statuses: Mapping[str, int], repairs: Mapping[str, int]) -> list[str]:
    rows = sum(statuses.values())
    lost = [f"{count:,} {status}" for status, count in statuses.items() if status not in SCORED]
    without = sum(count for status, count in statuses.items() if status not in SCORED)
    repaired = [f"{count:,} {repair}" for repair, count in repairs.items()]
    notes = [f"{axis}: {without:,} of {rows:,} rows without a score: {', '.join(lost)}"] if lost else []
    same = statuses.get(IDENTICAL, 0)
    notes += [f"{axis}: {same:,} of {rows:,} pairs of answers are identical: ties without a call"] if same else []
    return notes + ([f"{axis}: repaired replies: {', '.join(repaired)}"] if repaired else [])


# The maker of judgements: the rubrics, their columns, and the signature; from rows to judgements.


@dataclass(frozen=True)
class JudgementMaker(ColumnMaker):
    """The judgements of rows: the settings, the columns that are read (by placeholder) and copied, and a sender.

    Equal batches give equal calls.  Without a sender it is a plan alone; ``about`` returns the metadata about the
    finished run.
    """

    settings: JudgeSettings
    reads: Mapping[str, str]
    keep: Sequence[str]
    times: bool = False
    identity: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    """The columns that the user, or a preset, named."""
    sample: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    has_blanks: bool = False
    """Whether a missing text is a blank cell of a file."""
    systems: Sequence[str] = ()
    """The names of the two tables whose answers are compared, if there are two."""
    sender: ModelCalls | None = None
    about: Callable[[], ScoreMetadata] = ScoreMetadata

    @property
    def rubrics(self) -> Sequence[Rubric]:
        """The rubrics, read."""
        return self.settings.loaded_rubrics

    @property
    def axes(self) -> list[str]:
        """The columns of scores."""
        return [rubric.axis for rubric in self.rubrics]

    @property
    def columns(self) -> dict[str, str]:
        """The input columns and their kinds."""
        copied = dict.fromkeys([*self.keep, *self.identity.values()], "any")
        return {**copied, **{column: kind_of(name) for name, column in self.reads.items()}}

    @cached_property
    def signature(self) -> dict[str, Any]:
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
            columns=self.reads,
            named=self.named or None,
            passed_over=self.passed_over or None,
            keep=self.keep,
            lists=list_specs(self.lists) or None,
            sample=self.sample or None,
            more_columns=["replies"] * self.settings.keep_replies + ["times"] * self.times or None,
        ).to_json()

    @cached_property
    def _first(self) -> FirstReplies:
        return FirstReplies(self.settings.configured_model, self.settings.max_unparsed)

    @cached_property
    def _rubrics(self) -> list[_RubricCalls]:
        model, structured = self.settings.configured_model, self.settings.structured
        return [_RubricCalls(rubric, model, structured=structured) for rubric in self.rubrics]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The kept columns, and the columns of every rubric."""
        rows = list(self._rows(batch))
        judgements = self._judged([entry for row in rows for cell in row for entry in cell])
        judged = [[[next(judgements) for _ in cell] for cell in row] for row in rows]
        arrays = {name: batch.column(column) for name, column in copied_columns(self.keep, self.identity).items()}
        for place, rubric_calls in enumerate(self._rubrics):
            repeats = self.settings.repeats * (1 if rubric_calls.mirror is None else 2)
            replies = self.settings.keep_replies
            columns = judge_columns([row[place] for row in judged], repeats, replies=replies, times=self.times)
            arrays |= {rubric_calls.rubric.axis + suffix: array for suffix, array in columns.items()}
        sums = BatchSums({}, self._cautions(batch), fingerprints(batch, self.identity))
        return sums.on(pa.record_batch(arrays))

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The column of each placeholder, texts that are lists parsed on request."""
        columns = {name: batch.column(column) for name, column in self.reads.items()}
        lists = {name: column for name, column in self.reads.items() if column in self.lists}
        return columns | {
            name: as_text_lists(columns[name], column, separator=self.lists[column]) for name, column in lists.items()
        }

    def _cautions(self, batch: pa.RecordBatch) -> dict[str, list[int]]:
        """The counts of rows that a note tells of."""
        texts = Batch(self._columns(batch))
        kinds = {column: COLUMNS[column].kind for column in self.reads if column in COLUMNS}
        types = {column: plain(batch.schema.field(self.reads[column]).type) for column in kinds}
        read = {column: read_as(kind, types[column]) for column, kind in kinds.items()}
        counts = column_counts(texts, self.reads, read, has_blanks=self.has_blanks)
        for language in sorted({rubric.language for rubric in self.rubrics}):
            columns = {name for rubric in self.rubrics if rubric.language == language for name in rubric.columns}
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
        repeats, most = self.settings.repeats, self.settings.calls.max_chars
        cells: list[_Cell] = []
        for direction in (rubric_calls,) if rubric_calls.mirror is None else (rubric_calls, rubric_calls.mirror):
            calls = direction.calls(values, repeats, most)
            cells += [calls] * repeats if isinstance(calls, Reading) else [(direction, call) for call in calls]
        return cells

    def _judged(self, cells: Sequence[_Cell]) -> Iterator[Reading]:
        """The judgement of each cell, in order; all calls go through the sender together."""
        judged_calls = iter(self._judged_calls([cell for cell in cells if not isinstance(cell, Reading)]))
        return (cell if isinstance(cell, Reading) else next(judged_calls) for cell in cells)

    def _judged_calls(self, calls: Sequence[tuple[_RubricCalls, Call]]) -> list[Reading]:
        """The judgements of calls; the first ones of a run are waited for, until one has a score."""
        first = self._first
        judged: list[Reading] = []
        if first.undecided:
            with first.lock:
                while first.undecided and len(judged) < len(calls):
                    batch = self._settled(calls[len(judged) : len(judged) + first.left])
                    judged += batch
                    for reading in batch:
                        first.add(reading)
        return judged + self._settled(calls[len(judged) :])

    def _settled(self, calls: Sequence[tuple[_RubricCalls, Call]]) -> list[Reading]:
        """The judgements of calls; stored replies with a status in ``retry`` are requested again."""
        judged = self._replies(calls, again=False) if calls else []
        retry = self.settings.statuses_to_retry
        stale = [place for place, reading in enumerate(judged) if reading.status in retry and reading.is_old]
        if stale:
            for place, reading in zip(stale, self._replies([calls[at] for at in stale], again=True), strict=True):
                judged[place] = reading
        return judged

    def _replies(self, calls: Sequence[tuple[_RubricCalls, Call]], *, again: bool) -> list[Reading]:
        """The judgements of calls, after follow-up calls for unreadable replies."""
        judged = self._read(calls, again=again)
        unread = [
            at for at, reading in enumerate(judged) if reading.status == UNPARSED and (reading.text or "").strip()
        ]
        if unread:
            more = [
                (maker, maker.once_more(calls[at][1], judged[at].text or ""))
                for at in unread
                for maker in calls[at][:1]
            ]
            for at, second in zip(unread, self._read(more, again=again), strict=True):
                judged[at] = judged[at].followed_by(second)
        return judged

    def _read(self, calls: Sequence[tuple[_RubricCalls, Call]], *, again: bool) -> list[Reading]:
        """The judgements in the answers to calls."""
        sender = self.sender
        assert sender is not None, "a plan alone asks nothing"
        answers = sender.ask([call for _, call in calls], again=again)
        return [
            maker.read(call, answer, is_old=sender.is_old(answer))
            for (maker, call), answer in zip(calls, answers, strict=True)
        ]

    def observe(self, part: pa.RecordBatch | pa.Table) -> dict[str, Any]:
        """The sums of a part's scores, and its rows by status."""
        return observe(self.axes, part)

    def lasts(self, observed: Mapping[str, Any]) -> bool:
        """Whether no row of a part needs to be asked again."""
        return not any(status in counts["statuses"] for counts in observed["judged"].values() for status in UNSETTLED)

    def is_settled(self, metadata: Mapping[str, Any]) -> bool:
        """Whether no row of an output needs to be asked again."""
        return self.lasts(metadata)

    def conclude(self, observed: Sequence[Any], rejected: int) -> dict[str, Any]:
        """The metadata about the rows and the run."""
        return (conclude(self.axes, observed, rejected) | self.about()).to_json()

    def concluded(self, run: RunResult, output: str) -> RunResult:
        """The result with the summary, and the rows without a reply."""
        if run.complete:
            summary = summarize(output)
        else:
            summary = summary_of(self.axes, run.observed, run.rejected, self.reads, self.passed_over)
        statuses = summed(axis["statuses"] for axis in run.metadata["judged"].values())
        summary = replace(summary, notes=[*run.notes, *summary.notes])
        return replace(run, summary=summary, failed=failed_calls(statuses))

    def described(self, table: pa.Table, sums: BatchSums) -> tuple[pa.Table, list[str]]:
        """The judgements of a table in memory with the data for ``summarize``; undefined scores are null."""
        described, _ = super().described(table, sums)
        batches = [undefined_as_null(batch, {"id", *self.keep}) for batch in described.to_batches()]
        return pa.Table.from_batches(batches, described.schema), column_notes(sums.cautions)


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
) -> JudgementMaker:
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
    maker = JudgementMaker(
        settings=settings,
        reads=used,
        keep=copied,
        times=times,
        identity={
            name: resolved[name]
            for name in ("id", "question")
            if name in resolved and (has_name or name == "id" or name in used)
        },
        passed_over=passed_over(
            fitting_names(names), {name: column for name, column in used.items() if name in COLUMNS}
        ),
        named=named_columns(names if isinstance(names, Names) else Names(names), columns, schema),
        sample=dict(sample or {}),
        lists=text_lists(names, resolved, lists),
        systems=tuple(systems),
    )
    _check_kept(copied, names, maker.axes)
    return maker


def _check(rubric: Rubric, used: Mapping[str, str], names: Sequence[str]) -> None:
    for name in _lacking(rubric, used):
        has = f"the table has: {quoted(names)}"
        raise ColumnError(
            f"the rubric {rubric.name!r} needs the column {name}; {has}; name it with ", Argument("columns")
        )


def _lacking(rubric: Rubric, used: Mapping[str, str]) -> Iterator[str]:
    yield from (repr(name) for name in rubric.columns if name not in used and name not in rubric.optional)
    if rubric.one_of and not any(name in used for name in rubric.one_of):
        yield " or ".join(map(repr, rubric.one_of))


def _check_kept(keep: Sequence[str], names: Sequence[str], axes: Sequence[str]) -> None:
    for name in keep:
        if name not in names:
            raise UnknownColumnError.of("column", name, names)
        if any(name == axis or name.startswith(f"{axis}_") for axis in axes) and not tells_sample(name):
            raise ColumnError(f"the kept column {name!r} has the name of an output column; rename it")
