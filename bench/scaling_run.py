"""One engine on a folder of rows, in this process: prints a line of JSON for ``bench.scaling``."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from fastmetrics import score, summarize
from fastmetrics.engines import RayCluster


def files(kind: str, size: int, rows: str, out: str) -> dict[str, Any]:
    """Files to file on threads or on Ray."""
    how: dict[str, Any] = {"threads": size} if kind == "local" else {"engine": RayCluster(workers=size)}
    scored = score(rows, output=out, overwrite=True, **how)
    seconds = {name: round(spent, 3) for name, spent in scored.seconds.items()}
    return {"rows": scored.rows, "seconds": seconds, "summary": scored.summary.to_json()}


def spark(size: int, rows: str, out: str) -> dict[str, Any]:
    """A DataFrame of the files to a folder of Parquet; the workers are up, and have their kernels, before the clock."""
    from pyspark.sql import SparkSession

    began = time.perf_counter()
    shutil.rmtree(out, ignore_errors=True)
    builder = SparkSession.builder.master(f"local[{size}]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(name, "127.0.0.1")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(rows)
    score(frame.limit(size).repartition(size)).collect()
    ready = time.perf_counter()
    score(frame).write.parquet(out)
    written = time.perf_counter()
    scores = session.read.parquet(out)
    summary = summarize(scores)
    seconds = {"start": ready - began, "write": written - ready, "total": written - began}
    seconds["summarize"] = time.perf_counter() - written
    session.stop()
    return {
        "rows": summary.n_rows,
        "seconds": {n: round(s, 3) for n, s in seconds.items()},
        "summary": summary.to_json(),
    }


if __name__ == "__main__":
    KIND, SIZE, ROWS, OUT = sys.argv[1:]
    RESULT = spark(int(SIZE), ROWS, OUT) if KIND == "spark" else files(KIND, int(SIZE), ROWS, str(Path(OUT)))
    print(json.dumps(RESULT))
