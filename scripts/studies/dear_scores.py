"""How often estimates from drawn rows hold, and how wide they are: populations made of tables that people labelled.

::

    FASTMETRICS_DATA=folder scripts/study dear_scores --trials 2000

Each trial makes a population of 20,000 rows of a table, drawn with replacement, so that its mean is the truth, draws
rows by the design of ``fm.sample``, in proportion or with a pilot of 200 other rows; and reads the means, segments and
differences of ``fm.with_sample``.  Beside them: as many random rows with their default interval, and the package
``ppi-python`` with the best cheap column, if it is there.  The results are in ``bench/results/dear-scores.json``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import fastmetrics as fm
from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.results.quantities import Method, SampledMeans
from fastmetrics.results.sampling import Pilot, Rows, allocated, cross_fitted, products
from fastmetrics.stats.estimates import Sample
from fastmetrics.stats.mean_interval import mean_interval
from fastmetrics.stats.sampled_means import SampledMean

OUT = Path(__file__).resolve().parents[2] / "bench" / "results" / "dear-scores.json"
BUDGETS, ROWS, PILOT = (100, 500, 2000, 5000), 20_000, 200
TABLES: dict[str, tuple[str, str, str | None, tuple[float, float]]] = {
    "evouna_qa": ("human_correct", "token_f1,cover_match,token_recall", "dataset", (0.0, 1.0)),
    "openqa_nq301_judged": ("human_correct", "token_f1,cover_match,token_recall", None, (0.0, 1.0)),
    "realsumm_scores": ("human_litepyramid_recall", "rouge1_f1,rouge2_f1,rougeL_f1", None, (0.0, 1.0)),
    "halueval_qa": ("label_hallucinated", "token_recall,answer_words", None, (0.0, 1.0)),
}
"""The label of each table, the cheap metrics, the column of segments, and the bounds of the label."""


class Population:
    """The rows of a table, their labels and designs; a trial draws from them."""

    def __init__(self, table: pa.Table, label: str, cheap: str, by: str | None) -> None:
        truth = pc.is_valid(table[label])
        table = table.filter(truth)
        names = {"reference": "references"} if "references" in table.column_names else None
        scores = fm.score(table, cheap, columns=names)
        scores = scores.append_column("by", table[by].cast(pa.string()) if by else pa.array(["all"] * len(table)))
        rows = Rows.of(scores, cheap.split(","), ["by"], 0, None, "dear")
        self.rows, self.dear = rows, np.array(table[label].to_pylist(), np.float64)[rows.order]
        self.features = rows.features(rows.cheap, rows.segments)

    def design(self, rng: np.random.Generator, pilot: bool) -> tuple[Ints, Floats]:
        """The stratum of each row, and the standard deviations that the allocation uses."""
        if not pilot:
            cut = self.rows.strata(None)
            return cut.codes, cut.spreads
        some = rng.integers(0, len(self.dear), PILOT)
        cut = self.rows.strata(Pilot(self.rows.features(self.rows.cheap[some]), self.dear[some]))
        return cut.codes, cut.spreads

    def drawn(
        self, own: Ints, codes: Ints, spreads: Floats, budget: int, places: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Scores, probabilities and predictions of a population of these ``own`` rows, by random ``places``."""
        sizes = np.bincount(codes[own], minlength=len(spreads))
        full = sizes > 0
        counts = np.zeros(len(sizes), np.int64)
        counts[full] = allocated(sizes[full], spreads[full], budget, np.minimum(sizes[full], 2))
        order = np.lexsort((places, codes[own]))
        ranks = np.empty(len(own), np.int64)
        ranks[order] = np.arange(len(own)) - (np.cumsum(sizes) - sizes)[codes[own][order]]
        drawn = np.flatnonzero(ranks < counts[codes[own]])
        drawn = drawn[np.argsort(places[drawn])]
        shares, scores = np.full(len(own), np.nan), np.full(len(own), np.nan)
        shares[drawn], scores[drawn] = (counts / np.maximum(sizes, 1))[codes[own][drawn]], self.dear[own[drawn]]
        ahead, slopes, level = cross_fitted(self.features[own[drawn]], scores[drawn], 1 / shares[drawn])
        predicted = (level + products(self.features, slopes))[own]
        predicted[drawn] = ahead
        return scores, shares, predicted


class Tally(dict[str, list[list[float]]]):
    """The trials of each figure: whether it held, and its width."""

    def add(self, name: str, truth: float, low: float, high: float, note: str | None = None) -> None:
        """Count one interval."""
        held = [
            float(low <= truth + 1e-12 and truth - 1e-12 <= high),
            high - low,
            float(low > truth),
            float(high < truth),
        ]
        self.setdefault(name, []).append([*held, float(bool(note))])

    def rows(self, **cell: Any) -> Iterator[dict[str, Any]]:
        """The share of intervals that held, the mean width, and the shares that missed on each side."""
        for name, trials in self.items():
            means = [round(float(one), 5) for one in np.nanmean(np.array(trials), axis=0)]
            keys = ("held", "width", "above", "below", "noted")
            yield {**cell, "figure": name, "trials": len(trials), **dict(zip(keys, means, strict=True))}


def simulated(
    name: str, data: Population, bounds: tuple[float, float], budget: int, trials: int, seed: int
) -> list[dict[str, Any]]:
    """All figures of one table and budget."""
    try:
        from ppi_py import ppi_mean_ci  # type: ignore[import-not-found]
    except ImportError:
        ppi_mean_ci = None
    rng, tally, method = np.random.default_rng([seed, budget]), Tally(), Method()
    plain = data.design(rng, pilot=False)
    truth, segments = float(data.dear.mean()), data.rows.segments
    correlations = [abs(np.corrcoef(np.nan_to_num(one), data.dear)[0, 1]) for one in data.rows.cheap.T]
    best = np.nan_to_num(data.rows.cheap[:, int(np.nanargmax(correlations))])
    other = np.roll(data.dear, 7) * 0.5 + data.dear * 0.5 > rng.random(
        len(data.dear)
    )  # of a system that agrees at times
    rival = Population.__new__(Population)
    rival.rows, rival.features, rival.dear = data.rows, data.features, other.astype(np.float64)
    for _ in range(trials):
        own, places = rng.integers(0, len(data.dear), ROWS), rng.random(ROWS)
        for way, design in (("in proportion", plain), ("pilot", data.design(rng, pilot=True))):
            scores, shares, predicted = data.drawn(own, *design, budget, places)
            found = SampledMean.of(scores, shares, predicted, None, bounds)
            interval = found.interval(0.95)
            tally.add(f"mean, {way}", truth, interval.low, interval.high, interval.note)
            tally.setdefault(f"random, {way}", []).append([found.n_random()] * 5)
            for segment in range(int(segments.max()) + 1 if way == "in proportion" and segments.any() else 0):
                part = segments[own] == segment
                one = SampledMean.of(scores[part], shares[part], predicted[part], None, bounds).interval(0.95)
                tally.add("segment", float(data.dear[segments == segment].mean()), one.low, one.high, one.note)
            if way == "in proportion":
                others = rival.drawn(own, *design, budget, places)
                second = SampledMean.of(*others, None, bounds)
                both = SampledMeans.between(found, second, np.stack([scores, others[0]]), bounds).interval(method)
                tally.add("difference", float((rival.dear - data.dear).mean()), both.low, both.high, both.note)
        some = rng.permutation(ROWS)[:budget]
        known = data.dear[own[some]]
        alone = mean_interval(Sample.of(known, None, bounds))
        tally.add("random rows", truth, alone.low, alone.high, alone.note)
        change = Sample.between(known, rival.dear[own[some]], None, bounds)
        apart = mean_interval(change)
        tally.add("random difference", float((rival.dear - data.dear).mean()), apart.low, apart.high, apart.note)
        if ppi_mean_ci is not None:
            rest = np.ones(ROWS, np.bool_)
            rest[some] = False
            low, high = ppi_mean_ci(known, best[own[some]], best[own[rest]], alpha=0.05)
            tally.add("ppi-python", truth, float(np.squeeze(low)), float(np.squeeze(high)))
    return list(tally.rows(table=name, budget=budget, truth=round(truth, 4)))


def main() -> None:
    """Simulate all tables and budgets, or the named ones, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=OUT)
    options = parser.parse_args()
    folder, results = Path(os.environ["FASTMETRICS_DATA"]) / "dev", []
    for name in options.tables.split(","):
        label, cheap, by, bounds = TABLES[name]
        data = Population(pq.read_table(folder / f"{name}.parquet"), label, cheap, by)
        for budget in map(int, options.budgets.split(",")):
            with threadpool_limits(1):
                found = simulated(name, data, bounds, budget, options.trials, options.seed)
            results += found
            options.output.write_text("[\n" + ",\n".join(map(json.dumps, results)) + "\n]\n", encoding="utf-8")
            for row in found:
                print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
