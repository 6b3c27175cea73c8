"""Exact percentiles of streams of values, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OptionError
from fastmetrics.stats.sums import quantiles
from tests.results.test_summary import FLOATS


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@given(
    st.lists(st.one_of(FLOATS, st.floats(), st.integers(0, 3).map(float)), max_size=60),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.integers(0, 70),
    st.integers(1, 20),
)
def test_quantiles_equal_numpy(values: list[float], qs: list[float], budget: int, step: int) -> None:
    batches = [np.array(values[start : start + step]) for start in range(0, len(values), step)]
    found = quantiles(lambda: batches, qs, budget)
    defined = np.array([value for value in values if math.isfinite(value)])
    with np.errstate(all="ignore"):
        expected = np.quantile(defined, qs) if len(defined) else np.full(len(qs), np.nan)
    assert all(same(a, b) for a, b in zip(found.tolist(), expected.tolist(), strict=True))


@pytest.mark.parametrize("budget", [0, 100, 5_000, 1 << 20])
def test_percentiles_of_many_values(budget: int) -> None:
    values = np.random.default_rng(1).lognormal(6, 1, 20_000)
    qs = [0.5, 0.9, 0.95, 0.99, 0.0, 1.0]
    assert quantiles(lambda: np.array_split(values, 7), qs, budget).tolist() == np.quantile(values, qs).tolist()


def test_quantile_above_one_raises() -> None:
    with pytest.raises(OptionError, match="from 0 to 1"):
        quantiles(lambda: [np.ones(2)], [1.5])
