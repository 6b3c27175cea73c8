"""Rows and sums that other systems move in pieces: each piece is scored and added up as if all were at hand."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.engines.cluster_rows import RowScoring, pack, plan_rows, unpack
from fastmetrics.metrics.plan import ScoreRequest
from fastmetrics.metrics.score_batch import slices
from fastmetrics.stats.sums import State

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


def rows(table: pa.Table = TABLE, **options: object) -> RowScoring:
    planned = plan_rows(table.column_names, ScoreRequest(METRICS, **options))
    return RowScoring(planned, {field.name: field.type for field in table.schema})


def bits(table: pa.Table | pa.RecordBatch) -> list[bytes]:
    """What the scores are to the bit, nulls and NaN apart."""
    return [str(column.is_valid().to_pylist()).encode() + np.asarray(column).tobytes() for column in table.columns[1:]]


def test_id_and_keep_columns_are_kept() -> None:
    names = TABLE.column_names
    assert plan_rows(names, ScoreRequest(METRICS)).keep == ("id",)
    assert plan_rows(names, ScoreRequest(METRICS, keep=["note", "id"])).keep == ("id", "note")
    assert plan_rows(names, ScoreRequest(METRICS, {"id": "note"})).keep == ("note",)
    assert plan_rows(["answer", "reference"], ScoreRequest(["token_f1"])).keep == ()
    with pytest.raises(OptionError, match=r"^corpus_bleu is one value per table and cannot be computed"):
        plan_rows(names, ScoreRequest(["token_f1", "corpus_bleu"]))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_pieces_have_the_scores_of_the_whole(size: int) -> None:
    pieces = [TABLE.slice(start, size) for start in range(0, 4, size)]
    made = list(rows().scores(pieces))
    assert [batch.num_rows for batch in made] == [piece.num_rows for piece in pieces]
    found, expected = pa.Table.from_batches(made).combine_chunks(), fm.score(TABLE, METRICS)
    assert found.schema == expected.schema
    assert found["id"].to_pylist() == TABLE["id"].to_pylist()
    assert bits(found) == bits(expected)


def test_empty_batch_has_all_columns() -> None:
    (made,) = rows().scores([TABLE.slice(0, 0)])
    assert (made.num_rows, made.schema.names) == (0, ["id", *METRICS])
    before, none, after = rows().scores([TABLE, TABLE.slice(2, 0), TABLE])
    assert (before.num_rows, none.num_rows, after.num_rows) == (4, 0, 4)
    assert none.schema == before.schema


def test_batch_without_column_equals_null_column() -> None:
    lacking = TABLE.drop_columns(["reference", "latency_ms"])
    null = lacking.append_column("reference", pa.nulls(4)).append_column("latency_ms", pa.nulls(4))
    whole, *made = rows().scores([TABLE, lacking, null])
    for batch in made:
        assert batch.schema == whole.schema
        assert batch["id"].to_pylist() == ["a", "b", "c", "d"]
        assert batch["token_f1"].null_count == batch["latency_ms"].null_count == 4


def test_columns_in_another_order_and_further_ones_do_not_matter() -> None:
    (expected,) = rows().scores([TABLE])
    (made,) = rows().scores([TABLE.select(TABLE.column_names[::-1]).append_column("more", [["x"] * 4])])
    assert made.schema == expected.schema
    assert bits(made) == bits(expected)


class Boxed(pa.ExtensionType):
    """A type of another package, around one of Arrow's."""

    def __init__(self, inside: pa.DataType) -> None:
        super().__init__(inside, "tests.boxed")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


@pytest.mark.parametrize("inside", [pa.list_(pa.float64()), pa.large_list(pa.float64())])
def test_vectors_in_foreign_types_are_converted(inside: pa.DataType) -> None:
    vectors = pa.array([[1.0, 0.0], None, [0.6, 0.8]], inside)
    boxed = pa.ExtensionArray.from_storage(Boxed(inside), vectors)
    plain = pa.table({"answer_embedding": vectors, "reference_embedding": vectors})
    table = pa.table({"answer_embedding": pa.chunked_array([boxed[:1], boxed[1:]]), "reference_embedding": vectors})
    planned = plan_rows(table.column_names, ScoreRequest(["semantic_similarity"]))
    made = pa.Table.from_batches(RowScoring(planned, {}).scores([table]))
    assert made["semantic_similarity"].to_pylist() == fm.score(plain, ["semantic_similarity"])[0].to_pylist()
    assert made["semantic_similarity"].null_count == 1


def test_kept_column_retains_its_type() -> None:
    boxed = pa.ExtensionArray.from_storage(Boxed(pa.list_(pa.int64())), pa.array([[1]] * 4))
    table = TABLE.set_column(4, "note", boxed)
    (made,) = rows(table, keep=["note"]).scores([table])
    assert made["note"].type == boxed.type


def test_texts_of_a_dictionary_count_as_often_as_rows_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "batch_bytes", 10_000)
    texts = pa.DictionaryArray.from_arrays(pa.array([0, None, 1] * 100, pa.int32()), ["a " * 500, "b"])
    batches = list(slices(pa.table({"answer": texts})))
    assert sum(batch.num_rows for batch in batches) == 300
    assert max(batch.num_rows for batch in batches) < 60


def test_unsupported_type_raises_before_reading_rows() -> None:
    rows().check()
    with pytest.raises(ColumnError, match="column 'answer': expected text, got struct<a: int64>"):
        rows(TABLE.set_column(1, "answer", pa.array([{"a": 1}] * 4))).check()
    unknown = TABLE.set_column(1, "answer", pa.nulls(4))
    rows(unknown).check()
    planned = plan_rows(TABLE.column_names, ScoreRequest(METRICS, keep=["note"]))
    RowScoring(
        planned, {name: TABLE.schema.field(name).type for name in planned.inputs if name not in planned.keep}
    ).check()


@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_sums_of_pieces_in_any_order_are_those_of_the_whole(pieces: int) -> None:
    rng = np.random.default_rng(3)
    table = pa.table({name: pa.array(rng.random(700), mask=rng.random(700) < 0.1) for name in ("a", "b", "c")})
    table = table.append_column("d", [[math.nan, None, 1e300, -1e300, 5e-324] * 140])
    cuts = [0, *sorted(rng.integers(0, 700, pieces - 1).tolist()), 700]
    parts = [table.slice(start, stop - start) for start, stop in pairwise(cuts)]
    names, asked = ["a", "b", "d"], ["d", "a"]
    packed = [batch for part in parts for batch in pack([part.slice(0, 5), part.slice(5)], names, asked)]
    texts = [text for batch in packed for text in batch["sums"].to_pylist() if text is not None]
    assert len(texts) == pieces
    random.Random(pieces).shuffle(texts)
    sums = unpack(texts, names)
    assert sums.n_rows == 700
    for name in names:
        state = State()
        state.add(table[name])
        assert sums.states[name].to_json() == state.to_json()
    values = [row for batch in packed for row in batch["values"].to_pylist() if row]
    assert [len(row) for row in values] == [2] * 2 * pieces
    found = np.concatenate([np.frombuffer(row[0], np.float64) for row in values])
    np.testing.assert_array_equal(found, table["d"].to_numpy())
    found = np.concatenate([np.frombuffer(row[1], np.float64) for row in values])
    np.testing.assert_array_equal(found, table["a"].to_numpy())
    assert unpack([], names).n_rows == 0
