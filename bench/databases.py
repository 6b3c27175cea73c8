"""Rows and vectors in PostgreSQL: scoring a table beside the same rows in Parquet, and search beside psycopg and lists.

A server with pgvector is started and stopped.  Times are of one process, measured alternately; the load of the
machine is stored with them::

    python -m bench.databases --rows 1000000 --vectors 100000 > bench/results/databases.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from bench.frames import METRICS
from bench.machine import machine
from fastmetrics.vectors.vector_arrays import vectors_and_ids
from tests.support.postgres import Database, postgres_server
from tests.support.table_files import column_bytes

WIDTH = 384
ROUNDS = 2
"""Times that each table is scored, alternately; the shortest counts."""


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """A result, and the seconds that it took by the clock and of this process."""
    clock, own = time.perf_counter(), time.process_time()
    result = call()
    return result, {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - own}


def peak_of(source: str, output: str) -> float:
    """The peak memory, in MB, of another process that scores a table."""
    call = f"fm.score({source!r}, {METRICS!r}, output={output!r}, overwrite=True, threads=1)"
    peak = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    code = f"import resource, fastmetrics as fm; {call}; {peak}"
    return int(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout) / 1e3


def rows_of(database: Database, rows: int, folder: Path) -> dict[str, Any]:
    """Scoring a table, and the same rows in Parquet."""
    path = folder / "rows.parquet"
    subprocess.run([sys.executable, "-m", "bench.data", str(path), "--rows", str(rows)], check=True)
    table = pq.read_table(path, columns=["answer", "reference"]).add_column(0, "id", pa.array(np.arange(rows)))
    pq.write_table(table, path, row_group_size=131_072)
    database.fill("answers", table.slice(0, rows // 10))
    address = database.address(table="answers")
    peaks = {f"{rows // 10}": peak_of(address, str(folder / "part.parquet"))}
    database.execute("DROP TABLE answers")
    database.fill("answers", table, "id")
    database.execute("ANALYZE answers")
    del table
    peaks[f"{rows}"] = peak_of(address, str(folder / "part.parquet"))
    outputs = {"parquet": folder / "a.parquet", "postgresql": folder / "b.parquet"}
    inputs = {"parquet": str(path), "postgresql": address}
    fm.score({"answer": ["a"], "reference": ["a"]}, METRICS)
    times: dict[str, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for name, source in inputs.items():
            output = outputs[name]
            took = timed(lambda: fm.score(source, METRICS, output=output, threads=1, overwrite=True))[1]  # noqa: B023
            times[name] = min(times.get(name, took), took, key=lambda run: run["seconds"])
    stored = [column_bytes(output) for output in outputs.values()]
    return {
        "rows": rows,
        "times": times,
        "speed_of_parquet": times["parquet"]["seconds"] / times["postgresql"]["seconds"],
        "equal_bytes_of_columns": stored[0] == stored[1],
        "peak_mb": peaks,
    }


def vectors_of(database: Database, rows: int, queries: int, folder: Path) -> dict[str, Any]:
    """Search by the index and exactly, beside a loop of psycopg over Python lists."""
    import faiss
    import psycopg

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(max(1, rows // 50), WIDTH)).astype(np.float32)
    of_row = rng.integers(0, len(centres), rows)
    stored = centres[of_row] + 1.5 * rng.normal(size=(rows, WIDTH)).astype(np.float32)
    chosen = rng.integers(0, rows, queries)
    query_vectors = stored[chosen] + 0.3 * rng.normal(size=(queries, WIDTH)).astype(np.float32)
    for name, values in (("chunks", stored), ("queries", query_vectors)):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), WIDTH)
        pq.write_table(
            pa.table({"id": pa.array(np.arange(len(values))), "embedding": lists}), folder / f"{name}.parquet"
        )
    address = database.address()
    # the index of 100,000 vectors is built in memory, as its users are told to
    database.execute(f"ALTER DATABASE {database.name} SET maintenance_work_mem = '1GB'")
    loading = timed(lambda: fm.vectors.load_vectors(folder / "chunks.parquet", address, table="chunks"))[1]
    database.execute("ANALYZE chunks")
    file = folder / "queries.parquet"
    sweep = ["ef_search=100", "ef_search=200"]
    by_index, index_time = timed(lambda: fm.search(address, file, table="chunks", sweep=sweep))
    exact, exact_time = timed(lambda: fm.search(address, file, table="chunks", exact=True))
    unit = [values / np.linalg.norm(values, axis=1, keepdims=True) for values in (stored, query_vectors)]
    flat = faiss.IndexFlatIP(WIDTH)
    flat.add(unit[0])
    true = flat.search(unit[1], 10)[1]
    recall = np.mean([len({*ids} & {*row}) / 10 for ids, row in zip(_ids(by_index), true.tolist(), strict=True)])
    equal = np.mean([{*ids} == {*row} for ids, row in zip(_ids(exact), true.tolist(), strict=True)])
    relevant = [[int(row) for row in np.flatnonzero(of_row == of_row[number])] for number in chosen]
    table = by_index.table.append_column("relevant_ids", pa.array(relevant))

    def plain(count: int, setting: str) -> float:
        """The seconds of a query, without those of connecting; ours are with them."""
        sql = "SELECT id FROM chunks ORDER BY embedding <=> %s::vector LIMIT 10"
        vectors = query_vectors[:count].tolist()
        with psycopg.connect(address) as connection:
            connection.execute(setting)
            began = time.perf_counter()
            lists = [[row[0] for row in connection.execute(sql, (str(vector),)).fetchall()] for vector in vectors]
            return (time.perf_counter() - began) / len(lists)

    def plain_read() -> int:
        with psycopg.connect(address) as connection:
            texts = connection.execute("SELECT id, embedding::text FROM chunks LIMIT 5000").fetchall()
            return len([(row[0], [float(number) for number in row[1][1:-1].split(",")]) for row in texts])

    exact_plain = plain(min(queries, 20), "SET enable_indexscan = off")
    index_plain = plain(min(queries, 200), "SET hnsw.ef_search = 40")
    read_plain = timed(plain_read)
    # all vectors and ids, as all commands read them; psycopg reads some of the rows
    read = timed(lambda: vectors_and_ids(f"{address}&table=chunks")[0].rows)
    alone = fm.search(address, file, table="chunks", connections=1)
    per_query = {
        "index": index_plain / (by_index.seconds / queries),
        "index_one_connection": index_plain / (alone.seconds / queries),
        "exact": exact_plain / (exact_time["seconds"] / queries),
        "vectors_read": (read_plain[1]["seconds"] / read_plain[0]) / (read[1]["seconds"] / rows),
    }
    return {
        "rows": rows,
        "width": WIDTH,
        "queries": queries,
        "loading": loading,
        "index": {**by_index.to_dict(), **index_time},
        "recall_against_faiss_flat": float(recall),
        "exact": {**exact.to_dict(), **exact_time},
        "exact_lists_equal_to_faiss_flat": float(equal),
        "ndcg@10": float(fm.summarize(fm.score(table, ["ndcg@10"]))["ndcg@10"].mean),
        "psycopg_and_lists": {
            "exact_seconds_of_a_query": exact_plain,
            "index_seconds_of_a_query": index_plain,
            "vectors_read": read_plain[0],
            "read_seconds": read_plain[1]["seconds"],
        },
        "reading_seconds": read[1]["seconds"],
        "throughput_over_psycopg": per_query,
        "index_one_connection": alone.to_dict(),
        # of a query by the index over one connection: no client can be faster than what is left
        "share_of_the_server": float(np.mean(alone.latency.sql)) / (alone.seconds / queries),
    }


def _ids(run: Any) -> list[list[int]]:
    return run.table["retrieved_ids"].to_pylist()


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    chosen = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "load_at_start": os.getloadavg()}
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        if chosen.rows:
            results["table"] = rows_of(server.new_database(), chosen.rows, Path(folder))
        if chosen.vectors:
            results["vectors"] = vectors_of(server.new_database(), chosen.vectors, chosen.queries, Path(folder))
    results["load_at_end"] = os.getloadavg()
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
