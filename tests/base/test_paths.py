"""Paths and the limits that settings have."""

import json
import math
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, OptionError
from fastmetrics.base.paths import EVERY, First, Names, PathError, merged, parse, spelled
from tests.support.goldens import refused

LEAF = st.none() | st.sampled_from(["", "yes", "no"])
ITEM = st.none() | st.fixed_dictionaries({"role": LEAF, "text": LEAF, "tags": st.none() | st.lists(LEAF, max_size=2)})
RECORD = st.fixed_dictionaries(
    {
        "a": st.none() | st.fixed_dictionaries({"b": LEAF, "c": st.none() | st.fixed_dictionaries({"d.e": LEAF})}),
        "items": st.none() | st.lists(ITEM, max_size=3),
        "json": st.none()
        | st.builds(json.dumps, st.fixed_dictionaries({"q": st.lists(st.integers(0, 9), max_size=2)})),
    }
)
TYPES = pa.schema(
    {
        "a": pa.struct({"b": pa.string(), "c": pa.struct({"d.e": pa.string()})}),
        "items": pa.list_(pa.struct({"role": pa.string(), "text": pa.string(), "tags": pa.list_(pa.string())})),
        "json": pa.string(),
    }
)
PATHS = (
    "a.b",
    "a.c.d.e",
    'a.c."d.e"',
    "items[0].text",
    "items[-2].text",
    "items[].text",
    "items[].tags[]",
    "items[role=yes].text",
    "items[role=no].tags[-1]",
    "items[role=yes].text || a.b",
    "json.q",
    "json.q[1]",
    "[a.b, items[0].text]",
)


@pytest.mark.parametrize("path", PATHS)
@given(rows=st.lists(RECORD, max_size=4), start=st.integers(0, 2))
def test_arrow_and_json_agree(path, rows, start):
    """Also in a slice of a table, whose offsets do not begin at 0."""
    table = pa.Table.from_pylist(rows, schema=TYPES).slice(start)
    columns = {name: table.column(name) for name in table.column_names}
    found = parse(path).column(columns)
    assert found.to_pylist() == [parse(path).value(row) for row in rows[start:]]


def test_a_text_becomes_steps():
    assert parse("choices[0].message.content").choices == (("choices", 0, "message", "content"),)
    assert parse('docs[]."x.y" || m[role=user].z').choices == (
        ("docs", EVERY, "x.y"),
        ("m", First("role", "user"), "z"),
    )


@pytest.mark.parametrize("path", ["a.b", "a[0]", "a[-1].b", "a[].b", "a[k=v].b", 'a."b.c"'])
def test_steps_have_the_text_that_they_came_from(path):
    assert spelled(parse(path).choices[0]) == path


@pytest.mark.parametrize("text", ["a[", "a..b", "[0].a", "a[x]", "", "a || ", "a.b]"])
def test_a_text_that_is_no_path_says_from_where(text):
    refused(ColumnError, "a.b", parse, text)


@pytest.mark.parametrize(
    ("path", "record", "message"),
    [
        ("a.b", {"a": "yes"}, "expected an object at 'a', got 'yes'"),
        ("a.b", {"a": [1]}, "expected an object at 'a', got a list"),
        ("a[0]", {"a": {"b": 1}}, r"expected a list at 'a', got an object"),
        ("a[].b.c", {"a": [{"b": 7}]}, r"expected an object at 'a\[\].b', got 7"),
    ],
)
def test_another_kind_on_the_way_is_an_error(path, record, message):
    with pytest.raises(PathError, match=message):
        parse(path).value(record)


def test_another_kind_leaves_the_other_alternatives():
    path = parse("input[-1].content || input")
    assert path.value({"input": "Why?"}) == "Why?"
    assert path.value({"input": [{"content": "a"}, {"content": "b"}]}) == "b"


def test_names_find_paths_and_say_what_is_near():
    names = Names(["id", "docs"], {"docs": pa.list_(pa.struct({"text": pa.string()}))})
    assert "docs[].text" in names
    assert "docs[].txt" not in names
    assert "dcs[].text" not in names
    assert "did you mean 'text'? (in 'docs[]')" in names.unknown("docs[].txt")
    assert "did you mean 'docs'?" in names.unknown("dcs[].text")
    assert "got list" in names.unknown("docs.text")


def test_types_of_several_paths_are_one():
    record = pa.struct({"a": pa.struct({"b": pa.null(), "c": pa.list_(pa.int64()), "d": pa.string()})})
    first, second = parse("a.b").read_from(record, pa.string()), parse("a.c[0]").read_from(record, pa.int64())
    assert merged(first, second) == pa.struct({"a": pa.struct({"b": pa.string(), "c": pa.list_(pa.int64())})})
    refused(PathError, "once", lambda: merged(first, parse("a.b[0]").read_from(record, pa.string())))


@pytest.mark.parametrize(
    ("path", "leaf", "read"),
    [
        ("d.e", pa.string(), {"d.e": pa.string()}),
        (
            "m[role=user].content",
            pa.string(),
            {"m": pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))},
        ),
        ("x unless z.why", pa.string(), {"x": pa.string(), "z": pa.struct({"why": pa.string()})}),
        ("[x, n]", pa.list_(pa.string()), {"x": pa.string(), "n": pa.int64()}),
        ("n since x", pa.float64(), {"n": pa.int64(), "x": pa.string()}),
        ("m[].content", pa.string(), None),
        ("m[turn=last].answer", pa.string(), None),
        ("x.y", pa.string(), None),
    ],
)
def test_only_what_a_path_leads_through_is_read(path, leaf, read):
    messages = pa.list_(pa.struct({"role": pa.string(), "content": pa.string(), "n": pa.int64()}))
    record = pa.struct({"d.e": pa.string(), "m": messages, "x": pa.string(), "n": pa.int64()})
    if read is not None:
        assert parse(path).read_from(record, leaf) == pa.struct(read)
    else:
        with pytest.raises(PathError):
            parse(path).read_from(record, leaf)


def test_an_answer_is_missing_unless_its_error_has_no_value():
    path = parse("output.text unless error.message || error")
    rows = [
        {"output": {"text": "yes"}, "error": None},
        {"output": {"text": ""}, "error": {"message": "no connection"}},
        {"output": {"text": "yes"}, "error": {"message": ""}},
    ]
    table = pa.Table.from_pylist(rows)
    columns = {name: table.column(name) for name in table.column_names}
    assert path.column(columns).to_pylist() == [path.value(row) for row in rows] == ["yes", None, "yes"]
    assert path.value({"output": {"text": "yes"}, "error": "of another kind"}) is None
    assert path.column({"output": columns["output"]}).to_pylist() == ["yes", "", "yes"]
    flags = {"answer": pa.array(["a", "b", "c"]), "failed": pa.array([True, False, None])}
    assert parse("answer unless failed").column(flags).to_pylist() == [None, "b", "c"]
    assert parse('"a unless b"').choices == (("a unless b",),)


def test_a_name_that_nearly_fits_what_a_value_depends_on_is_an_error():
    names = Names(["answer", "error"])
    assert "answer unless error" in names
    assert "answer unless failure.message" in names  # no row of the table may have one
    assert names.unknown("answer unless eror") == "unknown column 'eror'; did you mean 'error'?"


@pytest.mark.parametrize(
    ("start", "end", "milliseconds"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00.25+01:00", 250.0),
        ("2026-01-01 00:00:00", "2026-01-01T00:00:02", 2000.0),
        ("1795768291532022592", 1795768291532522592, 0.5),
        (1795768291532, 1795768291542, 10.0),
        (1795768291, 1795768291.5, 500.0),
        (None, "2026-01-01T00:00:00Z", None),
    ],
)
def test_time_between_moments_is_in_milliseconds(start, end, milliseconds):
    path = parse("t.end since t.start")
    assert path.value({"t": {"start": start, "end": end}}) == milliseconds
    columns = {"t": pa.array([{"start": start, "end": end}])}
    assert path.column(columns).to_pylist() == [milliseconds]


def test_times_of_arrow_are_moments():
    times = pa.array([1_500_000_000_000, None], pa.timestamp("ms", "UTC"))
    columns = {"start": times, "end": pa.array([1_500_000_000_250, 5], pa.timestamp("ms", "UTC"))}
    assert parse("end since start").column(columns).to_pylist() == [250.0, None]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-01-01T10:00:00", "2026-01-01T10:00:01Z"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:01"),
        ("2026-01-01 10:00:00", "2026-01-01T12:00:01+02:00"),
        ("2026-01-01T10:00:00", 1767261601),
        (1767261600.5, "2026-01-01T10:00:01"),
        (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
        ("noon", "2026-01-01T10:00:01Z"),
        ("2026-01-01T10:00:00Z", "1s"),
        ("", "2026-01-01T10:00:01Z"),
        ("2026-13-01T10:00:00Z", "2026-13-01T10:00:01Z"),
    ],
)
def test_time_between_moments_of_unlike_clocks_is_not_told(start, end):
    assert math.isnan(parse("end since start").value({"start": start, "end": end}))


def client(**setting):
    return getattr(fm.models.ClientSettings.of(setting), *setting)


def judging(**setting):
    return getattr(fm.models.JudgeSettings("safety", "m", **setting), *setting)


def reading(**setting):
    return getattr(fm.tables.FileSettings(**setting), *setting)


def scoring(threads):
    fm.score({"answer": ["a"]}, "answer_words", threads=threads)
    return threads


BILLION = 10**9
LIMITS = [  # the function, the setting, the value below its limits, the lowest, the highest and the one above
    (client, "concurrency", 0, 1, 10_000, 10_001),
    (client, "tries", 0, 1, 100, 101),
    (client, "max_chars", 0, 1, BILLION, BILLION + 1),
    (client, "max_reply_bytes", 0, 1, BILLION, BILLION + 1),
    (client, "max_calls", -1, 0, BILLION, BILLION + 1),
    (client, "max_cost", -1e-9, 0.0, 1e9, 1e9 + 1),
    (client, "pause", -1e-9, 0.0, 86_400.0, 86_400.1),
    (client, "timeout", 0.0, 1e-9, 86_400.0, 86_400.1),
    (client, "rpm", 0.0, 1e-9, 1e9, 1e9 + 1),
    (client, "tpm", 0.0, 1e-9, 1e9, 1e9 + 1),
    (judging, "repeats", 0, 1, 1_000, 1_001),
    (judging, "max_unparsed", -1, 0, BILLION, BILLION + 1),
    (reading, "batch_rows", 0, 1, BILLION, BILLION + 1),
    (scoring, "threads", 0, 1, 1_024, 1_025),
]


@pytest.mark.parametrize(("take", "name", "below", "low", "high", "above"), LIMITS)
def test_settings_are_taken_from_their_lowest_to_their_highest_value(take, name, below, low, high, above):
    assert [take(**{name: value}) for value in (low, high)] == [low, high]
    for value in (below, above):
        with pytest.raises(OptionError, match=name):
            take(**{name: value})
