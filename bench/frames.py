"""Scores within pandas, Polars, DuckDB and datasets beside ``fm.score`` of the same rows: CPU time and equal values."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

import fastmetrics as fm

METRICS = ["token_f1", "keyword_recall", "rougeL_f1"]
SINGLE = METRICS[-1:]
"""The metric of ways that compute one: several would not share their work there."""
_ROUNDS = 2
"""Times that each way is measured, alternately; the shortest counts."""


def ways(table: pa.Table) -> dict[str, tuple[list[str], Callable[[], Any]]]:
    """Each way to score, with its metrics; the frames are made before."""
    import datasets
    import duckdb
    import polars as pl

    fm.pandas.register()
    fm.polars.register()
    datasets.disable_progress_bars()
    frame, lazy = table.to_pandas(), pl.LazyFrame(pl.from_arrow(table))
    rows = datasets.Dataset(table)
    connection = duckdb.connect()
    fm.duckdb.register(connection)
    connection.register("answers", table)
    mapped = {"batched": True, "batch_size": 50_000, "keep_in_memory": True, "load_from_cache_file": False}
    return {
        "fm.score": (METRICS, lambda: fm.score(table, METRICS)),
        "fm.score of one metric": (SINGLE, lambda: fm.score(table, SINGLE)),
        "pandas frame.fm.score": (METRICS, lambda: frame.fm.score(METRICS)),
        "polars lazy.fm.with_scores": (METRICS, lambda: lazy.fm.with_scores(METRICS).collect()),  # type: ignore[attr-defined]
        "polars lazy expression": (SINGLE, lambda: lazy.select(fm.polars.rougeL_f1("answer", "reference")).collect()),
        "duckdb fm.score of a relation": (METRICS, lambda: fm.score(connection.table("answers"), METRICS)),
        "duckdb function": (
            SINGLE,
            lambda: connection.sql("SELECT rougeL_f1(answer, reference) AS rougeL_f1 FROM answers").to_arrow_table(),
        ),
        "datasets map": (METRICS, lambda: rows.with_format("arrow").map(fm.datasets.scorer(METRICS), **mapped)),
        "datasets fm.with_scores": (METRICS, lambda: fm.with_scores(rows, METRICS)),
    }


def frames_of(table: pa.Table) -> dict[str, Any]:
    """The CPU seconds of each way, their ratio to those of ``fm.score``, and whether the scores are the same bits."""
    of_table = ways(table.select(["id", "answer", "reference"]))
    seconds: dict[str, float] = {}
    scores: dict[str, Mapping[str, np.ndarray]] = {}
    for _, call in ways(table.slice(0, 100)).values():  # loads the kernels and the libraries
        call()
    for _ in range(_ROUNDS):
        for name, (metrics, call) in of_table.items():
            began = time.process_time()
            result = call()
            seconds[name] = min(seconds.get(name, np.inf), time.process_time() - began)
            scores[name] = {metric: np.asarray(result[metric], np.float64) for metric in metrics}
            del result
    base = {tuple(METRICS): seconds["fm.score"], tuple(SINGLE): seconds["fm.score of one metric"]}
    return {
        name: {
            "metrics": metrics,
            "cpu_seconds": seconds[name],
            "cpu_of_fm_score": seconds[name] / base[tuple(metrics)],
            "same_bits": all(
                np.array_equal(scores[name][metric].view(np.int64), scores["fm.score"][metric].view(np.int64))
                for metric in metrics
            ),
        }
        for name, (metrics, _) in of_table.items()
    }
