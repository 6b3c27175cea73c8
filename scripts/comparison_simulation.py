"""Simulated scores of systems with a known difference: error rates of the tests and coverage of the intervals."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.significance import detectable, p_value, tukey_p

PAGE = Path(__file__).resolve().parent.parent / "docs" / "comparing.md"
BEGIN, END = "<!-- simulation, written by scripts/simulate_comparisons -->", "<!-- end of simulation -->"
RESAMPLES = 1000
Make = Callable[[np.random.Generator], tuple[Floats, "Ints | None"]]


def normal(rng: np.random.Generator) -> tuple[Floats, Ints | None]:
    """100 differences, normal distribution."""
    return rng.normal(0, 0.2, 100), None


def skewed(rng: np.random.Generator) -> tuple[Floats, Ints | None]:
    """200 differences, skewed distribution (most small, some large)."""
    return 0.1 * (rng.exponential(1, 200) - 1), None


def binary(rng: np.random.Generator) -> tuple[Floats, Ints | None]:
    """200 differences of binary scores that agree in 70 % of the rows."""
    return rng.choice([-1.0, 0.0, 1.0], 200, p=[0.15, 0.7, 0.15]), None


def sessions(rng: np.random.Generator) -> tuple[Floats, Ints | None]:
    """60 sessions of 1 to 9 correlated rows."""
    sizes = rng.integers(1, 10, 60)
    shared = np.repeat(rng.normal(0, 0.2, 60), sizes)
    return shared + rng.normal(0, 0.1, len(shared)), np.repeat(np.arange(60), sizes)


def rejections(make: Make, test: str, trials: int, shift: float = 0.0, flat: bool = False) -> float:
    """The share of trials in which a test at 5 % rejects the null hypothesis."""
    rejected = 0
    for trial in range(trials):
        values, clusters = make(np.random.default_rng([1, trial]))
        differences = Sample.of(values + shift, None if flat else clusters)
        rejected += p_value(test, differences, RESAMPLES, trial, 1) <= 0.05
    return rejected / trials


def coverage(make: Make, trials: int, kind: str = "auto") -> float:
    """The share of trials whose 95 % interval contains the true difference, 0."""
    covered = 0
    for trial in range(trials):
        differences = Sample.of(*make(np.random.default_rng([2, trial])))
        bounds = mean_interval(differences, 0.95, kind, resamples=RESAMPLES, seed=trial, threads=1)
        covered += bounds.low <= 0 <= bounds.high
    return covered / trials


def family_errors(trials: int) -> float:
    """The share of trials in which Tukey's test rejects any pair of five equal systems."""
    rejected = 0
    for trial in range(trials):
        rng = np.random.default_rng([3, trial])
        scores = rng.normal(0.5, 0.2, (60, 1)) + rng.normal(0, 0.1, (60, 5))
        rejected += bool((tukey_p(scores, RESAMPLES, trial, 1) <= 0.05).any())
    return rejected / trials


def power(make: Make, trials: int) -> float:
    """The share of trials in which Fisher's test detects a true difference of size ``detectable``."""
    sizes = [detectable(Sample.of(*make(np.random.default_rng([4, trial])))) for trial in range(200)]
    return rejections(make, "fisher", trials, shift=float(np.mean(sizes)))


def figures(trials: int) -> list[tuple[str, str, float, float]]:
    """For each simulation: the measure, the data, the measured share and the nominal share."""
    rows: list[tuple[str, str, float, float]] = []
    for test, make in [("fisher", normal), ("fisher", skewed), ("t", normal), ("t", skewed), ("wilcoxon", normal)]:
        rows.append((f"{test}: false positive rate", _description(make), rejections(make, test, trials), 0.05))
    for test in ("fisher", "mcnemar"):
        rows.append((f"{test}: false positive rate", _description(binary), rejections(binary, test, trials), 0.05))
    for test in ("fisher", "t"):
        rows.append(
            (f"{test}, cluster=: false positive rate", _description(sessions), rejections(sessions, test, trials), 0.05)
        )
    rows.append(
        (
            "fisher without cluster=: false positive rate",
            _description(sessions),
            rejections(sessions, "fisher", trials, flat=True),
            0.05,
        )
    )
    rows.append(("tukey: any false positive", "60 rows of five equal systems", family_errors(trials), 0.05))
    for make in (normal, skewed, binary, sessions):
        rows.append(("95 % interval contains Δ", _description(make), coverage(make, trials), 0.95))
    rows.append(("95 % interval contains Δ, BCa", _description(skewed), coverage(skewed, trials, "bca"), 0.95))
    for make in (normal, skewed, binary, sessions):
        rows.append(("power at `detectable`, fisher", _description(make), power(make, trials), 0.80))
    return rows


def _description(make: Make) -> str:
    return str(make.__doc__).rstrip(".")


def section(rows: Any, trials: int) -> str:
    """The table for the page."""
    lines = [f"{what} | {of} | {share:.3f} | {promised:.2f}" for what, of, share, promised in rows]
    head = ["measure | data | measured | nominal", "--- | --- | ---: | ---:"]
    table = "\n".join(f"| {line} |" for line in [*head, *lines])
    return f"{BEGIN}\n{table}\n\n{trials:,} trials each; {RESAMPLES:,} resamples for each test and interval.\n{END}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/simulate_comparisons", description="Simulate comparisons.")
    parser.add_argument("--trials", type=int, default=4000)
    options = parser.parse_args()
    new_section = section(figures(options.trials), options.trials)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(before + new_section + after, encoding="utf-8")
    print(new_section)


if __name__ == "__main__":
    main()
