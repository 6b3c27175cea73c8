"""The results of ``scripts/scaling`` as tables, and a model of larger inputs on more processors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NOTHING = "_No results are committed yet; `scripts/scaling --kills 10` makes them._"

ROWS = 1_000_000_000
CORES = (8, 64, 256)
PRICE = 0.04
"""US dollars for a processor for an hour: about what the large clouds ask for general machines without a contract."""


def figures(path: Path) -> str:
    """The section of figures, from the file of results."""
    if not path.exists():
        return NOTHING
    report = json.loads(path.read_text(encoding="utf-8"))
    runs = {run["name"]: run for run in report["runs"]}
    if "ray, 1 worker" not in runs:
        return NOTHING
    machine = report["machine"]
    size = report["input_bytes"] / 1e6
    parts = [
        f"{report['rows']:,} rows (question of 10 words, answer and reference of 60) in {report['files']} Parquet "
        f"files, {size:,.0f} MB; the suite `core`; {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, commit {machine['commit']}. *After start* leaves out everything before the first row: "
        "imports, starting the cluster and its workers, kernels. Memory is the largest process of its kind, without "
        "memory shared between processes.",
        _table(
            ("engine", "wall s", "after start s", "rows/s", "equal bytes", "worker MB", "driver MB"),
            [_line(run) for run in report["runs"]],
        ),
        "Seconds of each stage, summed over workers; the driver does `write` while workers score:",
        _table(("engine", *_STAGES), [_stages(run) for run in report["runs"]]),
        _overhead(runs),
    ]
    if report["kills"]:
        equal, walls = sum(kill["same"] for kill in report["kills"]), [kill["wall"] for kill in report["kills"]]
        parts.append(
            f"{len(report['kills'])} further runs on Ray had a worker killed (SIGKILL) at a random moment: {equal} "
            f"ended with the same bytes, after {min(walls):.0f} to {max(walls):.0f} s."
        )
    return "\n\n".join([*parts, *_model(report, runs)])


_STAGES = ("start", "read", "score", "finish", "transfer", "write")


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, ("---", *("---:",) * (len(header) - 1)), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _line(run: dict[str, Any]) -> tuple[str, ...]:
    memory = run["peak_mb"]
    return (
        run["name"],
        f"{run['wall']:.1f}",
        f"{run['wall_after_start']:.1f}",
        f"{run['rows_per_second']:,}",
        "yes" if run["same"] else "**no**",
        f"{memory['worker']:,.0f}" if "worker" in memory else "",
        f"{memory['driver']:,.0f}",
    )


def _stages(run: dict[str, Any]) -> tuple[str, ...]:
    return (run["name"], *(f"{run['seconds'][stage]:.1f}" if stage in run["seconds"] else "" for stage in _STAGES))


def _after(run: dict[str, Any]) -> float:
    return float(run["wall_after_start"])


def _overhead(runs: dict[str, Any]) -> str:
    pairs = [("local, 2 threads", "ray, 2 workers"), ("local, 1 thread", "ray, 1 worker")]
    lines = [
        f"{theirs} takes {_after(runs[theirs]) / _after(runs[ours]):.2f} times as long as {ours}"
        for ours, theirs in pairs
        if ours in runs and theirs in runs
    ]
    return f"After start, {'; '.join(lines)}." if lines else ""


def _model(report: dict[str, Any], runs: dict[str, Any]) -> list[str]:
    """Time, cost and memory for many rows: work is divided by the cores, and the driver is a bound."""
    one_worker = runs["ray, 1 worker"]
    worker = sum(one_worker["seconds"][stage] for stage in ("read", "score", "finish", "transfer"))
    rate, bound = report["rows"] / worker, report["rows"] / max(one_worker["seconds"]["write"], 1e-9)
    start = one_worker["wall"] - one_worker["wall_after_start"]
    rows = []
    for cores in CORES:
        for output in ("folder", "file"):
            seconds = start + ROWS / (min(cores * rate, bound) if output == "file" else cores * rate)
            cost = seconds / 3600 * (cores + 1) * PRICE
            memory = (cores * one_worker["peak_mb"]["worker"] + one_worker["peak_mb"]["driver"]) / 1e3
            rows.append((str(cores), output, f"{seconds / 60:,.1f}", f"{cost:,.2f}", f"{memory:,.0f}"))
    return [
        "## A billion rows",
        f"A worker reads, scores, finishes and transfers {rate:,.0f} rows per second. Nothing is shuffled: workers do "
        f"not communicate. The driver writes a single file at {bound:,.0f} rows per second; for a folder it only saves "
        "bytes that workers have encoded, which the model treats as free. So\n\n"
        f"    time = start + rows / min(N · rate, writing)        start = {start:.0f} s",
        _table(("cores", "output", "minutes", f"US$ at {PRICE} a core-hour", "memory GB"), rows),
        "The cost includes one more core, for the driver. The model extrapolates linearly from one worker on one "
        "machine. It ignores networks, object stores and slow nodes, and has not been checked on a cluster.",
    ]
