"""The variances that plan a comparison: from a pilot of one or two runs, or as given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.display import Grid, ShownSequence, number
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.input_columns import listed
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.results.open_runs import are_several, open_runs, two_runs
from fastmetrics.results.pairing import PairedRuns, pair_runs, repeated_run
from fastmetrics.results.score_run import ScoreRun, shared_metrics
from fastmetrics.results.segments import cluster_numbers
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.pass_at_k import variance
from fastmetrics.stats.significance import DifferenceVariance, detectable_difference, highest_variance, questions_needed

MOST = 1e300
"""The greatest variance or difference."""


@dataclass(frozen=True)
class Pilot:
    """The variances of one metric in a pilot; ``n`` is None if they were given."""

    metric: str
    variance: DifferenceVariance
    n: int | None
    separated: bool
    """Whether ω² and σ² are known apart."""


def pilots_of(
    pilot: Any,
    metrics: Sequence[str],
    cluster: str | None,
    names: tuple[str | None, str | None],
    on: str | None,
    system: str | None,
    correlation: float,
) -> tuple[list[Pilot], list[str]]:
    """The variances of each metric in the pilot, and notes on where they come from."""
    if pilot is None:
        if metrics or cluster is not None:
            what = Argument("cluster", cluster) if cluster is not None else Argument("metrics", list(metrics))
            raise OptionError(what, ": needs a pilot")
        return [Pilot("–", DifferenceVariance(math.nan), None, separated=False)], ["variances as given"]
    runs = _runs(pilot, system)
    if len(runs) == 1:
        return _of_one(runs[0], metrics, on, cluster, correlation)
    return _of_two(two_runs(runs, *names), metrics, on, cluster)


def _runs(pilot: Any, system: str | None) -> list[ScoreRun]:
    """The pilot's runs; one table or path is one run."""
    several = are_several(pilot) or system is not None
    return open_runs(pilot if several else [pilot], system, least=1)


def _of_two(
    runs: tuple[ScoreRun, ScoreRun], metrics: Sequence[str], on: str | None, cluster: str | None
) -> tuple[list[Pilot], list[str]]:
    names = _names(runs, metrics, cluster)
    keys = [name for run in runs for name in run.keys(on, cluster)]
    paired = pair_runs([run.by_column([*names, *keys]) for run in runs], on, repeats=True)
    notes = [f"variances from the pilot, rows paired by {paired.joined_by}"]
    notes += [several.describe() for several in paired.repeated if several is not None]
    groups = None if cluster is None else cluster_numbers(cluster, paired.column(cluster))
    return [_paired_pilot(paired, name, groups) for name in names], notes


def _paired_pilot(paired: PairedRuns, metric: str, groups: Any) -> Pilot:
    a, b = paired.scores(0, metric), paired.scores(1, metric)
    both = ~np.isnan(a) & ~np.isnan(b)
    differences = b[both] - a[both]
    answers = [None if run is None else run.scores(metric) for run in paired.repeated]
    within = [0.0 if repeated is None else repeated.within for repeated in answers]
    noise = sum(
        0.0 if repeated is None else repeated.within * float(np.mean(1.0 / repeated.counts)) for repeated in answers
    )
    between = max(variance(differences) - noise, 0.0) if len(differences) > 1 else math.nan
    effect, size = _design(differences, None if groups is None else groups[both])
    parts = DifferenceVariance(between, within[0], within[1], effect, size)
    return _checked(Pilot(metric, parts, len(differences), separated=all(repeated is not None for repeated in answers)))


def _of_one(
    run: ScoreRun, metrics: Sequence[str], on: str | None, cluster: str | None, correlation: float
) -> tuple[list[Pilot], list[str]]:
    names = _names([run], metrics, cluster)
    key = on or run.id_column
    beside = [name for name in (key, run.question_column, run.repeat_column, cluster) if name]
    loaded = run.by_column([*names, *beside])
    answers = None if key is None else repeated_run(loaded, key)
    whole = loaded if answers is None else answers.reduced()
    groups = None if cluster is None else cluster_numbers(cluster, whole.column(cluster, "to cluster rows by"))
    pilots = []
    for name in names:
        values = whole.values(name)
        has_score = np.isfinite(values)
        means = values[has_score]
        own, within = variance(means), 0.0
        if answers is not None:
            scores = answers.scores(name)
            own, within = scores.between, scores.within
        effect, size = _design(means, None if groups is None else groups[has_score])
        parts = DifferenceVariance(2 * (1 - correlation) * own, within, within, effect, size)
        pilots.append(_checked(Pilot(name, parts, len(means), separated=answers is not None)))
    assumed = f"the other system is assumed to vary as much, with correlation {correlation:g}"
    notes = [f"variances from one run, {run.name}: {assumed}"]
    return pilots, [*notes, *([] if answers is None else [answers.describe()])]


def _names(runs: Sequence[ScoreRun], metrics: Sequence[str], cluster: str | None) -> list[str]:
    names = [name for name in shared_metrics(runs, metrics) if all(name in run.scores for run in runs)]
    return names if metrics else [name for name in names if name != cluster]


def _design(values: Any, groups: Any) -> tuple[float, float]:
    """The design effect of clusters and the questions per cluster; 1 and 1 without."""
    if groups is None or len(values) < 2:
        return 1.0, 1.0
    alone, together = (Sample.of(values, some).spread.error for some in (None, groups))
    return (together / alone) ** 2 if alone > 0 else 1.0, len(values) / len(np.unique(groups))


def _checked(pilot: Pilot) -> Pilot:
    if math.isnan(pilot.variance.between) or (pilot.n is not None and pilot.n < 2):
        raise InputError(f"{pilot.metric}: the pilot has {pilot.n} questions with scores; a variance needs 2 or more")
    return pilot


def with_given(pilot: Pilot, between: float | None, within: Any, repeats: int) -> Pilot:
    """The pilot's variances, replaced by the given ones."""
    parts = pilot.variance
    if between is not None:
        argument("between", between, Real(0.0, MOST))
        parts = replace(parts, between=float(between))
    if math.isnan(parts.between):
        raise OptionError(
            "variances are needed: a pilot, or ", Argument("between"), " and, for repeats, ", Argument("within")
        )
    if within is not None:
        both = [within, within] if isinstance(within, int | float) else list(within)
        if len(both) != 2:
            raise OptionError(Argument("within", within), ": expected one variance, or one for each of two systems")
        for variance in both:
            argument("within", variance, Real(0.0, MOST))
        if not pilot.separated and between is None and pilot.n is not None:
            parts = replace(parts, between=max(parts.between - sum(both), 0.0))
        parts = replace(parts, within_baseline=float(both[0]), within_other=float(both[1]))
    elif repeats > 1 and not pilot.separated:
        raise OptionError(
            Argument("repeats", repeats),
            ": the variance within questions is unknown; give it with ",
            Argument("within"),
        )
    return replace(pilot, variance=parts, n=pilot.n if between is None else None)


# ``fm.power``: how many questions a comparison needs, planned before the run, from a pilot or given variances.


_REPEATS = (1, 2, 3, 5, 10)
"""Numbers of answers to a question that a plan with known variance within questions lists."""


@dataclass(frozen=True)
class PowerPlan:
    """The size of a comparison of two systems by one metric; NaN or None where the pilot cannot tell."""

    metric: str
    delta: float
    """The true difference of the means that is detected."""
    n: int
    """Questions that both systems answer."""
    n_high: int | None
    """Questions if the variance is as high as the pilot allows at this confidence; None without a pilot."""
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
    planned: str
    """``n`` if the questions were computed from a difference, ``delta`` if the difference from the questions."""
    notes: Sequence[str] = ()

    def grids(self) -> list[Grid]:
        """One row per metric and number of answers."""
        rows = [
            (
                plan.metric,
                number(plan.delta),
                number(plan.repeats),
                number(plan.n),
                "–" if plan.n_high is None else number(plan.n_high),
                number(plan.between),
                number((plan.within_baseline + plan.within_other) / plan.repeats),
            )
            for plan in self.plans
        ]
        return [Grid(("metric", "Δ", "answers K", "questions", "at most", "between ω²", "within σ²/K"), rows)]

    def remarks(self) -> Sequence[str]:
        """The test, and where the variances come from."""
        alpha = 1 - self.confidence
        return [
            f"Δ is detected with power {self.power:g} by a paired, two-sided test at level {alpha:.3g}",
            *self.notes,
        ]

    def to_dict(self) -> dict[str, Any]:
        """``{"plans": [{"metric", "delta", "n", …}], "power", "confidence", "planned", "notes"}``."""
        return {**asdict(self), "notes": list(self.remarks())}

    def to_arrow(self) -> pa.Table:
        """One row per plan."""
        return pa.Table.from_pylist([asdict(plan) for plan in self.plans])


def power(
    pilot: Any = None,
    *,
    metrics: Sequence[str] | str | None = None,
    delta: float | None = None,
    n: int | None = None,
    between: float | None = None,
    within: float | Sequence[float] | None = None,
    correlation: float = 0.0,
    repeats: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
    cluster: str | None = None,
    baseline: str | None = None,
    other: str | None = None,
    on: str | None = None,
    system: str | None = None,
) -> PowerReport:
    """Plan a comparison: the questions needed to detect ``delta``, or the difference that ``n`` questions detect.

    Both systems answer the same n questions, each ``repeats`` times (K).  The variance of Δ is
    (ω² + σ²_A/K + σ²_B/K)/n: ω² is the variance between questions of the true differences and σ² that of one answer
    within a question.  Δ is detected with probability ``power`` by a two-sided test at level 1 − ``confidence`` if
    Δ ≥ (t₁₋α/₂ + t_power)·s/√n, the formula behind ``detectable`` of :func:`compare`.

    The variances come from a ``pilot``: two runs (or more, of which ``baseline`` and ``other`` name two), in any form
    that :func:`compare` accepts, which are paired by ``on`` or the id; repeated answers to a question in them separate
    ω² from σ².  A pilot of one run gives ω² = 2·(1 − ``correlation``) times the variance of its questions; without a
    known ``correlation`` of the systems' scores, 0 is cautious.  Or give the variances: ``between`` (ω², or the
    variance of the paired differences of single answers) and ``within`` (σ², one number or one per system), which also
    replaces the pilot's.  ``cluster`` names the pilot's column of documents or sessions that questions share: their
    design effect multiplies the variance.

    ``n_high`` is the number of questions if the variance is at the upper confidence bound that the pilot's size allows:
    small pilots say little.

    Parameters:

    - ``pilot``: Score files or tables of one or two systems.
    - ``metrics``: Only these metrics: token_f1,mrr.
    - ``delta``: The difference to detect; prints the questions needed.
    - ``n``: Questions; prints the difference they detect.
    - ``between``: Variance between questions of the paired differences, instead of the pilot's.
    - ``within``: Variance of one answer within a question; twice for two systems.
    - ``correlation``: Correlation of two systems, for a pilot of one.
    - ``repeats``: Answers of each system to each question.
    - ``power``: Probability of detecting the difference.
    - ``confidence``: 1 minus the level of the two-sided test.
    - ``cluster``: The column whose equal values mark dependent rows: document, session or question.
    - ``baseline``: The name of the baseline run; by default the first.
    - ``other``: The name of the other run.
    - ``on``: The column that pairs the rows; by default the id (of validate, without one, the position).
    - ``system``: The column of one file that names the systems.

    >>> import fastmetrics as fm
    >>> fm.power(between=0.25, delta=0.05)[0].n
    787
    >>> round(fm.power(between=0.25, n=787)[0].delta, 3)
    0.05
    >>> [(plan.repeats, plan.n) for plan in fm.power(between=0.05, within=0.1, delta=0.05)]
    [(1, 787), (2, 473), (3, 369), (5, 285), (10, 222)]

    Raises ``OptionError`` unless exactly one of ``delta`` and ``n`` is given, for variances that are missing or
    negative, and for ``repeats`` above 1 if σ² is unknown; ``InputError`` for a pilot of fewer than 2 questions; and
    the errors of :func:`compare` for runs that cannot be paired.

    Source: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640).
    """
    if (delta is None) == (n is None):
        raise OptionError("give either ", Argument("delta"), " or ", Argument("n"))
    argument("repeats", repeats, Whole(1, 1_000_000))
    argument("power", power, Real(0.0, 1.0, above=True, below=True))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("correlation", correlation, Real(-1.0, 1.0))
    if delta is not None:
        argument("delta", delta, Real(0.0, MOST, above=True))
    if n is not None:
        argument("n", n, Whole(2, 10**12))
    pilots, notes = pilots_of(pilot, listed(metrics), cluster, (baseline, other), on, system, correlation)
    plans = []
    for measured in pilots:
        planned = with_given(measured, between, within, repeats)
        is_separated = planned.variance.within_baseline + planned.variance.within_other > 0
        sizes = _REPEATS if is_separated and repeats == 1 else [repeats]
        plans += [_plan(planned, size, delta, n, power, confidence) for size in sizes]
    return PowerReport(plans, power, confidence, "n" if n is None else "delta", notes)


def _plan(pilot: Pilot, repeats: int, delta: float | None, n: int | None, power: float, confidence: float) -> PowerPlan:
    parts, alpha = pilot.variance, 1 - confidence
    total = parts.of_question(repeats)
    n_high: int | None = n
    if delta is not None:
        n = questions_needed(total, delta, parts.cluster_size, alpha, power)
        highest = math.nan if pilot.n is None else highest_variance(total, pilot.n / parts.cluster_size - 1, confidence)
        n_high = None if math.isnan(highest) else questions_needed(highest, delta, parts.cluster_size, alpha, power)
    else:
        delta = detectable_difference(total, n or 0, parts.cluster_size, alpha, power)
        n_high = None
    return PowerPlan(
        metric=pilot.metric,
        delta=float(delta),
        n=int(n or 0),
        n_high=n_high,
        repeats=repeats,
        between=parts.between,
        within_baseline=parts.within_baseline,
        within_other=parts.within_other,
        design_effect=parts.design_effect,
        n_pilot=pilot.n,
    )
