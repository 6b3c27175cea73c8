"""The same rows through threads, Ray and Spark: wall time, stages and memory of each, and whether the bytes are equal.

::

    scripts/scaling --rows 5000000             every engine
    scripts/scaling --rows 5000000 --kills 10  besides, runs on Ray with a worker killed at a random moment

Results go to ``bench/results/scaling.json``, run by run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import data
from bench.compare import RESULTS, ROOT
from bench.machine import machine
from bench.memory import Memory, workers

RUNS = {
    "local, 1 thread": ["local", "1"],
    "local, 2 threads": ["local", "2"],
    "ray, 1 worker": ["ray", "1"],
    "ray, 2 workers": ["ray", "2"],
    "spark, local[2]": ["spark", "2"],
}
REFERENCE, KILLED = "local, 2 threads", "ray, 2 workers"


def write_parts(folder: Path, rows: int, parts: int) -> None:
    """The made rows in so many Parquet files."""
    folder.mkdir(parents=True)
    size = -(-rows // parts)
    waiting: list[pa.RecordBatch] = []
    number = buffered_rows = 0
    for batch in _sliced(rows, size):
        waiting.append(batch)
        buffered_rows += batch.num_rows
        if buffered_rows == size:
            _write(folder, number, waiting)
            number, buffered_rows, waiting = number + 1, 0, []
    if waiting:
        _write(folder, number, waiting)


def _sliced(rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """The made batches, cut where a file ends."""
    done = 0
    for batch in data.batches(rows):
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, min(batch.num_rows - start, size - done % size))
            yield piece
            start, done = start + piece.num_rows, done + piece.num_rows


def _write(folder: Path, number: int, batches: list[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(folder / f"part-{number:04d}.parquet", batches[0].schema) as file:
        for batch in batches:
            file.write_batch(batch)


def start(kind: str, size: str, rows: Path, out: Path) -> subprocess.Popen[str]:
    """One engine in a process, and a session, of its own."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "bench.scaling_run", kind, size, str(rows), str(out)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)


def run(name: str, rows: Path, out: Path, kill_after: float | None = None) -> dict[str, Any]:
    """What an engine's process said of its run, and what was seen of its processes from outside.

    ``kill_after`` so many seconds from the first sight of a worker, one of them is killed.
    """
    began = time.perf_counter()
    child = start(*RUNS[name], rows, out)
    memory, killed, seen = Memory(child.pid), None, None
    while child.poll() is None:
        memory.look()
        if kill_after is not None and killed is None:
            seen = seen or (time.perf_counter() if workers(child.pid) else None)
            if seen is not None and time.perf_counter() - seen >= kill_after:
                killed = _kill_one(child.pid)
        time.sleep(0.1)
    wall = time.perf_counter() - began
    printed = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise RuntimeError(f"{name}: exit code {child.returncode}")
    figures = json.loads(printed.splitlines()[-1])
    after = figures["seconds"]["total"] - figures["seconds"]["start"]
    return {
        "name": name,
        "wall": round(wall, 2),
        "wall_after_start": round(after, 2),
        "rows_per_second": round(figures["rows"] / after),
        **figures,
        "peak_mb": memory.peaks(),
        **({"killed_after": round(kill_after, 2)} if killed else {}),
    }


def _kill_one(pid: int) -> int | None:
    worker_ids = workers(pid)
    if not worker_ids:
        return None
    victim = random.choice(worker_ids)
    os.kill(victim, signal.SIGKILL)
    return victim


def same_rows(spark: Path, reference: Path) -> bool:
    """Whether Spark's rows, in whatever order they lie, have the bits of the file; a file has null for undefined."""
    ours = pq.read_table(reference).sort_by("id")
    theirs = pq.read_table(spark).sort_by("id")
    if ours.schema.names != theirs.schema.names:
        return False
    return all(_same(ours[name], theirs[name]) for name in ours.schema.names)


def _same(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    first, second = (column.to_numpy() for column in (ours, theirs))
    return first.dtype == second.dtype and first.tobytes() == second.tobytes()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/scaling", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--parts", type=int, default=25, help="Parquet files of input")
    parser.add_argument("--kills", type=int, default=0, help="runs on Ray with a worker killed at a random moment")
    parser.add_argument("--only", action="append", choices=RUNS, help="an engine; default: all")
    parser.add_argument("--folder", type=Path, help="where rows and scores go and stay; default: thrown away")
    parser.add_argument("--out", type=Path, default=RESULTS / "scaling.json")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(0 if compare(options, options.folder or Path(temporary)) else 1)


def compare(options: argparse.Namespace, folder: Path) -> bool:
    """Every run asked for, compared with the reference and written down as it ends; whether all were equal."""
    rows = folder / f"rows-{options.rows}-{options.parts}"
    if not rows.exists():
        write_parts(rows, options.rows, options.parts)
    size = sum(path.stat().st_size for path in rows.iterdir())
    report: dict[str, Any] = {"name": "scaling", "machine": machine(), "rows": options.rows, "files": options.parts}
    report |= {"input_bytes": size, "runs": [], "kills": []}
    reference = folder / "reference.parquet"
    first = run(REFERENCE, rows, reference)  # its kernels may have to be compiled: not counted
    names = [name for name in RUNS if not options.only or name in options.only]
    for name in names:
        out = folder / ("scores" if name.startswith("spark") else "scores.parquet")
        result = run(name, rows, out)
        same = same_rows(out, reference) if out.is_dir() else out.read_bytes() == reference.read_bytes()
        _note(report["runs"], {**result, "same": same and result["summary"] == first["summary"]}, report, options.out)
    length = next((entry["wall_after_start"] for entry in report["runs"] if entry["name"] == KILLED), first["wall"])
    while len(report["kills"]) < options.kills:
        out = folder / "killed.parquet"
        result = run(KILLED, rows, out, random.uniform(0, length))
        if "killed_after" not in result:
            continue  # it had ended before
        same = out.read_bytes() == reference.read_bytes() and result["summary"] == first["summary"]
        _note(report["kills"], {**result, "same": same}, report, options.out)
    return all(entry["same"] for entry in [*report["runs"], *report["kills"]])


def _note(among: list[dict[str, Any]], result: dict[str, Any], report: dict[str, Any], out: Path) -> None:
    result.pop("summary")
    among.append(result)
    out.write_text(json.dumps(report, indent=2) + "\n")
    shown = {key: result[key] for key in ("name", "wall", "wall_after_start", "rows_per_second", "same")}
    print(json.dumps({**shown, "killed_after": result.get("killed_after"), "peak_mb": result["peak_mb"]}), flush=True)


if __name__ == "__main__":
    main()
