"""Calls of tools: the shapes that logs have, what matches, and the numbers of ragas."""

import json
import random
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
from tests.support.goldens import tables

TABLES = tables("tool_calls")

SHAPES: list[Any] = TABLES["shapes"]


ITEMS = TABLES["items"]


@pytest.mark.parametrize(("value", "calls"), ITEMS)
def test_items_and_what_logs_put_around_calls(value: Any, calls: list[tuple[str, Any]]) -> None:
    expected = [name if given is None else {"name": name, "arguments": given} for name, given in calls]
    made = [json.dumps(value)] * 2
    assert fm.tool_call_count(made).tolist() == [len(calls)] * 2
    found = fm.tool_call_match(made, [json.dumps(expected), json.dumps([*expected, "other"])])
    assert found.tolist() == [1.0, 0.0]


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


def test_numbers_of_thousands_of_digits_are_no_arguments() -> None:
    with pytest.raises(InputError):
        fm.tool_call_f1(['[{"name": "a", "arguments": ' + "1" * 5000 + "}]"], ["search"])


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
    hits, n, m = map(sum, zip(*counts, strict=True))
    for metric, part, whole in (
        (fm.corpus_tool_call_precision, hits, n),
        (fm.corpus_tool_call_recall, hits, m),
        (fm.corpus_tool_call_f1, 2 * hits, n + m),
    ):
        found = metric(*columns, arguments=arguments)
        np.testing.assert_equal(found.score, part / whole if whole else np.nan)
        assert (found.matched, found.made, found.expected) == (hits, n, m)


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


def test_calls_of_all_rows_stand_beside_the_mean_of_rows_in_a_summary_and_a_comparison(tmp_path: Path) -> None:
    rows = {"id": list(range(6)), "tool_calls": [["a"], ["a", "b", "b", "c"], None, [], ["d"], ["d"]]}
    rows["expected_tool_calls"] = [["a"], ["a"], ["a"], ["a", "b"], ["d"], ["d"]]
    names = "tool_call_precision,corpus_tool_call_precision,corpus_tool_call_recall"
    runs = []
    for name, calls in (("a", rows["tool_calls"]), ("b", [["a"], ["a"], ["a"], ["a", "b"], ["d"], ["d"]])):
        runs.append(tmp_path / f"{name}.parquet")
        fm.score({**rows, "tool_calls": calls}, names, output=runs[-1], keep_counts=True)
    found = fm.summarize(runs[0])
    assert found["tool_call_precision"].mean == pytest.approx((1 + 0.25 + 0 + 1 + 1) / 5)
    assert found.corpus == pytest.approx({"corpus_tool_call_precision": 4 / 7, "corpus_tool_call_recall": 4 / 6})
    compared = fm.compare(runs, metrics="corpus_tool_call_recall", resamples=99, bootstrap=99)
    assert compared["corpus_tool_call_recall"].delta == pytest.approx(1 / 3)
