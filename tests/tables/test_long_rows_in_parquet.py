"""Row groups of Parquet with gigabytes in few rows: refused by their sizes, before they are unpacked."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import ReadSizes
from fastmetrics.tables import arrow_files, open_source
from fastmetrics.tables.arrow_files import stored_columns
from fastmetrics.tables.table_rows import whole_table
from tests.support.program import program
from tests.support.table_files import read
from tests.tables.test_row_limits import TOO_LONG, peak

LONG = 70_000_000
SMALL = ReadSizes(parquet_page_bytes=1000)
MOST = 67_108_864


def bomb(path: Path, *, dictionary: bool) -> Path:
    """Two short rows, a group of four rows of 70 MB each, which a dictionary holds once, and one more row."""
    short = pa.table({"id": ["1", "2"], "answer": ["a", "b"], "reference": ["a", "a"]})
    long = pa.chunked_array([pa.array(["x" * LONG])] * 4)
    with pq.ParquetWriter(path, short.schema, compression="zstd", use_dictionary=dictionary) as writer:
        writer.write_table(short)
        writer.write_table(pa.table({"id": list("abcd"), "answer": long, "reference": ["a"] * 4}))
        writer.write_table(short.slice(0, 1))
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The most memory of a run on one short row."""
    folder = tmp_path_factory.mktemp("short")
    pq.write_table(pa.table({"answer": ["a"], "reference": ["a"]}), folder / "short.parquet")
    return int(peak("score", folder / "short.parquet", "-o", folder / "short.csv", "-m", "token_f1")[2])


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [False, True])
def test_group_of_long_rows_is_refused_without_its_gigabytes(tmp_path: Path, base: int, dictionary: bool) -> None:
    path = bomb(tmp_path / "t.parquet", dictionary=dictionary)
    assert path.stat().st_size < 1 << 20
    reason = f"row group 1 (rows 2 to 5) is not read, because in it at least one row has more than {MOST:,} bytes"
    expected = f"error: {path}, row 2, column 'answer': {reason}, the limit of max_row_bytes"
    done = program("score", path, "-o", tmp_path / "o.parquet", "-m", "token_f1")
    assert (done.code, done.err.startswith(expected)) == (3, True), done.err
    code, message, memory = peak(
        "score", path, "-o", tmp_path / "o.parquet", "-m", "token_f1", "--on-error", "skip", "-q"
    )
    assert (code, pq.read_table(tmp_path / "o.parquet")["id"].to_pylist()) == (0, ["1", "2", "1"]), message
    rejects = list(map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()))
    assert [reject["row"] for reject in rejects] == [2, 3, 4, 5]
    assert memory < base + (200 << 20)


CELLS = st.one_of(st.none(), st.integers(0, 400).map("x".__mul__), st.sampled_from(["y" * 300, "z"]))
TABLES = st.one_of(
    st.lists(CELLS, min_size=1, max_size=30).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(st.lists(CELLS, max_size=5), min_size=1, max_size=20).map(
        lambda cells: pa.array(cells, pa.list_(pa.string()))
    ),
)


@given(
    TABLES,
    st.integers(1, 300),
    st.integers(1, 9),
    st.fixed_dictionaries(
        {
            "compression": st.sampled_from(["zstd", "snappy", "none"]),
            "use_dictionary": st.booleans(),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "data_page_size": st.sampled_from([100, 500, 1 << 20]),
            "write_batch_size": st.sampled_from([1, 3, 1024]),
        }
    ),
)
def test_refused_groups_have_a_long_row(
    tmp_path_factory: pytest.TempPathFactory, column: pa.Array, most: int, rows: int, options: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    table = pa.table({"id": pa.array(range(len(column))), "answer": column})
    pq.write_table(table, path, row_group_size=rows, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_files, "MAX_ROW_BYTES", 0)
        source = open_source(path, max_row_bytes=most, sizes=ReadSizes(parquet_page_bytes=0))
        kept, rejects = read(source, {"id": "any", "answer": "texts"})
    sizes = [len("".join(filter(None, [cell] if isinstance(cell, str) else cell or []))) for cell in column.to_pylist()]
    groups = [range(first, min(first + rows, len(sizes))) for first in range(0, len(sizes), rows)]
    missing = sorted(set(range(len(sizes))) - set(kept["id"].to_pylist()))
    refused = [group for group in groups if group[0] in missing]
    assert missing == [row for group in refused for row in group]
    assert all(any(sizes[row] > most for row in group) for group in refused)
    assert len(rejects) == len(missing)
    assert kept["answer"].to_pylist() == [cell for row, cell in enumerate(column.to_pylist()) if row not in missing]
    mean = [sum(sizes[row] for row in group) / len(group) for group in groups]
    if not options["use_dictionary"] and column.type == pa.string():
        assert all(
            group in refused
            for group, size in zip(groups, mean, strict=True)
            if len(group) * (size - 8) - 64 > len(group) * most and options["data_page_size"] == 1 << 20
        )


def test_long_value_among_short_ones_is_refused_by_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["a"] * 40 + ["x" * 5000] + ["b"] * 40
    pq.write_table(pa.table({"answer": cells}), tmp_path / "t.parquet", use_dictionary=False, write_batch_size=1)
    monkeypatch.setattr(arrow_files, "MAX_ROW_BYTES", 0)
    whole = read(open_source(tmp_path / "t.parquet", max_row_bytes=5000, sizes=SMALL), {"answer": "text"})
    assert (whole[0]["answer"].to_pylist(), whole[1]) == (cells, [])
    pq.write_table(
        pa.table({"answer": cells}), tmp_path / "t.parquet", use_dictionary=False, write_batch_size=1, data_page_size=1
    )
    _, rejects = read(open_source(tmp_path / "t.parquet", max_row_bytes=4000, sizes=SMALL), {"answer": "text"})
    assert rejects[0].startswith(
        f"{tmp_path}/t.parquet, row 0, column 'answer': row group 0 (rows 0 to 80) is not read"
    )
    assert (len(rejects), rejects[0].count("at least one row has more than 4,000 bytes")) == (81, 1)


def test_single_long_row_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"answer": ["a", "x" * 5000], "reference": ["a", "a"]}), "t.parquet", row_group_size=1)
    monkeypatch.setattr(arrow_files, "MAX_ROW_BYTES", 0)
    with pytest.raises(FileFormatError, match=f"^t.parquet, row 1, column 'answer': {TOO_LONG.format(4000)}$"):
        whole_table(open_source("t.parquet", max_row_bytes=4000, sizes=SMALL), {"answer": "text"})


@pytest.mark.slow
def test_damaged_page_headers_do_not_matter_for_the_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"answer": ["x" * 5000] * 3}), path, use_dictionary=False, compression="none")
    column = pq.read_metadata(path).row_group(0).column(0)
    data = path.read_bytes()
    monkeypatch.setattr(arrow_files, "MAX_ROW_BYTES", 0)
    for junk in (b"\xff" * 40, b"\x1c" * 40, b"\x15\x00\x15\x01\x15" + b"\xff" * 20, b"\x19" * 9, b""):
        at = column.data_page_offset
        path.write_bytes(data[:at] + junk + data[at + len(junk) :])
        try:
            read(open_source(path, max_row_bytes=6000, sizes=SMALL), {"answer": "text"})
        except FileFormatError as error:
            assert "cannot be read" in str(error) or "damaged" in str(error)  # noqa: PT017
        else:
            assert not junk


def test_rows_that_the_reader_loses_are_an_error(tmp_path: Path) -> None:
    # an empty page, at which the reader of Arrow ends without an error
    table = pa.table({"answer": pa.array([[]], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "t.parquet", data_page_size=1, write_batch_size=1)
    with pytest.raises(FileFormatError, match=r"t.parquet: row groups 0 to 0 have 0 rows, expected 1; the file is dam"):
        read(open_source(tmp_path / "t.parquet"), {"answer": "texts"})


def test_columns_that_are_not_read_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    spans = pa.array([[{"start": 1, "text": "a"}]])
    pq.write_table(pa.table({"id": [1], "spans": spans, "span": ["b"], "contexts": [["c"]]}), path)
    file = pq.ParquetFile(path)
    assert stored_columns(file, ["spans", "contexts"]) == [1, 2, 4]
    assert stored_columns(file, ["span", "absent"]) == [3]
