"""The question, answer and calls of the last turn of a conversation, in the shapes of APIs and kinds of column."""

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.conversations import last_turn, user_turns
from fastmetrics.base.errors import ColumnError
from tests.support.program import ROOT

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
METRICS = "cover_match,tool_call_match"


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
    scores = fm.score(table, METRICS, columns=columns)
    assert scores["cover_match"].to_pylist() == [1.0, 0.0]
    assert scores["tool_call_match"].to_pylist() == [1.0, 1.0]
    columns = {"answer": "messages[turn=last].answer", "tool_calls": "messages[turn=last].tool_calls"}
    assert fm.score(table, METRICS, columns=columns)["cover_match"].to_pylist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_structs_are_conversations_without_an_option(kind, tmp_path):
    table = pa.Table.from_pylist([{**row, "messages": row["messages"]} for row in ROWS[1:]])
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    columns = None if kind == "parquet" else {"messages": "messages"}
    scores = fm.score(path if kind == "parquet" else table, METRICS, columns=columns)
    assert [scores[name].to_pylist() for name in METRICS.split(",")] == [[0.0], [1.0]]


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
    with pytest.raises(ColumnError, match=r"messages\[turn=last\].answer.*a role and content, got the fields 'text'"):
        fm.score(table, "cover_match", columns={"messages": "messages"})
