"""Scores within pandas, Polars, DuckDB and datasets beside ``fm.score`` of the same rows: CPU time and equal values.

Beside a way stands what the tool itself takes: the same call with a function that returns zeros, or without one::

    python -m bench.frames --rows 1000000 > bench/results/frames.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from bench.machine import machine

METRICS = ["token_f1", "keyword_recall", "rougeL_f1"]
SINGLE = METRICS[-1:]
"""The metric of ways that compute one: several would not share their work there."""
_ROUNDS = 3
"""Times that each way is measured, alternately; the shortest counts."""
ALONE = " alone"
"""Ends the name of a call of the tool without scoring."""


def ways(table: pa.Table, folder: Path) -> dict[str, tuple[list[str], Callable[[], Any]]]:
    """Each way to score, with its metrics; the frames are made before.  What the tool alone does has no metrics."""
    import datasets
    import duckdb
    import polars as pl

    fm.pandas.register()
    fm.polars.register()
    datasets.disable_progress_bars()
    frame, lazy = table.to_pandas(), pl.LazyFrame(pl.from_arrow(table))
    rows = datasets.Dataset(table)
    connection = duckdb.connect()
    fm.duckdb.register(connection, SINGLE)
    texts: Any = ["VARCHAR", "VARCHAR"]
    connection.create_function(
        "zeros", lambda a, b: pa.chunked_array([np.zeros(len(a))]), texts, "DOUBLE", type="arrow"
    )
    connection.register("answers", table)
    mapped = {
        "batched": True,
        "batch_size": 50_000,
        "load_from_cache_file": False,
        "cache_file_name": str(folder / "mapped.arrow"),
    }
    projected = "answer, reference"

    def with_zeros(batch: pa.Table) -> pa.Table:
        for name in METRICS:
            batch = batch.append_column(name, pa.array(np.zeros(len(batch))))
        return batch

    def sql(function: str) -> Any:
        return connection.sql(f"SELECT {function}(answer, reference) AS rougeL_f1 FROM answers").to_arrow_table()

    return {
        "fm.score": (METRICS, lambda: fm.score(table, METRICS)),
        "fm.score of one metric": (SINGLE, lambda: fm.score(table, SINGLE)),
        "pandas frame.fm.score": (METRICS, lambda: frame.fm.score(METRICS)),
        "polars lazy.fm.with_scores": (METRICS, lambda: lazy.fm.with_scores(METRICS).collect()),  # type: ignore[attr-defined]
        "polars lazy expression": (SINGLE, lambda: lazy.select(fm.polars.rougeL_f1("answer", "reference")).collect()),
        "duckdb fm.score of a relation": (METRICS, lambda: fm.score(connection.table("answers"), METRICS)),
        f"duckdb fm.score of a relation{ALONE}": (
            [],
            lambda: sum(map(len, connection.table("answers").project(projected).to_arrow_reader(8_192))),
        ),
        "duckdb function": (SINGLE, lambda: sql("rougeL_f1")),
        f"duckdb function{ALONE}": ([], lambda: sql("zeros")),
        "datasets map": (METRICS, lambda: rows.with_format("arrow").map(fm.datasets.scorer(METRICS), **mapped)),
        f"datasets map{ALONE}": ([], lambda: rows.with_format("arrow").map(with_zeros, **mapped)),
        "datasets fm.with_scores": (METRICS, lambda: fm.with_scores(rows, METRICS)),
    }


def frames_of(table: pa.Table, folder: Path) -> list[dict[str, Any]]:
    """The CPU seconds of each way, and their ratio to those of ``fm.score``; raises if a score has other bits.

    ``cpu_of_the_tool`` is what the tool takes alone, by the same measure.
    """
    of_table = ways(table.select(["id", "answer", "reference"]), folder)
    seconds: dict[str, float] = {}
    scores: dict[str, Mapping[str, np.ndarray]] = {}
    for _, call in ways(table.slice(0, 100), folder).values():  # loads the kernels and the libraries
        call()
    for _ in range(_ROUNDS):
        for name, (metrics, call) in of_table.items():
            began = time.process_time()
            result = call()
            seconds[name] = min(seconds.get(name, np.inf), time.process_time() - began)
            scores[name] = {metric: np.asarray(result[metric], np.float64) for metric in metrics}
            del result
    for name, columns in scores.items():
        for metric, values in columns.items():
            if not np.array_equal(values.view(np.int64), scores["fm.score"][metric].view(np.int64)):
                raise SystemExit(f"{name}: {metric} differs from fm.score")
    base = {tuple(METRICS): seconds["fm.score"], tuple(SINGLE): seconds["fm.score of one metric"]}
    results = []
    for name, (metrics, _) in of_table.items():
        if metrics:
            whole, tool = base[tuple(metrics)], seconds.get(f"{name}{ALONE}")
            ratio = seconds[name] / whole
            entry = {"name": name, "metrics": len(metrics), "cpu_seconds": seconds[name], "cpu_of_fm_score": ratio}
            results.append(entry if tool is None else {**entry, "cpu_of_the_tool": tool / whole})
    return results


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    about = {"name": "frames", "machine": machine(), "rows": rows, "load_at_start": os.getloadavg()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        subprocess.run([sys.executable, "-m", "bench.data", str(path), "--rows", str(rows)], check=True)
        results = frames_of(pq.read_table(path), Path(folder))
    print(json.dumps({**about, "load_at_end": os.getloadavg(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
