"""Rows that are wrong, and the numbers of rows and lines by which they are named."""

import base64
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from fastmetrics.base.errors import FileFormatError, InputError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables import arrow_files
from fastmetrics.tables.column_types import Widened
from fastmetrics.tables.good_rows import bad_text
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits, Position
from fastmetrics.vectors.vector_arrays import Vectors
from tests.support.goldens import refused
from tests.support.program import jsonl
from tests.support.table_files import read, write
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, run


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.arrow", "t.parquet"])
def test_a_column_beside_two_of_one_name_is_read(tmp_path, name):
    table = pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"]), pa.array(["3"])], names=["a", "b", "a"])
    write(table, tmp_path / name)
    source = open_source(tmp_path / name)
    assert source.schema.names == ["a", "b"]
    assert read(source, {"b": "text"})[0].to_pylist() == [{"b": "2"}]


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.jsonl.gz"])
def test_an_empty_file_beside_others_is_left_out(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    full = write(pa.table({"answer": ["x"]}), tmp_path / f"z{name}")
    assert read(open_source([tmp_path / name, full]), {"answer": "text"})[0].num_rows == 1


@pytest.mark.parametrize("line", [b'{"answer": "a"', b'{"answer": "\xff"}', b'{"answer": ["a"]}', b'["answer"]'])
def test_a_bad_line_is_set_aside_as_it_is(tmp_path, line):
    path, good = tmp_path / "t.jsonl", b'{"answer": "ok"}\n'
    path.write_bytes(good + b"\n" + good + line + b"\n" + good)
    source = open_source(path)
    chunks = list(source.chunks(source.select({"answer": "text"})))
    [reject] = [reject for chunk in chunks for reject in chunk.rejects]
    assert (reject.where, reject.raw) == ("line 4", line.decode(errors="replace"))
    assert [row for chunk in chunks for row in chunk.rows.tolist()] == [0, 2, 4]


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
    refused(FileFormatError, f"{name} 8 answer", read, source, {"answer": "text"})


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


@pytest.mark.parametrize(
    ("kind", "values", "kept"),
    [
        ("number", [1, True, 2], [1.0, 2.0]),
        ("number", [1.5, False, "2e1"], [1.5, 20.0]),
        ("flag", [True, 0, 1, 2, 0.5], [True, False, True]),
    ],
)
def test_a_later_value_of_another_kind_is_a_bad_row(tmp_path, kind, values, kept):
    path = jsonl(tmp_path / "t.jsonl", *({"x": value} for value in values))
    found, rejects = read(open_source(path, sizes=ReadSizes(line_block_bytes=9)), {"x": kind})
    assert (found["x"].to_pylist(), len(rejects)) == (kept, len(values) - len(kept))


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


def test_csv_lists_and_booleans(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('ids,flag\n"[""a"", ""b""]",true\n[1],0\nno,1\n,maybe\n')
    table, rejects = read(open_source(path), {"ids": "ids", "flag": "flag"})
    assert table.to_pydict() == {"ids": [["a", "b"], ["1"]], "flag": [True, False]}
    assert rejects == [
        f"{path}, row 2, column 'ids': expected a list in JSON, got 'no'",
        f"{path}, row 3, column 'flag': expected true or false (also yes/no, ja/nein, oui/non, si/no, да/нет, "
        "pass/fail, 1/0), got 'maybe'; write this value as true or false",
    ]


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
    refused(FileFormatError, f"{path} {last}", lambda: list(source.chunks(selection, Position(0, start))))


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
    refused(FileFormatError, "columns", open_source, tmp_path / "t.parquet")


def test_lines_that_each_bring_a_new_name_are_read_in_proportion(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = ({"id": n, "answer": "a b", f"k{n}": 1, "meta": {f"m{n}": 1}, "pad": "x" * 40} for n in range(5_000))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = open_source(path)
    assert 100 < len(source.schema) <= 1000
    batches = [chunk.batch for chunk in source.chunks(source.select({"answer": "text", "k4999": "number"}))]
    assert sum(batch.num_rows for batch in batches) == 5_000
    assert sum(len(batch["k4999"]) - batch["k4999"].null_count for batch in batches) == 1
    path.write_text("".join(json.dumps({f"c{n}": n for n in range(600)}) + "\n" for _ in range(300)))
    assert len(open_source(path).schema) == 600, "of a wide table all columns are listed"


N = 3000


@pytest.mark.parametrize("threads", [1, 4])
def test_bad_rows_that_scoring_finds_are_named(tmp_path, threads, full):
    """Threads name rows while this one reads on, and names others."""
    wrong = {n: [b"bad", b"caf\xe9", b"x,y"][n % 3] for n in range(0, N, 7)}
    lines = [b"id,answer", *(b"q%d,%s" % (n, wrong.get(n, b"fine")) for n in range(N))]
    (tmp_path / "in.csv").write_bytes(b"\n".join(lines))
    options = {"threads": threads, "on_error": "skip", "limits": Limits(batch_rows=20)}
    for _ in range(3 if full else 1):
        made = run(
            open_source(tmp_path / "in.csv"),
            FunctionMaker(choosy, KINDS),
            tmp_path / "o.csv",
            overwrite=True,
            **options,
        )
        named = [json.loads(line)["row"] for line in made.rejects.read_text().splitlines()]
        assert named == list(wrong)


GOOD, OF_SCORING = '{"id": "q", "answer": "fine"}\n', '{"id": "q", "answer": "bad"}\n'
SECOND = [
    *(
        (".csv" + pack, "id,answer\n", bad, "q,fine\n", "row 0")
        for pack in ("", ".gz", ".zst")
        for bad in ("q\n", "q,bad\n")
    ),
    *((".tsv", "id\tanswer\n", bad, "q\tfine\n", "row 0") for bad in ("q\n", "q\tbad\n")),
    *((".jsonl" + pack, "", bad, GOOD, "line 1") for pack in ("", ".gz") for bad in ("{\n", OF_SCORING)),
]


def write_text(path, text):
    """A text file, compressed by its suffix."""
    if path.suffix == ".zst":
        path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
    else:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize(("suffix", "header", "bad", "good", "where"), SECOND)
def test_the_first_row_of_the_second_file_is_counted_in_that_file(tmp_path, suffix, header, bad, good, where):
    first, second, output = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}", tmp_path / "o.jsonl"
    write_text(first, header + good + good)
    write_text(second, header + bad + good)
    refused(
        InputError, f"{second} {where}", lambda: run(open_source([first, second]), FunctionMaker(choosy, KINDS), output)
    )
    made = run(open_source([first, second]), FunctionMaker(choosy, KINDS), output, on_error="skip")
    [reject] = map(json.loads, made.rejects.read_text(encoding="utf-8").splitlines())
    unit, number = where.split()
    assert (reject["file"], reject[unit], made.rows) == (str(second), int(number), 3)


def test_the_first_row_of_the_second_file_of_columns_is_row_0(tmp_path):
    for name, answers in (("a.parquet", ["x", "y"]), ("b.parquet", ["bad", "x"])):
        pq.write_table(pa.table({"id": ["p", "q"], "answer": answers}), tmp_path / name)
    job, output = FunctionMaker(choosy, KINDS), tmp_path / "o.jsonl"
    refused(InputError, f"{tmp_path}/b.parquet 0", run, open_source(tmp_path), job, output)


def test_rows_of_the_second_array_of_vectors_are_counted_in_its_file(tmp_path):
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "v" / "a.npy", np.eye(4, 3))
    np.save(tmp_path / "v" / "b.npy", np.ones((5, 3)))
    vectors = Vectors.of(tmp_path / "v")
    assert (vectors.rows, vectors.take([4, 3]).tolist()) == (9, [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert vectors.block(4, 5).tolist() == [[1.0, 1.0, 1.0]]
    with open(tmp_path / "v" / "b.npy", "r+b") as file:
        file.truncate((tmp_path / "v" / "b.npy").stat().st_size - 1)
    refused(FileFormatError, "/v/b.npy", lambda: Vectors.of(tmp_path / "v").block(4, 5))
