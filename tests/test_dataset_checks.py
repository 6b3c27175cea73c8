"""What is wrong with a data set: each fault planted alone, and clean rows left alone."""

import json

import pytest

import fastmetrics as fm
from fastmetrics.errors import ColumnError
from tests.program import jsonl, program

LONG = " ".join(["word"] * 25)
GOOD = {
    "id": "1",
    "question": "How long may I return a kettle?",
    "answer": f"{LONG}.",
    "reference": ["30 days", "Within 30 days of delivery."],
    "contexts": ["Returns within 30 days of delivery.", " "],
    "answerable": True,
}
OTHER = {**GOOD, "id": "2", "question": "What does it cost?"}
FAULTS = {
    "doubled id": ({"id": "1"}, 2),
    "duplicate": ({"question": " how long  may i RETURN a kettle?"}, 1),
    "reference in question": ({"question": "Is it within 30 days OF delivery. or so?"}, 1),
    "answer is context": ({"answer": "Returns  within 30 days of delivery."}, 1),
    "empty contexts": ({"contexts": [" ", "\n"]}, 1),
    "answer cut off": ({"answer": f"{LONG} and then"}, 1),
    "other script": ({"answer": "В течение тридцати дней."}, 1),
    "contradicting labels": ({"question": GOOD["question"], "answerable": False}, 2),
}


def counts(rows, **options):
    return {one.check: one.rows for one in fm.check_dataset(rows, **options).findings}


def test_good_rows_are_left_alone():
    assert counts([GOOD, OTHER]) == dict.fromkeys(FAULTS, 0)
    assert fm.check_dataset([GOOD, OTHER]).clean
    short = {**OTHER, "answer": "30 days", "contexts": ["30 days"], "reference": "cost"}
    assert counts([GOOD, short]) == dict.fromkeys(FAULTS, 0)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_fault_is_found_and_no_other(name, place):
    change, rows = FAULTS[name]
    table = [GOOD, OTHER]
    table.insert(place, {**OTHER, "id": "3", "question": "And what else?", **change})
    found = fm.check_dataset(table)
    expected = dict.fromkeys(FAULTS, 0) | {name: rows}
    if name == "contradicting labels":
        expected["duplicate"] = 1
    assert {one.check: one.rows for one in found.findings} == expected
    [(numbers, _)] = next(one for one in found.findings if one.check == name).examples
    assert place in numbers or name == "duplicate"
    assert not found.clean


def test_labels_of_any_type_and_rows_without_values():
    rows = [{"question": "a", "verdict": [1]}, {"question": "A", "verdict": [2]}, {"question": None, "verdict": None}]
    assert counts(rows, labels="verdict") == {"duplicate": 1, "contradicting labels": 2}
    assert counts(rows) == {"duplicate": 1}
    empty = {"question": [None, None], "answer": [None, ""], "contexts": [None, []], "reference": [None, [None]]}
    assert counts(empty) == {name: 2 * (name == "empty contexts") for name in list(FAULTS)[1:7]}
    with pytest.raises(ColumnError, match=r"^labels='verdct': unknown column 'verdct'; did you mean 'verdict'"):
        fm.check_dataset(rows, labels="verdct")


def test_the_command(tmp_path):
    bad = jsonl(tmp_path / "bad.jsonl", GOOD, {**GOOD, "verdict": 1})
    done = program("check", bad, "-o", tmp_path / "found.json")
    assert (done.code, done.err) == (0, "")
    made = json.loads((tmp_path / "found.json").read_text())
    assert (made["rows"], made["clean"]) == (2, False)
    assert program("check", bad, "--strict").code == 1
    streamed = program("check", "-", "--labels", "verdict", stdin=bad.read_bytes())
    assert (streamed.code, "a stream is read once" in streamed.err) == (2, True)
    assert program("check", bad, "--strict", "--labels", "verdict").code == 1
    assert program("check", jsonl(tmp_path / "good.jsonl", GOOD, OTHER), "--strict").code == 0
