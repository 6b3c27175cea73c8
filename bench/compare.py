"""Ours and the peer side by side, in turns, on the same rows; medians and their ratio into ``bench/results``.

::

    python -m bench.compare                      every contest
    python -m bench.compare text --rows 200000   one of them
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import data, plain_loops
from bench.machine import machine
from bench.peers import METRICS, PEERS

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent


@dataclass
class Side:
    """One contestant: what it is, how many rows it is given, and the wall and processor seconds of each turn."""

    label: str
    rows: int
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    peak_mb: float | None = None

    def result(self) -> dict[str, Any]:
        """Ready for JSON."""
        median = statistics.median(self.seconds)
        busy = [round(second, 4) for second in self.processor_seconds]
        return {
            "label": self.label,
            "rows": self.rows,
            "seconds": [round(second, 4) for second in self.seconds],
            "median_seconds": round(median, 4),
            "rows_per_second": round(self.rows / median),
            **({"processor_seconds": busy} if busy else {}),
            "peak_mb": self.peak_mb,
        }


def contest(name: str, ours: Side, peer: Side) -> dict[str, Any]:
    """The two sides and how many times the peer's rows a second ours makes."""
    our_result, peer_result = ours.result(), peer.result()
    ratio = (ours.rows / statistics.median(ours.seconds)) / (peer.rows / statistics.median(peer.seconds))
    return {"name": name, "ours": our_result, "peer": peer_result, "ratio": round(ratio, 2)}


def calls(
    name: str, ours: Callable[[], object], peer: Callable[[], object], rows: tuple[int, int], repeats: int
) -> dict[str, Any]:
    """Two functions of this process in turns, after one call of each that is not counted."""
    sides = Side("fastmetrics", rows[0]), Side("peer", rows[1])
    for turn in range(repeats + 1):
        for side, function in zip(sides, (ours, peer), strict=True):
            start, busy = time.perf_counter(), time.process_time()
            function()
            if turn:
                side.seconds.append(time.perf_counter() - start)
                side.processor_seconds.append(time.process_time() - busy)
    return contest(name, *sides)


def processes(name: str, ours: list[str], peer: list[str], rows: tuple[int, int], repeats: int) -> dict[str, Any]:
    """Two whole processes in turns, start-up and all, after one run of ours that fills the kernels' cache."""
    sides = Side(_label(ours), rows[0]), Side(_label(peer), rows[1])
    run(ours)
    for _ in range(repeats):
        for side, command in zip(sides, (ours, peer), strict=True):
            ran = run(command)
            side.seconds.append(ran.seconds)
            side.processor_seconds.append(ran.processor_seconds)
            side.peak_mb = max(side.peak_mb or 0.0, ran.peak_mb)
    return contest(name, *sides)


def _label(command: list[str]) -> str:
    """How a command begins, of paths the file's name: the folder is another in every run."""
    return " ".join(Path(word).name for word in command[:3])


# in a small process between, as a child's peak memory counts from that of the process that started it
_MEASURED = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL)
seconds, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(code)
"""


class Ran(NamedTuple):
    """What a process took: wall seconds, processor seconds of all its threads and children, and peak memory."""

    seconds: float
    processor_seconds: float
    peak_mb: float


def run(command: list[str]) -> Ran:
    """What a Python process takes: ``command`` is what follows the interpreter."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command], env=environment, stdout=subprocess.PIPE, check=False
    )
    if ran.returncode != 0:
        raise RuntimeError(f"exit code {ran.returncode}: {' '.join(command)}")
    seconds, busy, peak = map(float, ran.stdout.split())
    return Ran(seconds, busy, round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1))


def text(rows: int, repeats: int) -> list[dict[str, Any]]:
    """Each function on one thread, from Arrow strings, against its peer on lists of a tenth as many rows.

    The peer of ``token_f1`` of Cyrillic letters is ``token_f1`` of the same texts in Latin ones, and that of cutting
    text into words a loop over its bytes.
    """
    from fastmetrics.metrics.metric import REGISTRY
    from fastmetrics.scoring.metric_functions import callable_of

    answers, references = (data.table(rows)[name].combine_chunks() for name in ("answer", "reference"))
    fewer = max(rows // 10, 1)
    few = answers[:fewer].to_pylist(), references[:fewer].to_pylist()
    token_f1 = partial(callable_of("token_f1"), threads=1)
    cyrillic = [data.in_cyrillic(column) for column in (answers, references)]
    scripts = partial(token_f1, *cyrillic), partial(token_f1, answers, references)
    return [
        *(
            calls(
                name,
                partial(callable_of(name), answers, references, threads=1),
                partial(peer, *few),
                (rows, fewer),
                repeats,
            )
            for name, peer in PEERS.items()
            if name in REGISTRY
        ),
        calls("token_f1 of Cyrillic letters, against Latin ones", *scripts, (rows, rows), repeats),
        *(calls(name, *sides, (rows, rows), repeats) for name, sides in plain_loops.contestants(answers).items()),
    ]


def score(rows: int, repeats: int) -> list[dict[str, Any]]:
    """The whole job, file to file: against per-row Python on a tenth of the rows, pyarrow alone, and one thread."""
    fewer = max(rows // 10, 1)
    with tempfile.TemporaryDirectory() as folder:
        many, few, out = (str(Path(folder, name)) for name in ("many.parquet", "few.parquet", "scores.parquet"))
        data.write(many, rows)
        data.write(few, fewer)
        ours = ["-m", "fastmetrics", "score", many, "-o", out, "--overwrite", "--quiet", "-m", ",".join(METRICS)]
        peer = ["-m", "bench.peers"]
        floor = [*peer, many, out, "--floor"]
        single, double = ["--threads", "1"], ["--threads", "2"]
        same = (rows, rows)
        return [
            processes("score against per-row Python", ours, [*peer, few, out], (rows, fewer), repeats),
            processes("score against pyarrow alone", ours, floor, same, repeats),
            processes("one thread against pyarrow alone on one", [*ours, *single], [*floor, *single], same, repeats),
            processes("2 threads against 1", [*ours, *double], [*ours, *single], same, repeats),
        ]


CONTESTS: dict[str, Callable[[int, int], list[dict[str, Any]]]] = {"text": text, "score": score}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description="Time ours against the peers.")
    parser.add_argument("contests", nargs="*", metavar="CONTEST", help=f"any of {', '.join(CONTESTS)}; default: all")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    unknown = set(options.contests) - set(CONTESTS)
    if unknown:
        parser.error(f"unknown contest {', '.join(sorted(unknown))}; known: {', '.join(CONTESTS)}")
    RESULTS.mkdir(exist_ok=True)
    for name in options.contests or CONTESTS:
        results = CONTESTS[name](options.rows, options.repeats)
        report = {"name": name, "machine": machine(), "results": results}
        (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
        for result in results:
            ours, peer = result["ours"]["rows_per_second"], result["peer"]["rows_per_second"]
            print(f"{result['name']:32} {ours:>12,} rows/s {peer:>12,} rows/s {result['ratio']:>9.2f}×")


if __name__ == "__main__":
    main()
