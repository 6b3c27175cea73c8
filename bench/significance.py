"""Two systems compared on many rows, beside SciPy and ranx: ``python -m bench.significance``."""

from __future__ import annotations

import argparse
import json
import statistics
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

from bench.compare import RESULTS
from bench.machine import machine
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.significance import randomisation_p

RESAMPLES = 10_000

_COMPARE = """
import json, resource, sys, time
import fastmetrics as fm
fm.compare({"a": {"id": range(30), "f1": [0.5] * 30}, "b": {"id": range(30), "f1": [0.6] * 30}})  # loads the kernels
start = time.perf_counter()
found = fm.compare(sys.argv[1:3], threads=int(sys.argv[3]))["token_f1"]
seconds = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "megabytes": memory, "p": found.p, "n_paired": found.n_paired}))
"""


def written_rows(rows: int, folder: str) -> list[str]:
    """Two score files of the same ids in different order, the second a little better."""
    rng = np.random.default_rng(5)
    first = rng.random(rows)
    second = np.clip(first + rng.normal(0.0005, 0.2, rows), 0, 1)
    paths = []
    for name, values in (("first", first), ("second", second)):
        order = rng.permutation(rows)
        ids = pa.array([f"question-{row:08d}" for row in order.tolist()])
        paths.append(str(Path(folder, f"{name}.parquet")))
        pq.write_table(pa.table({"id": ids, "token_f1": values[order]}), paths[-1])
    return paths


def whole(rows: int, threads: int, repeats: int) -> dict[str, Any]:
    """Join, sign flips and bootstrap of two files, each time in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _COMPARE, *written_rows(rows, folder), str(threads)]
        turns = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(repeats)]
    middle = {key: round(statistics.median(turn[key] for turn in turns), 3) for key in ("seconds", "megabytes")}
    return {
        "what": "compare two files",
        "rows": rows,
        "resamples": RESAMPLES,
        "bootstrap": 2000,
        "threads": threads,
        **middle,
    }


def timed(work: Callable[[], Any], repeats: int) -> float:
    """The median of so many turns, after one that loads what is loaded once."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def contest(peer: str, rows: int, threads: int, repeats: int) -> dict[str, Any]:
    """Fisher's randomisation test of ``RESAMPLES`` patterns: the package's and a peer's, turn by turn."""
    rng = np.random.default_rng(1)
    a = rng.random(rows)
    b = np.clip(a + rng.normal(0.001, 0.2, rows), 0, 1)
    theirs = {"scipy": _scipy, "ranx": _ranx}[peer]
    own_seconds = timed(lambda: randomisation_p(Sample.of(b - a), RESAMPLES, 0, threads), repeats)
    peer_seconds = timed(lambda: theirs(a, b), repeats)
    result = {
        "seconds": round(own_seconds, 4),
        "peer_seconds": round(peer_seconds, 3),
        "ratio": round(peer_seconds / own_seconds, 1),
    }
    return {"what": f"randomisation test, {peer}", "rows": rows, "resamples": RESAMPLES, "threads": threads, **result}


def _scipy(a: Any, b: Any) -> float:
    from scipy.stats import permutation_test

    def statistic(x: Any, y: Any, axis: int) -> Any:
        return np.mean(x - y, axis=axis)

    tested = permutation_test(
        (a, b), statistic, permutation_type="samples", n_resamples=RESAMPLES, vectorized=True, batch=100, rng=0
    )
    return float(tested.pvalue)


def _ranx(a: Any, b: Any) -> float:
    from ranx.statistical_tests import fisher_randomization_test

    return float(fisher_randomization_test(a, b, n_permutations=RESAMPLES)[0])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.significance", description="Time comparisons.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["files", "peers"], help="measure this part, keep the others")
    options = parser.parse_args()
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "files": lambda: [whole(options.rows, threads, options.repeats) for threads in (1, 2)],
        "peers": lambda: [contest(peer, options.peer_rows, 2, options.repeats) for peer in ("scipy", "ranx")],
    }
    results = [result for name, measure in parts.items() if options.only in (None, name) for result in measure()]
    if options.only is not None:
        stored = json.loads((RESULTS / "significance.json").read_text())["results"]
        fresh = {result["what"] for result in results}
        results = [*(result for result in stored if result["what"] not in fresh), *results]
    report = {"name": "significance", "machine": machine(), "results": results}
    (RESULTS / "significance.json").write_text(json.dumps(report, indent=2) + "\n")
    for result in results:
        print(", ".join(f"{key} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()
