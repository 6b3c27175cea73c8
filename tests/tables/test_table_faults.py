"""Every way in which a table can be wrong, and what is said of it."""

import base64
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from fastmetrics.base.errors import ColumnError, FileFormatError, OptionError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables import arrow_files
from fastmetrics.tables.column_types import Widened
from fastmetrics.tables.good_rows import bad_text
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Position
from tests.support.table_files import ROWS, read, write


def test_files_with_conflicting_types_of_a_needed_column_raise(tmp_path):
    pq.write_table(pa.table({"answer": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"answer": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError) as caught:
        open_source(tmp_path).select({"answer": "text"})
    assert str(caught.value) == (
        f"{tmp_path}/b.parquet: column 'answer' holds int64, but {tmp_path}/a.parquet holds string"
    )


def test_missing_column_error_names_the_nearest(tmp_path):
    for name in ("t.parquet", "t.jsonl", "t.csv"):
        path = write(pa.table(ROWS), tmp_path / name)
        with pytest.raises(ColumnError) as caught:
            open_source(path).select({"anwser": "text"})
        assert str(caught.value) == f"{path}: unknown column 'anwser'; did you mean 'answer'?"


def test_column_of_the_wrong_type_raises(tmp_path):
    path = write(pa.table({"answer": [1.5]}), tmp_path / "t.parquet")
    with pytest.raises(ColumnError) as caught:
        open_source(path).select({"answer": "text"})
    assert str(caught.value) == f"{path}: column 'answer': expected text, got double"
    write(pa.table({"answer": [1.5]}), tmp_path / "t.jsonl")
    _, rejects = read(open_source(tmp_path / "t.jsonl"), {"answer": "text"})
    assert rejects == [f"{tmp_path}/t.jsonl, line 1, column 'answer': expected a string, got the number 1.5"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.arrow", "t.parquet"])
def test_duplicate_column_raises_if_needed(tmp_path, name):
    table = pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"]), pa.array(["3"])], names=["a", "b", "a"])
    write(table, tmp_path / name)
    source = open_source(tmp_path / name)
    assert source.schema.names == ["a", "b"]
    assert read(source, {"b": "text"})[0].to_pylist() == [{"b": "2"}]
    for asked in ({"a": "text"}, {"b": "text", "a": "any"}):
        with pytest.raises(ColumnError, match=rf"{name}: the file has 2 columns 'a'$"):
            source.select(asked)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.jsonl.gz"])
def test_empty_file_raises_unless_others_hold_rows(tmp_path, name):
    write_nothing = gzip.open if name.endswith("gz") else open
    with write_nothing(tmp_path / name, "wb"):
        pass
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: the file is empty"
    full = write(pa.table({"answer": ["x"]}), tmp_path / f"z{name}")
    assert read(open_source([tmp_path / name, full]), {"answer": "text"})[0].num_rows == 1


@pytest.mark.parametrize("text", ["answer,id", "answer,id\n", "\ufeffanswer,id\r\n", '\ufeff"answer","id"'])
def test_file_with_only_a_header_is_an_empty_table(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    table, rejects = read(open_source(tmp_path / "t.csv"), {"answer": "text", "id": "id"})
    assert table.num_rows == 0
    assert rejects == []


def test_empty_and_truncated_parquet_files_are_damaged(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: .*size is 0 bytes"):
        open_source(path)
    write(pa.table({"answer": ["x" * 50] * 5000}), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: Parquet magic bytes not found in footer"):
        open_source(path)


def test_truncated_arrow_or_gzip_file_is_named(tmp_path):
    path = write(pa.table({"answer": ["x" * 50] * 5000}), tmp_path / "t.arrow")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(FileFormatError, match=r"t.arrow: cannot be read: "):
        open_source(path)
    path = write(pa.table({"answer": [str(n) for n in np.random.default_rng(0).random(9999)]}), tmp_path / "t.jsonl.gz")
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(FileFormatError, match=r"t.jsonl.gz: cannot be read: "):
        read(open_source(path), {"answer": "text"})


def damaged_batch():
    """Four rows of text, of which one ends beyond the bytes."""
    ends = pa.array([0, 3, 2**30, 9, 12], pa.int32())
    text = pa.Array.from_buffers(pa.string(), 4, [None, ends.buffers()[1], pa.py_buffer(b"yes" * 4)])
    return pa.record_batch({"answer": text})


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_a_damaged_batch_is_named_by_its_first_row(tmp_path, monkeypatch, name):
    """That of Parquet is damaged after it was decoded, since Arrow itself checks most of what it decodes."""
    decoded = arrow_files._batches

    def spoilt(*arguments):
        for number, batch in enumerate(decoded(*arguments)):
            yield batch if number < 2 else damaged_batch()

    monkeypatch.setattr(arrow_files, "_batches", spoilt)
    whole = pa.table({"answer": ["yes"] * 4})
    third = whole if name == "t.parquet" else pa.Table.from_batches([damaged_batch()])
    path = write(pa.concat_tables([whole, whole, third]), tmp_path / name)
    source = open_source(path, sizes=ReadSizes(parquet_rows=4))
    with pytest.raises(FileFormatError, match=rf"{name}, from row 8, column 'answer': the data are damaged"):
        read(source, {"answer": "text"})


def test_damaged_parquet_page_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": [f"{n} {n}" for n in range(5000)]}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[2000:3000] = bytes(1000)
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"t.parquet: cannot be read: "):
        read(open_source(path), {"answer": "text"})


def test_unreadable_path_error_names_the_cause(tmp_path):
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path / "no.parquet")
    assert str(caught.value) == f"{tmp_path}/no.parquet: cannot be read: No such file or directory"
    with pytest.raises(FileFormatError) as caught:
        open_source(str(tmp_path / "*.parquet"))
    assert str(caught.value) == f"{tmp_path}/*.parquet: no file matches"
    with pytest.raises(FileFormatError) as caught:
        open_source(tmp_path)
    assert str(caught.value) == f"{tmp_path}: the folder contains no table files"
    (tmp_path / "x.doc").write_bytes(b"\x01\x02")
    with pytest.raises(FileFormatError, match=r"x.doc: unknown format; name it with format= "):
        open_source(tmp_path / "x.doc")
    with pytest.raises(
        OptionError, match=r"^format='xml': expected one of parquet, jsonl, json, csv, tsv, arrow, eval, xlsx$"
    ):
        open_source(tmp_path / "x.doc", format="xml")


BAD_LINES = [
    (b'{"id": 1, "answer": "a"', "malformed JSON: Expecting ',' delimiter at character 24", None),
    (b'["answer"]', "expected a JSON object, got a list", None),
    (b'{"answer": "\xff"}', "invalid UTF-8: byte 0xff at byte 12", None),
    (
        b'{"answer": "a", "latency_ms": ' + b"9" * 400 + b"}",
        "expected a number, got a whole number of 400 digits",
        "latency_ms",
    ),
    (b'{"answer": 7}', "expected a string, got the number 7", "answer"),
    (b'{"answer": ["a"]}', "expected a string, got a list", "answer"),
    (b'{"answer": {"a": 1}}', "expected a string, got an object", "answer"),
    (
        b'{"answer": [{"type": "text", "text": "hi"}]}',
        "expected a string, got a list; columns (--columns) can name a path within, as answer[0].text",
        "answer",
    ),
    (b'{"answer": "a"} {"answer": "b"}', "malformed JSON: Extra data at character 17", None),
    (b'{"answer": "a", "latency_ms": "fast"}', "expected a number, got the string 'fast'", "latency_ms"),
    (b'{"answer": "a", "latency_ms": true}', "expected a number, got true", "latency_ms"),
]


@pytest.mark.parametrize(("line", "reason", "column"), BAD_LINES)
def test_bad_json_line_is_named(tmp_path, line, reason, column):
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
def test_mixed_types_resolve_to_the_wider_type(tmp_path, lines, kind, type_):
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


def test_late_json_lines_column_is_found_by_name(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"answer": "a"}\n' * 20 + '{"answer": "b", "latency_ms": 5}\n')
    source = open_source(path, sizes=ReadSizes(line_block_bytes=64))
    assert source.schema.names == ["answer"]
    table, _ = read(source, {"answer": "text", "latency_ms": "number"})
    assert table["latency_ms"].to_pylist() == [None] * 20 + [5.0]


def test_json_lines_with_carriage_returns_and_no_last_newline(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"answer": "a"}\r\n\r\n{"answer": "b"}')
    table, rejects = read(open_source(path), {"answer": "text"})
    assert table["answer"].to_pylist() == ["a", "b"]
    assert rejects == []


def test_bad_csv_rows_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('answer,latency_ms\n"two\nlines",1\n\nshort\na,b,c\nx,fast\ny,\nz,2e1\n')
    table, rejects = read(open_source(path), {"answer": "text", "latency_ms": "number"})
    assert rejects == [
        f"{path}, row 1: expected 2 fields, got 1",
        f"{path}, row 2: expected 2 fields, got 3",
        f"{path}, row 3, column 'latency_ms': expected a number, got 'fast'",
    ]
    assert table.to_pydict() == {"answer": ["two\nlines", "y", "z"], "latency_ms": [1.0, None, 20.0]}


def test_csv_rows_are_counted_after_long_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "x" * 200_000 + ",1\n\nshort\n5,6" + '" pipe')
    table, rejects = read(open_source(path), {"a": "text", "b": "text"})
    assert rejects == [f"{path}, row 1: expected 2 fields, got 1"]
    assert table["b"].to_pylist() == ["1", '6" pipe']


def test_csv_lists_booleans_and_unclosed_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('ids,flag\n"[""a"", ""b""]",true\n[1],0\nno,1\n,maybe\n')
    table, rejects = read(open_source(path), {"ids": "ids", "flag": "flag"})
    assert table.to_pydict() == {"ids": [["a", "b"], ["1"]], "flag": [True, False]}
    assert rejects == [
        f"{path}, row 2, column 'ids': expected a list in JSON, got 'no'",
        f"{path}, row 3, column 'flag': expected true or false (also yes/no, ja/nein, oui/non, si/no, да/нет, "
        "pass/fail, 1/0), got 'maybe'; write this value as true or false",
    ]
    path.write_text('a,b\n1,2\n3,"never\n4,5\n')
    with pytest.raises(FileFormatError) as caught:
        read(open_source(path), {"a": "text", "b": "text"})
    assert str(caught.value) == f"{path}, row 1: a quoted field is not closed"


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize(
    ("rows", "last"),
    [
        ('1,2\n3,"never\n4,5\n', 1),
        ('1,2\n"never\n4,5\n', 1),
        ('1,6" pipe\n3,"never', 1),
        ('1,2\n3,"""', 1),
        ('1,2\n1\n3,4\n5,"never\n', 3),
        ('1,2\n1,6" pipe\n', None),
        ('1,2\n1,"6"" pipe"', None),
        ('1,2\n1,"a\nb"\n\n', None),
    ],
)
def test_a_quote_that_is_not_closed_is_named_by_its_row(tmp_path, rows, last, start):
    """Whatever the number of quotes, and also where the quote takes in the cells of a row."""
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{rows}")
    source = open_source(path)
    selection = source.select({"b": "text", "a": "text"})
    if last is None:
        assert sum(chunk.batch.num_rows for chunk in source.chunks(selection, Position(0, start))) == 2 - start
        return
    with pytest.raises(FileFormatError, match=rf"^{path}, row {last}: a quoted field is not closed$"):
        list(source.chunks(selection, Position(0, start)))


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


def test_encrypted_columns_are_refused(tmp_path):
    """PyArrow ends the process when it is asked for the size of one."""

    class Service(encryption.KmsClient):
        def __init__(self, settings):
            super().__init__()

        def wrap_key(self, key_bytes, master_key_identifier):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return base64.b64decode(wrapped_key)

    settings = encryption.EncryptionConfiguration("f", column_keys={"k": ["answer"]}, plaintext_footer=True)
    factory = encryption.CryptoFactory(Service)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    table = pa.table({"answer": ["a"], "reference": ["a"]})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(FileFormatError, match="has encrypted columns"):
        open_source(tmp_path / "t.parquet")


def test_lines_that_each_bring_a_new_name_are_read_in_proportion(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = ({"id": n, "answer": "a b", f"k{n}": 1, "meta": {f"m{n}": 1}, "pad": "x" * 40} for n in range(20_000))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = open_source(path)
    assert 100 < len(source.schema) <= 1000
    batches = [chunk.batch for chunk in source.chunks(source.select({"answer": "text", "k19999": "number"}))]
    assert sum(batch.num_rows for batch in batches) == 20_000
    assert sum(len(batch["k19999"]) - batch["k19999"].null_count for batch in batches) == 1
    path.write_text("".join(json.dumps({f"c{n}": n for n in range(600)}) + "\n" for _ in range(300)))
    assert len(open_source(path).schema) == 600, "of a wide table all columns are listed"
