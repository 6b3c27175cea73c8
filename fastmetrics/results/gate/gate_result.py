"""The result of checking scores against rules: the check of each rule; as text, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from fastmetrics.base.display import Grid, ShownSequence, number
from fastmetrics.base.specs import Better
from fastmetrics.results.gate.rules import Rule
from fastmetrics.stats.mean_interval import NAMES, interval_notes, interval_text


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
    """The kind of interval: a key of :data:`fastmetrics.stats.mean_interval.NAMES`."""
    interval_note: str | None = None
    """Why the interval may hold another level, or why there is none."""
    n_clusters: int | None = None
    n_worst: int = 0
    """Rows without a score that count as ``worst``."""
    worst: float | None = None
    n_ignored: int = 0
    """Rows without a score that are left out on request."""
    n_new: int = 0
    """Rows that only the scores have; no change includes them."""
    why: str | None = None
    """Why there is nothing to compare with the limit."""

    @property
    def title(self) -> str:
        """The rule as written, with its name, and the metric and segment if it covers several."""
        parts = [f"{self.rule.name}: {self.rule.text}" if self.rule.name else self.rule.text]
        parts += [self.metric] if self.rule.metric is None else []
        parts += [self.segment] if self.segment and self.rule.several else []
        return " · ".join(parts)

    @property
    def has_interval(self) -> bool:
        """Whether the value is shown with its interval: of a change or of a bound."""
        return (self.rule.is_change or self.rule.reads_interval) and not math.isnan(self.low)

    @property
    def shown(self) -> str:
        """The value; for a change or a bound, with its interval, marked if there is a note on it."""
        if not self.has_interval:
            return self._number(self.value)
        return f"{self._number(self.value)} {interval_text(self.low, self.high, self.interval_note, self._number)}"

    def _number(self, value: float) -> str:
        return f"{number(value * 100)}%" if self.rule.percent and self.rule.is_change else number(value)

    @property
    def bound_at(self) -> float:
        """The end of the interval that a rule reads; the value if it reads none."""
        if not self.rule.reads_interval:
            return self.value
        if self.rule.reading == "equivalent":
            return self.low if -self.low > self.high else self.high
        if self.rule.is_change:
            return self.high if self.rule.compare in ("<", "<=") else self.low
        return self.low if self.rule.reading == "low" else self.high

    @property
    def bound(self) -> float:
        """The number that is compared with the limit: the value, a bound of its interval, or the size of a bound."""
        return abs(self.bound_at) if self.rule.reading == "equivalent" else self.bound_at

    @property
    def crosses(self) -> bool:
        """Whether a rule reads a mean whose interval crosses the limit, so that the rows do not decide it."""
        return self.rule.reading in (None, "mean") and self.low < self.rule.limit < self.high

    @property
    def reason(self) -> str:
        """Why the rule is not met, in one sentence."""
        rule, limit = self.rule, f"{self.rule.compare} {self.rule.limit_text}"
        if self.why is not None:
            return self.why
        over = f"over {self.n:,} rows" + (
            f" and {self.n_worst:,} that count as {number(self.worst)}"
            if self.worst is not None and self.n_worst
            else ""
        )
        if not rule.reads_interval:
            return f"{self._number(self.value)} {over}, expected {limit}"
        what = "the mean" + (" drop" if rule.is_directed else " change" if rule.is_change else "")
        reason = f"{what} is {self._number(self.value)} {over}"
        if rule.reading == "equivalent":
            limit = f"between -{rule.limit_text} and {rule.limit_text}"
        if not rule.met(abs(self.value) if rule.reading == "equivalent" else self.value):
            return f"{reason}, expected {limit}"
        but = "but" if self.interval != "worst_case" else "which all agree, but so few may miss a rare change:"
        reach = f"its {self.confidence * 100:g} % interval reaches {self._number(self.bound_at)}"
        plain = f"{self.metric}.{rule.point}" if rule.is_change else self.metric
        limit = f"that it is {limit}" if rule.reading == "equivalent" else limit
        return f"{reason}, {but} {reach}, so these rows do not show {limit} ({plain} reads the mean itself)"

    @property
    def basis(self) -> str:
        """The value, its interval with its kind and note, and the rows behind it, in one line."""
        parts = [f"value {self._number(self.value)}"]
        if not math.isnan(self.low):
            ends = f"[{self._number(self.low)}, {self._number(self.high)}]"
            parts.append(f"{self.confidence * 100:g} % interval {ends}: {NAMES[self.interval]}")
        parts += [self.interval_note] if self.interval_note is not None else []
        parts.append(f"n = {self.n:,}" + ("" if self.n_clusters is None else f" in {self.n_clusters:,} clusters"))
        parts += [f"{self.n_worst:,} rows without a score"] if self.n_worst else []
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The rule and the result, as plain values."""
        rule = self.rule
        entry = {"rule": rule.text, "name": rule.name, "metric": self.metric, "reading": rule.reading or "mean"}
        limits = {"compare": rule.compare, "limit": rule.limit, "percent": rule.percent, "segment": self.segment}
        interval = {"low": self.low, "high": self.high, "confidence": self.confidence, "interval": self.interval}
        rows = {"n": self.n, "n_clusters": self.n_clusters, "n_worst": self.n_worst, "worst": self.worst}
        left_out = {"n_ignored": self.n_ignored, "n_new": self.n_new}
        verdict = {"met": self.met, "verdict": "met" if self.met else "not met", "crosses": self.crosses}
        last = {"interval_note": self.interval_note, "reason": None if self.met else self.reason}
        return {
            **entry,
            "better": self.better,
            **limits,
            "value": self.value,
            **interval,
            **rows,
            **left_out,
            **verdict,
            **last,
        }


_NOTED = 8


@dataclass(frozen=True)
class Gate(ShownSequence[CheckedRule], of="checks"):
    """All rules with their results; prints as a table."""

    scores: str
    checks: Sequence[CheckedRule]
    baseline: str | None
    confidence: float
    correction: str = "none"
    notes: Sequence[str] = ()
    interval: str = "auto"
    """``auto``, or ``sequential`` for intervals that hold at every look."""

    @property
    def passed(self) -> bool:
        """Whether there are rules and all are met."""
        return bool(self.checks) and not self.failures

    @property
    def failures(self) -> list[CheckedRule]:
        """The rules that are not met."""
        return [check for check in self.checks if not check.met]

    @property
    def verdict(self) -> str:
        """The number of rules that are met."""
        failed = len(self.failures)
        total = f"{len(self.checks):,} check{'s' * (len(self.checks) != 1)}"
        if self.passed:
            return f"passed: {total} met"
        return f"FAILED: {failed:,} of {total} not met" if failed else "FAILED: no rule was checked"

    def grids(self) -> list[Grid]:
        """The rules, unmet rules first; the rows without a score are those that count or would count as the worst."""
        rows = [_cells(check) for check in sorted(self.checks, key=lambda check: check.met)]
        return [Grid(("rule", "value", "interval", "n", "no score", ""), rows)]

    def remarks(self) -> Sequence[str]:
        """The verdict, why rules are not met, how rows without a score count, the intervals, and the notes."""
        verdict = f"{self.scores} {self.verdict}"
        reasons = (f"not met: {check.title}: {check.reason}" for check in self.failures)
        against = [] if self.baseline is None else [f"changes against {self.baseline}"]
        return [
            verdict,
            *_some(reasons),
            *against,
            *_some(dict.fromkeys(text for check in self.checks for text in _unscored(check))),
            *_some(self._crossed()),
            *self._intervals(),
            *self.notes,
        ]

    def _crossed(self) -> Iterator[str]:
        """The rules on means that the rows do not decide."""
        return (
            f"{check.title}: the {check.confidence * 100:g} % interval [{number(check.low)}, {number(check.high)}] "
            f"({NAMES[check.interval]}{'' if check.interval_note is None else f'; {check.interval_note}'}) crosses "
            f"{check.rule.limit_text}, so these rows do not decide it; {check.metric}."
            f"{'low' if check.rule.compare in ('>', '>=') else 'high'} reads the bound"
            for check in self.checks
            if check.crosses
        )

    def _intervals(self) -> list[str]:
        """The kinds of intervals that are shown, and their correction."""
        kinds: dict[float, dict[tuple[str, str, str | None], None]] = {}
        for check in self.checks:
            if check.has_interval:
                kinds.setdefault(check.confidence, {})[check.metric, check.interval, check.interval_note] = None
        notes = [note for level, several in kinds.items() for note in interval_notes(several, level)]
        with_interval = sum(check.rule.reads_interval and check.why is None for check in self.checks)
        if self.correction != "none" and with_interval:
            notes.append(
                f"{self.confidence * 100:g} % intervals corrected by Bonferroni for {with_interval:,} checks that "
                "read one"
            )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """``{"passed", "verdict", "scores", "baseline", "checks": [{"rule", "value", "met", …}], "notes"}``."""
        result = {"passed": self.passed, "verdict": self.verdict, "scores": self.scores, "baseline": self.baseline}
        settings = {"confidence": self.confidence, "correction": self.correction, "interval": self.interval}
        notes = list(self.remarks()[1:])
        return {**result, **settings, "checks": [check.to_dict() for check in self.checks], "notes": notes}

    def to_markdown(self) -> str:
        """The verdict, the table and the notes in GitHub's Markdown."""
        verdict = f"### {'✅' if self.passed else '❌'} {self.scores} {self.verdict}"
        notes = [f"- {note}" for note in self.remarks()[1:]]
        return "\n".join([verdict, "", self.grids()[0].markdown(), *(["", *notes] if notes else []), ""])

    def to_junit(self) -> str:
        """JUnit XML: a test case for each rule, with a failure if it is not met."""
        counts = {"tests": str(len(self.checks)), "failures": str(len(self.failures)), "errors": "0"}
        suite = ElementTree.Element("testsuite", {"name": f"fastmetrics gate {_plain(self.scores)}", **counts})
        for check in self.checks:
            names = {"classname": _plain(check.metric), "name": _plain(check.title)}
            case = ElementTree.SubElement(suite, "testcase", names)
            if not check.met:
                ElementTree.SubElement(case, "failure", {"message": _plain(check.reason)})
            ElementTree.SubElement(case, "system-out").text = _plain(check.basis)
        ElementTree.indent(suite)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _cells(check: CheckedRule) -> tuple[str, ...]:
    return (
        check.title,
        check.shown,
        check.interval if check.has_interval else "–",
        number(check.n),
        number(check.n_worst + check.n_ignored),
        "ok" if check.met else "FAILED",
    )


def _unscored(check: CheckedRule) -> Iterator[str]:
    """How the rows without a score count in a check."""
    where = check.metric if check.segment is None else f"{check.metric} ({check.segment})"
    lacking = "that the run failed to score" if not check.rule.is_change else "that only the baseline scores"
    if check.n_worst and check.worst is not None:
        yield f"{where}: {check.n_worst:,} rows {lacking} count as {number(check.worst)}"
    if check.n_ignored:
        yield f"{where}: {check.n_ignored:,} rows {lacking} are ignored (unpaired=ignore)"
    if check.n_new:
        yield f"{where}: {check.n_new:,} rows that the baseline does not score are in no change"


def _some(lines: Iterable[str]) -> list[str]:
    """The first lines, and the number of the others."""
    others = iter(lines)
    first = list(islice(others, _NOTED))
    more = sum(1 for _ in others)
    return [*first, *([f"{more:,} more of this kind"] if more else [])]


def _plain(text: str) -> str:
    """The text with U+FFFD for characters that XML forbids: most control characters, surrogates, U+FFFE, U+FFFF."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
