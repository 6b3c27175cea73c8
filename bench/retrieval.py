"""Runs of string ids from Parquet, whole process against whole process; the evaluation alone; ready integer arrays.

::

    python -m bench.retrieval                                  10,000 and 100,000 queries of 100 documents
    BENCH_PEERS_PYTHON=venv/bin/python python -m bench.retrieval   with the peers of another environment
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.compare import RESULTS, ROOT, Side, calls, contest
from bench.machine import machine
from bench.retrieval_peers import PEERS, PYTREC, nested

DEPTH = 100
JUDGED = 10
MEASURES = "ndcg@10,mrr,recall@10,precision@10,hit_rate@1,hit_rate@5,hit_rate@10"
VERSIONS = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"


def write(folder: str, queries: int) -> tuple[str, str]:
    """A run of 100 documents a query, best first, and 10 judgements a query, half of them of retrieved documents."""
    draw = np.random.default_rng(7)
    docs = draw.integers(0, 20_000, (queries, DEPTH)) * DEPTH + np.arange(DEPTH)
    scores = -np.sort(-draw.integers(0, 300_000, (queries, DEPTH)) / 10_000.0, axis=1)
    found = np.take_along_axis(docs, draw.permuted(np.tile(np.arange(DEPTH), (queries, 1)), axis=1)[:, :5], axis=1)
    others = draw.integers(0, 20_000, (queries, JUDGED - 5)) * DEPTH + np.arange(JUDGED - 5) + 2_000_000
    judged = np.concatenate([found, others], axis=1)
    run, qrels = f"{folder}/run_{queries}.parquet", f"{folder}/qrels_{queries}.parquet"
    grades = draw.integers(0, 4, judged.size)
    for path, ids, name, values in ((run, docs, "score", scores.ravel()), (qrels, judged, "relevance", grades)):
        query = np.repeat(np.arange(queries), ids.shape[1])
        columns = {"query_id": _text("q", query), "doc_id": _text("doc", ids.ravel()), name: pa.array(values)}
        pq.write_table(pa.table(columns), path)
    return run, qrels


def _text(prefix: str, numbers: np.ndarray) -> pa.Array:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def whole(queries: int, repeats: int, folder: str) -> list[dict[str, Any]]:
    """Start, read, evaluate, write the table per query: ours and each peer in turns."""
    run, qrels = write(folder, queries)
    out = f"{folder}/per_query.parquet"
    ours = [sys.executable, "-m", "fastmetrics", "rank", run, qrels, "-m", MEASURES, "-o", out, "--overwrite"]
    rows = queries * DEPTH
    timed(ours)
    results = []
    for peer in PEERS:
        theirs = [
            os.environ.get("BENCH_PEERS_PYTHON", sys.executable),
            "-m",
            "bench.retrieval_peers",
            peer,
            run,
            qrels,
            out,
        ]
        if peer == "ranx":
            timed(theirs)  # compiles
        sides = Side("fastmetrics rank", rows, []), Side(peer, rows, [])
        for _ in range(repeats):
            for side, command in zip(sides, (ours, theirs), strict=True):
                seconds, peak = timed(command)
                side.seconds.append(seconds)
                side.peak_mb = max(side.peak_mb or 0.0, peak)
        results.append(contest(f"{queries:,} queries × {DEPTH}, whole process, against {peer}", *sides))
    return results


def timed(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MB of a process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"exit code {child.returncode}: {' '.join(command)}")
    return seconds, round(usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10), 1)


def cold(folder: str) -> dict[str, Any]:
    """Our first call ever, with no compiled kernel on disk."""
    run, qrels = write(folder, 1000)
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "fastmetrics", "rank", run, qrels, "-m", MEASURES]
        start = time.perf_counter()
        subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": cache},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return {"name": "first call, kernels compiled", "seconds": round(time.perf_counter() - start, 2)}


def alone(queries: int, repeats: int, folder: str) -> dict[str, Any]:
    """The evaluation on one thread, ids ready: order and repeats looked at, every measure; against pytrec_eval."""
    from pytrec_eval import RelevanceEvaluator

    from fastmetrics import ranking
    from fastmetrics.judgements import judgements
    from fastmetrics.measures import measures

    run, qrels = write(folder, queries)
    ready = nested(run, "score")
    evaluator = RelevanceEvaluator(nested(qrels, "relevance"), PYTREC)
    judged = judgements(qrels)
    plan = ranking.Plan(judged, measures(MEASURES), 1.0, "error", None, run)
    blocks = [ranking.interned(block) for block in ranking.grouped(ranking.Triples(run, "score"), judged)]

    def ours() -> None:
        for block in blocks:
            ranking.evaluated(block, plan)

    rows = queries * DEPTH
    name = f"{queries:,} queries × {DEPTH}, evaluation alone, one thread, ids ready"
    return calls(name, ours, lambda: evaluator.evaluate(ready), (rows, rows), repeats)


def arrays(rows: int, repeats: int) -> dict[str, Any]:
    """``fm.ndcg`` of two-dimensional integer arrays, one thread."""
    import fastmetrics as fm

    draw = np.random.default_rng(3)
    retrieved, relevant = draw.integers(0, 1000, (rows, 10)), draw.integers(0, 1000, (rows, 3))
    relevant[::3, 2] = -1
    fm.ndcg(retrieved[:10], relevant[:10], k=10, threads=1)
    seconds, processor = [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        fm.ndcg(retrieved, relevant, k=10, threads=1)
        seconds.append(round(time.perf_counter() - start[0], 4))
        processor.append(round(time.process_time() - start[1], 4))
    best = min(processor)
    name = f"ndcg@10 of {rows:,} × 10 integers, one thread"
    return {
        "name": name,
        "seconds": seconds,
        "processor_seconds": processor,
        "ranks_per_second": round(rows * 10 / best),
    }


def versions() -> dict[str, str]:
    """The peers' versions, in the environment they run in."""
    command = [os.environ.get("BENCH_PEERS_PYTHON", sys.executable), "-c", VERSIONS]
    done = subprocess.run(
        [*command, "pytrec_eval-terrier", "ranx", "ir_measures"], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description="Time retrieval against the peers.")
    parser.add_argument("--queries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results: list[dict[str, Any]] = [cold(folder), arrays(1_000_000, options.repeats)]
        for queries in options.queries:
            results += whole(queries, options.repeats, folder)
            results.append(alone(queries, options.repeats, folder))
    RESULTS.mkdir(exist_ok=True)
    report = {"name": "retrieval", "machine": machine(), "peers": versions(), "results": results}
    (RESULTS / "retrieval.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for result in results:
        print(result["name"], result.get("ratio", result.get("seconds")))


if __name__ == "__main__":
    main()
