"""JSON that is no run and no judgements: each says what was expected, and where."""

from __future__ import annotations

import json

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from tests.support.program import program

RECORD = {"qid": "q1", "docid": "d1"}
NESTED = "expected {{query: {{document: {kind}}}}}, {{query: [documents]}}"
FORM = NESTED + " or a list of objects with query, document and {kind}"
LINES = "; or expected {{query: {{document: {kind}}}}}"
PAIR = ", query 'q1', document 'd1': expected a number that a float64 holds, got "
NUMBER = ", from row 0: expected the {kind} as a number: Failed to parse string: "
ID = ": expected a string or a whole number, got "
MISSING = ": no column query_id or qid or query or q_id or topic or topic_id among "
NOT_RUNS = {
    "[1, 2]": FORM + "; item 0 is the number 1",
    '["q1", "q2"]': FORM + "; item 0 is the string 'q1'",
    "[[]]": FORM + "; item 0 is a list",
    "[null]": FORM + "; item 0 is null",
    json.dumps([{**RECORD, "score": 1}, 5]): ", record 2: expected a JSON object, got the number 5",
    json.dumps([{**RECORD, "score": 1}] * 2)[:-9]: ", record 2: the document ends within this record",
    '{"q1": {"d1": 1}, "q2": 7}': FORM + "; query 'q2' holds the number 7",
    '{"q1": {"d1": 1}, "q2": null}': FORM + "; query 'q2' holds null",
    '{"q1": {"d1": 1}, "q2": [["d1"]]}': FORM + "; query 'q2' holds a list",
    '{"q1": {"d1": 1}, "\\ud800": "d1"}': FORM + "; query '\ufffd' holds the string 'd1'",
    '{"q1": {"d1": 1}}\n{"q2": {"d1": 1}}': ": malformed JSON: Extra data: line 2 column 1 (char 18); " + FORM,
    "{": ": malformed JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); " + FORM,
    "[" * 100_000: FORM,
    '{"a":' * 5_000: FORM,
    '{"q1": {"d1": "x"}}': PAIR + "the string 'x'",
    '{"q1": {"d1": "1"}}': PAIR + "the string '1'",
    '{"q1": {"d1": [1]}}': PAIR + "a list",
    '{"q1": {"d1": {"d2": 1}}}': PAIR + "an object",
    '{"q1": {"d1": 1' + "0" * 400 + "}}": PAIR + "a whole number of 1,329 bits",
    '{"q1": {"d1": null}}': ", row 0: the {kind} is null",
    '{"q1": {"d1": NaN}}': ", row 0: the {kind} is not a number",
    '{"q1": 5}': MISSING + "'q1'" + LINES,
    '{"q1": ["d1", null]}': MISSING + "'q1'" + LINES,
    '{"q1": null}\n{"q2": null}': MISSING + "'q1', 'q2'" + LINES,
    "[{}]": MISSING + "none",
    '[{"question": 1}]': MISSING + "'question'",
    json.dumps([{**RECORD, "score": [1]}, {**RECORD, "score": 2}]): NUMBER + "'[1]'",
    json.dumps([{**RECORD, "score": "x"}, {**RECORD, "score": 2}]): NUMBER + "'x'",
    json.dumps([{**RECORD, "docid": ["d1"], "score": 1}]): ", record 1, column 'docid'" + ID + "a list",
    json.dumps([{**RECORD, "qid": 1.5, "score": 1}]): ", record 1, column 'qid'" + ID + "the number 1.5",
    json.dumps([{"docid": "d1", "qid": None, "score": 1}]): ", row 0: the query is null",
    json.dumps([{**RECORD, "score": None}]): ", row 0: the {kind} is null",
    json.dumps({**RECORD, "score": None}): ", row 0: the {kind} is null",
    "5": "line 1: expected a line",
    '"text"': "line 1: expected a line",
    "null": "line 1: expected a line",
}


@pytest.mark.parametrize("kind", ["score", "grade"])
@pytest.mark.parametrize("text", NOT_RUNS, ids=lambda text: text[:40])
def test_invalid_json_run_error_names_the_expected_form(tmp_path, text, kind):
    path, other = tmp_path / "r.json", tmp_path / "other"
    path.write_text(text)
    other.write_text("q1 Q0 d1 1 1.0 t\n" if kind == "grade" else "q1 0 d1 1\n")
    done = program("rank", *((path, other) if kind == "score" else (other, path)))
    assert done.code == 3
    assert done.err.startswith(f"error: {path}")
    assert NOT_RUNS[text].format(kind=kind) in done.err
    assert len(done.err) < 600
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("text", ["[]", "[\n]\n", "{}", '{"q1": {}}'])
def test_empty_json_is_an_empty_run_without_judgements(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    assert fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}}, "mrr", missing="zero").mean == {"mrr": 0.0}
    with pytest.raises(InputError, match=r"r\.json: the file has no judgements"):
        fm.rank({"q1": {"d1": 1}}, tmp_path / "r.json", "mrr")


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
    with pytest.raises(InputError, match="judgements, row 1: the grade is infinite"):
        fm.rank({"q1": {"d1": 1}}, {"q1": {"d1": 1, "d2": grade}}, "ndcg")
    assert fm.rank({"q1": {"d1": -grade, "d2": 0}}, {"q1": {"d1": 1}}, "mrr").n == {"mrr": 1}


@pytest.mark.parametrize("key", ["qid", "docid"])
@pytest.mark.parametrize("value", [True, False, 1.0, ["a"], {}])
def test_record_ids_must_be_strings_or_integers(tmp_path, key, value):
    (tmp_path / "r.json").write_text(json.dumps([{**RECORD, "score": 1}, {**RECORD, "score": 1, key: value}]))
    expected = rf"r\.json, record 2, column '{key}': expected a string or a whole number, got "
    with pytest.raises(InputError, match=expected):
        fm.rank(tmp_path / "r.json", {"q1": {"d1": 1}}, "mrr")
