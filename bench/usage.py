"""Logs: ``usage`` and ``domain`` beside plain Python, and the stages of ``topics`` and ``ux``; into ``bench/results``.

::

    python -m bench.usage --rows 1000000

Each job is a process of its own, from a Parquet file to figures; its memory is the most that it ever held.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import log_rows
from bench.compare import RESULTS
from bench.machine import machine

OURS = {
    "usage": ("-m", "fastmetrics", "logs", "chunks", "{log}", "--chunks", "{chunks}", "--json"),
    "domain": ("-m", "fastmetrics", "logs", "domains", "{log}", "--json"),
}
PEERS = {
    "usage": ("-m", "bench.usage_peers", "usage", "{log}", "{chunks}"),
    "domain": ("-m", "bench.usage_peers", "domain", "{log}"),
}


def job(words: tuple[str, ...], paths: dict[str, str]) -> dict[str, float]:
    """Seconds and megabytes of one process."""
    command = [sys.executable, *(word.format(**paths) for word in words)]
    began = time.perf_counter()
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(done.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return {"seconds": round(time.perf_counter() - began, 2), "megabytes": round(used.ru_maxrss / 1024)}


def further(rows: int, seconds: float) -> int | None:
    """Rows a second beyond those of the small run; None where so few rows make no difference that could be timed."""
    return round(rows / seconds) if seconds > 0 else None


def timed(rows: int, peers: int, turns: int, paths: dict[str, str]) -> list[dict[str, Any]]:
    """The best of several turns of each job, and plain Python on ``peers`` rows."""
    few = {name: path.replace(".parquet", ".few.parquet") for name, path in paths.items()}
    log_rows.write(few["log"], few["chunks"], peers)
    results = []
    for name, words in OURS.items():
        best = min((job(words, paths) for _ in range(turns)), key=lambda run: run["seconds"])
        small = job(words, few)
        plain = job(PEERS[name], few)
        results.append(
            {
                "job": name,
                "rows": rows,
                **best,
                "rows_per_second": round(rows / best["seconds"]),
                "few_rows": peers,
                "few_megabytes": small["megabytes"],
                "few_seconds": small["seconds"],
                # what starting Python and loading libraries takes is in both runs
                "further_rows_per_second": further(rows - peers, best["seconds"] - small["seconds"]),
                "plain_python_rows_per_second": round(peers / plain["seconds"]),
            }
        )
    return results


def stages(questions: int, stored: int, dim: int = 256) -> dict[str, float]:
    """Seconds of the steps behind ``topics`` and ``ux`` on made unit vectors."""
    from fastmetrics.base.threads import cores
    from fastmetrics.logs.similar_questions import nearest_earlier
    from fastmetrics.logs.topics import SAMPLE, assigned, clusters

    rng = np.random.default_rng(0)
    units = rng.standard_normal((questions, dim), np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    began = time.perf_counter()
    _, centres = clusters(units[:SAMPLE], 20, 42, cores())
    searched = time.perf_counter()
    assigned(units, centres, cores())
    finished = time.perf_counter()
    cached = np.zeros(questions, np.bool_)
    cached[rng.choice(questions, stored, replace=False)] = True
    nearest_earlier(units, np.arange(questions), cached, cores())
    done = time.perf_counter()
    return {
        "questions": questions,
        "dim": dim,
        "stored": stored,
        "find_topics_seconds": round(searched - began, 2),
        "assign_topics_seconds": round(finished - searched, 2),
        "cache_search_seconds": round(done - finished, 2),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.usage", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--stored", type=int, default=20_000, help="well-rated answers in the search of the cache")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder, f"{name}.parquet")) for name in ("log", "chunks")}
        log_rows.write(paths["log"], paths["chunks"], options.rows)
        jobs = timed(options.rows, options.peer_rows, options.turns, paths)
    result = {"jobs": jobs, "stages": stages(options.rows, options.stored), "machine": machine()}
    (RESULTS / "usage.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
