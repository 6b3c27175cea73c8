"""Embeddings of several references in one row: the best score counts, whatever holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import jsonl

ANSWERS = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
REFERENCES = [[[0.0, 1.0], [3.0, 0.0]], [[3.0, 4.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
COSINES, DOTS, DISTANCES = [1.0, 0.8, 0.5**0.5], [3.0, 8.0, 1.0], [2**0.5, 5**0.5, 1.0]

EQUAL = [
    REFERENCES,
    np.array(REFERENCES),
    np.array(REFERENCES, np.float32).transpose(0, 1, 2),
    pa.array(REFERENCES),
    pa.array(REFERENCES, pa.large_list(pa.list_(pa.float32(), 2))),
    pa.array([[[9.0, 9.0]], *REFERENCES], pa.list_(pa.list_(pa.float64(), 2), -1)).slice(1),
    pa.array(REFERENCES, pa.list_(pa.list_(pa.float64()), 2)),
    pa.chunked_array([pa.array(REFERENCES[:1]), pa.array(REFERENCES[1:])]),
    pd.Series(REFERENCES),
    pl.Series(REFERENCES),
    pl.Series(np.array(REFERENCES)),
]


@pytest.mark.parametrize("references", EQUAL, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_best_of_several_embeddings_counts(references, rows):
    given = ANSWERS[:rows], references[:rows]
    if rows == 0 and isinstance(references, list):
        given = pa.array([], pa.list_(pa.float64())), pa.array([], pa.list_(pa.list_(pa.float64())))
    assert fm.semantic_similarity(*given).tolist() == pytest.approx(COSINES[:rows], rel=1e-15)
    assert fm.dot_similarity(*given).tolist() == DOTS[:rows]
    assert fm.euclidean_distance(*given).tolist() == pytest.approx(DISTANCES[:rows], rel=1e-15)


def test_rows_without_a_reference_embedding_are_missing_and_zero_vectors_undefined():
    table = {
        "answer_embedding": [[1.0, 0.0]] * 5 + [None],
        "reference_embedding": [None, [], [None], [[0.0, 0.0]], [None, [2.0, 0.0]], [[1.0, 0.0]]],
    }
    summary = fm.summarize(fm.score(table, ["semantic_similarity"]))["semantic_similarity"]
    assert (summary.n, summary.n_missing, summary.n_undefined, summary.mean) == (1, 3, 2, 1.0)
    for nothing in ([[]] * 3, [None] * 3, [[], None, []]):
        column = pa.array(nothing, pa.list_(pa.list_(pa.float32())))
        scores = fm.score({"answer_embedding": ANSWERS, "reference_embedding": column}, ["dot_similarity"])
        assert scores["dot_similarity"].null_count == 3


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_files_may_hold_one_embedding_or_a_list_of_them_in_a_row(tmp_path, suffix):
    rows = [{"answer_embedding": a, "reference_embedding": b} for a, b in zip(ANSWERS, REFERENCES, strict=True)]
    mixed = [{"answer_embedding": [1.0, 0.0], "reference_embedding": [4.0, 3.0]}, *rows]
    expected = [0.8, *COSINES]
    path = tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        jsonl(path, *mixed)
    elif suffix == "csv":
        lines = [f'"{row["answer_embedding"]}","{row["reference_embedding"]}"' for row in mixed]
        path.write_text("\n".join(["answer_embedding,reference_embedding", *lines]))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
        expected = COSINES
    fm.score(path, output=tmp_path / "o.parquet", metrics=["semantic_similarity"])
    scores = pq.read_table(tmp_path / "o.parquet")["semantic_similarity"].to_pylist()
    assert scores == pytest.approx(expected, rel=1e-15)


def test_a_metric_of_ones_own_reads_the_list_of_a_row():
    @fm.metric(bounds=(0, np.inf), better="higher", name="n_reference_embeddings")
    def n_reference_embeddings(answer_embedding: list[float], reference_embedding: list[float]) -> float:
        return float(len(reference_embedding))

    table = {"answer_embedding": ANSWERS, "reference_embedding": [*REFERENCES[:2], [[1.0, 1.0]]]}
    assert fm.score(table, ["n_reference_embeddings"])[0].to_pylist() == [2.0, 2.0, 1.0]
