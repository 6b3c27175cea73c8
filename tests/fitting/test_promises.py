"""Cuts with a promise: SciPy's bound, the order of the tests, and what is said where the labels do not suffice."""

import numpy as np
import pytest
from scipy.stats import beta

import fastmetrics as fm
from fastmetrics.fitting.fit import APART
from fastmetrics.fitting.labelled_rows import part_of_groups
from fastmetrics.stats.promises import lower_bound, one_of_each, promises_of, ready_threshold, threshold
from tests.fitting.test_fit import FEATURES, table


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (5, 10), (10, 10), (95, 100)])
def test_the_bound_is_that_of_clopper_and_pearson(hits, n):
    expected = beta.ppf(0.05, hits, n - hits + 1) if hits else 0.0
    assert lower_bound(hits, n, 0.95) == pytest.approx(expected, rel=1e-12)


def scores(n, seed):
    """Scores that are the chance of a positive label."""
    rng = np.random.default_rng(seed)
    values = rng.random(n)
    return values, rng.random(n) < values


@pytest.mark.parametrize(
    ("name", "target", "exact"),
    [("precision", 0.8, 0.6), ("recall", 0.9, np.sqrt(0.1)), ("risk", 0.1, 1 - np.sqrt(0.2))],
)
def test_a_cut_keeps_its_promise_and_is_near_the_best(name, target, exact):
    """The chance is the score, so the precision from c on is (1 + c)/2, the recall 1 − c², the risk (1 − c)²/2."""
    [promise] = promises_of(fm.stats.CutPromises(**{name: target}))
    cuts = []
    for seed in range(20):
        entry = threshold(promise, scores(2000, seed), scores(1000, 100 + seed), 0.95)
        assert entry.cut is not None
        assert lower_bound(entry.hits, entry.rows, 0.95) >= promise.target
        cuts.append(entry.cut)
    broken = [cut > exact + 1e-9 if name == "recall" else cut < exact - 1e-9 for cut in cuts]
    assert sum(broken) <= 3
    assert np.median(np.abs(np.array(cuts) - exact)) < 0.12


@pytest.mark.parametrize("name", ["precision", "recall", "risk"])
def test_the_observed_cut_is_the_best_of_all_scores(name):
    [promise] = promises_of(fm.stats.CutPromises(**{name: 0.3}))
    values, drawn = scores(60, 5)
    values = np.round(values, 1)
    for good in (drawn, values > 0.8, np.zeros(60, bool), np.ones(60, bool)):
        kept = []
        for cut in np.unique(values):
            taken = values >= cut
            shares = {
                "precision": (taken & good).sum() / taken.sum(),
                "recall": (taken & good).sum() / max(good.sum(), 1),
            }
            if (taken & ~good).mean() <= 0.3 if name == "risk" else shares[name] >= 0.3:
                kept.append(cut)
        best = (max if name == "recall" else min)(kept, default=None)
        assert ready_threshold(promise, values, good, 0.95).observed == best
        assert threshold(promise, scores(60, 6), (values, good), 0.95).observed == best


def test_too_few_labels_are_said():
    [promise] = promises_of(fm.stats.CutPromises(precision=0.95))
    entry = threshold(promise, scores(60, 1), scores(30, 2), 0.95)
    assert entry.cut is None
    assert 30 < entry.needed_low < (entry.needed_high or np.inf)


def test_one_row_stands_for_a_group():
    groups = np.array([3, 3, 0, 0, 0, 5])
    rows = one_of_each(groups, 0)
    assert sorted(groups[rows].tolist()) == [0, 3, 5]


def test_a_verdict_takes_the_cuts(tmp_path):
    path = tmp_path / "mine.toml"
    result = fm.fit(
        table(900),
        label="good",
        metrics=FEATURES,
        promises=fm.stats.CutPromises(precision=0.7, recall=0.8),
        output=path,
    )
    cuts = {name: entry.cut for name, entry in result.model.thresholds.items()}
    assert None not in cuts.values()
    scored = fm.score(table(200, seed=9), [str(path), f"verdict(fitted={str(path)!r})"])
    low, high = min(cuts.values()), cuts["precision"]
    expected = [1.0 if x >= high else 0.0 if x < low else 0.5 for x in scored["mine"].to_pylist()]
    assert scored.column(1).to_pylist() == expected
    assert result.model.labels["rows_apart"] == 300


def test_groups_apart_are_a_sample_of_all_groups():
    """One group in twenty is large and mostly negative; a bound for a share of all groups holds at its level."""
    broken = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        is_large = rng.random(300) < 0.05
        groups = np.repeat(np.arange(300), np.where(is_large, 200, 1))
        labels = (rng.random(len(groups)) < np.where(is_large, 0.2, 0.9)[groups]).astype(float)
        apart = part_of_groups(groups, APART, seed)
        hits = labels[apart][one_of_each(groups[apart], seed)]
        broken += lower_bound(int(hits.sum()), len(hits), 0.95) > 0.05 * 0.2 + 0.95 * 0.9
    assert broken <= 18  # 10 are expected at most


def test_the_labels_that_a_promise_needs_are_between_its_ends():
    """The best cut is that of the scores above 0.3, where 95 % are positive: 49 rows, of 70 in 100."""
    [promise] = promises_of(fm.stats.CutPromises(precision=0.9))
    enough = next(n for n in range(10, 1000) if beta.ppf(0.05, int(0.95 * n), n - int(0.95 * n) + 1) >= 0.9) / 0.7
    inside = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values = rng.random(60)
        entry = ready_threshold(promise, values, rng.random(60) < np.where(values > 0.3, 0.95, 0.3), 0.95)
        if entry.cut is None:
            inside.append(entry.needed_low <= enough <= (entry.needed_high or np.inf))
    assert len(inside) > 50
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(("name", "target", "exact"), [("precision", 0.8, 0.6), ("recall", 0.9, np.sqrt(0.1))])
def test_a_ready_score_is_tested_on_all_labels(name, target, exact):
    """As above; in 200 sets of 300 labels the promise of 95 % is broken in 5 % at most, with chance 10 more."""
    [promise] = promises_of(fm.stats.CutPromises(**{name: target}))
    cuts = [ready_threshold(promise, *scores(300, seed), 0.95).cut for seed in range(200)]
    found = np.array([cut for cut in cuts if cut is not None])
    assert len(found) > 150
    assert ((found > exact) if name == "recall" else (found < exact)).sum() <= 20
    assert np.median(np.abs(found - exact)) < 0.2


def test_validate_finds_cuts_of_any_metric():
    rng = np.random.default_rng(0)
    good = rng.random(300) < 0.6
    noise = rng.normal(0, 0.4, (2, 300))
    rows = {"judge": good + noise[0], "hallucination": (~good + noise[1] + 2) / 5}
    found = fm.validate(rows, good.astype(int), promises=fm.stats.CutPromises(precision=0.9, recall=0.8))
    for name, sign in (("judge", 1), ("hallucination", -1)):
        for promise, entry in found[name].thresholds.items():
            accepted = sign * np.array(rows[name]) >= sign * entry.cut
            counted = accepted if promise == "precision" else good
            assert (entry.rows, entry.hits) == (counted.sum(), (accepted & good).sum())


def test_the_promise_of_a_table_holds_for_all_its_metrics_together():
    rng = np.random.default_rng(3)
    good = rng.random(400) < 0.7
    rows = {f"my_{place}": rng.normal(good * place / 8, 1) for place in range(20)}
    asked = fm.stats.CutPromises(precision=0.8)
    found = fm.validate(rows, good.astype(int), promises=asked)
    for name in ("my_0", "my_12", "my_19"):
        alone = fm.validate({name: rows[name]}, good.astype(int), promises=asked, confidence=1 - 0.05 / 20)
        own, other = found[name].thresholds["precision"], alone[name].thresholds["precision"]
        assert (own.cut, own.rows, own.hits, own.confidence) == (other.cut, other.rows, other.hits, 0.95)
    assert found["my_19"].thresholds["precision"].cut is not None
