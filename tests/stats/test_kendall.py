"""Kendall's interval: its margin against derivatives taken by numbers, and how often it holds the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fastmetrics.stats.association import associate
from tests.reference.association import tau_b


@pytest.mark.parametrize(
    "chances",
    [
        [[0.30, 0.10, 0.02], [0.05, 0.20, 0.05], [0.01, 0.07, 0.20]],
        [[0.70, 0.05], [0.05, 0.20]],
        [[0.02, 0.03, 0.15, 0.05], [0.30, 0.25, 0.15, 0.05]],
    ],
)
def test_the_interval_of_tied_rows_holds_the_truth_as_often_as_it_says(chances, full):
    """Samples of 200 rows of a known distribution: 95 % and 80 % intervals hold its tau-b in that share of samples."""
    table = np.array(chances)
    assert table.sum() == pytest.approx(1.0)
    places = list(itertools.product(*map(range, table.shape)))
    truth = tau_b([i for i, _ in places], [j for _, j in places], table.ravel().tolist())
    draws = np.random.default_rng(0).multinomial(1, table.ravel(), (400 if full else 120, 200)).argmax(axis=2)
    for confidence, least, most in ((0.95, 0.91, 0.98), (0.8, 0.75, 0.85)):
        held = 0
        for draw in draws:
            x, y = np.divmod(draw, table.shape[1])
            found = associate(x, y, confidence=confidence).kendall
            held += found.low <= truth <= found.high
        slack = 0 if full else 0.02  # of fewer samples
        assert least - slack <= held / len(draws) <= most + slack
