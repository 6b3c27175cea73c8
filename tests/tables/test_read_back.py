"""Files that this package writes are read back as they were: types, nulls beside empty texts, lists, and odd values."""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import plain
from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables import open_source
from fastmetrics.tables.outputs import table_place, write_whole
from fastmetrics.tables.table_rows import whole_table
from tests.support.program import program, unfolded

TEXT_FORMATS = ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.zst", "t.jsonl", "t.jsonl.gz"]
FORMATS = [*TEXT_FORMATS, "t.arrow", "t.parquet"]

_texts = st.text(st.sampled_from("'=+-@\t\r\n \"\\,;[]{}aé\x00\x1c\u2028\ufeff😀"), max_size=6) | st.sampled_from(
    ["", "null", "NA", "nan", "007", "1", "1.0", "true", '["a"]', "[]", "2024-01-02", "'=1", "\r\n", '""', "NaN"]
)
_floats = st.floats() | st.sampled_from([-0.0, 5e-324, math.inf, -math.inf, math.nan, 1e22, 0.1])
_float32s = st.floats(width=32) | st.sampled_from([-0.0, math.inf, math.nan])
_moments = st.integers(-(2**40), 2**47)
_bytes = st.binary(max_size=4)


def _whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def _of_numbers(type_: pa.DataType, numbers: Any = _moments) -> tuple[pa.DataType, Any]:
    return type_, numbers


_scalars: dict[str, tuple[pa.DataType, Any]] = {
    "string": (pa.string(), _texts),
    "large string": (pa.large_string(), _texts),
    "int8": (pa.int8(), _whole(8)),
    "int64": (pa.int64(), _whole(64)),
    "uint64": (pa.uint64(), _whole(64, signed=False)),
    "float16": (pa.float16(), st.floats(width=16).map(np.float16)),
    "float32": (pa.float32(), _float32s),
    "float64": (pa.float64(), _floats),
    "bool": (pa.bool_(), st.booleans()),
    "null": (pa.null(), st.none()),
    "decimal": (pa.decimal128(9, 2), st.decimals(-9999, 9999, places=2)),
    "date": (pa.date32(), st.dates()),
    "milliseconds": (pa.timestamp("ms"), _moments),
    "nanoseconds": (pa.timestamp("ns"), _moments),
    "UTC": (pa.timestamp("us", "UTC"), _moments),
    "Berlin": (pa.timestamp("us", "Europe/Berlin"), _moments),
    "time": (pa.time64("us"), st.times()),
    "duration": (pa.duration("ms"), _moments),
}
_nested: dict[str, tuple[pa.DataType, Any]] = {
    "texts": (pa.list_(pa.string()), st.lists(st.none() | _texts, max_size=3)),
    "large texts": (pa.large_list(pa.large_string()), st.lists(st.none() | _texts, max_size=3)),
    "ids": (pa.list_(pa.int64()), st.lists(st.none() | _whole(64), max_size=3)),
    "numbers": (pa.list_(pa.float64()), st.lists(st.none() | _floats, max_size=3)),
    "vector": (pa.list_(pa.float32(), 2), st.lists(_float32s, min_size=2, max_size=2)),
    "no items": (pa.list_(pa.null()), st.lists(st.none(), max_size=2)),
    "lists of lists": (
        pa.list_(pa.list_(pa.string())),
        st.lists(st.none() | st.lists(st.none() | _texts, max_size=2), max_size=2),
    ),
    "struct": (
        pa.struct({"a": pa.string(), "b": pa.date32(), "c": pa.list_(pa.float32())}),
        st.fixed_dictionaries(
            {"a": st.none() | _texts, "b": st.none() | st.dates(), "c": st.none() | st.lists(_float32s, max_size=2)}
        ),
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        st.lists(st.tuples(_texts, st.none() | _whole(64)), max_size=2),
    ),
    "moments": (pa.list_(pa.timestamp("ns")), st.lists(st.none() | _moments, max_size=2)),
    "decimals": (pa.list_(pa.decimal128(9, 2)), st.lists(st.decimals(-99, 99, places=2), max_size=2)),
    "bytes in lists": (pa.list_(pa.binary()), st.lists(_bytes, max_size=2)),
}
KINDS = {**_scalars, **_nested}


def _array(type_: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_duration(type_) or pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_list(type_) and pa.types.is_timestamp(type_.value_type):
        return pa.array(values, pa.list_(pa.int64())).cast(type_)
    return pa.array(values, type_, from_pandas=False)


def _same(read: pa.Table, table: pa.Table) -> None:
    """Equal names, types and values; NaN equals NaN, and −0 differs from 0."""
    expected = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    assert read.schema.remove_metadata() == expected
    for name in table.column_names:
        assert _written(read.column(name)) == _written(table.column(name)), name


def _written(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        column = column.cast(pa.list_(pa.int64()))
    return list(map(repr, column.to_pylist()))


def read_all(path: Path) -> pa.Table:
    """All columns of a file, as the package reads them."""
    source = open_source(path)
    return whole_table(source, dict.fromkeys(source.schema.names, "any"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data(), name=st.sampled_from(FORMATS), guard=st.booleans())
def test_columns_of_every_type_are_read_as_written(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject, name: str, guard: bool
) -> None:
    type_, values = KINDS[kind]
    rows = data.draw(st.lists(st.none() | values, max_size=5))
    table = pa.table({"id": pa.array([str(n) for n in range(len(rows))]), "=c": _array(type_, rows)})
    path = tmp_path_factory.mktemp("t") / name
    write_whole(table, table_place(path, ()), {}, set(table.column_names), guard=guard)
    _same(read_all(path), table)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=20)
@given(columns=st.lists(st.lists(st.none() | _texts, min_size=3, max_size=3), min_size=1, max_size=3))
@example(columns=[[None, "", None]])
@example(columns=[["", None, "\n"]])
def test_nulls_beside_empty_texts_are_read_as_written(
    tmp_path_factory: pytest.TempPathFactory, name: str, columns: list[list[str | None]]
) -> None:
    """Also in a table of one column, where a row of CSV that is empty would be no row."""
    table = pa.table({f"c{n}": pa.array(values, pa.string()) for n, values in enumerate(columns)})
    path = tmp_path_factory.mktemp("t") / name
    write_whole(table, table_place(path, ()), {}, set(table.column_names))
    _same(read_all(path), table)


ROWS = [
    {"id": "007", "question": "Where?", "answer": "in Paris", "reference": ["Paris", "Paris, France"], "n": 1.5},
    {"id": "010", "question": None, "answer": "", "reference": ["Rome"], "n": math.nan},
    {"id": "1e5", "question": "", "answer": None, "reference": None, "n": None},
    {"id": "=3", "question": "Who?", "answer": '["Ann"]', "reference": [], "n": math.inf},
]
KEPT = ["question", "answer", "reference", "n", "when", "vector", "ok"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows with lists, nulls beside empty texts, times, vectors and ids that look like numbers."""
    table = pa.Table.from_pylist(ROWS)
    moments = pa.array([0, None, 1, 2], pa.int64()).cast(pa.timestamp("us", "UTC"))
    vectors = pa.array([[0.1, 1.0], None, [2.0, 3.0], [0.0, 0.5]], pa.list_(pa.float32(), 2))
    flags = pa.array([True, None, False, True])
    for name, column in (("when", moments), ("vector", vectors), ("ok", flags)):
        table = table.append_column(name, column)
    write_whole(table, table_place(tmp_path / "rows.parquet", ()), {}, set(table.column_names))
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("name", [*TEXT_FORMATS, "t.arrow"])
def test_scores_of_an_output_are_those_of_its_input(tmp_path: Path, rows: Path, name: str) -> None:
    """Lists of references stay lists, and a null does not match an empty text."""
    metrics = ["token_f1", "squad_f1(version=2)", "exact_match", "keyword_recall"]
    first = fm.score(rows, output=tmp_path / name, metrics=metrics, keep=KEPT).summary
    again = fm.score(tmp_path / name, output=tmp_path / "again.parquet", metrics="token_f1", keep=KEPT, columns=None)
    assert again.summary["token_f1"] == first["token_f1"]
    assert all(note.startswith("blank cells are missing: 1 of 4 in answer") for note in again.summary.notes)
    _same(read_all(tmp_path / name).select(KEPT), read_all(rows).select(KEPT))
    _same(read_all(tmp_path / "again.parquet").select(KEPT), read_all(rows).select(KEPT))


def _changes() -> dict[str, Callable[[Path], None]]:
    def spreadsheet(path: Path) -> None:
        """Saved by a program that quotes only what needs quotes."""
        with open(path, newline="", encoding="utf-8") as file:
            records = list(csv.reader(file))
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(records)

    def row_added(path: Path) -> None:
        path.write_text(path.read_text(encoding="utf-8") + '"x","x","x","x",1,,,,\n', encoding="utf-8")

    def same_size(path: Path) -> None:
        path.write_text(path.read_text(encoding="utf-8").replace("in Paris", "at Paris"), encoding="utf-8")

    return {"spreadsheet": spreadsheet, "row added": row_added, "same size": same_size}


@pytest.mark.parametrize("change", _changes())
def test_csv_that_was_changed_is_read_like_any_csv_and_noted(tmp_path: Path, rows: Path, change: str) -> None:
    path = tmp_path / "t.csv"
    fm.score(rows, output=path, metrics="answer_words", keep=KEPT)
    _changes()[change](path)
    source = open_source(path)
    assert set(source.schema.types) == {pa.string()}
    table = whole_table(source, {"id": "id", "reference": "texts", "answer": "text", "n": "number"})
    assert table["reference"].to_pylist()[:4] == ['["Paris", "Paris, France"]', '["Rome"]', None, "[]"]
    assert table["answer"].to_pylist()[1:3] == [None if change == "spreadsheet" else "", None]
    assert table["id"].to_pylist()[:4] == ["007", "010", "1e5", "=3"], "quotes before formulas are removed even then"
    note = f"{path} was changed after it was written; it is read like any CSV: without types"
    again = fm.score(path, output=tmp_path / "again.parquet", metrics="token_f1")
    assert again.summary.notes[0] == note
    done = program("score", path, "-o", tmp_path / "b.parquet", "-m", "token_f1")
    assert note in unfolded(done.out)


def test_rows_added_at_the_end_of_a_long_csv_are_noticed(tmp_path: Path) -> None:
    """The metadata have the size of the file besides a digest of its beginning."""
    path = tmp_path / "t.csv"
    table = pa.table({"id": range(20_000), "answer": ["a b c"] * 20_000})
    fm.score(table, output=path, metrics="answer_words")
    assert path.stat().st_size > 2 << 16
    assert open_source(path).notes == []
    with path.open("a", encoding="utf-8") as file:
        file.write("20000,3.0\n")
    [note] = open_source(path).notes
    assert note.startswith(f"{path} was changed after it was written")


def test_csv_without_its_metadata_or_with_those_of_another_is_any_csv(tmp_path: Path, rows: Path) -> None:
    for name, metrics in (("a.csv", "token_f1"), ("b.csv", "jaccard")):
        fm.score(rows, output=tmp_path / name, metrics=metrics, keep=KEPT)
    (tmp_path / "a.csv").rename(tmp_path / "alone.csv")
    source = open_source(tmp_path / "alone.csv")
    assert set(source.schema.types) == {pa.string()}
    assert source.notes == []
    (tmp_path / "b.csv").rename(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    assert set(source.schema.types) == {pa.string()}
    assert source.notes[0].startswith(f"{tmp_path / 'a.csv'} was changed after it was written")


def test_unpacked_csv_is_read_like_any_csv_unless_its_metadata_move_along(tmp_path: Path, rows: Path) -> None:
    fm.score(rows, output=tmp_path / "t.csv.gz", metrics="token_f1", keep=KEPT)
    (tmp_path / "t.csv").write_bytes(gzip.decompress((tmp_path / "t.csv.gz").read_bytes()))
    assert set(open_source(tmp_path / "t.csv").schema.types) == {pa.string()}
    (tmp_path / "moved").mkdir()
    for name in ("t.csv.gz", "t.csv.gz.meta.json"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    _same(read_all(tmp_path / "moved" / "t.csv.gz").select(KEPT), read_all(rows).select(KEPT))


@pytest.mark.parametrize("text", ["not JSON", "[1]", '{"schema": 3}', '{"schema": "AAAA", "file": {"bytes": 8}}', "{}"])
def test_metadata_of_another_program_are_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,\n")
    (tmp_path / "t.csv.meta.json").write_text(text)
    assert read_all(tmp_path / "t.csv").to_pylist() == [{"a": "1", "b": None}]


def test_json_lines_that_were_changed_are_noted_only_if_types_are_lost(tmp_path: Path, rows: Path) -> None:
    for keep, lost in ((KEPT, True), (["question", "reference"], False)):
        path = tmp_path / f"{lost}.jsonl"
        fm.score(rows, output=path, metrics="token_f1", keep=keep)
        path.write_text(path.read_text(encoding="utf-8") + '{"id": "8"}\n', encoding="utf-8")
        source = open_source(path)
        assert len(source.notes) == lost
        assert read_all(path)["reference"].to_pylist()[:4] == [row["reference"] for row in ROWS]


def test_numbers_that_are_not_finite_are_valid_json(tmp_path: Path, rows: Path) -> None:
    fm.score(rows, output=tmp_path / "t.jsonl", metrics="token_f1", keep=KEPT)
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    assert [json.loads(line, parse_constant=refuse)["n"] for line in lines] == [1.5, "NaN", None, "Infinity"]


def test_files_of_this_package_are_read_together_with_others(tmp_path: Path) -> None:
    """The requested kind then decides, as in any CSV; nulls stay nulls."""
    table = pa.table({"id": [1, 2], "answer": ["a", None], "reference": [["a", "b"], None], "latency_ms": [1.5, None]})
    write_whole(table, table_place(tmp_path / "a.csv", ()), {}, set(table.column_names))
    (tmp_path / "b.csv").write_text('id,answer,reference,latency_ms\nx,,one,2\ny,,"[""two""]",\n')
    source = open_source([tmp_path / "a.csv", tmp_path / "b.csv"])
    kinds = {"id": "id", "answer": "text", "reference": "texts", "latency_ms": "number"}
    found = whole_table(source, kinds)
    assert found["id"].to_pylist() == ["1", "2", "x", "y"]
    assert found["answer"].to_pylist() == ["a", None, None, None]
    assert found["reference"].to_pylist() == [["a", "b"], None, ["one"], ["two"]]
    assert found["latency_ms"].to_pylist() == [1.5, None, 2.0, None]


def test_text_of_a_foreign_csv_is_parsed_again_after_it_was_kept(tmp_path: Path) -> None:
    """The columns of any CSV are text; kept in an output they stay text, and numbers if a metric asks for numbers."""
    (tmp_path / "in.csv").write_text('id,answer,latency_ms,retrieved_ids,relevant_ids\n1,a,12,"[""d""]","[""d""]"\n')
    keep = ["answer", "latency_ms", "retrieved_ids", "relevant_ids"]
    fm.score(tmp_path / "in.csv", output=tmp_path / "t.csv", metrics="answer_words", keep=keep)
    found = fm.score(tmp_path / "t.csv", output=tmp_path / "o.parquet", metrics=["latency_ms", "hit_rate"]).summary
    assert (found["latency_ms"].mean, found["hit_rate"].mean) == (12, 1)


@pytest.mark.slow
def test_edited_value_that_does_not_fit_names_its_line(tmp_path: Path) -> None:
    """An edit that keeps the size and the beginning of a file keeps its record."""
    table = pa.table({"id": range(20_000), "n": range(20_000)})
    for name, old, new in (("t.csv", "\n19999,19999", "\n19999,1999x"), ("t.jsonl", '"n": 19999', '"n": "999"')):
        write_whole(table, table_place(tmp_path / name, ()), {}, {"n"})
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace(old, new))
        line = 20_001 if name == "t.csv" else 20_000
        value = "'1999x'" if name == "t.csv" else "'999'"
        message = f"{name}, line {line}, column 'n': expected a value of the recorded type int64, got {value}"
        with pytest.raises(FileFormatError, match=f"{re.escape(message)}$"):
            read_all(tmp_path / name)
        source = open_source(tmp_path / name)
        chunks = list(source.chunks(source.select({"n": "any"})))
        assert sum(len(chunk.rows) for chunk in chunks) == 19_999
        assert sum(len(chunk.rejects) for chunk in chunks) == 1


def test_ids_that_look_like_numbers_stay_text_in_every_reader(tmp_path: Path, rows: Path) -> None:
    for name in ("a.csv", "b.csv"):
        fm.score(rows, output=tmp_path / name, metrics=["token_f1"], keep=["question"])
    assert fm.worst_rows(tmp_path / "a.csv", "token_f1", n=3)["id"].to_pylist() == ["010", "007"]
