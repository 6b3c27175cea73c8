"""Benchmark results as Markdown tables: a selection for the README, all of them for docs/studies/throughput.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADLINES = (
    "score against per-row Python",
    "score against pyarrow alone",
    "token_f1",
    "squad_f1",
    "rougeL_f1",
    "bleu",
    "chrf",
    "100,000 queries × 100, whole process, against pytrec_eval",
    "100,000 queries × 100, evaluation alone, one thread, ids ready",
)
"""The benchmarks in the README's table, one or two for each kind of work; docs/studies/throughput.md has them all."""

NOTHING = "_No results are committed yet; `scripts/bench` makes them._"


@dataclass(frozen=True)
class Report:
    """One file of results: the machine, each benchmark with a peer, and the benchmarks without one."""

    name: str
    machine: dict[str, Any]
    contests: list[dict[str, Any]]
    alone: list[dict[str, Any]]


def read_reports(folder: Path) -> list[Report]:
    """The reports in ``folder`` that contain benchmarks, the whole job first.

    Prints the names of files without benchmarks, and a line if there are no reports.
    """
    reports = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        results = content.get("results", []) if isinstance(content, dict) else []
        entries = [entry for entry in results if isinstance(entry, dict) and "name" in entry]
        contests = [entry for entry in entries if {"ours", "peer", "ratio"} <= set(entry)]
        alone = [entry for entry in entries if not {"ours", "peer"} & set(entry)]
        if contests or alone:
            reports.append(Report(str(content.get("name", path.stem)), content.get("machine", {}), contests, alone))
        else:
            print(f"{path.name}: contains no benchmarks, left out of the throughput tables")
    if not reports:
        print(f"{folder.parent.name}/{folder.name}: no results yet, so no throughput table")
    return sorted(reports, key=lambda report: report.name != "score")


def headline(reports: list[Report]) -> str:
    """The README's table."""
    if not reports:
        return NOTHING
    places = {_where(report) for report in reports}
    ran = f"; {places.pop()}" if len(places) == 1 else ""
    chosen = {contest["name"]: contest for report in reports for contest in report.contests}
    lines = [_line(chosen[name]) for name in HEADLINES if name in chosen]
    return "\n".join(
        [
            "| benchmark | fastmetrics | peer | ratio |",
            "| --- | ---: | ---: | ---: |",
            *lines,
            "",
            f"Rows per second, measured alternately in one run of `scripts/bench`{ran}; functions use one thread. "
            "[All benchmarks](docs/studies/throughput.md), including those where the peer is faster.",
        ]
    )


def page(reports: list[Report]) -> str:
    """All benchmarks of all reports."""
    parts = [
        "Each benchmark runs fastmetrics and a peer alternately on the same machine: the official package, or the "
        "per-row Python that a user would write. Figures are rows per second in the median run. `bench/results` has "
        "processor seconds, memory, machines, and what has no peer. The peer pyarrow alone reads and writes as many "
        "columns without scoring: the floor of a run from file to file.",
    ]
    lines = ["| benchmark | fastmetrics | peer | ratio |", "| --- | ---: | ---: | ---: |"]
    for report in reports:
        if report.contests:
            lines += [f"| **{report.name.capitalize()}** | | | |", *map(_line, report.contests)]
    return "\n\n".join([*parts, "\n".join(lines)] if reports else [*parts, NOTHING])


def _line(contest: dict[str, Any]) -> str:
    ours, peer = (contest[side]["rows_per_second"] for side in ("ours", "peer"))
    return f"| {contest['name']} | {ours:,} | {peer:,} | {contest['ratio']:,.2f}× |"


def _where(report: Report) -> str:
    machine = report.machine
    facts = [
        machine.get("processor"),
        machine.get("cores") and f"{machine['cores']} cores",
        machine.get("python") and f"Python {machine['python']}",
        machine.get("commit") and f"commit {machine['commit']}",
    ]
    return "measured on " + ", ".join(str(fact) for fact in facts if fact) if any(facts) else "machine not recorded"
