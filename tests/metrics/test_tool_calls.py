"""Calls of tools: the shapes that logs have, what matches, and the numbers of ragas."""

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from tests.reference import tool_calls as reference

NAMED = {"a": 1, "b": "x"}
TEXT = json.dumps(NAMED)
SHAPES: list[Any] = [
    [{"name": "add", "arguments": NAMED}],
    [{"name": "add", "args": NAMED, "id": "1"}],
    {"name": "add", "arguments": NAMED},
    [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": TEXT}}],
    [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": TEXT}],
    [{"type": "text", "text": "I add."}, {"type": "tool_use", "id": "t", "name": "add", "input": NAMED}],
    [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": NAMED}}],
    [{"functionCall": {"name": "add", "args": NAMED}}],
    [{"toolUse": {"toolUseId": "t", "name": "add", "input": NAMED}}],
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": TEXT}}]},
    [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "add", "input": NAMED}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "2"}]},
        {"role": "assistant", "content": "2"},
    ],
]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_calls(shape: Any, tmp_path: Path) -> None:
    expected = [[{"name": "add", "arguments": {"b": "x", "a": 1.0}}]]
    assert fm.tool_call_f1([json.dumps(shape)], [json.dumps(expected[0])]).tolist() == [1.0]
    path = tmp_path / "rows.jsonl"
    other = ["search"]
    rows = [
        {"tool_calls": shape, "expected_tool_calls": expected[0]},
        {"tool_calls": other, "expected_tool_calls": other},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert fm.score(path, "tool_call_f1")["tool_call_f1"].to_pylist() == [1.0, 1.0]
    if isinstance(shape, list) and len(shape) == 1:
        assert fm.tool_call_match(pa.array([shape]), expected).tolist() == [1.0]


def test_calls_of_a_conversation_are_found_by_path(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = {"messages": SHAPES[-1], "gold": {"tools": ["add"]}}
    path.write_text(json.dumps(row) + "\n")
    columns = {"tool_calls": "messages", "expected_tool_calls": "gold.tools"}
    assert fm.score(path, "tool_call_match", columns=columns)["tool_call_match"].to_pylist() == [1.0]
    columns = {"answer": "messages[-1].content", "question": "messages[0].content"}
    assert fm.score(path, "answer_words", columns=columns)["answer_words"].to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("made", "expected", "scores"),
    [
        ([], [], [1, 1, 1, 1, 1]),
        ([], ["a"], [0, 0, 0, 0, 0]),
        (["a"], [], [0, 0, 0, 0, 0]),
        (["a", "a"], ["a"], [0.5, 1, 2 / 3, 0, 0]),
        (["b", "a"], ["a", "b"], [1, 1, 1, 0, 0]),
        ([{"name": "a", "args": {"x": 1}}], ["a"], [1, 1, 1, 1, 1]),
        ([{"name": "a", "args": {"x": 1}}], [{"name": "a", "args": {"x": 2}}], [0, 0, 0, 0, 0]),
        ([{"name": "a", "args": {"x": 1, "y": 2}}], [{"name": "a", "args": {"x": 1, "y": 3}}], [0, 0, 0, 0, 0.5]),
        ([{"name": "a", "arguments": '{"x": cut'}], [{"name": "a", "arguments": {"x": 1}}], [0, 0, 0, 0, 0]),
    ],
)
def test_worked_calls(made: list[Any], expected: list[Any], scores: list[float]) -> None:
    columns = [json.dumps(made)], [json.dumps(expected)]
    names = ("tool_call_precision", "tool_call_recall", "tool_call_f1", "tool_call_match", "tool_call_accuracy")
    found = [getattr(fm, name)(*columns)[0] for name in names]
    np.testing.assert_allclose(found, scores)


def test_arguments_are_compared_as_by_json_match() -> None:
    made = [[{"name": "pay", "args": {"amount": 9.99, "to": "the shop", "tags": ["b", "a"]}}]]
    expected = [[{"name": "pay", "args": {"amount": 10, "to": "shop", "tags": ["a", "b"]}}]]
    assert fm.tool_call_accuracy(made, expected).tolist() == [0.0]
    options: dict[str, Any] = {"fields": "to=cover_match", "lists": "any", "relative": 0.01}
    assert fm.tool_call_accuracy(made, expected, **options).tolist() == [1.0]


PRINTED = "as Python prints it; write JSON: json.dumps(calls)"
LEVELS = "more than 100 levels of lists and objects"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("['search']", PRINTED),
        ("[{'name': 'a', 'args': {'b': None}}]", PRINTED),
        ("[ToolCall(name='search', args={'q': 1})]", PRINTED),
        ("[5]", "expected the name of a tool or a call, got 5"),
        ('[{"tool": "a"}]', "got the fields 'tool'"),
        ('[{"type": "function", "function": {"arguments": "{}"}}]', "got the fields 'type', 'function'"),
        ('{"role": "assistant", "content": [{"type": "tool_use", "input": {}}]}', "got the fields 'type', 'input'"),
        ('[{"type": "function", "function": {"name": null, "arguments": "{}"}}]', "the name of a tool, got None"),
        ('[{"name": "", "arguments": {}}]', "the name of a tool, got ''"),
        ('[{"name": "a", "arguments": {"x": NaN}}]', "NaN is no value of JSON"),
        ("search me", "got 'search me'$"),
        ("[" * 100_000, LEVELS),
        ('[{"name": "a", "arguments": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}]", LEVELS),
        ('[{"name": "a", "arguments": ' + "1" * 5000 + "}]", "integer string conversion"),
    ],
)
def test_what_is_no_call_names_column_row_and_reason(wrong: str, reason: str) -> None:
    start = (
        r"row 1: column 'tool_calls': expected names of tools, or calls as OpenAI, Anthropic or MCP have them, in JS"
    )
    with pytest.raises(InputError, match=start) as raised:
        fm.tool_call_f1(["search", wrong], ["search", "search"])
    assert re.search(reason if reason.endswith("$") else re.escape(reason), str(raised.value))
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("made", "expected", "same"),
    [
        ({"x": 1, "y": [1.0, 2]}, {"y": [1, 2.0], "x": 1e0}, 1.0),
        ({"x": True}, {"x": 1}, 0.0),
        ({"x": "1"}, {"x": 1}, 0.0),
        ({"x": [1, 2]}, {"x": [2, 1]}, 0.0),
        ({"x": None}, {}, 0.0),
        ({"x": "\u00e9"}, {"x": "é"}, 1.0),
        ({}, {}, 1.0),
    ],
)
def test_arguments_are_equal_as_objects_and_as_texts_of_json(made: Any, expected: Any, same: float) -> None:
    spaced = json.dumps(expected, indent=1)
    for one in (made, json.dumps(made)):
        for other in (expected, spaced):
            pair = ([json.dumps([{"name": "a", "arguments": given}])] for given in (one, other))
            assert fm.tool_call_match(*pair).tolist() == [same]


def test_arguments_that_are_no_json_equal_themselves_alone() -> None:
    made = [[{"name": "a", "arguments": text}] for text in ('{"x": cut', '{"x": NaN}', '{"x": ' + "[" * 100_000)]
    columns = [json.dumps(calls) for calls in made]
    assert fm.tool_call_f1(columns, columns).tolist() == [1.0] * 3
    assert fm.tool_call_accuracy(columns, columns).tolist() == [1.0] * 3
    other = json.dumps([{"name": "a", "arguments": {"x": 1}}])
    assert fm.tool_call_f1(columns, [other] * 3).tolist() == [0.0] * 3
    assert fm.tool_call_accuracy(columns, [other] * 3).tolist() == [0.0] * 3


def test_rows_of_many_calls_are_compared_as_others() -> None:
    chance = random.Random(4)
    rows = [
        ([("a", {"x": chance.randint(0, 9)}) for _ in range(n)], [("a", {"x": chance.randint(0, 9)}) for _ in range(m)])
        for n, m in ((150, 150), (300, 101), (101, 5), (5, 200))
    ]
    written = [
        [
            json.dumps(
                [{"name": name, "arguments": {key: float(x) for key, x in given.items()}} for name, given in row[0]]
            )
            for row in rows
        ],
        [json.dumps([{"name": name, "arguments": json.dumps(given)} for name, given in row[1]]) for row in rows],
    ]
    counts = [
        (Counter(json.dumps(call) for call in made) & Counter(json.dumps(call) for call in wanted)).total()
        for made, wanted in rows
    ]
    expected = [2 * hits / (len(made) + len(wanted)) for hits, (made, wanted) in zip(counts, rows, strict=True)]
    np.testing.assert_allclose(fm.tool_call_f1(*written), expected)
    big = json.dumps([{"name": "a", "arguments": {"x": n}} for n in range(20_000)])
    turned = json.dumps([{"name": "a", "arguments": {"x": n}} for n in range(20_000, 0, -1)])
    assert fm.tool_call_f1([big], [turned]).tolist() == [19_999 / 20_000]


def test_null_and_blank() -> None:
    scores = fm.tool_call_recall([None, "", "[]", "search"], ['["a"]', "[]", None, "search"])
    np.testing.assert_array_equal(scores, [np.nan, 1, np.nan, 1])


CALLS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.none() | st.dictionaries(st.sampled_from("xy"), st.sampled_from([1, "1", True]), max_size=2),
    ),
    max_size=4,
)


def written(calls: list[reference.Call]) -> str:
    """The calls in JSON; one without arguments as its name."""
    return json.dumps([name if given is None else {"name": name, "arguments": given} for name, given in calls])


def is_whole(calls: list[reference.Call]) -> list[reference.Call]:
    """The calls with arguments."""
    return [(name, given or {}) for name, given in calls]


@given(st.lists(st.tuples(CALLS, CALLS), min_size=1, max_size=6))
@pytest.mark.parametrize("arguments", [True, False])
def test_pairs_are_the_most_that_there_are(arguments: bool, rows: list[tuple[Any, Any]]) -> None:
    rows = [(is_whole(made), [(name, given) for name, given in wanted]) for made, wanted in rows]
    typed = [
        [
            [(name, given and {key: json.dumps(value) for key, value in given.items()}) for name, given in calls]
            for calls in row
        ]
        for row in rows
    ]
    columns = [written(made) for made, _ in rows], [written(wanted) for _, wanted in rows]
    counts = [(reference.matched(*row, arguments), len(row[0]), len(row[1])) for row in typed]
    precision = [1.0 if not n + m else hits / max(n, 1) for hits, n, m in counts]
    recall = [1.0 if not n + m else hits / max(m, 1) for hits, n, m in counts]
    np.testing.assert_allclose(fm.tool_call_precision(*columns, arguments=arguments), precision)
    np.testing.assert_allclose(fm.tool_call_recall(*columns, arguments=arguments), recall)
    f1 = [1.0 if not n + m else 2 * hits / (n + m) for hits, n, m in counts]
    np.testing.assert_allclose(fm.tool_call_f1(*columns, arguments=arguments), f1)


@given(st.lists(st.tuples(CALLS, CALLS), min_size=1, max_size=6))
@pytest.mark.parametrize("order", ["exact", "any"])
def test_orders(order: Any, rows: list[tuple[Any, Any]]) -> None:
    rows = [(is_whole(made), wanted) for made, wanted in rows]
    typed = [
        [
            [(name, given and {key: json.dumps(value) for key, value in given.items()}) for name, given in calls]
            for calls in row
        ]
        for row in rows
    ]
    columns = [written(made) for made, _ in rows], [written(wanted) for _, wanted in rows]
    for chosen in (order, "in_order"):
        expected = [float(reference.match(*row, chosen, True)) for row in typed]
        assert fm.tool_call_match(*columns, order=chosen).tolist() == expected


def test_the_numbers_of_ragas() -> None:
    chance = random.Random(1)

    def calls(most: int) -> list[reference.Call]:
        names = [chance.choice("abc") for _ in range(chance.randint(0, most))]
        return [
            (name, {key: chance.choice(["x", "y"]) for key in chance.sample("pqr", chance.randint(0, 3))})
            for name in names
        ]

    rows = [(calls(4), calls(3)) for _ in range(2000)]
    rows += [(made, chance.sample(made, chance.randint(0, len(made)))) for made, _ in rows]
    columns = [written(made) for made, _ in rows], [written(wanted) for _, wanted in rows]
    one_by_one = [reference.ragas_accuracy_one_by_one(*row) for row in rows]
    np.testing.assert_allclose(fm.tool_call_accuracy(*columns), one_by_one)
    for strict_order, order in ((True, "in_order"), (False, "any")):
        expected = [reference.ragas_accuracy(*row, strict_order) for row in rows]
        found = fm.tool_call_accuracy(*columns, order=order)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, expected)
    once = [
        at
        for at, row in enumerate(rows)
        if all(len({json.dumps(call, sort_keys=True) for call in calls}) == len(calls) for calls in row) and any(row)
    ]
    expected = [reference.ragas_f1(*rows[at]) for at in once]
    np.testing.assert_allclose(fm.tool_call_f1(*columns)[once], expected)
