"""What rules read: the metrics and rows that each names, and the figures of rows and of corpus metrics.

**Gates do not pass by failing.** In a rule, a row that failed or could not be read counts as the worst score of the
metric's bounds, by its direction, or without one as the least favourable for the rule. A row that only the baseline
scores failed, whatever the reason. A row that only the scores have is in no change: counting it for the baseline as the
worst score would let new easy rows hide a drop on the old ones. Rows that the metric does not apply to (undefined) are
no failures. Files store missing, unread and undefined scores as null; their metadata tell them apart for all rows, and
where a rule reads some rows of a metric that has both, up to as many as failed count. A mean reads the mean, since
people compare it with the table; a rule on a change reads the bound of its interval: if the data cannot decide, the
rule fails. A rule that met no rows has not passed. The default minimum of rows is that below which all intervals of
numbers have a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_text, rounding_error
from fastmetrics.base.column_names import is_axis, is_cost
from fastmetrics.base.display import number, row_count
from fastmetrics.base.errors import Argument, ColumnError, OptionError, UnknownNameError
from fastmetrics.base.notes import Note
from fastmetrics.base.specs import Better
from fastmetrics.plans.corpus_values import columns_of_corpus, is_corpus, many_values
from fastmetrics.plans.stored_metadata import Stored
from fastmetrics.results.aligned_scores import AlignedScores, by_position
from fastmetrics.results.gate_rules import COUNTS, READINGS, SHARES, Rule
from fastmetrics.results.quantities import NO_INTERVAL, Counts, Method, PairedMeans, SampledMeans, Scores, figure_of
from fastmetrics.results.questions import ScoreStates
from fastmetrics.results.row_groups import DISTINCT, Segment, segments_of
from fastmetrics.results.score_columns import (
    column_named,
    declared,
    declared_bounds,
    declared_labels,
    directions,
    unknown_metric,
)
from fastmetrics.results.score_table import (
    UNSCORED,
    ScoreTable,
    bounds_of,
    first_declared,
    is_unscored,
    own_numbers,
    shared_metrics,
)
from fastmetrics.results.summary import Summary, summarize
from fastmetrics.stats.estimates import Bounds, Interval
from fastmetrics.stats.mean_interval import FEWER
from fastmetrics.stats.sums import TRIMMED, exact_mean

_NAMED = 5
"""The number of rows that a rule which is not met names."""


# What rules read of a metric of rows: figures of its scores, and changes against a baseline.


@dataclass(frozen=True)
class Value:
    """What a rule reads: a value, its interval, and the numbers of rows behind it."""

    value: float = math.nan
    interval: Interval = NO_INTERVAL
    n: int = 0
    """Rows with a score; for a change, of both runs."""
    n_worst: int = 0
    """Rows without a score that count as the score ``worst``."""
    worst: float | None = None
    n_ignored: int = 0
    """Rows without a score that are left out, though the run failed there."""
    n_new: int = 0
    """Rows that only the scores have, which no change includes."""
    n_clusters: int | None = None
    causes: Mapping[str, int] = field(default_factory=dict)
    """Why rows have no score, as far as it is known: absent, rejected, undefined, error, unread, missing, unscored, or
    drawn, of a sample.
    """
    note: str | None = None
    lacks_worst: bool = False
    """Whether rows without a score could not be counted, so that there is no value."""

    @classmethod
    def uncounted(cls, n: int, n_failed: int, n_new: int = 0) -> Value:
        """No value, since ``n_failed`` rows without a score cannot be counted."""
        return cls(n=n, n_worst=n_failed, n_new=n_new, lacks_worst=True)


@dataclass(frozen=True)
class RowMetric:
    """A metric of rows, with its direction and bounds."""

    name: str
    better: Better
    bounds: Bounds | None
    rows: GateRows
    usual: str = "mean"
    """The figure that a rule reads which names none."""

    def value_for(self, rule: Rule, rows: Ints, unpaired: str, method: Method) -> Value:
        """What a rule reads over these rows."""
        if rule.is_count:
            return self._count(str(rule.reading), rows)
        return (self.change if rule.is_change else self.figure)(rule, rows, unpaired, method)

    @cached_property
    def _scores(self) -> ScoreStates:
        return self.rows.states(-1, self.name)

    @cached_property
    def _before(self) -> ScoreStates:
        return self.rows.states(0, self.name)

    @cached_property
    def _runs(self) -> Scores:
        """The scores of the runs by unit, and how units were drawn, if those of a run are of few of them."""
        paired = self.rows.paired
        values = np.stack([self.rows.states(at, self.name).values for at in range(len(paired.runs))])
        rounding = rounding_error(paired.precision(self.name))
        return Scores(values, None, self.bounds, rounding, drawn=paired.drawn(self.name, values))

    def _counting(self, rows: Ints, missed: Flags, worst: float | None) -> Scores:
        """The scores of these rows, with a ``worst`` for those that the scores missed."""
        scores = self._runs.part(rows, self.rows.paired.clusters_of(rows))
        if worst is None:
            return scores
        of_runs = np.zeros(scores.values.shape, np.bool_)
        of_runs[-1] = missed
        return scores.counting(worst, of_runs)

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str) -> int:
        """The rows that a rule reads in a segment, with a score or counted without one."""
        has = self._scores.has[rows]
        if rule.is_change:
            has &= self._before.has[rows]
        if unpaired != "ignore":
            has = self._before.has[rows] if rule.is_change else has | self.without_score(rows)
        return int(has.sum())

    def _lowest_is_worst(self, rule: Rule) -> bool:
        """By the direction of the metric, or without a direction by what is the least favourable for the rule."""
        return self.better == "higher" if self.better is not None else rule.compare in (">", ">=")

    def worst(self, rule: Rule, unpaired: str) -> float | None:
        """The score that counts for a row without one, the worst; None if there is none."""
        if self.bounds is None or (self.better is None and (rule.compare == "==" or rule.reading == "equivalent")):
            return None
        score = self.bounds[0 if self._lowest_is_worst(rule) else 1]
        return score if math.isfinite(score) else None

    def _counts_for(self, rule: Rule, unpaired: str) -> tuple[float | None, bool]:
        """What counts for a row without a score, and whether such rows are left out: by the rule, and where few rows
        were drawn and no worst score is known, as in every estimate of such a mean.
        """
        worst = None if unpaired == "ignore" else self.worst(rule, unpaired)
        return worst, unpaired == "ignore" or (worst is None and self._runs.drawn is not None)

    def without_score(self, rows: Ints) -> Flags:
        """Which of the rows have no score though the run failed there, or the baseline has one."""
        certain, doubtful = self._unscored
        return certain[rows] | _first(doubtful[rows], self._scores.most_failed)

    @cached_property
    def _unscored(self) -> tuple[Flags, Flags]:
        """The rows that count as without a score for certain, and those that may."""
        scores = self._scores
        certain, doubtful = ~scores.has & (scores.failed > 0), scores.doubtful
        if self._runs.drawn is not None and self.rows.has_baseline:
            certain |= self.rows.absent & self._runs.has[0]
        elif self.rows.has_baseline:
            certain |= ~scores.has & self._before.has
            doubtful = doubtful & ~self._before.undefined
        return certain, doubtful & ~certain

    def figure(self, rule: Rule, rows: Ints, unpaired: str, method: Method) -> Value:
        """A figure of the scores of these rows: the mean of questions, or another figure of all answers."""
        reading = rule.figure or self.usual
        if self._runs.drawn is not None and reading != "mean":
            raise OptionError(
                f"rule {rule.text!r}: {self.name} has scores of drawn rows, which estimate its mean alone"
            )
        states, own, clusters = self._scores, rows, self.rows.paired.clusters_of(rows)
        failed, extra = self.without_score(rows), 0 if rule.where else self.rows.n_rejected
        causes = self._causes(rows, failed, extra)
        if reading != "mean" and (answers := self.rows.answers(self.name)) is not None:
            extra += int((failed & self.rows.absent[rows]).sum())
            states, places = answers
            own = np.flatnonzero(np.isin(places, rows))
            clusters = places if clusters is None else clusters[places]
            failed = (states.failed[own] > 0) | _first(states.doubtful[own], states.most_failed)
        has = states.has[own]
        n_failed = int(failed.sum()) + extra
        worst, ignores = self._counts_for(rule, unpaired)
        causes = {"drawn": n_failed} if ignores and unpaired != "ignore" and n_failed else causes
        used, values = has, states.values[own]
        if n_failed and not ignores:
            if worst is None:
                return Value.uncounted(int(has.sum()), n_failed)
            used, values = has | failed, np.where(has, values, worst)
        else:
            extra = 0
        counted = (0, None, n_failed) if ignores else (n_failed, worst if n_failed else None, 0)
        if self._runs.drawn is not None:
            scores = self._counting(rows, failed, worst)
            scores = scores.with_certain(extra, worst) if worst is not None else scores
            found = scores.mean(-1, method)
            note: str | None = scores.sampled(-1, scores.has[-1]).note(self.name)
        else:
            values = np.concatenate([values[used], np.full(extra, worst)]) if extra else values[used]
            if clusters is not None:  # each row that is not there is a cluster of its own
                clusters = np.concatenate([clusters[own[used]], clusters.max(initial=-1) + 1 + np.arange(extra)])
            with_interval = method if rule.figure is not None or reading == "mean" else None
            found = figure_of(values, reading, clusters, self.bounds, with_interval)
            note = self._doubt(rule, rows) if n_failed else None
        others: dict[str, Any] = {"n_clusters": found.n_clusters, "causes": causes, "note": note}
        return Value(found.value, found.interval, int(has.sum()), *counted, **others)

    def _causes(self, rows: Ints, lost: Flags, rejected: int = 0) -> dict[str, int]:
        """Why rows have no score: what the rows tell, then what the metadata do of all rows or of their only cause."""
        gone, stored = self.rows.absent[rows], (self.rows.run.metadata.metrics or {}).get(self.name)
        undefined = lost & ~gone & self._scores.undefined[rows]
        found = {"absent": int((lost & gone).sum()), "rejected": rejected, "undefined": int(undefined.sum())}
        left = int((lost & ~gone & ~undefined).sum())
        known = {} if stored is None else {"error": stored.n_error, "missing": stored.n_missing}
        known = {cause: n for cause, n in {**known, "unread": self.rows.run.metadata.n_unread(self.name)}.items() if n}
        if sum(known.values()) != left:  # some of them, or answers of questions
            known = {next(iter(known)) if len(known) == 1 else "unscored": left}
        return {cause: n for cause, n in {**found, **known}.items() if n}

    def worst_places(self, rule: Rule, rows: Ints, worst: float | None) -> WorstPlaces:
        """The rows and the segment with the worst scores, or with the largest changes for the worse.

        ``worst`` is the score that counts for rows without one, if any does.
        """
        scores = self._scores.values[rows]
        if worst is not None:
            scores = np.where(self.without_score(rows), worst, scores)
        before = self._before.values[rows] if rule.is_change else np.zeros(len(rows))
        values, lowest = scores - before, self._lowest_is_worst(rule)
        merit = values if lowest else -values
        if rule.reading == "equivalent":
            merit = -np.abs(values)
        scored = np.flatnonzero(~np.isnan(merit))
        if rule.is_change and (merit[scored] < 0).any():
            scored = scored[merit[scored] < 0]  # what did not fall is no part of a fall
        least = scored[np.argsort(merit[scored], kind="stable")[:_NAMED]]
        ids = self.rows.ids
        names = [] if ids is None else [str(ids[int(row)]) for row in rows[least]]
        return WorstPlaces(names, self._worst_segment(rule, lowest, values, before, rows))

    def _worst_segment(self, rule: Rule, lowest: bool, values: Floats, before: Floats, rows: Ints) -> str | None:
        """The segment with the worst of what the rule reads, among all segments of kept columns with few values.

        It is a mean, or a mean change from ``before``, by a rule in percent as a share of the mean before.
        """
        worst: tuple[float, str] | None = None
        what = "mean" if not rule.is_change else "drop" if rule.is_directed else "change"
        towards = sign(rule, self.better) if rule.is_change else -1.0 if lowest else 1.0
        rises = rule.compare in ("<", "<=") or not rule.is_change
        for name, column in self.rows.divisions.items():
            for segment in segments_of([(name, column.take(pa.array(rows)))]):
                scored = segment.rows[~np.isnan(values[segment.rows])]
                if not FEWER <= len(scored) < len(rows):
                    continue
                mean = exact_mean(values[scored])
                if rule.is_change and rule.percent:
                    mean /= abs(exact_mean(before[scored])) or math.nan
                bad = abs(mean) if rule.reading == "equivalent" else towards * mean if rises else -towards * mean
                if not math.isnan(bad) and (worst is None or bad > worst[0]):
                    shown = (towards * mean if rule.is_change else mean) + 0.0  # no -0
                    text = f"{number(100 * shown)}%" if rule.is_change and rule.percent else number(shown)
                    worst = bad, f"{segment.name} ({what} {text} over {row_count(len(scored))})"
        return None if worst is None else worst[1]

    def _doubt(self, rule: Rule, rows: Ints) -> str | None:
        """The note on rows that may have failed or be undefined."""
        if not (rule.where or self.rows.has_baseline) or not self._scores.doubtful[rows].any():
            return None
        return (
            f"{self.name}: the metadata do not store which of the rows without a score are undefined; up to "
            f"{self._scores.most_failed:,} of them count as failed"
        )

    def _count(self, reading: str, rows: Ints) -> Value:
        """A count of rows, or its share; those that failed or could not be read by the metadata of all rows alone."""
        if self._runs.drawn is not None:
            rows = rows[~np.isnan(self._runs.drawn[0][-1][rows]) | self.rows.absent[rows]]
        scores, metadata = self._scores, self.rows.run.metadata
        present, has = ~self.rows.absent[rows], scores.has[rows]
        undefined, doubtful = scores.undefined[rows] & present, scores.doubtful[rows] & present
        n_doubtful = min(int(doubtful.sum()), scores.most_failed)
        n_failed = int((present & ~has & ~undefined & ~doubtful).sum()) + n_doubtful
        n_undefined = int(undefined.sum()) + int(doubtful.sum()) - n_doubtful
        is_every = len(rows) == self.rows.paired.n
        extra = self.rows.n_rejected if is_every else 0
        stored = (metadata.metrics or {}).get(self.name) if is_every else None
        n_error = min(n_failed, 0 if stored is None else stored.n_error)
        of_all = is_every and metadata.rows == len(rows)
        n_unread = min(n_failed - n_error, metadata.n_unread(self.name) if of_all else 0)
        if self.rows.has_baseline:
            n_unpaired = int((has != self._before.has[rows]).sum())
        else:
            n_unpaired = int(self.without_score(rows).sum()) + extra
        n_missing = n_failed - n_error - n_unread
        # in the order of the names
        counts = (int(has.sum()), n_missing, n_undefined, n_unread, n_error + extra, n_unpaired)
        total = len(rows) if reading.endswith("_unpaired") else int(present.sum()) + extra
        count = dict(zip(COUNTS, counts, strict=True))[SHARES.get(reading, reading)]
        causes = self._causes(rows, self.without_score(rows), extra)
        return Value(count if reading in COUNTS else count / total if total else math.nan, n=total, causes=causes)

    def change(self, rule: Rule, rows: Ints, unpaired: str, method: Method) -> Value:
        """The change or drop of a rule over these rows: absolute, or as a share of the baseline's mean."""
        drawn, has_before, has_after = self._runs.drawn, self._before.has[rows], self._scores.has[rows]
        n_both = int((has_before & has_after).sum())
        lost = has_before & ~has_after if drawn is None else self.without_score(rows)
        n_new = int((~has_before & has_after if drawn is None else ~self._runs.has[0][rows]).sum())
        n_failed = int(lost.sum())
        worst, ignores = self._counts_for(rule, unpaired)
        if n_failed and not ignores and worst is None:
            return Value.uncounted(n_both, n_failed, n_new)
        change = self._counting(rows, lost, worst).change(0, -1)
        assert isinstance(change, PairedMeans | SampledMeans)
        value, interval = change.relative(method) if rule.percent else (change.delta, change.interval(method))
        note = None
        if isinstance(change, SampledMeans):
            note = change.both.note(self.name)
        elif math.isnan(interval.low) and len(change.first) > 1 and not change.differences.values.any():
            # otherwise an unchanged run would meet no rule on such a metric
            interval = replace(interval, low=0.0, high=0.0, note=Note("no_change_unbounded"))
        value, interval = signed(sign(rule, self.better), value, interval)
        counted = (0, None, n_failed) if ignores else (n_failed, worst if n_failed else None, 0)
        drawn_alone = ignores and unpaired != "ignore" and n_failed
        causes = {"drawn": n_failed} if drawn_alone else self._causes(rows, lost)
        return Value(value, interval, n_both, *counted, n_new, change.n_clusters, causes, note)


@dataclass(frozen=True)
class WorstPlaces:
    """Where a rule is missed most: some rows, by their ids, and a segment."""

    rows: Sequence[str] = ()
    segment: str | None = None

    @property
    def text(self) -> str | None:
        """Both in one line; None without any."""
        parts = [f"the segment {self.segment}"] if self.segment else []
        parts += [f"the rows {', '.join(self.rows)}"] if self.rows else []
        return "; ".join(parts) or None


NOWHERE = WorstPlaces()


def _first(flags: Flags, count: int) -> Flags:
    """The first ``count`` of the rows that are flagged."""
    first = np.zeros(len(flags), np.bool_)
    first[np.flatnonzero(flags)[:count]] = True
    return first


def sign(rule: Rule, better: Better) -> float:
    """1 for a change, and for a drop if lower scores are better; −1 for any other drop."""
    return -1.0 if rule.is_directed and better != "lower" else 1.0


def signed(towards: float, delta: float, interval: Interval) -> tuple[float, Interval]:
    """A change and its interval, or both with the other sign."""
    if towards > 0:
        return delta, interval
    low, high = 0.0 - interval.high, 0.0 - interval.low
    return 0.0 - delta, replace(interval, low=low, high=high, skew=-interval.skew)


# What rules read of a corpus metric: from the counts of rows if a run stores them, else from its summary.


@dataclass(frozen=True)
class CountedMetric:
    """A corpus metric, computed from the counts of rows.

    A row without counts has no worst score, since the metric has no scores of rows.
    """

    name: str
    better: Better
    bounds: Bounds | None
    rows: GateRows

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str) -> int:
        """The rows that a rule reads in a segment."""
        has = self._counts[1][:, rows]
        return int((has[0] if rule.is_change and unpaired != "ignore" else has[-1]).sum())

    def value_for(self, rule: Rule, rows: Ints, unpaired: str, method: Method) -> Value:
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
            return Value.uncounted(int(used.sum()), lost, n_new)
        clusters = self.rows.paired.clusters_of(rows)
        clusters = None if clusters is None else clusters[rows]
        of = Counts(counts, has, partial(many_values, self.rows.run.spec(self.name)), clusters, self.bounds)
        if not rule.is_change:
            found = of.quantity(-1, method if rule.reads_interval else None)
            return Value(found.value, found.interval, found.n, 0, None, lost, n_new, found.n_clusters)
        change = of.change(0, -1)
        value, interval = change.relative(method) if rule.percent else (change.delta, change.interval(method))
        value, interval = signed(sign(rule, self.better), value, interval)
        return Value(value, interval, int(used.sum()), 0, None, lost, n_new, change.n_clusters)

    @cached_property
    def _counts(self) -> tuple[Ints, Flags]:
        """The counts of each run and row, of the scores last, and which of them exist."""
        paired = self.rows.paired
        return (paired if self.name in paired.runs[0].counted else paired.alone(-1)).counts(self.name)


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

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str) -> int:
        """The rows behind the figure."""
        return self.n

    def value_for(self, rule: Rule, rows: Ints, unpaired: str, method: Method) -> Value:
        """The figure, unless rows are known to be left out of it."""
        if rule.where or rule.reads_interval:
            raise ColumnError(
                f"rule {rule.text!r} needs the counts of {self.name} for each row; score with ",
                Argument("keep_counts", True),
            )
        lost = self.n_missing + int(self.rows.absent.sum()) + self.rows.n_rejected
        if lost and unpaired != "ignore":
            return Value.uncounted(self.n, lost)
        return Value(self.value, NO_INTERVAL, self.n, n_ignored=lost)


# The rows of rules: those of a segment, paired with the baseline's, and those that a condition selects.


_FLAGS = {"true": 1, "false": 0}


def matching_rows(name: str, column: pa.Array, value: str) -> Flags:
    """Whether each row of the column has this value, whatever the type of the column.

    Numbers are compared as numbers (``1`` and ``1.0`` are equal), booleans with ``true`` and ``false`` in any case or 1
    and 0, texts as they are.  A text that no row has is compared as a number or boolean too, since files of text store
    these as text.  ``null`` is a missing value unless it is a text of the column.  Raises ``ColumnError`` for a column
    of lists.

    >>> matching_rows("g", pa.array([1.0, 2.0, None]), "1").tolist()
    [True, False, False]
    >>> matching_rows("g", pa.array(["1", "x"]), "1.0").tolist(), matching_rows("b", pa.array([True]), "true").tolist()
    ([True, False], [True])
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} holds {column.type}; rules need text, numbers, dates or booleans")
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    distinct = pc.unique(values)
    texts = distinct.to_pylist()
    same = [text is not None and str(text) == value for text in texts]
    if not any(same):
        number = _number(value)
        same = [number is not None and _number(text) == number for text in texts]
    if not any(same) and value == "null":
        same = [text is None or (isinstance(text, float) and math.isnan(text)) for text in texts]
    codes = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.array(same, np.bool_)[codes]


def _number(value: Any) -> Decimal | None:
    """The number that a value is or spells; true is 1 and false 0."""
    text = str(value).strip()
    try:
        parsed = Decimal(_FLAGS.get(text.lower(), text))
    except InvalidOperation:
        return None
    return parsed if parsed.is_finite() else None


@dataclass(frozen=True)
class GateRows:
    """The rows of the scores, or with a baseline of either run, sorted by id."""

    run: ScoreTable
    """The scores, one row for each answer."""
    paired: AlignedScores
    """The scores, after the baseline if there is one, one row for each question."""
    _states: dict[tuple[int, str], ScoreStates] = field(default_factory=dict, repr=False)

    def states(self, at: int, metric: str) -> ScoreStates:
        """The states of a metric of the scores (−1), or of the baseline (0)."""
        if (at, metric) not in self._states:
            self._states[at, metric] = self.paired.states(at, metric)
        return self._states[at, metric]

    @property
    def has_baseline(self) -> bool:
        """Whether the scores are compared with a baseline."""
        return len(self.paired.runs) > 1

    def answers(self, metric: str) -> tuple[ScoreStates, Ints] | None:
        """The states of single answers and the row of each one's question, if questions have several answers."""
        repeated = self.paired.repetition(-1)
        if repeated is None:
            return None
        places = np.full(len(repeated.rows.first_rows), -1, np.int64)
        rows = self.paired.rows[-1]
        places[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
        states, questions = repeated.states(metric)
        return states, places[questions]

    @cached_property
    def absent(self) -> Flags:
        """The rows that the scores lack."""
        absent: Flags = self.paired.rows[-1] < 0
        return absent

    @cached_property
    def ids(self) -> Sequence[Any] | None:
        """The id of each row, if the runs have ids."""
        if self.paired.by_id is not None:
            return self.paired.by_id.distinct()
        name = self.run.id_column
        return None if name is None else self.paired.column(name)

    @cached_property
    def divisions(self) -> dict[str, pa.Array]:
        """The kept columns of text and booleans with few different values, which divide the rows."""
        keys = self.run.keys()
        kept = [name for name in self.run.columns if name not in self.run.scores and name not in keys]
        kinds = dict(zip(self.run.schema.names, self.run.schema.types, strict=True))
        some = [name for name in kept if is_text(kinds[name]) or pa.types.is_boolean(kinds[name])]
        columns = {name: self.paired.column(name) for name in some}
        return {
            name: column
            for name, column in columns.items()
            if pc.count_distinct(column.slice(0, 1_000)).as_py() <= DISTINCT
            and 2 <= pc.count_distinct(column).as_py() <= DISTINCT
        }

    @cached_property
    def n_rejected(self) -> int:
        """The rows that scoring rejected, except for as many as are known to be absent."""
        return max(0, (self.run.metadata.n_rejected or 0) - int(self.absent.sum()))

    def column(self, name: str, purpose: str) -> pa.Array:
        """A column of either run; raises a ``ColumnError`` that states its purpose."""
        if name not in self.paired.runs[0].columns:
            self.run.column(name, purpose)
        return self.paired.division(name)

    def of(self, rule: Rule) -> GateRows:
        """The rows of a rule; those of one id are told apart if they differ in a column of its ``where``."""
        paired = self.paired.apart(rule.where)
        return self if paired is self.paired else replace(self, paired=paired, _states={})

    def segments(self, rule: Rule) -> Sequence[Segment]:
        """The rows of a rule, in segments if it covers each value of a column.

        Raises ``ColumnError`` if the runs lack a column of the rule or no row has a value that it names.
        """
        if not rule.where:
            return [Segment(None, np.arange(self.paired.n))]
        columns = {name: self.column(name, f"for rule {rule.text!r}") for name in rule.where}
        rows = np.flatnonzero(self._matching(rule, columns))
        each = [(name, column.take(pa.array(rows))) for name, column in columns.items() if rule.where[name] == "*"]
        if not each:
            return [Segment(", ".join(f"{name}={value}" for name, value in rule.where.items()), rows)]
        return [Segment(segment.name, rows[segment.rows]) for segment in segments_of(each)]

    def _matching(self, rule: Rule, columns: Mapping[str, pa.Array]) -> Flags:
        """The rows with all values that a rule names."""
        rows = np.ones(self.paired.n, np.bool_)
        conditions = [(name, value) for name, value in rule.where.items() if value != "*"]
        for name, value in conditions:
            equal = matching_rows(name, columns[name], value)
            if not equal.any():
                values = ", ".join(map(str, pc.unique(columns[name].drop_null())[:5].to_pylist()))
                raise ColumnError(f"rule {rule.text!r}: no row has {name}={value}; the column contains {values}")
            rows &= equal
        if conditions and not rows.any():
            raise ColumnError(f"rule {rule.text!r}: no row has all of {', '.join(f'{n}={v}' for n, v in conditions)}")
        return rows


def columns_read(rules: Sequence[Rule], cluster: str | None) -> list[str]:
    """The columns beside the scores that rules and clusters read."""
    columns = [name for rule in rules for name in rule.where]
    return list(dict.fromkeys([*columns, *([cluster] if cluster is not None else [])]))


# The metrics that a rule names: columns of scores, labels of their figures, and corpus metrics.


AnyMetric: TypeAlias = RowMetric | CountedMetric | SummaryFigure


@dataclass
class GateMetrics:
    """The metrics of the scores, and of a baseline, by the names in rules."""

    rows: GateRows
    stated: Mapping[str, str]
    """The directions of scores that declare none."""
    excluded: Sequence[str]
    """Columns that rules read beside the scores."""
    scores: Any
    """The scores as they were given, whose summary corpus metrics need."""

    @cached_property
    def _stored(self) -> Stored:
        return first_declared(self.rows.paired.runs)

    @cached_property
    def _own_names(self) -> list[str]:
        """The columns of scores and the corpus metrics with counts of rows."""
        return list(dict.fromkeys([*self.rows.run.scores, *self.rows.run.counted]))

    @cached_property
    def _directions(self) -> dict[str, Better]:
        return directions(self._own_names, self._stored, self.stated)

    @cached_property
    def _summary(self) -> Summary:
        return summarize(self.scores)

    def of(self, rule: Rule) -> tuple[list[AnyMetric], list[str]]:
        """The metrics that a rule covers, and notes on those that it does not.

        Raises ``UnknownNameError`` for an unknown name, ``OptionError`` for a drop of a metric without a direction, and
        for a limit that every possible value of these metrics meets, or none.
        """
        metrics, notes = self._covered(rule)
        decided = [why for why in map(partial(self._decided, rule), metrics) if why is not None]
        if len(decided) == len(metrics):
            raise OptionError(f"rule {rule.text!r}: {decided[0]}")
        return metrics, notes

    def _decided(self, rule: Rule, metric: AnyMetric) -> str | None:
        """Why no score can decide a rule, whose limit lies outside the bounds of a metric; None if scores can."""
        name, bounds = metric.name, self._bounds(metric.name)
        figure = rule.figure or (metric.usual if isinstance(metric, RowMetric) else "mean")
        if figure in SHARES:
            name, bounds = figure, (0.0, 1.0)
        elif not (rule.is_change or figure in ("mean", "min", "max", TRIMMED) or re.match(r"p\d", figure)):
            return None
        if bounds is None or not all(map(math.isfinite, bounds)) or (rule.is_change and rule.percent):
            return None
        width = bounds[1] - bounds[0]
        low, high = (-width, width) if rule.is_change else bounds
        if low <= rule.limit <= high:
            return None
        what = "value"
        if rule.is_change:
            what = "margin" if rule.is_margin else "drop" if rule.is_directed else "change"
        met = f"{'every' if rule.met(low) else 'no'} {what} meets {rule.compare} {rule.limit_text}"
        share = rule.limit / 100
        points = (
            f"; {rule.limit:g} points are {share:g}" if width == 1 and not rule.percent and low <= share <= high else ""
        )
        return f"{name} goes from {number(bounds[0])} to {number(bounds[1])}, so {met}{points}"

    def _covered(self, rule: Rule) -> tuple[list[AnyMetric], list[str]]:
        """The metrics that a rule covers, and notes on those that it does not."""
        if not rule.is_change:
            return [self._figure(rule)], []
        shared = [
            name
            for name in self._own_names
            if all(name in (*run.scores, *run.counted) for run in self.rows.paired.runs)
        ]
        if rule.metric is not None:
            name = column_named(rule.metric, shared)
            if name not in shared:
                if name in self._own_names or is_corpus(self.rows.run.spec(name)):
                    shared_metrics(self.rows.paired.runs, [name], counted=True)
                raise self._unknown(rule, shared)
            if rule.is_directed and self._directions[name] is None:
                raise _no_direction(rule, [name])
            return [self._metric(name)], []
        runs = self.rows.paired.runs
        stated = [column_named(name, shared) for name in self.stated]
        measured = {*runs[0].measured(self.excluded), *runs[0].counted, *stated}
        shared = [name for name in shared if name in measured and name not in self.excluded and not is_cost(name)]
        notes = own_numbers(runs, (*self.excluded, *stated), "a rule that names one checks it")
        if rule.is_directed:
            neutral = [name for name in shared if self._directions[name] is None]
            unknown = [name for name in neutral if name not in declared(neutral, self._stored) and not is_axis(name)]
            if unknown:
                raise _no_direction(rule, unknown)
            if neutral:
                notes.append(Note("not_directed", rule=rule.text, names=neutral))
            shared = [name for name in shared if name not in neutral]
        if not rule.percent and rule.limit:  # an absolute limit means nothing for milliseconds
            limits = declared_bounds(shared, self._stored)
            unlimited = [name for name in shared if not all(map(math.isfinite, limits.get(name, ())))]
            if unlimited:
                notes.append(Note("not_bounded", rule=rule.text, names=unlimited))
            shared = [name for name in shared if name not in unlimited]
        if not shared:
            raise UnknownNameError("; ".join([f"rule {rule.text!r}: the runs share no metric for it", *notes]))
        return [self._metric(name) for name in shared], notes

    def _figure(self, rule: Rule) -> AnyMetric:
        """The metric of a rule on the scores alone: a column, a label of a figure, or a corpus metric."""
        assert rule.metric is not None
        labels = {
            label: flat.rpartition(".") for flat, label in declared_labels(self.rows.run.scores, self._stored).items()
        }
        if rule.metric in labels and rule.metric not in self._own_names:
            name, _, statistic = labels[rule.metric]
            return RowMetric(name, self._directions[name], self._bounds(name), self.rows, statistic)
        name = column_named(rule.metric, self._own_names)
        if name in self.rows.run.scores:
            return self._metric(name)
        figures = {**self._summary.corpus, **dict.fromkeys(self.rows.run.counted)}
        name = column_named(rule.metric, list(figures))
        if name not in figures or rule.reading not in (None, "mean", "low", "high"):
            raise self._unknown(rule, [*self.rows.run.scores, *self._summary.figures])
        if name in self.rows.run.counted:
            return self._metric(name)
        better = directions([name], self._stored, {})[name]
        n, n_missing = self._rows_behind(name)
        return SummaryFigure(name, better, self._summary.corpus[name], n, n_missing, self.rows)

    def _rows_behind(self, figure: str) -> tuple[int, int]:
        """The rows behind a figure of a corpus metric, and those that are not though they should be.

        Metrics that read scores have the rows with all of them; of others, the metadata count the rows.
        """
        run, n_rows = self.rows.run, self._summary.n_rows
        counts = run.metadata.counts or {}
        metric = next((name for name in counts if figure.startswith(f"{name}.")), figure)
        columns = columns_of_corpus([run.spec(metric)])
        if columns and all(column in run.scores for column in columns):
            alone = GateRows(run, by_position([run]))
            has, rows = np.all([alone.states(-1, column).has for column in columns], axis=0), np.arange(alone.paired.n)
            lost = [RowMetric(column, None, None, alone).without_score(rows) for column in columns]
            return int(has.sum()), int(np.any(lost, axis=0).sum())
        n = counts[metric][0] if columns else (run.metadata.cautions or {}).get(metric, [0, n_rows])[1]
        return n, n_rows - n

    def _metric(self, name: str) -> AnyMetric:
        of_kind = RowMetric if name in self.rows.run.scores else CountedMetric
        return of_kind(name, self._directions[name], self._bounds(name), self.rows)

    def _bounds(self, name: str) -> Bounds | None:
        return bounds_of([self.rows.run], [name]).get(name)

    def _unknown(self, rule: Rule, names: Sequence[str]) -> UnknownNameError:
        near = unknown_metric(str(rule.metric), names, self._stored).message
        advice = f"; the table {UNSCORED}" if is_unscored(self.rows.run, str(rule.metric)) else ""
        metric, space, reading = str(rule.metric).rpartition(" ")
        if space and reading in READINGS:
            advice += f"; a point stands between a metric and its reading: {metric.rstrip()}.{reading}"
        return UnknownNameError(f"rule {rule.text!r}: {near}{advice}")


def _no_direction(rule: Rule, names: Sequence[str]) -> OptionError:
    some, plural = ", ".join(map(repr, names[:5])), "s" * (len(names) == 1)
    what, other = ("worse", "equivalent") if rule.is_margin else ("a drop", "delta")
    return OptionError(
        f"rule {rule.text!r}: {some} declare{plural} no direction, so no change is {what}; state it with ",
        Argument("better", {names[0]: "higher"}),
        f" or lower, or use {other}",
    )
