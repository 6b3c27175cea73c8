"""``fm.power``: how many questions a comparison needs, planned before the run, from a pilot or given variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Ints, rounding_error
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import Grid, ShownSequence, cell, lines_of
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.notes import Figure, Note, interval_notes, mark_of, said
from fastmetrics.base.options import Real, Whole, argument, check_names
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.aligned_scores import AlignedScores, align
from fastmetrics.results.opening_scores import open_runs, two_runs
from fastmetrics.results.quantities import NO_INTERVAL
from fastmetrics.results.score_table import bounds_of, shared_metrics
from fastmetrics.stats.attempts import variance
from fastmetrics.stats.estimates import Bounds, Interval, Sample
from fastmetrics.stats.significance import Aim, variance_interval

MOST = 1e300
"""The greatest variance or difference."""
_REPEATS = (1, 2, 3, 5, 10)
"""Numbers of answers to a question that a plan with known variance within questions lists."""


@dataclass(frozen=True)
class Pilot:
    """The variance of a question's difference by one metric, by source, from a pilot or as given."""

    metric: str
    between: float = math.nan
    """ω², between questions: the variance of the true differences."""
    within: tuple[float, float] = (0.0, 0.0)
    """σ² of one answer of the baseline, and of the other system, within a question."""
    separated: bool = False
    """Whether ω² and σ² are known apart."""
    differences: Sample | None = None
    """The differences of questions; None if the variances were given."""
    given: bool = False
    """Whether ω² was given."""
    bounds: Bounds | None = None
    """The smallest and the largest score that the metric declares."""

    @property
    def cluster_size(self) -> float:
        """Questions per cluster, on average."""
        return 1.0 if self.differences is None else self.differences.n / len(self.differences.units)

    @property
    def design_effect(self) -> float:
        """The variance of Δ with clustered questions over that with independent ones."""
        if self.differences is None or not (alone := variance(self.differences.values) / self.differences.n) > 0:
            return 1.0
        return self.differences.spread.error**2 / alone

    def of_question(self, repeats: int) -> float:
        """The effective variance of a question's difference with ``repeats`` answers of both systems."""
        return self.design_effect * (self.between + sum(self.within) / repeats)

    def ends(self, total: float, confidence: float) -> Interval:
        """The interval of ``total``, which exceeds it on both sides by the same factors as in the pilot."""
        if self.given or self.differences is None:
            return NO_INTERVAL
        found, own = (
            variance_interval(self.differences, confidence),
            self.differences.n * self.differences.spread.error**2,
        )
        factor = total / own if own > 0 else 1.0
        return replace(found, low=found.low * factor, high=found.high * factor)


def _pilots(
    pilot: Any,
    metrics: Sequence[str],
    cluster: str | None,
    names: tuple[str | None, str | None],
    on: str | None,
    system: str | None,
) -> tuple[list[Pilot], list[str]]:
    """The variances of each metric in the pilot, and notes on where they come from."""
    if pilot is None:
        if metrics or cluster is not None:
            what = Argument("cluster", cluster) if cluster is not None else Argument("metrics", list(metrics))
            raise OptionError(what, ": needs a pilot")
        return [Pilot("–")], ["variances as given"]
    runs = list(two_runs(open_runs(pilot, system, of="pilot", asked=metrics), *names))
    chosen = [name for name in shared_metrics(runs, metrics) if all(name in run.scores for run in runs)]
    chosen = chosen if metrics else [name for name in chosen if name != cluster]
    keys = [name for run in runs for name in run.keys(on, cluster)]
    loaded = [run.by_column([*chosen, *keys]) for run in runs]
    units = replace(align(loaded, on, repeats=True), cluster=cluster)
    groups = units.clusters_of(slice(None))
    bounds = bounds_of(loaded, chosen)
    pilots = [_pilot(units, name, groups, bounds.get(name)) for name in chosen]
    notes = [f"variances from the pilot, rows paired by {units.joined_by}"]
    return pilots, [*notes, *(run.describe() for run in units.repeated if run is not None)]


def _pilot(units: AlignedScores, metric: str, groups: Ints | None, bounds: Bounds | None) -> Pilot:
    """The variance of the differences of a metric."""
    values = np.stack([units.scores(run, metric) for run in range(2)])
    both = ~np.isnan(values).any(axis=0)
    clusters = None if groups is None else groups[both]
    rounding = rounding_error(units.precision(metric))
    differences = Sample.between(values[0, both], values[1, both], clusters, bounds, rounding)
    if differences.n < 2:
        raise InputError(f"{metric}: the pilot has {differences.n} questions with scores; a variance needs 2 or more")
    answers = [run.scores(metric) for run in units.repeated if run is not None]
    within = [0.0 if run is None else run.scores(metric).within for run in units.repeated] or [0.0]
    noise = sum(one.within * float(np.mean(1.0 / one.counts)) for one in answers)
    between = max(variance(differences.values) - noise, 0.0)
    return Pilot(metric, between, (within[0], within[-1]), len(answers) == 2, differences, bounds=bounds)


def _with_given(pilot: Pilot, between: float | None, within: Any, repeats: int) -> Pilot:
    """The pilot's variances, replaced by the given ones."""
    if between is not None:
        argument("between", between, Real(0.0, MOST))
        pilot = replace(pilot, between=float(between), given=True)
    if math.isnan(pilot.between):
        raise OptionError(
            "variances are needed: a pilot, or ", Argument("between"), " and, for repeats, ", Argument("within")
        )
    if within is not None:
        both = list(within) if isinstance(within, Sequence) else [within, within]
        if len(both) != 2:
            raise OptionError(Argument("within", within), ": expected one variance, or one for each of two systems")
        for one in both:
            argument("within", one, Real(0.0, MOST))
        rest = (
            pilot.between
            if pilot.separated or pilot.given or pilot.differences is None
            else max(pilot.between - sum(both), 0.0)
        )
        pilot = replace(pilot, between=rest, within=(float(both[0]), float(both[1])))
    elif repeats > 1 and not pilot.separated:
        raise OptionError(
            Argument("repeats", repeats),
            ": the variance within questions is unknown; give it with ",
            Argument("within"),
        )
    return pilot


@dataclass(frozen=True)
class PowerPlan:
    """The size of a comparison of two systems by one metric; NaN or None where the pilot cannot tell."""

    metric: str
    delta: float
    """The true difference of the means that is detected, or the margin of equivalence."""
    n: int | None
    """Questions that both systems answer; None if no question of the pilot differs."""
    low: float | None
    """What is planned, the questions or the difference, if the variance is at the low end of its interval at this
    confidence; None without a pilot."""
    high: float | None
    """The same at the high end."""
    note: str | None
    """Why the interval may hold another level than the confidence, or why there is none."""
    repeats: int
    """Answers of each system to each question."""
    between: float
    """ω², the variance of the true differences of questions."""
    within_baseline: float
    """σ² of one answer within a question; 0 if it is part of ``between``."""
    within_other: float
    design_effect: float
    """The factor on the variance from clusters; 1 without."""
    n_pilot: int | None
    """Questions of the pilot."""


@dataclass(frozen=True)
class PowerReport(ShownSequence[PowerPlan], of="plans"):
    """Plans of a comparison, one per metric and number of answers; prints as a table."""

    plans: Sequence[PowerPlan]
    power: float
    confidence: float
    aim: Aim
    """What the comparison is to show."""
    planned: str
    """``n`` if the questions were computed from a difference, ``delta`` if the difference from the questions."""
    notes: Sequence[str] = ()

    def grids(self) -> list[Grid]:
        """One row per metric and number of answers."""
        ends = ("from pilot", lambda plan: _ends(plan) + mark_of(plan.note))
        within = ("within σ²/K", lambda plan: (plan.within_baseline + plan.within_other) / plan.repeats)
        columns = (
            "Δ=delta",
            "answers K=repeats",
            "questions=n",
            ends,
            "between ω²=between",
            within,
        )
        return [lines_of(self.plans, "metric", *columns)]

    def remarks(self) -> Sequence[str]:
        """What is shown by which test, where the variances come from, and the notes on them."""
        what = "questions" if self.planned == "n" else "Δ"
        piloted = any(plan.high is not None for plan in self.plans)
        return said(
            Note("equivalence" if self.aim.equivalent else "detected", power=self.power, level=self.aim.level),
            self.notes,
            piloted and Note("from_pilot", what=what, level=self.confidence * 100),
            interval_notes(self.record(), self.confidence),
        )

    def record(self) -> Sequence[Figure]:
        """The questions of each plan, or the difference that they detect, with the ends from the pilot."""
        of = "n" if self.planned == "n" else "delta"
        return [
            Figure(
                plan.metric, _number(getattr(plan, of)), _number(plan.low), _number(plan.high), note=plan.note, n=plan.n
            )
            for plan in self.plans
        ]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _ends(plan: PowerPlan) -> str:
    return "–" if plan.high is None else f"{cell(plan.low)} to {cell(plan.high)}"


def power(
    pilot: Annotated[Any, Help("Score files or tables of two systems.")] = None,
    *,
    metrics: shared.OnlyMetrics = None,
    delta: Annotated[float | None, Help("The difference to detect; prints the questions needed.")] = None,
    margin: shared.Margin = None,
    n: Annotated[int | None, Help("Questions; prints the difference they detect.")] = None,
    between: Annotated[
        float | None, Help("Variance between questions of the paired differences, instead of the pilot's.")
    ] = None,
    within: Annotated[
        float | Sequence[float] | None, Help("Variance of one answer within a question; twice for two systems.")
    ] = None,
    repeats: Annotated[int, Help("Answers of each system to each question.")] = 1,
    power: Annotated[float, Help("Probability of detecting the difference.")] = 0.8,
    confidence: Annotated[float, Help("1 minus the level of the two-sided test.")] = 0.95,
    cluster: shared.Cluster = None,
    baseline: shared.Baseline = None,
    other: Annotated[str | None, Help("The name of the other run.")] = None,
    on: shared.On = None,
    system: shared.System = None,
) -> PowerReport:
    """Plan a comparison: the questions needed to detect ``delta``, or the difference that ``n`` questions detect.

    Both systems answer the same n questions, each ``repeats`` times (K).  The variance of Δ is (ω² + σ²_A/K +
    σ²_B/K)/n: ω² is the variance between questions of the true differences and σ² that of one answer within a question.
    Δ is detected with probability ``power`` by a two-sided test at level 1 − ``confidence`` if Δ ≥ (t₁₋α/₂ +
    t_power)·s/√n.  With ``margin``, n shows equivalence if there is no difference: margin ≥ (t₁₋α + t₍₁₊power₎/₂)·s/√n.

    The variances come from a ``pilot`` of two runs, or are given: ``between`` (ω²) and ``within`` (σ²).  A pilot knows
    the variance up to an interval, and so what is planned: from ``low`` to ``high``; a ``note`` says where rare large
    differences may be missing.

    >>> import fastmetrics as fm
    >>> fm.power(between=0.25, delta=0.05)[0].n
    787
    >>> round(fm.power(between=0.25, n=787)[0].delta, 3)
    0.05
    >>> [(plan.repeats, plan.n) for plan in fm.power(between=0.05, within=0.1, delta=0.05)]
    [(1, 787), (2, 473), (3, 369), (5, 285), (10, 222)]

    Raises ``OptionError`` unless exactly one of ``delta`` and ``n`` is given, for a difference that the bounds of a
    metric do not allow, for variances that are missing or negative, and for ``repeats`` above 1 if σ² is unknown;
    ``InputError`` for a pilot of fewer than 2 questions; and the errors of :func:`compare`.

    Source: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640).
    """
    if [delta, margin, n].count(None) != 2:
        raise OptionError("give one of ", Argument("delta"), ", ", Argument("margin"), " and ", Argument("n"))
    check_names(cluster=cluster, other=other, on=on, system=system)
    argument("repeats", repeats, Whole(1, 1_000_000))
    argument("power", power, Real(0.0, 1.0, above=True, below=True))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    for name, size in (("delta", delta), ("margin", margin)):
        if size is not None:
            argument(name, size, Real(0.0, MOST, above=True))
    if n is not None:
        argument("n", n, Whole(2, 10**12))
    aim = Aim(1 - confidence, power, margin is not None)
    pilots, notes = _pilots(pilot, listed(metrics, "metrics"), cluster, (baseline, other), on, system)
    plans = []
    for measured in pilots:
        _check_reach(measured, delta, margin)
        planned = _with_given(measured, between, within, repeats)
        sizes = _REPEATS if sum(planned.within) > 0 and repeats == 1 else [repeats]
        plans += [_plan(planned, size, margin if delta is None else delta, n, aim, confidence) for size in sizes]
    return PowerReport(plans, power, confidence, aim, "n" if n is None else "delta", notes)


def _check_reach(pilot: Pilot, delta: float | None, margin: float | None) -> None:
    """Raise ``OptionError`` for a difference as large as the width of the metric's bounds, or larger."""
    name, size = ("delta", delta) if margin is None else ("margin", margin)
    if size is None or pilot.bounds is None or size < (width := pilot.bounds[1] - pilot.bounds[0]):
        return
    low, high = pilot.bounds
    share = f", and {size:g} % of that is {size / 100 * width:g}" if size < 100 else ""
    raise OptionError(Argument(name, size), f": {pilot.metric} goes from {low:g} to {high:g}{share}")


def _plan(pilot: Pilot, repeats: int, delta: float | None, n: int | None, aim: Aim, confidence: float) -> PowerPlan:
    total = pilot.of_question(repeats)
    is_known, ends = total > 0 or pilot.given or pilot.differences is None, pilot.ends(total, confidence)

    def planned(variance: float) -> float | None:
        if math.isnan(variance) or (variance == 0 and not is_known):
            return None
        if delta is None:
            return aim.difference(variance, n or 0, pilot.cluster_size)
        return aim.questions(variance, delta, pilot.cluster_size)

    found, low, high = (planned(one) for one in (total, ends.low, ends.high))
    return PowerPlan(
        metric=pilot.metric,
        delta=(math.nan if found is None else found) if delta is None else float(delta),
        n=n if delta is None else None if found is None else int(found),
        low=low,
        high=high,
        note=ends.note,
        repeats=repeats,
        between=pilot.between,
        within_baseline=pilot.within[0],
        within_other=pilot.within[1],
        design_effect=pilot.design_effect,
        n_pilot=None if pilot.given or pilot.differences is None else pilot.differences.n,
    )
