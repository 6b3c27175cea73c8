"""A share of rows and its confidence interval."""

from __future__ import annotations

import math
from statistics import NormalDist

from fastmetrics.stats.association import Estimate


def wilson(hits: float, n: int, confidence: float = 0.95) -> Estimate:
    """The share ``hits / n`` with the score interval of Wilson 1927; all NaN if n is 0.

    (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).  It is also valid for means of values between 0 and 1, whose
    variance is at most that of a share.

    >>> found = wilson(8, 10)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.8, 0.4902, 0.9433)
    """
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan)
    share, z = hits / n, NormalDist().inv_cdf((1 + confidence) / 2)
    middle, below = share + z * z / (2 * n), 1 + z * z / n
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if hits == 0 else (middle - margin) / below  # exact; rounding could give another value
    high = 1.0 if hits == n else (middle + margin) / below
    return Estimate(share, low, high)
