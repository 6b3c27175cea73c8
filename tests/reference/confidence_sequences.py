"""Bets against a mean, one value at a time: the hedged capital process of Waudby-Smith and Ramdas 2024."""

import math


def capitals(shares, mean, alpha):
    """For each moment, the capital won by betting that values in [0, 1] lie above ``mean``."""
    capital, path = 1.0, []
    total, squares = 0.5, 0.25
    for t, share in enumerate(shares, 1):
        stake = math.sqrt(2 * math.log(2 / alpha) / (squares / t * t * math.log(1 + t)))
        capital *= 1 + min(stake, 0.5 / mean if mean else math.inf) * (share - mean)
        path.append(capital)
        total += share
        squares += (share - total / (t + 1)) ** 2
    return path


def is_refuted(shares, mean, alpha):
    """Whether half the capital of a bettor on either side ever reached 1/α."""
    above = capitals(shares, mean, alpha)
    below = capitals([1 - share for share in shares], 1 - mean, alpha)
    return any(capital / 2 >= 1 / alpha for capital in above + below)
