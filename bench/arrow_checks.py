"""What it costs to check Arrow data before they are read, as a share of a whole run on one thread.

::

    python -m bench.arrow_checks --rows 1000000

The same made rows as Parquet and as an Arrow file; the core suite, and one metric that does next to nothing, where the
share is largest.  The seconds inside ``fastmetrics.base.arrays.check`` are added up and divided by the run's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics.scoring.score
from bench import data
from bench.compare import RESULTS
from bench.machine import machine
from fastmetrics.base import arrays as intact

METRICS = {"core": None, "answer_words": ["answer_words"]}
BATCH = 65_536


@contextmanager
def timed_checks() -> Iterator[list[float]]:
    """The seconds of every check made meanwhile, wherever it was imported to."""
    seconds: list[float] = []
    plain = intact.check

    def check(*arguments: Any) -> None:
        start = time.perf_counter()
        plain(*arguments)
        seconds.append(time.perf_counter() - start)

    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("fastmetrics.") and getattr(module, "check", None) is plain:
                stack.enter_context(patch.object(module, "check", check))
        yield seconds


def run(source: Path, metrics: list[str] | None, output: Path) -> dict[str, float]:
    """Score a file once: the seconds of all of it, and of the checks."""
    start = time.perf_counter()
    with timed_checks() as checks:
        fastmetrics.scoring.score.score(source, output=output, metrics=metrics, threads=1, overwrite=True)
    return {"seconds": time.perf_counter() - start, "checks": len(checks), "check_seconds": sum(checks)}


def measure(rows: int, repeats: int) -> list[dict[str, Any]]:
    """Each format with each set of metrics; medians."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        parquet, arrow, output = (Path(folder, name) for name in ("rows.parquet", "rows.arrow", "scores.parquet"))
        data.write(str(parquet), rows)
        with pq.ParquetFile(parquet) as parquet_file, pa.ipc.new_file(arrow, parquet_file.schema_arrow) as writer:
            for batch in parquet_file.iter_batches(BATCH):
                writer.write_batch(batch)
        for source in (parquet, arrow):
            for name, metrics in METRICS.items():
                turns = [run(source, metrics, output) for _ in range(repeats + 1)][1:]
                middle = {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
                share = statistics.median(turn["check_seconds"] / turn["seconds"] for turn in turns)
                results.append(
                    {"format": source.suffix[1:], "metrics": name, "rows": rows}
                    | {key: round(value, 4) for key, value in middle.items()}
                    | {"percent": round(100 * share, 3)}
                )
    return results


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.arrow_checks", description="Time the checks of Arrow data.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    results = measure(options.rows, options.repeats)
    report = {"name": "arrow-checks", "machine": machine(), "results": results}
    (RESULTS / "arrow-checks.json").write_text(json.dumps(report, indent=2) + "\n")
    for result in results:
        print(
            f"{result['format']:8} {result['metrics']:13} {result['seconds']:8.2f} s, {result['checks']:6.0f} checks"
            f" {result['check_seconds']:7.3f} s = {result['percent']:.2f} %"
        )


if __name__ == "__main__":
    main()
