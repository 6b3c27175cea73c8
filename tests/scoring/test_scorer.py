"""``fm.scorer``: batches are scored by themselves, in any process, as if all rows were at hand."""

import math
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.plans.score_batch import slices

TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "answer": ["in Paris", "Rome", None, ""],
        "reference": [["Paris"], ["rome", "Roma"], ["x"], []],
        "latency_ms": [1.5, None, math.nan, 4.0],
        "note": [b"\x00", None, b"x", b"y"],
    }
)
METRICS = ["token_f1", "latency_ms"]


def bits(table):
    """What the scores are to the bit, nulls and NaN apart."""
    return [str(column.is_valid().to_pylist()).encode() + np.asarray(column).tobytes() for column in table.columns[1:]]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_pieces_have_the_scores_of_the_whole(size):
    scored = pickle.loads(pickle.dumps(fm.scorer(METRICS)))
    expected = fm.score(TABLE, METRICS)
    made = [scored(TABLE.slice(start, size)) for start in range(0, 4, size)]
    found = pa.concat_tables(made).combine_chunks()
    assert found.schema == expected.schema == scored.types(TABLE.schema)
    assert found["id"].to_pylist() == TABLE["id"].to_pylist()
    assert bits(found) == bits(expected)


def test_a_record_batch_gives_a_record_batch_of_all_its_rows():
    scored, batch = fm.scorer(METRICS), TABLE.to_batches()[0]
    for rows in (batch, batch.slice(0, 0)):
        made = scored(rows)
        assert isinstance(made, pa.RecordBatch)
        assert (made.num_rows, made.schema.names) == (rows.num_rows, ["id", *METRICS])
    many = pa.record_batch({"answer": ["a"] * 20_000, "reference": ["a"] * 20_000})
    assert fm.scorer("token_f1")(many).num_rows == 20_000


def test_kept_columns_and_others():
    table = TABLE.select(TABLE.column_names[::-1]).append_column("more", [["x"] * 4])
    assert fm.scorer(METRICS, keep=["note", "id"])(table).column_names == ["id", "note", *METRICS]
    assert bits(fm.scorer(METRICS)(table)) == bits(fm.score(TABLE, METRICS))
    assert fm.scorer(suites="core")(TABLE).column_names == fm.score(TABLE, suites="core").column_names


class Boxed(pa.ExtensionType):
    """A type of another package, around one of Arrow's."""

    def __init__(self, inside):
        super().__init__(inside, "tests.boxed")

    def __arrow_ext_serialize__(self):
        return b""


@pytest.mark.parametrize("inside", [pa.list_(pa.float64()), pa.large_list(pa.float64())])
def test_vectors_in_foreign_types_are_converted_and_kept_columns_are_not(inside):
    vectors = pa.array([[1.0, 0.0], None, [0.6, 0.8]], inside)
    boxed = pa.ExtensionArray.from_storage(Boxed(inside), vectors)
    plain = pa.table({"answer_embedding": vectors, "reference_embedding": vectors})
    columns = {"answer_embedding": pa.chunked_array([boxed[:1], boxed[1:]]), "reference_embedding": vectors}
    made = fm.scorer("semantic_similarity", keep="note")(pa.table({**columns, "note": boxed}))
    assert made["semantic_similarity"].to_pylist() == fm.score(plain, ["semantic_similarity"])[0].to_pylist()
    assert (made["semantic_similarity"].null_count, made["note"].type) == (1, boxed.type)


def test_texts_of_a_dictionary_count_as_often_as_rows_have_them(monkeypatch):
    monkeypatch.setattr(SIZES, "batch_bytes", 10_000)
    texts = pa.DictionaryArray.from_arrays(pa.array([0, None, 1] * 100, pa.int32()), ["a " * 500, "b"])
    batches = list(slices(pa.table({"answer": texts})))
    assert sum(batch.num_rows for batch in batches) == 300
    assert max(batch.num_rows for batch in batches) < 60


def test_a_folder_of_parts_is_a_score_file(tmp_path):
    """As Ray and Spark write it: without the metadata of a run, and with files that are no parts."""
    scored, whole = fm.scorer(METRICS), tmp_path / "whole.parquet"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").touch()
    for number in range(2):
        pq.write_table(scored(TABLE.slice(2 * number, 2)), tmp_path / "parts" / f"part-{number}.snappy.parquet")
    fm.score(TABLE, METRICS, output=whole)
    found, expected = fm.summarize(tmp_path / "parts"), fm.summarize(whole)
    assert repr(found["token_f1"].mean) == repr(expected["token_f1"].mean)
    assert "b has the same scores as a in every row" in str(fm.compare({"a": whole, "b": tmp_path / "parts"}))
    assert fm.gate(tmp_path / "parts", ["token_f1 >= 0 with n >= 2"]).passed
