"""BLEU and chrF of sums of counts, many at once: sacreBLEU's formulas in its order of operations, to the bit.

sacreBLEU's sums are integers, or float32 for resampled rows; NumPy 2 computes with float32 sums in float32, except
for steps that use Python floats.  The type of the array of sums selects the case.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf

EXP, FLOOR, ADD_K, NONE = range(4)
"""The smoothing methods of BLEU."""

_LOG_OF_ZERO = -9999999999.0
_EPSILON = 1e-16


@leaf
def precision(row: NDArray[Any], n: int, smoothing: int, value: float, halvings: float) -> float:
    """The n-gram precision of order n + 1 in per cent, smoothed if no n-gram matches; -1 if there is no n-gram."""
    kind, orders = row.dtype.type, (row.shape[0] - 2) // 2
    correct, total = row[2 + n], row[2 + orders + n]
    if smoothing == ADD_K and n:
        correct += kind(value)
        total += kind(value)
    if total == 0:
        return -1.0
    if correct == 0 and smoothing == EXP:
        return np.float64(kind(100) / (kind(halvings) * total))
    if correct == 0 and smoothing == FLOOR:
        return np.float64(kind(100 * value) / total)
    return np.float64(kind(100) * correct / total)


@leaf
def bleu_score(row: NDArray[Any], smoothing: int, value: float, effective: bool, compensated: bool) -> float:
    """BLEU of the sums [answers' length, references' length, matches of each order, n-grams of each order]."""
    orders, reached, halvings = (row.shape[0] - 2) // 2, 0, 1.0
    logs = lost = 0.0
    for n in range(orders):
        if row[2 + n] == 0:
            halvings *= 2
        p = precision(row, n, smoothing, value, halvings)
        if p < 0:
            break
        log = math.log(p) if p > 0 else _LOG_OF_ZERO
        more = logs + log
        lost += (logs - more) + log if abs(logs) >= abs(log) else (log - more) + logs
        logs, reached = more, n + 1
    if compensated:
        logs += lost
    if not effective and reached < orders:
        logs += _LOG_OF_ZERO
    brevity, length = 1.0, np.float64(row[0])
    if length < row[1]:
        brevity = math.exp(1 - np.float64(row[1]) / length) if length > 0 else 0.0
    return brevity * math.exp(logs / (reached if effective else orders))


@kernel
def bleu_scores(
    sums: NDArray[Any], smoothing: int, value: float, effective: bool, compensated: bool, out: NDArray[np.float64]
) -> None:
    """BLEU of each row of sums; 0 if nothing matches.  If ``compensated``, logarithms are added like ``sum`` of
    Python 3.12 and later (compensated summation), else in order."""
    orders = (sums.shape[1] - 2) // 2
    for place in range(out.shape[0]):
        matched = False
        for n in range(orders):
            matched |= sums[place, 2 + n] != 0
        out[place] = bleu_score(sums[place], smoothing, value, effective, compensated) if matched else 0.0


@leaf
def order_score(row: NDArray[Any], n: int, factor: float) -> tuple[float, bool]:
    """The F-score of one order of n-grams, and whether it has the sums' type instead of Python's float."""
    kind = row.dtype.type
    hyp, ref, match = row[3 * n], row[3 * n + 1], row[3 * n + 2]
    if hyp == 0 and ref == 0:
        return (1 + factor) * _EPSILON * _EPSILON / (factor * _EPSILON + _EPSILON), False
    recall = match / ref if ref > 0 else kind(_EPSILON)
    if hyp > 0:
        weighted, product = kind(factor) * (match / hyp), kind(1 + factor) * (match / hyp) * recall
    else:
        weighted, product = kind(factor * _EPSILON), kind((1 + factor) * _EPSILON) * recall
    total = weighted + recall
    return (np.float64(product / total), True) if total > 0 else (_EPSILON, False)


@leaf
def smoothed_score(row: NDArray[Any], factor: float) -> tuple[float, bool]:
    """The mean F-score of all orders in per cent, and whether it has the sums' type."""
    kind, orders = row.dtype.type, row.shape[0] // 3
    score, narrow = 0.0, False
    for n in range(orders):
        more, narrows = order_score(row, n, factor)
        narrow |= narrows
        score = np.float64(kind(score) + kind(more)) if narrow else score + more
    return (np.float64(kind(100) * kind(score) / kind(orders)), True) if narrow else (100 * score / orders, False)


@leaf
def plain_score(row: NDArray[Any], factor: float) -> float:
    """The F-score in per cent of the mean precision and recall, over the orders that both sides have; 0 without any."""
    kind, orders = row.dtype.type, row.shape[0] // 3
    precision, recall, effective = kind(0), kind(0), 0
    for n in range(orders):
        hyp, ref, match = row[3 * n], row[3 * n + 1], row[3 * n + 2]
        if hyp > 0 and ref > 0:
            precision += match / hyp
            recall += match / ref
            effective += 1
    if effective == 0:
        return 0.0
    precision /= kind(effective)
    recall /= kind(effective)
    if precision + recall == 0:
        return 0.0
    score = kind(1 + factor) * precision * recall
    score /= kind(factor) * precision + recall
    return np.float64(kind(100) * score)


@kernel
def chrf_scores(
    sums: NDArray[Any], factor: float, smoothed: bool, out: NDArray[np.float64], narrow: NDArray[np.bool_]
) -> None:
    """chrF of each row of sums, [n-grams of the answers, of the references, of both] for each order.

    ``narrow[i]`` receives whether ``out[i]`` has the sums' type.  ``factor`` is β².
    """
    for place in range(out.shape[0]):
        if smoothed:
            out[place], narrow[place] = smoothed_score(sums[place], factor)
        else:
            out[place] = plain_score(sums[place], factor)
            narrow[place] = out[place] != 0
