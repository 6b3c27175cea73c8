"""Planning a comparison: the published example, SciPy's distributions, simulation, pilots of every form."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

import fastmetrics as fm
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.significance import variance_interval
from tests.support.program import program

Z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)


def test_published_example_of_miller():
    """ω² = 1/9, δ = 0.03: 969 questions by the normal quantiles; Student's t asks for two more."""
    assert math.ceil(Z**2 / 9 / 0.03**2) == 969
    assert fm.power(between=1 / 9, delta=0.03)[0].n == 971


@pytest.mark.parametrize("repeats", [1, 3, 10])
def test_repeats_reduce_the_variance_within_only(repeats):
    plan = fm.power(between=0.04, within=(0.1, 0.2), repeats=repeats, delta=0.02, power=0.9, confidence=0.99)[0]
    z = NormalDist().inv_cdf(0.995) + NormalDist().inv_cdf(0.9)
    assert plan.n == pytest.approx(z**2 * (0.04 + 0.3 / repeats) / 0.02**2, rel=0.01)


@pytest.mark.parametrize("effect", [0.1, 0.3, 0.8])
def test_needed_questions_are_about_those_of_statsmodels(effect):
    """The noncentral t, which is exact for normal differences, asks for at most two questions fewer or more."""
    exact = TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.8)
    assert abs(fm.power(between=1.0, delta=effect)[0].n - exact) <= 2


@given(st.floats(1e-6, 1e6), st.floats(1e-4, 1e2), st.floats(0.5, 0.99))
def test_difference_and_questions_are_inverse(between, share, power):
    delta = share * math.sqrt(between)
    n = fm.power(between=between, delta=delta, power=power)[0].n
    assert fm.power(between=between, n=n, power=power)[0].delta <= delta
    assert n == 2 or not fm.power(between=between, n=n - 1, power=power)[0].delta <= delta


def pilot(n=60, answers=1, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    questions = np.random.default_rng(9).normal(0, 1, n) + rng.normal(0, 0.5, n)
    scores = questions[:, None] + shift + rng.normal(0, 0.6, (n, answers))
    ids = np.repeat(np.arange(n), answers)
    return pa.table({"id": ids, "group": [f"g{one // 5}" for one in ids], "m": scores.ravel()})


def test_pilot_of_two_runs_gives_what_compare_calls_detectable():
    a, b = pilot(seed=1), pilot(seed=2)
    compared = fm.compare([a, b])["m"]
    assert fm.power([a, b], n=60)[0].delta == pytest.approx(compared.detectable, rel=1e-12)
    clustered = fm.compare([a, b], cluster="group")["m"]
    plan = fm.power([a, b], n=60, cluster="group")[0]
    assert plan.delta == pytest.approx(clustered.detectable, rel=1e-12)
    assert plan.metric == "m", "the column of clusters is no metric"


def test_pilot_with_repeats_separates_the_variances():
    a, b = pilot(2_000, 4, 1), pilot(2_000, 4, 2)
    plans = fm.power({"a": a, "b": b}, delta=0.05)
    assert [plan.repeats for plan in plans] == [1, 2, 3, 5, 10]
    assert plans[0].within_baseline == pytest.approx(0.36, rel=0.05)
    assert plans[0].between == pytest.approx(0.5, rel=0.1)
    assert plans[0].n > plans[-1].n > Z**2 * 0.4 / 0.05**2
    assert fm.power([a, b], delta=0.05, repeats=3)[0].n == plans[2].n


def test_variances_within_questions_are_those_of_the_named_runs():
    """The answers of one run vary, those of the other do not."""
    varying = pilot(40, 3)
    steady = {"id": np.repeat(np.arange(40), 3), "m": np.repeat(np.arange(40.0), 3)}
    for names in (("varying", "steady"), ("steady", "varying")):
        plan = fm.power({"varying": varying, "steady": steady}, baseline=names[0], other=names[1], delta=0.1)[0]
        within = dict(zip(names, (plan.within_baseline, plan.within_other), strict=True))
        assert within["varying"] > 0 == within["steady"]


def test_small_pilot_has_a_wide_interval():
    few, many = (fm.power([pilot(n, seed=1), pilot(n, seed=2)], delta=0.2)[0] for n in (5, 2_000))
    assert few.high > 3 * few.n > 3 * few.low
    assert many.n / 1.15 < many.low < many.n < many.high < 1.15 * many.n
    given = fm.power(between=0.25, delta=0.05)[0]
    assert (given.low, given.high) == (None, None)
    reach = fm.power([pilot(60, seed=1), pilot(60, seed=2)], n=100)[0]
    assert reach.low < reach.delta < reach.high


def test_planned_power_holds_by_simulation():
    n = fm.power(between=1.0, within=1.0, repeats=2, delta=0.5)[0].n
    rng = np.random.default_rng(3)
    trials = 4_000
    differences = 0.5 + rng.normal(0, 1, (trials, n)) + rng.normal(0, 1, (trials, n, 2, 2)).mean(axis=3) @ [1.0, -1.0]
    errors = differences.std(axis=1, ddof=1) / math.sqrt(n)
    detected = np.abs(differences.mean(axis=1)) / errors > stats.t.ppf(0.975, n - 1)
    assert detected.mean() == pytest.approx(0.8, abs=0.02)


def test_the_ends_of_clusters_are_those_of_as_many_independent_ones():
    rng = np.random.default_rng(4)
    means = rng.random((2, 10))
    pairs = [{"id": range(40), "m": np.repeat(one, 4), "group": np.repeat(np.arange(10), 4)} for one in means]
    plan = fm.power(pairs, metrics="m", delta=0.1, cluster="group")[0]
    expected = fm.power([{"id": range(10), "m": one} for one in means], delta=0.1)[0]
    assert (plan.n_pilot, plan.high) == (40, pytest.approx(4 * expected.high, abs=4))


def test_ends_of_normal_differences_are_about_those_of_chi_squared():
    values = np.random.default_rng(5).normal(0, 2, 400)
    found = variance_interval(Sample.of(values), 0.95)
    total = np.var(values, ddof=1) * 399
    assert (found.low, found.high) == pytest.approx(total / stats.chi2.ppf([0.975, 0.025], 399), rel=0.03)
    assert found.note is None


def test_ends_of_flags_are_those_of_the_share_that_differs():
    first = np.array([1.0] * 30)
    second = np.array([0.0] * 3 + [1.0] * 27)
    found = variance_interval(Sample.between(first, second, bounds=(0.0, 1.0)), 0.95)
    assert (found.low, found.high) == pytest.approx((stats.beta.ppf(0.025, 3, 28), stats.beta.ppf(0.975, 4, 27)))


def test_a_pilot_without_a_differing_question_is_limited_by_its_size():
    same = {"id": list(range(40)), "exact_match": [1.0, 0.0] * 20}
    plan = fm.power([same, same], delta=0.05)[0]
    assert plan.n is None
    assert (plan.low, plan.high) == (None, fm.power(between=1 - 0.025 ** (1 / 40), delta=0.05)[0].n)
    assert math.isnan(fm.power([same, same], n=100)[0].delta)
    unbounded = {"id": list(range(40)), "m": np.arange(40) / 7}
    report = fm.power([unbounded, unbounded], delta=0.05)
    assert (report[0].n, report[0].high) == (None, None)
    assert "the bounds of the metric are not declared" in str(report)


def test_the_ends_contain_the_questions_that_are_enough_for_rare_failures():
    """Of pilots of 60 questions, of which 3 % fail: at most 8 % may lie beyond."""
    rng, wrong = np.random.default_rng(7), 0
    scores = np.where(rng.random((2, 200, 60)) < 0.03, 0.0, 0.9)
    enough = fm.power(between=2 * 0.03 * 0.97 * 0.81, delta=0.05)[0].n
    tables = [{"id": np.arange(60), **{f"token_f1@{at}": row for at, row in enumerate(rows, 1)}} for rows in scores]
    for plan in fm.power(tables, delta=0.05):
        wrong += not (plan.low or 0) <= enough <= plan.high
    assert wrong <= 16


def test_equivalence_needs_the_questions_of_two_one_sided_tests():
    plan = fm.power(between=0.25, margin=0.05)[0]
    z = NormalDist().inv_cdf(0.95) + NormalDist().inv_cdf(0.9)
    assert plan.n == pytest.approx(z**2 * 0.25 / 0.05**2, abs=3)
    assert "equivalence within ±Δ" in str(fm.power(between=0.25, margin=0.05))
    rng = np.random.default_rng(2)
    differences = rng.normal(0, 0.5, (2_000, plan.n))
    reach = stats.t.ppf(0.95, plan.n - 1) * differences.std(axis=1, ddof=1) / math.sqrt(plan.n)
    assert (np.abs(differences.mean(axis=1)) + reach <= 0.05).mean() == pytest.approx(0.8, abs=0.03)


def test_command_takes_a_variance_within_questions_for_each_system():
    given = ["power", "--between", "0.1", "--delta", "0.05", "--json"]
    for within in ([0.05], [0.05, 0.2], [0.2, 0.05]):
        done = program(*given, *(f"--within={one}" for one in within))
        expected = fm.power(between=0.1, delta=0.05, within=within[0] if len(within) == 1 else within)
        assert json.loads(done.out) == json.loads(expected.to_json())


def test_a_variance_within_questions_is_taken_off_that_of_a_pilot_without_repeats():
    rng = np.random.default_rng(6)
    first, second = ({"id": list(range(50)), "m": rng.normal(0, 1, 50).tolist()} for _ in range(2))
    differences = np.subtract(second["m"], first["m"])
    plan = fm.power([first, second], metrics="m", delta=0.1, within=[0.25, 0.5])[0]
    assert plan.between == pytest.approx(np.var(differences, ddof=1) - 0.75)
    assert (plan.within_baseline, plan.within_other) == (0.25, 0.5)


@pytest.mark.parametrize("names", [{"other": "a"}, {"baseline": "b"}, {"baseline": "b", "other": "a"}])
def test_a_pilot_is_compared_with_the_run_that_is_left(names):
    """Of two runs, one name is enough, also if it is that of the first as the other."""
    runs = {"a": pilot(40, 3, 1), "b": pilot(40, 3, 2)}
    [plan, *_] = fm.power(runs, delta=0.2, **names)
    [expected, *_] = fm.power({"b": runs["b"], "a": runs["a"]}, delta=0.2)
    assert plan == expected


def test_a_difference_within_the_bounds_is_planned():
    runs = [{"id": list(range(40)), "exact_match": [0.0, 1.0] * 20}, {"id": list(range(40)), "exact_match": [1.0] * 40}]
    for name in ("delta", "margin"):
        assert fm.power(runs, **{name: 0.99})[0].n
    assert fm.power([pilot(seed=1), pilot(seed=2)], metrics="m", delta=2.0)[0].n, "no bounds are declared"


def test_the_systems_of_a_pilot_are_named_by_name_or_by_file(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in ("one", "two", "three")]
    for shift, path in enumerate(paths):
        pq.write_table(pa.table({"token_f1": [(at * (shift + 1)) % 7 / 7 for at in range(40)]}), path)
    by_name = fm.power(paths, n=60, baseline="two", other="three")
    assert fm.power(paths, n=60, baseline=str(paths[1]), other=str(paths[2])).to_json() == by_name.to_json()
    assert fm.power(paths[:2], n=60, other=str(paths[0])).to_json() == fm.power(paths[1::-1], n=60).to_json()
