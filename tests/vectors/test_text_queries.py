"""Texts as queries of a search: embedded, then searched in an index and in a table of PostgreSQL."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.vectors.neighbors import METHODS
from tests.support.postgres import Database
from tests.support.program import program

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


def nearest(chunks: Path, k: int) -> list[list[str]]:
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
    assert run.table["retrieved_ids"].to_pylist() == nearest(chunks, 3)
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
    assert run.sweep[0].table["retrieved_ids"].to_pylist() == nearest(chunks, 3)
    times = run.to_dict()["latency_ms"]
    assert list(times) == ["embedding", "sql", "fetching"]
    assert all(set(values) == {"p50", "p95", "p99"} for values in times.values())
    exact = fm.search(postgres.address(), queries, k=3, table="chunks", embedder=letters, exact=True)
    assert exact.table["retrieved_ids"].to_pylist() == nearest(chunks, 3)
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
