"""Nearest neighbours: by plain NumPy, of texts, and in an index."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from sklearn.neighbors import NearestNeighbors

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError
from fastmetrics.base.limits import SIZES
from fastmetrics.vectors.neighbors import DISTANCES, METHODS, Index, nearest
from tests.support.postgres import Database
from tests.support.program import program


def clusters(rows, dim, *, seed=0, centres=20, size=0.4):
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((centres, dim))
    return (middle[rng.integers(0, centres, rows)] + size * rng.standard_normal((rows, dim))).astype(np.float32)


def all_distances(queries, corpus, metric):
    """Every distance, in float64, pair by pair."""
    queries, corpus = queries.astype(np.float64), corpus.astype(np.float64)
    if metric == "dot":
        return -(queries[:, None] * corpus).sum(axis=2)
    if metric == "euclidean":
        return np.sqrt(((queries[:, None] - corpus) ** 2).sum(axis=2))
    lengths = [np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, corpus)]
    units = [rows / np.where(norms > 0, norms, 1.0) for rows, norms in zip((queries, corpus), lengths, strict=True)]
    return np.where(lengths[0] * lengths[1].T > 0, 0.5 * ((units[0][:, None] - units[1]) ** 2).sum(axis=2), 1.0)


def recall(found, truth):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), truth.tolist(), strict=True)])


def rows_of(kind, rows, dim, rng):
    normal = rng.standard_normal((rows, dim))
    return {
        **{"plain": normal, "tied": rng.integers(-1, 2, (rows, dim)).astype(float)},
        **{"duplicated": normal[rng.integers(0, max(1, rows // 6), rows)], "tight": 3 + 1e-4 * normal},
        **{"tiny": 1e-30 * normal, "large": 1e18 * normal, "uneven": normal * 10.0 ** rng.integers(-3, 4, (rows, 1))},
        "zeros": normal * (rng.random((rows, 1)) > 0.3),
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "tied", "duplicated", "tight", "tiny", "large", "uneven", "zeros"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_exact_search_has_the_least_distances_in_order(kind, dtype, full):
    """Rows by distance, equal ones by number, without the row itself; -1 and NaN where there are fewer."""
    rng = np.random.default_rng(5)
    numbers = (0, 1, 2, 5, 60) if full or kind == "tied" else (60,)
    for rows, metric, own in ((n, metric, own) for n in numbers for metric in DISTANCES for own in (0, 1)):
        if dtype == np.float16 and kind in ("tiny", "large"):
            continue
        corpus, others = (rows_of(kind, n, 4, rng).astype(dtype) for n in (rows, 5))
        queries = corpus if own else np.vstack([corpus[:3], others])
        truth = all_distances(queries, corpus, metric)
        if own:
            np.fill_diagonal(truth, np.inf)
        for k in (1, 3, rows + 2):
            one, two = (nearest(corpus, None if own else queries, k=k, metric=metric, threads=n) for n in (1, 2))
            assert (one.method, one.recall, one.recall_sample) == ("exact", 1.0, len(queries))
            assert (one.ids.tobytes(), one.distances.tobytes()) == (two.ids.tobytes(), two.distances.tobytes())
            kept = max(0, min(k, rows - own))
            ids, distances = one.ids[:, :kept], one.distances[:, :kept]
            expected = np.sort(truth, axis=1)[:, :kept]
            close = {"rtol": 1e-9, "atol": 1e-12 * np.abs(truth[np.isfinite(truth)]).max(initial=0)}
            np.testing.assert_allclose(distances, expected, **close)
            np.testing.assert_allclose(np.take_along_axis(truth, ids, axis=1), expected, **close)
            order = np.lexsort((ids, distances), axis=1)
            assert (order == np.arange(kept)).all()
            assert all(len(set(row)) == kept for row in ids.tolist())
            assert (one.ids[:, kept:] == -1).all()
            assert np.isnan(one.distances[:, kept:]).all()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_threads_choose_the_same_rows_of_many_that_are_equally_far(metric, monkeypatch):
    monkeypatch.setattr(SIZES, "vector_tile_rows", 13)
    corpus = np.random.default_rng(0).integers(-1, 2, (130, 3)).astype(np.float32)
    one, *others = (nearest(corpus, k=4, metric=metric, threads=threads) for threads in (1, 2, 3))
    assert all(np.array_equal(one.ids, other.ids) for other in others)
    copies = nearest(np.tile(clusters(7, 3), (10, 1)), k=4, metric=metric)
    first = [[other for other in range(row % 7, 70, 7) if other != row][:4] for row in range(70)]
    assert copies.ids.tolist() == first


def test_equals_scikit_learn():
    corpus, queries = clusters(500, 9), clusters(50, 9, seed=3)
    model = NearestNeighbors(n_neighbors=5, metric="cosine", algorithm="brute").fit(corpus.astype(float))
    distances, ids = model.kneighbors(queries.astype(float))
    found = nearest(corpus, queries, k=5)
    assert np.array_equal(found.ids, ids)
    assert found.distances == pytest.approx(distances, abs=1e-12)
    assert found.scores == pytest.approx(1 - distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1e-5])
def test_exact_is_exact_in_tight_clusters(size, metric, dtype):
    """Rows much nearer to each other than float32 can tell around the centre of all; many tiles."""
    rng = np.random.default_rng(0)
    corpus = np.repeat(rng.standard_normal((11, 16)), 100, axis=0) + size * rng.standard_normal((1100, 16))
    corpus = corpus.astype(dtype)
    square = all_distances(corpus, corpus, metric)
    np.fill_diagonal(square, np.inf)
    own = np.arange(len(corpus))
    for found in (nearest(corpus, metric=metric), Index.build(corpus, metric=metric).search(corpus, exclude=own)):
        assert (found.method, found.recall) == ("exact", 1.0)
        assert found.distances == pytest.approx(np.sort(square, axis=1)[:, :10], rel=1e-6)


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("method", METHODS)
def test_methods_report_their_measured_recall(metric, method):
    corpus = clusters(1000, 12, centres=50)
    square = all_distances(corpus, corpus, metric)
    truth = np.argsort(square + np.diag(np.full(1000, np.inf)), axis=1)[:, :10]
    one, two = (
        nearest(corpus, metric=metric, method=method, recall_sample=1000, threads=threads) for threads in (1, 2)
    )
    assert one.recall == pytest.approx(recall(one.ids, truth), abs=0.002)
    assert one.recall >= 0.98
    assert one.distances == pytest.approx(np.take_along_axis(square, one.ids, axis=1), abs=1e-6)
    assert np.array_equal(one.ids, two.ids)
    sampled = nearest(corpus, metric=metric, method=method, recall_sample=500)
    assert sampled.recall == pytest.approx(one.recall, abs=0.02)
    expected = (1000, 1000 if method == "exact" else 500)
    assert (one.recall_sample, sampled.recall_sample) == expected


@pytest.mark.parametrize("method", ["ivf", "hnsw", "pq"])
def test_search_reaches_the_requested_recall(method):
    corpus = np.random.default_rng(0).standard_normal((3000, 24)).astype(np.float32)
    index, truth = Index.build(corpus, method=method), nearest(corpus).ids
    rough, fine = (index.search(corpus, exclude=np.arange(3000), recall=share) for share in (0.5, 0.99))
    assert 0.5 <= rough.recall < 0.99 <= fine.recall
    assert nearest(corpus, method=method, recall=0.5).recall == rough.recall
    for found in (rough, fine):
        assert found.recall == pytest.approx(recall(found.ids, truth), abs=0.02)
        assert found.recall_sample == 1000


@pytest.mark.parametrize("method", METHODS)
def test_exclude_removes_the_row_itself_among_duplicates(method):
    corpus = np.repeat(clusters(200, 8), 4, axis=0)
    found = nearest(corpus, k=3, metric="euclidean", method=method)
    assert (found.ids != np.arange(800)[:, None]).all()
    assert (found.ids // 4 == np.arange(800)[:, None] // 4).all()
    assert (found.distances == 0).all()


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_extreme_magnitude_are_found(method, metric, scale):
    corpus, queries = clusters(900, 16), clusters(60, 16, seed=1)
    plain = nearest(corpus, queries, k=5, metric=metric, method="exact")
    found = nearest(corpus * np.float32(scale), queries * np.float32(scale), k=5, metric=metric, method=method)
    assert min(found.recall, recall(found.ids, plain.ids)) >= 0.97


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_outlier_row_does_not_hide_other_rows(metric):
    corpus, queries = clusters(900, 16), clusters(60, 16, seed=1)
    plain = nearest(corpus, queries, k=5, metric=metric)
    corpus = np.vstack([corpus, np.full((1, 16), 1e20, np.float32)])
    if metric == "euclidean":
        found, own = nearest(corpus, queries, k=5, metric=metric), nearest(corpus, k=5, metric=metric)
        assert np.array_equal(found.ids, plain.ids)
        assert np.array_equal(own.ids[:900], nearest(corpus[:900], k=5, metric=metric).ids)
        away = nearest(corpus[:900], queries * np.float32(1e25), k=5, metric=metric)
        assert (away.ids >= 0).all()
        return
    found = nearest(corpus, queries, k=6, metric=metric)
    assert all(set(one) <= set(other) for one, other in zip(plain.ids.tolist(), found.ids.tolist(), strict=True))


@pytest.mark.parametrize("method", ["exact", "ivf"])
@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_a_zero_query_has_the_first_rows(method, metric):
    corpus = clusters(900, 20)
    corpus[1] = 0.0
    found = nearest(corpus, np.zeros((3, 20), np.float32), k=4, metric=metric, method=method)
    assert found.ids.tolist() == [[0, 1, 2, 3]] * 3
    assert (found.distances == (1.0 if metric == "cosine" else 0.0)).all()


def test_rows_that_are_not_finite_are_never_found():
    corpus = clusters(100, 5)
    corpus[17] = np.nan
    found = nearest(corpus, clusters(30, 5, seed=1), k=100)
    assert 17 not in found.ids
    assert (found.ids[:, 99] == -1).all()
    nulls = pa.array([[1.0, 2.0], None, [2.0, 1.0]], pa.list_(pa.float32()))
    assert nearest(nulls, [[1.0, 2.0]], k=3).ids.tolist() == [[0, 2, -1]]


def test_the_default_method_depends_on_the_work():
    """Queries · rows · D multiplications: 300 · 300 · 16 = 1,440,000 at most for an exact search."""
    rows = clusters(300, 16)
    for queries in (None, rows):
        methods = [nearest(rows, queries, exact_work=work).method for work in (1_440_000, 1_439_999)]
        assert methods == ["exact", "ivf"]


LETTERS = "abcdefgh"
TEXTS = ["a cab", "a bed", "egg head", "feed", "bad hag", "fade", "cafe", "deaf hedge"]


def letters(texts: Any) -> np.ndarray:
    """The numbers of some letters, as a text's vector."""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts], np.float32)


def texts_of(path: Path, texts: list[Any], name: str = "question", ids: bool = True) -> Path:
    columns: dict[str, Any] = {name: pa.array(texts, pa.string())}
    if ids:
        columns["id"] = [f"q{number}" for number in range(len(texts))]
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def chunks(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(40)]
    pq.write_table(
        pa.table({"id": names, "embedding": rng.random((40, 8), np.float32).tolist()}), tmp_path / "c.parquet"
    )
    return tmp_path / "c.parquet"


def by_cosine(chunks: Path, k: int) -> list[list[str]]:
    """The nearest chunks by the definition of the cosine."""
    table = pq.read_table(chunks)
    stored, asked = np.array(table["embedding"].to_pylist()), letters(TEXTS).astype(float)
    cosines = asked @ stored.T / np.linalg.norm(asked, axis=1)[:, None] / np.linalg.norm(stored, axis=1)
    return [[table["id"][row].as_py() for row in order[:k]] for order in np.argsort(-cosines, axis=1).tolist()]


@pytest.mark.parametrize("name", ["question", "Query", "text"])
@pytest.mark.parametrize("ids", [True, False])
def test_texts_are_embedded_and_searched(chunks: Path, tmp_path: Path, name: str, ids: bool) -> None:
    queries = texts_of(tmp_path / "q.parquet", TEXTS, name, ids)
    column = {"query_column": "text"} if name == "text" else {}
    run = fm.search(fm.Index.build(chunks, names=pq.read_table(chunks)["id"]), queries, k=3, embedder=letters, **column)
    assert run.table["retrieved_ids"].to_pylist() == by_cosine(chunks, 3)
    assert run.table["id"].to_pylist() == ([f"q{n}" for n in range(8)] if ids else list(range(8)))
    assert run.embedder == fm.Embedder(letters).signature == run.settings["embedder"]
    assert len(run.latency.embedding) == len(run.latency.search) == len(TEXTS)
    assert set(run.to_dict()["latency_ms"]) == {"embedding", "search"}


def test_the_latency_of_one_text_is_measured_on_a_part_of_many(chunks: Path, tmp_path: Path) -> None:
    sizes = []

    def embed(texts: Any) -> np.ndarray:
        sizes.append(len(texts))
        return letters(texts)

    queries = texts_of(tmp_path / "q.parquet", [f"{text} {n}" for n in range(300) for text in TEXTS])
    run = fm.search(fm.Index.build(chunks), queries, k=1, embedder=fm.Embedder(embed))
    assert (run.table.num_rows, len(run.latency.embedding)) == (2_400, 256)
    assert 0 < len(run.latency.search) <= 256
    assert sizes.count(1) == 257  # one more tells the width of the vectors
    assert max(sizes) > 1_000


def test_texts_search_a_table_like_their_vectors(postgres: Database, chunks: Path, tmp_path: Path) -> None:
    fm.vectors.load_vectors(chunks, postgres.address(), table="chunks")
    queries = texts_of(tmp_path / "q.parquet", TEXTS)
    run = fm.search(postgres.address(), queries, k=3, table="chunks", embedder=letters, sweep=["ef_search=400"])
    assert run.sweep[0].table["retrieved_ids"].to_pylist() == by_cosine(chunks, 3)
    times = run.to_dict()["latency_ms"]
    assert list(times) == ["embedding", "sql", "fetching"]
    assert all(set(values) == {"p50", "p95", "p99"} for values in times.values())
    exact = fm.search(postgres.address(), queries, k=3, table="chunks", embedder=letters, exact=True)
    assert exact.table["retrieved_ids"].to_pylist() == by_cosine(chunks, 3)
    assert list(exact.to_dict()["latency_ms"]) == ["embedding"]
    heading, columns, *_ = exact.comparison.splitlines()
    assert heading == "latency: p50 / p95 / p99 in ms"
    assert columns.split()[-1] == "embedding"


def test_no_texts_give_no_rankings(chunks: Path, tmp_path: Path) -> None:
    run = fm.search(fm.Index.build(chunks), texts_of(tmp_path / "q.parquet", []), embedder=letters)
    assert (run.table.num_rows, run.latency.percentiles()) == (0, {})


def test_the_command_searches_texts(tmp_path: Path) -> None:
    queries = texts_of(tmp_path / "q.parquet", ["a red car", "cheese and bread"], "prompt")
    texts = texts_of(tmp_path / "t.parquet", ["The car is red.", "We eat bread with cheese."], "text")
    assert program("vectors", "embed", texts, "--of", "text", "-o", tmp_path / "c.parquet").code == 0
    assert program("vectors", "index", tmp_path / "c.parquet", "-o", tmp_path / "index").code == 0
    search = ["vectors", "search", tmp_path / "index", queries, "-k", 1, "-o", tmp_path / "r.parquet"]
    done = program(*search, "--embedder", "wordllama", "--cache", tmp_path / "cache")
    assert (done.code, done.err) == (0, "")
    assert "latency: p50 / p95 / p99 in ms" in done.out
    assert {"embedding", "search"} <= set(done.out.split())
    assert pq.read_table(tmp_path / "r.parquet")["retrieved_ids"].to_pylist() == [["q0"], ["q1"]]
    refused = program(*search, "--query-column", "prompt", "--overwrite")
    assert (refused.code, refused.err) == (2, "error: --query-column prompt goes with --embedder wordllama\n")


@pytest.mark.parametrize("queries", [0, 1, 2, 5])
@pytest.mark.parametrize("method", METHODS)
def test_the_latency_of_one_query_is_measured_in_every_index(method: str, queries: int, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    np.save(tmp_path / "queries.npy", rows[:queries])
    index = fm.Index.build(rows, method=method)
    run = fm.search(index, tmp_path / "queries.npy", k=3)
    assert run.table.equals(fm.search(index, tmp_path / "queries.npy", k=3, threads=1).table)
    assert len(run.latency.search) == queries
    assert np.all(run.latency.search > 0)
    assert json.loads(run.to_json()) == {**run.settings, "queries": queries, "latency_ms": run.latency.percentiles()}


@pytest.mark.parametrize("method", METHODS)
def test_loaded_index_gives_the_same_results(method, tmp_path: Path):
    corpus, queries = clusters(1500, 8), clusters(40, 8, seed=2)
    names = pa.array([f"doc{row}" for row in range(1500)])
    index = Index.build(corpus, method=method, names=names)
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    one, two = index.search(queries, k=7), loaded.search(queries, k=7)
    assert np.array_equal(one.ids, two.ids)
    assert np.array_equal(one.distances, two.distances)
    assert one.recall == two.recall
    assert loaded.names.equals(names)
    assert (loaded.rows, loaded.metric, loaded.method) == (1500, "cosine", method)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_corrupt_index_raises(tmp_path: Path):
    Index.build(clusters(100, 4)).save(tmp_path / "whole")
    assert (tmp_path / "whole").stat().st_mode & 0o777 == 0o777 & ~_umask()
    spoil = {
        "settings.json": [b"{}", b"[]", b"\xff", b'{"metric": "x", "method": "exact"}'],
        "vectors.npy": [b"", _npy(clusters(9, 4)), _npy(clusters(100, 3))],
        "names.arrow": [b"", _feather(pa.table({"id": [1]})), _feather(pa.table({"name": [1]}))],
        "index.faiss": [b"", b"IxF2"],
    }
    for name, contents in spoil.items():
        for content in contents:
            folder = shutil.copytree(tmp_path / "whole", tmp_path / "spoilt")
            (folder / name).write_bytes(content)
            with pytest.raises(FileFormatError):
                Index.load(folder)
            shutil.rmtree(folder)


@pytest.mark.parametrize("method", METHODS)
def test_damaged_index_bytes_are_rejected_before_faiss(tmp_path: Path, method):
    Index.build(clusters(300, 4), method=method).save(tmp_path / "index")
    file = tmp_path / "index" / "index.faiss"
    whole = file.read_bytes()
    rng = np.random.default_rng(3)
    for place in [*range(0, 96, 4), *rng.integers(0, len(whole), 40).tolist()]:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(FileFormatError):
            Index.load(tmp_path / "index")
    file.write_bytes(whole)
    assert Index.load(tmp_path / "index").method == method


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _npy(rows):
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def _feather(table):
    file = io.BytesIO()
    feather.write_feather(table, file)
    return file.getvalue()
