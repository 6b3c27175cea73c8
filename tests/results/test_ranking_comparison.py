"""Rankings compared query by query, and queries without a relevant document in tables and rankings."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import ttest_rel

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.results.summary import summarize
from fastmetrics.retrieval.measures import measure
from tests.support.program import program, unfolded
from tests.support.public_functions import public

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


def test_files_with_equal_names_are_labelled_by_path(files, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "good.txt").write_bytes((tmp_path / "good.txt").read_bytes())
    found = fm.results.compare_rankings(["good.txt", "old/good.txt"], "qrels.txt", "mrr")["mrr"]
    assert (found.baseline, found.other, found.delta) == ("good.txt", "old/good.txt", 0.0)


ROWS = {
    "retrieved_ids": [["a", "b"], ["c"], ["d"], ["e"]],
    "relevant_ids": [["a"], [], ["d"], ["e"]],
    "relevance": [[1], [], [0], [2]],
}
RUN = {
    f"q{place}": {doc: 9 - rank for rank, doc in enumerate(docs)} for place, docs in enumerate(ROWS["retrieved_ids"])
}
JUDGED = {
    f"q{place}": dict(zip(*row, strict=True)) or {"x": 0}
    for place, row in enumerate(zip(ROWS["relevant_ids"], ROWS["relevance"], strict=True))
}
NAMES = {
    **{"hit_rate": "success", "reciprocal_rank": "mrr", "retrieval_recall": "recall", "retrieval_precision@1": "P@1"},
    **{"retrieval_f1@2": "f1@2", "average_precision": "map", "r_precision": "Rprec", "ndcg": "ndcg"},
}


def option(spec: str, value: str) -> str:
    name, at, k = spec.partition("@")
    return f"{name}{at}{k}(no_relevant='{value}')"


@pytest.mark.parametrize("value", ["zero", "undefined"])
@pytest.mark.parametrize("name", NAMES)
def test_score_and_rank_have_equal_means_with_the_same_option(name, value):
    spec = option(name, value)
    found = summarize(fm.score(ROWS, metrics=[spec]))
    ranked = fm.rank(RUN, JUDGED, [NAMES[name]], no_relevant=value)
    assert found[spec].mean == ranked.mean[NAMES[name]]
    how = {"zero": "have no relevant document and score 0", "undefined": "are excluded from the mean"}[value]
    (note,), (other,) = found.notes, ranked.notes
    assert note.startswith(f"{spec}: 2 of 4 scored rows (50 %) have no relevant document")
    assert other.startswith(f"{NAMES[name]}: 2 of 4 queries have no relevant document")
    assert how in note
    assert how in other


def test_default_is_undefined_in_all_functions():
    assert summarize(fm.score(ROWS, metrics=["retrieval_recall"]))["retrieval_recall"].mean == 1.0
    assert fm.rank(RUN, JUDGED, "recall").mean["recall"] == 1.0
    functions = [value for value in public().values() if inspect.isfunction(value)]
    parameters = [inspect.signature(function).parameters for function in functions]
    assert {each["no_relevant"].default for each in parameters if "no_relevant" in each} == {"undefined"}


def test_retrieval_metrics_are_measures_of_the_registry():
    """One registry: each retrieval metric with names of its own has those of a family, whose formula it computes."""
    metrics = [metric for metric in REGISTRY.values() if metric.function.__module__.endswith("metrics.retrieval")]
    for metric in metrics:
        if "no_relevant" in metric.defaults:
            names = {measure(spelling.partition("@")[0]).family.names for spelling in metric.others}
            assert len(names) == 1, metric.name


def test_metrics_share_a_note_with_the_largest_count():
    (note,) = summarize(fm.score(ROWS, metrics="mrr,ndcg,recall@1")).notes
    assert note.startswith("reciprocal_rank, ndcg, retrieval_recall@1: 2 of 4 scored rows (50 %) have")
    (note,) = summarize(fm.score(ROWS, metrics="mrr,retrieval_recall(relevance_level=2)")).notes
    assert note.startswith("reciprocal_rank, retrieval_recall(relevance_level=2): up to 3 of 4 scored rows (75 %) have")


def test_no_note_if_every_query_has_a_relevant_document():
    rows = {"retrieved_ids": [["a"], ["b"], None], "relevant_ids": [["a"], ["c"], []]}
    assert list(summarize(fm.score(rows, metrics="mrr,ndcg@1")).notes) == []
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, "ndcg").notes == []


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.parametrize("value", ["zero", "undefined"])
def test_global_option_applies_to_metrics_without_their_own(value):
    other = {"zero": "undefined", "undefined": "zero"}[value]
    for spec in NAMES:
        asked = [spec, option(spec, value), option(spec, other)]
        found = fm.score(ROWS, metrics=asked, no_relevant=value)
        assert found[spec].to_pylist()[1] == (0.0 if value == "zero" else pytest.approx(float("nan"), nan_ok=True))
        assert str(found[spec].to_pylist()) == str(found[option(spec, value)].to_pylist())
        assert str(found[option(spec, other)].to_pylist()) == str(fm.score(ROWS, asked[2:])[asked[2]].to_pylist())
    suite = fm.score(ROWS, suites="retrieval", no_relevant=value)
    for name in ("reciprocal_rank", "ndcg"):
        assert str(suite[name].to_pylist()) == str(fm.score(ROWS, [option(name, value)])[0].to_pylist())


def test_note_names_the_treatment_and_the_column():
    told = {}
    for value in (None, "zero", "undefined"):
        (told[value],) = summarize(fm.score(ROWS, metrics="mrr,ndcg@1", no_relevant=value)).notes
        assert told[value].startswith(
            "reciprocal_rank, ndcg@1: 2 of 4 scored rows (50 %) have no relevant document and "
        )
    assert told[None] == told["undefined"] != told["zero"]
    assert "score 0; no_relevant='undefined' (--no-relevant undefined) excludes" in told["zero"]
    both = summarize([fm.score(ROWS, metrics="mrr", no_relevant=value) for value in ("zero", "undefined")]).notes
    assert [note.split(" have ")[0] for note in both] == ["reciprocal_rank: 2 of 4 scored rows (50 %)"] * 2


@pytest.mark.parametrize("output", ["out.parquet", "out.csv", "out.jsonl", "out.arrow", "out/"])
def test_command_and_score_of_files_accept_no_relevant(table, output):
    done = program("score", "in.jsonl", "-o", output, "-m", "mrr,recall@1", "--no-relevant", "zero")
    assert (done.code, done.err) == (0, "")
    (note,) = json.loads(program("summarize", output, "--json").out)["notes"]
    assert "score 0" in note
    assert note in unfolded(done.out)
    made = fm.score("in.jsonl", output="again.parquet", metrics="mrr,recall@1", no_relevant="zero").summary
    assert made["reciprocal_rank"].mean == summarize(output)["reciprocal_rank"].mean == 0.5
    assert list(made.notes) == [note]


def test_differing_files_are_noted(table):
    assert program("score", "in.jsonl", "-o", "o.csv", "--no-relevant", "skip").code == 2
    for value in ("zero", "undefined"):
        fm.score("in.jsonl", output=f"{value}.parquet", metrics="mrr", no_relevant=value)
    fm.score("in.jsonl", output="usual.parquet", metrics="mrr")
    notes = fm.summarize(["undefined.parquet", "usual.parquet", "zero.parquet"]).notes
    assert "scores.reciprocal_rank.no_relevant is 'undefined' in undefined.parquet, 'zero' in zero.parquet" in notes


def test_profile_accepts_no_relevant(table):
    assert list(fm.scoring.profile("in.jsonl", metrics="mrr", no_relevant="zero").metrics) == ["reciprocal_rank"]
    done = program("profile", "in.jsonl", "-m", "mrr", "--no-relevant", "undefined", "--json")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict])
def test_tables_under_their_own_names(kind):
    names = {"query_id": "запрос", "doc_id": "документ", "score": "балл", "relevance": "оценка"}
    rows = {"запрос": ["a", "a", "b"], "документ": [1, 2, 3], "балл": [1.0, 2.0, 3.0]}
    judged = kind({"запрос": ["a", "b"], "документ": [1, 3], "оценка": [1, 2]})
    assert fm.rank(kind(rows), judged, metrics="mrr", columns=names).mean == {"mrr": 0.75}
    if kind is pd.DataFrame:
        for index in ("запрос", ["документ", "запрос"]):
            assert fm.rank(kind(rows).set_index(index), judged.set_index(index), "mrr", columns=names).mean == {
                "mrr": 0.75
            }
        usual = kind({"query_id": ["a", "b"], "doc_id": [2, 3]}, index=pd.Index([8, 9], name="topic"))
        for frame in (usual, usual.set_index("query_id")):
            assert fm.rank(frame, judged, "mrr", columns=names).mean == {"mrr": 0.5}
    runs = {"old": kind(rows), "new": kind({**rows, "балл": [2.0, 1.0, 3.0]})}
    assert fm.results.compare_rankings(runs, judged, metrics="mrr", columns=names)["mrr"].delta == 0.25
    with pytest.raises(ColumnError, match="name yours with columns="):
        fm.rank(kind(rows), judged)
    with pytest.raises(UnknownNameError, match="unknown column 'passages'"):
        fm.rank(kind(rows), judged, columns={"passages": "документ"})


@pytest.mark.parametrize(("changed", "unlike"), [(4, False), (6, True), (9, False)])
def test_an_interval_that_does_not_agree_with_p_is_noted(changed, unlike):
    names = ("token_f1", "chrf", "rougeL_f1")  # the main metric, and two whose p values are corrected together
    old = {"id": list(range(40)), **dict.fromkeys(names, [0.2] * 40)}
    scores = [0.2 + 0.05 * (n % 3 + 1) * (n < changed) for n in range(40)]
    new = old | dict.fromkeys(names, scores)
    found = fm.compare({"old": old, "new": new})
    assert ((found["token_f1"].low > 0) != (found["token_f1"].p <= 0.05)) is unlike
    assert (found["chrf"].p <= 0.05 < found["chrf"].p_corrected) is unlike
    assert ("new is better than old" in found.headline) is (found["token_f1"].p <= 0.05)
    said = [note for note in found.notes if getattr(note, "id", "") == "disagree"]
    assert [str(note).partition(" on ")[0] for note in said] == ["token_f1: the interval and p disagree"] * unlike
    assert all(note.endswith("the verdict follows p") for note in said)
