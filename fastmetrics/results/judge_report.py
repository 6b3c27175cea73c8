"""Evaluating judges: consistency, failures, bias, cost, and agreement with people and with each other."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, arrow_numbers, is_list
from fastmetrics.base.column_names import (
    CALL,
    COLUMNS,
    COMPLETION_TOKENS,
    LATENCIES,
    LATENCY,
    PREFIX,
    PROMPT_TOKENS,
    distinct,
)
from fastmetrics.base.columns import as_array, as_matrix, as_numbers
from fastmetrics.base.display import Grid, Shown, cell, flat, lines_of, number
from fastmetrics.base.errors import ColumnError, UnknownColumnError, UnknownNameError
from fastmetrics.base.notes import Figure, Note, interval_notes, said
from fastmetrics.base.shared_parameters import Help
from fastmetrics.metrics.prices import Price, price_of
from fastmetrics.results.aligned_scores import align, with_row_ids
from fastmetrics.results.opening_scores import are_several, open_runs, table_of, with_ids_of
from fastmetrics.results.row_groups import segments_of
from fastmetrics.results.score_columns import axes_of
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.validate import Labelled, MetricValidation, is_within, validated
from fastmetrics.stats.association import associate
from fastmetrics.stats.confusion import Confusion
from fastmetrics.stats.estimates import UNDEFINED, Estimate
from fastmetrics.stats.judge_quality import (
    Consistency,
    JudgeDecisions,
    Latency,
    Pairwise,
    judge_consistency,
    judge_decisions,
    judge_error_rate,
    judge_latency,
    pairwise,
    status_counts,
)
from fastmetrics.stats.labels import RowLabels, positive_from
from fastmetrics.stats.prediction_powered import PoweredMean, powered_mean

# The results of evaluating judges: figures of each judged column, agreement between judges, printed tables.


_WIDTH = 22


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement of a judge's scores with human labels over ``n`` rows; NaN if undefined."""

    n: int
    confusion: Confusion | None
    """How often each label has each score, if both are whole numbers of the scale."""
    accuracy: Estimate = UNDEFINED
    precision: Estimate = UNDEFINED
    recall: Estimate = UNDEFINED
    f1: Estimate = UNDEFINED
    kappa: Estimate = UNDEFINED
    kappa_linear: Estimate = UNDEFINED
    kappa_quadratic: Estimate = UNDEFINED
    alpha_nominal: Estimate = UNDEFINED
    alpha_ordinal: Estimate = UNDEFINED
    alpha_interval: Estimate = UNDEFINED
    pearson: Estimate = UNDEFINED
    spearman: Estimate = UNDEFINED
    kendall: Estimate = UNDEFINED


@dataclass(frozen=True)
class SegmentMean:
    """The judge's mean over the ``n`` scored rows of a segment."""

    segment: str
    n: int
    mean: float


@dataclass(frozen=True)
class AxisReport:
    """The figures of one judge for one judged column; None if the file lacks the data."""

    judge: str
    axis: str
    n_rows: int
    n: int
    """Rows with a score."""
    mean: float
    statuses: Mapping[str, int]
    error_rate: float
    consistency: Consistency | None
    latency: Latency | None
    """Milliseconds per call."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    """The cost of the tokens, by a table of prices."""
    length_spearman: float | None
    """Spearman's ρ between the score and the number of words of the answer."""
    segments: Sequence[SegmentMean]
    people: PeopleAgreement | None
    powered: PoweredMean | None
    orders: Pairwise | None
    """For a comparison of two answers: the win rate, and how often the order changes the verdict."""
    decisions: JudgeDecisions | None
    """For decisions: their confusion table against labels of 0 and 1, and its figures."""
    systems: Sequence[str] = ()
    """For a comparison of two answers: the names of both systems; the wins are those of the first."""


@dataclass(frozen=True)
class JudgePair:
    """Two judges for one judged column, over the ``n`` rows that both scored."""

    axis: str
    first: str
    second: str
    n: int
    kappa: Estimate
    kappa_quadratic: Estimate
    alpha_interval: Estimate
    spearman: Estimate


@dataclass(frozen=True)
class JudgeReport(Shown):
    """Every judge for every judged column, and the agreement of judges; prints as tables."""

    axes: Sequence[AxisReport]
    pairs: Sequence[JudgePair]
    notes: Sequence[str]
    confidence: float = 0.95

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The figures of each judged column, then the means of its segments."""
        parts = [{"judge": axis.judge, "axis": axis.axis} | flat(part) for axis in self.axes for part in axis.segments]
        return [*map(flat, self.axes), *parts]

    def grids(self) -> Sequence[Grid]:
        """The judged columns of each judge; then, if any, human labels, means, segments and pairs of judges."""
        level = f"{self.confidence * 100:g} % intervals"

        def table(having: str, head: str, *columns: str) -> list[Grid]:
            lines = [(axis, getattr(axis, having)) for axis in self.axes if getattr(axis, having)]
            return [lines_of(lines, (head, lambda one: self._name(one[0])), *columns)] if lines else []

        quality = (
            *("rows=n_rows", "scored=n", "mean", "error rate=error_rate"),
            ("consistency", lambda axis: axis.consistency and axis.consistency.share.value),
            ("P50 ms", lambda axis: axis.latency and axis.latency.percentiles["p50"]),
        )
        judges = dict.fromkeys(axis.judge for axis in self.axes)
        of_judge = {judge: [axis for axis in self.axes if axis.judge == judge] for judge in judges}
        grids = [
            lines_of(axes, (_cut(judge), lambda one: _cut(one.axis)), *quality) for judge, axes in of_judge.items()
        ]
        figures: tuple[str, ...]
        figures = ("accuracy=1.accuracy.value", "precision=1.precision.value", "recall=1.recall.value", "F1=1.f1.value")
        grids += table("people", "against people", "n=1.n", *figures)
        figures = ("kappa=1.kappa.value", "quadratic kappa=1.kappa_quadratic.value", "Spearman=1.spearman.value")
        grids += table("people", "agreement", *figures)
        grids += table("people", level, "accuracy=1.accuracy", "kappa=1.kappa", "Spearman=1.spearman")
        confusions = [(axis, axis.people.confusion) for axis in self.axes if axis.people and axis.people.confusion]
        grids += [confusion.grid(f"{self._name(axis)}: label ↓ score →") for axis, confusion in confusions]
        figures = ("powered=1.powered.value", "low=1.powered.low", "high=1.powered.high", "plain=1.plain.value")
        grids += table("powered", "mean label", *figures, "low=1.plain.low", "high=1.plain.high")
        parts = [(axis, part) for axis in self.axes for part in axis.segments]
        name = (("by segment", lambda one: self._name(one[0])), ("segment", lambda one: _cut(one[1].segment)))
        grids += [lines_of(parts, *name, "n=1.n", "mean=1.mean")] if parts else []
        figures = ("n=1.n", "wins=1.win_rate.value", "low=1.win_rate.low", "high=1.win_rate.high")
        grids += table("orders", "both orders", *figures, "flips=1.flips.value", "first=1.first_place.value")
        grids += table("decisions", "decisions", "tp=1.tp", "fp=1.fp", "fn=1.fn", "tn=1.tn", "left out=1.n_left_out")
        figures = ("n", "kappa=kappa.value", "alpha=alpha_interval.value", "Spearman=spearman.value")
        both = ("judges", lambda pair: f"{_short(pair.first)} / {_short(pair.second)}")
        head = ("between judges", lambda pair: _cut(pair.axis))
        return [*grids, *([lines_of(self.pairs, head, both, *figures)] if self.pairs else [])]

    def _name(self, report: AxisReport) -> str:
        several = len({axis.judge for axis in self.axes}) > 1
        axis = report.axis.removeprefix(PREFIX)
        return f"{_short(report.judge)} {_cut(axis, 12)}" if several else _cut(report.axis)

    def remarks(self) -> Sequence[str]:
        """The notes, and details of each judged column that the tables omit."""
        return said(
            [line for report in self.axes for line in self._lines(report)],
            interval_notes(self.record(), self.confidence),
            self._lacking("no_length", "length_spearman"),
            self._lacking("no_latency", "latency"),
            list(self.notes),
        )

    def _lacking(self, note: str, figure: str) -> Note | None:
        """The note on the columns without a figure."""
        lacking = [self._whole_name(report) for report in self.axes if getattr(report, figure) is None]
        return Note(note, of=f" ({', '.join(lacking)})" if len(lacking) < len(self.axes) else "") if lacking else None

    def _whole_name(self, report: AxisReport) -> str:
        several = len({axis.judge for axis in self.axes}) > 1
        return f"{report.judge}: {report.axis}" if several else report.axis

    def record(self) -> Sequence[Figure]:
        """The figures of each judged column that are shown with intervals."""
        shown: list[tuple[AxisReport, str, Any]] = []
        for report in self.axes:
            people, powered, orders = report.people, report.powered, report.orders
            if report.consistency is not None:
                shown.append((report, "consistency", report.consistency.share))
            if people is not None:
                named = {"accuracy": people.accuracy, "kappa": people.kappa, "Spearman": people.spearman}
                shown += [(report, name, one) for name, one in named.items()]
            if powered:
                shown += [(report, "powered", powered.powered), (report, "plain", powered.plain)]
            shown += [] if orders is None else [(report, "wins", orders.win_rate)]
        return [Figure.of(name, one, system=self._whole_name(report), n=report.n) for report, name, one in shown]

    def _lines(self, report: AxisReport) -> list[str]:
        counts = [f"{count:,} {status}" for status, count in report.statuses.items()]
        own, orders = report.consistency, report.orders
        share = "" if own is None else f"{number(own.share.value)} {cell(own.share)}"
        length = report.length_spearman
        tokens = report.prompt_tokens is not None and report.completion_tokens is not None
        cost = "" if report.cost is None else Note("cost", cost=report.cost)
        return said(
            Note("of_run", run=self._whole_name(report), note=", ".join(counts)),
            own and Note("consistent", reading=own.reading, n=own.n, share=share),
            orders and Note("wins_of", first=report.systems[0], second=report.systems[1]),
            orders and orders.n_identical and Note("identical_answers", n=orders.n_identical),
            length is not None and Note("with_length", figure=number(length)),
            tokens and Note("tokens", read=report.prompt_tokens, written=report.completion_tokens, cost=cost),
        )


def _short(judge: str) -> str:
    """The judge's name without a file suffix, in at most 11 characters.

    >>> _short("judged_by_a_model_2.parquet")
    'judge…del_2'
    """
    stem, dot, suffix = judge.rpartition(".")
    return _cut(stem if dot and suffix.isalpha() else judge, 11)


def _cut(name: str, width: int = _WIDTH) -> str:
    """A name shortened in the middle to a maximum length.

    >>> _cut("a_rather_long_name_1", 11)
    'a_rat…ame_1'
    """
    half = (width - 1) // 2
    return name if len(name) <= width else f"{name[: width - 1 - half]}…{name[-half:]}"


# One judge for one judged column: statuses, consistency, tokens and cost, segments, and agreement with people.


_ANSWER = ("answer", *COLUMNS["answer"].aliases)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class AxisOptions:
    """The properties of a judged column's rubric, and the caller's options."""

    span: tuple[float, float]
    kind: Any
    price: Price | None
    by: Sequence[str]
    positive: float | None
    confidence: float
    systems: tuple[str, ...] = ("A", "B")
    """The names of the two systems that are compared."""


def axis_report(judge: str, table: pa.Table, axis: str, labels: RowLabels | None, how: AxisOptions) -> AxisReport:
    """The report of one judge for one judged column; ``labels`` are those of people, if there are any."""
    scored = _verdict_column(axis) if how.kind == "decision" else axis
    scores, truth, people, powered = as_numbers(table.column(scored)), None, None, None
    if labels is not None:
        scores, truth = labels.beside(table.column(scored))
        people = _people(table, scored, axis, labels, how)
        powered = powered_mean(scores, truth, how.confidence) if people.n else None
    statuses = _statuses(table, axis)
    latencies, repeats = _latencies(table, axis), f"{axis}_scores"
    values = scores[~np.isnan(scores)]
    calls = _one_row_per_call(table, axis)
    prompt_tokens, completion_tokens = (_total(calls, axis + name) for name in (PROMPT_TOKENS, COMPLETION_TOKENS))
    priced = how.price is not None and prompt_tokens is not None and completion_tokens is not None
    return AxisReport(
        judge=judge,
        axis=axis,
        n_rows=len(scores),
        n=len(values),
        mean=_mean(values),
        statuses=status_counts(table.column(f"{axis}_status").to_pylist()),
        error_rate=judge_error_rate(statuses),
        consistency=judge_consistency(table.column(repeats), range=how.span, confidence=how.confidence)
        if how.kind != "pairwise" and _has_lists(table, repeats)
        else None,
        latency=None if latencies is None else judge_latency(latencies),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=how.price.cost(prompt_tokens or 0, completion_tokens or 0) if how.price is not None and priced else None,
        length_spearman=_with_length(table, scores),
        segments=_segments(table, scores, how.by),
        people=people,
        powered=powered,
        orders=_orders(table, axis, how) if how.kind == "pairwise" else None,
        systems=how.systems if how.kind == "pairwise" else (),
        decisions=_decided(table, axis, scores, truth, how.confidence) if how.kind == "decision" else None,
    )


def _verdict_column(axis: str) -> str:
    return f"{axis} verdict"


def _with_verdicts(run: ScoreTable) -> ScoreTable:
    """The run in memory, with a column of verdicts beside each column of scores."""
    table = run.read(run.columns)
    for axis in axes_of(run.columns):
        settings = run.metadata.settings_of(axis)
        verdicts = _verdicts_of(table, axis, settings)
        column = table.column(axis)
        type_ = column.type if pa.types.is_floating(column.type) else pa.float64()
        table = table.append_column(_verdict_column(axis), arrow_numbers(verdicts, type_))
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    return replace(run, columns=table.column_names, read=table.select, types=types, sorted={})


_BY_SIDE = ("decision", "pairwise")
"""Kinds of rubrics whose scores are 0, 1 or, for a tie, 0.5."""


def _verdicts_of(table: pa.Table, axis: str, settings: Mapping[str, Any]) -> Floats:
    """The verdict of each row, a grade as people give it; its score may be a mean of repeats, which is none.

    The verdict is the median of the repeats; between two grades, the lower one.  A comparison and a decision go to the
    side of most repeats; an even split is a tie, and no decision.  NaN if the table lacks the repeats.
    """
    means = as_numbers(table.column(axis))
    if settings.get("kind") in _BY_SIDE:
        even = np.nan if settings["kind"] == "decision" else 0.5
        return np.select([means > 0.5, means < 0.5, means == 0.5], [1.0, 0.0, even], np.nan)
    if not _has_lists(table, f"{axis}_scores"):
        return np.full(len(means), np.nan) if settings.get("repeats", 1) != 1 else means
    grades = np.sort(as_matrix(table.column(f"{axis}_scores")), axis=1)  # NaN last
    if not grades.shape[1]:
        return means
    rows, counts = np.arange(len(grades)), (~np.isnan(grades)).sum(axis=1)
    medians = (grades[rows, (counts - 1) // 2] + grades[rows, counts // 2]) / 2
    are_whole = not (grades[~np.isnan(grades)] % 1).any()
    return np.floor(medians) if are_whole else medians


_IDENTICAL = "identical"


def _orders(table: pa.Table, axis: str, how: AxisOptions) -> Pairwise | None:
    """The verdicts on two answers: the first half of a row's repeats used one order, the second half the other.

    An odd number of replies lacks the last of the second order.
    """
    if not _has_lists(table, f"{axis}_scores"):
        return None
    a, b = how.systems
    tie = "a tie" if "tie" in how.systems else "tie"
    verdict_of = {1.0: a, 0.5: tie, 0.0: b}
    first, second, rows, identical = [], [], [], []
    columns = (table.column(f"{axis}_{name}").to_pylist() for name in ("scores", "status"))
    for row, (scores, status) in enumerate(zip(*columns, strict=True)):
        verdicts = [verdict_of.get(score) for score in scores or ()]
        half = (len(verdicts) + 1) // 2
        first += verdicts[:half]
        second += [*verdicts[half:], *[None] * (2 * half - len(verdicts))]
        rows += [row] * half
        identical += [status == _IDENTICAL] * half
    return pairwise(first, second, a=a, b=b, tie=tie, rows=rows, identical=identical, confidence=how.confidence)


def _decided(
    table: pa.Table, axis: str, scores: Floats, truth: Floats | None, confidence: float
) -> JudgeDecisions | None:
    """The decisions against the labels, if these are 0 and 1."""
    if truth is None or not np.isin(truth[~np.isnan(truth)], (0.0, 1.0)).all():
        return None
    latencies = _latencies(table, axis)
    return judge_decisions(scores, truth, latency_ms=() if latencies is None else latencies, confidence=confidence)


def _statuses(table: pa.Table, axis: str) -> list[str | None]:
    """The statuses of all calls, including repeats if they are stored."""
    if _has_lists(table, f"{axis}_statuses"):
        return [status for row in table.column(f"{axis}_statuses").to_pylist() for status in row or ()]
    return list(table.column(f"{axis}_status").to_pylist())


def _has_lists(table: pa.Table, name: str) -> bool:
    """Whether the repeats are stored; in CSV that lost its metadata, lists are text."""
    return name in table.column_names and is_list(table.column(name).type)


def _latencies(table: pa.Table, axis: str) -> pa.ChunkedArray | None:
    """The latency of each judgement, of all repeats if the table has them."""
    name = axis + LATENCIES if _has_lists(table, axis + LATENCIES) else axis + LATENCY
    return table.column(name) if name in table.column_names else None


def _one_row_per_call(table: pa.Table, axis: str) -> pa.Table:
    """The first of the rows that share their calls, which were paid for once; rows without a call have no tokens."""
    if axis + CALL not in table.column_names:
        return table
    ids = table.column(axis + CALL).to_numpy()
    return table.take(pa.array(np.unique(ids.astype(str), return_index=True)[1]))


def _total(table: pa.Table, name: str) -> int | None:
    if name not in table.column_names:
        return None
    known = table.column(name).drop_null()  # in JSON, a column of nulls has no type of its own
    return int(pc.sum(known).as_py()) if len(known) else 0


def _with_length(table: pa.Table, scores: Floats) -> float | None:
    name = next((column for column in table.column_names if column.lower() in _ANSWER), None)
    if "answer_words" in table.column_names:
        words = as_numbers(table.column("answer_words"))
    elif name is not None:
        texts = table.column(name).to_pylist()
        words = np.array([math.nan if text is None else len(_WORD.findall(text)) for text in texts], np.float64)
    else:
        return None
    both = ~np.isnan(scores) & ~np.isnan(words)
    return associate(scores[both], words[both]).spearman.value


def _segments(table: pa.Table, scores: Floats, by: Sequence[str]) -> list[SegmentMean]:
    for name in by:
        if name not in table.column_names:
            raise UnknownColumnError(f"by: {UnknownNameError.of('column', name, table.column_names)}")
    if not by:
        return []
    segments = []
    for segment in segments_of([(name, as_array(table.column(name), name)) for name in by]):
        values = scores[segment.rows][~np.isnan(scores[segment.rows])]
        segments.append(SegmentMean(segment.name or "", len(values), _mean(values)))
    return segments


def _people(table: pa.Table, scored: str, axis: str, labels: RowLabels, how: AxisOptions) -> PeopleAgreement:
    verdict = _verdict_column(axis)
    sides = [(table.column(name), labels) for name in (scored, verdict)]
    found, agreed = _agreed(sides, how.confidence, how.span)
    grades, marks, _ = labels.of_both(table.column(verdict))
    grades_apart = found.agreement is not None and how.span == (0.0, 1.0)  # two of more grades are no two classes
    least = labels.threshold(how.positive, table.column(axis))
    if least is None and grades_apart:
        least = positive_from(labels.of_both(table.column(scored))[1])
    figures: dict[str, Estimate] = {}
    if least is not None and len(marks):
        decisions = judge_decisions(grades >= least, marks >= least, confidence=how.confidence)
        figures = {name: getattr(decisions, name) for name in ("accuracy", "precision", "recall", "f1")}
    on_scale = found.agreement is not None and len(marks)
    confusion = _confusion(grades, marks) if on_scale else None
    return PeopleAgreement(found.n, confusion, **figures, **agreed)


def _agreed(
    sides: Sequence[tuple[pa.ChunkedArray, RowLabels]], confidence: float, span: tuple[float, float]
) -> tuple[MetricValidation, dict[str, Estimate]]:
    """Scores beside labels, with their correlations, kappas and alphas; those of verdicts, also beside labels, ask
    whether grades are the same."""
    numbers = [(as_numbers(column), labels.truth) for column, labels in sides]
    repeated = not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*numbers, strict=True))
    found, *others = (
        validated("score", column, Labelled(labels), {}, confidence, span=span)
        for column, labels in sides[: 1 + repeated]
    )
    same = others[0] if others else found
    figures = {name: getattr(found, name) for name in ("pearson", "spearman", "kendall")}
    if found.agreement is not None:
        [pair] = found.agreement.pairs
        figures |= {"kappa_linear": pair.kappa_linear, "kappa_quadratic": pair.kappa_quadratic}
        figures |= {name: getattr(found.agreement, name) for name in ("alpha_ordinal", "alpha_interval")}
    if same.agreement is not None:
        figures |= {"kappa": same.agreement.pairs[0].kappa, "alpha_nominal": same.agreement.alpha_nominal}
    return found, figures


def _confusion(scores: Floats, truth: Floats) -> Confusion | None:
    grades, codes = np.unique(np.concatenate([truth, scores]), return_inverse=True)
    if (grades % 1).any():
        return None
    return Confusion.of(codes[: len(truth)], codes[len(truth) :], [f"{grade:.0f}" for grade in grades])


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


# Evaluating judges: consistency, failures, bias, and agreement with people and with each other.


_FIVE = (1.0, 5.0)


def judge_report(
    judged: shared.Judged,
    labels: Annotated[Any, Help("The file of human labels.")] = None,
    *,
    label: shared.Label = None,
    by: Annotated[Sequence[str] | str, Help("Columns whose values define segments: language,topic.")] = (),
    on: shared.On = None,
    positive: Annotated[float | None, Help("Labels and scores of at least this value are positive.")] = None,
    ranges: Annotated[
        Mapping[str, tuple[float, float]] | None,
        Help("Ranges of scores without a known rubric: judge_style=0:10,judge_tone=0:1."),
    ] = None,
    prices: shared.Prices = None,
    confidence: shared.Confidence = 0.95,
) -> JudgeReport:
    """Evaluate judges from one or several judged files or tables, in a list or in a dict by name.

    For each judged column (with a ``_status`` column): the rows per status, the error rate, consistency over repeats,
    latency and tokens, if the file has them; the mean in each segment of the columns ``by``; Spearman's ρ with the
    number of words of ``answer``, if that column was kept.  The rubrics, in the metadata of judged rows, tell ranges
    and which columns compare two answers (win rate, flips) or decide (a confusion table, if the labels are 0 and 1).

    With ``labels``, a file or table of human labels, matched by ``on`` or ``id``: correlations, the prediction-powered
    mean, and, if the labels are in the range of the judge's scores, kappas and Krippendorff's alphas.  Verdicts and
    labels of at least ``positive`` are positive in accuracy, precision, recall and F1; without it, these are NaN for
    graded labels.  The verdict of a row with repeats is their median, or the grade below: accuracy, kappa and nominal
    alpha compare verdicts, all other figures the mean of the repeats, which is the score.

    >>> judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, None], "judge_x_status": ["ok", "ok", "timeout"]}
    >>> found = judge_report(judged, {"id": [1, 2], "human": [2, 4]})
    >>> found.axes[0].statuses, found.axes[0].people.n, found.axes[0].people.spearman.value
    ({'ok': 2, 'timeout': 1}, 2, 1.0)

    Raises ``ColumnError`` if a table has no judged column, lacks a named column or has no unambiguous label, and
    ``InputError`` for duplicate or no shared ids.
    """
    opened = open_runs(judged if are_several(judged) else [judged], least=1)
    runs = [_with_verdicts(run) for run in opened]
    named = [run.metadata.own_columns.get("id") for run in runs]
    people = None if labels is None else table_of(labels, on, "labels", or_column=True, named=named)
    reports, notes = [], list[str]()
    for run, own in zip(runs, named, strict=True):
        table = run.read(run.columns)
        axes = axes_of(run.columns)
        if not axes:
            kinds = "a column of scores with a _status column, as `fastmetrics judge run` (fm.judge) writes them"
            raise ColumnError(f"{run.name} has no judged column: {kinds}")
        truth = None
        if people is not None:
            paired, key = with_ids_of(table, people, on, own)
            truth = RowLabels.of(table, paired, label=label, on=key)
            unused = truth.n_unmatched
            unlabelled = np.isnan(truth.truth).all() and Note("no_row_labelled")
            doubts = said(unused and Note("unused_labels", n=unused), unlabelled)
            notes += [Note("of_run", run=run.name, note=doubt) for doubt in doubts]
        unknown = [axis for axis in axes if ((ranges or {}).get(axis) or run.metadata.ranges.get(axis)) is None]
        notes += said(unknown and Note("of_run", run=run.name, note=Note("range_unknown", names=unknown)))
        for axis in axes:
            settings = run.metadata.settings_of(axis)
            model = settings.get("model")
            span = (ranges or {}).get(axis) or run.metadata.ranges.get(axis)
            how = AxisOptions(
                span or _FIVE,
                settings.get("kind"),
                price_of(model, prices) if prices is not None and isinstance(model, str) else None,
                distinct(by),
                positive,
                confidence,
                tuple(settings.get("systems") or settings.get("pair") or ("A", "B")),
            )
            report = axis_report(run.name, table, axis, truth, how)
            lacks = _lacks(report, how.span, table, truth)
            reports.append(report)
            notes += said(lacks and Note("of_run", run=run.name, note=f"{axis} {lacks}"))
    return JudgeReport(reports, _pairs(runs, on, confidence), notes, confidence)


def _lacks(report: AxisReport, span: tuple[float, float], table: pa.Table, labels: RowLabels | None) -> str:
    """Which figures beside labels a judged column does not have, and why; empty if it has them."""
    if labels is None or report.people is None or not report.people.n or not math.isnan(report.people.accuracy.value):
        return ""
    if np.isnan(as_numbers(table.column(_verdict_column(report.axis)))).all():
        return f"has no accuracy and kappa: its repeats are missing, {report.axis}_scores"
    if not is_within(labels.truth[~np.isnan(labels.truth)], span):
        return f"has no accuracy and kappa: labels are outside its range of {span[0]:g} to {span[1]:g}"
    return "has no accuracy and F1: the labels are grades, without the lowest positive one: positive=4 (--positive 4)"


_ANY = (-math.inf, math.inf)
_OF_PAIRS = ("kappa", "kappa_quadratic", "alpha_interval", "spearman")


def _pairs(runs: Sequence[ScoreTable], on: str | None, confidence: float) -> list[JudgePair]:
    """All pairs of judges with a common judged column."""
    pairs = []
    for first, second in itertools.combinations(runs, 2):
        axes = [name for name in axes_of(first.columns) if name in axes_of(second.columns)]
        if not axes:
            continue
        paired = align(with_row_ids([first, second], on), on)
        for axis in axes:
            sides = [
                (pa.chunked_array([paired.scores(0, name)]), RowLabels(second.name, paired.scores(1, name)))
                for name in (axis, _verdict_column(axis))
            ]
            found, figures = _agreed(sides, confidence, _ANY)
            kept = {name: figures.get(name, UNDEFINED) for name in _OF_PAIRS}
            pairs.append(JudgePair(axis, first.name, second.name, found.n, **kept))
    return pairs
