"""``fm.power``: how many questions a comparison needs, planned before the run, from a pilot or given variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Ints, rounding_error
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import Grid, ShownSequence, cell, lines_of
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.notes import interval_notes, mark_of
from fastmetrics.base.options import Choice, Real, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.aligned_scores import AlignedScores, align, units_of
from fastmetrics.results.quantities import IndependentMeans, PairedMeans, Scores
from fastmetrics.results.row_groups import cluster_numbers
from fastmetrics.results.score_table import are_several, bounds_of, open_runs, shared_metrics, two_runs
from fastmetrics.stats.attempts import variance
from fastmetrics.stats.estimates import Bounds, Sample
from fastmetrics.stats.significance import Aim, variance_bound

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
    samples: Sequence[Sample] = ()
    """The differences of questions, or the scores of each run; none if the variances were given."""
    factor: float = 1.0
    """The variance of the difference over that of the samples."""
    given: bool = False
    """Whether ω² was given."""
    bounds: Bounds | None = None
    """The smallest and the largest score that the metric declares."""

    @property
    def n(self) -> int | None:
        """The number of questions of the pilot."""
        return min(sample.n for sample in self.samples) if self.samples else None

    @property
    def cluster_size(self) -> float:
        """Questions per cluster, on average."""
        return max((sample.n / len(sample.units) for sample in self.samples), default=1.0)

    @property
    def design_effect(self) -> float:
        """The variance of Δ with clustered questions over that with independent ones."""
        alone = sum(variance(sample.values) / sample.n for sample in self.samples)
        return sum(sample.spread.error**2 for sample in self.samples) / alone if alone > 0 else 1.0

    def of_question(self, repeats: int) -> float:
        """The effective variance of a question's difference with ``repeats`` answers of both systems."""
        return self.design_effect * (self.between + sum(self.within) / repeats)

    def highest(self, total: float, confidence: float) -> tuple[float, str | None]:
        """The upper bound of ``total``, which exceeds it by the same factor as in the pilot, and a note on it."""
        if self.given or not self.samples:
            return math.nan, None
        bounds = [variance_bound(sample, confidence) for sample in self.samples]
        high, own = sum(bound for bound, _ in bounds), sum(one.n * one.spread.error**2 for one in self.samples)
        note = next((note for _, note in bounds if note is not None), None)
        return (high * total / own if own > 0 else high * self.factor), note


def _pilots(
    pilot: Any,
    metrics: Sequence[str],
    cluster: str | None,
    names: tuple[str | None, str | None],
    on: str | None,
    system: str | None,
    correlation: float,
    pairing: str,
) -> tuple[list[Pilot], list[str]]:
    """The variances of each metric in the pilot, and notes on where they come from."""
    if pilot is None:
        if metrics or cluster is not None:
            what = Argument("cluster", cluster) if cluster is not None else Argument("metrics", list(metrics))
            raise OptionError(what, ": needs a pilot")
        return [Pilot("–")], ["variances as given"]
    several = are_several(pilot) or system is not None
    runs = open_runs(pilot if several else [pilot], system, least=1)
    runs = runs if len(runs) == 1 else list(two_runs(runs, *names))
    chosen = [name for name in shared_metrics(runs, metrics) if all(name in run.scores for run in runs)]
    chosen = chosen if metrics else [name for name in chosen if name != cluster]
    keys = [name for run in runs for name in run.keys(on, cluster)]
    loaded = [run.by_column([*chosen, *keys]) for run in runs]
    if len(loaded) == 1:
        units, factor = units_of(loaded[0], on), 2 * (1 - correlation)
        assumed = f"the other system is assumed to vary as much, with correlation {correlation:g}"
        notes = [f"variances from one run, {runs[0].name}: {assumed}"]
    else:
        units, factor = align(loaded, on, pairing, repeats=True), 1.0
        how = "runs that share no questions" if pairing == "none" else f"rows paired by {units.joined_by}"
        notes = [f"variances from the pilot, {how}"]
    groups = units.questions if cluster is None else cluster_numbers(cluster, units.column(cluster))
    bounds = bounds_of(loaded, chosen)
    pilots = [_pilot(units, name, groups, bounds.get(name), factor) for name in chosen]
    return pilots, [*notes, *(run.describe() for run in units.repeated if run is not None)]


def _pilot(units: AlignedScores, metric: str, groups: Ints | None, bounds: Bounds | None, factor: float) -> Pilot:
    """The variance of the differences of a metric, or of the scores of each run, times the factor."""
    values = np.stack([units.scores(run, metric) for run in range(len(units.runs))])
    independent = units.joined_by == "none" or len(values) == 1
    scores = Scores(values, groups, bounds, rounding_error(units.precision(metric)), independent)
    change = scores.change(0, len(values) - 1)
    samples = [change.differences] if isinstance(change, PairedMeans) else []
    if isinstance(change, IndependentMeans):
        samples = [change.first, change.second][: len(values)]
    if (least := min(sample.n for sample in samples)) < 2:
        raise InputError(f"{metric}: the pilot has {least} questions with scores; a variance needs 2 or more")
    answers = [run.scores(metric) for run in units.repeated if run is not None]
    separated = bool(answers) and len(answers) == len(values)
    within = [0.0 if run is None else run.scores(metric).within for run in units.repeated] or [0.0]
    noise = sum(one.within * float(np.mean(1.0 / one.counts)) for one in answers)
    between = factor * max(sum(variance(sample.values) for sample in samples) - noise, 0.0)
    return Pilot(metric, between, (within[0], within[-1]), separated, samples, factor, bounds=bounds)


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
        both = [within, within] if isinstance(within, int | float) else list(within)
        if len(both) != 2:
            raise OptionError(Argument("within", within), ": expected one variance, or one for each of two systems")
        for one in both:
            argument("within", one, Real(0.0, MOST))
        rest = (
            pilot.between
            if pilot.separated or pilot.given or not pilot.samples
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
    n_high: int | None
    """Questions if the variance is as high as the pilot allows at this confidence; None without a pilot."""
    note: str | None
    """Why ``n_high`` may hold another level than the confidence, or why there is none."""
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
        most = ("at most", lambda plan: cell(plan.n_high) + mark_of(plan.note))
        within = ("within σ²/K", lambda plan: (plan.within_baseline + plan.within_other) / plan.repeats)
        columns = (
            ("Δ", "delta"),
            ("answers K", "repeats"),
            ("questions", "n"),
            most,
            ("between ω²", "between"),
            within,
        )
        return [lines_of(self.plans, "metric", *columns)]

    def remarks(self) -> Sequence[str]:
        """What is shown by which test, where the variances come from, and the notes on them."""
        test = "by a paired, two-sided test" if self.aim.sides == 1 else "by Welch's two-sided test"
        shown = f"Δ is detected with power {self.power:g} {test} at level {self.aim.level:.3g}"
        if self.aim.equivalent:
            shown = f"equivalence within ±Δ is shown with power {self.power:g} at level {self.aim.level:.3g} if Δ is 0"
        notes = interval_notes(((plan.metric, plan.note) for plan in self.plans), self.confidence)
        return [shown, *self.notes, *notes]


def power(
    pilot: Annotated[Any, Help("Score files or tables of one or two systems.")] = None,
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
    correlation: Annotated[float, Help("Correlation of two systems, for a pilot of one.")] = 0.0,
    repeats: Annotated[int, Help("Answers of each system to each question.")] = 1,
    power: Annotated[float, Help("Probability of detecting the difference.")] = 0.8,
    confidence: Annotated[float, Help("1 minus the level of the two-sided test.")] = 0.95,
    cluster: shared.Cluster = None,
    baseline: shared.Baseline = None,
    other: Annotated[str | None, Help("The name of the other run.")] = None,
    on: shared.On = None,
    pairing: Annotated[
        Literal["id", "none"],
        Help(
            "What pairs the rows: id (or the column of on), or none: runs that share no rows, as independent samples."
        ),
    ] = "id",
    system: shared.System = None,
) -> PowerReport:
    """Plan a comparison: the questions needed to detect ``delta``, or the difference that ``n`` questions detect.

    Both systems answer the same n questions, each ``repeats`` times (K).  The variance of Δ is (ω² + σ²_A/K +
    σ²_B/K)/n: ω² is the variance between questions of the true differences and σ² that of one answer within a question.
    Δ is detected with probability ``power`` by a two-sided test at level 1 − ``confidence`` if Δ ≥ (t₁₋α/₂ +
    t_power)·s/√n.  With ``margin``, n shows equivalence if there is no difference: margin ≥ (t₁₋α + t₍₁₊power₎/₂)·s/√n.

    The variances come from a ``pilot`` of two runs, or of one (the other system is assumed to vary as much, with the
    ``correlation`` given), or are given: ``between`` (ω²) and ``within`` (σ²).  ``n_high`` is the number of questions
    if the variance is at the upper bound that the pilot allows; a ``note`` says where rare large differences may be
    missing.

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
    argument("repeats", repeats, Whole(1, 1_000_000))
    argument("power", power, Real(0.0, 1.0, above=True, below=True))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("correlation", correlation, Real(-1.0, 1.0))
    argument("pairing", pairing, Choice("id", "none"))
    for name, size in (("delta", delta), ("margin", margin)):
        if size is not None:
            argument(name, size, Real(0.0, MOST, above=True))
    if n is not None:
        argument("n", n, Whole(2, 10**12))
    aim = Aim(1 - confidence, power, margin is not None, 2 if pairing == "none" else 1)
    pilots, notes = _pilots(pilot, listed(metrics), cluster, (baseline, other), on, system, correlation, pairing)
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
    total, n_high, note = pilot.of_question(repeats), None, None
    is_known = total > 0 or pilot.given or not pilot.samples
    if delta is None:
        delta = aim.difference(total, n or 0, pilot.cluster_size) if is_known else math.nan
    else:
        highest, note = pilot.highest(total, confidence)
        n = aim.questions(total, delta, pilot.cluster_size) if is_known else None
        n_high = None if math.isnan(highest) else aim.questions(highest, delta, pilot.cluster_size)
    return PowerPlan(
        metric=pilot.metric,
        delta=float(delta),
        n=n,
        n_high=n_high,
        note=note,
        repeats=repeats,
        between=pilot.between,
        within_baseline=pilot.within[0],
        within_other=pilot.within[1],
        design_effect=pilot.design_effect,
        n_pilot=None if pilot.given else pilot.n,
    )
