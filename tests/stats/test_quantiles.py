"""Percentiles and trimmed means of streams of values, against NumPy and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from fastmetrics.stats.sums import State, named_statistics
from tests.results.test_summary import FLOATS


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@given(
    st.lists(st.one_of(FLOATS, st.floats(), st.integers(0, 3).map(float)), max_size=60),
    st.lists(st.floats(0, 100), min_size=1, max_size=4),
    st.integers(1, 20),
)
def test_percentiles_equal_numpy(values: list[float], percents: list[float], step: int) -> None:
    batches = [np.array(values[start : start + step]) for start in range(0, len(values), step)]
    names = [f"p{percent:.9f}" for percent in percents]
    found = named_statistics(State(), names, lambda: batches)
    defined = np.array([value for value in values if math.isfinite(value)])
    shares = [float(name[1:]) / 100 for name in names]
    with np.errstate(all="ignore"):
        expected = np.quantile(defined, shares) if len(defined) else np.full(len(shares), np.nan)
    assert all(same(found[name], value) for name, value in zip(names, expected.tolist(), strict=True))


def test_trimmed_mean_equals_scipy() -> None:
    values = np.random.default_rng(1).lognormal(6, 1, 1_003)
    found = named_statistics(State(), ["trimmed"], lambda: np.array_split(np.append(values, np.nan), 7))
    assert found["trimmed"] == pytest.approx(trim_mean(values, 0.1), rel=1e-14)
