"""The commands geometry, index, search and match, run as a user runs them."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import fastmetrics as fm
from tests.support.program import program, unfolded


@pytest.fixture
def vectors(tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    table = pa.table(
        {"id": [f"d{row}" for row in range(60)], "embedding": pa.FixedSizeListArray.from_arrays(rows.ravel(), 4)}
    )
    parquet.write_table(table, tmp_path / "vectors.parquet")
    return tmp_path / "vectors.parquet"


def run(*arguments):
    done = program(*arguments)
    assert done.code == 0, done.err
    return done.out + done.err


def test_geometry_prints_every_value(vectors):
    printed = json.loads(run("vectors", "geometry", vectors, "-k", 3, "--json"))
    assert printed == fm.vectors.geometry(vectors, k=3).to_dict()
    lines = run("vectors", "geometry", vectors, "--metric", "euclidean").splitlines()
    assert [line.split()[0] for line in lines] == ["figure", *(name for name in printed if name != "estimates")]


def test_json_is_strict_for_undefined_values(tmp_path):
    np.save(tmp_path / "one.npy", np.ones((1, 3)))
    printed = json.loads(run("vectors", "geometry", tmp_path / "one.npy", "--json"), parse_constant=pytest.fail)
    assert printed["avg_pairwise_distance"] is None
    assert printed["total_samples"] == 1


def test_geometry_prints_the_precision_of_estimates(vectors):
    shown = unfolded(str(fm.vectors.geometry(vectors, metric="euclidean", exact_work=1.0, sample=10)))
    assert re.search(r"avg_pairwise_distance: [^:]*sample of 200,000; standard error", shown)
    assert "min_pairwise_distance: nearest of the sampled rows; sample of 10" in shown


@pytest.mark.parametrize("method", ["exact", "hnsw"])
def test_index_and_search_write_a_run(vectors, method):
    folder = vectors.parent
    assert f"60 rows indexed ({method}, cosine)" in run(
        "vectors", "index", vectors, "-o", folder / "index", "--method", method
    )
    said = run("vectors", "search", folder / "index", vectors, "-k", 3, "-o", folder / "run.parquet")
    assert f"recall@3 1.0000 on 60 queries): {folder / 'run.parquet'}\n" in said
    assert "latency: p50 / p95 / p99 in ms\nsearch" in said
    found = parquet.read_table(folder / "run.parquet")
    assert found["id"].to_pylist() == [ranked[0] for ranked in found["retrieved_ids"].to_pylist()]
    assert np.array(found["retrieved_scores"].to_pylist())[:, 0] == pytest.approx(1.0)
    assert found["retrieved_scores"].to_pylist()[0] == sorted(found["retrieved_scores"].to_pylist()[0], reverse=True)


def test_search_without_ids_and_with_k_above_row_count(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "index", "--metric", "dot")
    run("vectors", "search", tmp_path / "index", tmp_path / "v.npy", "-o", tmp_path / "run.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    np.save(tmp_path / "zero.npy", np.zeros((1, 3), np.float32))
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "cosines")
    said = run("vectors", "search", tmp_path / "cosines", tmp_path / "zero.npy", "-o", tmp_path / "zero.jsonl")
    assert "1 zero vector among the queries, whose cosine is undefined: such a ranking says nothing\n" in said
    assert rows[1] == {"id": 1, "retrieved_ids": [1, 0, 2], "retrieved_scores": [1.0, 0.0, 0.0]}


def test_match_writes_answers(tmp_path):
    parquet.write_table(pa.table({"id": [7, 8], "query": ["my card", None]}), tmp_path / "questions.parquet")
    parquet.write_table(pa.table({"question": ["pay", "card"], "answer": ["P", "C"]}), tmp_path / "faq.parquet")
    run("match", tmp_path / "questions.parquet", tmp_path / "faq.parquet", "-o", tmp_path / "out.parquet")
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["id", "question", "answer", "score", "index"]
    assert found["answer"].to_pylist() == ["C", None]


def test_search_below_requested_recall_is_reported(tmp_path):
    rows = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)
    rows[0] = 1e20  # next to this row, float32 cannot distinguish the others
    np.save(tmp_path / "v.npy", rows)
    run("vectors", "index", tmp_path / "v.npy", "-o", tmp_path / "index", "--metric", "euclidean", "--method", "ivf")
    printed = run("vectors", "search", tmp_path / "index", tmp_path / "v.npy", "-o", tmp_path / "run.jsonl")
    assert "no search setting reached recall 0.98" in printed
