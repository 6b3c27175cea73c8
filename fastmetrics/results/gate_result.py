"""The result of checking scores against rules: as text, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.results.gate_rules import Rule


@dataclass(frozen=True)
class Checked:
    """The check of one rule for one metric and segment (None: all rows)."""

    rule: Rule
    metric: str
    segment: str | None
    value: float
    n: int
    """The number of rows of the value."""
    met: bool
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """The rule as written, with its name, and the metric and segment if it covers several."""
        parts = [f"{self.rule.name}: {self.rule.text}" if self.rule.name else self.rule.text]
        parts += [self.metric] if self.rule.metric is None else []
        parts += [self.segment] if self.segment and "*" in self.rule.where.values() else []
        return " · ".join(parts)

    @property
    def shown(self) -> str:
        """The value; for a change, with its interval."""
        if self.low is None or self.high is None:
            return number(self.value)
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"

    @property
    def reason(self) -> str:
        """Why the rule is not met."""
        if self.n < self.rule.least:
            return f"{self.n:,} rows with a score, expected at least {self.rule.least:,}"
        return f"{self.shown} over {self.n:,} rows; expected {self.rule.compare} {self.rule.limit:g}"

    def to_dict(self) -> dict[str, Any]:
        """The rule and the result, as plain values."""
        rule = self.rule
        said = {"rule": rule.text, "name": rule.name, "metric": self.metric, "figure": rule.figure or "mean"}
        limits = {"compare": rule.compare, "limit": rule.limit, "segment": self.segment}
        return {**said, **limits, "value": self.value, "low": self.low, "high": self.high, "n": self.n, "met": self.met}


@dataclass(frozen=True)
class Gate(Shown, Sequence[Checked]):
    """All rules with their results; prints as a table."""

    scores: str
    checks: Sequence[Checked]
    baseline: str | None
    confidence: float
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Whether all rules are met."""
        return all(one.met for one in self.checks)

    @property
    def failures(self) -> list[Checked]:
        """The rules that are not met."""
        return [one for one in self.checks if not one.met]

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checks)

    def __getitem__(self, place: Any) -> Any:
        return self.checks[place]

    @property
    def verdict(self) -> str:
        """The number of rules that are met."""
        failed = len(self.failures)
        total = f"{len(self.checks):,} check{'s' * (len(self.checks) != 1)}"
        return f"FAILED: {failed:,} of {total} not met" if failed else f"passed: {total} met"

    def grids(self) -> list[Grid]:
        """The rules, unmet rules first."""
        ordered = sorted(self.checks, key=lambda one: one.met)
        rows = [(one.title, one.shown, number(one.n), "ok" if one.met else "FAILED") for one in ordered]
        return [Grid(("rule", "value", "n", ""), rows)]

    def remarks(self) -> Sequence[str]:
        """The verdict, the baseline, and the notes."""
        against = []
        if self.baseline is not None:
            against = [f"changes against {self.baseline}, judged by {self.confidence * 100:g} % intervals"]
        return [f"{self.scores} {self.verdict}", *against, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """``{"passed", "scores", "baseline", "checks": [{"rule", "value", "met", …}], "notes"}``."""
        result = {"passed": self.passed, "scores": self.scores, "baseline": self.baseline}
        return {**result, "checks": [one.to_dict() for one in self.checks], "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """The verdict, the table and the notes, for a comment on a pull request."""
        mark = "✅" if self.passed else "❌"
        notes = "".join(f"\n- {note}" for note in self.remarks()[1:])
        return f"### {mark} {self.scores} {self.verdict}\n\n{self.grids()[0].markdown()}\n{notes}".rstrip() + "\n"

    def to_junit(self) -> str:
        """JUnit XML: a test case for each rule, with a failure if it is not met."""
        counts = {"tests": str(len(self.checks)), "failures": str(len(self.failures)), "errors": "0"}
        suite = ElementTree.Element("testsuite", {"name": f"fastmetrics gate {_plain(self.scores)}", **counts})
        for one in self.checks:
            named = {"classname": _plain(one.metric), "name": _plain(one.title)}
            case = ElementTree.SubElement(suite, "testcase", named)
            if not one.met:
                ElementTree.SubElement(case, "failure", {"message": _plain(one.reason)})
        ElementTree.indent(suite)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _plain(text: str) -> str:
    """The text with U+FFFD for characters that XML forbids: most control characters, surrogates, U+FFFE, U+FFFF."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
