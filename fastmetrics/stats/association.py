"""Association of a score with a label: correlations, ROC AUC, the best threshold, each with its interval."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import InputError
from fastmetrics.base.options import Choice, Real, Seed, Whole, argument
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels.exact_sums import concordance
from fastmetrics.kernels.resampling import AUC, F1, PEARSON, SPEARMAN, LabelledScores, resample
from fastmetrics.stats.agreement import (
    auc_influence,
    cohen_kappa,
    figure_interval,
    pearson_influence,
    spearman_influence,
    worst_case,
)
from fastmetrics.stats.estimates import UNDEFINED, Estimate, Interval
from fastmetrics.stats.mean_interval import f1_share, level_note, unseen
from fastmetrics.stats.sums import State

# Pearson's r and Spearman's ρ of all pairs of columns, over the rows with both values.


@dataclass(frozen=True)
class Correlated:
    """Two columns by number: the rows where both are finite, and the correlations over those (NaN where undefined)."""

    a: int
    b: int
    n: int
    pearson: float
    spearman: float


def correlate(columns: Sequence[Floats]) -> list[Correlated]:
    """The correlations of all pairs of columns, each over the rows where both are finite.

    r = Σ(xᵢ − x̄)(yᵢ − ȳ) / √(Σ(xᵢ − x̄)² · Σ(yᵢ − ȳ)²); ρ is r of the ranks within those rows, with mean ranks for
    ties.  Both are undefined if a column is constant there, or if fewer than two rows remain.  Ranks of a column over
    the same rows are computed once.

    >>> found = correlate([np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]), np.array([2.0, np.nan, 1.0])])
    >>> [(one.a, one.b, one.n, round(one.pearson, 3), round(one.spearman, 3)) for one in found]
    [(0, 1, 3, 0.99, 1.0), (0, 2, 2, -1.0, -1.0), (1, 2, 2, -1.0, -1.0)]
    """
    finite = [np.isfinite(column) for column in columns]
    own = {np.packbits(mask).tobytes() for mask in finite}  # sets of complete rows, often shared by several pairs
    cache: dict[tuple[int, bytes], tuple[Floats, Floats]] = {}
    correlations = []
    for a in range(len(columns)):
        for b in range(a + 1, len(columns)):
            both = finite[a] & finite[b]
            rows = np.packbits(both).tobytes()
            pair = {index: cache.get((index, rows)) or _standard(columns[index][both]) for index in (a, b)}
            if rows in own:
                cache |= {(index, rows): standard for index, standard in pair.items()}
            (x, ranked_x), (y, ranked_y) = pair[a], pair[b]
            correlations.append(Correlated(a, b, int(both.sum()), _product(x, y), _product(ranked_x, ranked_y)))
        cache = {key: value for key, value in cache.items() if key[0] > a}
    return correlations


def _standard(values: Floats) -> tuple[Floats, Floats]:
    """The values and their ranks, each centred and scaled to length 1; NaN if all are equal."""
    from scipy.stats import rankdata

    return _unit(values), _unit(rankdata(values))


def _unit(values: Floats) -> Floats:
    if len(values) == 0 or values.min() == values.max():
        return np.full(len(values), np.nan)
    scale = np.abs(values).max()  # avoids overflow and underflow of the squares
    centred = values / scale - np.mean(values / scale)
    return np.asarray(centred / np.sqrt(np.sum(centred * centred)))


def _product(x: Floats, y: Floats) -> float:
    return float(np.clip(np.sum(x * y), -1.0, 1.0)) if len(x) > 1 else float("nan")


# Association of a score with a label: correlations, ROC AUC, the best threshold, each with its interval.


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
    interval: str = "auto",
) -> Association:
    """Pearson's r, Spearman's ρ, Kendall's τ-b, ROC AUC, and the F1 at a threshold, of two numeric columns.

    Labels of at least ``positive`` are positive; without it, AUC and F1 are undefined.  The default ``threshold`` is
    the score with the best F1 (the highest of several) on these rows, so its F1 is optimistic.  For an ``opposed``
    score, low values go with high labels: its AUC is the share of pairs in which the positive row has the lower score,
    and scores of at most the threshold are positive.  Correlations keep their sign.

    The threshold is fixed for all intervals.  Intervals of correlations and AUC are Student's t on Fisher's scale
    artanh, widened for skewness, with standard errors from the influence ψ of each row (delta method; for AUC, that of
    DeLong 1988 on 2·AUC − 1).  For Kendall, with cᵢ the number of concordant minus discordant rows of row i, and aᵢ and
    bᵢ the numbers of rows not tied with it in score and label, of means A and B, ψᵢ = 2cᵢ/√(AB) − τ(aᵢ/A + bᵢ/B).  The
    interval of F1 is the exact one of TP/(TP + FP + FN), of which F1 is a function.  A perfect figure has a bound that
    so many independent pairs of rows cannot rule out.  ``interval="percentile"`` takes the percentiles of ``resamples``
    bootstrap samples instead, excluding those in which a figure is undefined, except for Kendall.

    ``clusters`` numbers the group of each row from 0, such as its session or document.  Rows of a group carry less
    information than independent rows, so ψ is summed within each group, and whole groups are resampled (the cluster
    bootstrap of Davison and Hinkley 1997, 3.8).  With fewer than 4 rows or groups there are no intervals.

    The same ``seed`` gives the same bits for any number of ``threads`` (by default one per core) and any order of the
    rows.

    >>> found = associate([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], positive=1, resamples=100)
    >>> found.auc.value, found.decision.threshold, round(found.f1.value, 3)
    (0.75, 0.35, 0.8)

    Raises ``InputError`` for columns of different length or with values that are not finite, and ``OptionError`` for
    fewer than 1 resample or a confidence not between 0 and 1.

    Sources: DeLong, DeLong and Clarke-Pearson 1988; Fieller, Hartley and Pearson 1957; Hall 1992.
    """
    workers = cores(threads)
    argument("resamples", resamples, Whole(1, 1_000_000))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("seed", seed, Seed)
    argument("interval", interval, Choice("auto", "percentile"))
    x, y = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if x.shape != y.shape or x.ndim != 1 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"expected two columns of finite numbers of equal length, got shapes {x.shape} and {y.shape}")
    if len(x) == 0:
        none = UNDEFINED
        return Association(0, none, none, none, none, none, Decision(*[math.nan] * 5))
    if opposed:
        x, threshold = -x, None if threshold is None else -threshold
    groups = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    order = np.lexsort((groups, y, x))
    x, y = x[order] + 0.0, y[order] + 0.0
    values, sample = _sample(x, y, positive, np.arange(len(x)) if clusters is None else groups[order])
    cut, reached = _cut(values, sample, threshold)
    drawn = resamples if interval == "percentile" else 0
    figures = _bootstrap(sample, cut, seed, drawn, workers)
    rows = _PairedRows(x, y, sample, cut, None if clusters is None else groups[order], confidence)
    kendall = rows.kendall()
    if interval == "percentile":
        pearson, spearman, auc, f1 = (
            _percentiles(figures[:, which], confidence, rows) for which in (PEARSON, SPEARMAN, AUC, F1)
        )
    else:
        pearson, spearman, auc = (rows.figure(which, float(figures[0, which])) for which in (PEARSON, SPEARMAN, AUC))
        f1 = rows.f1()
    if positive is None:
        f1 = UNDEFINED
    if opposed:
        pearson, spearman, kendall = (
            replace(e, value=0 - e.value, low=0 - e.high, high=0 - e.low) for e in (pearson, spearman, kendall)
        )
    decision = _decision(x >= reached, sample.positive[sample.levels] > 0, 0 - reached if opposed else reached)
    return Association(len(x), pearson, spearman, kendall, auc, f1, decision)


def _sample(
    x: NDArray[np.float64], y: NDArray[np.float64], positive: float | None, clusters: NDArray[Any]
) -> tuple[NDArray[np.float64], LabelledScores]:
    """The distinct scores and the sample, of rows in order."""
    values, starts = np.unique(x, return_index=True)
    labels, levels = np.unique(y, return_inverse=True)
    good = np.zeros(len(labels)) if positive is None else (labels >= positive).astype(np.float64)
    runs = np.append(starts, len(x)).astype(np.int64)
    drawn = clusters.astype(np.int32)
    return values, LabelledScores(
        runs,
        _standard_of_association(values, x),
        levels.astype(np.int32),
        _standard_of_association(labels, y),
        good,
        drawn,
    )


def _standard_of_association(distinct: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    state = State()
    state.add(values)
    return (distinct - state.mean) / (state.std or 1.0)


def _cut(values: NDArray[np.float64], sample: LabelledScores, threshold: float | None) -> tuple[int, float]:
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


def _bootstrap(sample: LabelledScores, cut: int, seed: int, resamples: int, threads: int) -> NDArray[np.float64]:
    """The figures of the sample, then of each resample."""
    for array in sample:
        array.setflags(write=False)
    figures = np.empty((resamples + 1, 4))
    key = np.uint64(seed % (1 << 64))

    def fill(start: int) -> None:
        resample(sample, cut, key, start, figures[start : start + 64])

    deque(ordered(fill, range(0, resamples + 1, 64), threads), maxlen=0)
    return figures


def _percentiles(figures: NDArray[np.float64], confidence: float, rows: _PairedRows) -> Estimate:
    value, defined = float(figures[0]), figures[1:][~np.isnan(figures[1:])]
    if math.isnan(value) or len(defined) == 0 or rows.count < 2:
        return Estimate.of(value, Interval(math.nan, math.nan, "none"))
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    note = level_note("percentile", rows.count - 1, rows.count, clustered=rows.clusters is not None)
    return Estimate(value, low, high, "percentile", note)


@dataclass(frozen=True)
class _PairedRows:
    """Sorted rows, their sample, the first run of positive scores, and the clusters."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    sample: LabelledScores
    cut: int
    clusters: NDArray[Any] | None
    confidence: float

    @property
    def count(self) -> int:
        """The number of independent rows or clusters."""
        return len(self.x if self.clusters is None else np.unique(self.clusters))

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which rows are positive by their label."""
        return self.sample.positive[self.sample.levels] > 0

    def figure(self, which: int, value: float) -> Estimate:
        """Pearson's r, Spearman's rho or AUC with its interval."""
        if math.isnan(value):
            return UNDEFINED
        if which == AUC:
            scaled = self._interval(2 * value - 1, auc_influence(self.x, self.good, value))
            if scaled is None:
                wins = min(int(self.good.sum()), int((~self.good).sum()), self.count // 2)
                scaled = worst_case(2 * value - 1, 1 - 2 * unseen(self.confidence, max(wins, 1)))
            low, high = ((1 + bound) / 2 for bound in (scaled.low, scaled.high))
            return Estimate.of(value, replace(scaled, low=low, high=high))
        if which == PEARSON:
            interval = self._interval(value, pearson_influence(self.x, self.y, value), fitted=1)
            return Estimate.of(
                value, interval or Interval(math.nan, math.nan, "none", "no interval: all rows on one line")
            )
        interval = self._interval(value, spearman_influence(self.x, self.y, value))
        tau = 1 - 2 * unseen(self.confidence, max(self.count // 2, 1))
        bound = (3 * tau - 1) / 2 if tau >= 0 else (tau * tau + 2 * tau - 1) / 2  # of Daniels, of Durbin and Stuart
        return Estimate.of(value, interval or worst_case(value, bound))

    def f1(self) -> Estimate:
        """F1 at the threshold, with its exact interval, or for clusters that of its influence."""
        predicted = np.arange(len(self.x)) >= self.sample.runs[self.cut]
        hits, misses = int((predicted & self.good).sum()), int((predicted != self.good).sum())
        if not self.good.any():
            return UNDEFINED
        exact = f1_share(hits, misses, self.confidence)
        if self.clusters is None:
            return exact
        value, size = exact.value, (2 * hits + misses) / len(self.x)
        influence = (2.0 * (predicted & self.good) - value * (predicted.astype(np.float64) + self.good)) / size
        scaled = self._interval(2 * value - 1, 2 * influence)
        if scaled is None:
            few = f1_share(self.count if hits else 0, 0 if hits else self.count, self.confidence)
            return replace(few, interval="worst_case")
        return Estimate(value, (1 + scaled.low) / 2, (1 + scaled.high) / 2, scaled.kind, scaled.note)

    def kendall(self) -> Estimate:
        """Kendall's tau-b with its interval."""
        sample, n = self.sample, len(self.x)
        sizes = np.bincount(sample.levels, minlength=len(sample.labels))
        c = np.empty(n, np.int64)
        concordance(sample.runs, sample.levels, np.append(0, np.cumsum(sizes)).astype(np.int64), c)
        runs = np.diff(sample.runs)
        a, b = n - np.repeat(runs, runs), n - sizes[sample.levels]
        mean_a, mean_b = int(a.sum()) / n, int(b.sum()) / n
        if mean_a == 0 or mean_b == 0:
            return UNDEFINED
        scale = math.sqrt(mean_a * mean_b)
        tau = int(c.sum()) / n / scale
        interval = self._interval(tau, 2 * c / scale - tau * (a / mean_a + b / mean_b))
        bound = 1 - 2 * unseen(self.confidence, max(self.count // 2, 1))
        return Estimate.of(tau, interval or worst_case(tau, bound))

    def _interval(self, value: float, influence: NDArray[np.float64], fitted: int = 0) -> Interval | None:
        return figure_interval(value, influence, self.clusters, self.confidence, fitted=fitted)


def _decision(predicted: NDArray[np.bool_], good: NDArray[np.bool_], threshold: float) -> Decision:
    if math.isnan(threshold):
        return Decision(*[math.nan] * 5)
    hits, n_predicted, n_good = int((predicted & good).sum()), int(predicted.sum()), int(good.sum())
    accuracy = int((predicted == good).sum()) / len(good)
    precision = hits / n_predicted if n_predicted else math.nan
    recall = hits / n_good if n_good else math.nan
    return Decision(threshold, accuracy, precision, recall, cohen_kappa(predicted, good))
