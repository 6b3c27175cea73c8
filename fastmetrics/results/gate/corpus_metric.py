"""What rules read of a corpus metric: from the counts of rows if a run stores them, else from its summary."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Flags, Ints
from fastmetrics.base.errors import Argument, ColumnError
from fastmetrics.base.specs import Better
from fastmetrics.metrics.corpus_values import many_values
from fastmetrics.results.gate.row_metric import NO_INTERVAL, Level, Value, sign, signed
from fastmetrics.results.gate.rule_rows import GateRows
from fastmetrics.results.gate.rules import Rule
from fastmetrics.stats.estimates import Bounds, Interval
from fastmetrics.stats.significance import PairedCounts, counts_interval, value_interval


@dataclass(frozen=True)
class CountedMetric:
    """A corpus metric, computed from the counts of rows.

    A row without counts has no worst score, since the metric has no scores of rows.
    """

    name: str
    better: Better
    bounds: Bounds | None
    rows: GateRows

    @property
    def has_sequence(self) -> bool:
        """False: a sequence needs scores of rows."""
        return False

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str | float) -> int:
        """The rows that a rule reads in a segment."""
        has = self._counts[1][:, rows]
        return int((has[0] if rule.is_change and unpaired != "ignore" else has[-1]).sum())

    def value_for(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """What a rule reads over these rows: the change over those that both runs counted, or the value."""
        counts, has = self._counts
        counts, has = counts[:, rows], has[:, rows]
        after, before = has[-1], has[0] if len(has) > 1 else np.zeros(len(rows), np.bool_)
        present = ~self.rows.absent[rows]
        extra = 0 if rule.where else self.rows.n_rejected
        lost = int((before & ~after).sum()) if rule.is_change else int((~after & (present | before)).sum()) + extra
        used = after & before if rule.is_change else after
        n_new = int((after & ~before).sum()) if rule.is_change else 0
        if lost and unpaired != "ignore":
            return Value.uncounted(int(used.sum()), lost, n_new, has_row_scores=False)
        clusters = None if self.rows.clusters is None else self.rows.clusters[rows][used]
        pair = PairedCounts.of(counts[0][used], counts[-1][used], partial(many_values, self._spec), clusters)
        value, interval = (self._change if rule.is_change else self._figure)(rule, pair, level)
        count = None if pair.sizes is None else len(pair.sizes)
        return Value(value, interval, int(used.sum()), 0, None, lost, n_new, count)

    @property
    def _spec(self) -> str:
        return self.rows.run.spec(self.name)

    @cached_property
    def _counts(self) -> tuple[Ints, Flags]:
        """The counts of each run and row, of the scores last, and which of them exist."""
        if self.rows.paired is not None and self.name in self.rows.paired.runs[0].counted:
            return self.rows.paired.counts(self.name)
        run, places = self.rows.run, None
        if self.rows.paired is not None:
            run, places = self.rows.paired.runs[1], self.rows.paired.rows[1]
        counts, counted = run.counts(self.name)
        if places is None:
            return counts[None], counted[None]
        placed = np.zeros((len(places), counts.shape[1]), np.int64)
        placed[places >= 0] = counts[places[places >= 0]]
        has = np.zeros(len(places), np.bool_)
        has[places >= 0] = counted[places[places >= 0]]
        return placed[None], has[None]

    def _change(self, rule: Rule, pair: PairedCounts, level: Level) -> tuple[float, Interval]:
        before, after = pair.values
        drawn: dict[str, Any] = {"seed": level.seed, "threads": level.threads}
        interval = counts_interval(pair, level.confidence, level.kind, bounds=self.bounds, **drawn)
        value, interval = signed(sign(rule, self.better), after - before, interval)
        if not rule.percent:
            return value, interval
        size = abs(before) or math.nan
        return value / size, replace(interval, low=interval.low / size, high=interval.high / size)

    def _figure(self, rule: Rule, pair: PairedCounts, level: Level) -> tuple[float, Interval]:
        value = pair.values[1]
        return value, value_interval(pair, level.confidence, self.bounds) if rule.reads_interval else NO_INTERVAL


@dataclass(frozen=True)
class SummaryFigure:
    """A figure of the summary of all rows: a corpus metric without stored counts of rows, or one of its figures."""

    name: str
    better: Better
    value: float
    n: int
    """The rows behind the figure."""
    n_missing: int
    """The rows that are not behind it since they miss an input, or a score that the metric reads."""
    rows: GateRows

    @property
    def has_sequence(self) -> bool:
        """False: a sequence needs scores of rows."""
        return False

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str | float) -> int:
        """The rows behind the figure."""
        return self.n

    def value_for(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """The figure, unless rows are known to be left out of it."""
        if rule.where or rule.reads_interval:
            raise ColumnError(
                f"rule {rule.text!r} needs the counts of {self.name} for each row; score with ",
                Argument("keep_counts", True),
            )
        lost = self.n_missing + int(self.rows.absent[self.rows.every].sum()) + self.rows.n_rejected
        if lost and unpaired != "ignore":
            return Value.uncounted(self.n, lost, has_row_scores=False)
        return Value(self.value, NO_INTERVAL, self.n, n_ignored=lost)
