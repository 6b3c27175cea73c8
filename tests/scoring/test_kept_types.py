"""Columns of every Arrow type pass through, or are refused in words."""

import datetime
import decimal
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics import score
from fastmetrics.base.arrays import as_lists
from fastmetrics.base.errors import ColumnError, OutputError
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import cell_bytes
from tests.support.table_files import read

_NOON = datetime.datetime(2024, 1, 2, 12)
_KEPT = {
    "decimal": (lambda: pa.array([decimal.Decimal("1.25"), None]), ["1.25", None]),
    "decimals": (lambda: pa.array([[decimal.Decimal("1.25")], None]), [["1.25"], None]),
    "map": (lambda: pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), [[{"key": "a", "value": 1}], None]),
    "uuid": (lambda: _stored(pa.uuid(), [b"0123456789abcdef", None]), ["30313233-3435-3637-3839-616263646566", None]),
    "json": (lambda: _stored(pa.json_(pa.string()), ['{"a": 1}', None]), ['{"a": 1}', None]),
    "zoned": (
        lambda: pa.array([_NOON, None], pa.timestamp("us", "Europe/Berlin")),
        ["2024-01-02 13:00:00.000000+0100", None],
    ),
    "runs": (lambda: pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(["a", None])), ["a", None]),
    "views": (lambda: pa.array([["a", "b"], None], pa.list_view(pa.string())), [["a", "b"], None]),
    "large views": (lambda: pa.array([[1], None], pa.large_list_view(pa.int8())), [[1], None]),
    "dictionary": (lambda: pa.array(["a", None]).dictionary_encode(), ["a", None]),
}


def _stored(type_, values):
    return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))


def _write(path, **columns):
    table = pa.table({"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "a"], **columns})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


def _is_in_parquet(kind):
    try:
        pq.write_table(pa.table({"kept": _KEPT[kind][0]()}), io.BytesIO())
    except pa.ArrowNotImplementedError:
        return False
    return True


_IN_FILES = [
    (kind, suffix) for kind in _KEPT for suffix in ("parquet", "arrow") if suffix == "arrow" or _is_in_parquet(kind)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "suffix"), _IN_FILES)
def test_columns_of_any_type_are_kept(tmp_path, kind, suffix):
    made, expected = _KEPT[kind]
    rows = _write(tmp_path / f"in.{suffix}", kept=made())
    for name in ("o.parquet", "o.arrow", "o.csv", "o/"):
        assert score(rows, output=f"{tmp_path}/{name}", metrics=["token_f1"], keep=["kept"]).rows == 2
    out = tmp_path / "o.jsonl"
    score(rows, output=out, metrics=["token_f1"], keep=["kept"])
    assert [json.loads(line)["kept"] for line in out.read_text().splitlines()] == expected
    assert cell_bytes(made()).tolist()[0] > 0


def test_unsupported_kept_types_are_named(tmp_path):
    months = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())
    bytes_ = pa.array([b"\xff", None])
    rows = _write(tmp_path / "in.arrow", months=months, bytes=bytes_)
    for name, kept, said in (
        ("o.parquet", "months", f"cannot write {tmp_path}/o.parquet: Unhandled type"),
        ("o/", "months", f"cannot write {tmp_path}/o: Unhandled type"),
        ("o.csv", "bytes", f"cannot write {tmp_path}/o.csv: Invalid UTF8"),
    ):
        with pytest.raises(OutputError, match=f"^{said}"):
            score(rows, output=f"{tmp_path}/{name}", metrics=["token_f1"], keep=[kept])
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])])
    with pytest.raises(ColumnError, match=r"column 'kept': expected anything but unions, got sparse_union"):
        score(_write(tmp_path / "u.arrow", kept=union), output=tmp_path / "u.csv", metrics=["token_f1"], keep=["kept"])


def test_decimals_and_views_are_scored(tmp_path):
    latency = pa.array([decimal.Decimal("1.5"), None])
    contexts = pa.array([["a b", "c"], None], pa.list_view(pa.string()))
    source = open_source(_write(tmp_path / "in.arrow", latency_ms=latency, contexts=contexts))
    found, rejects = read(source, {"latency_ms": "number", "contexts": "texts"})
    assert found["contexts"].to_pylist() == [["a b", "c"], None]
    score(tmp_path / "in.arrow", output=tmp_path / "o.jsonl", metrics=["latency_ms"])
    assert (tmp_path / "o.jsonl").read_text().count('"latency_ms": 1.5') == 1
    assert rejects == []


def test_views_in_any_order_are_lists():
    views = pa.ListViewArray.from_arrays([2, 0, 1], [1, 2, 0], pa.array(["a", "b", "c"]), mask=pa.array([False] * 3))
    assert as_lists(views).to_pylist() == views.to_pylist() == [["c"], ["a", "b"], []]
    assert cell_bytes(views).tolist() == [2, 4, 0], "an element of a view counts a byte more"
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["ab", None]))
    assert cell_bytes(runs).tolist() == [2, 2, 0]
    maps = pa.array([[("a", "bc")], None, []], pa.map_(pa.string(), pa.string()))
    assert cell_bytes(maps.slice(1)).tolist() == [0, 0]
    assert cell_bytes(maps).tolist() == [3, 0, 0]
