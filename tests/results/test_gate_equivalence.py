"""Rules of equivalence: two one-sided tests within a margin, and one of not being worse by more."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

import fastmetrics as fm
from tests.support.program import program

N = 120
RNG = np.random.default_rng(8)
BEFORE = RNG.uniform(0.2, 0.8, N)
CHANGE = np.concatenate([d := RNG.normal(0, 0.05, N // 2), -d])
"""Symmetric around 0, so the default interval is Student's."""


def tables(before, after, metric="token_f1"):
    ids = range(len(before))
    return {"id": ids, metric: before}, {"id": ids, metric: after}


def one(rule, before=BEFORE, after=BEFORE + CHANGE + 0.004, metric="token_f1", **options):
    old, new = tables(before, after, metric)
    (found,) = fm.gate(new, rule, baseline=old, **options)
    return found


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_margins_are_those_of_statsmodels(confidence):
    after = BEFORE + CHANGE + 0.004
    equal, worse = (one(f"token_f1.{name} <= 0.5", confidence=confidence) for name in ("equivalent", "not_worse"))
    for margin in (equal.bound * 0.999, equal.bound * 1.001):
        p, _, _ = ttost_paired(after, BEFORE, -margin, margin)
        assert one(f"token_f1.equivalent <= {margin:.9f}", confidence=confidence).met == (p <= 1 - confidence)
    for margin in (worse.bound * 0.99, worse.bound * 1.01):
        _, above, _ = ttost_paired(after, BEFORE, -margin, margin)
        assert one(f"token_f1.not_worse <= {margin:.9f}", confidence=confidence).met == (above[1] <= 1 - confidence)
    assert equal.confidence == worse.confidence == pytest.approx(2 * confidence - 1)
    assert worse.bound < equal.bound


@given(st.integers(0, 10**6), st.floats(0.005, 0.1), st.booleans())
def test_what_a_rule_passes_compare_calls_equivalent(seed, margin, lower):
    rng = np.random.default_rng(seed)
    before = rng.uniform(0.2, 0.8, 40)
    after = before + rng.choice([-1, 1]) * (rng.exponential(0.03, 40) - 0.03) + rng.normal(0, 0.01)
    old, new = tables(before, after)
    better = {"token_f1": "lower" if lower else "higher"}
    compared = fm.compare([old, new], margin=margin, better=better)["token_f1"]
    for rule, p in (("equivalent", compared.p_equivalent), ("not_worse", compared.p_not_worse)):
        met = one(f"token_f1.{rule} <= {margin}", before, after, better=better).met
        assert p <= 0.05 or not met


@pytest.mark.parametrize("reading", ["equivalent", "not_worse"])
@pytest.mark.parametrize("kind", ["numbers", "flags"])
def test_false_passes_at_the_margin_are_at_most_nominal(reading, kind, full):
    """The change is the margin itself: a rule passes in at most 5 % of the trials."""
    rng, passed, trials = np.random.default_rng(3), 0, 600 if full else 200
    for _ in range(trials):
        if kind == "numbers":
            before = rng.uniform(0.3, 0.7, 40)
            after = before - 0.03 + rng.normal(0, 0.06, 40)
        else:
            before, flips = (rng.random(60) < 0.7).astype(float), rng.random(60)
            after = np.where(before == 1, flips >= 0.1 / 0.7, flips < 0.07 / 0.3).astype(float)
        rule = f"exact_match.{reading} <= 0.03" if kind == "flags" else f"token_f1.{reading} <= 0.03"
        passed += one(rule, before, after, rule.partition(".")[0]).met
    assert passed <= 0.05 * trials + 2 * np.sqrt(0.05 * 0.95 * trials)
    assert kind == "flags" or passed > 0


def test_direction_and_share_of_the_baseline():
    drop, rise = (one("token_f1.not_worse <= 0.01", after=BEFORE + CHANGE + shift).met for shift in (-0.02, 0.02))
    assert (drop, rise) == (False, True)
    assert one("token_f1.not_worse <= 0.01", after=BEFORE + CHANGE - 0.02, better={"token_f1": "lower"}).met
    assert not one("token_f1.equivalent <= 0.01", after=BEFORE + CHANGE + 0.02).met
    relative, absolute = one("token_f1.equivalent <= 9%"), one("token_f1.equivalent <= 0.09")
    assert relative.bound * BEFORE.mean() == pytest.approx(absolute.bound, rel=0.05)
    old, new = tables(BEFORE, BEFORE + CHANGE)
    every = fm.gate({**new, "my_score": CHANGE}, "equivalent <= 0.1", baseline={**old, "my_score": CHANGE})
    assert {check.metric for check in every} == {"token_f1", "my_score"}


def test_rows_without_a_score_make_a_system_worse():
    after = [None if n < 12 else float(x) for n, x in enumerate(BEFORE)]
    assert not one("token_f1.equivalent <= 0.03", after=after).met
    assert one("token_f1.equivalent <= 0.03", after=after).n_worst == 12
    neutral = one("my_score.equivalent <= 0.03", after=after, metric="my_score")
    assert "12 rows have no score, and my_score has no worst score" in neutral.reason


def test_the_output_says_why():
    found = one("token_f1.equivalent <= 0.01")
    assert found.reason == (
        f"the mean change is 0.00400 over 120 rows, but its 90 % interval reaches {found.high:.4f}, so these rows do "
        "not show that it is between -0.01 and 0.01 (token_f1.delta.point reads the mean itself)"
    )
    falls = one("token_f1.equivalent <= 0.01", after=BEFORE + CHANGE - 0.006)
    assert f"reaches {falls.low:.4f}" in falls.reason
    assert "the mean drop is" in one("token_f1.not_worse <= 0.001", after=BEFORE + CHANGE - 0.006).reason


def test_the_program_tests_equivalence(tmp_path):
    for name, table in zip(("old", "new"), tables(BEFORE.tolist(), (BEFORE + CHANGE).tolist()), strict=True):
        rows = [{"id": n, "token_f1": x} for n, x in enumerate(table["token_f1"])]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("gate", tmp_path / "new.jsonl", "--baseline", tmp_path / "old.jsonl")
    assert program(*command, "-r", "token_f1.equivalent <= 0.05", "-r", "not_worse <= 0.05").code == 0
    assert program(*command, "-r", "token_f1.equivalent <= 0.001").code == 1
