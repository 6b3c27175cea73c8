"""Kendall's tau-b of weighted rows and the error of it, in plain Python."""

import math
from itertools import product


def sign(number):
    return (number > 0) - (number < 0)


def tau_b(x, y, weights=None):
    """Concordant less discordant weight of pairs, over the geometric mean of the weights not tied in x and in y."""
    weights = weights or [1.0] * len(x)
    both = in_x = in_y = 0.0
    for i, j in product(range(len(x)), repeat=2):
        across, up, weight = sign(x[i] - x[j]), sign(y[i] - y[j]), weights[i] * weights[j]
        both += weight * across * up
        in_x += weight * across**2
        in_y += weight * up**2
    return both / math.sqrt(in_x * in_y) if in_x and in_y else math.nan
