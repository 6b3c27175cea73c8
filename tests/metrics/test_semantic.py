"""Semantic similarity and embeddings that are given."""

from __future__ import annotations

import itertools
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import parquet
from sklearn.metrics.pairwise import paired_cosine_distances, paired_euclidean_distances

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.metrics.repeated_questions import exact_match_rate, semantic_consistency
from fastmetrics.models.embed import embed
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.plans.score_batch import Scorer
from fastmetrics.scoring.score import score
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.vectors.embedder import Embedder, EmbeddingModel
from tests.support.goldens import refused
from tests.support.program import jsonl


def vectors(rows, dim, seed, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((rows, dim)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_similarities_equal_scikit_learn(dtype):
    a, b = vectors(9000, 7, 0, dtype), vectors(9000, 7, 1, dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert fm.semantic_similarity(a, b) == pytest.approx(1 - paired_cosine_distances(x, y), abs=1e-12)
    assert fm.euclidean_distance(a, b) == pytest.approx(paired_euclidean_distances(x, y), rel=1e-12)
    assert fm.dot_similarity(a, b) == pytest.approx((x * y).sum(axis=1), rel=1e-9, abs=1e-12)


def test_similarities_from_table_columns():
    a, b = vectors(50, 4, 0), vectors(50, 4, 1)
    table = pa.table(
        {
            "answer_embedding": pa.FixedSizeListArray.from_arrays(a.ravel(), 4),
            "reference_embedding": pa.array([*b[:-1].tolist(), None], pa.list_(pa.float32())),
        }
    )
    scored = score(table, metrics=["semantic_similarity", "dot_similarity", "euclidean_distance"])
    assert scored["semantic_similarity"].to_pylist()[:-1] == fm.semantic_similarity(a, b)[:-1].tolist()
    assert scored["dot_similarity"].null_count == scored["euclidean_distance"].null_count == 1


def test_zero_and_non_finite_vectors_are_undefined():
    a = [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1.0, 1.0]]
    b = [[1.0, 0.0]] * 4
    assert np.isnan(fm.semantic_similarity(a, b)).tolist() == [True, True, True, False]
    assert np.isnan(fm.dot_similarity(a, b)).tolist() == [False, True, True, False]
    assert np.isnan(fm.euclidean_distance(a, b)).tolist() == [False, True, True, False]


def test_identical_vectors_have_similarity_exactly_1():
    a = vectors(200, 33, 3)
    assert (fm.semantic_similarity(a, a) <= 1).all()
    assert fm.semantic_similarity(a, a) == pytest.approx(1.0, abs=1e-15)
    assert (fm.euclidean_distance(a, a) == 0).all()


def test_batch_without_vectors_has_no_scores():
    nothing, some = [[None] * 3, pa.array([None] * 3, pa.list_(pa.float32()))], [[1.0, 2.0]] * 3
    for column in nothing:
        for pair in ((column, some), (some, column), (column, column)):
            assert np.isnan(fm.semantic_similarity(*pair)).all()
            assert np.isnan(fm.euclidean_distance(*pair)).all()
            scored = score(dict(zip(("answer_embedding", "reference_embedding"), pair, strict=True)), "dot_similarity")
            assert scored["dot_similarity"].null_count == 3


def test_repeats_equal_all_pairs():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 200)
    answers = rng.choice(["yes", "no", "maybe"], 200).tolist()
    rows = vectors(200, 5, 2).astype(np.float64)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [(i, j) for i, j in itertools.combinations(range(200), 2) if groups[i] == groups[j]]
    rate = exact_match_rate(answers, groups)
    mean = semantic_consistency(rows, groups)
    assert rate.score == pytest.approx(np.mean([answers[i] == answers[j] for i, j in pairs]))
    assert mean.score == pytest.approx(np.mean([units[i] @ units[j] for i, j in pairs]))
    assert rate.n_pairs == mean.n_pairs == len(pairs)
    assert rate.n_questions == sum(np.bincount(groups) > 1)


def sizes(texts):
    """A made-up model: how long a text is, how many words it has."""
    return np.array([[len(text), len(text.split()), 1] for text in texts], np.float32)


def test_embedder_computes_missing_embeddings():
    table = pa.table({"answer": ["a b", None, "ccc", ""], "reference": ["a", "b", None, "d d d"]})
    embedder = Embedder(sizes)
    names = ["semantic_similarity", "dot_similarity", "euclidean_distance"]
    made = score(table, names, embedder=embedder)
    assert made.equals(score(embed(table, embedder), names))
    assert made.equals(score(table, suites="semantic", embedder=sizes))
    given = table.append_column("answer_embedding", pa.array([[1.0, 2.0, 3.0]] * 4))
    half = score(given, ["dot_similarity"], embedder=embedder)["dot_similarity"].to_pylist()
    assert half == [1 + 2 + 3, 1 + 2 + 3, None, 5 + 6 + 3]
    refused(OptionError, "cache", score, table, names, embedder=embedder, cache="folder")


def test_embeddings_are_equal_in_another_process():
    table = pa.table({"answer": ["a b", None, "ccc"], "reference": ["a", "b", "d d d"]})
    planned = plan(table.column_names, ScoreRequest(["dot_similarity", "euclidean_distance"], embedder=Embedder(sizes)))
    (batch,) = table.to_batches()
    assert pickle.loads(pickle.dumps(Scorer(planned)))(batch).equals(Scorer(planned)(batch))


def test_nearest_of_several_references_counts():
    table = {"answer": ["aaaa", "b"], "reference": [["a", "aaaa b", "aaa"], []]}
    made = score(table, ["euclidean_distance", "dot_similarity"], embedder=sizes)
    assert made["euclidean_distance"].to_pylist() == [1.0, None]
    assert made["dot_similarity"].to_pylist() == [4 * 6 + 2 + 1, None]


def test_score_metadata_name_the_embedding_model(tmp_path: Path):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "scores.parquet"
    rows.write_text('{"answer": "Paris is big [1].", "reference": "Paris", "contexts": ["Paris is big."]}\n')
    metrics = ["semantic_similarity", "grounding_overlap"]
    model = EmbeddingModel("sizes", "r1", "float32", 3, sizes)
    score(rows, output=out, metrics=metrics, embedder=model, cache=tmp_path / "cache")
    told = read_metadata(out)
    assert told["scores"]["semantic_similarity"]["embedder"] == "sizes|revision:r1|float32"
    assert told["scores"]["grounding_overlap"]["embedder"] == "sizes|revision:r1|float32"
    assert "cache" not in told["scores"]["grounding_overlap"]
    scores = parquet.read_table(out)
    assert scores["grounding_overlap"].to_pylist() == [1.0]
    score(rows, output=out, metrics=metrics, embedder="wordllama", cache=tmp_path / "cache", overwrite=True)
    assert re.fullmatch(r"wordllama.*\|revision:[0-9a-f]{16}\|float32", told_model(out))
    assert len(list((tmp_path / "cache").rglob("*.arrow"))) > 0


def test_a_metric_keeps_an_embedder_of_its_own():
    metrics = ["grounding_overlap(embedder='wordllama')", "citation_recall"]
    planned = plan(["answer", "contexts"], ScoreRequest(metrics, embedder=Embedder(sizes)))
    assert [score.options["embedder"] == "wordllama" for score in planned.scores] == [True, False]


def told_model(path):
    return read_metadata(path)["scores"]["semantic_similarity"]["embedder"]


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
