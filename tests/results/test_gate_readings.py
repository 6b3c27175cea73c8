"""Every reading of a rule: means, bounds, changes, shares, margins; and how often a rule passes what it should not."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

import fastmetrics as fm
from fastmetrics.results.gate_rules import parse_rule
from fastmetrics.stats.mean_interval import percentile_interval
from tests.support.program import program

N = 120
RNG = np.random.default_rng(5)
BEFORE = RNG.beta(4, 2, N)
AFTER = np.clip(BEFORE - 0.007 + RNG.normal(0, 0.05, N), 0, 1)
SESSIONS = [f"s{n // 6}" for n in range(N)]
IDS = [f"q{n}" for n in range(N)]
OLD = {"id": IDS, "token_f1": BEFORE, "hallucination": 1 - BEFORE, "session": SESSIONS}
NEW = {"id": IDS, "token_f1": AFTER, "hallucination": 1 - AFTER, "session": SESSIONS}


def one(rule, scores=NEW, **options):
    (found,) = fm.gate(scores, rule, **{"baseline": OLD, **options})
    return found


def test_each_reading_has_its_name():
    compared = fm.compare({"old": OLD, "new": NEW}, metrics="token_f1", tests="t")["token_f1"]
    mean = fm.results.summarize_by(NEW, metrics="token_f1")[0]
    assert (mean.low, mean.high) == (one("token_f1.low >= 0").low, one("token_f1.high >= 0").high)
    for rule, compared_number in [
        *[("token_f1 >= {}", AFTER.mean()), ("token_f1.low >= {}", mean.low), ("token_f1.high >= {}", mean.high)],
        *[("token_f1.delta >= {}", compared.low), ("token_f1.delta.point >= {}", compared.delta)],
    ]:
        assert one(rule.format(f"{compared_number - 1e-9:.12f}")).met, rule
        assert not one(rule.format(f"{compared_number + 1e-9:.12f}")).met, rule
    for rule, compared_number in [
        *[("token_f1.drop <= {}", -compared.low), ("token_f1.drop < {}", -compared.low)],
        *[("token_f1.drop.point <= {}", -compared.delta), ("hallucination.drop <= {}", -compared.low)],
        *[("hallucination.delta <= {}", -compared.low), ("hallucination.drop.point <= {}", -compared.delta)],
        ("drop.point <= {}", -compared.delta),
    ]:
        assert all(found.met for found in fm.gate(NEW, rule.format(f"{compared_number + 1e-9:.12f}"), baseline=OLD)), (
            rule
        )
        found = fm.gate(NEW, rule.format(f"{compared_number - 1e-9:.12f}"), baseline=OLD)
        assert not any(found.met for found in found), rule
    assert one("token_f1.drop >= 0.001").met is (-compared.high >= 0.001)


def fieller(limit_of_bound, drops, base, confidence=0.95):
    """Whether the t interval of drop − limit·baseline is below 0, the exact test of a ratio of means."""
    values = drops - limit_of_bound * base
    return stats.ttest_1samp(values, 0, alternative="less").pvalue <= (1 - confidence) / 2


def test_a_drop_in_per_cent_is_relative_to_the_baseline():
    drops = BEFORE - AFTER
    found = one("token_f1.drop <= 2%")
    assert found.value == pytest.approx(drops.mean() / BEFORE.mean(), abs=1e-14)
    assert re.fullmatch(r"[\d.]+% \[[\d.]+, [\d.]+\]%", found.shown)
    assert found.value > drops.mean()
    bound = found.high
    assert fieller(bound * 1.03, drops, BEFORE)
    assert not fieller(bound * 0.97, drops, BEFORE)
    assert one(f"token_f1.drop <= {bound * 101:.4f}%").met
    assert not one(f"token_f1.drop <= {bound * 99:.4f}%").met
    assert one("token_f1.delta.point >= -3%").value == pytest.approx(-drops.mean() / BEFORE.mean(), abs=1e-14)
    scaled = [{**table, "score": 50 * np.asarray(table["token_f1"])} for table in (OLD, NEW)]
    (relative,) = fm.gate(scaled[1], "score.drop <= 2%", baseline=scaled[0], better={"score": "higher"})
    assert relative.value == pytest.approx(found.value, rel=1e-12)
    lower = one("hallucination.drop <= 2%")
    assert lower.value == pytest.approx(drops.mean() / (1 - BEFORE).mean(), rel=1e-9)
    zero = {"id": IDS, "token_f1": np.zeros(N)}
    (undefined,) = fm.gate(NEW, "token_f1.drop <= 2%", baseline=zero)
    assert (undefined.met, math.isnan(undefined.value)) == (False, True)
    assert fm.gate(NEW, "token_f1.share_missing <= 1%").passed
    assert parse_rule("token_f1 >= 60%").limit == 0.6


def test_a_change_itself_may_be_equal():
    assert one("token_f1.drop.point == 0", OLD).met


def found_base(scores):
    """The baseline with the sessions of the scores."""
    return {**OLD, "session": scores["session"]}


def test_a_rule_needs_a_minimum_of_rows():
    few = {"id": [1, 2, 3], "token_f1": [0.7, 0.8, 0.9]}
    for rule, least in [
        *[("token_f1 >= 0.5", 5), ("token_f1.low >= 0", 20), ("token_f1.min >= 0", 5)],
        *[("token_f1.drop.point <= 0.1", 5), ("token_f1.delta >= -1", 20)],
    ]:
        found = fm.gate(few, rule, baseline=few)
        assert (found.passed, found[0].reason) == (
            False,
            f"3 rows with a score, expected at least {least}; a rule over fewer states it, as in 'with n >= 3'",
        )
        assert fm.gate(few, f"{rule} with n >= 3", baseline=few).passed
        assert fm.gate(few, rule, baseline=few, min_n=3).passed
        assert not fm.gate(few, f"{rule} with n >= 4", baseline=few).passed
    assert fm.gate(few, ["token_f1.n == 3", "token_f1.share_missing <= 0"]).passed
    clustered = fm.gate(NEW, "token_f1.drop <= 0.1", baseline=OLD, cluster="session")
    assert (clustered.passed, clustered[0].n_clusters, clustered[0].n) == (True, 20, 120)
    two = {**NEW, "session": [f"s{n // 60}" for n in range(N)]}
    found = fm.gate(two, "token_f1.drop <= 0.5", baseline={**OLD, "session": two["session"]}, cluster="session")
    assert (found.passed, found[0].reason) == (
        False,
        "2 clusters, expected at least 12; a rule over fewer states it, as in 'with n >= 2'",
    )
    assert not fm.gate(two, "token_f1.drop <= 0.5 with n >= 3", baseline=found_base(two), cluster="session").passed
    assert fm.gate(two, "token_f1.drop <= 1 with n >= 2", baseline=found_base(two), cluster="session").passed


def test_bounds_of_corpus_metrics_need_counts():
    rows = [
        {"id": n, "answer": f"the cat sat on mat {n % 7}", "reference": f"the cat sat on {n % 5}"} for n in range(60)
    ]
    counted = fm.score(pa.Table.from_pylist(rows), "corpus_bleu,token_f1", keep_counts=True)
    (found,) = fm.gate(counted, "corpus_bleu.low >= 0")
    value = fm.summarize(counted).corpus["corpus_bleu"]
    assert (found.met, found.value) == (True, pytest.approx(value))
    assert found.low < value < found.high
    boot = []
    index = np.random.default_rng(0)
    table = pa.Table.from_pylist(rows)
    for _ in range(60):
        take = table.take(pa.array(index.integers(0, 60, 60))).select(["answer", "reference"])
        boot.append(fm.corpus_bleu(take["answer"].to_pylist(), take["reference"].to_pylist()).score)
    assert (found.high - found.low) / (4 * np.std(boot)) == pytest.approx(1, abs=0.35)
    half = fm.gate(counted, "corpus_bleu.drop <= 2%", baseline=counted)[0]
    assert (half.value, half.n) == (0.0, 60)


def test_a_changed_mean_of_a_score_without_a_direction_needs_better():
    tables = [{**table, "my_score": np.asarray(table["token_f1"])} for table in (OLD, NEW)]
    for rule in ("my_score.drop <= 0.1", "my_score.drop.point <= 0.1"):
        (up,) = fm.gate(tables[1], rule, baseline=tables[0], better={"my_score": "higher"})
        (down,) = fm.gate(tables[1], rule, baseline=tables[0], better={"my_score": "lower"})
        assert (up.value, up.better, down.better) == (-down.value, "higher", "lower")
    assert fm.gate(tables[1], "my_score.delta >= -0.1", baseline=tables[0]).passed
    named = {**tables[0], "answer_length": np.ones(N)}, {**tables[1], "answer_length": np.ones(N)}
    found = fm.gate(named[1], "drop <= 0.1", baseline=named[0], better={"my_score": "higher"})
    assert {check.metric for check in found} == {"token_f1", "hallucination", "my_score"}
    assert "drop <= 0.1: not answer_length, whose values are neither better nor worse" in found.notes


def test_the_program_states_directions(tmp_path):
    for name, table in (("old", OLD), ("new", NEW)):
        pq.write_table(pa.table({"id": table["id"], "my_score": table["token_f1"]}), tmp_path / f"{name}.parquet")
    command = ("gate", tmp_path / "new.parquet", "--baseline", tmp_path / "old.parquet", "-r", "drop <= 0.1")
    refused = program(*command)
    assert (refused.code, "state it with --better my_score=higher or lower" in refused.err) == (2, True)
    assert program(*command, "--better", "my_score=higher").code == 0
    assert program(*command, "--better", "my_score=lowr").code == 2


def test_a_note_on_the_width_of_an_interval_has_no_sign():
    old, new = ({"id": range(60), "token_f1": [0.5] * 57 + last} for last in ([0.5] * 3, [0.4, 0.6, 0.3]))
    (check,) = fm.gate(new, "token_f1.drop <= 0.2", baseline=old)
    assert check.interval_note == "wider than its level needs: few rows differ"
    assert check.shown.endswith("]")


def test_an_unchanged_run_passes_where_its_rows_can_show_it():
    """An interval of changes that all agree is no point, except if no score changed and the scores have no bounds."""
    rows = {
        "id": range(200),
        "token_f1": [0.5, 0.7] * 100,
        "idk_citations": [0.0] * 200,
        "latency_ms": [10.0, 90.0] * 100,
    }
    found = fm.gate(
        rows,
        ["token_f1.drop <= 0.02", "idk_citations.drop <= 0", "latency_ms.drop <= 0", "drop <= 0.02"],
        baseline=rows,
    )
    assert found.passed, str(found)
    unseen = 1 - 0.025 ** (1 / 200)
    assert [one.high for one in found[:3]] == pytest.approx([unseen, 0, 0], rel=1e-9)
    assert "† no row changed, and the scores have no bounds (idk_citations, latency_ms)" in found.remarks()
    (relative,) = fm.gate(rows, "token_f1.drop <= 4%", baseline=rows)
    assert (relative.met, relative.value, relative.high) == (True, 0.0, pytest.approx(unseen / 0.6, rel=1e-9))
    few = {name: column[:50] for name, column in rows.items()}
    assert not fm.gate(few, "token_f1.drop <= 0.02", baseline=few).passed
    assert fm.gate(few, "drop.point <= 0", baseline=few).passed


@pytest.mark.parametrize("rule", ["own.drop <= 5%", "own.drop <= 0.1", "own.low >= -9", "own.high <= 9"])
@pytest.mark.parametrize("n", [30, 200])
def test_negative_scores_are_the_mirror_of_positive_ones(rule, n):
    """A drop of −x where higher is better is the rise of x where lower is better, with the same bounds and notes."""
    rng = np.random.default_rng(5)
    before, change = rng.exponential(size=n) + 1, rng.exponential(size=n) / 4
    mirrored = {"own.low >= -9": "own.high <= 9", "own.high <= 9": "own.low >= -9"}.get(rule, rule)
    checks = []
    for sign, better, each in ((-1, "higher", rule), (1, "lower", mirrored)):
        scores, baseline = ({"id": range(n), "own": sign * values} for values in (before + change, before))
        checks += fm.gate(scores, each, baseline=baseline, better={"own": better})
    first, second = checks
    is_change = "drop" in rule
    ends = (second.low, second.high) if is_change else (-second.high, -second.low)
    assert (first.low, first.high) == pytest.approx(ends)
    assert first.value == pytest.approx(second.value if is_change else -second.value)
    assert (first.met, first.interval_note, first.interval) == (second.met, second.interval_note, second.interval)


@pytest.mark.parametrize(("confidence", "missed"), [(0.95, "2.5 %"), (0.9, "5 %"), (0.99, "0.5 %")])
def test_the_note_on_a_long_tail_states_how_often_one_bound_misses(confidence, missed):
    values = np.random.default_rng(1).exponential(size=40) ** 3
    [check] = fm.gate({"id": range(40), "own": values}, "own.high <= 1000", confidence=confidence)
    assert f"may miss it in more than {missed} of the cases" in check.interval_note


def test_measures_of_rankings_have_a_direction():
    values = [number % 7 / 100 for number in range(30)]
    before, after = (np.array(values) + share for share in (0.2, 0.5))
    baseline = {"id": list(range(30)), "recall@100": before, "unj": before}
    scores = {"id": list(range(30)), "recall@100": after + before[::-1] / 9, "unj": after + before[::-1] / 9}
    result = fm.gate(scores, ["drop <= 0.1"], baseline=baseline)
    assert [(check.metric, check.met) for check in result.checks] == [("recall@100", True), ("unj", False)]


def test_percentiles_have_intervals_and_their_bounds_are_readings():
    values = np.random.default_rng(3).gamma(4.0, 100.0, 300)
    scores = {"id": range(300), "latency_ms": values}
    p95 = float(np.quantile(values, 0.95))
    expected = percentile_interval(values, 0.95, bounds=(0.0, math.inf))
    found = fm.gate(
        scores, [f"latency_ms.p95 <= {p95 + 1}", f"latency_ms.p95.high <= {p95 + 1}", "latency_ms.p95.low > 1"]
    )
    assert [one.met for one in found] == [True, False, True]
    assert {(one.value, one.low, one.high) for one in found} == {(p95, expected.low, expected.high)}
    few = fm.gate({"latency_ms": values[:30]}, "latency_ms.p95.high <= 1e9")
    assert (few.passed, few[0].high) == (False, math.inf)


def test_percentiles_of_repeated_questions_are_those_of_the_answers():
    values = np.random.default_rng(3).gamma(4.0, 100.0, 300)
    scores = {"id": np.repeat(np.arange(60), 5), "repeat": [*range(5)] * 60, "latency_ms": values}
    expected = percentile_interval(values, 0.95, clusters=np.repeat(np.arange(60), 5), bounds=(0.0, math.inf))
    for options in ({}, {"baseline": scores}):
        (one,) = fm.gate(scores, "latency_ms.p95.high <= 5000", **options)
        assert (one.value, one.low, one.high) == (float(np.quantile(values, 0.95)), expected.low, expected.high)
        assert (one.n, one.n_clusters) == (300, 60)


def test_limits_at_the_bounds_and_on_some_metrics_remain():
    assert one("token_f1.drop <= 1").met
    assert one("token_f1 <= 1").met
    both = {**NEW, "chrf": 100 * AFTER}
    assert len(fm.gate(both, "drop <= 2", baseline=both)) == 3


@pytest.mark.parametrize(("n", "sd"), [(100, 0.2), (300, 0.2), (1000, 0.2), (200, 0.05)])
def test_the_false_alarms_of_a_rule_are_those_of_unchanged_runs(n, sd, full):
    """Of nights in which only chance changes scores, a rule fails in the share that it says; what it offers, in 5 %."""
    rng, alarms, said = np.random.default_rng(n), Counter(), Counter()
    nights = 150 if full else 75
    for night in range(nights):
        before = rng.uniform(0.3, 0.7, n)
        tables = [{"id": range(n), "token_f1": values} for values in (before, before + rng.normal(0, sd / 2, n))]
        tables = [
            {**table, "token_f1": np.clip(table["token_f1"] + rng.normal(0, sd / 2, n), 0, 1)} for table in tables
        ]
        rules = ["token_f1.drop <= 0.02", "token_f1.drop.point <= 0.02", "token_f1.equivalent <= 0.03"]
        for check in fm.gate(tables[1], rules, baseline=tables[0]):
            alarms[check.rule.text] += not check.met
            said[check.rule.text] += check.false_alarms
        if night == 0 and check.alarm_advice is not None:
            offered = re.findall(r"token_f1\.\S+ <= [\d.]+", check.alarm_advice)
            assert [fm.gate(tables[0], offered, baseline=tables[0]).passed] == [True]
    for rule, count in alarms.items():
        assert count / nights == pytest.approx(said[rule] / nights, abs=0.13 if full else 0.18)


def test_a_rule_that_fails_unchanged_runs_often_says_so_and_offers_others():
    found = one("token_f1.drop <= 0.0001")
    error = (found.high - found.value) / stats.norm.ppf(0.975)
    alarms = stats.norm.cdf((found.high - found.value - 0.0001) / error)
    assert found.false_alarms == pytest.approx(alarms)
    far = stats.norm.ppf(0.95) * error
    assert found.alarm_advice == (
        f"fails an unchanged system in about {100 * alarms:.0f} % of such runs; token_f1.drop <= "
        f"{far + found.high - found.value:.4f} or token_f1.drop.point <= {far:.5f} in 5 %"
    )
    assert one("token_f1.drop <= 0.5").alarm_advice is None
    assert math.isnan(fm.gate(NEW, "token_f1 >= 0.1")[0].false_alarms)


def test_the_trimmed_mean_and_its_bounds_are_readings():
    values = np.random.default_rng(5).lognormal(6, 1, 200)
    rules = ["latency_ms.trimmed <= 600", "latency_ms.trimmed.low >= 300", "latency_ms.trimmed.high <= 450"]
    found = fm.gate({"latency_ms": values}, rules)
    assert [check.value for check in found] == pytest.approx([stats.trim_mean(values, 0.1)] * 3)
    assert [check.met for check in found] == [True, True, False]


@pytest.mark.parametrize(("share", "n"), [(0.2, 400), (0.1, 100)])
def test_a_share_of_a_mean_of_rare_scores_is_rarely_shown_at_its_limit(share, n, full):
    """90 % of the scores are 0, and the others lose the share: nominal 0.025."""
    rng, passed = np.random.default_rng(n), 0
    for _ in range(100 if full else 30):
        before = np.where(rng.random(n) < 0.1, rng.beta(2, 2, n), 0.0)
        after = before * (1 - share + rng.uniform(-share, share, n))
        tables = [{"id": range(n), "token_f1": values} for values in (before, after)]
        passed += fm.gate(tables[1], f"token_f1.drop <= {100 * share}%", baseline=tables[0]).passed
    assert passed <= (8 if full else 4)


CHANCE = np.random.default_rng(8)
STEADY = CHANCE.uniform(0.2, 0.8, N)
CHANGE = np.concatenate([d := CHANCE.normal(0, 0.05, N // 2), -d])
"""Symmetric around 0, so the default interval is Student's."""


def tables(before, after, metric="token_f1"):
    ids = range(len(before))
    return {"id": ids, metric: before}, {"id": ids, metric: after}


def margin_of(rule, before=STEADY, after=STEADY + CHANGE + 0.004, metric="token_f1", **options):
    old, new = tables(before, after, metric)
    (found,) = fm.gate(new, rule, baseline=old, **options)
    return found


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_margins_are_those_of_statsmodels(confidence):
    after = STEADY + CHANGE + 0.004
    equal, worse = (margin_of(f"token_f1.{how} <= 0.5", confidence=confidence) for how in ("equivalent", "not_worse"))
    for margin in (equal.bound * 0.999, equal.bound * 1.001):
        p, _, _ = ttost_paired(after, STEADY, -margin, margin)
        assert margin_of(f"token_f1.equivalent <= {margin:.9f}", confidence=confidence).met == (p <= 1 - confidence)
    for margin in (worse.bound * 0.99, worse.bound * 1.01):
        _, above, _ = ttost_paired(after, STEADY, -margin, margin)
        assert margin_of(f"token_f1.not_worse <= {margin:.9f}", confidence=confidence).met == (
            above[1] <= 1 - confidence
        )
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
        met = margin_of(f"token_f1.{rule} <= {margin}", before, after, better=better).met
        assert p <= 0.05 or not met


@pytest.mark.parametrize("reading", ["equivalent", "not_worse"])
@pytest.mark.parametrize("kind", ["numbers", "flags"])
def test_false_passes_at_the_margin_are_at_most_nominal(reading, kind, full):
    """The change is the margin itself: a rule passes in at most 5 % of the trials."""
    rng, passed, trials = np.random.default_rng(3), 0, 600 if full else 100
    for _ in range(trials):
        if kind == "numbers":
            before = rng.uniform(0.3, 0.7, 40)
            after = before - 0.03 + rng.normal(0, 0.06, 40)
        else:
            before, flips = (rng.random(60) < 0.7).astype(float), rng.random(60)
            after = np.where(before == 1, flips >= 0.1 / 0.7, flips < 0.07 / 0.3).astype(float)
        rule = f"exact_match.{reading} <= 0.03" if kind == "flags" else f"token_f1.{reading} <= 0.03"
        passed += margin_of(rule, before, after, rule.partition(".")[0]).met
    assert passed <= 0.05 * trials + 2 * np.sqrt(0.05 * 0.95 * trials)
    assert kind == "flags" or passed > 0


def test_direction_and_share_of_the_baseline():
    drop, rise = (margin_of("token_f1.not_worse <= 0.01", after=STEADY + CHANGE + shift).met for shift in (-0.02, 0.02))
    assert (drop, rise) == (False, True)
    assert margin_of("token_f1.not_worse <= 0.01", after=STEADY + CHANGE - 0.02, better={"token_f1": "lower"}).met
    assert not margin_of("token_f1.equivalent <= 0.01", after=STEADY + CHANGE + 0.02).met
    relative, absolute = margin_of("token_f1.equivalent <= 9%"), margin_of("token_f1.equivalent <= 0.09")
    assert relative.bound * STEADY.mean() == pytest.approx(absolute.bound, rel=0.05)
    old, new = tables(STEADY, STEADY + CHANGE)
    every = fm.gate({**new, "my_score": CHANGE}, "equivalent <= 0.1", baseline={**old, "my_score": CHANGE})
    assert {check.metric for check in every} == {"token_f1", "my_score"}


def test_rows_without_a_score_make_a_system_worse():
    after = [None if n < 12 else float(x) for n, x in enumerate(STEADY)]
    assert not margin_of("token_f1.equivalent <= 0.03", after=after).met
    assert margin_of("token_f1.equivalent <= 0.03", after=after).n_worst == 12
    neutral = margin_of("my_score.equivalent <= 0.03", after=after, metric="my_score")
    assert "12 rows have no score, and my_score has no worst score" in neutral.reason


MARGIN = 0.05
SIMILARITY = "semantic_similarity"
"""A metric from −1 to 1, so that noise around scores keeps to its bounds."""


def passes(old, new, *rules, **options):
    """Whether each rule passes."""
    ids, metric = list(range(len(old))), rules[0].partition(" ")[0].partition(".")[0]
    found = fm.gate({"id": ids, metric: new}, list(rules), baseline={"id": ids, metric: old}, **options)
    return [one.met for one in found]


def drawn(kind, n, rng):
    """Scores of a baseline and of a system that is worse by exactly the margin in the mean."""
    old = rng.beta(4, 2, n) - 0.3
    if kind == "bounded":
        return old, old - MARGIN + rng.normal(0, 0.08, n)
    if kind == "skewed":
        return old, old - rng.exponential(MARGIN, n)
    if kind == "very skewed":
        return old, np.maximum(old - MARGIN * rng.lognormal(-0.5, 1, n), -1)
    flips = rng.random(n)
    before = (rng.random(n) < 0.7).astype(float)
    worse = (before == 1) & (flips < 0.15 / 0.7)
    better = (before == 0) & (flips < 0.1 / 0.3)
    return before, np.where(worse, 0.0, np.where(better, 1.0, before))


@pytest.mark.parametrize("kind", ["bounded", "skewed", "very skewed", "binary"])
@pytest.mark.parametrize("n", [20, 100])
def test_false_passes_at_the_boundary_are_at_most_nominal_or_noted(kind, n, full):
    """In 400 trials at full size: 2.5 % without a note, the upper tail of a 95 % interval."""
    rng, unnoted, wrong = np.random.default_rng(n), 0, 0
    metric = "token_f1" if kind == "binary" else SIMILARITY
    rule = f"{metric}.drop <= {MARGIN}"
    for _ in range(400 if full else 80):
        old, new = drawn(kind, n, rng)
        ids = range(n)
        (check,) = fm.gate({"id": ids, metric: new}, rule, baseline={"id": ids, metric: old})
        wrong += check.met
        unnoted += check.met and check.interval_note is None
    assert unnoted <= (20 if full else 7)  # a rate of 2.5 % gives more once in a thousand times
    assert kind != "very skewed" or wrong > unnoted


def test_a_check_that_reads_the_bound_of_a_long_tail_says_so():
    rng = np.random.default_rng(5)
    old = 0.3 + 0.7 * rng.beta(4, 2, 1200)
    new = old - np.where(rng.random(1200) < 0.05, 0.3, rng.uniform(0, 0.02, 1200))
    ids = list(range(1200))
    rules = ["token_f1.drop <= 0.06", "token_f1.delta <= 0", "token_f1.equivalent <= 0.06", "token_f1.drop.point <= 1"]
    found = fm.gate({"id": ids, "token_f1": new}, rules, baseline={"id": ids, "token_f1": old})
    note = "skewed: a few rows decide the mean, so the bound may miss it in more than {} % of the cases"
    assert [check.interval_note for check in found] == [note.format("2.5"), None, note.format("5"), None]
    assert f"† {note.format('2.5')} (token_f1)" in found.remarks()
    assert found[0].shown.endswith("†")


def test_power_is_left():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(50):
        old = rng.beta(4, 2, 200) - 0.3
        found += passes(old, old + rng.normal(0, 0.08, 200), f"{SIMILARITY}.drop <= {MARGIN}")[0]
    assert found == 50


def test_failing_the_hard_rows_never_helps():
    """A system that scores as the old one, but only where that scores well, passes only where failures are ignored."""
    rng = np.random.default_rng(1)
    rules = ("token_f1.drop <= 0.05", "token_f1 >= 0.6", "token_f1.low >= 0.6", "token_f1.drop.point <= 0")
    passed, ignored = np.zeros(len(rules)), np.zeros(len(rules))
    for _ in range(50):
        old = rng.beta(1, 1, 80)
        new = np.where(old > 0.5, np.clip(old + rng.normal(0.02, 0.01, 80), 0, 1), np.nan)
        scores = [None if np.isnan(one) else float(one) for one in new]
        passed += passes(old, scores, *rules)
        ignored += passes(old, scores, *rules, unpaired="ignore")
    assert passed.sum() == 0
    assert (ignored == 50).all()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_numbers_of_ones_own_are_no_metrics_of_a_gate_or_a_validation(kind):
    """A price beside the scores of a frame with texts: until a rule, ``better`` or ``metrics`` names it."""
    rows = {"answer": ["a b", "b", "c"] * 20, "reference": ["a", "b", "d"] * 20, "my_price": [2.0, 1.0, 3.0] * 20}
    scored = fm.with_scores({"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind](rows), "token_f1")
    found = fm.gate(scored, "drop <= 0.1", baseline=scored)
    assert [check.metric for check in found] == ["token_f1"]
    assert any("my_price; a rule that names one checks it" in note for note in found.notes)
    stated = fm.gate(scored, "drop <= 0.1", baseline=scored, better={"my_price": "lower"})
    assert {check.metric for check in stated.checks} | {"my_price"} == {"token_f1", "my_price"}
    labels = [True, True, False] * 20
    assert list(fm.validate(scored, labels)) == ["token_f1"]
    assert any("my_price; metrics= (-m) takes them" in note for note in fm.validate(scored, labels).notes)
    assert list(fm.validate(scored, labels, metrics="my_price")) == ["my_price"]
