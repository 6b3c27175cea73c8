"""Several answers to each question: variance between and within questions, pass@k and pass^k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.stats.sums import exact_sum


def pass_at_k(n: int, c: int, k: int) -> float:
    """The probability that at least one of ``k`` answers is correct, if ``c`` of ``n`` answers were.

    pass@k = 1 − C(n − c, k) / C(n, k), the unbiased estimator; NaN for fewer than ``k`` answers.  Source: Chen and
    others 2021, Evaluating Large Language Models Trained on Code.

    >>> pass_at_k(10, 3, 1), round(pass_at_k(10, 3, 5), 4), pass_at_k(2, 1, 3)
    (0.3, 0.9167, nan)

    Raises ``InputError`` for ``c`` outside 0 … ``n`` and ``OptionError`` for ``k`` below 1.
    """
    _check(n, c, k)
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k))) if n >= k else math.nan


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The probability that all of ``k`` answers are correct, if ``c`` of ``n`` answers were.

    pass^k = C(c, k) / C(n, k), the unbiased estimator; NaN for fewer than ``k`` answers.  Source: Yao and others 2024,
    τ-bench.

    >>> pass_hat_k(10, 3, 1), round(pass_hat_k(10, 8, 2), 4), pass_hat_k(2, 1, 3)
    (0.3, 0.6222, nan)

    Raises ``InputError`` for ``c`` outside 0 … ``n`` and ``OptionError`` for ``k`` below 1.
    """
    _check(n, c, k)
    return float(Fraction(math.comb(c, k), math.comb(n, k))) if n >= k else math.nan


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise InputError(f"expected 0 to {n} correct answers of {n}, got {c}")
    if k < 1:
        raise OptionError(Argument("k", k), ": expected 1 or more answers")


@dataclass(frozen=True)
class QuestionScores:
    """The scores of each question, reduced: its mean, its number of scores, and the variance within questions."""

    means: Floats
    """The mean score of each question with a score, by ascending question number."""
    counts: Ints
    """The number of scores of each of these questions."""
    within: float
    """σ², the variance of the scores of one question, pooled; NaN if no question has two scores."""

    @property
    def between(self) -> float:
        """ω², the variance of the questions' true means: the variance of ``means`` less its share from within, ≥ 0.

        NaN for fewer than two questions, or if no question has two scores.
        """
        if len(self.means) < 2 or math.isnan(self.within):
            return math.nan
        noise = self.within * exact_sum(1.0 / self.counts) / len(self.counts)
        return max(variance(self.means) - noise, 0.0)


def variance(values: Floats) -> float:
    """The unbiased variance (divided by n − 1), in any order of the values; NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    if np.ptp(values) == 0:
        return 0.0
    mean = exact_sum(values) / len(values)
    return exact_sum((values - mean) ** 2) / (len(values) - 1)


def question_scores(scores: Floats, questions: Ints) -> QuestionScores:
    """The scores of each question; NaN is no score.  The order of the rows does not matter.

    ω² and σ² are the estimators of a one-way analysis of variance with random effects; with unequal numbers of scores,
    every question counts once.
    """
    present = ~np.isnan(scores)
    scores, questions = scores[present], questions[present]
    if not len(scores):
        return QuestionScores(scores, np.zeros(0, np.int64), math.nan)
    order = np.lexsort((scores, questions))
    scores, questions = scores[order], questions[order]
    starts = np.flatnonzero(np.append(True, questions[1:] != questions[:-1]))
    stops = np.append(starts[1:], len(scores))
    counts = stops - starts
    means = np.add.reduceat(scores, starts) / counts
    means = np.where(scores[starts] == scores[stops - 1], scores[starts], means)  # equal scores are their own mean
    freedom = len(scores) - len(starts)
    residuals = scores - np.repeat(means, counts)
    return QuestionScores(means, counts, exact_sum(residuals**2) / freedom if freedom else math.nan)
