"""Means of a column that few rows have, drawn with known probabilities: summaries, comparisons, gates, reports."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import fastmetrics as fm
from fastmetrics.stats.sampled_means import SampledMean, stand_ins

N, NAN = 600, math.nan


def made(seed=0, n=N, shift=0.0):
    """A table of which a third of the rows has a dear score, drawn with two probabilities; and all dear scores."""
    rng = np.random.default_rng(seed)
    cheap = rng.random(n)
    dear = 0.2 + 0.5 * cheap + shift + np.clip(rng.normal(0, 0.1, n), -0.2, 0.2)
    share = np.where(np.arange(n) % 2, 0.5, 0.2)
    drawn = np.random.default_rng(1).random(n) < share
    table = pa.table(
        {
            "id": [f"q{row:04}" for row in range(n)],
            "token_f1": cheap,
            "language": ["en" if row % 3 else "ru" for row in range(n)],
            "session": [f"s{row // 4}" for row in range(n)],
            "dear": pa.array(np.where(drawn, dear, NAN), from_pandas=True),
            "dear_inclusion": pa.array(np.where(drawn, share, NAN), from_pandas=True),
            "dear_predicted": 0.1 + 0.9 * cheap,
        }
    )
    return table, dear


def columns(table):
    return [np.array(table[name].to_pylist(), np.float64) for name in ("dear", "dear_inclusion", "dear_predicted")]


def oracle(scores, shares, predicted):
    """The estimate and its standard error row by row, by the formulas of the docs."""
    rows = list(zip(scores, shares, predicted, strict=True))
    drawn = [(y, 1 / p, f) for y, p, f in rows if not math.isnan(p)]
    total = sum(w for _, w, _ in drawn)
    scored = sum(w for y, w, _ in drawn if not math.isnan(y))
    mean = sum(w * y for y, w, _ in drawn if not math.isnan(y)) / scored
    expected = sum(w * f for _, w, f in drawn) / total
    z = [0.0 if math.isnan(y) else y - mean for y, _, _ in drawn]
    lam = sum(w * (w - 1) * one * (f - expected) for one, (_, w, f) in zip(z, drawn, strict=True))
    lam /= sum(w * (w - 1) * (f - expected) ** 2 for _, w, f in drawn)
    lam = min(max(lam, 0), 1)
    stands = []
    for y, p, f in rows:
        one = lam * (f - expected)
        if not math.isnan(p):
            one += ((0.0 if math.isnan(y) else y - mean) - lam * (f - expected)) / p
        stands.append(mean + one * total / scored)
    value, n = sum(stands) / len(stands), sum(not math.isnan(y) for y, _, _ in drawn)
    error = math.sqrt(sum((one - value) ** 2 for one in stands) * n / (n - 2)) / len(stands)
    spread = sum(w * (y - mean) ** 2 for y, w, _ in drawn if not math.isnan(y)) / scored
    return value, error, spread * n / (n - 1) / error**2


@pytest.mark.parametrize("lost", [(), (3, 4, 5, 6, 7, 8)], ids=["all", "some without a score"])
def test_estimate_equals_the_definition(lost):
    table, _ = made()
    scores, shares, predicted = columns(table)
    scores[[np.flatnonzero(~np.isnan(shares))[row] for row in lost]] = NAN
    value, error, random = oracle(scores.tolist(), shares.tolist(), predicted.tolist())
    found = SampledMean.of(scores, shares, predicted, None, None)
    assert (found.value, found.spread.error, found.n_random()) == pytest.approx((value, error, random), rel=1e-12)
    assert (found.n, found.n_failed) == ((~np.isnan(scores)).sum(), len(lost))
    interval = found.interval(0.9, "t")
    reach = stats.t.ppf(0.95, found.spread.freedom) * error
    assert (interval.low, interval.high) == pytest.approx((value - reach, value + reach), rel=1e-9)


def test_equal_probabilities_are_ppi_plus_plus():
    """θ = λ·mean(f over all) + mean(y − λ·f over drawn), with the λ of PPI++; a whole column is its plain mean."""
    rng = np.random.default_rng(3)
    f = rng.normal(0, 1, 500)
    y = np.where(np.arange(500) < 100, 0.7 * f + rng.normal(0, 0.5, 500), NAN)
    shares = np.where(np.arange(500) < 100, 0.2, NAN)
    lam = np.cov(y[:100], f[:100])[0, 1] / f[:100].var(ddof=1)
    assert stand_ins(y, shares, f).mean() == pytest.approx(lam * f.mean() + (y[:100] - lam * f[:100]).mean(), rel=1e-12)
    whole = rng.random(50)
    assert stand_ins(whole, np.ones(50), np.zeros(50)) == pytest.approx(whole, rel=1e-12)


def test_one_small_simulation_holds_its_level(full):
    trials, held, lost = 2000 if full else 60, 0, 0
    rng = np.random.default_rng(11)
    cheap = rng.random(3000)
    flags = (rng.random(3000) < cheap**3).astype(float)
    rows = pa.table({"id": range(3000), "token_f1": cheap})
    for seed in range(trials):
        sample = fm.sample(rows, budget=100, for_="good", using="token_f1", seed=seed)
        known = pa.array(flags[np.array(sample["id"])] == 1)
        [one] = fm.results.summarize_by(fm.with_sample(rows, sample.append_column("good", known)), metrics="good").means
        held += one.low <= flags.mean() <= one.high
        lost += one.high - one.low
    assert (0.935 if full else 0.88) < held / trials
    assert lost / trials < 2 * 1.96 * flags.std() / 10  # a random sample of 100


def test_summary_has_the_estimate_and_counts_what_was_not_drawn():
    table, dear = made()
    found = fm.summarize(table)
    value, _, random = oracle(*(column.tolist() for column in columns(table)))
    one, n = found["dear"], table.num_rows - table["dear"].null_count
    assert (one.mean, one.n, one.n_missing, one.n_not_drawn) == (pytest.approx(value), n, 0, N - n)
    assert abs(one.mean - dear.mean()) < 0.02
    assert list(found.metrics) == ["token_f1", "dear"]
    assert f"{n} of 600 rows" in " ".join(found.notes)
    assert f"{random:,.0f} random rows" in " ".join(found.notes)
    parts = fm.summarize([table.slice(0, 250), table.slice(250)])
    assert (parts["dear"].mean, parts["dear"].n_not_drawn) == (pytest.approx(one.mean, rel=1e-12), N - n)


def test_segments_are_estimates_of_their_own_rows():
    table, _ = made()
    none = pa.array(
        [
            "none" if share is None and row % 2 else "some"
            for row, share in enumerate(table["dear_inclusion"].to_pylist())
        ]
    )
    table = table.append_column("kind", none)
    found = {one.segment: one for one in fm.results.summarize_by(table, by="language", metrics="dear")}
    for segment in ("en", "ru"):
        own = table.filter(pa.compute.equal(table["language"], segment))
        value, error, _ = oracle(*(column.tolist() for column in columns(own)))
        one = found[f"language={segment}"]
        assert one.mean == pytest.approx(value, rel=1e-12)
        assert 1.9 * error < (one.high - one.low) / 2 < 2.3 * error
        assert one.n == own.num_rows - own["dear"].null_count
    kinds = {one.segment: one for one in fm.results.summarize_by(table, by="kind", metrics="dear")}
    empty = kinds["kind=none"]
    assert (empty.n, math.isnan(empty.mean), math.isnan(empty.low), empty.interval_note) == (
        0, True, True, "no interval: no row with a score was drawn here"
    )  # fmt: skip


def test_clusters_move_together():
    table, _ = made()
    stands = stand_ins(*columns(table))
    sums = (stands - stands.mean()).reshape(-1, 4).sum(axis=1)
    clusters = SampledMean.of(*columns(table), np.repeat(np.arange(N // 4), 4), None)
    assert clusters.spread.error == pytest.approx(math.sqrt((sums**2).sum() * 150 / 148) / N, rel=1e-12)
    [one] = fm.results.summarize_by(table, metrics="dear", cluster="session")
    assert (one.n_clusters, one.mean) == (150, pytest.approx(stands.mean()))


@pytest.mark.parametrize("whole", [None, "old", "new"])
def test_a_difference_is_of_what_rows_stand_for(whole):
    """Of which a run may have all scores; the rows drawn in both tell the degrees of freedom and the random rows."""
    made_of = {"old": made(), "new": made(seed=5, shift=0.1)}
    drawn, runs, stands = np.array(made_of["old"][0]["dear_inclusion"].to_pylist(), np.float64), {}, {}
    for name, (table, dear) in made_of.items():
        stands[name] = dear if name == whole else stand_ins(*columns(table))
        if name == whole:
            table = table.drop_columns(["dear_inclusion", "dear_predicted"]).set_column(4, "dear", pa.array(dear))
        runs[name] = table
    off = stands["new"] - stands["old"]
    runs["new"] = runs["new"].take(pa.array(range(N)[::-1]))
    found = fm.compare(runs, metrics="dear", by="language", cluster=None)
    one, has = found["dear"], ~np.isnan(drawn)
    n = has.sum()
    assert (one.delta, one.n_paired, one.wins) == (pytest.approx(off.mean(), rel=1e-9), n, None)
    squares = (off - off.mean()) ** 2
    groups = [squares[some] for some in (drawn == 0.2, drawn == 0.5, ~has)]
    freedom = squares.sum() ** 2 / sum(group.sum() ** 2 / (len(group) - 1) for group in groups)
    error = off.std() * math.sqrt(n / (n - 2)) / math.sqrt(N)
    assert 1.9 * error < (one.high - one.low) / 2 < 2.1 * error
    assert one.p == pytest.approx(2 * stats.t.sf(abs(one.delta) / error, freedom), rel=1e-6, abs=0)
    assert found.verdict(one) == "higher"
    change, weights = (made_of["new"][1] - made_of["old"][1])[has], 1 / drawn[has]
    mean = (weights * change).sum() / weights.sum()
    random = (weights * (change - mean) ** 2).sum() / weights.sum() * n / (n - 1) / error**2
    said = " ".join(found.remarks())
    assert f"dear, new − old: estimated from {n} of 600 rows" in said
    assert f"{random:,.0f} random rows" in said
    assert "without a score" not in said
    tongues = np.array(runs["old"]["language"].to_pylist())
    assert {pair.n_paired for pair in found if pair.segment} == {
        (has & (tongues == name)).sum() for name in ("en", "ru")
    }


def test_gates_read_the_estimate_and_count_failed_rows_alone_as_the_worst():
    table, _ = made()
    scores, shares, predicted = columns(table)
    failed = np.flatnonzero(~np.isnan(shares))[:10]
    scores[failed] = NAN
    table = table.set_column(4, "answer_rate", pa.array(scores, from_pandas=True)).rename_columns(
        [*table.column_names[:4], "token_recall", "token_recall_inclusion", "token_recall_predicted"]
    )
    as_worst = scores.copy()
    as_worst[failed] = 0.0
    expected = {"": as_worst, " with unpaired=ignore": scores}
    for ending, values in expected.items():
        value = stand_ins(values, shares, predicted).mean()
        found = fm.gate(table, [f"token_recall >= {value - 1e-6}{ending}", f"token_recall <= {value + 1e-6}{ending}"])
        assert found.passed
        assert [check.n for check in found] == [N - np.isnan(scores).sum()] * 2
    other, _ = made(seed=5, shift=0.1)
    names = [*other.column_names[:4], "token_recall", "token_recall_inclusion", "token_recall_predicted"]
    other = other.rename_columns(names)
    delta = (stand_ins(as_worst, shares, predicted) - stand_ins(*(columns(made(seed=5, shift=0.1)[0])))).mean()
    found = fm.gate(
        table,
        [f"token_recall.drop.point <= {1e-6 - delta}", f"token_recall.drop.point >= {-1e-6 - delta}"],
        baseline=other,
    )
    assert found.passed


def test_a_report_shows_the_estimate(tmp_path):
    table, _ = made()
    fm.report(table, output=tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"{stand_ins(*columns(table)).mean():.4f}" in page
    assert "drawn with known probabilities" in page
