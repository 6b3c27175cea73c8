"""Tables of any kind: scores depend on the columns that are read alone, and come back in a way that can be joined."""

import datetime
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base import column_names
from fastmetrics.base.errors import ColumnError
from tests.support.goldens import refused

ROWS = {
    "id": ["p", "q", "r"],
    "answer": ["in Paris", "Rome", None],
    "reference": [["Paris"], ["Paris", "Rome"], ["Oslo"]],
}
EXPECTED = [pytest.approx(2 / 3), 1.0, None]
ODD = {
    "mixed": [1, "a", None],
    "dicts": [{"a": 1}, {"a": "b"}, 5],
    "nested": [[1, "a"], [[2]], None],
    "sets": [{1}, {"a"}, frozenset()],
    "objects": [object(), lambda: 1, ROWS],
    "types": [uuid.UUID(int=5), datetime.date(2024, 1, 1), 1j],
    "huge": [10**40, -1, 0.5],
    "bytes": [b"\xff", "\ud800", 1],
}


def dicts(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def objects(columns):
    return pl.DataFrame({name: pl.Series(name, values, dtype=pl.Object) for name, values in columns.items()})


MAKERS = {
    "dict": dict,
    "rows": dicts,
    "row generator": lambda columns: iter(dicts(columns)),
    "pandas": lambda columns: pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()}),
    "polars": lambda columns: pl.concat([pl.DataFrame(ROWS), objects(columns).drop(list(ROWS))], how="horizontal"),
}


@pytest.mark.parametrize("odd", sorted(ODD))
@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_column_that_no_metric_needs_may_hold_anything(maker, odd):
    table = MAKERS[maker]({**ROWS, odd: ODD[odd]})
    scores = fm.score(table, "token_f1,exact_match")
    assert scores["token_f1"].to_pylist() == EXPECTED
    assert scores["id"].to_pylist() == ROWS["id"]


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_an_object_column_that_is_needed_is_read(maker):
    everything = objects(ROWS) if maker == "polars" else MAKERS[maker](ROWS)
    assert fm.score(everything, ["token_f1"])["token_f1"].to_pylist() == EXPECTED


def test_names_that_are_no_text_or_occur_twice():
    frame = pd.DataFrame(dicts(ROWS))
    for names in (["id", 7, ("a", 1)], ["id", ("x", "answer"), ("x", "reference")], [None, 0, 0.5]):
        frame.columns = pd.Index(names, tupleize_cols=False, dtype=object)
        made = fm.score(frame, "token_f1", columns=dict(zip(ROWS, names, strict=True)))
        assert made["token_f1"].to_pylist() == EXPECTED
    frame.columns = pd.MultiIndex.from_tuples([("x", "id"), ("x", "answer"), ("y", "reference")])
    made = fm.score(frame, "token_f1", columns={"answer": ("x", "answer"), "reference": ("y", "reference")})
    assert made["token_f1"].to_pylist() == EXPECTED
    assert fm.score({0: ["a"], 1.5: ["a"]}, "token_f1", columns={"answer": 0, "reference": 1.5})["token_f1"][0].as_py()
    more = pa.table(ROWS).append_column("n", pa.array([1, 2, 3])).append_column("n", pa.array(["a", "b", "c"]))
    for table in (more, more.to_pandas(), more.to_batches(), more.to_reader(), iter(more.to_batches())):
        assert fm.score(table, "token_f1")["token_f1"].to_pylist() == EXPECTED
    twice = more.rename_columns(["id", "answer", "reference", "response", "response"])
    refused(ColumnError, "2 response", fm.score, twice, "token_f1", columns={"answer": "response"})
    refused(
        ColumnError, "2 0", fm.score, {0: ["a"], "0": ["a"], "reference": ["a"]}, "token_f1", columns={"answer": "0"}
    )


def test_columns_that_are_not_read_may_differ_in_length():
    assert fm.score({**ROWS, "log": ["a"]}, "token_f1")["token_f1"].to_pylist() == EXPECTED


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_may_hold_anything_in_columns_that_are_not_read(tmp_path, suffix):
    types = pa.array([0, 1, 0], pa.int8())
    union = pa.UnionArray.from_sparse(types, [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])])
    maps = pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8()))
    deep = pa.array([[{"a": [{"b": None}]}], None, []])
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({**ROWS, "maps": maps, "deep": deep}), path)
    else:
        table = pa.table({**ROWS, "union": union, "maps": maps, "null": pa.nulls(3), "code": maps})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    done = fm.score(path, output=tmp_path / "scores.parquet", metrics="token_f1,exact_match", keep="maps")
    scores = pq.read_table(done.output)
    assert scores["token_f1"].to_pylist() == EXPECTED
    assert scores.column_names == ["id", "maps", "token_f1", "exact_match"]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_files_may_disagree_on_columns_that_are_not_read(tmp_path, suffix):
    for place, meta in enumerate(([1, 2, 3], ["a", "b", "c"], [{"a": 1}] * 3, [[1], [], None])):
        rows = pd.DataFrame({**ROWS, "meta": meta})
        path = tmp_path / f"{place}.{suffix}"
        rows.to_parquet(path) if suffix == "parquet" else rows.to_json(path, orient="records", lines=True)
    scored = fm.score(tmp_path, output=tmp_path.parent / "scores.parquet", metrics="token_f1", overwrite=True)
    assert scored.summary["token_f1"].n == 8


def batches():
    return pa.table(ROWS).to_batches(max_chunksize=1)


@pytest.mark.parametrize(
    "table",
    [
        batches,
        lambda: tuple(batches()),
        lambda: (batch for batch in batches()),
        lambda: [pa.table(ROWS).slice(0, 2), pa.table(ROWS).slice(2)],
        lambda: pa.RecordBatchReader.from_batches(pa.table(ROWS).schema, batches()),
        lambda: pl.LazyFrame(ROWS),
        lambda: pl.LazyFrame({**ROWS, "bad": ["1", "x", "2"]}).with_columns(pl.col("bad").cast(pl.Int64)),
        type("Stream", (), {"__arrow_c_stream__": pa.table(ROWS).__arrow_c_stream__}),
    ],
)
def test_rows_in_batches_and_lazy_rows(table):
    scores = fm.score(table(), "token_f1")
    assert scores["token_f1"].to_pylist() == EXPECTED
    assert scores["id"].to_pylist() == ROWS["id"]
    both = fm.score(table(), ["answer_relevance(idf='corpus')"], columns={"question": "id"})
    assert both.num_rows == 3


def test_pieces_that_differ():
    first, second = ({**ROWS, "id": ids} for ids in ([None, None, None], ["a", "b", "c"]))
    made = fm.score([pa.table(first), pa.table({**second, "more": [1, 2, 3]}).select([3, 2, 1, 0])], "token_f1")
    assert made["id"].to_pylist() == [None] * 3 + ["a", "b", "c"]
    assert made["token_f1"].to_pylist() == EXPECTED * 2


def test_an_empty_piece_counts_for_its_columns():
    table = pa.table(ROWS).slice(0, 0)
    for none in ([table], iter(table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)])):
        assert fm.score(none, "token_f1").schema == fm.score(pa.table(ROWS), "token_f1").schema


LABELS = st.sampled_from(
    [
        pd.RangeIndex(10, 50, 10),
        pd.Index([5, 3, 9, 4]),
        pd.Index(["a", "b", None, "d"], name="id"),
        pd.Index([0.5, 1.5, -1.0, 2.5], name="token_f1"),
        pd.date_range("2024-01-01", periods=4, tz="Europe/Paris", name="day"),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a"), (2, "b")], names=["user", None]),
        pd.Index([1, 2, 3, 4], name=("a", 1), tupleize_cols=False),
        pd.CategoricalIndex(["x", "y", "z", "w"]),
    ]
)


@given(LABELS, st.permutations(range(4)), st.lists(st.booleans(), min_size=4, max_size=4), st.booleans())
def test_scores_of_a_pandas_frame_join_it_by_its_row_labels(labels, order, kept, ascending):
    answers = [f"{'right ' * place}wrong" for place in range(4)]
    frame = pd.DataFrame({"id": range(4), "answer": answers, "reference": ["right " * 3] * 4}, index=labels)
    alone = dict(zip(range(4), fm.token_f1(frame["answer"], frame["reference"]), strict=True))
    chosen = frame.iloc[order][np.array(kept)[order]]
    scores = fm.score(chosen, "token_f1")
    back = scores.to_pandas()
    assert back.index.equals(chosen.index)
    assert list(back.columns) == ["id", "token_f1"]
    mixed = scores.sort_by([("token_f1", "ascending" if ascending else "descending")])
    mixed = mixed.slice(0, 3).to_pandas()[["token_f1"]]
    joined = frame.join(mixed)
    assert joined.index.equals(frame.index)
    found = joined.set_index("id")["token_f1"].dropna().to_dict()
    assert len(found) == min(sum(kept), 3)
    assert all(alone[row] == score for row, score in found.items())
    assert set(fm.summarize(scores)) == {"token_f1"}
    assert fm.summarize(scores)["token_f1"] == fm.summarize(back[["token_f1"]])["token_f1"]


def test_corpus_counts_and_row_labels_coexist():
    frame = pd.DataFrame({"answer": ["a b c d", "e"], "reference": ["a b c d", "f"]}, index=["x", "y"])
    scores = fm.score(frame, "corpus_bleu,token_f1")
    assert scores.to_pandas().index.tolist() == ["x", "y"]
    assert fm.summarize(scores).corpus == fm.summarize(fm.score(frame.reset_index(), "corpus_bleu,bleu")).corpus


def test_scores_of_a_polars_frame_join_it_by_id():
    frame = pl.DataFrame(ROWS)
    scores = fm.score(frame.filter(pl.col("id") != "p").reverse(), "token_f1")
    joined = frame.join(pl.from_arrow(scores), on="id", how="left", maintain_order="left")
    assert joined["token_f1"].to_list() == [None, 1.0, None]


def test_lists_of_names_in_one_text():
    specs = "squad_f1(version=2), ndcg@3,overall_quality(weights=(0.2, 0.2, 0.2, 0.2, 0.2), language='a,b)')"
    assert column_names.split(specs) == [
        "squad_f1(version=2)",
        "ndcg@3",
        "overall_quality(weights=(0.2, 0.2, 0.2, 0.2, 0.2), language='a,b)')",
    ]
    assert column_names.split(r"f(a='it\'s, so', b=[1, 2]),g") == [r"f(a='it\'s, so', b=[1, 2])", "g"]
    assert column_names.split(" it's, that's ,,") == ["it's", "that's"]
    assert column_names.split("a),b") == ["a)", "b"]
    columns = {"question": ["a"], "answer": ["a"], "reference": ["a"]}
    assert fm.score(columns, "token_f1,jaccard").column_names == ["token_f1", "jaccard"]
    some = fm.score(columns, suites="lexical,generation")
    assert {"jaccard", "rouge1_f1"} < set(some.column_names)
    assert list(fm.rouge(["a"], ["a"], types="rouge1,rougeL"))[::3] == ["rouge1_precision", "rougeL_precision"]
