"""Correlations, ROC AUC and F1 of weighted rows in one pass, and the bootstrap that repeats it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel

PEARSON, SPEARMAN, AUC, F1 = range(4)


class LabelledScores(NamedTuple):
    """Rows sorted by score, hence in runs of equal score, and by label within a run."""

    runs: NDArray[np.int64]
    """Start of each run, followed by the number of rows."""
    scores: NDArray[np.float64]
    """The standardised score of each run."""
    levels: NDArray[np.int32]
    """Index of each row's label among the distinct labels."""
    labels: NDArray[np.float64]
    """The distinct labels, ascending, standardised."""
    positive: NDArray[np.float64]
    """1 for a distinct label that counts as positive, else 0."""
    clusters: NDArray[np.int32]
    """The cluster of each row, from 0 on; the rows of a cluster are drawn together."""


class Scratch(NamedTuple):
    """Work arrays of one pass: per row, and per distinct label."""

    weights: NDArray[np.float64]
    level_weights: NDArray[np.float64]
    level_ranks: NDArray[np.float64]


@kernel
def draw(seed: np.uint64, resample: int, weights: NDArray[np.float64]) -> None:
    """Count in ``weights[c]`` how often cluster c is drawn in a sample of n from n clusters with replacement.

    The generator is SplitMix64 on a counter: each draw depends only on the seed, the resample and the draw's index.
    """
    weights[:] = 0.0
    n = np.uint64(weights.shape[0])
    state = seed + np.uint64(resample) * np.uint64(0xD1342543DE82EF95)
    for _ in range(weights.shape[0]):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        weights[np.int64(((z >> np.uint64(32)) * n) >> np.uint64(32))] += 1.0


@kernel
def rank_levels(sample: LabelledScores, scratch: Scratch) -> float:
    """Compute each distinct label's weight, and twice its mean rank minus n + 1; return n, the sum of weights."""
    level_weights, level_ranks = scratch.level_weights, scratch.level_ranks
    level_weights[:] = 0.0
    total = 0.0
    for row in range(sample.levels.shape[0]):
        level_weights[sample.levels[row]] += scratch.weights[row]
        total += scratch.weights[row]
    below = 0.0
    for level in range(level_weights.shape[0]):
        level_ranks[level] = 2.0 * below + level_weights[level] - total
        below += level_weights[level]
    return total


@kernel
def weigh(weights: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    """Σ w·v and Σ w·v² over ``weights[i]`` and ``values[i]``, added in order."""
    total = squares = 0.0
    for place in range(values.shape[0]):
        total += weights[place] * values[place]
        squares += weights[place] * values[place] * values[place]
    return total, squares


@kernel
def ratio(above: float, below: float) -> float:
    """``above / below``, NaN unless ``below`` is positive."""
    return above / below if below > 0.0 else np.nan


@kernel
def spread(n: float, total: float, squares: float) -> float:
    """n²·variance; 0 if it is within the rounding error."""
    value = n * squares - total * total
    return value if value > 1e-14 * n * squares else 0.0


@kernel
def measure(sample: LabelledScores, scratch: Scratch, cut: int, out: NDArray[np.float64]) -> None:
    """Pearson, Spearman, AUC, and F1 (runs from ``cut`` on predicted positive) of the weighted rows."""
    n = rank_levels(sample, scratch)
    below = x = xx = xy = rr = rs = wins = positives = hits = predicted = 0.0
    for run in range(sample.scores.shape[0]):
        weight = good = label_sum = rank_sum = 0.0
        for row in range(sample.runs[run], sample.runs[run + 1]):
            w, level = scratch.weights[row], sample.levels[row]
            weight += w
            good += w * sample.positive[level]
            label_sum += w * sample.labels[level]
            rank_sum += w * scratch.level_ranks[level]
        score, rank = sample.scores[run], 2.0 * below + weight - n
        x, xx, xy = x + weight * score, xx + weight * score * score, xy + score * label_sum
        rr, rs = rr + weight * rank * rank, rs + rank * rank_sum
        wins += good * (below - positives + (weight - good) / 2.0)
        below, positives = below + weight, positives + good
        if run >= cut:
            hits, predicted = hits + good, predicted + weight
    y, yy = weigh(scratch.level_weights, sample.labels)
    out[0] = ratio(n * xy - x * y, np.sqrt(spread(n, x, xx) * spread(n, y, yy)))
    out[1] = ratio(rs, np.sqrt(rr * weigh(scratch.level_weights, scratch.level_ranks)[1]))
    out[2] = ratio(wins, positives * (n - positives))
    out[3] = ratio(2.0 * hits, positives + predicted)


@kernel
def resample(sample: LabelledScores, cut: int, seed: np.uint64, first: int, out: NDArray[np.float64]) -> None:
    """The four figures of each resample from number ``first`` on, one row of ``out`` each; number 0 is the sample."""
    n_rows, n_levels = sample.levels.shape[0], sample.labels.shape[0]
    scratch = Scratch(np.ones(n_rows), np.empty(n_levels), np.empty(n_levels))
    drawn = np.empty(sample.clusters.max() + 1)
    for place in range(out.shape[0]):
        if first + place > 0:
            draw(seed, first + place, drawn)
            for row in range(n_rows):
                scratch.weights[row] = drawn[sample.clusters[row]]
        measure(sample, scratch, cut, out[place])
