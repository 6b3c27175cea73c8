"""Judging rows in random order until a condition on what is known is met."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, narrowest, rounded
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.display import number
from fastmetrics.base.errors import Argument, ColumnError, OptionError
from fastmetrics.base.input_columns import PREFIX
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import LimitedText, Seed, argument
from fastmetrics.base.threads import ordered
from fastmetrics.models.judge_batch import BEHIND, JudgePlan
from fastmetrics.models.prompts import Rubric
from fastmetrics.results.gate_rules import Rule, parse_rule
from fastmetrics.results.open_runs import open_run
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.stats.estimates import Estimate, between
from fastmetrics.stats.mean_interval import confidence_sequence

# Conditions that end judging early (``correctness.delta.low > 0 or width < 0.02``): parsing, and what is known.
#
# ::
#
#     until     = all {"or" all}
#     all       = condition {"and" condition}
#     condition = [rubric "."] reading compare number
#     reading   = n | [delta "."] (mean | low | high | width)


_CONFIDENCE = 0.95
_NAME = re.compile(r"(?:(?P<rubric>(?!delta\.).+?)\.)?(?P<reading>(?P<delta>delta\.)?(?:mean|low|high|width)|n)")
_READINGS = "n, mean, low, high, width, delta.mean, delta.low, delta.high or delta.width"


@dataclass(frozen=True)
class MeanEstimate:
    """What is known of a rubric's mean, or of its change against the baseline, from ``n`` rows with a score."""

    estimate: Estimate
    n: int

    def reading(self, name: str) -> float:
        """A figure of the estimate: n, mean, low, high or width."""
        estimate = self.estimate
        return {
            "n": self.n,
            "mean": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "width": estimate.high - estimate.low,
        }[name]

    def __str__(self) -> str:
        estimate = self.estimate
        return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)}), {self.n:,} scores"


@dataclass(frozen=True)
class _Condition:
    """A comparison of a figure; ``axes`` are the columns of the rubrics, which must all meet it."""

    rule: Rule
    axes: Sequence[str]
    reading: str
    is_change: bool

    def met(self, estimates: Mapping[tuple[str, bool], MeanEstimate]) -> bool:
        """Whether the figure of every rubric meets the comparison; a figure without rows does not."""
        return all(self.rule.met(estimates[axis, self.is_change].reading(self.reading)) for axis in self.axes)


@dataclass(frozen=True)
class StopCondition:
    """When judging ends: if all comparisons of one of the ``alternatives`` are met."""

    text: str
    alternatives: Sequence[Sequence[_Condition]]
    ranges: Mapping[str, tuple[float, float]]

    @property
    def figures(self) -> list[tuple[str, bool]]:
        """The estimates that the condition reads: the column of a rubric, and whether it is a change."""
        conditions = [condition for comparison in self.alternatives for condition in comparison]
        return list(
            dict.fromkeys((axis, comparison.is_change) for comparison in conditions for axis in comparison.axes)
        )

    @property
    def needs_baseline(self) -> bool:
        """Whether the condition reads a change."""
        return any(is_change for _, is_change in self.figures)

    def estimates(
        self, scores: Mapping[str, Floats], before: Mapping[str, Floats]
    ) -> dict[tuple[str, bool], MeanEstimate]:
        """The estimates after these rows, in the order in which they were judged; NaN is no score.

        ``before`` has the baseline's scores of the same rows.  The intervals are confidence sequences, which hold
        together with a probability of 95 % however often one looks: each has a level of 1 − 5 %/k for k estimates.
        """
        level = 1 - (1 - _CONFIDENCE) / len(self.figures)
        by_name = {}
        for axis, is_change in self.figures:
            values = scores[axis] - before[axis] if is_change else scores[axis]
            bounds = between(self.ranges[axis]) if is_change else self.ranges[axis]
            by_name[axis, is_change] = MeanEstimate(
                confidence_sequence(values, bounds, level), int((~np.isnan(values)).sum())
            )
        return by_name

    def met(self, estimates: Mapping[tuple[str, bool], MeanEstimate]) -> bool:
        """Whether judging may end."""
        return any(all(condition.met(estimates) for condition in conditions) for conditions in self.alternatives)


def parse_until(text: str, rubrics: Sequence[Rubric]) -> StopCondition:
    """Parse a condition for these rubrics; a comparison without a rubric's name is to be met by all of them.

    >>> from fastmetrics.models.prompts import find_rubrics
    >>> condition = parse_until("correctness.delta.low > 0 or width < 0.02", find_rubrics("correctness"))
    >>> condition.figures
    [('judge_correctness', True), ('judge_correctness', False)]

    Raises ``OptionError`` for a syntax error, an unknown rubric or reading.
    """
    argument("until", text, LimitedText(10_000, "a condition"))
    alternatives = [
        [_condition(piece, rubrics) for piece in re.split(r"\s+and\s+", alternative)]
        for alternative in re.split(r"\s+or\s+", text)
    ]
    return StopCondition(text.strip(), alternatives, {rubric.axis: rubric.range for rubric in rubrics})


def _condition(text: str, rubrics: Sequence[Rubric]) -> _Condition:
    if "(" in text or ")" in text:
        raise OptionError(Argument("until", text), ": parentheses are not supported; 'and' binds before 'or'")
    rule = parse_rule(text)
    split = _NAME.fullmatch(".".join(filter(None, (rule.metric, rule.reading))))
    if split is None:
        raise OptionError(Argument("until", text), f": expected {_READINGS}, after a rubric's name and a dot if needed")
    if rule.where or rule.least is not None or rule.unpaired is not None:
        raise OptionError(Argument("until", text), ": expected a comparison without 'where' and 'with'")
    if rule.percent or rule.compare == "==":
        raise OptionError(Argument("until", text), ": expected <, <=, > or >= and a number without %")
    axes = [rubric.axis for rubric in rubrics]
    if split["rubric"] is not None:
        axis = PREFIX + split["rubric"].removeprefix(PREFIX)
        if axis not in axes:
            estimates = ", ".join(rubric.name for rubric in rubrics)
            raise OptionError(Argument("until", text), f": {split['rubric']!r} is no rubric of this run: {estimates}")
        axes = [axis]
    is_change = split["delta"] is not None
    return _Condition(rule, axes, split["reading"].removeprefix("delta."), is_change)


# Judging rows in random order until a condition is met, which decides the rows that a run asks for.


_FIRST_LOOKS = 16
_SHARE_OF_ROWS = 10
Score = Callable[[pa.RecordBatch], pa.RecordBatch]
RowsOf = Callable[[Ints], pa.Table]


@dataclass(frozen=True)
class Until:
    """When a run of a plan ends, and the baseline of its changes."""

    plan: JudgePlan
    condition: StopCondition
    seed: int
    baseline: ScoreRun | None

    @classmethod
    def of(cls, plan: JudgePlan, text: str | None, seed: int, baseline: Any) -> Until | None:
        """The condition ``text`` for the rubrics of a plan; None without a condition.

        Raises ``OptionError`` for a change without a baseline and a baseline without a change, and for a baseline that
        was judged with other rubrics or models, and ``ColumnError`` if ids or its scores are missing.
        """
        if text is None:
            if baseline is not None:
                raise OptionError(
                    Argument("baseline"), " is read by the delta of ", Argument("until"), ", which is missing"
                )
            return None
        condition = parse_until(text, plan.rubrics)
        argument("seed", seed, Seed)
        if not condition.needs_baseline:
            if baseline is not None:
                raise OptionError(Argument("baseline"), ": is not needed, ", Argument("until", text), " has no delta")
            return cls(plan, condition, seed, None)
        if baseline is None:
            needs = ": delta is a change against earlier judgements of the same rows; name their file or table with "
            raise OptionError(Argument("until", text), needs, Argument("baseline"))
        if "id" not in plan.identity:
            raise ColumnError("the rows have no id column to match them with the baseline; name it with ", _ID)
        run = open_run(baseline)
        if run.id_column is None:
            raise ColumnError(f"the baseline {run.name} has no id column")
        for axis in {axis for axis, is_change in condition.figures if is_change}:
            run.column(axis, "to compare with")
            _check_alike(plan, run, axis)
        return cls(plan, condition, seed, run)

    @property
    def signature(self) -> dict[str, Any]:
        """The settings of the condition, for the metadata."""
        baseline = {} if self.baseline is None else {"baseline": self.baseline.name}
        return {"condition": self.condition.text, "seed": self.seed, **baseline}

    def order(self, rows: int) -> Ints:
        """The order in which rows are judged: random, so that those judged represent all."""
        return np.random.default_rng(self.seed).permutation(rows)


_ID = Argument("columns", {"id": ...})


def _check_alike(plan: JudgePlan, run: ScoreRun, axis: str) -> None:
    before, settings = run.metadata.settings_of(axis), plan.signature.settings_of(axis)
    differ = [
        name for name in ("hash", "range", "model", "parameters") if name in before and before[name] != settings[name]
    ]
    if differ:
        name = differ[0]
        raise OptionError(
            Argument("baseline"),
            f": {axis} was judged with another {'rubric' if name == 'hash' else name} ({before[name]!r}, not "
            f"{settings[name]!r}); judge both with the same settings",
        )


@dataclass(frozen=True)
class Ended:
    """How judging ended: whether the condition was ``met``, and after how many ``rows`` of ``total``."""

    condition: StopCondition
    seed: int
    met: bool
    rows: int
    total: int
    estimates: Mapping[tuple[str, bool], MeanEstimate]

    def to_json(self) -> dict[str, Any]:
        """The end for the metadata."""
        estimates = {
            f"{axis}.delta" if is_change else axis: {
                name: estimate.reading(name) for name in ("n", "mean", "low", "high") if estimate.n or name == "n"
            }
            for (axis, is_change), estimate in self.estimates.items()
        }
        return {"met": self.met, "rows": self.rows, "total": self.total, "known": estimates}

    def notes(self) -> list[str]:
        """Notes for the summary."""
        some = f"{self.rows:,} of {self.total:,} rows judged, in random order (seed {self.seed})"
        end = "is met" if self.met else "is not met"
        estimates = [
            f"{axis}{' change' if is_change else ''}: {estimate}"
            for (axis, is_change), estimate in self.estimates.items()
            if estimate.n
        ]
        level = "the intervals hold together with 95 %, whenever one looks"
        return [f"{self.condition.text!r} {end}: {some}", *estimates, *([level] if estimates else [])]


def judge_until(
    until: Until,
    total: int,
    rows_of: RowsOf,
    judge: Score,
    spent: Callable[[], bool],
) -> tuple[Ended, Flags | None]:
    """Judge rows in random order until the condition is met, all are judged, or the budget is ``spent``.

    ``rows_of`` returns the rows with these ascending numbers.  Returns how it ended, and which rows were judged, None
    for all.  The condition is looked at after 16, 32 and so on rows, from 160 rows on after each tenth more: the same
    rows at any concurrency.
    """
    order, seen = until.order(total), _Seen(until)
    estimates = seen.estimates
    start, block = 0, _Block(np.zeros(0, np.int64), None)
    for stop in _looks(total):
        if stop > start + len(block.order):
            block = _Block(order[start : max(stop, start + SIZES.until_rows)], rows_of)
        rows, block = block.split(stop - start)
        seen.add(rows, _judged(judge, rows))
        start, estimates = stop, seen.estimates
        if until.condition.met(estimates):
            judged = np.zeros(total, np.bool_)
            judged[order[:stop]] = True
            return Ended(until.condition, until.seed, True, stop, total, estimates), judged
        if spent():
            break
    return Ended(until.condition, until.seed, False, start, total, estimates), None


class _Seen:
    """The judged rows so far, in order: their scores, the baseline's, and what is known from them."""

    def __init__(self, until: Until) -> None:
        axes = until.plan.axes
        self._condition, self._baseline = until.condition, _Baseline(until)
        self._scores: dict[str, list[Floats]] = {axis: [np.zeros(0)] for axis in axes}
        self._before: dict[str, list[Floats]] = {axis: [np.zeros(0)] for axis in axes}

    def add(self, rows: pa.Table, judged: pa.Table) -> None:
        """Add rows with their judgements."""
        for axis, scores in self._scores.items():
            before, precision = self._baseline.of(axis, rows)
            scores.append(rounded(as_numbers(judged[axis]), precision))
            self._before[axis].append(before)

    @property
    def estimates(self) -> dict[tuple[str, bool], MeanEstimate]:
        """The estimates that the condition reads."""
        return self._condition.estimates(*(_joined(values) for values in (self._scores, self._before)))


def _joined(values: Mapping[str, list[Floats]]) -> dict[str, Floats]:
    return {axis: np.concatenate(some) for axis, some in values.items()}


class _Block:
    """Rows that were read together, in their random ``order``."""

    def __init__(self, order: Ints, rows_of: RowsOf | None, rows: pa.Table | None = None) -> None:
        self.order = order
        self._rows = rows
        if rows_of is not None:
            self._rows = rows_of(np.sort(order)).take(pa.array(np.argsort(np.argsort(order, kind="stable"))))

    def split(self, count: int) -> tuple[pa.Table, _Block]:
        """The first rows, and the others."""
        assert self._rows is not None
        return self._rows.slice(0, count), _Block(self.order[count:], None, self._rows.slice(count))


def _looks(total: int) -> Iterator[int]:
    """The numbers of judged rows after which the condition is looked at."""
    seen = 0
    while seen < total:
        seen = min(total, seen + max(_FIRST_LOOKS, seen // _SHARE_OF_ROWS))
        yield seen


def _judged(judge: Score, rows: pa.Table) -> pa.Table:
    """The judgements of rows, made in batches that keep the sender busy."""
    batches = [batch for batch in rows.combine_chunks().to_batches(max_chunksize=SIZES.call_rows) if batch.num_rows]
    judged = list(ordered(judge, batches or [pa.RecordBatch.from_pylist([], rows.schema)], BEHIND))
    return pa.concat_tables([pa.Table.from_batches([batch]).replace_schema_metadata() for batch in judged])


class _Baseline:
    """The baseline's scores of rows, by id."""

    def __init__(self, until: Until) -> None:
        self._run = until.baseline
        self._id = until.plan.identity.get("id", "")
        self._changes = {axis for axis, is_change in until.condition.figures if is_change}
        self._ids = None if self._run is None else self._run.ids(str(self._run.id_column))
        self._scores: dict[str, tuple[Floats, type[np.floating] | None]] = {}

    def of(self, axis: str, rows: pa.Table) -> tuple[Floats, type[np.floating] | None]:
        """The baseline's score of each row, NaN without one, and their precision."""
        if self._run is None or axis not in self._changes:
            return np.full(rows.num_rows, np.nan), None
        if axis not in self._scores:
            precision = narrowest([self._run.column(axis, "to compare with").type])
            self._scores[axis] = rounded(self._run.values(axis), precision), precision
        values, precision = self._scores[axis]
        ids = rows.column(self._id).cast(pa.large_string())
        places = pc.index_in(ids, value_set=self._ids).fill_null(-1).to_numpy().astype(np.int64)
        return np.where(places >= 0, np.append(values, np.nan)[places], np.nan), precision
