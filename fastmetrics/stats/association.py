"""Association of a score with a label: correlations, ROC AUC, the best threshold, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import InputError
from fastmetrics.base.options import Real, argument
from fastmetrics.stats.estimates import UNDEFINED, Estimate, as_share
from fastmetrics.stats.figures import Pairs, correlation_of, estimate_of
from fastmetrics.stats.mean_interval import f1_share

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
    confidence: float = 0.95,
    opposed: bool = False,
    clusters: Any = None,
) -> Association:
    """Pearson's r, Spearman's ρ, Kendall's τ-b, ROC AUC, and the F1 at a threshold, of two numeric columns.

    Labels of at least ``positive`` are positive; without it, AUC and F1 are undefined.  The default ``threshold`` is
    the score with the best F1 (the highest of several) on these rows, so its F1 is optimistic.  For an ``opposed``
    score, low values go with high labels: its AUC is the share of pairs in which the positive row has the lower score,
    and scores of at most the threshold are positive.  Correlations keep their sign.

    The threshold is fixed for all intervals.  Those of correlations and AUC are Student's t on Fisher's scale artanh
    (:mod:`fastmetrics.stats.figures`); the interval of F1 is the exact one of TP/(TP + FP + FN), of which F1 is
    a function.

    ``clusters`` numbers the group of each row from 0, such as its session or document.  Rows of a group carry less
    information than independent rows, so their influences are summed within each group.  With fewer than 4 rows or
    groups there are no intervals.

    The order of the rows does not change a bit.

    >>> found = associate([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], positive=1)
    >>> found.auc.value, found.decision.threshold, round(found.f1.value, 3)
    (0.75, 0.35, 0.8)

    Raises ``InputError`` for columns of different length or with values that are not finite, and ``OptionError`` for a
    confidence not between 0 and 1.

    Sources: DeLong, DeLong and Clarke-Pearson 1988; Satterthwaite 1946.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    x, y = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if x.shape != y.shape or x.ndim != 1 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"expected two columns of finite numbers of equal length, got shapes {x.shape} and {y.shape}")
    if len(x) == 0:
        none = UNDEFINED
        return Association(0, none, none, none, none, none, Decision(*[math.nan] * 5))
    if opposed:
        x, threshold = -x, None if threshold is None else -threshold
    least = math.inf if positive is None else positive
    pairs = Pairs.of(x, y, None if clusters is None else np.asarray(clusters))
    x, good = pairs.alone.x, pairs.alone.y >= least
    reached = _cut(x, good) if threshold is None or not good.any() else threshold
    pearson, spearman, kendall = (
        correlation_of(pairs, figure, confidence) for figure in ("pearson", "spearman", "kendall")
    )
    auc = as_share(estimate_of(pairs, lambda rows: rows.auc(least), confidence))
    named, f1 = x >= reached, UNDEFINED
    if good.any():
        f1 = f1_share(int((named & good).sum()), int((named != good).sum()), confidence)
    if good.any() and clusters is not None:
        f1 = replace(as_share(estimate_of(pairs, lambda rows: rows.f1(least, reached), confidence)), value=f1.value)
    if opposed:
        pearson, spearman, kendall = (
            replace(e, value=0 - e.value, low=0 - e.high, high=0 - e.low) for e in (pearson, spearman, kendall)
        )
    decision = _decision(named, good, 0 - reached if opposed else reached)
    return Association(len(x), pearson, spearman, kendall, auc, f1, decision)


def _cut(x: Floats, good: Flags) -> float:
    """The score with the best F1, the highest of several, of rows in ascending order; NaN if no row is positive."""
    if not good.any():
        return math.nan
    values, starts = np.unique(x, return_index=True)
    hits = good.sum() - np.append(0, np.cumsum(good))[starts]
    f1 = 2 * hits / (good.sum() + len(x) - starts)
    return float(values[np.flatnonzero(f1 == f1.max())[-1]])


def _decision(predicted: NDArray[np.bool_], good: NDArray[np.bool_], threshold: float) -> Decision:
    if math.isnan(threshold):
        return Decision(*[math.nan] * 5)
    hits, n_predicted, n_good = int((predicted & good).sum()), int(predicted.sum()), int(good.sum())
    accuracy = int((predicted == good).sum()) / len(good)
    precision = hits / n_predicted if n_predicted else math.nan
    recall = hits / n_good if n_good else math.nan
    agreed = Pairs.of(predicted.astype(np.float64), good.astype(np.float64), one_scale=True)
    return Decision(threshold, accuracy, precision, recall, agreed.alone.kappa(0).value)
