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
from collections.abc import Callable, Iterator
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


def write(folder: str, queries: int, repeats: int = 1) -> tuple[str, str]:
    """A run of 100 documents a query, best first, and 10 judgements a query, half of them of retrieved documents."""
    draw = np.random.default_rng(7)
    docs = draw.integers(0, 20_000, (queries, DEPTH)) * DEPTH + np.arange(DEPTH)
    scores = -np.sort(-draw.integers(0, 300_000, (queries, DEPTH)) / 10_000.0, axis=1)
    relevant = np.take_along_axis(docs, draw.permuted(np.tile(np.arange(DEPTH), (queries, 1)), axis=1)[:, :5], axis=1)
    others = draw.integers(0, 20_000, (queries, JUDGED - 5)) * DEPTH + np.arange(JUDGED - 5) + 2_000_000
    judged = np.concatenate([relevant, others], axis=1)
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


def whole(queries: int, repeats: int, folder: str) -> Iterator[dict[str, Any]]:
    """Start, read, evaluate, write the table per query: ours and each peer in turns."""
    run, qrels = part("write", folder, queries)
    out = f"{folder}/per_query.parquet"
    ours = [sys.executable, "-m", "fastmetrics", "rank", run, qrels, "-m", MEASURES, "-o", out, "--overwrite"]
    peers = os.environ.get("BENCH_PEERS_PYTHON", sys.executable)
    rows = queries * DEPTH
    timed(ours)
    for peer in PEERS:
        program = [peers, "-m", "bench.retrieval_peers", peer]
        if peer == "ranx":
            timed([*program, *part("write", folder, 1000), out])  # compiles
        theirs = [*program, run, qrels, out]
        sides = Side("fastmetrics rank", rows), Side(peer, rows)
        for _ in range(repeats):
            for side, command in zip(sides, (ours, theirs), strict=True):
                seconds, busy, peak = timed(command)
                side.seconds.append(seconds)
                side.processor_seconds.append(busy)
                side.peak_mb = max(side.peak_mb or 0.0, peak)
        result = contest(f"{queries:,} queries × {DEPTH}, whole process, against {peer}", *sides)
        ours_busy, peer_busy = (min(side.processor_seconds) for side in sides)
        result["processor_ratio"] = round(peer_busy / ours_busy, 2)
        result["memory_ratio"] = round((sides[1].peak_mb or 0.0) / (sides[0].peak_mb or 1.0), 2)
        yield result


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak MB of a process."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"exit code {child.returncode}: {' '.join(command)}")
    peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return seconds, usage.ru_utime + usage.ru_stime, round(peak, 1)


def part(name: str, folder: str, number: int, repeats: int = 1) -> Any:
    """One of ``PARTS`` in a process of its own: on Linux a child's peak memory is at least its parent's."""
    command = [sys.executable, "-m", "bench.retrieval", "--part", name, folder, str(number), str(repeats)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def cold(folder: str) -> dict[str, Any]:
    """Our first call ever, with no compiled kernel on disk."""
    run, qrels = part("write", folder, 1000)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        seconds, busy, _ = timed([sys.executable, "-m", "fastmetrics", "rank", run, qrels, "-m", MEASURES])
        del os.environ["NUMBA_CACHE_DIR"]
    return {
        "name": "first call, kernels compiled",
        "seconds": [round(seconds, 2)],
        "processor_seconds": [round(busy, 2)],
    }


def alone(folder: str, queries: int, repeats: int) -> dict[str, Any]:
    """The evaluation on one thread, ids ready: order and repeats looked at, every measure; against pytrec_eval."""
    from pytrec_eval import RelevanceEvaluator

    from fastmetrics.retrieval import rank as ranking
    from fastmetrics.retrieval.measures import measures
    from fastmetrics.retrieval.rankings import judgements, text_ids

    run, qrels = write(folder, queries)
    ready = nested(run, "score")
    evaluator = RelevanceEvaluator(nested(qrels, "relevance"), PYTREC)
    judged = judgements(qrels)
    settings = ranking.Settings(1.0, "skip", "undefined", "error", None)
    plan = ranking.RankPlan(judged, measures(MEASURES), settings, run)
    blocks = list(ranking.grouped(ranking.Triples(run, "score").batches(), judged))
    ids = [text_ids(block.docs) for block in blocks]

    def ours() -> None:
        for block, documents in zip(blocks, ids, strict=True):
            ranking.evaluated(block, documents, plan)

    rows = queries * DEPTH
    name = f"{queries:,} queries × {DEPTH}, evaluation alone, one thread, ids ready"
    return calls(name, ours, lambda: evaluator.evaluate(ready), (rows, rows), repeats)


def arrays(folder: str, rows: int, repeats: int) -> dict[str, Any]:
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
    peer_versions: dict[str, str] = json.loads(done.stdout)
    return peer_versions


PARTS: dict[str, Callable[[str, int, int], Any]] = {"write": write, "alone": alone, "arrays": arrays}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description="Time retrieval against the peers.")
    parser.add_argument("--queries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", nargs=4, metavar=("NAME", "FOLDER", "NUMBER", "REPEATS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        name, folder, number, repeats = options.part
        print(json.dumps(PARTS[name](folder, int(number), int(repeats))))
        return
    RESULTS.mkdir(exist_ok=True)
    report = {"name": "retrieval", "machine": machine(), "peers": versions(), "results": []}
    with tempfile.TemporaryDirectory() as folder:
        for results in measured(options.queries, options.repeats, folder):
            report["results"] += results
            (RESULTS / "retrieval.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            for result in results:
                print(result["name"], result.get("ratio", result.get("seconds")), flush=True)


def measured(sizes: list[int], repeats: int, folder: str) -> Iterator[list[dict[str, Any]]]:
    """The results, some at a time."""
    yield [cold(folder), part("arrays", folder, 1_000_000, repeats)]
    for queries in sizes:
        yield [part("alone", folder, queries, repeats)]
        yield from ([result] for result in whole(queries, repeats, folder))


if __name__ == "__main__":
    main()
