"""Vectors in memory: tables of every kind, arrays and columns mean what the same vectors in files mean."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError

ROWS = np.random.default_rng(7).random((30, 4))
TABLE = {"id": [f"q{row}" for row in range(30)], "note": ["x"] * 30, "embedding": ROWS.tolist()}
KINDS = {
    "dict": lambda: TABLE,
    "rows": lambda: pa.table(TABLE).to_pylist(),
    "arrow": lambda: pa.table(TABLE),
    "batches": lambda: pa.table(TABLE).to_reader(max_chunksize=7),
    "pandas": lambda: pd.DataFrame(TABLE),
    "polars": lambda: pl.DataFrame(TABLE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_equal_their_file(kind, tmp_path):
    pq.write_table(pa.table(TABLE), tmp_path / "queries.parquet")
    index = fm.Index.build(ROWS, names=[f"row {row}" for row in range(30)])
    of_file = fm.search(index, tmp_path / "queries.parquet", k=3).table
    assert of_file["id"].to_pylist() == TABLE["id"]
    for column in (None, "embedding"):
        assert fm.search(index, KINDS[kind](), k=3, column=column).table.to_pylist() == of_file.to_pylist()
    assert fm.vectors.geometry(KINDS[kind]()) == fm.vectors.geometry(tmp_path / "queries.parquet")
    assert (
        fm.vectors.project(KINDS[kind]()).to_arrow().to_pylist()
        == fm.vectors.project(tmp_path / "queries.parquet").to_arrow().to_pylist()
    )


def test_texts_in_memory_are_embedded(tmp_path):
    table = pa.table({"id": ["a", "b"], "question": ["left", "right"]})
    pq.write_table(table, tmp_path / "questions.parquet")
    index = fm.Index.build([[1.0, 0.0], [0.0, 1.0]])

    def embedder(texts):
        return np.array([[1.0, 0.0] if text == "left" else [0.0, 1.0] for text in texts])

    runs = [
        fm.search(index, questions, k=1, embedder=embedder).table
        for questions in (table, tmp_path / "questions.parquet")
    ]
    assert runs[0] == runs[1]
    assert runs[0]["retrieved_ids"].to_pylist() == [[0], [1]]


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_arrays_have_row_numbers_as_ids(rows):
    index = fm.Index.build(ROWS)
    ranked = fm.search(index, ROWS[:rows], k=2).table
    assert ranked["id"].to_pylist() == list(range(rows))
    assert [nearest[0] for nearest in ranked["retrieved_ids"].to_pylist()] == list(range(rows))


@pytest.mark.parametrize("option", [{"metric": "euclidean"}, {"vector": "other"}, {"id": "other"}, {"table": "other"}])
def test_options_of_databases_are_refused_for_an_index(option):
    index = fm.Index.build(ROWS)
    with pytest.raises(OptionError, match="is of the address of a database"):
        fm.search(index, ROWS[:2], **option)
