"""Bootstrap intervals of a mean, over rows or clusters: percentile, BCa and studentised."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels.resampling import resampled_clusters, resampled_sums
from fastmetrics.stats.intervals.estimates import Sample, whole

_RESAMPLES_AT_ONCE = 256
_ALONE = 1 << 22
"""Up to this number of cells times resamples, one thread is faster than several."""


def bootstrap_interval(
    sample: Sample, kind: str, confidence: float, resamples: int, seed: int, threads: int | None
) -> tuple[float, float]:
    """The bootstrap interval of the mean: ``percentile``, ``bca`` or ``studentised``.

    BCa (Efron 1987) corrects the percentiles for bias and skewness.  The studentised interval (bootstrap-t) is mean −
    t*·s, with quantiles t* of (mean* − mean)/s*; a resample without spread is infinitely far.  NaN for fewer than 2
    rows or clusters.
    """
    if len(sample.units) < 2:
        return math.nan, math.nan
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if kind == "studentised":
        ratios = _studentised(sample, resamples, seed, threads)
        low, high = np.quantile(ratios, tails, method="inverted_cdf").tolist()
        return sample.mean - high * sample.spread.error, sample.mean - low * sample.spread.error
    sums, rows = _resampled(sample.units, sample.sizes, resamples, seed, threads)
    means = sums / (sample.scale * rows)
    if kind == "bca":
        tails = shifted_tails(tails, _share_below(sample, sums, rows), sample.spread.skew / 6)
    rounding = sample.mean - float(sample.units.sum() / (sample.scale * sample.n))
    low, high = (np.quantile(means, tails) + rounding).tolist()
    return low, high


def _resampled(
    units: Ints, sizes: Ints | None, resamples: int, seed: int, threads: int | None
) -> tuple[Ints, Ints | int]:
    """The sums of the rows or clusters drawn, and the numbers of rows drawn."""
    if sizes is None:
        return drawn(partial(resampled_sums, units), len(units), resamples, seed, threads), len(units)
    rows = np.empty(resamples, np.int64)

    def draw(key: np.uint64, first: int, out: Ints) -> None:
        resampled_clusters(units, sizes, key, first, out, rows[first : first + len(out)])

    return drawn(draw, len(sizes), resamples, seed, threads), rows


def _share_below(sample: Sample, sums: Ints, rows: Ints | int) -> float:
    """The share of resampled means below the mean, and half of those equal to it.

    Each unit was rounded by up to a half, so means that differ by no more than this rounding are equal.
    """
    apart = sums / rows - sample.units.sum() / sample.n
    equal = np.abs(apart) <= len(sample.units) / np.minimum(rows, sample.n)
    return float(((apart < 0) & ~equal).mean() + 0.5 * equal.mean())


def shifted_tails(tails: Floats, below: float, skew: float) -> Floats:
    """The tails of BCa: shifted by the share of resampled values below the value, and by a sixth of the skew."""
    normal = NormalDist()
    if not 0 < below < 1:
        return tails
    bias = normal.inv_cdf(below)
    shifted = [bias + normal.inv_cdf(tail) for tail in tails]
    return np.array([normal.cdf(bias + z / (1 - skew * z)) for z in shifted])


def _studentised(sample: Sample, resamples: int, seed: int, threads: int | None) -> Floats:
    """(mean* − mean)/s* of each resample, where s* has the scale of the sample's standard error."""
    residuals, exponent = sample.residuals
    sizes = sample.sizes
    columns = [residuals, residuals**2]
    if sizes is not None:
        columns += [residuals * sizes, sizes.astype(np.float64) ** 2]
    sums: list[Floats] = []
    rows: Ints | int = 1
    for column in columns:
        units, scale = whole(column)
        totals, rows = _resampled(units, sizes, resamples, seed, threads)
        sums.append(totals / scale)
    count = len(residuals)
    centre = sums[0] / rows
    cross, sizes_squared = (centre * count, count) if sizes is None else sums[2:]
    squares = sums[1] - 2 * centre * cross + centre**2 * sizes_squared
    squares = np.where(squares > 1e-12 * columns[1].sum(), squares, 0.0)
    errors = np.sqrt(squares * count / (count - 1)) / rows
    own = math.sqrt(columns[1].sum() * count / (count - 1)) / sample.n
    unit = math.ldexp(sample.spread.error, -exponent) / own
    far = np.where(centre == 0, 0.0, np.copysign(np.inf, centre))
    return np.divide(centre, errors * unit, out=far, where=errors > 0)


def drawn(
    fill: Callable[[np.uint64, int, Any], None], cells: int, resamples: int, seed: int, threads: int | None
) -> Ints:
    """One integer for each resample of these cells, computed by several threads if there are many."""
    out = np.empty(resamples, np.int64)
    if cells * resamples <= _ALONE:
        fill(np.uint64(seed), 0, out)
        return out
    size = max(1, min(_RESAMPLES_AT_ONCE, -(-resamples // cores(threads))))

    def part(first: int) -> None:
        fill(np.uint64(seed), first, out[first : first + size])

    deque(ordered(part, range(0, resamples, size), cores(threads)), maxlen=0)
    return out
