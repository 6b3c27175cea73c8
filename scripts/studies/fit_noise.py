"""Fits to labels that are pure noise: how often the interval of AUC holds 0.5, how often a fit claims to be better than
the best single metric, and how often the promise of a cut is broken.

::

    scripts/study fit_noise --trials 2000

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

from fastmetrics.base.arrays import Floats
from fastmetrics.fitting.evaluation import HeldOut
from fastmetrics.fitting.fit import APART, cuts
from fastmetrics.fitting.labelled_rows import LabelledRows, filled, folds_of, part_of_groups
from fastmetrics.fitting.learners import fit_score
from fastmetrics.metrics.fitted_file import RowScores
from fastmetrics.stats.promises import CutPromises, promises_of

OUT = Path(__file__).resolve().parents[2] / "bench" / "results" / "fit-noise.json"
SIZES = (50, 200, 1000)
FRESH = 20_000
"""Rows on which the figures of a cut are measured."""
EVERY = 3
"""Cuts are chosen in one of so many trials."""
PIECE = 10
"""The trials of one size before those of the next, and before the results are written."""
CONFIDENCE = 0.95
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
    """The errors of one fit, each 0 or 1, and in some trials those of cuts."""
    rng = np.random.default_rng([29, n, number])
    counts = errors_of_figures(rows(rng, n), number)
    return counts if number % EVERY else counts | errors_of_cuts(rng, n, number)


def errors_of_figures(labelled: LabelledRows, number: int) -> dict[str, int]:
    """Whether the interval of AUC holds 0.5, and whether the fit claims to be better than the best metric."""
    folds = folds_of(labelled.labels, labelled.groups, number)
    held_out = HeldOut.of(labelled, folds, number, CONFIDENCE)
    figure = held_out.ranking()
    area = held_out.estimate(figure)
    alone = [held_out.ranking(filled(*values)).upwards() for values in labelled.values]
    gain = held_out.gain(figure, max(alone, key=lambda single: single.value))
    return {
        "holds": int(area.low <= 0.5 <= area.high),
        "below": int(area.high < 0.5),
        "above": int(area.low > 0.5),
        "better than the best": int(gain.low > 0),
    }


def errors_of_cuts(rng: np.random.Generator, n: int, number: int) -> dict[str, int]:
    """Whether a fit has cuts, and whether other rows break their promises."""
    counts = {"trials of cuts": 1}
    labelled, promises = rows(rng, n), promises_of(CutPromises(**TARGETS))
    apart = part_of_groups(labelled.groups, APART, number + 2)
    training, tested = labelled.take(np.setdiff1d(np.arange(n), apart)), labelled.take(apart)
    folds = folds_of(training.labels, training.groups, number)
    final, held_out = fit_score(training, number), HeldOut.of(training, folds, number, CONFIDENCE)
    found = cuts(promises, training, held_out.scores, tested, final, CONFIDENCE, number)
    fresh = rows(rng, FRESH)
    values, good = final.score(fresh.values), fresh.labels > 0
    for promise in promises:
        cut = found[promise.name].cut
        broken = False
        if cut is not None:
            counted, hits = map(int, promise.counts(cut, (values, good)))
            broken = counted > 0 and hits / counted < promise.target
        counts |= {f"cut of {promise.name}": int(cut is not None), f"broken {promise.name}": int(broken)}
    return counts


def main() -> None:
    """Run the trials, and write the counts after every few."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {} if options.fresh or not OUT.exists() else json.loads(OUT.read_text())["sizes"]
    counted: list[dict[str, int]] = [results.setdefault(str(n), {"trials": 0}) for n in options.sizes]
    while min(counts["trials"] for counts in counted) < options.trials:
        for n, counts in zip(options.sizes, counted, strict=True):
            for number in range(counts["trials"], min(counts["trials"] + PIECE, options.trials)):
                with threadpool_limits(1):
                    for name, count in trial(n, number).items():
                        counts[name] = counts.get(name, 0) + count
                counts["trials"] = number + 1
        OUT.write_text(json.dumps({"targets": TARGETS, "confidence": CONFIDENCE, "sizes": results}, indent=2) + "\n")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
