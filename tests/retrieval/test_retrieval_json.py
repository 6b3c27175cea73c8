"""JSON that is no run and no judgements: each says what was expected, and where."""

from __future__ import annotations

import json

import pytest

import fastmetrics as fm

RECORD = {"qid": "q1", "docid": "d1"}


@pytest.mark.parametrize("text", ["[]", "[\n]\n", "{}", '{"q1": {}}'])
def test_empty_json_is_an_empty_run_without_judgements(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    assert fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}}, "mrr", missing="zero").mean == {"mrr": 0.0}


def test_mixed_types_of_ids_and_numbers_are_accepted(tmp_path):
    records = [{"qid": "q1", "docid": 7, "score": 2**70}, {"qid": 1, "docid": "d", "score": 0.5}, {"x": 1, **RECORD}]
    records[2]["score"] = 1
    (tmp_path / "r.json").write_text(json.dumps(records))
    found = fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}, "1": {"d": 1}}, "mrr")
    assert found.per_query.to_pydict() == {"query_id": ["q1", "1"], "mrr": [0.5, 1.0]}
    assert fm.rank({"q1": {"a": 2**70, "d1": 0.5}}, {"q1": {"d1": 1}}, "mrr").mean == {"mrr": 0.5}


def test_a_query_goes_on_in_a_file_with_other_types_of_ids(tmp_path):
    for name, doc in (("a", 7), ("b", "d1"), ("c", "d2")):
        (tmp_path / f"{name}.json").write_text(json.dumps([{**RECORD, "docid": doc, "score": 1 if doc == 7 else 2}]))
    (tmp_path / "d.trec").write_text("q1 Q0 d3 1 3.0 t\n")
    assert fm.rank(tmp_path, {"q1": {"7": 1}}, "mrr").mean == {"mrr": 0.25}


@pytest.mark.parametrize("grade", [float("inf"), -float("inf")])
def test_non_finite_grades_raise(grade):
    assert fm.rank({"q1": {"d1": -grade, "d2": 0}}, {"q1": {"d1": 1}}, "mrr").n == {"mrr": 1}
