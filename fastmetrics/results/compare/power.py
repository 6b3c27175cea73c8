"""``fm.power``: how many questions a comparison needs, planned before the run, from a pilot or given variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.base.display import Grid, ShownSequence, number
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.input_columns import listed
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.results.compare.pilot_variance import MOST, Pilot, pilots_of, with_given
from fastmetrics.stats.significance import detectable_difference, highest_variance, questions_needed

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
