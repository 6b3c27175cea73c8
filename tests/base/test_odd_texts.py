"""Texts of every shape: odd ones, patterns and conversations."""

import itertools
import json
import re
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.arrays import arrow_texts, text_of_strings, well_formed
from fastmetrics.base.conversations import last_turn, user_turns
from fastmetrics.base.errors import ColumnError, InputError, OptionError
from fastmetrics.base.patterns import UserPattern
from tests.support.goldens import refused
from tests.support.program import ROOT, jsonl, program

HIGH, LOW = "\ud83d", "\ude00"
TEXTS = ["a " + HIGH, LOW + " b", HIGH + LOW, LOW + HIGH, "\ufeff" + HIGH + HIGH, "é" + LOW + "x", "plain"]
MENDED = ["a \ufffd", "\ufffd b", "😀", "\ufffd\ufffd", "\ufeff\ufffd\ufffd", "é\ufffdx", "plain"]
PAIRS = list(itertools.product(range(len(TEXTS)), repeat=2))
METRICS = ["exact_match", "token_f1", "rougeL_f1", "chrf", "squad_f1", "bleu"]


def columns(texts):
    return {
        "id": [f"{texts[a]}{n}" for n, (a, _) in enumerate(PAIRS)],
        "answer": [texts[a] for a, _ in PAIRS],
        "reference": [[texts[b]] for _, b in PAIRS],
    }


def rows(texts):
    found = columns(texts)
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def scores(table):
    return {name: np.asarray(table[name], np.float64).view(np.int64).tolist() for name in METRICS}


@pytest.mark.parametrize(("given", "mended"), list(zip(TEXTS, MENDED, strict=True)))
def test_lone_surrogates_are_replaced_and_pairs_decoded(given, mended):
    assert well_formed(given) == mended
    assert text_of_strings([given]).strings() == [mended]
    assert text.tokens([given], "characters") == text.tokens([mended], "characters")


@pytest.mark.parametrize(
    "table",
    [columns(TEXTS), rows(TEXTS), pd.DataFrame(columns(TEXTS), dtype=object)],
    ids=["columns", "rows", "pandas"],
)
def test_scores_of_every_container_have_the_same_bits(table):
    expected = fm.score(pa.table(columns(MENDED)), METRICS)
    found = fm.score(table, METRICS)
    assert scores(found) == scores(expected)
    assert found["id"].to_pylist() == expected["id"].to_pylist()


@pytest.mark.parametrize("out", ["s.parquet", "s.jsonl", "s.csv", "s.arrow"])
def test_json_lines_with_surrogates_are_scored_and_repaired(tmp_path, out):
    path = jsonl(tmp_path / "rows.jsonl", *rows(TEXTS))
    assert b"\\ud83d" in path.read_bytes()
    done = program("score", path, "-o", tmp_path / out, "-m", ",".join(METRICS), "--keep", "answer,reference")
    assert done.code == 0, done.err
    pq.write_table(pa.table(columns(MENDED)), tmp_path / "mended.parquet")
    keep = ["answer", "reference"]
    fm.score(tmp_path / "mended.parquet", output=tmp_path / f"m{out}", metrics=METRICS, keep=keep)
    assert (tmp_path / f"m{out}").read_bytes() == (tmp_path / out).read_bytes() or out in ("s.parquet", "s.arrow")
    if out == "s.parquet":
        found = pq.read_table(tmp_path / out)
        assert scores(found) == scores(fm.score(columns(TEXTS), METRICS))
        assert [found[name].to_pylist() for name in ("id", *keep)] == list(columns(MENDED).values())


def test_surrogates_in_kept_objects_and_mixed_ids_are_replaced(tmp_path):
    jsonl(tmp_path / "rows.jsonl", {"id": 1, "answer": "a", "reference": "a", "x": 1}, {"id": HIGH, "x": {HIGH: LOW}})
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "s.parquet", metrics=["exact_match"], keep=["x"])
    found = pq.read_table(tmp_path / "s.parquet")
    assert found["id"].to_pylist() == ["1", "\ufffd"]
    assert found["x"].to_pylist() == ["1", '{"\ufffd": "\ufffd"}']


def test_surrogates_in_ids_of_runs_and_judgements_are_replaced(tmp_path):
    run, qrels = {"q" + HIGH: {"d" + LOW: 0.5, "e": 0.7}}, {"q\ufffd": {"d\ufffd": 1}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    records = [{"qid": query, "docid": doc, "score": one} for query, docs in run.items() for doc, one in docs.items()]
    (tmp_path / "list.json").write_text(json.dumps(records))
    for source in (run, tmp_path / "run.json", tmp_path / "list.json", jsonl(tmp_path / "run.jsonl", *records)):
        assert fm.rank(source, qrels, "mrr").mean == {"mrr": 0.5}


def test_surrogates_in_options_are_replaced():
    assert fm.politeness([HIGH], markers=[LOW]).tolist() == [0.5]


def test_surrogate_bytes_are_invalid_utf8_in_memory_and_files():
    raw = pa.array(["a", "\ufffd"])
    data = pa.py_buffer(raw.buffers()[2].to_pybytes().replace("\ufffd".encode(), HIGH.encode("utf-8", "surrogatepass")))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, raw.buffers()[1], data])
    refused(
        InputError,
        "answer 1 UTF-8",
        lambda: fm.score(pa.table({"answer": broken, "reference": ["a", "b"]}), ["exact_match"]),
    )


NAN = float("nan")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"answer": [NAN, NAN], "reference": ["a", "b"]}),
        pd.DataFrame({"answer": [None, NAN], "reference": ["a", "b"]}),
        {"answer": pd.Series([NAN, NAN]), "reference": ["a", "b"]},
    ],
    ids=["floats", "objects", "series"],
)
def test_columns_without_any_text_are_missing(table):
    assert fm.score(table, "token_f1")["token_f1"].to_pylist() == [None, None]
    assert np.isnan(fm.token_f1(table["answer"], table["reference"])).all()


def test_frames_without_rows_have_no_scores():
    assert fm.score(pd.DataFrame({"answer": [], "reference": []}), "token_f1")["token_f1"].to_pylist() == []


def test_nan_among_the_texts_of_records_and_lists_is_missing():
    frame = pd.DataFrame({"answer": ["a", NAN], "reference": ["a", "b"], "contexts": [["a"], NAN]})
    scores = fm.score(frame.to_dict("records"), "token_f1,overlap_faithfulness")
    assert scores["token_f1"].to_pylist() == [1.0, None]
    assert scores["overlap_faithfulness"].is_null().to_pylist() == [False, True]
    assert fm.token_f1(frame["answer"].tolist(), ["a", "b"]).tolist()[0] == 1.0


def test_numbers_are_read_as_texts():
    assert fm.score({"answer": [1.5, None], "reference": ["1.5", "b"]}, "token_f1")["token_f1"].to_pylist() == [1, None]


PATTERNS = [
    *(
        r"\[\d+\]",
        r"\((\w+)(?:, (\w+))?\)",
        r"[^\s,]+",
        r"(?i)а",
        "a|ab",
        r"(?P<one>\S)\d",
        r"[\w.]+@",
        r"\D\d",
        r"[]a]",
    ),
    *(r"\D\d", r"[]a]", r"\u0430b", r"^\s*(\d)", r"a{2,3}?", r"[^\d]\Z"),
]
PATTERNS_TEXTS = st.text("ab1٣,. @[]()\nаéA_\xa0", max_size=12)


@given(st.lists(PATTERNS_TEXTS, max_size=4))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_those_of_python(pattern, texts):
    expected = [
        [(mark.start(), mark.end(), mark[0], tuple(group or "" for group in mark.groups())) for mark in marks]
        for marks in (re.finditer(pattern, text) for text in texts)
    ]
    found = UserPattern(pattern)
    assert found.matches(texts) == expected
    assert found.is_in(arrow_texts(texts)).tolist() == [bool(marks) for marks in expected]
    assert found.groups == re.compile(pattern).groups


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a|aa)+$", "a" * 200_000 + "b"),
        (r"(x+x+)+y", "x" * 200_000),
        (r"\[((\d|\d\d),? ?)+[\])]", "[" + "1" * 200_000),
        (r"(.*)*=", "b" * 200_000),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 200_000),
    ],
)
def test_a_pattern_that_backtracks_without_end_in_python_takes_no_time(pattern, text):
    fm.idk_citations(["I don't know."], pattern=pattern)  # compiled
    began = time.process_time()
    assert fm.idk_citations([f"I don't know {text}"], pattern=pattern).tolist() == [0.0]
    assert UserPattern(pattern).matches([text]) == [[]]
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", r"(?R)", "(?P<a>x)(?P>a)", r"(a)\1", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"[\W\d]", "(?>a)"),
        *("a{1,99999999999999}", "(?x) a", "(a)" * 10, "x" * 1001),
    ],
)
def test_what_is_not_linear_is_refused(pattern):
    refused(OptionError, "RE2", fm.idk_citations, ["a"], pattern=pattern)


CALL = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
LINES = (ROOT / "tests" / "data" / "conversations.jsonl").read_text("utf-8").splitlines()
SHAPES = dict(map(json.loads, LINES))
"""A question and its answer, with a call between them, as APIs and libraries write them."""
OPENAI = SHAPES["openai"]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_last_turn_of_each_shape(shape):
    turn = last_turn(SHAPES[shape])
    assert (turn.question, turn.answer) == ("1 + 1?", "It is 2.")
    assert user_turns(SHAPES[shape]) == {"openai": 2, "a question without an answer behind it": 3}.get(shape, 1)
    if shape != "sharegpt":
        expected = json.dumps([{"name": "add", "arguments": {"a": 1}}])
        calls = [turn.tool_calls, json.dumps(SHAPES[shape]), json.dumps({"messages": SHAPES[shape]})]
        assert fm.tool_call_match(calls, [expected] * 3).tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("messages", "question", "answer", "turns"),
    [
        ([], None, None, 0),
        ([{"role": "user", "content": "Why?"}], "Why?", None, 1),
        ([{"role": "assistant", "content": "Hello"}], None, "Hello", 0),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}], "a", "", 1),
        (
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
            "a",
            None,
            1,
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
            "a\nb",
            None,
            1,
        ),
    ],
)
def test_what_a_conversation_lacks(messages, question, answer, turns):
    assert last_turn(messages)[:2] == (question, answer)
    assert user_turns(messages) == turns


ROWS = [
    {"id": "a", "messages": OPENAI, "reference": "2", "expected_tool_calls": ["add"]},
    {"id": "b", "messages": SHAPES["anthropic"], "reference": "3", "expected_tool_calls": ["add"]},
]
CONVERSATIONS_METRICS = "cover_match,tool_call_match"


def written(rows, kind, folder):
    """The rows as a table of this kind; conversations are JSON in a column of text but for JSONL and structs."""
    text = [{name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()} for row in rows]
    path = folder / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "csv":
        pd.DataFrame(text).to_csv(path, index=False)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(text), path)
    return {"frame": pd.DataFrame(text), "dicts": rows}.get(kind, path)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "frame"])
def test_tables_of_conversations(kind, tmp_path):
    table = written(ROWS, kind, tmp_path)
    columns = None if kind == "jsonl" else {"messages": "messages"}
    scores = fm.score(table, CONVERSATIONS_METRICS, columns=columns)
    assert scores["cover_match"].to_pylist() == [1.0, 0.0]
    assert scores["tool_call_match"].to_pylist() == [1.0, 1.0]
    columns = {"answer": "messages[turn=last].answer", "tool_calls": "messages[turn=last].tool_calls"}
    assert fm.score(table, CONVERSATIONS_METRICS, columns=columns)["cover_match"].to_pylist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_structs_are_conversations_without_an_option(kind, tmp_path):
    table = pa.Table.from_pylist([{**row, "messages": row["messages"]} for row in ROWS[1:]])
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    columns = None if kind == "parquet" else {"messages": "messages"}
    scores = fm.score(path if kind == "parquet" else table, CONVERSATIONS_METRICS, columns=columns)
    assert [scores[name].to_pylist() for name in CONVERSATIONS_METRICS.split(",")] == [[0.0], [1.0]]


def test_columns_of_their_own_come_first(tmp_path):
    rows = [{**row, "answer": "3", "question": "2 + 1?"} for row in ROWS]
    assert fm.score(written(rows, "jsonl", tmp_path), "cover_match")["cover_match"].to_pylist() == [0.0, 1.0]


def test_judges_read_the_last_turn(tmp_path):
    asked = []

    @fm.models.model_client("turns")
    def client(request: Any) -> str:
        asked.append(request.messages[-1].content)
        return '{"score": 5, "reason": "-"}'

    path = written(ROWS, "jsonl", tmp_path)
    fm.judge(path, "correctness", model="m", base_url="turns:", store=tmp_path / "calls.sqlite")
    assert len(asked) == 2
    assert all("1 + 1?" in prompt and "It is 2." in prompt and "Hello" not in prompt for prompt in asked)


def test_calls_of_a_whole_conversation_leave_its_answer_alone(tmp_path):
    rows = [{**row, "expected_tool_calls": ["add"]} for row in ROWS]
    for columns in ({"tool_calls": "messages"}, {"tool_calls": "messages", "messages": "messages"}):
        scores = fm.score(written(rows, "jsonl", tmp_path), "cover_match,tool_call_f1,turns", columns=columns)
        found = {name: scores[name].to_pylist() for name in ("cover_match", "tool_call_f1", "turns")}
        assert found == {"cover_match": [1.0, 0.0], "tool_call_f1": [1.0, 1.0], "turns": [2.0, 1.0]}


def test_what_is_no_message_is_said():
    table = {"messages": [json.dumps(OPENAI), '[{"text": "Hi"}]'], "reference": ["2", "2"]}
    refused(ColumnError, "text", fm.score, table, "cover_match", columns={"messages": "messages"})
