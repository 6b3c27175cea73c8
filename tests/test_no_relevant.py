"""Queries without a relevant document: counted alike by tables and runs, by one option, and told where the mean is."""

import json

import pytest

import fastmetrics as fm
from fastmetrics.results.summary import summarize
from tests.program import program

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
    "precision@1": "P@1",
    "f1@2": "f1@2",
    "average_precision": "map",
    "r_precision": "Rprec",
    "ndcg": "ndcg",
}


def option(spec: str, value: str) -> str:
    name, at, k = spec.partition("@")
    return f"{name}(no_relevant='{value}'){at}{k}"


@pytest.mark.parametrize("value", ["zero", "undefined"])
@pytest.mark.parametrize("name", NAMES)
def test_tables_and_runs_have_one_mean_under_one_option(name, value):
    spec = option(name, value)
    found = summarize(fm.score(ROWS, metrics=[spec]))
    ranked = fm.rank(RUN, JUDGED, [NAMES[name]], no_relevant=value)
    assert found[spec].mean == ranked.mean[NAMES[name]]
    how = {"zero": "have no relevant document and count as 0", "undefined": "are left out of the mean"}[value]
    (note,), (other,) = found.notes, ranked.notes
    assert note.startswith(f"{spec}: 2 of 4 scored rows (50 %) have no relevant document")
    assert other.startswith(f"{NAMES[name]}: 2 of 4 queries have no relevant document")
    assert how in note
    assert how in other


def test_tables_leave_them_out_and_runs_count_them_unless_told_otherwise():
    assert summarize(fm.score(ROWS, metrics=["retrieval_recall"]))["retrieval_recall"].mean == 1.0
    assert fm.rank(RUN, JUDGED, "recall").mean["recall"] == 0.5


def test_metrics_share_a_note_and_levels_have_their_own_count():
    (note,) = summarize(fm.score(ROWS, metrics="mrr,ndcg,recall@5")).notes
    assert note.startswith("mrr, ndcg, recall@5: 2 of 4 scored rows (50 %) have")
    (note,) = summarize(fm.score(ROWS, metrics="mrr,retrieval_recall(relevance_level=2)")).notes
    assert note.startswith("mrr, retrieval_recall(relevance_level=2): up to 3 of 4 scored rows (75 %) have")


def test_nothing_is_said_where_each_query_has_one():
    rows = {"retrieved_ids": [["a"], ["b"], None], "relevant_ids": [["a"], ["c"], []]}
    assert list(summarize(fm.score(rows, metrics="mrr,ndcg@10")).notes) == []
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}).notes == []


def test_both_commands_say_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "qrels.json").write_text(json.dumps(JUDGED))
    done = program("score", "in.jsonl", "-o", "out.parquet", "-m", "mrr,recall_at_k")
    assert done.out.count("2 of 4 scored rows (50 %) have no relevant document and are left out of the mean") == 1
    done = program("rank", "run.json", "qrels.json", "-m", "mrr,recall")
    assert done.out.count("mrr, recall: 2 of 4 queries have no relevant document and count as 0") == 1
    told = json.loads(program("rank", "run.json", "qrels.json", "-m", "mrr", "--json").out)
    assert [len(result["notes"]) for result in told.values()] == [1]


def test_a_value_that_is_none_is_refused():
    with pytest.raises(fm.errors.OptionError, match="no_relevant"):
        fm.score(ROWS, metrics=["retrieval_recall(no_relevant='skip')"])
