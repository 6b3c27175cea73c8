"""This checkout and another commit on the same rows, in turns: how much of the speed of each family is left.

::

    scripts/bench --against COMMIT                     every family, three runs
    scripts/bench --against COMMIT --only token_f1     those whose name matches a pattern

COMMIT is anything that git knows, or the folder of a checkout.  Each side has one process, which waits while the other
one works; a ratio is that of the least processor times of five turns, above 1 where this checkout is faster, and its
spread is that over the runs.  The families are those of ``bench/kernels.py`` that both sides have, and ``CALLS`` here:
metrics called with columns, ``fm.score``, and file to file, on one and two threads, in batches and rows of one call.
The first turn of a side is not counted: it compiles.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).parent / "results" / "against.json"
ROWS, BENCH_ROWS, LEAST_SECONDS = 40_000, 5_000, 0.05
TWELVE = (
    "exact_match,keyword_recall,token_cosine,token_f1,token_precision,token_recall,jaccard,answer_length,answer_words,"
    "politeness,squad_f1,squad_em"
)
"""Twelve lexical metrics, in one call."""

Call = Callable[[pa.Table, int], Any]


def _score(metrics: str) -> Call:
    def call(table: pa.Table, threads: int) -> Any:
        import fastmetrics as fm

        return fm.score(table, metrics, threads=threads)

    return call


def _columns(name: str, **options: Any) -> Call:
    def call(table: pa.Table, threads: int) -> Any:
        import fastmetrics as fm

        return getattr(fm, name)(table["answer"], table["reference"], threads=threads, **options)

    return call


CALLS: dict[str, Call] = {
    **{name: _columns(name) for name in ("token_f1", "squad_f1", "bleu", "chrf", "rouge")},
    "rouge stemmed": _columns("rouge", stemmer=True),
    "score of two": _score("token_f1,rougeL_f1"),
    "score of twelve": _score(TWELVE),
}
"""Calls on answers and references of 60 words, by name."""


def families(rows: pa.Table, folder: Path) -> dict[str, Callable[[], Any]]:
    """What one side runs, with the package and the benches of its checkout."""
    import fastmetrics as fm
    from bench import kernels

    def of_batches(size: int) -> pa.Table:
        """Few batches where they are small, of ``size`` rows each."""
        part = rows.slice(0, min(len(rows), 200 * size))
        return pa.Table.from_batches(part.to_batches(max_chunksize=size))

    calls: dict[str, Callable[[], Any]] = {}
    for name, call in CALLS.items():
        calls[name] = lambda call=call: call(rows, 1)  # type: ignore[misc]
        calls[f"{name}, 2 threads"] = lambda call=call: call(rows, 2)  # type: ignore[misc]
        for size in (20_000, 1_000, 1):
            table = of_batches(size)
            calls[f"{name}, batches of {size:,}"] = lambda call=call, table=table: call(table, 1)  # type: ignore[misc]
        one = rows.slice(0, 1)
        calls[f"{name}, one row"] = lambda call=call, one=one: call(one, 1)  # type: ignore[misc]
    source = folder / "rows.parquet"
    pq.write_table(rows, source)
    for threads in (1, 2):
        calls[f"file to file, threads {threads}"] = lambda threads=threads: fm.score(  # type: ignore[misc]
            source, "token_f1,rougeL_f1", output=folder / "scores.parquet", overwrite=True, threads=threads
        )
    made = kernels.Rows(*(BENCH_ROWS, folder)[: len(inspect.signature(kernels.Rows).parameters)])  # type: ignore[arg-type]
    for family, benches in kernels.BENCHES.items():
        calls |= {f"{family}: {name}": (lambda bench=bench: bench(made)) for name, bench in benches.items()}  # type: ignore[misc]
    return calls


def work(rows: Path) -> None:
    """Answer names of families, one a line, with the processor seconds of a call."""
    answers, sys.stdout = sys.stdout, sys.stderr
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        calls = families(pq.read_table(rows), Path(folder))
        print(json.dumps(list(calls)), file=answers, flush=True)
        for line in sys.stdin:
            name = line.strip()
            count, start = counts.get(name, 1), time.process_time()
            try:
                for _ in range(count):
                    calls[name]()
            except Exception:  # noqa: BLE001 - a call of another commit may raise anything
                traceback.print_exc()
                print("nan", file=answers, flush=True)
                continue
            seconds = (time.process_time() - start) / count
            # The first call compiles, the second one says how many calls are long enough to be timed.
            counts[name] = 1 if name not in counts else max(count, int(LEAST_SECONDS / max(seconds, 1e-6)))
            print(seconds, file=answers, flush=True)


class Worker:
    """One side's process."""

    def __init__(self, checkout: Path, rows: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-P", __file__, "--worker", str(rows)]
        self._process: Any = subprocess.Popen(
            command, env=environment, cwd=rows.parent, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        line: str = self._process.stdout.readline()
        if not line:
            raise SystemExit("a side ended; its error stands above")
        return line

    def seconds(self, name: str) -> float:
        """The processor seconds of a call."""
        print(name, file=self._process.stdin, flush=True)
        return float(self._answer())

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def checkout_of(commit: str) -> Iterator[Path]:
    """The folder of a checkout, or a worktree of a commit for the time of the block."""
    if Path(commit).is_dir():
        yield Path(commit).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder, "checkout"))
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", place, commit], cwd=ROOT, check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


def compare(before: Worker, now: Worker, names: list[str], turns: int) -> Iterator[tuple[str, float, float]]:
    """The least seconds of both sides, by name."""
    for name in names:
        for side in (before, now, before, now):  # to compile, and to see how long a call takes
            side.seconds(name)
        times = [(before.seconds(name), now.seconds(name)) for _ in range(turns)]
        least = [min(side) for side in zip(*times, strict=True)]
        if not any(map(math.isnan, least)):  # a side that cannot do it has said why
            yield name, least[0], least[1]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--against", metavar="COMMIT", required=True)
    parser.add_argument("--only", default="", metavar="PATTERN", help="the families whose names match a pattern")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RESULT, help="where the table is written")
    options = parser.parse_args()
    from bench import data
    from bench.machine import machine

    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, checkout_of(options.against) as other:
        rows = Path(folder, "rows.parquet")
        pq.write_table(data.table(ROWS), rows)
        for run in range(options.runs):  # a new pair of processes each: hashes and places in memory differ
            before, now = Worker(other, rows), Worker(ROOT, rows)
            names = [name for name in now.names if name in before.names and re.search(options.only, name)]
            for name, old, new in compare(before, now, names, options.turns):
                found.setdefault(name, []).append((old, new))
                print(f"{run + 1} {name:45} {1000 * old:10.2f} ms {1000 * new:10.2f} ms  {old / new:5.2f}", flush=True)
            before.close()
            now.close()
        lacking = sorted(set(now.names) ^ set(before.names))
    table = []
    for name, times in found.items():
        ratios = sorted(old / new for old, new in times)
        milliseconds = {side: round(1000 * min(of_side), 4) for side, of_side in zip(("before", "now"), zip(*times))}  # noqa: B905
        spread = {"ratio": round(statistics.median(ratios), 3), "least": round(ratios[0], 3)}
        table.append({"name": name, **milliseconds, **spread, "most": round(ratios[-1], 3)})
        print(f"{name:45} {spread['ratio']:5.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    report = {"against": options.against, "runs": options.runs, "machine": machine(), "families": table}
    options.json.write_text(json.dumps({**report, "only one side has": lacking}, indent=2) + "\n")


if __name__ == "__main__":
    work(Path(sys.argv[2])) if sys.argv[1:2] == ["--worker"] else main()
