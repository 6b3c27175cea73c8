"""The checks of one call: the metrics and rows that each rule covers, and whether it is met."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.results.gate.gate_result import CheckedRule
from fastmetrics.results.gate.row_metric import Level, Value
from fastmetrics.results.gate.rule_metrics import AnyMetric, GateMetrics, check_sequence
from fastmetrics.results.gate.rule_rows import GateRows
from fastmetrics.results.gate.rules import Rule
from fastmetrics.results.rows.segments import Segment
from fastmetrics.stats.estimates import Interval
from fastmetrics.stats.mean_interval import FEWER, LEAST_CLUSTERS, LEAST_ROWS, SEQUENTIAL, has_long_tail


@dataclass(frozen=True)
class GateSettings:
    """The settings of all rules of a call."""

    unpaired: str
    min_n: int | None
    confidence: float
    correction: str
    interval: str
    """``auto``, or ``sequential`` for intervals that hold at every look."""
    seed: int
    threads: int | None

    def least(self, rule: Rule) -> int:
        """The number of rows with a score that a rule needs: by default as many as its interval does, or a few."""
        if rule.least is not None or rule.is_count:
            return rule.least or 0
        return self.min_n or (LEAST_ROWS if rule.reads_interval and self.interval != SEQUENTIAL else FEWER)

    def least_clusters(self, rule: Rule) -> int:
        """The number of clusters that a rule needs which reads an interval."""
        return min(LEAST_CLUSTERS, self.least(rule))

    def counting(self, rule: Rule) -> str | float:
        """How rows without a score count in a rule."""
        return self.unpaired if rule.unpaired is None else rule.unpaired


@dataclass(frozen=True)
class _Tasks:
    """One rule for one metric over the rows of each of some segments."""

    rule: Rule
    metric: AnyMetric
    segments: Sequence[Segment]
    why: str | None = None
    """Why there are no rows to check."""


@dataclass
class GateChecks:
    """The checks of the rules of one call, and notes on them."""

    rows: GateRows
    metrics: GateMetrics
    settings: GateSettings
    notes: list[str] = field(default_factory=list)

    def of(self, rules: Sequence[Rule]) -> list[CheckedRule]:
        """The checks of all rules.

        With a correction, each of the m intervals that rules read has the level 1 − (1 − confidence)/m (Bonferroni).
        """
        several = [tasks for rule in rules for tasks in self._tasks(rule)]
        with_interval = sum(len(tasks.segments) for tasks in several if tasks.rule.reads_interval and tasks.why is None)
        confidence = self.settings.confidence
        corrected = (
            1 - (1 - confidence) / max(with_interval, 1) if self.settings.correction == "bonferroni" else confidence
        )
        checks = []
        for tasks in several:
            level = self._level(tasks.rule, corrected)
            checks += [self._checked(tasks, segment, level) for segment in tasks.segments]
        return checks

    def _level(self, rule: Rule, corrected: float) -> float:
        """The level of the interval of a rule: of one-sided tests at α, 1 − 2α.  Raises ``OptionError`` if α > 0.5."""
        confidence = corrected if rule.reads_interval else self.settings.confidence
        if rule.is_margin and confidence <= 0.5:
            raise OptionError(f"rule {rule.text!r} needs a ", Argument("confidence"), " above 0.5")
        return 2 * confidence - 1 if rule.is_margin else confidence

    def _tasks(self, rule: Rule) -> Iterator[_Tasks]:
        """What a rule covers: its metrics, and of each the segments that are large enough."""
        segments = self.rows.segments(rule)
        metrics, notes = self.metrics.of(rule)
        self.notes += notes
        if self.settings.interval == SEQUENTIAL and rule.reads_interval:
            check_sequence(rule, metrics)
        if rule.where and self.rows.n_rejected:
            self.notes.append(f"{rule.text}: {self.rows.n_rejected:,} rows that scoring rejected are in no segment")
        for metric in metrics:
            counting = self.settings.counting(rule)
            least = max(self.settings.least(rule), 1) if rule.several else 0
            large = [some for some in segments if metric.n_considered(rule, some.rows, counting) >= least]
            small = len(segments) - len(large)
            least = self.settings.least(rule)
            if small and large:
                plural = "s" * (small != 1)
                self.notes.append(f"{rule.text}: {small:,} segment{plural} of fewer than {least:,} rows skipped")
            if large:
                yield _Tasks(rule, metric, large)
            else:
                why = f"no segment has at least {least:,} rows" if segments else "there are no rows"
                yield _Tasks(rule, metric, [Segment(None, self.rows.none)], why)

    def _checked(self, task: _Tasks, segment: Segment, confidence: float) -> CheckedRule:
        rule, unpaired = task.rule, self.settings.counting(task.rule)
        level = Level(confidence, self.settings.interval, self.settings.seed, self.settings.threads)
        value = Value.nothing() if task.why is not None else task.metric.value_for(rule, segment.rows, unpaired, level)
        self.notes += [value.note] if value.note is not None and value.note not in self.notes else []
        why = task.why or self._why(rule, task.metric.name, value)
        checked = CheckedRule(
            rule=rule,
            metric=task.metric.name,
            better=task.metric.better,
            segment=segment.name,
            value=value.value,
            n=value.n,
            met=False,
            low=value.interval.low,
            high=value.interval.high,
            confidence=confidence,
            interval=value.interval.kind,
            interval_note=value.interval.note,
            n_clusters=value.n_clusters,
            n_worst=value.n_worst,
            worst=value.worst,
            n_ignored=value.n_ignored,
            n_new=value.n_new,
            why=why,
        )
        note = _tail_note(checked, value.interval)
        notes = [text for text in (checked.interval_note, note) if text is not None]
        return replace(checked, met=why is None and rule.met(checked.bound), interval_note="; ".join(notes) or None)

    def _why(self, rule: Rule, name: str, value: Value) -> str | None:
        """Why there is nothing to compare with the limit, if there is not."""
        least = self.settings.least(rule)
        clusters = value.n_clusters if rule.reads_interval else None
        if value.lacks_worst:
            rows = f"{value.n_worst:,} rows have no score, and {name} has no "
            ignore = "add 'with unpaired=ignore' to the rule"
            if not value.has_row_scores:
                return f"{rows}scores of rows, of which one could count for them; {ignore}"
            return f"{rows}worst score to count for them; {ignore}, or the score to count, 'with unpaired=NUMBER'"
        if value.n < least:
            way = (
                "" if rule.least is not None else f"; a rule over fewer states it, as in 'with n >= {max(value.n, 1)}'"
            )
            return f"{value.n:,} row{'s' * (value.n != 1)} with a score, expected at least {least:,}{way}"
        if clusters is not None and clusters < (least := self.settings.least_clusters(rule)):
            way = f"a rule over fewer states it, as in 'with n >= {max(clusters, 1)}'"
            return f"{clusters:,} cluster{'s' * (clusters != 1)}, expected at least {least:,}; {way}"
        if math.isnan(value.value):
            return f"undefined over {value.n:,} rows"
        if rule.reads_interval and math.isnan(value.interval.low):
            return value.interval.note or "no interval"
        return None


def _tail_note(checked: CheckedRule, interval: Interval) -> str | None:
    """The note on a rule that reads the bound on the side of a long tail, if the rows are few for it."""
    if not (checked.rule.reads_interval and has_long_tail(interval, checked.bound_at == interval.high)):
        return None
    missed = f"{(1 - checked.confidence) * 50:.3g}"
    return f"skewed: a few rows decide the mean, so the bound may miss it in more than {missed} % of the cases"
