"""How steady a judge is, how often it fails, how long it takes, and how good its decisions are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

import fastmetrics as fm
from fastmetrics.stats.estimates import Estimate
from fastmetrics.stats.judge_quality import Consistency, judge_latency, status_counts
from fastmetrics.stats.mean_interval import f1_share, share

NAN = math.nan


@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("span", [(1, 5), (0, 1), (-2, 2), (0, 100)])
def test_consistency_is_the_share_of_close_pairs_on_any_range(repeats, span):
    rng = np.random.default_rng(repeats)
    steps = rng.integers(0, 9, (60, repeats)) / 8  # the tolerance is one step
    steps[rng.random(steps.shape) < 0.1] = NAN
    found = fm.stats.judge_consistency(span[0] + steps * (span[1] - span[0]), range=span)
    shares = []
    for i, j in itertools.combinations(range(repeats), 2):
        near = [abs(a - b) <= 0.125 for a, b in steps[:, [i, j]] if not math.isnan(a + b)]
        shares.append(sum(near) / len(near))
    assert found.share.value == pytest.approx(sum(shares) / len(shares), rel=1e-12)
    assert found.tolerance == pytest.approx((span[1] - span[0]) / 8)
    several = [row[~np.isnan(row)] for row in steps if (~np.isnan(row)).sum() >= 2]
    deviation = np.mean([row.std(ddof=1) for row in several]) * (span[1] - span[0])
    assert (found.n, found.deviation) == (len(several), pytest.approx(deviation))
    assert found.alpha == pytest.approx(fm.stats.krippendorff_alpha(steps.T, level="interval"))


def test_consistency_at_the_tolerance_counts_though_decimals_round():
    assert fm.stats.judge_consistency([[0.7, 0.575]], range=(0, 1)).share.value == 1.0
    assert fm.stats.judge_consistency([[0.7, 0.574]], range=(0, 1)).share.value == 0.0
    assert fm.stats.judge_consistency([[3, 4]], tolerance=1).share.value == 1.0


@pytest.mark.parametrize("rows", [[], [[]], [[1]], [[1, None], [None, 2]]])
def test_without_two_scores_consistency_is_undefined(rows):
    found = fm.stats.judge_consistency(rows)
    assert (math.isnan(found.share.value), math.isnan(found.deviation), found.n) == (True, True, 0)
    assert found.reading == "undefined"


@pytest.mark.parametrize(
    ("share", "reading"), [(1.0, "reliable"), (0.9, "fair"), (0.7, "fair"), (0.69, "unstable"), (0.0, "unstable")]
)
def test_readings(share, reading):
    assert Consistency(Estimate(share, NAN, NAN), 0.0, 0.0, 1, 0.5).reading == reading


def test_rows_that_were_not_asked_about_are_no_errors():
    statuses = ["ok", "unparsed", "truncated", "refused", "http", "timeout", "budget", "missing", "too_long", None]
    assert fm.stats.judge_error_rate(statuses) == 5 / 6
    assert math.isnan(fm.stats.judge_error_rate(["missing", None]))
    assert status_counts(["ok", None, "http", "ok"]) == {"http": 1, "none": 1, "ok": 2}


def test_latency_is_that_of_numpy():
    values = np.random.default_rng(0).gamma(2, 100, 333)
    found = judge_latency([*values, None, NAN])
    assert (found.n, found.mean) == (333, pytest.approx(values.mean()))
    assert list(found.percentiles.values()) == np.percentile(values, [50, 90, 95, 99]).tolist()
    assert math.isnan(judge_latency([]).mean)
    assert math.isnan(judge_latency([]).percentiles["p99"])
    rows = [[*values[:3], None], None, values[3:].tolist()]
    for lists in (rows, pa.array(rows), pa.chunked_array([rows[:1], rows[1:]]), [values[:3], values[3:]]):
        assert judge_latency(lists) == judge_latency(values)
    assert judge_latency([[], [None], None]).n == 0


def test_decisions_are_those_of_scikit_learn_and_their_intervals_exact():
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.6
    shown = labels ^ (rng.random(200) < 0.2)
    found = fm.stats.judge_decisions(shown, labels, latency_ms=[1, 2, 3])
    tp, fp, fn = int((shown & labels).sum()), int((shown & ~labels).sum()), int((~shown & labels).sum())
    assert (found.tp, found.fp, found.fn, found.tn) == (tp, fp, fn, 200 - tp - fp - fn)
    assert found.accuracy.value == (shown == labels).mean()
    assert (found.precision.value, found.recall.value) == (tp / (tp + fp), tp / (tp + fn))
    precision, recall = found.precision.value, found.recall.value
    assert found.f1.value == pytest.approx(2 * precision * recall / (precision + recall))
    for one in (found.accuracy, found.precision, found.recall, found.f1):
        assert 0.02 < one.high - one.low < 0.25
        assert one.low < one.value < one.high
    order = rng.permutation(200)
    again = fm.stats.judge_decisions(shown[order], labels[order], latency_ms=[1, 2, 3])
    assert again == found


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 7), (81, 263), (1, 1)])
def test_shares_have_exact_intervals(hits, n):
    found = share(hits, n)
    assert (found.low, found.high) == pytest.approx(proportion_confint(hits, n, method="beta"), abs=1e-12)
    f1 = f1_share(hits, n - hits)
    assert f1.value == pytest.approx(2 * hits / (n + hits))
    assert (f1.low, f1.high) == pytest.approx(tuple(2 * one / (1 + one) for one in (found.low, found.high)))


@pytest.mark.parametrize(
    ("shown", "labels"), [([], []), ([0, 0], [0, 0]), ([0, 0], [1, 1]), ([1, 1], [0, 0]), ([None], [1])]
)
def test_nothing_by_nothing_is_zero(shown, labels):
    found = fm.stats.judge_decisions(shown, labels)
    assert (found.precision.value, found.recall.value, found.f1.value) == (0.0, 0.0, 0.0)
    assert found.n_left_out == sum(one is None for one in shown)


@pytest.mark.parametrize("status", ["missing", "too_long", "budget", "identical"])
def test_rows_without_a_call_are_no_errors_and_no_calls(status):
    assert fm.stats.judge_error_rate(["ok", status, "http", None]) == 0.5
    assert math.isnan(fm.stats.judge_error_rate([status]))
