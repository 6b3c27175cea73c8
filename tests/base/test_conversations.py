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

CALL = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
USE = {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}
OPENAI = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "1 + 1?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "2"},
    {"role": "assistant", "content": "It is 2."},
]
SHAPES = {
    "openai": OPENAI,
    "a question without an answer behind it": [*OPENAI, {"role": "user", "content": "Thanks"}],
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "1 + 1?"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "add", "arguments": '{"a": 1}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "2"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 2."}]},
    ],
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": "1 + 1?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I add."}, USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "2"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "2."}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "1 + 1?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 1}}}, {"text": "It is 2."}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "1 + 1?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "add", "input": {"a": 1}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "2"}]}}]},
        {"role": "assistant", "content": [{"text": "It is 2."}]},
    ],
    "sharegpt": [{"from": "human", "value": "1 + 1?"}, {"from": "gpt", "value": "It is 2."}],
    "sharegpt with calls": [
        {"from": "human", "value": "1 + 1?"},
        {"from": "function_call", "value": '{"name": "add", "arguments": {"a": 1}}'},
        {"from": "observation", "value": "2"},
        {"from": "gpt", "value": "It is 2."},
    ],
    "a call as the content of a message": [
        {"role": "user", "content": "1 + 1?"},
        {"role": "tool_call", "content": '{"name": "add", "arguments": {"a": 1}}'},
        {"role": "tool_response", "content": "2"},
        {"role": "assistant", "content": "It is 2."},
    ],
    "function_call of a message": [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "2"},
        {"role": "assistant", "content": "It is 2."},
    ],
    "calls as text": [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "", "tool_calls": json.dumps([CALL])},
        {"role": "assistant", "content": "It is 2."},
    ],
    "calls in tags": [
        {"role": "system", "content": "Write <tool_call>{...}</tool_call>."},
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'},
        {"role": "tool", "content": "<tool_response>2</tool_response>"},
        {"role": "assistant", "content": "It is 2."},
    ],
    "vercel": [
        {"role": "user", "content": [{"type": "text", "text": "1 + 1?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "Hm."},
                {"type": "tool-call", "toolCallId": "t", "toolName": "add", "input": {"a": 1}},
            ],
        },
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "add", "output": 2}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 2."}]},
    ],
    "vercel 4": [
        {"role": "user", "content": "1 + 1?"},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "t", "toolName": "add", "args": {"a": 1}}],
        },
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "add", "result": 2}]},
        {"role": "assistant", "content": "It is 2."},
    ],
    "vercel's interface": [
        {"role": "user", "parts": [{"type": "text", "text": "1 + 1?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "tool-add", "toolCallId": "t", "state": "output-available", "input": {"a": 1}, "output": 2},
                {"type": "text", "text": "It is 2."},
            ],
        },
    ],
    "vercel's interface 4": [
        {"role": "user", "content": "1 + 1?"},
        {
            "role": "assistant",
            "content": "It is 2.",
            "toolInvocations": [
                {"state": "result", "toolCallId": "t", "toolName": "add", "args": {"a": 1}, "result": 2}
            ],
            "parts": [
                {"type": "tool-invocation", "toolInvocation": {"toolCallId": "t", "toolName": "add", "args": {"a": 1}}}
            ],
        },
    ],
    "langchain": [
        {"type": "human", "content": "1 + 1?"},
        {
            "type": "ai",
            "content": [{"type": "text", "text": "I add."}, USE],
            "tool_calls": [{"type": "tool_call", "id": "t", "name": "add", "args": {"a": 1}}],
        },
        {"type": "tool", "content": "2", "tool_call_id": "t"},
        {"type": "ai", "content": "It is 2."},
    ],
    "langchain's data": [
        {"type": "human", "data": {"content": "1 + 1?"}},
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [CALL]}}},
        {"type": "tool", "data": {"content": "2", "tool_call_id": "t"}},
        {"type": "ai", "data": {"content": "It is 2.", "additional_kwargs": {}}},
    ],
    "langchain's constructors": [
        {"lc": 1, "type": "constructor", "id": ["schema", "HumanMessage"], "kwargs": {"content": "1 + 1?"}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["schema", "AIMessage"],
            "kwargs": {"content": "It is 2.", "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "t"}]},
        },
    ],
    "llamaindex": [
        {"role": "user", "blocks": [{"block_type": "text", "text": "1 + 1?"}], "additional_kwargs": {}},
        {
            "role": "assistant",
            "additional_kwargs": {"tool_calls": [{"id": "t", **CALL}]},
            "blocks": [{"block_type": "tool_call", "tool_call_id": "t", "tool_name": "add", "tool_kwargs": {"a": 1}}],
        },
        {"role": "tool", "blocks": [{"block_type": "text", "text": "2"}], "additional_kwargs": {"tool_call_id": "t"}},
        {"role": "assistant", "blocks": [{"block_type": "text", "text": "It is 2."}], "additional_kwargs": {}},
    ],
    "pydantic-ai": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be short."},
                {"part_kind": "user-prompt", "content": "1 + 1?"},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "Hm."},
                {"part_kind": "tool-call", "tool_name": "add", "args": '{"a": 1}', "tool_call_id": "t"},
            ],
        },
        {
            "kind": "request",
            "parts": [{"part_kind": "tool-return", "tool_name": "add", "content": 2, "tool_call_id": "t"}],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "It is 2."}]},
    ],
    "openai agents": [
        {"role": "user", "content": "1 + 1?"},
        {"type": "tool_call_item", "raw_item": {"type": "function_call", "name": "add", "arguments": '{"a": 1}'}},
        {"type": "tool_call_output_item", "raw_item": {"type": "function_call_output", "output": "2"}, "output": "2"},
        {
            "type": "message_output_item",
            "raw_item": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "It is 2."}],
            },
        },
    ],
    "gemini with results": [
        {"role": "user", "parts": [{"text": "1 + 1?"}]},
        {
            "role": "model",
            "parts": [{"thought": True, "text": "Hm."}, {"function_call": {"name": "add", "args": {"a": 1}}}],
        },
        {"role": "user", "parts": [{"function_response": {"name": "add", "response": {"result": 2}}}]},
        {"role": "model", "parts": [{"text": "It is 2.", "thoughtSignature": "x"}]},
    ],
    "opentelemetry": [
        {"role": "user", "parts": [{"type": "text", "content": "1 + 1?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "t", "name": "add", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "t", "result": 2}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is 2."}], "finish_reason": "stop"},
    ],
    "haystack": [
        {"role": "user", "content": [{"text": "1 + 1?"}]},
        {"role": "assistant", "content": [{"tool_call": {"tool_name": "add", "arguments": {"a": 1}, "id": "t"}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": "2", "origin": {"tool_name": "add"}}}]},
        {"role": "assistant", "content": [{"text": "It is 2."}]},
    ],
    "cohere": [
        {"role": "USER", "message": "1 + 1?"},
        {"role": "CHATBOT", "message": "It is 2.", "tool_calls": [{"name": "add", "parameters": {"a": 1}}]},
    ],
}


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
