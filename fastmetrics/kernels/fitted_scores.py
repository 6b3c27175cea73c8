"""Evaluation of a fitted score: curves of metrics, and the logistic function.

Only additions, multiplications, divisions and comparisons, one after the other in a fixed order: the results have the
same bits on every machine.  The exponential function is therefore written here; those of libraries differ in the last
bit.

``values``, ``present`` and ``sums`` have one item a row; ``knots`` and ``heights`` are the points of a curve,
``edges`` the ends of the parts of a distribution, and ``terms`` the coefficients of the exponential's series.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_FARTHEST = 700.0
_TERMS = np.array([1.0 / math.factorial(n) for n in range(14)])


@leaf
def kind_of_absence(value: float, present: bool) -> int:
    """0 for a missing score, 1 for an undefined one, −1 for a number."""
    if not present:
        return 0
    return 1 if math.isnan(value) else -1


@leaf
def curve_at(x: float, knots: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """The height of a curve of straight lines between ``knots``, which is level outside of them."""
    last = knots.shape[0] - 1
    if x <= knots[0]:
        return heights[0]
    if x >= knots[last]:
        return heights[last]
    low, high = 0, last
    # knots[low] <= x < knots[high]
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - knots[low]) / (knots[high] - knots[low])
    return heights[low] + share * (heights[high] - heights[low])


@kernel
def add_curve(
    values: NDArray[np.float64],
    present: NDArray[np.bool_],
    knots: NDArray[np.float64],
    heights: NDArray[np.float64],
    absent: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add the height of a metric's curve to the sum of each row; ``absent`` has those of missing and undefined."""
    for row in range(values.shape[0]):
        kind = kind_of_absence(values[row], present[row])
        sums[row] += absent[kind] if kind >= 0 else curve_at(values[row], knots, heights)


@kernel
def count_parts(
    values: NDArray[np.float64],
    present: NDArray[np.bool_],
    edges: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Count the rows up to each edge, above the last, the missing and the undefined ones into ``counts``."""
    n_edges = edges.shape[0]
    for row in range(values.shape[0]):
        kind = kind_of_absence(values[row], present[row])
        # After the n_edges + 1 parts of numbers come the missing, then the undefined ones.
        part = n_edges + 1 + kind
        if kind < 0:
            part = 0
            for edge in range(n_edges):
                part += values[row] > edges[edge]
        counts[part] += 1


@leaf
def exponential(x: float, terms: NDArray[np.float64]) -> float:
    """The exponential of a number from −700 to 700, to about one unit in the last place."""
    # exp(x) = 2ᵖ · exp(x - p·ln 2), with a rest of at most ln 2 / 2.  The logarithm comes in two parts, of which the
    # product of the first and p is exact (Cody and Waite 1980), so that the rest keeps all its bits.
    power = math.floor(x * _LOG2_E + 0.5)
    part = (x - power * _LN2_HIGH) - power * _LN2_LOW
    total = terms[13]
    for term in range(12, -1, -1):
        total = total * part + terms[term]
    # Doubling and halving are exact.
    scale = 2.0 if power > 0 else 0.5
    for _ in range(abs(int(power))):
        total *= scale
    return total


@kernel
def logistic(sums: NDArray[np.float64], terms: NDArray[np.float64]) -> None:
    """Replace each sum by 1 / (1 + exp(−sum))."""
    for row in range(sums.shape[0]):
        x = min(max(sums[row], -_FARTHEST), _FARTHEST)
        # Of a negative number, which cannot overflow.
        power = exponential(-abs(x), terms)
        sums[row] = 1.0 / (1.0 + power) if x >= 0 else power / (1.0 + power)


def terms() -> NDArray[np.float64]:
    """The coefficients of the series of the exponential function, for ``logistic``."""
    return _TERMS
