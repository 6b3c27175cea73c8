"""JSON documents: the records of a list in them, and nesting deeper than parsers can go."""

import gzip
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.kernels.byte_search import deepest
from fastmetrics.tables.encoders import DEPTH
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.json_documents import outline, record_lists
from fastmetrics.tables.opening import open_source, open_table
from tests.support.program import jsonl, program
from tests.support.table_files import read

TEXT = st.text(alphabet='"\\{}[],: \n\tresults\u00e9\U0001f600', max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.just("results"), inner, max_size=3),
    max_leaves=8,
)
RECORD = st.fixed_dictionaries({"id": st.integers(0, 9), "text": TEXT, "more": VALUE})


def rows_of(path, records=None, size=1 << 20):
    source = open_table(path, ReadSettings(records=records), ReadSizes(line_block_bytes=size))
    table, rejects = read(source, {"id": "id", "text": "text"})
    assert rejects == []
    return table.to_pylist()


@given(
    records=st.lists(RECORD, min_size=1, max_size=5),
    around=st.dictionaries(TEXT, VALUE, max_size=3),
    indent=st.sampled_from([None, 2]),
    nested=st.booleans(),
    size=st.sampled_from([1, 2, 7, 64, 1 << 20]),
)
def test_a_list_in_a_document_is_its_records(tmp_path_factory, records, around, indent, nested, size):
    path = tmp_path_factory.mktemp("json") / "rows.json"
    document = records
    if nested:
        around = {name: value for name, value in around.items() if name not in ("results", "rows")}
        document = {**around, "results": {**around, "rows": records, "z": around}, "end": [around]}
    path.write_text(json.dumps(document, indent=indent))
    expected = [{"id": record["id"], "text": record["text"]} for record in records]
    assert rows_of(path, "results.rows" if nested else None, size) == expected


def test_records_within_records_know_what_they_are_in(tmp_path):
    """SQuAD has the questions after or before the passage that they are about."""
    articles = [
        {"title": "a", "paragraphs": [{"qas": [{"id": "1", "q": "x"}, {"id": "2", "q": "y z"}], "context": "one"}]},
        {"title": "b", "paragraphs": [{"context": "two", "qas": [{"id": "3", "q": "w"}]}, {"context": "none"}]},
    ]
    columns = {"answer": "q", "question": "^.context", "reference": "^.^.title"}
    for indent in (None, 1):
        path = tmp_path / f"{indent}.json"
        path.write_text(json.dumps({"version": "1", "data": articles}, indent=indent))
        files = fm.tables.FileSettings(records="data[].paragraphs[].qas")
        scores = fm.score(path, "answer_words", columns=columns, keep="^.context,^.^.title", files=files)
        assert scores.to_pydict() == {
            "id": ["1", "2", "3"],
            "^.context": ["one", "one", "two"],
            "^.^.title": ["a", "a", "b"],
            "answer_words": [1, 2, 1],
        }
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(article) + "\n" for article in articles))
    files = fm.tables.FileSettings(records="paragraphs[].qas[]")
    assert fm.score(lines, "answer_words", columns=columns, files=files)["id"].to_pylist() == ["1", "2", "3"]


def test_commands_take_the_path_of_the_records(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"out": {"rows": [{"answer": "a b"}, {"answer": "c"}]}}, indent=1))
    done = program("score", path, "-m", "answer_words", "--records", "out.rows", "-o", tmp_path / "scores.jsonl")
    assert done.code == 0
    assert fm.summarize(tmp_path / "scores.jsonl")["answer_words"].mean == 1.5
    done = program("logs", "check", path, "--records", "out.rows")
    assert done.code == 0


def test_a_packed_document_is_read(tmp_path):
    path = tmp_path / "rows.json.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf\n [{"id": 1, "text": "a"}]\n'))
    assert rows_of(path) == [{"id": 1, "text": "a"}]


def test_a_list_named_as_lines_is_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('[{"id": 1, "text": "a"}]')
    assert rows_of(path) == [{"id": 1, "text": "a"}]


def test_a_document_with_nan_and_long_numbers_keeps_them(tmp_path):
    """They are no strict JSON, but what Python writes."""
    records = [{"id": 1, "text": "a"}, {"id": 2**40, "score": float("nan")}, {"id": 3, "score": 0.1, "text": "\ud800"}]
    path = tmp_path / "rows.json"
    for indent in (None, 1):
        path.write_text(json.dumps({"rows": records, "mean": float("inf")}, indent=indent))
        source = open_table(path, ReadSettings(records="rows"), ReadSizes(line_block_bytes=1))
        table, rejects = read(source, {"id": "id", "score": "number"})
        assert table["id"].to_pylist() == [1, 2**40, 3]
        assert str(table["score"].to_pylist()) == "[None, nan, 0.1]"
        assert rejects == []
    path.write_text('[{"text": "\\ud83d"}, {"text": "b"}]')
    assert read(open_table(path), {"text": "text"})[0]["text"].to_pylist() == ["\ufffd", "b"]
    path.write_text('[{"x": 123456789012345678901234567890}, {"x": 1e400}]')
    table, rejects = read(open_table(path), {"x": "any"})
    assert table["x"].to_pylist() == [123456789012345678901234567890.0, float("inf")]


@pytest.mark.parametrize(("end", "row"), [('{"id": 3, "te', 3), ("", 3), (' {"id": 3, "text": "d"}', 4), ('"x', 3)])
def test_a_document_that_is_cut_names_the_record(tmp_path, end, row):
    path = tmp_path / "rows.json"
    path.write_text('{\n"rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b c"},' + end)
    files = fm.tables.FileSettings(records="rows", on_error="skip")
    with pytest.raises(FileFormatError, match=f"record {row}: the document ends within this record"):
        fm.score(path, "answer_words", columns={"answer": "text"}, files=fm.tables.FileSettings(records="rows"))
    result = fm.score(path, "answer_words", columns={"answer": "text"}, output=tmp_path / "s.jsonl", files=files)
    assert (result.rows, result.rejected) == (row - 1, 1)


def test_a_record_that_is_too_long_is_a_bad_row(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"id": 1, "text": "a"}, {"id": 2, "text": "b" * 9000}, {"id": 3, "text": "c"}]))
    for size in (100, 1 << 20):
        settings = ReadSettings(max_row_bytes=1000)
        source = open_table(path, settings, ReadSizes(line_block_bytes=size))
        table, rejects = read(source, {"id": "id"})
        assert table["id"].to_pylist() == [1, 3]
        assert len(rejects) == 1
        assert "record 2: the row has more than 1,000 bytes" in str(rejects[0])
        size = len('{"id":2,"text":""}') + 9000
        for most, bad in ((size - 1, 1), (size, 0), (size + 1, 0)):
            assert len(read(open_table(path, ReadSettings(max_row_bytes=most)), {"id": "id"})[1]) == bad


def test_an_outline_shows_the_lists_of_objects():
    head = b'{"v": 1, "r": {"list": [{"a": {"b": [1, {"c": 2}]}}, {"d": "}"}], "e": []}, "f": ["x'
    within = ["r.list[]", "r.list[].a", "r.list[].a.b", "r.list[].a.b[]", "r.list[].a.b[].c", "r.list[].d"]
    assert list(outline(head)) == ["v", "r", "r.list", *within, "r.e", "f"]
    assert record_lists(outline(head)) == ["r.list"]


GOOD = {"id": 1, "answer": "in Paris", "reference": "Paris"}
SHAPES = {
    "lists": ("[", "1", "]"),
    "objects": ('{"a":', "1", "}"),
    "both": ('[{"a":', "1", "}]"),
    "open": ("[", "", ""),
}


def nested(shape, depth):
    opening, core, closing = SHAPES[shape]
    times = depth // (2 if shape == "both" else 1)
    return opening * times + core + closing * times


def reference(data, most):
    """Where the first bracket is too deep, by a plain state machine, line by line."""
    place = 0
    for line in data.split(b"\n"):
        depth, within, escaped = 0, False, False
        for at, byte in enumerate(line):
            if within:
                within = escaped or byte != ord('"')
                escaped = not escaped and byte == ord("\\")
            elif byte == ord('"'):
                within = True
            elif byte in b"[{":
                depth += 1
                if depth > most:
                    return place + at
            elif byte in b"]}":
                depth -= 1
        place += len(line) + 1
    return -1


pieces = st.sampled_from(["[", "{", "]", "}", '"', "\\", "\n", "a", "[" * 7, "]" * 7, "a" * 130, '"' + "[" * 9 + '"'])


@given(st.lists(pieces, max_size=60), st.integers(1, 9))
def test_the_first_bracket_too_deep_is_found(text, most):
    data = "".join(text).encode()
    assert deepest(np.frombuffer(data, np.uint8), most) == reference(data, most)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", [DEPTH + 2, 300_000])
@pytest.mark.parametrize("column", ["answer", "nobody_asks"])
def test_a_deep_line_is_a_bad_row(tmp_path, monkeypatch, shape, depth, column):
    monkeypatch.chdir(tmp_path)
    deep = f'{{"id": 2, "{column}": {nested(shape, depth)}}}'
    jsonl(tmp_path / "t.jsonl", GOOD, deep, {**GOOD, "id": 3})
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1", "--threads", "1")
    assert (done.code, done.err) == (3, f"error: t.jsonl, line 2: nested more than {DEPTH} levels deep\n")
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1", "--on-error", "skip")
    assert (done.code, pq.read_table("o.parquet")["id"].to_pylist()) == (0, [1, 3])
    (reject,) = map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines())
    assert (reject["line"], reject["raw"]) == (2, deep[:10_000])


@pytest.mark.parametrize("shape", ["lists", "objects", "both"])
def test_json_at_the_depth_limit_is_read(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    odd = {"question": '[[[[ {"a": \\" [' * 100, "other": [{"text": "]]]"}] * 300}
    allowed = json.dumps({**GOOD, "deep": json.loads(nested(shape, DEPTH - 2))})
    jsonl(tmp_path / "t.jsonl", {**GOOD, **odd}, allowed)
    done = program("score", "t.jsonl", "-o", "o.parquet", "-m", "token_f1")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("place", [0, 50, 99])
def test_a_deep_line_is_found_in_any_block(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    rows = [{**GOOD, "id": row} for row in range(100)]
    rows[place] = f'{{"x": {nested("lists", 50_000)}}}'
    jsonl(tmp_path / "t.jsonl", *rows)
    source = open_source("t.jsonl", sizes=ReadSizes(line_block_bytes=700))
    fm.score(source, "token_f1", output="o.parquet", files=fm.tables.FileSettings(on_error="skip"))
    assert pq.read_table("o.parquet")["id"].to_pylist() == [n for n in range(100) if n != place]


COMMANDS = ("score", "summarize", "validate", "match", "rank", "answer", "judge report", "judge sample")
LOGS = ("logs chunks", "logs domains", "logs topics", "logs cache")  # for logs check it is a finding


@pytest.mark.parametrize(
    ("command", "suffix"), [*((command, "jsonl") for command in (*COMMANDS, *LOGS)), ("score", "json")]
)
def test_every_command_that_reads_json_refuses_it(tmp_path, command, suffix):
    bad = jsonl(
        tmp_path / f"t.{suffix}",
        {**GOOD, "question": "a", "score": 1.5, "retrieved_ids": ["a"], "question_embedding": [1.0]},
        f'{{"q": {nested("lists", 100_000)}}}',
    )
    out = ["-o", tmp_path / "o.parquet"]
    more = {"score": out, "match": [bad, *out], "answer": [*out, "--bot", "faq", "--faq", bad]}
    more |= {"judge report": [], "judge sample": ["-n", "1", *out]}
    done = program(*command.split(), bad, *more.get(command, [bad] if command in ("validate", "rank") else []))
    assert done.code == 3
    assert str(bad) in done.err
    assert "Traceback" not in done.err
