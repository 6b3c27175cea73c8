"""How often the default intervals of means contain the true mean: simulated scores, differences and clusters."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import has_long_tail, mean_interval

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "bench" / "results" / "intervals.json", ROOT / "docs" / "comparing.md"
BEGIN, END = "<!-- coverage, written by scripts/simulate_comparisons --intervals -->", "<!-- end of coverage -->"
PASSES = "<!-- false passes, written by scripts/simulate_comparisons --intervals -->"
END_OF_PASSES = "<!-- end of false passes -->"
ROWS, CLUSTERS = (5, 10, 20, 60, 1000), (5, 10, 20, 60)
Draw = Callable[[np.random.Generator, int], Floats]
UNIT, CHANGE = (0.0, 1.0), (-1.0, 1.0)


def _mixed(rng: np.random.Generator, n: int) -> Floats:
    kind = rng.random(n)
    values: Floats = np.where(kind < 0.3, 0.0, np.where(kind < 0.5, 1.0, rng.beta(2, 2, n)))
    return values


DESIGNS: dict[str, tuple[Draw, float, tuple[float, float] | None]] = {
    "scores: uniform": (lambda rng, n: rng.random(n), 0.5, UNIT),
    "scores: 30 % of 0, 20 % of 1, others between": (_mixed, 0.45, UNIT),
    "scores: bounded and skewed, Beta(0.5, 3)": (lambda rng, n: rng.beta(0.5, 3, n), 0.5 / 3.5, UNIT),
    "scores: U-shaped, Beta(0.5, 0.5)": (lambda rng, n: rng.beta(0.5, 0.5, n), 0.5, UNIT),
    "scores: skewed, exponential": (lambda rng, n: rng.exponential(1, n), 1.0, None),
    "scores: very skewed, lognormal(0, 1)": (lambda rng, n: rng.lognormal(0, 1, n), float(np.exp(0.5)), None),
    "scores: very skewed, Pareto(3)": (lambda rng, n: rng.pareto(3, n), 0.5, None),
    "scores: bounded, 90 % of 0": (lambda rng, n: np.where(rng.random(n) < 0.1, rng.beta(2, 2, n), 0.0), 0.05, UNIT),
    "scores: 0 or 1, half of 1": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5, UNIT),
    "scores: 0 or 1, 90 % of 1": (lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9, UNIT),
    "differences: normal": (lambda rng, n: rng.normal(0, 0.2, n), 0.0, None),
    "differences: skewed, exponential": (lambda rng, n: 0.1 * (rng.exponential(1, n) - 1), 0.0, None),
    "differences: half of them 0": (
        lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, np.clip(rng.normal(0, 0.3, n), -1, 1)),
        0.0,
        CHANGE,
    ),
}
PAIRED_FLAGS = {
    "differences of 0 and 1: 70 % agree": (0.15, 0.15),
    "differences of 0 and 1: 90 % agree": (0.05, 0.05),
    "differences of 0 and 1: 65 % agree, one system better": (0.1, 0.25),
}
SIZES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "even": lambda rng, k: np.full(k, 8),
    "1 to 9 rows": lambda rng, k: rng.integers(1, 10, k),
}


def _clustered(kind: str, rng: np.random.Generator, clusters: Any) -> tuple[Floats, float, tuple[float, float] | None]:
    """Correlated rows of the clusters, and their true mean."""
    k, n = len(np.unique(clusters)), len(clusters)
    if kind == "normal":
        return rng.normal(0, 0.2, k)[clusters] + rng.normal(0, 0.2, n), 0.0, None
    if kind == "skewed":
        return 0.5 * rng.exponential(1, k)[clusters] + 0.5 * rng.exponential(1, n), 1.0, None
    return (rng.random(n) < rng.beta(1.4, 0.6, k)[clusters]).astype(float), 0.7, UNIT


def cases() -> Iterator[tuple[str, str, int]]:
    """All designs with their numbers of rows or clusters."""
    yield from (("rows", name, n) for name in (*DESIGNS, *PAIRED_FLAGS) for n in ROWS)
    for sizes in SIZES:
        yield from (("clusters", f"{kind}, {sizes}", k) for kind in ("normal", "skewed", "0 or 1") for k in CLUSTERS)


def _sample(unit: str, name: str, count: int, rng: np.random.Generator) -> tuple[Sample, float]:
    """One simulated sample and its true mean."""
    if unit == "clusters":
        kind, sizes = name.rsplit(", ", 1)
        clusters = np.repeat(np.arange(count), SIZES[sizes](rng, count))
        values, mean, bounds = _clustered(kind, rng, clusters)
        return Sample.of(values, clusters, bounds), mean
    if name in PAIRED_FLAGS:
        losses, wins = PAIRED_FLAGS[name]
        change = rng.choice([-1.0, 0.0, 1.0], count, p=[losses, 1 - losses - wins, wins])
        first = np.where(change == 0, rng.integers(0, 2, count), (1 - change) / 2)
        return Sample.between(first, first + change, bounds=UNIT), wins - losses
    draw, mean, bounds = DESIGNS[name]
    return Sample.of(draw(rng, count), bounds=bounds), mean


def coverage(case: tuple[str, str, int], trials: int) -> dict[str, Any]:
    """The share of 95 % intervals that contain the true mean, and the share of intervals with a note.

    ``passes`` are those of a gate at its limit: the share of intervals that lie above the mean or below it, whichever
    is larger; ``unnoted_passes`` are those of them where neither the interval nor its long tail has a note.
    """
    unit, name, count = case
    hits, notes, kinds = 0, 0, set()
    passes, unnoted = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for trial in range(trials):
        sample, mean = _sample(unit, name, count, np.random.default_rng([7, trial]))
        bounds = mean_interval(sample)
        missed = np.array([mean < bounds.low - 1e-12, mean > bounds.high + 1e-12])
        hits += not missed.any()
        notes += bounds.note is not None
        kinds.add(bounds.kind)
        passes += missed
        if bounds.note is None:
            unnoted += missed & [not has_long_tail(bounds, high) for high in (False, True)]
    shares = {"coverage": hits, "noted": notes, "passes": int(passes.max()), "unnoted_passes": int(unnoted.max())}
    rounded = {key: round(value / trials, 4) for key, value in shares.items()}
    return {"unit": unit, "data": name, "count": count, **rounded, "kinds": sorted(kinds)}


def run(trials: int, processes: int) -> list[dict[str, Any]]:
    """The coverage of all designs, written to the results."""
    every = list(cases())
    with ProcessPoolExecutor(processes) as pool:
        covered = list(pool.map(coverage, every, [trials] * len(every)))
    RESULTS.write_text(json.dumps({"trials": trials, "coverage": covered}, indent=1) + "\n", encoding="utf-8")
    return covered


def section(results: dict[str, Any]) -> str:
    """The tables for the page: coverage by design and number of rows or clusters, † where intervals have a note."""

    def shown(entry: dict[str, Any]) -> str:
        return f"{entry['coverage']:.3f}" + ("†" if entry["noted"] > 0.5 else "")

    parts = [_table(results, unit, counts, shown) for unit, counts in (("rows", ROWS), ("clusters", CLUSTERS))]
    tail = f"{results['trials']:,} trials each, 95 % intervals; † most of these intervals have a note."
    return "\n\n".join([BEGIN, *parts, tail, END])


def passes_section(results: dict[str, Any]) -> str:
    """The table of false passes for the page: all, and those without a note."""

    def shown(entry: dict[str, Any]) -> str:
        return f"{entry['passes']:.3f} ({entry['unnoted_passes']:.3f})"

    tail = f"{results['trials']:,} trials each; nominal 0.025. In parentheses: without a note on the check."
    return "\n\n".join([PASSES, _table(results, "rows", ROWS[2:], shown), tail, END_OF_PASSES])


def _table(results: dict[str, Any], unit: str, counts: Sequence[int], shown: Callable[[dict[str, Any]], str]) -> str:
    """A line for each design, a column for each number of rows or clusters."""
    some = {(entry["data"], entry["count"]): entry for entry in results["coverage"] if entry["unit"] == unit}
    lines = [f"| {unit} | " + " | ".join(map(str, counts)) + " |", "| --- |" + " ---: |" * len(counts)]
    for name in dict.fromkeys(name for name, _ in some):
        lines.append(f"| {name} | " + " | ".join(shown(some[name, count]) for count in counts) + " |")
    return "\n".join(lines)


def write_page() -> str:
    """Write the tables into the page, from the results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    for new_section, begin, end in ((section(results), BEGIN, END), (passes_section(results), PASSES, END_OF_PASSES)):
        text = text.partition(begin)[0] + new_section + text.partition(end)[2]
    PAGE.write_text(text, encoding="utf-8")
    return section(results)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/simulate_comparisons --intervals", description="Simulate intervals.")
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page-only", action="store_true", help="write the page from the stored results")
    options = parser.parse_args()
    if not options.page_only:
        run(options.trials, options.processes)
    print(write_page())


if __name__ == "__main__":
    main()
