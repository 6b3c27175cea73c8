"""Comparisons beyond one look at paired rows: sequences of looks, independent runs, margins of equivalence."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import fastmetrics as fm
from tests.support.program import program

N = 120


def run(seed, shift=0.0, first_id=0, n=N):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(9).random(n)
    scores = np.clip(base * 0.8 + shift + rng.normal(0, 0.05, n), 0, 1)
    return pa.table(
        {
            "id": np.arange(first_id, first_id + n),
            "token_f1": scores,
            "latency_ms": rng.exponential(size=n),
            "language": ["ru", "en", "en"] * (n // 3),
            "document": [f"d{row // 4}" for row in range(n)],
        }
    )


def test_unpaired_runs_are_independent_samples():
    a, b = run(1), run(2, 0.05, first_id=1_000, n=90)
    compared = fm.compare({"a": a, "b": b}, metrics="token_f1", pairing="none", by="language")
    x, y = a["token_f1"].to_numpy(), b["token_f1"].to_numpy()
    theirs = stats.ttest_ind(y, x, equal_var=False)
    welch = compared["token_f1"]
    assert (welch.p, welch.delta) == pytest.approx((theirs.pvalue, y.mean() - x.mean()))
    assert (welch.low, welch.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert (welch.n_paired, welch.n_only_baseline, welch.n_only_other) == (0, 120, 90)
    segments = {one.segment: one for one in compared}
    english = [side.filter(pa.compute.equal(side["language"], "en"))["token_f1"].to_numpy() for side in (a, b)]
    assert segments["language=en"].p == pytest.approx(stats.ttest_ind(*english, equal_var=False).pvalue)
    assert "independent rows: a 120, b 90" in compared.notes


def test_clusters_of_unpaired_runs_widen_the_interval():
    a, b = run(1), run(2, 0.05, first_id=1_000)
    plain, clustered = (
        fm.compare([a, b], metrics="token_f1", pairing="none", tests="welch", cluster=cluster)["token_f1"]
        for cluster in (None, "document")
    )
    assert clustered.n_clusters == 60
    assert clustered.low != plain.low
    by_interval = fm.compare([a, b], metrics="token_f1", pairing="none", cluster="document")["token_f1"]
    assert (by_interval.p <= 0.05) == (not by_interval.low <= 0 <= by_interval.high)


def test_margin_tells_equivalent_from_undecided():
    a, same, more = run(1), run(2), run(3, 0.06)
    alike = fm.compare({"a": a, "b": same}, metrics="token_f1", margin=0.05)
    assert alike.verdict(alike["token_f1"]) == "equivalent"
    few = fm.compare({"a": a.slice(0, 4), "b": same.slice(0, 4)}, metrics="token_f1", margin=0.05)
    assert few.verdict(few["token_f1"]) == "–"
    better = fm.compare({"a": a, "b": more}, metrics="token_f1", margin=0.05)
    assert better.verdict(better["token_f1"]) == "better"
    assert better["token_f1"].p_not_worse < 0.05 < better["token_f1"].p_equivalent
    lower = fm.compare({"a": a, "b": more}, metrics="token_f1", margin=0.05, better={"token_f1": "lower"})
    assert lower["token_f1"].p_not_worse > 0.5
    assert fm.compare({"a": a, "b": same}, metrics="token_f1")["token_f1"].p_equivalent is None
    differences = same["token_f1"].to_numpy() - a["token_f1"].to_numpy()
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    assert (alike["token_f1"].p_equivalent <= 0.05) == (-0.05 < low < high < 0.05)


def test_command_equals_function(tmp_path):
    paths = []
    for name, table in (("a", run(1)), ("b", run(2, 0.1)), ("c", run(3, 0.1, first_id=1_000))):
        paths.append(str(tmp_path / f"{name}.parquet"))
        pq.write_table(table, paths[-1])
    for options, named, runs in (
        (["--interval", "percentile"], {"interval": "percentile"}, paths[:2]),
        (["--margin", "0.05"], {"margin": 0.05}, paths[:2]),
        (["--pairing", "none"], {"pairing": "none"}, [paths[0], paths[2]]),
    ):
        printed = json.loads(program("compare", *runs, "-m", "token_f1", *options, "--json").out)
        assert printed == json.loads(fm.compare(runs, metrics="token_f1", **named).to_json())
    assert "with --pairing none" in program("compare", paths[0], paths[2]).err


def test_a_ranking_of_clusters_is_that_of_rows_that_occur_once():
    """Rows that occur ten times, as clusters, tell as much about three systems as each row once."""
    once = {f"r{seed}": run(seed, 0.01 * seed, n=30) for seed in range(3)}
    rows = np.repeat(np.arange(30), 10)
    often = {
        name: table.take(rows).set_column(0, "id", pa.array(range(300))).set_column(4, "document", pa.array(rows))
        for name, table in once.items()
    }
    options = {"metrics": "token_f1", "resamples": 500}
    [expected], [ranking] = (
        fm.compare(once, **options).rankings,
        fm.compare(often, cluster="document", **options).rankings,
    )
    assert np.array(ranking.p) == pytest.approx(np.array(expected.p), abs=0.05)
    assert ranking.systems == expected.systems
