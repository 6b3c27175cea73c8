"""A judge on loopback, asked about every row and then about none again: ``python -m bench.judging``."""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import data
from bench.compare import RESULTS
from bench.machine import machine

CONCURRENCY = 32
ALL_CALLED, ALL_STORED = "every question asked", "every reply in the store"
MEGABYTE = 1 << 20
_EVERY = 0.05
_PROFILED = 1_000
_PACKAGES = ("fastmetrics", "httpx", "httpcore", "h11", "anyio", "asyncio")


def rss() -> float:
    """The megabytes that this process holds just now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


class Watch:
    """Memory at some numbers of requests, and the processor's seconds by thread."""

    def __init__(self, marks: list[int]) -> None:
        self.memory: dict[int, float] = {}
        self.seconds: dict[str, float] = {}
        self._marks = marks
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, spending: Any) -> None:
        """Watch an account from now on."""
        self._thread = threading.Thread(target=self._look, args=(spending,), name="watch", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """No more."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self, spending: Any) -> None:
        left = list(self._marks)
        while not self._done.wait(_EVERY):
            for thread in threading.enumerate():
                if thread.is_alive() and thread.ident is not None and thread.name.startswith("fastmetrics"):
                    with suppress(OSError):  # it has just ended
                        clock = time.pthread_getcpuclockid(thread.ident)
                        self.seconds[thread.name] = round(time.clock_gettime(clock), 2)
            while left and spending.requests >= left[0]:
                self.memory[left.pop(0)] = round(rss(), 1)


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """The share of the calling thread's time that each package takes by itself, as a profiler sees it."""
    samples: Counter[str] = Counter()
    for (path, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        own_package = next((name for name in _PACKAGES if f"/{name}/" in path), "interpreter and its library")
        samples[own_package] += own
    total = sum(samples.values())
    return {name: round(own / total, 3) for name, own in samples.most_common()}


def child(rows: str, store: str, out: str, url: str, profiled: str) -> None:
    """Judge a file, and print what it took."""
    import fastmetrics as fm
    from fastmetrics.models.call_sender import CallSender

    profile = cProfile.Profile()
    if profiled == "profiled":
        plain = CallSender._run
        CallSender._run = lambda sender: profile.runcall(plain, sender)  # type: ignore[method-assign]
    settings = fm.models.JudgeSettings("correctness", "m", base_url=url, store=store, concurrency=CONCURRENCY)
    watch = Watch([1_000, 5_000, 10_000, 15_000, 20_000, 50_000, 100_000])
    began, cpu = time.perf_counter(), time.process_time()
    judged = fm.judge(rows, settings, output=out, watch=watch.begin)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    watch.end()
    figures: dict[str, Any] = {
        "rows": judged.rows,
        "requests": judged.spending.requests,
        "found": judged.spending.from_store,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "cpu_seconds_by_thread": watch.seconds,
        "rows_per_second": round(judged.rows / seconds),
        "rows_per_second_after_loading": round(judged.rows / judged.seconds["total"]),
        "megabytes_at_requests": watch.memory,
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if profiled == "profiled":
        figures = {"requests": figures["requests"], "share_of_the_calling_thread": shares(profile)}
    print(json.dumps(figures))


@contextmanager
def server() -> Iterator[str]:
    """The judge in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "tests.support.judge_server"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _rows(folder: Path, rows: int) -> Path:
    """A folder with that many rows to judge."""
    folder.mkdir()
    table = data.table(rows).select(["question", "answer", "reference"])
    pq.write_table(table.add_column(0, "id", pa.array(range(rows))), folder / "rows.parquet")
    return folder


def _turn(what: str, folder: Path, url: str) -> dict[str, Any]:
    """Judge the rows of a folder in a process of its own; a second turn finds the replies of the first."""
    out = folder / f"judged{len(list(folder.iterdir()))}.parquet"
    arguments = [str(folder / "rows.parquet"), str(folder / "calls.sqlite"), str(out), url, what.partition(" ")[0]]
    command = [sys.executable, "-m", "bench.judging", "--child", *arguments]
    measured = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    result = {"what": what, "concurrency": CONCURRENCY, "load": round(os.getloadavg()[0], 2), **measured}
    print(json.dumps(result, indent=1))
    return result


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.judging", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--out", type=Path, default=RESULTS / "judging.json")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    os.environ.setdefault("OPENAI_API_KEY", "none")
    results = []
    with tempfile.TemporaryDirectory() as folder, server() as url:
        few = _rows(Path(folder, "few"), _PROFILED)
        results.append(_turn("profiled", few, url))
        for rows in options.rows:
            rows_file = _rows(Path(folder, str(rows)), rows)
            results += [_turn(what, rows_file, url) for what in (ALL_CALLED, ALL_STORED, ALL_STORED)]
    report = {"name": "judging", "machine": machine(), "results": results}
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
