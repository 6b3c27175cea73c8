"""Row groups of Parquet with much text in few rows, which are read one at a time and are bad rows."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.arrow_files import stored_columns
from fastmetrics.tables.opening import open_source
from tests.support.program import program
from tests.support.table_files import read
from tests.tables.test_row_limits import TOO_LONG, peak

LONG = 70_000_000
MOST = 67_108_864


def bomb(path, size=LONG):
    """Two short rows, a group of four rows of ``size`` bytes each, and one more row."""
    short = pa.table({"id": ["1", "2"], "answer": ["a", "b"], "reference": ["a", "a"]})
    long = pa.chunked_array([pa.array(["x" * size])] * 4)
    with pq.ParquetWriter(path, short.schema, compression="zstd", use_dictionary=False) as writer:
        writer.write_table(short)
        writer.write_table(pa.table({"id": list("abcd"), "answer": long, "reference": ["a"] * 4}))
        writer.write_table(short.slice(0, 1))
    return path


def test_rows_above_the_limit_are_refused_one_by_one(tmp_path):
    path, out = bomb(tmp_path / "t.parquet", 2_000), tmp_path / "o.parquet"
    asked = ("-m", "token_f1", "--on-error", "skip", "--max-row-bytes", "1000", "-q")
    assert program("score", path, "-o", out, *asked).code == 0
    assert pq.read_table(out)["id"].to_pylist() == ["1", "2", "1"]
    rejects = map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines())
    assert [(reject["row"], reject["reason"]) for reject in rejects] == [
        (row, TOO_LONG.format(1000)) for row in (2, 3, 4, 5)
    ]


@pytest.mark.full
def test_long_rows_of_a_group_are_refused_one_by_one(tmp_path):
    path = bomb(tmp_path / "t.parquet")
    code, message, memory = peak(
        "score", path, "-o", tmp_path / "o.parquet", "-m", "token_f1", "--on-error", "skip", "-q"
    )
    assert (code, pq.read_table(tmp_path / "o.parquet")["id"].to_pylist()) == (0, ["1", "2", "1"]), message
    rejects = list(map(json.loads, (tmp_path / "o.parquet.rejects.jsonl").read_text().splitlines()))
    reason = TOO_LONG.format(MOST)
    assert [(reject["row"], reject["reason"]) for reject in rejects] == [(row, reason) for row in (2, 3, 4, 5)]
    assert memory < 800 << 20, "the program, and a few rows"


def test_rows_that_the_reader_loses_are_an_error(tmp_path):
    # an empty page, at which the reader of Arrow ends without an error
    table = pa.table({"answer": pa.array([[]], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "t.parquet", data_page_size=1, write_batch_size=1)
    with pytest.raises(FileFormatError, match=r"t.parquet: row groups 0 to 0 have 0 rows, expected 1; the file is dam"):
        read(open_source(tmp_path / "t.parquet"), {"answer": "texts"})


def test_columns_that_are_not_read_are_not_looked_at(tmp_path):
    path = tmp_path / "rows.parquet"
    spans = pa.array([[{"start": 1, "text": "a"}]])
    pq.write_table(pa.table({"id": [1], "spans": spans, "span": ["b"], "contexts": [["c"]]}), path)
    file = pq.ParquetFile(path)
    assert stored_columns(file, ["spans", "contexts"]) == [1, 2, 4]
    assert stored_columns(file, ["span", "absent"]) == [3]
