"""What is wrong with a data set: each fault planted alone, and clean rows left alone."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.logs.dataset import plain
from fastmetrics.tables.opening import open_source
from tests.reference import dataset as reference
from tests.support.program import jsonl, program

LONG = " ".join(["word"] * 25)
GOOD = {
    **{"id": "1", "question": "How long may I return a kettle?", "answer": f"{LONG}."},
    "reference": ["30 days", "Within 30 days of delivery."],
    **{"contexts": ["Returns within 30 days of delivery.", " "], "answerable": True},
}
OTHER = {**GOOD, "id": "2", "question": "What does it cost?"}
FAULTS = {
    "doubled id": ({"id": "1"}, 2),
    "duplicate": ({"question": " how long  may i RETURN a kettle?"}, 1),
    "reference in question": ({"question": "Is it within 30 days OF delivery. or so?"}, 1),
    "answer is context": ({"answer": "Returns  within 30 days of delivery."}, 1),
    "empty contexts": ({"contexts": [" ", "\n"]}, 1),
    "no answer": ({"answer": " \n"}, 1),
    "answer cut off": ({"answer": f"{LONG}. And then"}, 1),
    "other script": ({"answer": "В течение тридцати дней."}, 1),
    "contradicting labels": ({"question": GOOD["question"], "answerable": False}, 2),
}
LIST_CHECKS = {"reference is a list": "reference", "contexts are a list": "contexts"}
NONE = dict.fromkeys([*FAULTS, *LIST_CHECKS], 0)


def counts(rows, **options):
    return {one.check: one.rows for one in fm.logs.check_dataset(rows, **options).findings}


def test_good_rows_have_no_findings():
    assert counts([GOOD, OTHER]) == NONE
    assert fm.logs.check_dataset([GOOD, OTHER]).clean
    short = {**OTHER, "answer": "30 days", "contexts": ["30 days"], "reference": "cost"}
    assert counts([GOOD, short]) == NONE


@pytest.mark.parametrize("name", LIST_CHECKS)
@pytest.mark.parametrize("text", ['["30 days", "a month"]', "['30 days']", "[]"])
def test_lists_as_text_are_found_in_columns_of_text(name, text):
    column = LIST_CHECKS[name]
    table = [{**row, "reference": "30 days", "contexts": "Within 30 days."} for row in (GOOD, OTHER)]
    assert counts(table) == NONE
    assert counts([*table, {**table[0], "id": "3", "question": "And?", column: text}]) == NONE | {name: 1}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_fault_is_found_and_no_other(name, place):
    change, rows = FAULTS[name]
    table = [GOOD, OTHER]
    table.insert(place, {**OTHER, "id": "3", "question": "And what else?", **change})
    found = fm.logs.check_dataset(table)
    expected = NONE | {name: rows}
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
    lacking = ("empty contexts", "no answer")
    assert counts(empty) == {name: 2 * (name in lacking) for name in [*list(FAULTS)[1:8], *LIST_CHECKS]}


@pytest.mark.parametrize(
    ("question", "answer", "is_other"),
    [
        *[("How much?", "42", False), ("How much?", "—", False), ("How much?", None, False)],
        *[("2 + 2 = ?", "Четыре.", False), ("12?", "34", False), ("How much?", "Сорок два.", True)],
        ("Сколько?", "Forty-two.", True),
    ],
)
def test_texts_without_letters_are_in_no_other_script(question, answer, is_other):
    rows = pa.table({"question": [question], "answer": pa.array([answer], pa.string())})
    assert counts(rows)["other script"] == is_other


@pytest.mark.parametrize("label", [True, "good", 1, 2.5, [1, 2]])
def test_a_missing_label_contradicts_nothing(label):
    """Of equal rows, only labels that are there count, wherever the missing ones are."""
    other = {bool: False, str: "bad", int: 0, float: 0.5, list: [3]}[type(label)]
    for labels, contradicting in (
        *[([label, None], 0), ([None, label, label], 0), ([None, None], 0), ([None, label, other], 3)],
        ([label, other], 2),
    ):
        rows = pa.table({"question": ["a"] * len(labels), "verdict": pa.array(labels)})
        assert counts(rows, labels="verdict")["contradicting labels"] == contradicting


def test_the_command(tmp_path):
    bad = jsonl(tmp_path / "bad.jsonl", GOOD, {**GOOD, "verdict": 1})
    done = program("logs", "check", bad, "-o", tmp_path / "found.json")
    assert (done.code, done.err) == (0, "")
    made = json.loads((tmp_path / "found.json").read_text())
    assert (made["rows"], made["clean"]) == (2, False)
    assert program("logs", "check", bad, "--strict").code == 1
    for format in ((), ("--format", "jsonl")):
        streamed = program("logs", "check", "-", "--labels", "verdict", "--json", *format, stdin=bad.read_bytes())
        assert (streamed.code, streamed.err) == (0, "")
        assert json.loads(streamed.out) == made
    assert program("logs", "check", bad, "--strict", "--labels", "verdict").code == 1
    assert program("logs", "check", jsonl(tmp_path / "good.jsonl", GOOD, OTHER), "--strict").code == 0


WORDS = st.sampled_from(
    ["a", "B", "A", " ", "  ", "\t", "\x1c", "\u2003", "wo", "где", "ГДЕ", "İ", "ΣΑΣ", ".", "?", "é"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
LONG_TEXTS = TEXTS | st.builds(lambda text, n: f"{text} " * n, TEXTS, st.integers(1, 9))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.none() | st.sampled_from(["1", "2", "3"]),
            "question": st.none() | TEXTS,
            "answer": st.none() | LONG_TEXTS,
            "reference": st.none() | st.lists(st.none() | TEXTS, max_size=2),
            "contexts": st.none() | st.lists(st.none() | TEXTS, max_size=3),
            "verdict": st.none() | st.integers(0, 1),
        }
    ),
    max_size=9,
)
LISTS = pa.list_(pa.string())
TYPES = {"id": pa.string(), "question": pa.string(), "answer": pa.string(), "reference": LISTS, "contexts": LISTS}


@given(ROWS, st.booleans())
def test_every_fault_is_found_as_by_plain_python(rows, small):
    doubled = [*rows, *rows[:3]]
    expected = reference.faults(doubled, ["verdict"])
    table = pa.Table.from_pylist(doubled, pa.schema([*TYPES.items(), ("verdict", pa.int64())]))
    whole = SIZES.log_rows
    SIZES.log_rows = 2 if small else whole
    try:
        found = fm.logs.check_dataset(table, labels="verdict", threads=1)
    finally:
        SIZES.log_rows = whole
    for one in found.findings:
        if one.check != "other script":  # the reference handles texts of one script only
            assert one.rows == len(expected[one.check]), one.check
        shown = [row for rows, _ in one.examples for row in (rows[1:] if one.check == "duplicate" else rows)]
        assert set(expected[one.check]) <= set(shown) or one.rows > 5 or one.check == "other script" or len(shown) >= 5
        assert set(shown) <= set(expected[one.check]) or one.check == "other script"


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        (f"{LONG}. It was, of", 1),
        (f"{LONG}. It was,", 1),
        (f"{LONG}. Firstly:\n- The long one", 1),
        (f"One. {LONG}\n{LONG}", 1),
        (f"{LONG}. Это было (см", 1),
        (f"{LONG} and then", 0),
        (f"{LONG}. In order:\n1. One\n2. Two", 0),
        (f"{LONG}.\n\nYours,\n\nA friend", 0),
        (f"{LONG}. See https://host/page", 0),
        (f"{LONG}. Good luck! #winning", 0),
        (f"{LONG}. Thank you 🙂", 0),
        ("A short one. It was of", 0),
    ],
)
def test_an_answer_is_cut_off_within_a_sentence_only(answer, rows):
    assert counts({"answer": [answer, None]})["answer cut off"] == rows
    assert reference.is_cut_off(answer) == bool(rows)


def test_the_example_of_an_answer_that_is_cut_off_shows_its_end():
    shown = str(fm.logs.check_dataset({"answer": [f"{LONG}. It was finally the"]}))
    assert "It was finally the\n" in f"{shown}\n"


@given(st.lists(st.none() | st.text(max_size=6) | TEXTS), st.integers(0, 3))
def test_plain_texts(texts, start):
    for kind in (pa.string(), pa.large_string()):
        held = pa.array(texts, kind).slice(start)
        assert plain(held).to_pylist() == [reference.plain(text) for text in texts[start:]]


def test_sources_that_can_be_read_once():
    table = pa.table({"id": [1, 2, 1], "question": ["a", "b", "A "]})
    expected = fm.logs.check_dataset(table)
    assert [one.rows for one in expected.findings] == [2, 1]
    assert fm.logs.check_dataset(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())) == expected
    assert fm.logs.check_dataset(batch for batch in table.to_batches()) == expected


def test_labels_that_are_canonical_columns_and_text():
    rows = {"question": ["a", "a"], "gold": ["x", "y"], "answer": ["s", "s"], "note": [b"\xff", None]}
    assert counts(rows, labels="gold") == {
        **{"duplicate": 1, "reference in question": 0, "answer cut off": 0, "no answer": 0, "reference is a list": 0},
        **{"other script": 0, "contradicting labels": 2},
    }
    [(_, said)] = fm.logs.check_dataset(rows, labels=["gold", "note"]).findings[-1].examples
    assert said == 'gold is "x" and "y": a'


def test_near_duplicates_of_a_sample():
    texts = ["pay a card", "pay by card", "Pay a  card", "what is it", None]
    vectors = {"pay a card": [1.0, 0.0], "pay by card": [0.9, 0.1], "what is it": [0.0, 1.0]}

    def model(asked):
        return np.array([vectors.get(" ".join(text.lower().split()), [0.5, 0.5]) for text in asked])

    def near(**options):
        return fm.logs.check_dataset({"question": texts}, embedder=model, **options).findings[-1]

    found = near()
    assert (found.check, found.rows, found.looked) == ("near duplicate", 2, 3)
    assert found.examples == [((0, 1), "pay a card")]
    assert near(near=0.999).rows == 0
    assert near(sample=1).looked == 1
    assert near(threads=1) == found
    pairs = fm.logs.check_dataset({"question": texts}, embedder=model).pairs
    pair = {"row": 0, "other": 1, "cosine": pytest.approx(0.9 / np.hypot(0.9, 0.1))}
    assert pairs.to_pylist() == [{**pair, "text": "pay a card", "other_text": "pay by card"}]
    skipped = fm.logs.check_dataset({"answer": ["a"]}, embedder=model)
    assert "near duplicate (question)" in skipped.skipped
    assert "near duplicate: of a sample of 3" in fm.logs.check_dataset({"question": texts}, embedder=model).remarks()


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_rows_of_near_duplicates_are_counted_over_all_parts(monkeypatch, size):
    monkeypatch.setattr(SIZES, "log_rows", size)
    angles = [0.0, 0.5, 1.0, None, 1.5, 1.01, 2.0, 0.49]
    vectors = {f"turn {angle}": [np.cos(angle), np.sin(angle)] for angle in angles if angle is not None}
    near = np.cos(0.02)
    expected = [
        (row, other)
        for row, angle in enumerate(angles)
        for other, turned in enumerate(angles)
        if row < other and None not in (angle, turned) and np.cos(angle - turned) >= near
    ]
    table = pa.table({"question": [None if angle is None else f"turn {angle}" for angle in angles]})

    def model(texts):
        return np.array([vectors.get(text, [1.0, 0.0]) for text in texts])

    found = fm.logs.check_dataset(table, embedder=model, near=near).findings[-1]
    assert (found.check, found.rows, found.looked) == ("near duplicate", 4, 7)
    assert sorted(rows for rows, _ in found.examples) == expected == [(1, 7), (2, 5)]


def test_languages_of_question_and_answer():
    rows = {
        "question": ["How long may I return a kettle?", "How long may I return a kettle?", "Who?", None],
        "answer": [
            "Within thirty days of delivery.",
            "Innerhalb von dreißig Tagen nach der Lieferung.",
            "Niemand",
            "x",
        ],
    }
    found = fm.logs.check_dataset(rows, languages=["en", "de"]).findings[-1]
    assert (found.check, found.rows, found.looked) == ("other language", 1, 2)
    assert found.examples == [((1,), "en, de: How long may I return a kettle?")]


def test_any_threads_and_parts_give_the_same_findings(tmp_path):
    rows = [{**GOOD, "id": str(n % 40), "question": f"What of {n % 30}?", "answerable": n % 7 > 0} for n in range(300)]
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    expected = fm.logs.check_dataset(rows)
    assert [one.rows for one in expected.findings][:2] == [300, 270]
    parts = open_source(path, sizes=ReadSizes(line_block_bytes=3000))
    for threads in (1, 2):
        assert fm.logs.check_dataset(parts, threads=threads) == expected


def test_unreadable_rows_are_a_finding_and_the_others_are_checked(tmp_path):
    bad = {"id": "b", "question": 5, "answer": {"a": 1}}
    late = {"id": "c", "question": "Who?", "answer": " ", "contexts": []}
    path = jsonl(tmp_path / "rows.jsonl", {**late, "id": "a", "answer": "Ann.", "contexts": ["x"]}, bad, late)
    found = fm.logs.check_dataset(path)
    first = found.findings[0]
    assert (found.rows, first.check, first.rows, found.clean) == (3, "unreadable row", 1, False)
    assert first.examples[0][1].startswith("line 2, column 'question': expected a string, got the number 5")
    faults = {one.check: (one.rows, one.examples) for one in found.findings[1:] if one.rows}
    assert faults == {"no answer": (1, [((1,), "Who?")]), "empty contexts": (1, [((1,), "Who?")])}
    assert "for example (ids)" in str(found)
    assert fm.logs.check_dataset({"id": ["x"], "contexts": [[]]}).findings[1].examples == [((0,), "x")]


@pytest.mark.parametrize("kind", ["index", "column"])
def test_results_of_rows_say_their_ids(kind):
    """Pairs, topics, the cache and examples of faults: the ids of a column, or of a named index."""
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.99, 0.1], [0.0, 2.0]]
    rows = {"вопрос": ["a?", "b?", "a ?", "c?"], "answer": ["x", "", "y", "z"], "question_embedding": vectors}
    index = pd.Index(["k1", "k2", "k3", "k4"], name="код")
    log, own = pd.DataFrame(rows, index=index), {"question": "вопрос"}
    if kind == "column":
        log, own = log.reset_index(), {**own, "id": "код"}
    topics = fm.logs.topic_coverage(log, topics=2, columns=own).to_rows().to_pydict()
    labels = {"код": [*index]} if kind == "index" else {}
    assert topics == {"row": [0, 1, 2, 3], "id": [*index], "question": rows["вопрос"], "topic": [0, 1, 0, 1]} | labels
    cache = fm.logs.cache_hit_rate(log, columns=own).to_arrow().to_pydict()
    assert (cache["id"], cache["stored_id"]) == ([*index], [None, "k1", "k1", "k2"])
    assert cache["stored_question"] == [None, "a?", "a?", "b?"]
    found = fm.logs.check_dataset(log, columns=own)
    [empty] = [one for one in found.findings if one.check == "no answer"]
    assert (empty.examples[0][0], empty.ids) == ((1,), [["k2"]])
    assert "k2: " in str(found)
    if kind == "index":
        pairs = fm.vectors.duplicates(log, near=0.99, text="вопрос").table.to_pydict()
        assert (pairs["id"], pairs["other_id"], pairs["other_text"]) == (["k2", "k1"], ["k4", "k3"], ["c?", "a ?"])
