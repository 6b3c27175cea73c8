"""Queries without a relevant document: counted alike by tables and runs, by one option, and told where the mean is."""

import inspect
import json

import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.results.summary import summarize
from fastmetrics.retrieval.measures import measure
from tests.support.program import program, unfolded
from tests.support.public_functions import public

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
    "hit_rate": "success",
    "reciprocal_rank": "mrr",
    "retrieval_recall": "recall",
    "retrieval_precision@1": "P@1",
    "retrieval_f1@2": "f1@2",
    "average_precision": "map",
    "r_precision": "Rprec",
    "ndcg": "ndcg",
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


def test_score_and_rank_commands_print_the_note(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "qrels.json").write_text(json.dumps(JUDGED))
    done = program("score", "in.jsonl", "-o", "out.parquet", "-m", "mrr,recall_at_k")
    assert (
        unfolded(done.out).count("2 of 4 scored rows (50 %) have no relevant document and are excluded from the mean")
        == 1
    )
    done = program("rank", "run.json", "qrels.json", "-m", "mrr,recall")
    assert unfolded(done.out).count("mrr, recall: 2 of 4 queries have no relevant document and are excluded") == 1
    done = program("rank", "run.json", "qrels.json", "-m", "mrr,recall", "--no-relevant", "zero")
    assert unfolded(done.out).count("mrr, recall: 2 of 4 queries have no relevant document and score 0") == 1
    told = json.loads(program("rank", "run.json", "qrels.json", "-m", "mrr", "--json").out)
    assert [len(result["notes"]) for result in told.values()] == [1]


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
    assert "score 0; no_relevant='undefined' excludes them" in told["zero"]
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


def test_invalid_values_raise_and_differing_files_are_noted(table):
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
