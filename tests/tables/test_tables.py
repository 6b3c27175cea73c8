"""Reading tables: every format gives the same rows, from any row on, in bounded pieces."""

import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Chunk, Limits, Position, Reject, cell_bytes, divided
from tests.support.table_files import FORMATS, KINDS, ROWS, read, write


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_formats_give_the_same_rows(tmp_path, name, threads):
    path = write(pa.table(ROWS), tmp_path / name)
    table, rejects = read(open_source(path), KINDS, threads=threads)
    assert table.to_pydict() == ROWS
    assert rejects == []


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=8))
def test_unicode_text_round_trips(tmp_path_factory, name, texts):
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


def test_hive_folder_gives_its_keys_and_ignores_marker_files(tmp_path):
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


def test_text_layouts_and_number_widths_can_differ_between_files(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
    for index, type_ in enumerate(kinds):
        table = pa.table({"answer": pa.array(["x", None]).cast(type_), "n": pa.array([1, 2], pa.int32())})
        write(table, tmp_path / f"{index}.arrow")
    write(pa.table({"answer": ["y"], "n": pa.array([0.5], pa.float32())}), tmp_path / "9.parquet")
    table, _ = read(open_source(tmp_path), {"answer": "text", "n": "number"})
    assert table["answer"].to_pylist() == ["x", None] * 4 + ["y"]
    assert table["n"].to_pylist() == [1.0, 2.0] * 4 + [0.5]


def test_dictionary_and_view_lists_are_converted(tmp_path):
    words = pa.array(["a", "b", "a", "c"])
    for index, type_ in enumerate([pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()]):
        lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), words.cast(type_))
        write(pa.table({"contexts": lists.slice(1)}), tmp_path / f"{index}.arrow")
    table, _ = read(open_source(tmp_path), {"contexts": "texts"})
    assert table["contexts"].to_pylist() == [[], None, ["a", "c"]] * 3


def test_cell_sizes_are_independent_of_layout():
    texts = pa.array(["ab", None, "é", ""])
    for type_ in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert cell_bytes(texts.cast(type_)).tolist() == [2, 0, 2, 0]
        assert cell_bytes(texts.cast(type_).slice(1, 2)).tolist() == [0, 2]
    lists = pa.array([["ab", "c"], None, [], ["d"]])
    assert cell_bytes(lists).tolist() == [3, 0, 0, 1]
    assert cell_bytes(lists.slice(2)).tolist() == [0, 1]
    assert cell_bytes(pa.array([{"a": "xy", "b": 1}])).tolist() == [10]
    assert cell_bytes(pa.array([True, None, False])).tolist() == [1, 1, 1]
    assert cell_bytes(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))).tolist() == [8]


@given(
    rows=st.lists(st.booleans(), max_size=60),
    blocks=st.integers(1, 20),
    limits=st.tuples(st.integers(1, 10), st.integers(1, 20)),
    done=st.integers(0, 3),
)
def test_parts_depend_only_on_the_rows(rows, blocks, limits, done):
    """A part has a fixed number of good rows, with the bad ones among and after them; any part can be the first."""
    chunks, most = [], Limits(*limits)
    good = [row for row, is_good in enumerate(rows) if is_good]
    start = good[done * most.part_rows - 1] + 1 if done and len(good) >= done * most.part_rows else 0
    done = done if start else 0
    for at in range(start, len(rows), blocks):
        own = np.array([row for row in good if at <= row < at + blocks], np.int64)
        bad = [row for row in range(at, min(at + blocks, len(rows))) if row not in own]
        rejects = tuple(Reject(Position(0, row), "f", f"row {row}", None, "bad", "") for row in bad)
        chunks.append(Chunk(0, own, pa.record_batch({"n": own}), rejects))
    pieces = list(divided(chunks, most, done))
    assert [number for number, _ in pieces] == sorted(number for number, _ in pieces)
    found = {row: number for number, chunk in pieces for row in chunk.rows.tolist()}
    found |= {one.position.row: number for number, chunk in pieces for one in chunk.rejects}
    before = np.cumsum(rows)
    parts = {row: max(0, int(before[row]) - 1) // most.part_rows for row in range(start, len(rows))}
    assert found == {row: part for row, part in parts.items() if part >= done}
    assert all(len(chunk.rows) <= limits[0] for _, chunk in pieces)
    assert all(chunk.batch["n"].to_pylist() == chunk.rows.tolist() for _, chunk in pieces)


@pytest.mark.parametrize("name", FORMATS)
def test_reading_can_start_at_any_row(tmp_path, name):
    path = write(pa.table({"answer": [f"row {n}" for n in range(50)]}), tmp_path / name)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    for start in (0, 1, 17, 49, 50):
        chunks = list(source.chunks(selection, Position(0, start)))
        assert [row for chunk in chunks for row in chunk.rows.tolist()] == list(range(start, 50))
        texts = [text for chunk in chunks for text in chunk.batch["answer"].to_pylist()]
        assert texts == [f"row {n}" for n in range(start, 50)]


def test_parquet_row_groups_before_the_start_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": [str(n) for n in range(200_000)]}), path, row_group_size=70_000)
    source = open_source(path)
    selection = source.select({"answer": "text"})
    chunks = list(source.chunks(selection, Position(0, 150_000)))
    assert chunks[0].rows[0] == 150_000
    assert chunks[0].batch["answer"][0].as_py() == "150000"
    assert sum(len(chunk.rows) for chunk in chunks) == 50_000


@pytest.mark.full
@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.csv", "t.arrow"])
def test_memory_is_bounded_for_a_cell_of_10_megabytes(tmp_path, name):
    cell = "long " * 2_000_000
    path = write(pa.table({"answer": [cell] * 6 + ["short"] * 10}), tmp_path / name)
    source = open_source(path)
    for _, chunk in divided(source.chunks(source.select({"answer": "text"})), Limits()):
        assert chunk.batch.num_rows == 1 or cell_bytes(chunk.batch["answer"]).sum() <= 16 << 20


def test_repeated_long_cell_is_read_in_small_batches(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"contexts": pa.array(["c" * 500_000]).take(pa.array(np.zeros(400, int)))}), path)
    source = open_source(path)
    first = next(iter(source.chunks(source.select({"contexts": "texts"}))))
    assert first.batch.nbytes < 32 << 20
