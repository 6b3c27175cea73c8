"""Search in a table of PostgreSQL with pgvector on a real server: what users report of its indexes; exact lists."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, InputError, OptionError, OutputError
from fastmetrics.vectors.pgvector import Chunks
from tests.support.postgres import PASSWORD, Database
from tests.support.program import program

ROWS, QUERIES, WIDTH, K = 2_000, 40, 16, 10


def write(path: Path, values: np.ndarray, ids: Any = None) -> Path:
    names = [f"r{number}" for number in range(len(values))] if ids is None else ids
    pq.write_table(pa.table({"id": names, "embedding": values.tolist()}), path)
    return path


@pytest.fixture
def vectors(tmp_path: Path) -> tuple[np.ndarray, np.ndarray, Path, Path]:
    """Stored vectors and queries, and their files."""
    rng = np.random.default_rng(0)
    stored = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
    asked = rng.normal(size=(QUERIES, WIDTH)).astype(np.float32)
    return stored, asked, write(tmp_path / "chunks.parquet", stored), write(tmp_path / "queries.parquet", asked)


@pytest.fixture
def chunks(postgres: Database, vectors: Any) -> Database:
    """A table of the vectors with an HNSW index, and a column by which few rows can be chosen."""
    fm.vectors.load_vectors(vectors[2], postgres.address(), table="chunks")
    postgres.execute(
        "ALTER TABLE chunks ADD COLUMN topic int",
        "UPDATE chunks SET topic = substr(id, 2)::int % 50",
        "ANALYZE chunks",
        # as on a large table, where comparing all rows costs more than the index
        f"ALTER DATABASE {postgres.name} SET enable_seqscan = off",
        f"ALTER DATABASE {postgres.name} SET enable_bitmapscan = off",
        f"ALTER DATABASE {postgres.name} SET enable_sort = off",
    )
    return postgres


def lists(run: Any) -> list[list[str]]:
    found: list[list[str]] = run.table["retrieved_ids"].to_pylist()
    return found


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_exact_lists_are_those_without_index_scans(postgres: Database, vectors: Any, metric: str) -> None:
    _, asked, file, queries = vectors
    fm.vectors.load_vectors(file, postgres.address(), table="chunks", metric=metric)
    run = fm.search(postgres.address(), queries, k=K, table="chunks", exact=True, metric=metric)
    operator = {"cosine": "<=>", "euclidean": "<->", "dot": "<#>"}[metric]
    for ids, query in zip(lists(run), asked, strict=True):
        order = f"ORDER BY embedding {operator} '{query.tolist()}' LIMIT {K}"
        rows = postgres.execute("SET enable_indexscan = off", f"SELECT id FROM chunks {order}")
        assert ids == [row[0] for row in rows]
    assert (run.method, run.recall, run.ties) == ("exact", 1.0, 0)
    assert "latency" not in run.comparison


def test_an_index_is_measured_against_the_exact_lists(chunks: Database, vectors: Any) -> None:
    exact = fm.search(chunks.address(), vectors[3], k=K, table="chunks", exact=True)
    run = fm.search(chunks.address(), vectors[3], k=K, table="chunks", sweep=["ef_search=10", "ef_search=400"])
    assert run.index == "chunks_embedding_idx"
    for each in (run, *run.sweep):
        right = [len({*own} & {*true}) / K for own, true in zip(lists(each), lists(exact), strict=True)]
        assert each.recall == pytest.approx(np.mean(right))
        assert len(each.latency.sql) == len(each.latency.fetching) == QUERIES
        assert np.all(each.latency.sql >= 0)
    assert run.sweep[0].recall < run.sweep[1].recall
    assert set(run.to_dict()["latency_ms"]["sql"]) == {"p50", "p95", "p99"}
    assert [row["settings"] for row in run.to_dict()["sweep"]] == [{"ef_search": "10"}, {"ef_search": "400"}]
    scored = fm.score(run.table.append_column("relevant_ids", pa.array(lists(exact))), ["ndcg@10"])
    assert fm.summarize(scored)["ndcg@10"].mean > 0.5


def test_ef_search_caps_the_lists(chunks: Database, vectors: Any) -> None:
    run = fm.search(chunks.address(), vectors[3], k=30, table="chunks", pgvector="ef_search=20")
    assert run.short == QUERIES
    assert max(map(len, lists(run))) <= 20
    assert fm.search(chunks.address(), vectors[3], k=30, table="chunks", pgvector="ef_search=60").short == 0


def test_a_filtered_index_gives_short_lists_that_an_iterative_scan_fills(chunks: Database, vectors: Any) -> None:
    run = fm.search(
        chunks.address(),
        vectors[3],
        k=K,
        table="chunks",
        where="topic = 7 -- of fifty",
        sweep=["iterative_scan=strict_order", "iterative_scan=relaxed_order,max_scan_tuples=200"],
    )
    strict, relaxed = run.sweep
    assert run.index == "chunks_embedding_idx"
    assert run.short == QUERIES  # silently: a list of 40 rows, of which one in fifty fits
    assert strict.short == 0
    assert strict.recall > 0.9
    assert relaxed.recall < strict.recall  # it ends after a number of rows
    exact = fm.search(chunks.address(), vectors[3], k=K, table="chunks", where="topic = 7", exact=True)
    assert all(int(id[1:]) % 50 == 7 for ids in lists(exact) for id in ids)


@pytest.mark.parametrize("options", [{}, {"where": "topic < 9", "pgvector": "iterative_scan=relaxed_order"}])
def test_rankings_do_not_depend_on_the_connections(chunks: Database, vectors: Any, options: dict[str, Any]) -> None:
    runs = [
        fm.search(chunks.address(), vectors[3], k=K, table="chunks", connections=count, **options)
        for count in (1, 2, 7)
    ]
    assert [run.connections for run in runs] == [1, 2, 7]
    for run in runs:
        assert run.table.equals(runs[0].table)
        assert run.settings == runs[0].settings
        assert len(run.latency.sql) == QUERIES
        assert run.to_dict()["queries_per_second"] > 0
    assert "of 7 connections at a time" in runs[2].comparison
    assert "connections" not in runs[0].comparison


def test_fewer_connections_serve_where_the_server_allows_no_more(chunks: Database, vectors: Any) -> None:
    chunks.execute("GRANT SELECT ON chunks TO reader", "ALTER ROLE reader CONNECTION LIMIT 3")
    address = chunks.address(f"reader:{PASSWORD.replace('#', '%23')}")
    try:
        run = fm.search(address, vectors[3], k=K, table="chunks", connections=8)
    finally:
        chunks.execute("ALTER ROLE reader CONNECTION LIMIT -1")
    # a busy server may still count a connection that was closed a moment before
    assert run.connections in {2, 3}
    assert lists(run) == lists(fm.search(chunks.address(), vectors[3], k=K, table="chunks"))


@pytest.mark.parametrize("connections", [1, 3])
def test_a_lost_connection_ends_the_search(
    chunks: Database, vectors: Any, monkeypatch: pytest.MonkeyPatch, connections: int
) -> None:
    nearest, turn, ended = Chunks.nearest, threading.Lock(), threading.Event()

    def nearest_late(*arguments: Any) -> Any:
        with turn:
            if not ended.is_set():
                chunks.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            ended.set()
        return nearest(*arguments)

    monkeypatch.setattr(Chunks, "nearest", nearest_late)
    with pytest.raises(FileFormatError, match=r"table=chunks: the connection was lost during the search: \S") as error:
        fm.search(chunks.address(), vectors[3], k=K, table="chunks", connections=connections)
    assert "\n" not in str(error.value)


def test_no_index_is_reported(postgres: Database, vectors: Any) -> None:
    fm.vectors.load_vectors(vectors[2], postgres.address(), table="chunks", method="none")
    run = fm.search(postgres.address(), vectors[3], k=K, table="chunks")
    assert (run.index, run.method, run.recall, run.short) == (None, "scan", 1.0, 0)


def test_ties_are_counted(postgres: Database, tmp_path: Path) -> None:
    stored = write(tmp_path / "chunks.parquet", np.array([[1.0, 0], [2, 0], [0, 1], [-1, 0]]))
    asked = write(tmp_path / "queries.parquet", np.array([[1.0, 0], [0, 1]]))
    fm.vectors.load_vectors(stored, postgres.address(), table="chunks")
    run = fm.search(postgres.address(), asked, k=1, table="chunks", exact=True)
    assert run.ties == 1
    assert fm.search(postgres.address(), asked, k=9, table="chunks").short == 0


def test_other_commands_read_vectors_of_a_table(chunks: Database, vectors: Any, tmp_path: Path) -> None:
    address = chunks.address(query="select id, embedding from chunks order by substr(id, 2)::int")
    of_file, of_table = (fm.vectors.geometry(source).to_dict() for source in (vectors[2], address))
    assert of_file == of_table
    assert program("vectors", "index", address, "-o", tmp_path / "index").code == 0
    found = fm.search(tmp_path / "index", vectors[3], k=K)
    assert lists(found) == lists(fm.search(chunks.address(), vectors[3], k=K, table="chunks", exact=True))
    assert program("vectors", "project", address, "-o", tmp_path / "points.parquet").code == 0


def test_the_command_writes_rankings(chunks: Database, vectors: Any, tmp_path: Path) -> None:
    output = tmp_path / "rankings.parquet"
    done = program(
        *("vectors", "search", chunks.address(), vectors[3], "--table", "chunks", "-k", 30, "--pgvector"),
        *("ef_search=20", "-o", output),
    )
    assert done.code == 0, done.err
    assert "chunks_embedding_idx" in done.out
    assert "40 lists have fewer rows than the table" in done.err
    assert pq.read_table(output).column_names == ["id", "retrieved_ids", "retrieved_scores"]
    loaded = program("vectors", "load", vectors[2], chunks.address(), "--table", "again", "--method", "ivfflat")
    assert "2,000 vectors of 16 numbers in 'again' (index: ivfflat)" in loaded.out


def test_bad_tables_and_options_are_named(chunks: Database, vectors: Any, tmp_path: Path) -> None:
    address, queries = chunks.address(), vectors[3]
    for options, error, reason in (
        ({"table": "nosuch"}, FileFormatError, 'relation "nosuch" does not exist'),
        ({"table": "chunks", "vector": "nosuch"}, FileFormatError, 'column "nosuch" does not exist'),
        (
            {"table": "chunks", "vector": "topic"},
            FileFormatError,
            "column 'topic': expected lists of numbers, got int32",
        ),
        ({"table": "chunks", "where": "topic = ("}, FileFormatError, "syntax error"),
        ({"table": "chunks", "where": "pg_sleep(0) is null); drop table chunks; --"}, FileFormatError, "."),
        ({}, OptionError, "name the table of the vectors with table="),
        ({"table": "chunks", "pgvector": "ef=1"}, OptionError, "expected settings such as ef_search=100"),
        ({"table": "chunks", "exact": True, "pgvector": "ef_search=9"}, OptionError, "uses no index"),
        ({"table": "chunks", "metric": "manhattan"}, OptionError, "manhattan"),
        ({"table": "chunks", "pgvector": "ef_search=99999"}, FileFormatError, "99999 is outside the valid range"),
        ({"table": "chunks", "sweep": ["iterative_scan=loose"]}, FileFormatError, 'iterative_scan": "loose"'),
        ({"table": "chunks", "pgvector": "probes=0"}, FileFormatError, "0 is outside the valid range"),
        ({"table": "chunks", "connections": 0}, OptionError, "connections=0: expected a whole number from 1 to 64"),
        ({"table": "chunks", "connections": True}, OptionError, "connections"),
    ):
        with pytest.raises((error, InputError), match=reason):
            fm.search(address, queries, **options)
    assert chunks.execute("SELECT count(*) FROM chunks") == [(ROWS,)]
    with pytest.raises(InputError):
        fm.search(address, write(tmp_path / "wide.parquet", np.ones((2, WIDTH + 1))), table="chunks")
    chunks.execute(
        "CREATE TABLE mixed (id text, embedding vector)", "INSERT INTO mixed VALUES ('a', '[1]'), ('b', '[1,2]')"
    )
    with pytest.raises(InputError):
        fm.search(address, queries, table="mixed")
    chunks.execute("CREATE TABLE nameless AS SELECT null::text AS id, embedding FROM chunks LIMIT 3")
    with pytest.raises(ColumnError, match="column 'id': 3 ids are null"):
        fm.search(address, queries, table="nameless")


@pytest.mark.parametrize("exact", [False, True])
def test_a_search_without_rows_is_an_error(chunks: Database, vectors: Any, exact: bool) -> None:
    options = {"table": "chunks", "exact": exact}
    with pytest.raises(InputError, match=r"no rows with a vector in 'embedding' that meet the condition of where"):
        fm.search(chunks.address(), vectors[3], where="topic = -1", **options)
    chunks.execute("DELETE FROM chunks")
    with pytest.raises(InputError, match=r"table 'chunks': no rows with a vector in 'embedding'; nothing to search"):
        fm.search(chunks.address(), vectors[3], **options)


def test_loading_is_whole_or_not_at_all(postgres: Database, vectors: Any, tmp_path: Path) -> None:
    address = postgres.address()
    fm.vectors.load_vectors(vectors[2], address, table="chunks", method="none")
    with pytest.raises(OutputError, match="the table exists; choose overwrite=True"):
        fm.vectors.load_vectors(vectors[2], address, table="chunks")
    for name, values, ids in (("twice", np.ones((2, 2)), ["a", "a"]), ("undefined", np.array([[1.0, np.nan]]), ["a"])):
        with pytest.raises((OutputError, InputError)):
            fm.vectors.load_vectors(
                write(tmp_path / f"{name}.parquet", values, ids), address, table="chunks", overwrite=True
            )
    with pytest.raises(ColumnError, match="1 ids are null"):
        fm.vectors.load_vectors(
            write(tmp_path / "nameless.parquet", np.ones((2, 2)), ["a", None]), address, table="other"
        )
    assert postgres.execute("SELECT count(*) FROM chunks") == [(ROWS,)]
    two = write(tmp_path / "two.parquet", np.ones((2, 2)), ["a", "b"])
    fm.vectors.load_vectors(two, address, table="chunks", overwrite=True)
    assert postgres.execute("SELECT count(*) FROM chunks") == [(2,)]


@pytest.mark.parametrize("type_", ["uuid", "numeric", "bigint", "text"])
def test_ids_of_other_types(postgres: Database, tmp_path: Path, type_: str) -> None:
    value = "'6ab8d2f1-0000-4000-8000-0123456789ab'" if type_ == "uuid" else "'7'"
    postgres.execute(
        "CREATE EXTENSION vector",
        f"CREATE TABLE chunks (id {type_} PRIMARY KEY, embedding vector(2))",
        f"INSERT INTO chunks VALUES ({value}, '[1, 0]')",
    )
    queries = write(tmp_path / "queries.parquet", np.array([[1.0, 0]]))
    exact = fm.search(postgres.address(), queries, table="chunks", exact=True)
    assert lists(fm.search(postgres.address(), queries, table="chunks")) == lists(exact)


def test_null_ids_show_no_password(postgres: Database) -> None:
    postgres.execute(
        "CREATE EXTENSION vector",
        "CREATE TABLE nameless AS SELECT null::text AS id, '[1]'::vector(1) AS embedding",
        "GRANT SELECT ON nameless TO reader",
    )
    address = postgres.address(f"reader:{PASSWORD.replace('#', '%23')}", table="nameless")
    with pytest.raises(ColumnError, match="1 ids are null") as error:
        fm.vectors.load_vectors(address, postgres.address(), table="other")
    assert "horse" not in str(error.value)
