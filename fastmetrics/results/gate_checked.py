"""The check of one rule: the value, the rows behind it, and why the rule is met or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fastmetrics.core.display import number
from fastmetrics.declaration.metric import Better
from fastmetrics.results.gate_rules import Rule
from fastmetrics.stats.interval_notes import MARK
from fastmetrics.stats.mean_interval import NAMES


@dataclass(frozen=True, slots=True)
class Checked:
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
        mark = "" if self.interval_note is None else MARK
        return f"{self._number(self.value)} [{self._number(self.low)}, {self._number(self.high)}]{mark}"

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
        told = f"{what} is {self._number(self.value)} {over}"
        if rule.reading == "equivalent":
            limit = f"between -{rule.limit_text} and {rule.limit_text}"
        if not rule.met(abs(self.value) if rule.reading == "equivalent" else self.value):
            return f"{told}, expected {limit}"
        but = "but" if self.interval != "worst_case" else "which all agree, but so few may miss a rare change:"
        reach = f"its {self.confidence * 100:g} % interval reaches {self._number(self.bound_at)}"
        plain = f"{self.metric}.{rule.point}" if rule.is_change else self.metric
        limit = f"that it is {limit}" if rule.reading == "equivalent" else limit
        return f"{told}, {but} {reach}, so these rows do not show {limit} ({plain} reads the mean itself)"

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
        said = {"rule": rule.text, "name": rule.name, "metric": self.metric, "reading": rule.reading or "mean"}
        limits = {"compare": rule.compare, "limit": rule.limit, "percent": rule.percent, "segment": self.segment}
        interval = {"low": self.low, "high": self.high, "confidence": self.confidence, "interval": self.interval}
        rows = {"n": self.n, "n_clusters": self.n_clusters, "n_worst": self.n_worst, "worst": self.worst}
        left_out = {"n_ignored": self.n_ignored, "n_new": self.n_new}
        verdict = {"met": self.met, "verdict": "met" if self.met else "not met", "crosses": self.crosses}
        told = {"interval_note": self.interval_note, "reason": None if self.met else self.reason}
        return {
            **said,
            "better": self.better,
            **limits,
            "value": self.value,
            **interval,
            **rows,
            **left_out,
            **verdict,
            **told,
        }
