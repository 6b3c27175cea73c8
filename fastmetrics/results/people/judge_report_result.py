"""The results of evaluating judges: figures of each judged column, agreement between judges, printed tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastmetrics.base.display import Grid, Shown, number
from fastmetrics.base.input_columns import PREFIX
from fastmetrics.stats.estimates import Interval
from fastmetrics.stats.judge_quality import Consistency, JudgeDecisions, Latency, Pairwise
from fastmetrics.stats.mean_interval import interval_notes, interval_text
from fastmetrics.stats.prediction_powered import PoweredMean

_WIDTH = 24


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement of a judge's scores with human labels over ``n`` rows; NaN if undefined."""

    n: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    kappa: float
    kappa_linear: float
    kappa_quadratic: float
    alpha_nominal: float
    alpha_ordinal: float
    alpha_interval: float
    pearson: float
    spearman: float
    kendall: float
    intervals: Mapping[str, Interval]
    """The confidence intervals of these figures, by name."""


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
    """For decisions: their quality against labels of 0 and 1."""
    systems: Sequence[str] = ()
    """For a comparison of two answers: the names of both systems; the wins are those of the first."""


@dataclass(frozen=True)
class JudgePair:
    """Two judges for one judged column, over the ``n`` rows that both scored."""

    axis: str
    first: str
    second: str
    n: int
    kappa: float
    kappa_quadratic: float
    alpha_interval: float
    spearman: float
    intervals: Mapping[str, Interval]
    """The confidence intervals of these figures, by name."""


@dataclass(frozen=True)
class JudgeReport(Shown):
    """Every judge for every judged column, and the agreement of judges; prints as tables."""

    axes: Sequence[AxisReport]
    pairs: Sequence[JudgePair]
    notes: Sequence[str]
    confidence: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested dictionaries of plain values."""
        plain = asdict(self)
        for entry, axis in zip(plain["axes"], self.axes, strict=True):
            if axis.consistency is not None:
                entry["consistency"]["reading"] = axis.consistency.reading
        return plain

    def grids(self) -> Sequence[Grid]:
        """The judged columns of each judge; then, if any, human labels, means, segments and pairs of judges."""
        judges = dict.fromkeys(report.judge for report in self.axes)
        grids = [
            Grid((_cut(name), "rows", "scored", "mean", "errors", "steady", "p50 ms"), self._quality(name))
            for name in judges
        ]
        people = [(report, report.people) for report in self.axes if report.people is not None]
        rows = [
            (self._name(report), number(p.n), *map(number, (p.accuracy, p.f1, p.kappa, p.kappa_quadratic, p.spearman)))
            for report, p in people
        ]
        grids += [Grid(("against people", "n", "acc.", "f1", "kappa", "quadr.", "rho"), rows)] if rows else []
        head = (f"{self.confidence * 100:g} % intervals", "accuracy", "kappa", "rho")
        shown = [
            (self._name(report), *(_bounds(p.intervals.get(figure)) for figure in ("accuracy", "kappa", "spearman")))
            for report, p in people
        ]
        grids += [Grid(head, shown)] if shown else []
        rows = [(self._name(report), *_ends(report.powered)) for report in self.axes if report.powered is not None]
        grids += [Grid(("mean label", "powered", "low", "high", "plain", "low", "high"), rows)] if rows else []
        rows = [
            (self._name(report), _cut(s.segment), number(s.n), number(s.mean))
            for report in self.axes
            for s in report.segments
        ]
        grids += [Grid(("by segment", "segment", "n", "mean"), rows)] if rows else []
        grids += [*self._orders(), *self._decisions()]
        rows = [
            (
                _cut(p.axis),
                f"{_short(p.first)} / {_short(p.second)}",
                number(p.n),
                *map(number, (p.kappa, p.alpha_interval, p.spearman)),
            )
            for p in self.pairs
        ]
        return [*grids, *([Grid(("between judges", "judges", "n", "kappa", "alpha", "rho"), rows)] if rows else [])]

    def _orders(self) -> list[Grid]:
        """Win rates over both orders."""
        rows = [
            (
                self._name(report),
                number(o.n),
                *(number(end) for end in (o.win_rate.value, o.win_rate.low, o.win_rate.high)),
                number(o.flips.value),
                number(o.first_place.value),
            )
            for report in self.axes
            if (o := report.orders) is not None
        ]
        return [Grid(("both orders", "n", "wins", "low", "high", "flips", "first"), rows)] if rows else []

    def _decisions(self) -> list[Grid]:
        """Confusion tables of decisions."""
        rows = [
            (
                self._name(report),
                *map(number, (d.tp, d.fp, d.fn, d.tn)),
                *(number(end) for end in (d.accuracy.value, d.accuracy.low, d.accuracy.high)),
                number(d.f1.value),
            )
            for report in self.axes
            if (d := report.decisions) is not None
        ]
        return [Grid(("decisions", "tp", "fp", "fn", "tn", "accuracy", "low", "high", "F1"), rows)] if rows else []

    def _quality(self, judge: str) -> list[tuple[str, ...]]:
        return [
            (
                _cut(report.axis),
                number(report.n_rows),
                number(report.n),
                number(report.mean),
                number(report.error_rate),
                number(math.nan if report.consistency is None else report.consistency.share),
                number(math.nan if report.latency is None else report.latency.percentiles["p50"]),
            )
            for report in self.axes
            if report.judge == judge
        ]

    def _name(self, report: AxisReport) -> str:
        several = len({axis.judge for axis in self.axes}) > 1
        axis = report.axis.removeprefix(PREFIX)
        return f"{_short(report.judge)} {_cut(axis, 12)}" if several else _cut(report.axis)

    def remarks(self) -> Sequence[str]:
        """The notes, and details of each judged column that the tables omit."""
        notes = [*interval_notes(self._intervals(), self.confidence), *self.notes]
        return [*[line for report in self.axes for line in self._lines(report)], *notes]

    def _intervals(self) -> Iterator[tuple[str, str, str | None]]:
        """The figure, kind and note of each printed interval."""
        for report in self.axes:
            if report.consistency is not None and not math.isnan(report.consistency.share):
                yield "steady", report.consistency.interval.kind, report.consistency.interval.note
            for figure, label in (("accuracy", "accuracy"), ("kappa", "kappa"), ("spearman", "rho")):
                interval = None if report.people is None else report.people.intervals.get(figure)
                if interval is not None:
                    yield label, interval.kind, interval.note
            estimates = [("powered", report.powered.powered), ("plain", report.powered.plain)] if report.powered else []
            estimates += [("wins", report.orders.win_rate)] if report.orders else []
            estimates += [("accuracy", report.decisions.accuracy)] if report.decisions else []
            yield from ((label, estimate.interval, estimate.note) for label, estimate in estimates)

    def _lines(self, report: AxisReport) -> list[str]:
        counts = ", ".join(f"{count:,} {status}" for status, count in report.statuses.items())
        lines = [f"{self._name(report)}: {counts}"]
        if report.consistency is not None:
            share = f"{number(report.consistency.share)} {_bounds(report.consistency.interval)}"
            lines.append(f"  {report.consistency.reading} over {report.consistency.n:,} repeated rows: steady {share}")
        if report.orders is not None and report.orders.wins:
            lines += [f"  {line}" for line in _verdicts(report.systems, report.orders.wins)]
        if report.orders is not None and report.orders.n_identical:
            lines.append(f"  {report.orders.n_identical:,} pairs of identical answers: ties, left out of the flips")
        if report.length_spearman is not None:
            lines.append(f"  rank correlation with the length of the answer: {number(report.length_spearman)}")
        if report.prompt_tokens is not None and report.completion_tokens is not None:
            cost = "" if report.cost is None else f", cost {report.cost:,.4g} by the table of prices"
            lines.append(f"  {report.prompt_tokens:,} + {report.completion_tokens:,} tokens{cost}")
        return lines


def _verdicts(systems: Sequence[str], wins: Mapping[str, int]) -> Iterator[str]:
    """Which system is better in both orders, and how often.

    >>> list(_verdicts(["old", "new"], {"old, old": 3, "old, new": 1, "new, tie": 2}))
    ['wins are those of old over new: 3 in both orders, new 0; ties or another verdict in the other order: 3']
    """
    first, second = systems
    both = [wins.get(f"{name}, {name}", 0) for name in systems]
    others = sum(wins.values()) - sum(both)
    yield (
        f"wins are those of {first} over {second}: {both[0]:,} in both orders, {second} {both[1]:,}; "
        f"ties or another verdict in the other order: {others:,}"
    )


def _bounds(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return interval_text(interval.low, interval.high, interval.note, "{:.3f}".format)


def _ends(estimate: PoweredMean) -> list[str]:
    both = (estimate.powered, estimate.plain)
    return [number(value) for mean in both for value in (mean.value, mean.low, mean.high)]


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
