"""Checking scores against rules: the check of each rule, and the result as text, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, Literal
from xml.etree import ElementTree

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import distinct
from fastmetrics.base.display import (
    HIDDEN,
    Grid,
    ShownSequence,
    inert,
    interval,
    json_text,
    lines_of,
    number,
    row_count,
)
from fastmetrics.base.errors import Argument, OptionError, one_line
from fastmetrics.base.notes import NAMES, Figure, Note, interval_notes, joined, mark_of, said
from fastmetrics.base.options import Choice, Optional, Real, Seed, Whole, argument, check_names
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.specs import Better
from fastmetrics.base.threads import cores
from fastmetrics.results.aligned_scores import AlignedScores, align, check_settings, units_of
from fastmetrics.results.gate_metrics import (
    NOWHERE,
    AnyMetric,
    GateMetrics,
    GateRows,
    RowMetric,
    SummaryFigure,
    Value,
    WorstPlaces,
    columns_read,
)
from fastmetrics.results.gate_rules import UNPAIRED, Rule, parse_rules, read_rules
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.results.quantities import Method
from fastmetrics.results.row_groups import Segment
from fastmetrics.results.run_folders import latest_run, mean_of_runs
from fastmetrics.results.score_columns import column_named, stated_better
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.stats.estimates import Interval
from fastmetrics.stats.mean_interval import (
    FEWER,
    LEAST_CLUSTERS,
    LEAST_ROWS,
    has_long_tail,
)

# The result of checking scores against rules: the check of each rule; as text, JSON, Markdown and JUnit XML.


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """The check of one rule for one metric and segment (None: all rows, or no segment)."""

    rule: Rule
    metric: str
    better: Better
    segment: str | None
    value: float
    n: int
    """The number of rows with a score; for a change, of both runs."""
    met: bool
    low: float = math.nan
    high: float = math.nan
    """The interval of the mean or of the change; NaN without one."""
    confidence: float = math.nan
    interval: str = "none"
    """The kind of interval: a key of :data:`fastmetrics.base.notes.NAMES`."""
    interval_note: str | None = None
    """Why the interval may hold another level, or why there is none."""
    n_clusters: int | None = None
    n_worst: int = 0
    """Rows without a score that count as ``worst``."""
    worst: float | None = None
    n_ignored: int = 0
    """Rows without a score that are left out on request."""
    causes: Mapping[str, int] = field(default_factory=dict, metadata=HIDDEN)
    """Why rows have no score, as far as it is known."""
    n_new: int = 0
    """Rows that only the scores have; no change includes them."""
    why: str | None = None
    """Why there is nothing to compare with the limit."""
    few: bool = False
    """Whether there are fewer rows, or clusters, than the rule needs."""
    places: WorstPlaces = NOWHERE
    """Of a rule that is not met, the worst rows and the worst segment."""

    @property
    def title(self) -> str:
        """The rule as written, with its name, and the metric and segment if it covers several."""
        parts = [f"{self.rule.name}: {self.rule.text}" if self.rule.name else self.rule.text]
        parts += [self.metric] if self.rule.metric is None else []
        parts += [self.segment] if self.segment and self.rule.several else []
        return " · ".join(parts)

    @property
    def has_interval(self) -> bool:
        """Whether the value is shown with its interval: of a change, a bound or a percentile."""
        shown = self.rule.is_change or self.rule.reads_interval or self.rule.figure not in (None, "mean")
        return shown and not math.isnan(self.low)

    @property
    def shown(self) -> str:
        """The value; for a change or a bound, with its interval, marked if there is a note on it."""
        if not self.has_interval:
            return self._number(self.value)
        return f"{self._number(self.value)} {self._bounds}{mark_of(self.interval_note)}"

    @property
    def _percent(self) -> bool:
        return self.rule.percent and self.rule.is_change

    @property
    def _bounds(self) -> str:
        return f"{interval(100 * self.low, 100 * self.high)}%" if self._percent else interval(self.low, self.high)

    def _number(self, value: float) -> str:
        return f"{number(value * 100)}%" if self._percent else number(value)

    @property
    def bound_at(self) -> float:
        """The end of the interval that a rule reads; the value if it reads none."""
        if not self.rule.reads_interval:
            return self.value
        if self.rule.reading == "equivalent":
            return self.low if -self.low > self.high else self.high
        if self.rule.is_change:
            return self.high if self.rule.compare in ("<", "<=") else self.low
        return self.low if self.rule.bound == "low" else self.high

    @property
    def bound(self) -> float:
        """The number that is compared with the limit: the value, a bound of its interval, or the size of a bound."""
        return abs(self.bound_at) if self.rule.reading == "equivalent" else self.bound_at

    @property
    def false_alarms(self) -> float:
        """The share of unchanged systems that a rule on a change fails at this number of rows; NaN for other rules.

        Of normal changes with the standard error that the interval shows.
        """
        if not self.rule.is_change or self.interval in ("none", "worst_case") or not self._error > 0:
            return math.nan
        beyond = NormalDist().cdf(-self._room / self._error)
        return min(1.0, 2 * beyond) if self.rule.reading == "equivalent" else beyond

    @property
    def _reach(self) -> float:
        """How far the interval reaches to the side that the rule reads."""
        return self.high - self.value if self.rule.compare in ("<", "<=") else self.value - self.low

    @property
    def _error(self) -> float:
        return self._reach / NormalDist().inv_cdf((1 + self.confidence) / 2)

    @property
    def _room(self) -> float:
        """How far the change may go before the rule fails."""
        limit = self.rule.limit if self.rule.compare in ("<", "<=") else -self.rule.limit
        return limit - (self._reach if self.rule.reads_interval else 0.0)

    @property
    def alarm_advice(self) -> str | None:
        """What to require instead of a rule that fails unchanged systems often; None for other rules."""
        if not self.false_alarms > _OFTEN:
            return None
        far = NormalDist().inv_cdf(1 - _SELDOM) * self._error
        sign = "" if self.rule.compare in ("<", "<=") else "-"
        limits = {self.rule.reading: far + self._reach, self.rule.point: far}
        limits = limits if self.rule.reads_interval else {self.rule.point: far}
        ways = (f"{self.metric}.{name} {self.rule.compare} {sign}{self._number(size)}" for name, size in limits.items())
        return Note("false_alarms", percent=100 * self.false_alarms, ways=" or ".join(ways), seldom=100 * _SELDOM)

    @property
    def crosses(self) -> bool:
        """Whether a rule reads a figure whose interval crosses the limit, so that the rows do not decide it."""
        reads_figure = not (self.rule.is_change or self.rule.reads_interval)
        return reads_figure and self.low < self.rule.limit < self.high

    @property
    def reason(self) -> str:
        """Why the rule is not met, in one sentence."""
        rule, limit = self.rule, f"{self.rule.compare} {self.rule.limit_text}"
        if self.why is not None:
            return self.why
        over = f"over {row_count(self.n)}" + (
            f" and {self.n_worst:,} that count{'s' * (self.n_worst == 1)} as {number(self.worst)}"
            if self.worst is not None and self.n_worst
            else ""
        )
        if not rule.reads_interval:
            return f"{self._number(self.value)} {over}, expected {limit}"
        figure = "the mean" if rule.is_change or rule.figure in (None, "mean") else f"the {rule.figure}"
        what = figure + (" drop" if rule.is_directed else " change" if rule.is_change else "")
        reason = f"{what} is {self._number(self.value)} {over}"
        if rule.reading == "equivalent":
            limit = f"between -{rule.limit_text} and {rule.limit_text}"
        if not rule.met(abs(self.value) if rule.reading == "equivalent" else self.value):
            return f"{reason}, expected {limit}"
        but = "but" if self.interval != "worst_case" else "which all agree, but so few may miss a rare change:"
        reach = f"its {self.confidence * 100:g} % interval reaches {self._number(self.bound_at)}"
        reading = rule.point if rule.is_change else figure.removeprefix("the ").removeprefix("mean")
        plain = f"{self.metric}.{reading}" if reading else self.metric
        limit = f"that it is {limit}" if rule.reading == "equivalent" else limit
        return f"{reason}, {but} {reach}, so these rows do not show {limit} ({plain} reads {figure} itself)"

    @property
    def basis(self) -> str:
        """The value, its interval with its kind and note, and the rows behind it, in one line."""
        parts = [f"value {self._number(self.value)}"]
        if not math.isnan(self.low):
            parts.append(f"{self.confidence * 100:g} % interval {self._bounds}: {NAMES[self.interval]}")
        parts += [self.interval_note] if self.interval_note is not None else []
        parts.append(f"n = {self.n:,}" + ("" if self.n_clusters is None else f" in {self.n_clusters:,} clusters"))
        parts += [f"{row_count(self.n_worst)} without a score"] if self.n_worst else []
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The rule and the result, as plain values."""
        rule = self.rule
        asked: dict[str, Any] = {
            "rule": rule.text,
            "name": rule.name,
            "metric": self.metric,
            "reading": rule.reading or "mean",
        }
        asked |= {"compare": rule.compare, "limit": rule.limit, "percent": rule.percent}
        found = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("rule", "why", "places", "causes")
        }
        verdict = {"verdict": "met" if self.met else "not met", "crosses": self.crosses} | {
            "false_alarms": self.false_alarms
        }
        places = {"worst_rows": list(self.places.rows), "worst_segment": self.places.segment}
        return {**asked, **found, **verdict, "reason": None if self.met else self.reason, **places}


_NOTED = 8
_OFTEN, _SELDOM = 0.1, 0.05
"""Shares of unchanged systems that a rule fails: from which on it is said, and that of the rules that are offered."""


@dataclass(frozen=True)
class Gate(ShownSequence[CheckedRule], of="checks"):
    """All rules with their results; prints as a table."""

    scores: str
    checks: Sequence[CheckedRule]
    baseline: str | None
    confidence: float
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Whether there are rules and all are met."""
        return bool(self.checks) and not self.failures

    @property
    def failures(self) -> list[CheckedRule]:
        """The rules that are not met."""
        return [check for check in self.checks if not check.met]

    @property
    def too_few(self) -> bool:
        """Whether all rules that are not met have too few rows."""
        return bool(self.failures) and all(check.few for check in self.failures)

    @property
    def verdict(self) -> str:
        """The number of rules that are met."""
        failed = len(self.failures)
        total = f"{len(self.checks):,} check{'s' * (len(self.checks) != 1)}"
        if self.passed:
            return f"passed: {total} met"
        return f"FAILED: {failed:,} of {total} not met" if failed else "FAILED: no rule was checked"

    @property
    def headline(self) -> str:
        """The scores and the verdict on them."""
        return f"{self.scores} {self.verdict}"

    def grids(self) -> list[Grid]:
        """The rules, unmet rules first; the rows without a score are those that count or would count as the worst."""
        verdict = ("verdict", lambda check: "ok" if check.met else "FAILED")
        without = (
            "no score",
            lambda check: sum(check.causes.values()) if check.rule.is_count else check.n_worst + check.n_ignored,
        )
        unmet_first = sorted(self.checks, key=lambda check: check.met)
        return [lines_of(unmet_first, "rule=title", verdict, "value=shown", "n", without)]

    def remarks(self) -> Sequence[str]:
        """Why rules are not met, how rows without a score count, the intervals, and the notes."""
        failed, checks = self.failures, self.checks
        return said(
            _some(Note("not_met", rule=check.title, reason=check.reason) for check in failed),
            _some(Note("worst_for", rule=check.title, places=text) for check in failed if (text := check.places.text)),
            self.baseline is not None and Note("changes_against", baseline=self.baseline),
            _some(dict.fromkeys(text for check in checks for text in _unscored(check))),
            _some(map(_crossed, (check for check in checks if check.crosses))),
            _some(Note("of_run", run=check.title, note=text) for check in checks if (text := check.alarm_advice)),
            self._intervals(),
            list(self.notes),
        )

    def record(self) -> Sequence[Figure]:
        """The value of each rule."""
        return [Figure.of(check.metric, check) for check in self.checks]

    def _intervals(self) -> list[str]:
        """The kinds of intervals that are shown."""
        kinds: dict[float, list[Figure]] = {}
        for check, row in zip(self.checks, self.record(), strict=True):
            if check.has_interval:
                kinds.setdefault(check.confidence, []).append(row)
        return [note for level, several in kinds.items() for note in interval_notes(several, level)]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per rule and segment."""
        return [check.to_dict() for check in self.checks]

    def to_dict(self) -> dict[str, Any]:
        """``{"passed", "verdict", "scores", "baseline", "checks": [{"rule", "value", "met", …}], "notes"}``."""
        return {"passed": self.passed, "verdict": self.verdict, **super().to_dict()}

    def to_markdown(self) -> str:
        """The verdict, the table and the notes in GitHub's Markdown."""
        _, _, rest = super().to_markdown().partition("\n\n")
        return f"### {'✅' if self.passed else '❌'} {inert(' '.join(self._first_line()))}\n\n{rest}"

    def to_junit(self) -> str:
        """JUnit XML: a test case for each rule, with a failure if it is not met."""
        suite = _suite(self.scores, tests=len(self.checks), failures=len(self.failures), errors=0)
        for check in self.checks:
            names = {"classname": _plain(check.metric), "name": _plain(check.title)}
            case = ElementTree.SubElement(suite, "testcase", names)
            if not check.met:
                failure = ElementTree.SubElement(case, "failure", {"message": _plain(check.reason)})
                failure.text = _plain(f"worst: {check.places.text}") if check.places.text else None
            ElementTree.SubElement(case, "system-out").text = _plain(check.basis)
        if self.notes:
            ElementTree.SubElement(suite, "system-out").text = _plain("\n".join(map(one_line, self.notes)))
        return _xml(suite)


@dataclass(frozen=True)
class UncheckedGate:
    """A gate whose input or rules could not be read, in the forms of :class:`Gate`: it has not passed."""

    scores: str
    error: str

    def to_json(self) -> str:
        """``{"passed": false, "verdict", "scores", "error", "checks": []}``."""
        told = {"passed": False, "verdict": "not checked", "scores": self.scores, "error": self.error, "checks": []}
        return json_text(told)

    def to_markdown(self) -> str:
        """A heading and the error."""
        return f"### ❌ {inert(one_line(self.scores))} not checked\n\n{inert(one_line(self.error))}\n"

    def to_junit(self) -> str:
        """One test case, with the error."""
        suite = _suite(self.scores, tests=1, failures=0, errors=1)
        case = ElementTree.SubElement(suite, "testcase", {"classname": "gate", "name": "input"})
        ElementTree.SubElement(case, "error", {"message": _plain(self.error)})
        return _xml(suite)


def _suite(scores: str, **counts: int) -> ElementTree.Element:
    numbers = {name: str(count) for name, count in counts.items()}
    return ElementTree.Element("testsuite", {"name": f"fastmetrics gate {_plain(scores)}", **numbers})


def _xml(suite: ElementTree.Element) -> str:
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _crossed(check: CheckedRule) -> Note:
    """That the rows do not decide a rule on a mean."""
    rule = check.rule
    figure = "" if rule.figure in (None, "mean") else f"{rule.figure}."
    reads = f"{check.metric}.{figure}{'low' if rule.compare in ('>', '>=') else 'high'}"
    note = "" if check.interval_note is None else f"; {check.interval_note}"
    shown = {"level": check.confidence * 100, "interval": interval(check.low, check.high), "limit": rule.limit_text}
    return Note("crosses", rule=check.title, kind=NAMES[check.interval] + note, reads=reads, **shown)


def _unscored(check: CheckedRule) -> list[str]:
    """How the rows without a score count in a check."""
    where = check.metric if check.segment is None else f"{check.metric} ({check.segment})"
    how = {"where": where, "worst": "" if check.worst is None else number(check.worst)}
    left = "not_estimated" if "drawn" in check.causes else "ignored"
    kind = left if check.n_ignored else "count_as_worst" if check.n_worst and check.worst is not None else None
    causes = check.causes or {"unscored": check.n_worst or check.n_ignored}
    return said(
        kind and [Note(kind, n=n, cause=Note(f"lost_{cause}", n=n), **how) for cause, n in causes.items()],
        check.n_new and Note("new_rows", where=where, n=check.n_new),
    )


def _some(lines: Iterable[str]) -> list[str]:
    """The first lines, and the number of the others."""
    every = list(lines)
    return said(every[:_NOTED], len(every) > _NOTED and Note("more_of_kind", n=len(every) - _NOTED))


def _plain(text: str) -> str:
    """The text with U+FFFD for characters that XML forbids: most control characters, surrogates, U+FFFE, U+FFFF."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


# The checks of one call: the metrics and rows that each rule covers, and whether it is met.


@dataclass
class GateChecks:
    """The checks of the rules of one call with its settings, and notes on them."""

    rows: GateRows
    metrics: GateMetrics
    unpaired: str
    min_n: int | None
    confidence: float
    seed: int
    threads: int | None
    notes: list[str] = field(default_factory=list)

    def least(self, rule: Rule) -> int:
        """The number of rows with a score that a rule needs: by default as many as its interval does, or a few."""
        if rule.least is not None or rule.is_count:
            return rule.least or 0
        return self.min_n or (LEAST_ROWS if rule.reads_interval else FEWER)

    def of(self, rule: Rule) -> list[CheckedRule]:
        """The checks of a rule: for its metrics, and of each the segments that are large enough.

        The level of an interval is for one-sided tests at α 1 − 2α; raises ``OptionError`` if α > 0.5.
        """
        if rule.is_margin and self.confidence <= 0.5:
            raise OptionError(f"rule {rule.text!r} needs a ", Argument("confidence"), " above 0.5")
        confidence = 2 * self.confidence - 1 if rule.is_margin else self.confidence
        method = Method(confidence=confidence, seed=self.seed, threads=self.threads)
        rows, unpaired = self.rows.of(rule), rule.unpaired or self.unpaired
        metrics, notes = self._metrics(rows).of(rule)
        column, systems = self.rows.run.systems or ("", [])
        of_rows = not any(isinstance(metric, SummaryFigure) for metric in metrics)
        if systems and column not in rule.where and not rule.is_count and of_rows:
            rule = replace(rule, where={**rule.where, column: "*"})
            rows, named = self.rows.of(rule), {"run": self.rows.run.name, "column": column, "names": systems}
            metrics, notes = self._metrics(rows).of(rule)
            notes.append(Note("each_system", n=len(systems), **named))
        segments = rows.segments(rule)
        if rule.where and (rejected := self.rows.n_rejected):
            notes.append(Note("rejected", rule=rule.text, n=rejected))
        checks, doubts, least = [], list[str](), self.least(rule)
        why: str | None
        for metric in metrics:
            needed = max(least, 1) if rule.several else 0
            large = [some for some in segments if metric.n_considered(rule, some.rows, unpaired) >= needed]
            if large and (small := len(segments) - len(large)):
                notes.append(Note("small_segments", rule=rule.text, n=small, least=least))
            if not large:
                why = f"no segment has at least {row_count(least)}" if segments else "there are no rows"
                checks.append(self._checked(rule, metric, Segment(None, np.zeros(0, np.int64)), Value(), method, why))
            for segment in large:
                value = metric.value_for(rule, segment.rows, unpaired, method)
                why = self._why(rule, metric.name, value)
                doubts += [] if value.note is None else [value.note]
                checks.append(self._checked(rule, metric, segment, value, method, why))
        self.notes += [note for note in dict.fromkeys([*notes, *doubts]) if note not in self.notes]
        return checks

    def _metrics(self, rows: GateRows) -> GateMetrics:
        return self.metrics if rows is self.rows else replace(self.metrics, rows=rows)

    def _checked(
        self, rule: Rule, metric: AnyMetric, segment: Segment, value: Value, method: Method, why: str | None
    ) -> CheckedRule:
        names = ("value", "n", "n_clusters", "n_worst", "worst", "n_ignored", "n_new", "causes")
        figures: dict[str, Any] = {name: getattr(value, name) for name in names}
        interval = value.interval
        figures |= {"low": interval.low, "high": interval.high, "interval": interval.kind, "why": why}
        figures["few"] = why is not None and not value.lacks_worst and self._is_few(rule, value)
        of = (rule, metric.name, metric.better, segment.name)
        checked = CheckedRule(*of, **figures, met=False, confidence=method.confidence, interval_note=interval.note)
        note = joined(interval.note, _tail_note(checked, interval))
        met, places = why is None and rule.met(checked.bound), NOWHERE
        if not met and why is None and isinstance(metric, RowMetric) and not rule.is_count:
            places = metric.worst_places(rule, segment.rows, value.worst)
        return replace(checked, met=met, interval_note=note, places=places)

    def _is_few(self, rule: Rule, value: Value) -> bool:
        """Whether a rule has fewer rows with a score than it needs, or clusters."""
        least, clusters = self.least(rule), value.n_clusters if rule.reads_interval else None
        return value.n < least or (clusters is not None and clusters < min(LEAST_CLUSTERS, least))

    def _fails_by_absence(self, rule: Rule, value: Value) -> bool:
        """Whether the rows suffice with those that count as the worst score, and the rule is not met over all."""
        enough = value.n_worst > 0 and value.n + value.n_worst >= max(self.least(rule), 1)
        found = abs(value.value) if rule.reading == "equivalent" else value.value
        return enough and not math.isnan(found) and not rule.met(found)

    def _why(self, rule: Rule, name: str, value: Value) -> str | None:
        """Why there is nothing to compare with the limit, if there is not."""
        least = self.least(rule)
        clusters = value.n_clusters if rule.reads_interval else None
        if value.lacks_worst:
            rows = f"{row_count(value.n_worst)} {'has' if value.n_worst == 1 else 'have'} no score, and {name} has no "
            ignore = "add 'with unpaired=ignore' to the rule"
            return f"{rows}worst score to count for them; {ignore}"
        if value.n < least and not self._fails_by_absence(rule, value):
            way = (
                "" if rule.least is not None else f"; a rule over fewer states it, as in 'with n >= {max(value.n, 1)}'"
            )
            return f"{row_count(value.n)} with a score, expected at least {least:,}{way}"
        if clusters is not None and clusters < (least := min(LEAST_CLUSTERS, least)):
            way = f"a rule over fewer states it, as in 'with n >= {max(clusters, 1)}'"
            return f"{clusters:,} cluster{'s' * (clusters != 1)}, expected at least {least:,}; {way}"
        if math.isnan(value.value):
            return f"undefined over {row_count(value.n)}"
        if rule.reads_interval and math.isnan(value.interval.low):
            return value.interval.note or "no interval"
        return None


def _tail_note(checked: CheckedRule, interval: Interval) -> str | None:
    """The note on a rule that reads the bound on the side of a long tail, if the rows are few for it."""
    if not (checked.rule.reads_interval and has_long_tail(interval, checked.bound_at == interval.high)):
        return None
    missed = f"{(1 - checked.confidence) * 50:.3g}"
    return Note("long_tail", missed=missed)


# Checking scores against rules.


def gate(
    scores: shared.Scores,
    require: Annotated[Sequence[str] | str, Help("A rule, repeatable: 'token_f1.mean >= 0.6'.")] = (),
    *,
    rules: Annotated[str | Path | None, Help("A TOML file of rules.")] = None,
    baseline: Annotated[Any, Help("The baseline scores for rules on delta and drop.")] = None,
    latest: Annotated[bool, Help("Take the last run of a folder of several.")] = False,
    last: Annotated[
        int | None, Help("Of a folder of runs as the baseline, the mean of so many last runs, question by question.")
    ] = None,
    unpaired: Annotated[
        Literal["worst", "ignore"],
        Help("Rows without a score count as the worst score of the metric, or are left out."),
    ] = "worst",
    min_n: Annotated[
        int | None, Help("Rows with a score that a rule needs; by default 5, or 20 if it reads an interval.")
    ] = None,
    better: shared.Better = None,
    cluster: shared.Cluster = None,
    confidence: shared.Confidence = 0.95,
    on: shared.On = None,
    pairing: Annotated[
        Literal["id", "position"],
        Help("What pairs the rows: id (or the column of on), or position (row i of each run is the same question)."),
    ] = "id",
    allow_differences: shared.AllowDifferences = False,
    skip_unreadable: shared.SkipUnreadable = False,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
    flags: shared.Flags = None,
) -> Gate:
    """Check scores against rules; ``passed`` of the result is True if all rules are met.

    ``require`` has rules as text, ``rules`` is a TOML file of them.  A rule is a metric, what it reads, a comparison
    and a number (docs/comparing.md has all):

    - ``token_f1 >= 0.6`` reads the mean; ``std``, ``min``, ``max``, ``sum``, percentiles (``latency_ms.p95 < 800``),
      counts and shares of rows (``token_f1.share_missing <= 1%``) are figures too.
    - ``token_f1.low >= 0.6`` reads a bound of the interval, ``.high`` the other.
    - ``token_f1.drop <= 0.02`` is met if the rows show that the scores are not worse than the ``baseline`` by more;
      ``drop.point`` reads the change of the mean.  ``drop <= 0.02`` covers every metric with a direction.
    - ``token_f1.equivalent <= 0.01`` and ``token_f1.not_worse <= 0.01`` are the verdicts of ``compare(margin=0.01)``.

    ``where language=ru`` restricts a rule to some rows, ``where language=*`` checks it for each value, ``with n >= 50``
    sets the rows that it needs.  Rows that only the baseline scores, that failed or that miss an input count as the
    worst score of the metric's bounds, and so do those that could not be read.  An undefined figure meets no rule.

    >>> import fastmetrics as fm
    >>> found = fm.gate({"token_f1": [0.5, 1.0, 0.9, 0.7, 0.8]}, ["token_f1 >= 0.6", "token_f1.min > 0.5"])
    >>> found.passed, [one.met for one in found]
    (False, [True, False])

    Raises ``OptionError`` for a malformed rule, for ``drop`` of a metric without a direction, and for a folder of
    several runs, ``UnknownNameError`` for an unknown name in a rule, and the errors of ``compare``.
    """
    check_names(cluster=cluster, on=on)
    if rules is not None and not isinstance(rules, str | Path):
        raise OptionError(Argument("rules", rules), ": expected the path of a TOML file")
    argument("unpaired", unpaired, Choice(*UNPAIRED))
    argument("last", last, Optional(Whole(1, 1_000)))
    argument("min_n", min_n, Optional(Whole(1, 1_000_000_000)))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("pairing", pairing, Choice("id", "position"))
    argument("seed", seed, Seed)
    cores(threads)
    all_rules = [
        *(parse_rules(require) if require or rules is None else []),
        *(read_rules(rules) if rules else []),
    ]
    for rule in all_rules:
        if rule.is_change and baseline is None:
            raise OptionError(f"rule {rule.text!r} needs a ", Argument("baseline"))
    asked = [*(rule.metric for rule in all_rules if rule.metric is not None), *distinct(flags, "flags")]
    path, chosen = latest_run(scores, skip_unreadable) if latest else (scores, [])
    run = open_scores(path, table="scores", latest=True, asked=asked)
    base, of_last = None, list[str]()
    if last is not None:
        began, skip = run.metadata.began, skip_unreadable
        base, of_last = mean_of_runs(baseline, last, path, began, allow=allow_differences, skip=skip, asked=asked)
    elif baseline is not None:
        base = open_scores(baseline, table="baseline", asked=asked)
    run = _prefetched(run, all_rules, cluster, on).with_flags(distinct(flags, "flags"))
    base = None if base is None else _prefetched(base, all_rules, cluster, on).with_flags(distinct(flags, "flags"))
    units, differences = _units(run, base, all_rules, on, pairing, allow_differences)
    rows = GateRows(run, replace(units, cluster=cluster))
    excluded = [*columns_read(all_rules, cluster), *([on] if on is not None else [])]
    metrics = GateMetrics(rows, stated_better(better), excluded, run)
    checks = GateChecks(rows, metrics, unpaired, min_n, confidence, seed, threads)
    checked = [check for rule in all_rules for check in checks.of(rule)]
    notes = list(dict.fromkeys([*chosen, *of_last]))  # both may leave out a run
    notes += [*differences, *rows.paired.infinite_notes, *checks.notes]
    for each in (run, base):
        notes += [] if each is None else [*_missing_queries(each), *each.drift_notes, *each.unread_notes]
    return Gate(run.name, checked, None if base is None else base.name, confidence, notes)


def _prefetched(run: ScoreTable, rules: Sequence[Rule], cluster: str | None, on: str | None) -> ScoreTable:
    """The run with the columns of the rules at hand."""
    metrics = [None if rule.metric is None else column_named(rule.metric, run.scores) for rule in rules]
    if all(name in run.scores for name in metrics):
        scores = [name for name in metrics if name is not None]
    else:  # a metric of the whole table, or all of them
        scores = [*run.scores, *map(counts_column, run.counted), *run.summed_columns]
    return run.by_column([*scores, *columns_read(rules, cluster), *run.keys(on)])


def _units(
    run: ScoreTable, base: ScoreTable | None, rules: Sequence[Rule], on: str | None, pairing: str, allow: bool
) -> tuple[AlignedScores, list[str]]:
    """The rows of both runs, and notes on differences between them."""
    if base is None:
        return (units := units_of(run, on)), units.repeat_notes
    changes = [rule for rule in rules if rule.is_change]
    columns = [column_named(rule.metric, run.scores) for rule in changes if rule.metric is not None]
    metrics = run.scores if len(columns) < len(changes) else columns
    notes = check_settings([base, run], metrics, allow)
    paired = align([base, run], on, pairing, allow, repeats=True)
    notes += ["rows paired by position"] if paired.joined_by == "position" else []
    return paired, [*notes, *paired.notes, *paired.repeat_notes]


def _missing_queries(run: ScoreTable) -> list[str]:
    queries = run.metadata.missing_queries
    if queries is None or not queries.count:
        return []
    if queries.rule == "skip":
        return [Note("skipped_queries", run=run.name, n=queries.count, of=queries.judged)]
    return [Note("of_run", run=run.name, note=note) for note in queries.notes]
