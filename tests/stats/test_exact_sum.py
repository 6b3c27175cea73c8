"""Sums rounded once: the bits of math.fsum, however many values."""

import math

import numpy as np
import pytest

from fastmetrics.stats.sums import _MANY, exact_sum


@pytest.mark.parametrize("n", [0, 1, _MANY - 1, _MANY, 3 * _MANY + 1, 200_000])
@pytest.mark.parametrize("power", [0, 60, 300])
def test_sums_have_the_bits_of_fsum(n, power):
    random = np.random.default_rng(n + power)
    values = random.standard_normal(n) * 2.0 ** random.integers(-power, power + 1, n)
    for some in (values, np.abs(values), np.concatenate([values, -values[::-1], [5e-324]]), values[::2]):
        assert exact_sum(some).hex() == math.fsum(some).hex()


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_summed_as_fsum_does(odd):
    values = np.ones(_MANY)
    values[7] = odd
    assert str(exact_sum(values)) == str(math.fsum(values))
