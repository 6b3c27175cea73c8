"""What rules read of a metric of rows: figures of its scores, and changes against a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.specs import Better
from fastmetrics.results.gate.rule_rows import GateRows
from fastmetrics.results.gate.rules import COUNTS, SHARES, Rule
from fastmetrics.stats.estimates import Bounds, Interval, Sample
from fastmetrics.stats.mean_interval import SEQUENTIAL, mean_interval
from fastmetrics.stats.sums import State, percentiles

NO_INTERVAL = Interval(math.nan, math.nan, "none")


@dataclass(frozen=True)
class Level:
    """How intervals are computed."""

    confidence: float
    kind: str
    """``auto``, or ``sequential`` for intervals that hold at every look."""
    seed: int
    threads: int | None

    def of(self, sample: Sample) -> Interval:
        """The interval of a mean."""
        return mean_interval(sample, self.confidence, self.kind, seed=self.seed, threads=self.threads)


@dataclass(frozen=True)
class Value:
    """What a rule reads: a value, its interval, and the numbers of rows behind it."""

    value: float
    interval: Interval
    n: int
    """Rows with a score; for a change, of both runs."""
    n_worst: int = 0
    """Rows without a score that count as the score ``worst``."""
    worst: float | None = None
    n_ignored: int = 0
    """Rows without a score that are left out, though the run failed there."""
    n_new: int = 0
    """Rows that only the scores have, which no change includes."""
    n_clusters: int | None = None
    note: str | None = None
    lacks_worst: bool = False
    """Whether rows without a score could not be counted, so that there is no value."""
    has_row_scores: bool = True
    """Whether the metric has scores of rows, so that a rule can state the score that counts for rows without one."""

    @classmethod
    def nothing(cls) -> Value:
        """No rows."""
        return cls(math.nan, NO_INTERVAL, 0)

    @classmethod
    def uncounted(cls, n: int, n_failed: int, n_new: int = 0, *, has_row_scores: bool = True) -> Value:
        """No value, since ``n_failed`` rows without a score cannot be counted."""
        return cls(math.nan, NO_INTERVAL, n, n_failed, n_new=n_new, lacks_worst=True, has_row_scores=has_row_scores)


@dataclass(frozen=True)
class RowMetric:
    """A metric of rows, with its direction and bounds."""

    name: str
    better: Better
    bounds: Bounds | None
    rows: GateRows
    usual: str = "mean"
    """The figure that a rule reads which names none."""

    @property
    def has_sequence(self) -> bool:
        """Whether its mean has an interval that holds at every look: whether its bounds are declared and finite."""
        return self.bounds is not None and all(map(math.isfinite, self.bounds))

    def value_for(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """What a rule reads over these rows."""
        return (self.change if rule.is_change else self.figure)(rule, rows, unpaired, level)

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str | float) -> int:
        """The rows that a rule reads in a segment, with a score or counted without one."""
        has = self.rows.scores(self.name).has[rows]
        if rule.is_change:
            before = self.rows.baseline(self.name).has[rows]
            return int((before & has if unpaired == "ignore" else before).sum())
        return int((has if unpaired == "ignore" else has | self.without_score(rows)).sum())

    def worst(self, rule: Rule, unpaired: str | float) -> float | None:
        """The score that counts for a row without one; None if there is none.

        The worst by the direction of the metric, or without a direction the least favourable for the rule.
        """
        if isinstance(unpaired, float):
            return unpaired
        lowest = self.better == "higher" if self.better is not None else rule.compare in (">", ">=")
        if self.bounds is None or (self.better is None and (rule.compare == "==" or rule.reading == "equivalent")):
            return None
        score = self.bounds[0] if lowest else self.bounds[1]
        return score if math.isfinite(score) else None

    def without_score(self, rows: Ints) -> Flags:
        """Which of the rows have no score though the run failed there, or the baseline has one."""
        certain, doubtful = self._unscored
        failed = certain[rows]
        failed[np.flatnonzero(doubtful[rows])[: self.rows.scores(self.name).most_failed]] = True
        return failed

    @cached_property
    def _unscored(self) -> tuple[Flags, Flags]:
        """The rows that count as without a score for certain, and those that may."""
        scores = self.rows.scores(self.name)
        if self.rows.paired is None:
            base_has = base_undefined = np.zeros(self.rows.n, np.bool_)
        else:
            base = self.rows.baseline(self.name)
            base_has, base_undefined = base.has, base.undefined
        certain = ~scores.has & ((scores.failed > 0) | base_has)
        return certain, scores.doubtful & ~certain & ~base_undefined

    def figure(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """The figure of a rule over these rows, or the bound of the mean's interval."""
        scores, reading = self.rows.scores(self.name), rule.reading or self.usual
        if rule.is_count:
            return Value(self._count(reading, rows), NO_INTERVAL, int(scores.has[rows].sum()))
        failed = self.without_score(rows)
        extra = 0 if rule.where else self.rows.n_rejected
        has = scores.has[rows]
        scored = rows[has]
        partly = int((scores.failed[scored] > 0).sum())
        n_failed = int(failed.sum()) + extra + partly
        worst = None if unpaired == "ignore" else self.worst(rule, unpaired)
        clusters = None if self.rows.clusters is None else self.rows.clusters[scored]
        values = scores.values[scored]
        unplaced = 0
        if n_failed and unpaired != "ignore":
            if worst is None:
                return Value.uncounted(len(scored), n_failed)
            used, unplaced = has | failed, extra
            values = np.where(has, scores.counting(worst, rows), worst)[used]
            values = np.concatenate([values, np.full(extra, worst)])
            clusters = self._with_rejected(rows[used], extra)
        sample = Sample.of(values, clusters, self.bounds)
        interval = level.of(sample) if reading in ("mean", "low", "high") else NO_INTERVAL
        if unplaced and level.kind == SEQUENTIAL and interval is not NO_INTERVAL:
            why = (
                "rows that scoring rejected have no place in the order of arrival; leave them out with unpaired=ignore"
            )
            interval = replace(NO_INTERVAL, note=f"no interval: {unplaced:,} {why}")
        ignored = n_failed if unpaired == "ignore" else 0
        count = None if clusters is None else len(sample.units)
        value = _statistic(values, reading)
        note = self._doubt(rule, rows) if n_failed else None
        counted = worst if n_failed else None
        return Value(value, interval, len(scored), n_failed - ignored, counted, ignored, n_clusters=count, note=note)

    def _doubt(self, rule: Rule, rows: Ints) -> str | None:
        """The note on rows that may have failed or be undefined."""
        scores = self.rows.scores(self.name)
        if not (rule.where or self.rows.paired) or not scores.doubtful[rows].any():
            return None
        return (
            f"{self.name}: the metadata do not store which of the rows without a score are undefined; up to "
            f"{scores.most_failed:,} of them count as failed"
        )

    def _with_rejected(self, rows: Ints, extra: int) -> Ints | None:
        """The clusters of the rows; each of the ``extra`` rows that scoring rejected is a cluster of its own."""
        if self.rows.clusters is None:
            return None
        alone = self.rows.clusters.max(initial=-1) + 1 + np.arange(extra)
        return np.concatenate([self.rows.clusters[rows], alone])

    def _count(self, reading: str, rows: Ints) -> float:
        """A count of rows, or its share."""
        scores = self.rows.scores(self.name)
        present = ~self.rows.absent[rows]
        has, undefined = scores.has[rows], scores.undefined[rows] & present
        doubtful = scores.doubtful[rows] & present
        extra = self.rows.n_rejected if len(rows) == len(self.rows.every) else 0
        n_doubtful = int(doubtful.sum())
        n_failed = int((present & ~has & ~undefined & ~doubtful).sum()) + min(n_doubtful, scores.most_failed)
        n_undefined = int(undefined.sum()) + n_doubtful - min(n_doubtful, scores.most_failed)
        n_error = min(n_failed, self._n_error(rows))
        counts = {
            "n": int(has.sum()),
            "n_missing": n_failed - n_error,
            "n_undefined": n_undefined,
            "n_error": n_error + extra,
            "n_unpaired": self._n_unpaired(rows),
        }
        if reading in COUNTS:
            return counts[reading]
        total = len(rows) if reading == "share_unpaired" else int(present.sum()) + extra
        return counts[SHARES[reading]] / total if total else math.nan

    def _n_error(self, rows: Ints) -> int:
        """How many rows failed by the metadata; unknown, so 0, for some of the rows."""
        counts = (self.rows.run.metadata.metrics or {}).get(self.name)
        return 0 if counts is None or len(rows) < len(self.rows.every) else counts.n_error

    def _n_unpaired(self, rows: Ints) -> int:
        """The rows that only one of the two runs scores; without a baseline, that the run failed to score."""
        if self.rows.paired is None:
            extra = self.rows.n_rejected if len(rows) == len(self.rows.every) else 0
            return int(self.without_score(rows).sum()) + extra
        return int((self.rows.scores(self.name).has[rows] != self.rows.baseline(self.name).has[rows]).sum())

    def change(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """The change or drop of a rule over these rows: absolute, or as a share of the baseline's mean."""
        before, after = self.rows.baseline(self.name), self.rows.scores(self.name)
        has_before, has_after = before.has[rows], after.has[rows]
        both = has_before & has_after
        n_new = int((~has_before & has_after).sum())
        lost = has_before & ~has_after
        partly = both & (after.more_unscored(before, rows) > 0)
        n_failed = int(lost.sum() + partly.sum())
        used, values = both, after.values[rows]
        worst = None if unpaired == "ignore" else self.worst(rule, unpaired)
        if n_failed and unpaired != "ignore":
            if worst is None:
                return Value.uncounted(int(both.sum()), n_failed, n_new)
            used = has_before
            values = np.where(lost, worst, after.counting_beyond(before, worst, rows))
        ignored = n_failed if unpaired == "ignore" else 0
        first, second = before.values[rows][used], values[used]
        clusters = None if self.rows.clusters is None else self.rows.clusters[rows][used]
        sample = Sample.between(first, second, clusters, self.bounds)
        towards = sign(rule, self.better)
        value, interval = signed(towards, sample.mean, self._interval(sample, level))
        if rule.percent:
            rows_changed = towards * (second - first)
            value, interval = self._of_baseline(value, interval, rows_changed, first, clusters, level)
        count = None if clusters is None else len(sample.units)
        counted = worst if n_failed else None
        return Value(value, interval, int(both.sum()), n_failed - ignored, counted, ignored, n_new, count)

    def _interval(self, sample: Sample, level: Level) -> Interval:
        """The interval of a change.

        Without bounds there is none of changes that all agree.  If no score changed, it is then 0: otherwise an
        unchanged run would meet no rule on such a metric.
        """
        interval = level.of(sample)
        if math.isnan(interval.low) and sample.n > 1 and not sample.values.any():
            return replace(interval, low=0.0, high=0.0, note="no row changed, and the scores have no bounds")
        return interval

    def _of_baseline(
        self, change: float, interval: Interval, changes: Floats, first: Floats, clusters: Ints | None, level: Level
    ) -> tuple[float, Interval]:
        """The change and its interval as shares of the baseline's mean, which is estimated from the same rows.

        The ratio r of two means has the interval of the mean of r + (d − r·b)/|mean(b)| over rows with the change d
        and the baseline's score b (linearisation); if these agree, that of the change, divided by |mean(b)|.  None of
        these holds at every look.
        """
        base = Sample.of(first).mean
        if not len(first) or base == 0:
            return math.nan, NO_INTERVAL
        size, ratio = abs(base), change / abs(base)
        if level.kind == SEQUENTIAL:
            return ratio, NO_INTERVAL
        rows = ratio + (changes - ratio * math.copysign(1.0, base) * first) / size
        span = self.bounds[1] - self.bounds[0] if self.bounds is not None else math.inf
        interval = level.of(Sample.of(rows, clusters, (-span / size, span / size)))
        if math.isnan(interval.low):
            return ratio, replace(interval, low=interval.low / size, high=interval.high / size)
        return ratio, interval


def sign(rule: Rule, better: Better) -> float:
    """1 for a change, and for a drop if lower scores are better; −1 for any other drop."""
    return -1.0 if rule.is_directed and better != "lower" else 1.0


def signed(towards: float, delta: float, interval: Interval) -> tuple[float, Interval]:
    """A change and its interval, or both with the other sign."""
    if towards > 0:
        return delta, interval
    low, high = 0.0 - interval.high, 0.0 - interval.low
    return 0.0 - delta, replace(interval, low=low, high=high, skew=-interval.skew)


def _statistic(values: Floats, reading: str) -> float:
    """A statistic of values; NaN without any."""
    if reading.startswith("p"):
        return float(np.quantile(values, percentiles([reading])[reading])) if len(values) else math.nan
    state = State()
    state.add(pa.array(values))
    name = {"low": "mean", "high": "mean"}.get(reading, reading)
    return float(getattr(state, name))
