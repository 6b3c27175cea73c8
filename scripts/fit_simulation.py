"""Fits to labels that are pure noise: how often the interval of AUC holds 0.5, how often a fit claims to be better than
the best single metric, and how often the promise of a cut is broken.

::

    scripts/simulate_fits --trials 2000

The results are in ``bench/results/fit-noise.json``, by number of labelled rows.  A run adds its trials to those there,
so that a simulation can be made in pieces; ``--fresh`` begins anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fastmetrics.core.arrays import Floats
from fastmetrics.fitting.evaluation import evaluate
from fastmetrics.fitting.fit_rows import fit_rows
from fastmetrics.fitting.labelled_rows import LabelledRows
from fastmetrics.fitting.promises import promises
from fastmetrics.metrics.shared.fitted_model import RowScores

OUT = Path(__file__).resolve().parent.parent / "bench" / "results" / "fit-noise.json"
SIZES = (50, 200, 1000)
FRESH = 20_000
"""Rows on which the figures of a cut are measured."""
EVERY = 3
"""Cuts are chosen in one of so many trials."""
TARGETS = {"precision": 0.6, "recall": 0.8, "risk": 0.3}


def scores(rng: np.random.Generator, n: int) -> dict[str, RowScores]:
    """Scores of metrics of several shapes, which say nothing about the labels."""
    columns: dict[str, Floats] = {
        "normal": rng.normal(size=n),
        "uniform": rng.random(n),
        "skewed": rng.exponential(size=n),
        "flag": (rng.random(n) < 0.3).astype(np.float64),
        "grades": rng.integers(1, 6, n).astype(np.float64),
        "often_zero": np.where(rng.random(n) < 0.5, 0.0, rng.random(n)),
    }
    present = {name: np.ones(n, np.bool_) for name in columns}
    present["uniform"] = rng.random(n) > 0.1
    return {name: (np.where(present[name], values, np.nan), present[name]) for name, values in columns.items()}


def rows(rng: np.random.Generator, n: int) -> LabelledRows:
    """Labelled rows: half of the labels are positive, and no score knows which."""
    labels = rng.permutation(np.arange(n) % 2).astype(np.float64)
    return LabelledRows(labels, True, np.arange(n), scores(rng, n), False)


def trial(n: int, number: int) -> dict[str, int]:
    """The errors of one fit, each 0 or 1."""
    rng = np.random.default_rng([29, n, number])
    evaluation, _ = evaluate(rows(rng, n), "splines", (0.0, 1.0), None, confidence=0.95, seed=number, curves=False)
    area = evaluation.ranking
    counts: dict[str, int] = {"holds": area.low <= 0.5 <= area.high, "below": area.high < 0.5, "above": area.low > 0.5}
    counts["better than the best"] = evaluation.beats_best
    if number % EVERY:
        return {name: int(count) for name, count in counts.items()}
    counts["trials of cuts"] = 1
    fitted = fit_rows(rows(rng, n), "splines", promises=promises(**TARGETS), seed=number, curves=False)
    fresh = rows(rng, FRESH)
    values, good = fitted.score.score(fresh.values), fresh.labels > 0
    for promise in promises(**TARGETS):
        cut = fitted.thresholds[promise.name].cut
        counts[f"cut of {promise.name}"] = cut is not None
        broken = False
        if cut is not None:
            counted, hits = promise.counts(values >= cut, good)
            broken = bool(counted) and hits / counted < promise.target
        counts[f"broken {promise.name}"] = broken
    return {name: int(count) for name, count in counts.items()}


def main() -> None:
    """Run the trials, and write the counts after every few."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {} if options.fresh or not OUT.exists() else json.loads(OUT.read_text())["sizes"]
    for n in options.sizes:
        counts: dict[str, int] = results.setdefault(str(n), {"trials": 0})
        while counts["trials"] < options.trials:
            with threadpool_limits(1):
                for name, count in trial(n, counts["trials"]).items():
                    counts[name] = counts.get(name, 0) + count
            counts["trials"] += 1
            if counts["trials"] % 10 == 0 or counts["trials"] == options.trials:
                about = {"targets": TARGETS, "confidence": 0.95, "sizes": results}
                OUT.write_text(json.dumps(about, indent=2) + "\n")
        print(n, counts)


if __name__ == "__main__":
    main()
