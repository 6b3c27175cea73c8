"""Association of a score with a label: correlations, ROC AUC, the best threshold, each with its interval."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.core.allowed_values import Real, Seed, Whole, argument
from fastmetrics.core.threads import cores, ordered
from fastmetrics.errors import InputError
from fastmetrics.kernels.stats.bootstrap import AUC, F1, PEARSON, SPEARMAN, Sample, resample
from fastmetrics.kernels.stats.concordance import concordance
from fastmetrics.stats.agreement import cohen_kappa
from fastmetrics.stats.moments import State


@dataclass(frozen=True)
class Estimate:
    """A figure and its confidence interval; NaN if undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Decision:
    """The quality of the decision that rows whose score reaches ``threshold`` are positive.

    accuracy = (TP + TN) / n, precision = TP / (TP + FP), recall = TP / (TP + FN); ``kappa`` is Cohen's, between the
    decision and the label.  Undefined figures are NaN.
    """

    threshold: float
    accuracy: float
    precision: float
    recall: float
    kappa: float


@dataclass(frozen=True)
class Association:
    """The association of a score with a label over ``n`` rows."""

    n: int
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    auc: Estimate
    f1: Estimate
    decision: Decision


def associate(
    scores: Any,
    labels: Any,
    *,
    positive: float | None = None,
    threshold: float | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    opposed: bool = False,
    clusters: Any = None,
) -> Association:
    """Pearson's r, Spearman's ρ, Kendall's τ-b, ROC AUC, and the F1 at a threshold, of two numeric columns.

    Labels of at least ``positive`` are positive; without it, AUC and F1 are undefined.  The default ``threshold`` is
    the score with the best F1 (the highest of several) on these rows, so its F1 is optimistic.  For an ``opposed``
    score, low values go with high labels: its AUC is the share of pairs in which the positive row has the lower score,
    and scores of at most the threshold are positive.  Correlations keep their sign.

    Intervals are percentiles of ``resamples`` bootstrap samples, excluding samples in which a figure is undefined, with
    the threshold fixed.  Kendall's interval is τ ± z·s, clipped to ±1, where s comes from the delta method: with cᵢ the
    number of concordant minus discordant rows of row i, aᵢ and bᵢ the numbers of rows not tied with it in score and
    label, and C, A, B their means, s² = Σψᵢ²/n² for ψᵢ = 2cᵢ/√(AB) − τ(aᵢ/A + bᵢ/B).

    ``clusters`` numbers the group of each row from 0, such as its session or document.  Rows of a group carry less
    information than independent rows, so whole groups are resampled (the cluster bootstrap of Davison and Hinkley 1997,
    3.8), and ψ is summed within each group before squaring.  With one group there are no intervals.

    The same ``seed`` gives the same bits for any number of ``threads`` (by default one per core) and any order of the
    rows.

    >>> found = associate([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], positive=1, resamples=100)
    >>> found.auc.value, found.decision.threshold, round(found.f1.value, 3)
    (0.75, 0.35, 0.8)

    Raises ``InputError`` for columns of different length or with values that are not finite, and ``OptionError`` for
    fewer than 1 resample or a confidence not between 0 and 1.
    """
    workers = cores(threads)
    argument("resamples", resamples, Whole(1, 1_000_000))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("seed", seed, Seed)
    x, y = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if x.shape != y.shape or x.ndim != 1 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"expected two columns of finite numbers of equal length, got shapes {x.shape} and {y.shape}")
    if len(x) == 0:
        none = Estimate(math.nan, math.nan, math.nan)
        return Association(0, none, none, none, none, none, Decision(*[math.nan] * 5))
    if opposed:
        x, threshold = -x, None if threshold is None else -threshold
    groups = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    order = np.lexsort((groups, y, x))
    x, y = x[order] + 0.0, y[order] + 0.0
    values, sample = _sample(x, y, positive, np.arange(len(x)) if clusters is None else groups[order])
    cut, reached = _cut(values, sample, threshold)
    figures = _bootstrap(sample, cut, seed, resamples, workers)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    pearson, spearman, auc, f1 = (_estimate(figures[:, which], tails) for which in (PEARSON, SPEARMAN, AUC, F1))
    if positive is None:
        f1 = Estimate(math.nan, math.nan, math.nan)
    kendall = _kendall(sample, tails[1])
    if clusters is not None and not groups.any():  # one group: the variance between groups is undefined
        pearson, spearman, auc, f1, kendall = (
            Estimate(e.value, math.nan, math.nan) for e in (pearson, spearman, auc, f1, kendall)
        )
    if opposed:
        pearson, spearman, kendall = (
            Estimate(0 - e.value, 0 - e.high, 0 - e.low) for e in (pearson, spearman, kendall)
        )
    decision = _decision(x >= reached, sample.positive[sample.levels] > 0, 0 - reached if opposed else reached)
    return Association(len(x), pearson, spearman, kendall, auc, f1, decision)


def _sample(
    x: NDArray[np.float64], y: NDArray[np.float64], positive: float | None, clusters: NDArray[Any]
) -> tuple[NDArray[np.float64], Sample]:
    """The distinct scores and the sample, of rows in order."""
    values, starts = np.unique(x, return_index=True)
    labels, levels = np.unique(y, return_inverse=True)
    good = np.zeros(len(labels)) if positive is None else (labels >= positive).astype(np.float64)
    runs = np.append(starts, len(x)).astype(np.int64)
    drawn = clusters.astype(np.int32)
    return values, Sample(runs, _standard(values, x), levels.astype(np.int32), _standard(labels, y), good, drawn)


def _standard(distinct: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    state = State()
    state.add(values)
    return (distinct - state.mean) / (state.std or 1.0)


def _cut(values: NDArray[np.float64], sample: Sample, threshold: float | None) -> tuple[int, float]:
    """The first run of equal scores that is positive, and the threshold; none and NaN if no label is positive."""
    if threshold is not None and sample.positive.any():
        return int(np.searchsorted(values, threshold)), threshold
    good = np.append(0, np.cumsum(sample.positive[sample.levels].astype(np.int64)))
    hits = good[-1] - good[sample.runs[:-1]]
    if good[-1] == 0:
        return len(values), math.nan
    f1 = 2 * hits / (good[-1] + len(sample.levels) - sample.runs[:-1])
    cut = int(np.flatnonzero(f1 == f1.max())[-1])
    return cut, float(values[cut])


def _bootstrap(sample: Sample, cut: int, seed: int, resamples: int, threads: int) -> NDArray[np.float64]:
    """The figures of the sample, then of each resample."""
    for array in sample:
        array.setflags(write=False)
    figures = np.empty((resamples + 1, 4))
    key = np.uint64(seed % (1 << 64))

    def fill(start: int) -> None:
        resample(sample, cut, key, start, figures[start : start + 64])

    deque(ordered(fill, range(0, resamples + 1, 64), threads), maxlen=0)
    return figures


def _estimate(figures: NDArray[np.float64], tails: list[float]) -> Estimate:
    defined = figures[1:][~np.isnan(figures[1:])]
    if math.isnan(figures[0]) or len(defined) == 0:
        return Estimate(float(figures[0]), math.nan, math.nan)
    low, high = np.quantile(defined, tails).tolist()
    return Estimate(float(figures[0]), low, high)


def _kendall(sample: Sample, upper_tail: float) -> Estimate:
    n = len(sample.levels)
    sizes = np.bincount(sample.levels, minlength=len(sample.labels))
    c = np.empty(n, np.int64)
    concordance(sample.runs, sample.levels, np.append(0, np.cumsum(sizes)).astype(np.int64), c)
    runs = np.diff(sample.runs)
    a, b = n - np.repeat(runs, runs), n - sizes[sample.levels]
    mean_a, mean_b = int(a.sum()) / n, int(b.sum()) / n
    if mean_a == 0 or mean_b == 0:
        return Estimate(math.nan, math.nan, math.nan)
    scale = math.sqrt(mean_a * mean_b)
    tau = int(c.sum()) / n / scale
    influence = 2 * c / scale - tau * (a / mean_a + b / mean_b)
    margin = NormalDist().inv_cdf(upper_tail) * math.sqrt(math.fsum(np.bincount(sample.clusters, influence) ** 2)) / n
    return Estimate(tau, max(tau - margin, -1.0), min(tau + margin, 1.0))


def _decision(called: NDArray[np.bool_], good: NDArray[np.bool_], threshold: float) -> Decision:
    if math.isnan(threshold):
        return Decision(*[math.nan] * 5)
    hits, n_called, n_good = int((called & good).sum()), int(called.sum()), int(good.sum())
    accuracy = int((called == good).sum()) / len(good)
    precision = hits / n_called if n_called else math.nan
    recall = hits / n_good if n_good else math.nan
    return Decision(threshold, accuracy, precision, recall, cohen_kappa(called, good))
