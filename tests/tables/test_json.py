"""JSON: lines and documents, deep, long and damaged ones."""

import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.kernels.byte_search import deepest
from fastmetrics.tables.encoders import DEPTH
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.json_documents import outline, record_lists
from fastmetrics.tables.opening import open_source, open_table
from fastmetrics.tables.readers import Position
from tests.support.goldens import refused
from tests.support.program import jsonl, program
from tests.support.table_files import read

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = {
    "text": st.none() | TEXT,
    "texts": st.none() | st.lists(TEXT | st.none(), max_size=3),
    "ids": st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    "id": st.none() | st.integers(-(2**63), 2**63 - 1),
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    "numbers": st.none() | st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    "flag": st.none() | st.booleans(),
}
ANY = st.sampled_from(["text", "texts", "ids", "id", "numbers", "flag"])


def written(path, rows, *, bad=None):
    """Rows as lines, before one of which may stand a bad one."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    if bad is not None:
        lines.insert(bad, "{bad")
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@given(data=st.data(), kind=st.sampled_from(list(VALUES)), kept=ANY, bad=st.integers(0, 5))
def test_a_bad_line_changes_nothing_for_the_others(tmp_path_factory, data, kind, kept, bad):
    """Neither the types of the columns nor their values: of its block each line is then read by itself."""
    folder = tmp_path_factory.mktemp("lines")
    pairs = st.fixed_dictionaries({"x": VALUES[kind]}, optional={"kept": VALUES[kept]})
    rows = data.draw(st.lists(pairs, min_size=1, max_size=6))
    good = open_source(written(folder / "good.jsonl", rows))
    mixed = open_source(written(folder / "mixed.jsonl", rows, bad=min(bad, len(rows))))
    assert set(mixed.schema.names) == set(good.schema.names)
    kinds = {"x": kind, **({"kept": "any"} if "kept" in good.schema.names else {})}
    expected, none = read(good, kinds)
    found, rejects = read(mixed, kinds)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    assert (none, len(rejects)) == ([], 1)


@pytest.mark.parametrize(
    ("rows", "type_"),
    [
        ([True, None, False], pa.bool_()),
        ([1, None], pa.int64()),
        ([1, 0.5], pa.float64()),
        (["a", None], pa.string()),
        ([None, None], pa.string()),
        ([[1], [2, 3]], pa.list_(pa.int64())),
        ([[], [True]], pa.list_(pa.bool_())),
        ([["a"], None], pa.list_(pa.string())),
        ([[None], [0.5, 1]], pa.list_(pa.float64())),
    ],
)
@pytest.mark.parametrize("bad", [None, 0, 2])
def test_kept_values_have_the_type_that_holds_them(tmp_path, rows, type_, bad):
    source = open_source(written(tmp_path / "in.jsonl", [{"x": row} for row in rows], bad=bad))
    found, _ = read(source, {"x": "any"})
    assert found["x"].type == type_
    assert found["x"].to_pylist() == rows


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([True, 1], ["true", "1"]),
        ([1, "a"], ["1", "a"]),
        (["a", ["b"]], ["a", '["b"]']),
        ([{"a": 1}, "ü"], ['{"a": 1}', "ü"]),
        ([{"ü": [1, None]}, 7], ['{"ü": [1, null]}', "7"]),
        (["2024-01-05", "x"], ["2024-01-05", "x"]),
        (["2024-01-05", "2024-01-06"], ["2024-01-05", "2024-01-06"]),
        (["2024-01-05 10:00:00", None], ["2024-01-05 10:00:00", None]),
    ],
)
def test_mixed_kept_values_become_text(tmp_path, rows, kept):
    """At once or late, as JSON where they were no text; and a time stays as it was written."""
    for block in (8 << 20, 1):
        path = written(tmp_path / "in.jsonl", [json.dumps({"x": row}, ensure_ascii=False) for row in rows])
        source = open_source(path, sizes=ReadSizes(line_block_bytes=block))
        selection = source.select({"x": "any"}).widen("x", pa.string())
        chunks = list(source.chunks(selection))
        assert [value for chunk in chunks for value in chunk.batch["x"].to_pylist()] == kept


@pytest.mark.parametrize("line", ["null", " null ", "{}", '{"other": 1}'])
@pytest.mark.parametrize("bad", [None, 0])
def test_an_object_without_the_column_is_a_row_of_nothing(tmp_path, line, bad):
    path = written(tmp_path / "in.jsonl", [{"x": "a"}, line, {"x": "b"}], bad=bad)
    assert read(open_source(path), {"x": "text"})[0]["x"].to_pylist() == ["a", None, "b"]


@pytest.mark.parametrize("line", ['{"x": "a"} {"x": "b"}', '{"x": "a"}{"x": "b"}', '{"x": "a"},', '{"x": "a"'])
@pytest.mark.parametrize("before", [0, 1])
def test_lines_without_one_object_are_bad_rows(tmp_path, line, before):
    path = written(tmp_path / "in.jsonl", [*[{"x": "z"}] * before, line, {"x": "c"}])
    found, rejects = read(open_source(path), {"x": "text"})
    assert found["x"].to_pylist() == ["z"] * before + ["c"]
    assert [reject.split(": ")[:2] for reject in rejects] == [[f"{path}, line {before + 1}", "malformed JSON"]]


def test_columns_are_those_of_the_first_block_that_holds_any(tmp_path):
    sizes = ReadSizes(line_block_bytes=16)
    path = written(tmp_path / "in.jsonl", [*[" "] * 40, {"x": "a"}, {"y": "b"}])
    source = open_source(path, sizes=sizes)
    assert source.schema.names == ["x"]
    assert read(source, {"x": "text"})[0]["x"].to_pylist() == ["a", None]
    (tmp_path / "blank.jsonl").write_text(" \n" * 40)
    assert read(open_source([tmp_path / "blank.jsonl", path], sizes=sizes), {"x": "text"})[0].num_rows == 2


@pytest.mark.parametrize("ascii_", [True, False])
def test_a_late_column_is_found_however_its_name_is_written(tmp_path, ascii_):
    rows = [json.dumps({"x": "a"})] * 20 + [json.dumps({'größe "m"': "b"}, ensure_ascii=ascii_)]
    source = open_source(written(tmp_path / "in.jsonl", rows), sizes=ReadSizes(line_block_bytes=64))
    assert read(source, {'größe "m"': "text"})[0].column(0).to_pylist() == [None] * 20 + ["b"]
    refused(ColumnError, "größe", source.select, {"größe": "text"})


def test_no_character_is_lost_where_a_block_ends(tmp_path):
    """Not even one that would be a mark at the beginning of a file."""
    texts = ["\ufeff" * n + "é😀" for n in range(8)]
    rows = [json.dumps({"x": text}, ensure_ascii=False) for text in texts]
    path = written(tmp_path / "in.jsonl", ["\ufeff" + rows[0], *rows[1:]])
    for block in range(3, 60):
        source = open_source(path, sizes=ReadSizes(line_block_bytes=block))
        assert read(source, {"x": "text"})[0]["x"].to_pylist() == texts


def test_integers_beyond_64_bits_keep_their_digits(tmp_path):
    path = tmp_path / "rows.jsonl"
    large = 2**64 - 1
    rows = [
        {"id": large, "pages": [large, 1], "share": 1.5, "answer": "a"},
        {"id": 2**53 + 1, "pages": [2**53 + 1], "share": 2**70, "answer": f"of {large}, of"},
        {"id": 2**53, "pages": None, "share": 1, "answer": "b"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    source = open_source(path)
    assert {field.name: str(field.type) for field in source.schema} == {
        "id": "string",
        "pages": "list<item: string>",
        "share": "double",
        "answer": "string",
    }
    kept = read(source, {"id": "id", "pages": "any", "share": "any"})[0].to_pydict()
    assert kept["id"] == [str(large), str(2**53 + 1), str(2**53)]
    assert kept["pages"] == [[str(large), "1"], [str(2**53 + 1)], None]
    assert kept["share"] == [1.5, 2.0**70, 1.0]
    assert read(source, {"id": "value", "pages": "values"})[0].to_pydict() == {"id": kept["id"], "pages": kept["pages"]}


def test_ids_beside_floats_keep_their_digits(tmp_path):
    path = written(tmp_path / "rows.jsonl", [{"ID": 2**53 + 1, "n": 2**53 + 1}, {"ID": 1.5, "n": 0.5}, {"ID": 7}])
    kept = read(open_source(path), {"ID": "any", "n": "any"})[0].to_pydict()
    assert kept == {"ID": [str(2**53 + 1), "1.5", "7"], "n": [2.0**53, 0.5, None]}


@pytest.mark.parametrize("before", ["", " ", "\n\n"])
@pytest.mark.parametrize("line", ["null", "null {}", "true", "3", '"x"', "nul", "{", "\x00"])
def test_first_lines_that_are_no_objects(tmp_path, before, line):
    """Arrow's parser ends the process at a first line that is null."""
    path = written(tmp_path / "rows.jsonl", [before + line, {"answer": "a"}])
    found, rejects = read(open_source(path, "jsonl"), {"answer": "text"})
    assert found["answer"].to_pylist() == [*([None] if line == "null" else []), "a"]
    assert len(rejects) == (line != "null")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("n_before", [1, 200])
def test_a_column_may_be_in_the_last_line_alone(end, suffix, n_before, tmp_path):
    lines = [json.dumps({"id": row, "answer": "a"}) for row in range(n_before)]
    text = "\n".join([*lines, json.dumps({"id": n_before, "answer": "b", "reference": "b"})]) + end
    path = tmp_path / f"t.jsonl{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix else text.encode())
    found = fm.score(path, "exact_match")["exact_match"].to_pylist()
    assert (len(found), found[-1], set(found[:-1])) == (n_before + 1, 1.0, {None})


BLANK = ["", " ", "\t", "  \t ", "\r", "\x0b", "\x0c"]
BAD = [None, "broken", '{"answer": 7}']


def ended_by(path, lines, end):
    path.write_bytes(end.join(lines).encode())
    return path


def found(source, kinds, start=0):
    """The numbers of the good rows, what they hold, and the rejects."""
    chunks = list(source.chunks(source.select(kinds), Position(0, start)))
    rows = [row for chunk in chunks for row in chunk.rows.tolist()]
    texts = [text for chunk in chunks for text in chunk.batch["answer"].to_pylist()]
    return rows, texts, [str(reject) for chunk in chunks for reject in chunk.rejects]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [8 << 20, 64])
def test_blank_json_lines_are_counted_but_skipped(tmp_path, blank, bad, end, block):
    """Among good lines, which Arrow parses, and where a bad one has all of its block read line by line."""
    lines = [json.dumps({"answer": f"row {n}"}) for n in range(30)]
    at = [0, 1, 7, 8, 20, 29]
    for n in at:
        lines[n] = blank
    wrong = [n for n in (4, 21) if bad is not None]
    for n in wrong:
        lines[n] = bad
    path = ended_by(tmp_path / "in.jsonl", [*lines, blank], end)
    source = open_source(path, sizes=ReadSizes(line_block_bytes=block))
    good = [n for n in range(30) if n not in at and n not in wrong]
    for start in (0, 3, 8, 21, 30):
        rows, texts, rejects = found(source, {"answer": "text"}, start)
        assert rows == [n for n in good if n >= start]
        assert texts == [f"row {n}" for n in rows]
        assert [re.findall(r"line (\d+)[,:]", one) for one in rejects] == [[str(n + 1)] for n in wrong if n >= start]


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.tsv"])
@pytest.mark.parametrize("block", [8 << 20, 16])
def test_byte_order_mark_is_stripped_at_the_start(tmp_path, name, block):
    """At the beginning; anywhere else it is a character."""
    lines = ["answer", "\ufeffa", "b"]
    if name == "in.jsonl":
        lines = [json.dumps({"answer": text}, ensure_ascii=False) for text in lines[1:]]
    ended_by(tmp_path / name, ["\ufeff" + lines[0], *lines[1:]], "\n")
    format = None if name == "in.jsonl" else name[3:]
    source = open_source(tmp_path / name, format, sizes=ReadSizes(line_block_bytes=block, csv_block_bytes=block))
    assert source.schema.names == ["answer"]
    assert found(source, {"answer": "text"}) == ([0, 1], ["\ufeffa", "b"], [])


def test_csv_ids_keep_their_spelling(tmp_path):
    ids = ["007", "7", "7.0", "9007199254740993", "99999999999999999999999", "1e3", "true", "NA", "null", " 7", ""]
    ended_by(tmp_path / "in.csv", ["id,answer", *(f"{one},x" for one in ids)], "\n")
    for kind in ("id", "any", "text"):
        assert read(open_source(tmp_path / "in.csv"), {"id": kind})[0]["id"].to_pylist() == [*ids[:-1], None]
    listed = open_source(ended_by(tmp_path / "lists.csv", ["ids,answer", '"[""007"", 7]",x', '"[7.5]",x'], "\n"))
    table, rejects = read(listed, {"ids": "ids"})
    assert table["ids"].to_pylist() == [["007", "7"]]
    assert len(rejects) == 1


JSON_DOCUMENTS_TEXT = st.text(alphabet='"\\{}[],: \n\tresults\u00e9\U0001f600', max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | JSON_DOCUMENTS_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(JSON_DOCUMENTS_TEXT | st.just("results"), inner, max_size=3)
    ),
    max_leaves=8,
)
RECORD = st.fixed_dictionaries({"id": st.integers(0, 9), "text": JSON_DOCUMENTS_TEXT, "more": VALUE})


def rows_of(path, records=None, size=1 << 20):
    source = open_table(path, ReadSettings(records=records), ReadSizes(line_block_bytes=size))
    table, rejects = read(source, {"id": "id", "text": "text"})
    assert rejects == []
    return table.to_pylist()


@given(
    records=st.lists(RECORD, min_size=1, max_size=5),
    around=st.dictionaries(JSON_DOCUMENTS_TEXT, VALUE, max_size=3),
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
    asked, strict = {"columns": {"answer": "text"}}, fm.tables.FileSettings(records="rows")
    refused(FileFormatError, f"{row}", fm.score, path, "answer_words", files=strict, **asked)
    result = fm.score(path, "answer_words", output=tmp_path / "s.jsonl", files=files, **asked)
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


@pytest.mark.parametrize(("command", "suffix"), [("score", "json"), ("rank", "jsonl"), ("judge report", "jsonl")])
def test_every_reader_of_json_refuses_it(tmp_path, command, suffix):
    bad = jsonl(tmp_path / f"t.{suffix}", {**GOOD, "question": "a"}, f'{{"q": {nested("lists", 100_000)}}}')
    done = program(*command.split(), bad, *([bad] if command == "rank" else []))
    assert (done.code, str(bad) in done.err, "Traceback" in done.err) == (3, True, False)
