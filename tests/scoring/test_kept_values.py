"""Values of kept columns: what the user had stays as it was, and what lies hidden under a null stays hidden."""

import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics import score
from fastmetrics.engines import run
from fastmetrics.tables.encoders import undefined_as_null

ODD = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1, None, 2.0]
DAY = datetime.datetime(2020, 2, 2)
TYPES = {
    "float64": (pa.float64(), float),
    "float16": (pa.float16(), np.float16),
    "int8": (pa.int8(), int),
    "uint64": (pa.uint64(), lambda n: 2**63 + n),
    "bool": (pa.bool_(), lambda n: n % 2 == 1),
    "timestamp": (pa.timestamp("us", "UTC"), lambda n: DAY + datetime.timedelta(n)),
    "date": (pa.date32(), lambda n: (DAY + datetime.timedelta(n)).date()),
    "duration": (pa.duration("s"), datetime.timedelta),
    "decimal": (pa.decimal128(9, 2), decimal.Decimal),
    "string": (pa.string(), lambda n: "text " * n),
    "large string": (pa.large_string(), lambda n: "text " * n),
    "binary": (pa.binary(), lambda n: b"\x7f" * n),
    "fixed binary": (pa.binary(2), lambda n: bytes([n, n])),
    "uuid": (pa.uuid(), lambda n: bytes([n] * 16)),
    "list": (pa.list_(pa.int64()), lambda n: [n] * n),
    "fixed list": (pa.list_(pa.float32(), 2), lambda n: [n, n]),
    "struct": (pa.struct({"a": pa.string(), "b": pa.date32()}), lambda n: {"a": "x" * n, "b": DAY.date()}),
    "map": (pa.map_(pa.string(), pa.int64()), lambda n: [("k" * n, n)]),
}


def array(kind, numbers, hidden):
    """Values made of numbers; under a null lies what ``hidden`` makes."""
    type_, make = TYPES[kind]
    plain = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    whole = pa.array([make(hidden if n is None else n) for n in numbers], plain)
    bits = np.packbits([n is not None for n in numbers], bitorder="little").tobytes()
    found = _with_validity(whole, pa.py_buffer(bits))
    assert [value is None for value in found.to_pylist()] == [n is None for n in numbers]
    return pa.ExtensionArray.from_storage(type_, found) if plain != type_ else found


def _with_validity(whole, bits):
    if pa.types.is_fixed_size_list(whole.type) or pa.types.is_list(whole.type) or pa.types.is_map(whole.type):
        buffers = whole.buffers()[: 1 if pa.types.is_fixed_size_list(whole.type) else 2]
        child = whole.values if not pa.types.is_map(whole.type) else _entries(whole)
        return pa.Array.from_buffers(whole.type, len(whole), [bits, *buffers[1:]], children=[child])
    if pa.types.is_struct(whole.type):
        return pa.Array.from_buffers(whole.type, len(whole), [bits], children=whole.flatten())
    return pa.Array.from_buffers(whole.type, len(whole), [bits, *whole.buffers()[1:]])


def _entries(maps):
    kind = maps.type
    fields = [pa.field("key", kind.key_type, nullable=False), kind.item_field]
    return pa.StructArray.from_arrays([maps.keys, maps.items], fields=fields)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_bytes_under_nulls_are_ignored(tmp_path, kind, monkeypatch):
    """Whatever it is, the bytes of the output are the same: a run that goes on may have read other memory."""
    monkeypatch.setattr(run, "describe_inputs", lambda *_: None)  # the metadata hold the input's size, which differs
    numbers = [1, None, 2, None, None, 3, 1, None]
    made = []
    for hidden in (1, 4, 7):
        kept = array(kind, numbers, hidden)
        rows = pa.table({"id": range(8), "answer": ["a"] * 8, "reference": ["a"] * 8, "kept": kept})
        with pa.ipc.new_file(tmp_path / "in.arrow", rows.schema) as file:
            file.write_table(rows)
        for name in ("o.arrow", "o.parquet", "o.csv"):
            score(tmp_path / "in.arrow", output=tmp_path / name, metrics=["exact_match"], keep=["kept"], overwrite=True)
        assert pa.ipc.open_file(tmp_path / "o.arrow").read_all()["kept"].to_pylist() == kept.to_pylist()
        made.append([(tmp_path / name).read_bytes() for name in ("o.arrow", "o.parquet", "o.csv")])
    assert made[0] == made[1] == made[2]


def test_bytes_under_nulls_in_lists_are_ignored(tmp_path):
    made = []
    for hidden in (1, 4):
        items = array("date", [1, None, 2, None], hidden)
        rows = pa.table({"answer": ["a", "b"], "kept": pa.ListArray.from_arrays([0, 3, 4], items)})
        with pa.ipc.new_file(tmp_path / "in.arrow", rows.schema) as file:
            file.write_table(rows)
        score(
            tmp_path / "in.arrow", output=tmp_path / "o.arrow", metrics=["answer_length"], keep=["kept"], overwrite=True
        )
        made.append((tmp_path / "o.arrow").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", ["timestamp", "bool", "date", "duration", "int8", "string", "list"])
def test_kept_columns_have_the_same_bytes_however_parquet_was_read(tmp_path, kind):
    """The reader leaves other values under nulls where its batches end elsewhere."""
    numbers = [None if n % 3 == 1 or n % 7 == 2 else n % 5 for n in range(4000)]
    kept = array(kind, numbers, 0)
    rows = pa.table({"id": range(4000), "answer": ["a"] * 4000, "reference": ["a"] * 4000, "kept": kept})
    made = []
    for size in (4000, 37, 1500):
        pq.write_table(rows, tmp_path / "in.parquet", row_group_size=size, use_dictionary=False)
        score(
            tmp_path / "in.parquet", output=tmp_path / "o.arrow", metrics=["exact_match"], keep=["kept"], overwrite=True
        )
        made.append((tmp_path / "o.arrow").read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("name", ["o.parquet", "o.arrow", "o.csv", "o/"])
@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()])
def test_numbers_of_the_user_stay_as_they_were(tmp_path, name, type_):
    """A NaN of a score is undefined, and null in files; one in a column that is kept is the user's own."""
    odd = pa.array(ODD, type_, from_pandas=False)
    rows = pa.table({"id": range(8), "answer": ["a"] * 8, "reference": ["a"] * 8, "latency_ms": odd, "odd": odd})
    pq.write_table(rows, tmp_path / "in.parquet")
    made = score(tmp_path / "in.parquet", output=f"{tmp_path}/{name}", metrics=["latency_ms"], keep=["odd"]).output
    if name == "o.csv":
        found = [line.split(",")[1] for line in made.read_text().splitlines()[1:]]
        assert found[:4] == ["nan", "inf", "-inf", "-0"]
        assert found[6] == ""
        return
    table = pa.ipc.open_file(made).read_all() if name == "o.arrow" else pq.read_table(made)
    assert list(map(repr, table["odd"].to_pylist())) == list(map(repr, odd.to_pylist()))
    assert table["odd"].type == type_


def test_an_undefined_score_is_null_over_zero():
    batch = pa.record_batch({"kept": pa.array([math.nan, 1.0, None]), "score": pa.array([math.nan, 1.0, None])})
    made = undefined_as_null(batch, {"kept"})
    assert made["score"].to_pylist() == [None, 1.0, None]
    assert made["kept"].to_pylist()[1:] == [1.0, None]
    assert math.isnan(made["kept"][0].as_py())
    assert np.frombuffer(made["score"].buffers()[1]).tolist()[:3] == [0.0, 1.0, 0.0]
    whole = pa.record_batch({"score": pa.array([0.5, 1.0])})
    assert undefined_as_null(whole, set())["score"].null_count == 0
