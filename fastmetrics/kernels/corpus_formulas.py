"""BLEU and chrF of sums of counts, many at once: sacreBLEU's formulas in its order of operations, to the bit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf

EXP, FLOOR, ADD_K, NONE = range(4)
"""The smoothing methods of BLEU."""

_LOG_OF_ZERO = -9999999999.0
_EPSILON = 1e-16


@leaf
def precision(row: NDArray[np.float64], n: int, smoothing: int, value: float, halvings: float) -> float:
    """The n-gram precision of order n + 1 in per cent, smoothed if no n-gram matches; -1 if there is no n-gram."""
    orders = (row.shape[0] - 2) // 2
    correct, total = row[2 + n], row[2 + orders + n]
    # Unigrams are not smoothed (Lin and Och 2004).
    if smoothing == ADD_K and n:
        correct += value
        total += value
    if total == 0:
        return -1.0
    # NIST's: 1/2 match at the first order without one, then 1/4, 1/8 and so on.
    if correct == 0 and smoothing == EXP:
        return 100 / (halvings * total)
    if correct == 0 and smoothing == FLOOR:
        return 100 * value / total
    return 100 * correct / total


@leaf
def bleu_score(row: NDArray[np.float64], smoothing: int, value: float, effective: bool, compensated: bool) -> float:
    """BLEU of the sums [answers' length, references' length, matches of each order, n-grams of each order]."""
    orders, reached, halvings = (row.shape[0] - 2) // 2, 0, 1.0
    logs = lost = 0.0
    for n in range(orders):
        if row[2 + n] == 0:
            halvings *= 2
        p = precision(row, n, smoothing, value, halvings)
        # The answers are too short for this order and for all after it.
        if p < 0:
            break
        # sacreBLEU's stand-in for the logarithm of 0, whose exponential is 0.
        log = math.log(p) if p > 0 else _LOG_OF_ZERO
        more = logs + log
        # Neumaier's compensation: what the addition has rounded off, exact because the larger one is taken first.
        lost += (logs - more) + log if abs(logs) >= abs(log) else (log - more) + logs
        logs, reached = more, n + 1
    if compensated:
        logs += lost
    # Orders that were not reached have the precision 0.
    if not effective and reached < orders:
        logs += _LOG_OF_ZERO
    # exp(1 - r/c), where the answers (c) are shorter than the references (r).
    brevity, length = 1.0, row[0]
    if length < row[1]:
        brevity = math.exp(1 - row[1] / length) if length > 0 else 0.0
    return brevity * math.exp(logs / (reached if effective else orders))


@kernel
def bleu_scores(
    sums: NDArray[np.float64],
    smoothing: int,
    value: float,
    effective: bool,
    compensated: bool,
    out: NDArray[np.float64],
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
def order_score(row: NDArray[np.float64], n: int, factor: float) -> float:
    """The F-score of one order of n-grams."""
    hyp, ref, match = row[3 * n], row[3 * n + 1], row[3 * n + 2]
    # As chrF++.py: what cannot be computed is a small number instead, here both precision and recall.
    if hyp == 0 and ref == 0:
        return (1 + factor) * _EPSILON * _EPSILON / (factor * _EPSILON + _EPSILON)
    recall = match / ref if ref > 0 else _EPSILON
    if hyp > 0:
        weighted, product = factor * (match / hyp), (1 + factor) * (match / hyp) * recall
    else:
        weighted, product = factor * _EPSILON, (1 + factor) * _EPSILON * recall
    total = weighted + recall
    return product / total if total > 0 else _EPSILON


@leaf
def smoothed_score(row: NDArray[np.float64], factor: float) -> float:
    """The mean F-score of all orders in per cent."""
    orders, score = row.shape[0] // 3, 0.0
    for n in range(orders):
        score += order_score(row, n, factor)
    return 100 * score / orders


@leaf
def plain_score(row: NDArray[np.float64], factor: float) -> float:
    """The F-score in per cent of the mean precision and recall, over the orders that both sides have; 0 without any."""
    precision, recall, effective = 0.0, 0.0, 0
    for n in range(row.shape[0] // 3):
        hyp, ref, match = row[3 * n], row[3 * n + 1], row[3 * n + 2]
        if hyp > 0 and ref > 0:
            precision += match / hyp
            recall += match / ref
            effective += 1
    if effective == 0:
        return 0.0
    precision /= effective
    recall /= effective
    if precision + recall == 0:
        return 0.0
    score = (1 + factor) * precision * recall
    score /= factor * precision + recall
    return 100 * score


@kernel
def chrf_scores(sums: NDArray[np.float64], factor: float, smoothed: bool, out: NDArray[np.float64]) -> None:
    """chrF of each row of sums, [n-grams of the answers, of the references, of both] for each order.

    ``factor`` is β².
    """
    for place in range(out.shape[0]):
        out[place] = smoothed_score(sums[place], factor) if smoothed else plain_score(sums[place], factor)
