"""Search runs compared query by query: in Python and by ``compare --qrels``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import ttest_rel

import fastmetrics as fm
from tests.support.program import program

QUERIES = [f"q{n}" for n in range(40)]
DOCUMENTS = [f"d{n}" for n in range(12)]
MEASURES = ["ndcg@10", "mrr", "P@3"]


def made(seed: int, skill: float) -> dict[str, dict[str, float]]:
    """A run that ranks relevant documents higher, the more so the more skill it has."""
    rng = np.random.default_rng(seed)
    return {query: {one: float(rng.normal() + skill * (one in QRELS[query])) for one in DOCUMENTS} for query in QUERIES}


RNG = np.random.default_rng(8)
QRELS = {query: {str(one): int(RNG.integers(1, 4)) for one in RNG.choice(DOCUMENTS, 3, False)} for query in QUERIES}
RUNS = {"poor": made(1, 0.0), "fair": made(2, 1.0), "good": made(3, 3.0)}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 0 {score!r} {name}" for q, docs in run.items() for d, score in docs.items()]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    lines = [f"{q} 0 {d} {grade}" for q, docs in QRELS.items() for d, grade in docs.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines))
    return ["poor.txt", "fair.txt", "good.txt", "qrels.txt"]


def test_comparison_equals_comparison_of_values_per_query():
    found = fm.results.compare_rankings(RUNS, QRELS, MEASURES, tests="fisher,t", baseline="fair", threads=1)
    ranked = {name: fm.rank(run, QRELS, MEASURES, missing="zero") for name, run in RUNS.items()}
    assert found.to_json() == fm.compare(ranked, metrics=MEASURES, tests="fisher,t", baseline="fair").to_json()
    assert (
        found.to_json()
        == fm.results.compare_rankings(RUNS, QRELS, MEASURES, tests="fisher,t", baseline="fair").to_json()
    )
    pair = next(
        one for one in found if (one.metric, one.baseline, one.other) == ("mrr", "fair", "good") and one.test == "t"
    )
    before, after = (ranked[name].per_query["mrr"].to_numpy() for name in ("fair", "good"))
    assert pair.n_paired == len(QUERIES)
    assert pair.mean_other == ranked["good"].mean["mrr"]
    assert pair.p == pytest.approx(ttest_rel(after, before).pvalue, rel=1e-9)


def test_rank_options_apply_to_every_run():
    options = {"relevance_level": 2, "depth": 2, "missing": "skip", "no_relevant": "undefined"}
    found = fm.results.compare_rankings({"a": RUNS["poor"], "b": RUNS["good"]}, QRELS, "P@3", **options)["P@3"]
    assert found.mean_baseline == fm.rank(RUNS["poor"], QRELS, "P@3", **options).mean["P@3"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_table_of_counts_has_the_missing_queries_of_each_run(names):
    """One query is missing in the first run, two in the second, whichever is the baseline."""
    lacking = {"a": 1, "b": 2}
    runs = {name: {query: RUNS["poor"][query] for query in QUERIES[lacking[name] :]} for name in names}
    found = fm.results.compare_rankings(runs, QRELS, "mrr")
    counts = dict(zip(found.grids()[1].header, found.grids()[1].rows[0], strict=True))
    assert [counts["missing base"], counts["missing other"]] == [str(lacking[name]) for name in names]
    assert (found["mrr"].n_missing_baseline, found["mrr"].n_missing_other) == tuple(lacking[name] for name in names)


def test_missing_query_in_one_run_follows_the_option():
    lacking = {query: docs for query, docs in RUNS["good"].items() if query != "q7"}
    zero = fm.results.compare_rankings({"a": RUNS["poor"], "b": lacking}, QRELS, "mrr")["mrr"]
    skip = fm.results.compare_rankings({"a": RUNS["poor"], "b": lacking}, QRELS, "mrr", missing="skip")["mrr"]
    assert (zero.n_paired, skip.n_paired, skip.n_only_baseline) == (40, 39, 1)


def test_command_compares_runs(files):
    expected = fm.results.compare_rankings(files[:-1], files[-1], MEASURES)
    assert [one.baseline for one in expected][:2] == ["poor.txt", "poor.txt"]
    arguments = ("compare", *files[:-1], "--qrels", files[-1], "-m", ",".join(MEASURES))
    done = program(*arguments)
    assert (done.code, done.out) == (0, f"{expected}\n")
    assert json.loads(program(*arguments, "--json").out) == json.loads(expected.to_json())
    assert program(*arguments, "--latex").out == expected.to_latex()
    assert program(*arguments, "--markdown").out == expected.to_markdown()
    assert "good.txt & " in expected.to_latex()
    other = fm.results.compare_rankings(files[:-1], files[-1], MEASURES, baseline="good.txt", tests="t", seed=3)
    done = program(*arguments, "--baseline", "good.txt", "--tests", "t", "--seed", "3", "--json")
    assert json.loads(done.out) == json.loads(other.to_json())


def test_files_with_equal_names_are_labelled_by_path(files, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "good.txt").write_bytes((tmp_path / "good.txt").read_bytes())
    found = fm.results.compare_rankings(["good.txt", "old/good.txt"], "qrels.txt", "mrr")["mrr"]
    assert (found.baseline, found.other, found.delta) == ("good.txt", "old/good.txt", 0.0)
