"""Reading tables: every format, and every way in which a file can be wrong."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmetrics.errors import ColumnError, FileFormatError, OptionError
from fastmetrics.tables import Limits, Place, cut, open_source
from fastmetrics.tables.chunks import cell_bytes
from fastmetrics.tables.kinds import Widened
from fastmetrics.tables.utf8 import bad_text

ROWS = {
    "id": ["a", "b", "c"],
    "answer": ["yes", 'with "quotes",\nand a line', "Ünï\u2028 😀 \x00 end"],
    "reference": ["yes", "no", "\ufeff"],
}
KINDS = {"id": "id", "answer": "text", "reference": "texts"}


def read(source, kinds, *, threads=1):
    """All good rows as a table, and all rejects as text."""
    selection = source.select(kinds)
    batches, rejects = [], []
    for chunk in source.chunks(selection, threads=threads):
        rejects.extend(map(str, chunk.rejects))
        if len(chunk.rows):
            batches.append(source.conform(chunk, selection))
    return pa.Table.from_batches(batches, schema=selection.schema), rejects


def write(table: pa.Table, path: Path) -> Path:
    """The table in the format of the path's suffix."""
    name = path.name
    if ".parquet" in name:
        pq.write_table(table, path)
        return path
    if name.endswith(".arrows"):
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        return path
    if name.endswith((".arrow", ".feather")):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        return path
    if ".jsonl" in name:
        text = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    else:
        sink = io.BytesIO()
        pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter="\t" if ".tsv" in name else ","))
        text = sink.getvalue()
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.output_stream(str(path), compression=compression) as stream:
        stream.write(text)
    return path


FORMATS = ["t.parquet", "t.arrow", "t.arrows", "t.feather", "t.jsonl", "t.csv", "t.tsv"]
FORMATS += ["t.jsonl.gz", "t.jsonl.zst", "t.csv.gz", "t.csv.zst", "t.tsv.gz"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_rows(tmp_path, name, threads):
    path = write(pa.table(ROWS), tmp_path / name)
    table, rejects = read(open_source(path), KINDS, threads=threads)
    assert table.to_pydict() == ROWS
    assert rejects == []


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
@settings(max_examples=25, deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=8))
def test_any_unicode_survives(tmp_path_factory, name, texts):
    path = write(pa.table({"id": range(len(texts)), "answer": texts}), tmp_path_factory.mktemp("u") / name)
    table, rejects = read(open_source(path), {"answer": "text"})
    assert table["answer"].to_pylist() == texts
    assert rejects == []


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_is_recognised(tmp_path, name, monkeypatch):
    path = write(pa.table(ROWS), tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    source = open_source("-")
    assert read(source, KINDS)[0].to_pydict() == ROWS
    assert source.fingerprint[0][0] == "standard input"


def test_standard_input_of_one_column_needs_a_format(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"answer\nyes\n")))
    with pytest.raises(FileFormatError, match=r"^standard input: unknown format; name it with format= \(parquet, "):
        open_source("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"answer\nyes\n")))
    assert read(open_source("-", format="csv"), {"answer": "text"})[0].to_pydict() == {"answer": ["yes"]}


def test_a_hive_folder_gives_its_keys_and_hides_marker_files(tmp_path):
    for lang, year in (("de", 2023), ("en", 2024)):
        folder = tmp_path / f"lang={lang}" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"answer": [lang]}), folder / "part-0.parquet")
        (folder / "_SUCCESS").touch()
    source = open_source(tmp_path)
    table, _ = read(source, {"answer": "text", "lang": "any", "year": "any"})
    assert table.to_pydict() == {"answer": ["de", "en"], "lang": ["de", "en"], "year": [2023, 2024]}
    assert source.rows == 2


def test_globs_and_lists_are_read_in_order(tmp_path):
    for name in ("b", "a"):
        write(pa.table({"answer": [name]}), tmp_path / f"{name}.jsonl")
    assert read(open_source(str(tmp_path / "*.jsonl")), {"answer": "text"})[0]["answer"].to_pylist() == ["a", "b"]
    listed = open_source([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])
    assert read(listed, {"answer": "text"})[0]["answer"].to_pylist() == ["b", "a"]


def test_text_layouts_and_number_widths_mix_between_files(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
    for index, type_ in enumerate(kinds):
        table = pa.table({"answer": pa.array(["x", None]).cast(type_), "n": pa.array([1, 2], pa.int32())})
        write(table, tmp_path / f"{index}.arrow")
    write(pa.table({"answer": ["y"], "n": pa.array([0.5], pa.float32())}), tmp_path / "9.parquet")
    table, _ = read(open_source(tmp_path), {"answer": "text", "n": "number"})
    assert table["answer"].to_pylist() == ["x", None] * 4 + ["y"]
    assert table["n"].to_pylist() == [1.0, 2.0] * 4 + [0.5]


def test_lists_of_dictionaries_and_views_are_read_plain(tmp_path):
    words = pa.array(["a", "b", "a", "c"])
    for index, type_ in enumerate([pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()]):
        lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), words.cast(type_))
        write(pa.table({"contexts": lists.slice(1)}), tmp_path / f"{index}.arrow")
    table, _ = read(open_source(tmp_path), {"contexts": "texts"})
    assert table["contexts"].to_pylist() == [[], None, ["a", "c"]] * 3


def test_files_that_disagree_on_a_type_are_refused(tmp_path):
    pq.write_table(pa.table({"answer": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"answer": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError) as caught:
        open_source(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/b.parquet: column 'answer' holds int64, but {tmp_path}/a.parquet holds string"
    )


def test_a_missing_column_names_the_nearest(tmp_path):
    for name in ("t.parquet", "t.jsonl", "t.csv"):
        path = write(pa.table(ROWS), tmp_path / name)
        with pytest.raises(ColumnError) as caught:
            open_source(path).select({"anwser": "text"})
        assert str(caught.value) == f"{path}: unknown column 'anwser'; did you mean 'answer'?"


def test_a_column_of_the_wrong_type_is_refused(tmp_path):
    path = write(pa.table({"answer": [1.5]}), tmp_path / "t.parquet")
    with pytest.raises(ColumnError) as caught:
        open_source(path).select({"answer": "text"})
    assert str(caught.value) == f"{path}: column 'answer' holds double; expected strings"
    write(pa.table({"answer": [1.5]}), tmp_path / "t.jsonl")
    _, rejects = read(open_source(tmp_path / "t.jsonl"), {"answer": "text"})
    assert rejects == [f"{tmp_path}/t.jsonl, line 1, column 'answer': expected a string, got the number 1.5"]


def test_a_column_twice_in_one_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(ColumnError, match=r"column 'a' appears twice in the header$"):
        open_source(tmp_path / "t.csv")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    write(table, tmp_path / "t.arrow")
    with pytest.raises(ColumnError, match=r"t.arrow: column 'a' appears twice$"):
        open_source(tmp_path / "t.arrow")


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.jsonl.gz"])
def test_an_empty_file_is_refused_unless_others_hold_rows(tmp_path, name):
    write_nothing = gzip.open if name.endswith("gz") else open
    with write_nothing(tmp_path / name, "wb"):
        pass
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: the file is empty"
    full = write(pa.table({"answer": ["x"]}), tmp_path / f"z{name}")
    assert read(open_source([tmp_path / name, full]), {"answer": "text"})[0].num_rows == 1


@pytest.mark.parametrize("text", ["answer,id", "answer,id\n", "\ufeffanswer,id\r\n", '\ufeff"answer","id"'])
def test_a_header_alone_is_a_table_without_rows(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    table, rejects = read(open_source(tmp_path / "t.csv"), {"answer": "text", "id": "id"})
    assert table.num_rows == 0
    assert rejects == []


def test_an_empty_parquet_file_is_damaged_and_a_truncated_one_too(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: .*size is 0 bytes"):
        open_source(path)
    write(pa.table({"answer": ["x" * 50] * 5000}), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: Parquet magic bytes not found in footer"):
        open_source(path)


def test_a_truncated_arrow_file_or_gzip_file_is_named(tmp_path):
    path = write(pa.table({"answer": ["x" * 50] * 5000}), tmp_path / "t.arrow")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(FileFormatError, match=r"t.arrow: cannot be read: "):
        open_source(path)
    path = write(pa.table({"answer": [str(n) for n in np.random.default_rng(0).random(9999)]}), tmp_path / "t.jsonl.gz")
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(FileFormatError, match=r"t.jsonl.gz: cannot be read: "):
        read(open_source(path), {"answer": "text"})


def test_a_damaged_page_inside_a_parquet_file_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": [f"{n} {n}" for n in range(5000)]}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[2000:3000] = bytes(1000)
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: "):
        read(open_source(path), {"answer": "text"})


def test_unreadable_paths_say_why(tmp_path):
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path / "no.parquet")
    assert str(caught.value) == f"{tmp_path}/no.parquet: cannot be read: No such file or directory"
    with pytest.raises(FileFormatError) as caught:
        open_source(str(tmp_path / "*.parquet"))
    assert str(caught.value) == f"{tmp_path}/*.parquet: no file matches"
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path)
    assert str(caught.value) == f"{tmp_path}: the folder holds no table files"
    (tmp_path / "x.doc").write_bytes(b"\x01\x02")
    with pytest.raises(FileFormatError, match=r"x.doc: unknown format; name it with format= "):
        open_source(tmp_path / "x.doc")
    with pytest.raises(OptionError, match=r"^format 'xml': expected one of parquet, jsonl, csv, tsv, arrow$"):
        open_source(tmp_path / "x.doc", format="xml")


BAD_LINES = [
    (b'{"id": 1, "answer": "a"', "malformed JSON: Expecting ',' delimiter at character 24", None),
    (b'["answer"]', "expected a JSON object, got a list", None),
    (b'{"answer": "\xff"}', "invalid UTF-8: byte 0xff at byte 12", None),
    (b'{"answer": "\\ud83d"}', "expected Unicode text, got the lone surrogate \\ud83d at character 0", "answer"),
    (b'{"answer": 7}', "expected a string, got the number 7", "answer"),
    (b'{"answer": ["a"]}', "expected a string, got a list", "answer"),
    (b'{"answer": {"a": 1}}', "expected a string, got an object", "answer"),
    (b'{"answer": "a"} {"answer": "b"}', "malformed JSON: Extra data at character 17", None),
    (b'{"answer": "a", "latency_ms": "fast"}', "expected a number, got the string 'fast'", "latency_ms"),
    (b'{"answer": "a", "latency_ms": true}', "expected a number, got true", "latency_ms"),
]


@pytest.mark.parametrize(("line", "reason", "column"), BAD_LINES)
def test_a_bad_json_line_is_named(tmp_path, line, reason, column):
    path = tmp_path / "t.jsonl"
    good = b'{"answer": "ok", "latency_ms": 1}\n'
    path.write_bytes(good + b"\n" + good + line + b"\n" + good)
    source = open_source(path)
    where = f"{path}, line 4" + (f", column '{column}'" if column else "")
    selection = source.select({"answer": "text", "latency_ms": "number"})
    chunks = list(source.chunks(selection))
    rejects = [reject for chunk in chunks for reject in chunk.rejects]
    assert list(map(str, rejects)) == [f"{where}: {reason}"]
    assert rejects[0].raw == line.decode(errors="replace")
    assert [row for chunk in chunks for row in chunk.rows.tolist()] == [0, 2, 4]


@pytest.mark.parametrize(
    ("lines", "kind", "type_"),
    [
        (['{"x": 1}', '{"x": "a"}'], "id", pa.string()),
        (['{"x": "s"}', '{"x": ["a", "b"]}'], "texts", pa.list_(pa.string())),
        (['{"x": [1]}', '{"x": ["a", 2]}'], "ids", pa.list_(pa.string())),
        (['{"x": 1}', '{"x": 1.5}'], "any", pa.float64()),
        (['{"x": null}', '{"x": "a"}'], "any", pa.string()),
        (['{"x": true}', '{"x": 2}'], "any", pa.string()),
    ],
)
def test_types_that_mix_settle_on_the_wider_one_at_once_or_late(tmp_path, lines, kind, type_):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines))
    source = open_source(path)
    selection = source.select({"x": kind})
    if selection.schema.field("x").type != type_:
        with pytest.raises(Widened) as caught:
            list(source.chunks(selection))
        selection = selection.widen("x", caught.value.type)
    assert selection.schema.field("x").type == type_
    values = [value for chunk in source.chunks(selection) for value in chunk.batch["x"].to_pylist()]
    assert len(values) == 2


def test_a_late_column_of_json_lines_is_found_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr("fastmetrics.tables.jsonl.BLOCK", 64)
    path = tmp_path / "t.jsonl"
    path.write_text('{"answer": "a"}\n' * 20 + '{"answer": "b", "latency_ms": 5}\n')
    source = open_source(path)
    assert source.schema.names == ["answer"]
    table, _ = read(source, {"answer": "text", "latency_ms": "number"})
    assert table["latency_ms"].to_pylist() == [None] * 20 + [5.0]


def test_json_lines_with_carriage_returns_and_no_last_newline(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"answer": "a"}\r\n\r\n{"answer": "b"}')
    table, rejects = read(open_source(path), {"answer": "text"})
    assert table["answer"].to_pylist() == ["a", "b"]
    assert rejects == []


def test_a_json_array_is_not_json_lines(tmp_path):
    (tmp_path / "t.jsonl").write_text('[{"answer": "a"}]')
    with pytest.raises(FileFormatError, match=r"line 1: expected one JSON object a line, got a JSON array$"):
        open_source(tmp_path / "t.jsonl")


def test_bad_csv_rows_are_named_by_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('answer,latency_ms\n"two\nlines",1\n\nshort\na,b,c\nx,fast\ny,\nz,2e1\n')
    table, rejects = read(open_source(path), {"answer": "text", "latency_ms": "number"})
    assert rejects == [
        f"{path}, line 5: expected 2 fields, got 1",
        f"{path}, line 6: expected 2 fields, got 3",
        f"{path}, line 7, column 'latency_ms': expected a number, got 'fast'",
    ]
    assert table.to_pydict() == {"answer": ["two\nlines", "y", "z"], "latency_ms": [1.0, None, 20.0]}


def test_csv_lines_are_named_after_long_cells_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "x" * 200_000 + ",1\n\nshort\n5,6" + '" pipe')
    table, rejects = read(open_source(path), {"a": "text", "b": "text"})
    assert rejects == [f"{path}, line 4: expected 2 fields, got 1"]
    assert table["b"].to_pylist() == ["1", '6" pipe']


def test_csv_lists_flags_and_an_open_quote(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('ids,flag\n"[""a"", ""b""]",true\n[1],0\nno,1\n,maybe\n')
    table, rejects = read(open_source(path), {"ids": "ids", "flag": "flag"})
    assert table.to_pydict() == {"ids": [["a", "b"], ["1"]], "flag": [True, False]}
    assert rejects == [
        f"{path}, line 4, column 'ids': expected a list in JSON, got 'no'",
        f"{path}, line 5, column 'flag': expected true or false, got 'maybe'",
    ]
    path.write_text('a,b\n1,2\n3,"never\n4,5\n')
    with pytest.raises(FileFormatError) as caught:
        read(open_source(path), {"a": "text", "b": "text"})
    assert str(caught.value) == f"{path}, line 3: a quoted field is never closed"


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv", "t.jsonl"])
def test_invalid_utf8_is_found_in_its_cell(tmp_path, name):
    broken = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    path = tmp_path / name
    if name.endswith(("csv", "jsonl")):
        line = b'{"answer": "%s"}\n' if name.endswith("jsonl") else b"%s\n"
        head = b"answer\n" if name.endswith("csv") else b""
        path.write_bytes(head + line % b"fine" + line % b"caf\xe9")
    else:
        write(pa.table({"answer": broken}), path)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    chunks = list(source.chunks(selection))
    found = [bad_text(source.conform(chunk, selection)) for chunk in chunks]
    named = [str(reject) for chunk in chunks for reject in chunk.rejects]
    assert found == [{1: ("answer", "invalid UTF-8: byte 0xe9 at byte 3")}] or named == [
        f"{path}, line 2: invalid UTF-8: byte 0xe9 at byte 15"
    ]
    listed = pa.record_batch({"c": pa.ListArray.from_arrays([0, 1, 2], broken)})
    assert bad_text(listed.slice(0, 1)) == {}
    assert bad_text(listed) == {1: ("c", "invalid UTF-8: byte 0xe9 at byte 3")}


def test_cells_are_measured_whatever_their_layout():
    texts = pa.array(["ab", None, "é", ""])
    for type_ in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert cell_bytes(texts.cast(type_)).tolist() == [2, 0, 2, 0]
        assert cell_bytes(texts.cast(type_).slice(1, 2)).tolist() == [0, 2]
    lists = pa.array([["ab", "c"], None, [], ["d"]])
    assert cell_bytes(lists).tolist() == [3, 0, 0, 1]
    assert cell_bytes(lists.slice(2)).tolist() == [0, 1]
    assert cell_bytes(pa.array([{"a": "xy", "b": 1}])).tolist() == [10]
    assert cell_bytes(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))).tolist() == [8]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=60),
    blocks=st.integers(1, 20),
    batch=st.tuples(st.integers(1, 10), st.integers(1, 80)),
    part=st.tuples(st.integers(1, 20), st.integers(1, 120)),
)
def test_parts_depend_on_the_rows_alone(tmp_path_factory, sizes, blocks, batch, part):
    table = pa.table({"answer": ["x" * size for size in sizes]})
    path = tmp_path_factory.mktemp("c") / "t.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=blocks)
    source = open_source(path)
    pieces = list(cut(source.chunks(source.select({"answer": "text"})), Limits(*batch, *part)))
    found = [number for number, chunk in pieces for _ in chunk.rows]
    expected, rows, size = [0], 1, sizes[0]
    for one in sizes[1:]:
        new = rows >= part[0] or size + one > part[1]
        rows, size = (1, one) if new else (rows + 1, size + one)
        expected.append(expected[-1] + new)
    assert found == expected
    assert all(len(chunk.rows) <= batch[0] for _, chunk in pieces)
    assert all(len(chunk.rows) == 1 or cell_bytes(chunk.batch["answer"]).sum() <= batch[1] for _, chunk in pieces)


@pytest.mark.parametrize("name", FORMATS)
def test_reading_can_begin_at_any_row(tmp_path, name):
    path = write(pa.table({"answer": [f"row {n}" for n in range(50)]}), tmp_path / name)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    for start in (0, 1, 17, 49, 50):
        chunks = list(source.chunks(selection, Place(0, start)))
        assert [row for chunk in chunks for row in chunk.rows.tolist()] == list(range(start, 50))
        texts = [text for chunk in chunks for text in chunk.batch["answer"].to_pylist()]
        assert texts == [f"row {n}" for n in range(start, 50)]


def test_parquet_row_groups_before_the_start_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": [str(n) for n in range(200_000)]}), path, row_group_size=70_000)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    chunks = list(source.chunks(selection, Place(0, 150_000)))
    assert chunks[0].rows[0] == 150_000
    assert chunks[0].batch["answer"][0].as_py() == "150000"
    assert sum(len(chunk.rows) for chunk in chunks) == 50_000


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.csv", "t.arrow"])
def test_a_cell_of_10_megabytes_does_not_multiply(tmp_path, name):
    cell = "long " * 2_000_000
    path = write(pa.table({"answer": [cell] * 6 + ["short"] * 10}), tmp_path / name)
    source = open_source(path)
    for _, chunk in cut(source.chunks(source.select({"answer": "text"})), Limits()):
        assert chunk.batch.num_rows == 1 or cell_bytes(chunk.batch["answer"]).sum() <= 16 << 20


def test_a_long_cell_that_repeats_is_read_a_few_rows_at_a_time(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"contexts": pa.array(["c" * 500_000]).take(pa.array(np.zeros(400, int)))}), path)
    source = open_source(path)
    first = next(iter(source.chunks(source.select({"contexts": "texts"}))))
    assert first.batch.nbytes < 32 << 20
