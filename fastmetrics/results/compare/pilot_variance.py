"""The variances that plan a comparison: from a pilot of one or two runs, or as given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.options import Real, argument
from fastmetrics.results.rows.pairing import PairedRuns, pair_runs
from fastmetrics.results.rows.question_means import repeated_run
from fastmetrics.results.rows.segments import cluster_numbers
from fastmetrics.results.runs.open_runs import are_several, open_runs, two_runs
from fastmetrics.results.runs.score_run import ScoreRun, shared_metrics
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.pass_at_k import variance
from fastmetrics.stats.significance import DifferenceVariance

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
