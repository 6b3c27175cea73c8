"""How often intervals, tests, rules and plans err: simulated scores with a known truth, read by the public functions.

::

    scripts/simulate                 # all cells, written to bench/results/levels.json and the tables of the page
    scripts/simulate --audit         # the cells outside their limits without a note, from the stored results
    scripts/simulate --trials 100 --only "means: "

A cell is a quantity of one kind of data with n rows, clusters or questions.  Each of its trials makes claims: an
interval claims to contain the truth, each bound of it to lie on its side, a p of at most 0.05 that there is a
difference, a rule that is met that the system is not beyond its limit, a plan that so many questions are enough.
Counted are the wrong claims, those with a note, and the wrong ones without.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import fastmetrics as fm
from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.notes import mark_of
from fastmetrics.stats.mean_interval import LEAST_ROWS
from fastmetrics.stats.prediction_powered import powered_mean

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "bench" / "results" / "levels.json", ROOT / "docs" / "studies" / "levels.md"
ROWS, CLUSTERS = (5, 10, 20, 60, 200, 1000), (5, 10, 20, 60)
TRIALS, AT_ONCE, RESAMPLES = 2000, 100, 1000
LEVEL = 0.95
NOMINAL = {
    "interval": 0.05,
    "bound below": 0.025,
    "bound above": 0.025,
    "test": 0.05,
    "low >= mean": 0.025,
    "high <= mean": 0.025,
    "drop": 0.025,
    "drop in %": 0.025,
    "equivalent": 0.05,
    "not worse": 0.05,
    "letters": 0.05,
    "plan": 0.05,
}
"""The share of wrong claims of each kind that its level allows."""
MOST = {name: 0.035 if name.startswith("bound") else 1.2 * share for name, share in NOMINAL.items()}
"""The share of wrong claims without a note from which on a cell is outside its limits."""
FEWEST = 0.03
"""Intervals without a note that are wrong in fewer cases are too wide."""


@dataclass
class Claims:
    """The claims of one kind in the trials of a cell."""

    made: int = 0
    wrong: int = 0
    noted: int = 0
    unnoted_wrong: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, wrong: bool, note: str | None) -> None:
        """Count one claim, with the note beside it."""
        self.made += 1
        self.wrong += wrong
        is_marked = bool(mark_of(note))
        self.noted += is_marked
        self.unnoted_wrong += wrong and not is_marked
        if note is not None:
            self.notes[note] += 1

    def update(self, other: Claims) -> None:
        """Add the claims of other trials."""
        for name in ("made", "wrong", "noted", "unnoted_wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes.update(other.notes)

    def to_dict(self) -> dict[str, Any]:
        """The shares of all claims, and the most frequent notes."""
        shares = {name: getattr(self, name) / max(self.made, 1) for name in ("wrong", "noted", "unnoted_wrong")}
        notes = {note: round(count / self.made, 3) for note, count in self.notes.most_common(2)}
        return {"trials": self.made, **{name: round(share, 4) for name, share in shares.items()}, "notes": notes}


class Tally(dict[str, Claims]):
    """The claims of a cell by their kinds."""

    def __missing__(self, claim: str) -> Claims:
        self[claim] = Claims()
        return self[claim]

    def interval(self, truth: float, low: float, high: float, note: str | None) -> None:
        """Count an interval and its bounds; one that is undefined claims nothing, which counts as a note."""
        if math.isnan(low):
            note = note or "no interval"
        rounding = 1e-9 * max(1.0, abs(truth))
        below, above = truth < low - rounding, truth > high + rounding
        self["interval"].add(below or above, note)
        self["bound below"].add(below, note)
        self["bound above"].add(above, note)


# Data with a known truth: scores, paired scores, rows in clusters, answers to questions, ratings.


Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def _failures(rng: np.random.Generator, shape: tuple[int, int], share: float = 0.03) -> Floats:
    """Scores near 0.9, of which a few are 0."""
    values: Floats = np.where(rng.random(shape) < share, 0.0, rng.beta(18, 2, shape))
    return values


def _fives(rng: np.random.Generator, shape: tuple[int, int], fives: float = 0.8) -> Floats:
    """Ratings from 1 to 5, most of them 5, as scores from 0 to 1."""
    values: Floats = np.where(rng.random(shape) < fives, 4, rng.integers(0, 4, shape)) / 4
    return values


def _latency(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Milliseconds, of which some are those of a time-out."""
    values: Floats = np.where(rng.random(shape) < 0.02, 30_000.0, rng.lognormal(math.log(800), 0.5, shape))
    return values


@dataclass(frozen=True)
class Scores:
    """One kind of scores: how they are drawn, their mean, and whether the metric declares the bounds 0 and 1."""

    draw: Draw
    mean: float
    bounded: bool = True


def _flags(share: float) -> Scores:
    return Scores(lambda rng, shape: (rng.random(shape) < share).astype(float), share)


SCORES = {
    "0 or 1, half of 1": _flags(0.5),
    "0 or 1, 90 % of 1": _flags(0.9),
    "0 or 1, 2 % of 1": _flags(0.02),
    "1 to 5, 80 % of 5": Scores(_fives, 0.875),
    "uniform": Scores(lambda rng, shape: rng.random(shape), 0.5),
    "skewed, Beta(0.5, 3)": Scores(lambda rng, shape: rng.beta(0.5, 3, shape), 0.5 / 3.5),
    "90 % of 0": Scores(lambda rng, shape: np.where(rng.random(shape) < 0.1, rng.beta(2, 2, shape), 0.0), 0.05),
    "3 % fail with 0": Scores(_failures, 0.97 * 0.9),
    "normal": Scores(lambda rng, shape: rng.normal(0.5, 0.2, shape), 0.5, False),
    "exponential": Scores(lambda rng, shape: rng.exponential(1, shape), 1.0, False),
    "lognormal": Scores(lambda rng, shape: rng.lognormal(0, 1, shape), math.exp(0.5), False),
}
OPEN_ENDED = {
    "latency, 2 % time-outs": Scores(_latency, 0.02 * 30_000 + 0.98 * 800 * math.exp(0.125), False),
    "Pareto, 2.5": Scores(lambda rng, shape: 1 + rng.pareto(2.5, shape), 5 / 3, False),
    "lognormal, sd 1.5": Scores(lambda rng, shape: rng.lognormal(0, 1.5, shape), math.exp(1.125), False),
    "counts": Scores(lambda rng, shape: rng.poisson(rng.lognormal(0, 1.2, shape)).astype(float), math.exp(0.72), False),
}
SCORES |= OPEN_ENDED

Pair = tuple[Floats, Floats]
DrawPair = Callable[[np.random.Generator, tuple[int, int], float], Pair]


def _paired_flags(differ: float) -> DrawPair:
    """Scores of 0 and 1 that differ in a share of the rows; the second system is worse by ``loss``."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
        change = rng.choice([-1.0, 0.0, 1.0], shape, p=[(differ + loss) / 2, 1 - differ, (differ - loss) / 2])
        first = np.where(change == 0, rng.random(shape) < 0.7, change < 0).astype(float)
        return first, first + change

    return draw


def _shifted(noise: Draw) -> DrawPair:
    """Scores of one system, and those of the other with noise of mean 0, less the loss."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
        first = rng.normal(10, 1, shape)
        return first, first + noise(rng, shape) - loss

    return draw


def _paired_failures(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
    """Scores near 0.9 that a few rows of each system fail, those of the second more often by the loss."""
    good = rng.beta(18, 2, shape)
    first = np.where(rng.random(shape) < 0.03, 0.0, good)
    return first, np.where(rng.random(shape) < 0.03 + loss / 0.9, 0.0, np.clip(good + rng.normal(0, 0.02, shape), 0, 1))


def _paired_fives(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
    """Ratings of which 70 % are those of the other system, and the rest lose 1 of 5 by chance."""
    first, again = _fives(rng, shape), _fives(rng, shape, 0.8 - loss / 0.625 / 0.3)
    return first, np.where(rng.random(shape) < 0.7, first, again)


def _near(deviation: float, differ: float = 1.0) -> DrawPair:
    """Scores between 0 and 1, and those of the other system nearby in the share of the rows that ``differ``."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
        first = rng.uniform(0.35, 0.65, shape)
        noise = np.where(rng.random(shape) < differ, rng.normal(0, deviation, shape), 0.0)
        return first, np.clip(first + noise - loss, 0, 1)

    return draw


@dataclass(frozen=True)
class Paired:
    """One kind of paired scores, and the loss at which the rules of a gate are checked."""

    draw: DrawPair
    loss: float
    bounded: bool = True


PAIRED = {
    "0 or 1, 30 % differ": Paired(_paired_flags(0.3), 0.05),
    "0 or 1, 4 % differ": Paired(_paired_flags(0.04), 0.03),
    "1 to 5, 80 % of 5": Paired(_paired_fives, 0.05),
    "3 % fail with 0": Paired(_paired_failures, 0.03),
    "half equal": Paired(
        _shifted(lambda rng, shape: np.where(rng.random(shape) < 0.5, 0.0, rng.normal(0, 0.3, shape))), 0.1, False
    ),
    "2 % differ": Paired(
        _shifted(lambda rng, shape: np.where(rng.random(shape) < 0.98, 0.0, rng.normal(0, 1, shape))), 0.1, False
    ),
    "normal": Paired(_shifted(lambda rng, shape: rng.normal(0, 1, shape)), 0.5, False),
    "exponential": Paired(_shifted(lambda rng, shape: rng.exponential(1, shape) - 1), 0.5, False),
    "lognormal": Paired(_shifted(lambda rng, shape: rng.lognormal(0, 1, shape) - math.exp(0.5)), 0.5, False),
}
GOOD = {
    "sd 0.1": Paired(_near(0.1), 0.0),
    "sd 0.05": Paired(_near(0.05), 0.0),
    "80 % equal": Paired(_near(0.1, 0.2), 0.0),
}
PAIRED |= GOOD


def _lost(values: Draw, share: float) -> DrawPair:
    """Scores, and those of a system that is worse by this share of their mean."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
        first = values(rng, shape)
        return first, first * (1 - share + rng.uniform(-share, share, shape))

    return draw


def _lost_at_once(rng: np.random.Generator, shape: tuple[int, int], loss: float) -> Pair:
    """Scores of which 90 % are 0, and those of a system that loses a fifth of the others whole."""
    first = SCORES["90 % of 0"].draw(rng, shape)
    return first, np.where(rng.random(shape) < 0.2, 0.0, first)


SHARES = {
    "90 % of 0, 20 %": (_lost(SCORES["90 % of 0"].draw, 0.2), 0.2, True),
    "90 % of 0, a fifth of the others lost": (_lost_at_once, 0.2, True),
    "lognormal, 10 %": (_lost(SCORES["lognormal"].draw, 0.1), 0.1, False),
}
"""Pairs of systems of which the second is worse by a share of the first one's mean."""


@dataclass(frozen=True)
class Apart:
    """Scores of two systems on other rows: the ratio of their numbers of rows, the second system worse by ``loss``."""

    first: Draw
    second: Draw
    loss: float
    ratio: int = 1
    bounded: bool = True


def _share(share: float) -> Draw:
    return _flags(share).draw


def _normal(mean: float, deviation: float) -> Draw:
    return lambda rng, shape: rng.normal(mean, deviation, shape)


UNPAIRED = {
    "0 or 1, 70 % of 1": Apart(_share(0.7), _share(0.7), 0.0),
    "0 or 1, 98 % of 1": Apart(_share(0.98), _share(0.98), 0.0),
    "0 or 1, 98 % of 1, 5 times the rows": Apart(_share(0.98), _share(0.98), 0.0, 5),
    "0 or 1, 98 % of 1, 25 times the rows": Apart(_share(0.98), _share(0.98), 0.0, 25),
    "0 or 1, 98 % and 95 % of 1": Apart(_share(0.98), _share(0.95), 0.03),
    "0 or 1, 98 % and 95 % of 1, 5 times the rows": Apart(_share(0.98), _share(0.95), 0.03, 5),
    "1 to 5, 80 % of 5, 5 times the rows": Apart(_fives, _fives, 0.0, 5),
    "uniform": Apart(SCORES["uniform"].draw, SCORES["uniform"].draw, 0.0),
    "normal, sd 1 and 3": Apart(_normal(0, 1), _normal(0, 3), 0.0, 1, False),
    "normal, sd 3 and 1, 5 times the rows": Apart(_normal(0, 3), _normal(0, 1), 0.0, 5, False),
    "normal, sd 1 and 3, worse": Apart(_normal(0.5, 1), _normal(0, 3), 0.5, 1, False),
    "exponential": Apart(SCORES["exponential"].draw, SCORES["exponential"].draw, 0.0, 1, False),
    "exponential, 5 times the rows": Apart(SCORES["exponential"].draw, SCORES["exponential"].draw, 0.0, 5, False),
}


def _in_groups(kind: str, rng: np.random.Generator, trials: int, groups: Ints) -> Floats:
    """Correlated rows of groups (clusters, or questions with several answers), of mean 0 or ``GROUPED[kind]``."""
    k, shape = int(groups.max()) + 1, (trials, len(groups))
    if kind == "normal":
        return rng.normal(0.5, 0.2, (trials, k))[:, groups] + rng.normal(0, 0.2, shape)
    if kind == "lognormal":
        return rng.lognormal(0, 0.8, (trials, k))[:, groups] * rng.lognormal(0, 0.8, shape)
    if kind == "exponential":
        return 0.5 * rng.exponential(1, (trials, k))[:, groups] + 0.5 * rng.exponential(1, shape)
    first, second = (1.4, 0.6) if kind == "0 or 1, 70 % of 1" else (1.9, 0.1)
    return (rng.random(shape) < rng.beta(first, second, (trials, k))[:, groups]).astype(float)


GROUPED = {"normal": 0.5, "exponential": 1.0, "0 or 1, 70 % of 1": 0.7, "0 or 1, 95 % of 1": 0.95}
SESSIONS = {"lognormal": math.exp(0.64)}
GROUPED_ALL = GROUPED | SESSIONS
SIZES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "8 rows": lambda rng, k: np.full(k, 8),
    "1 to 9 rows": lambda rng, k: rng.integers(1, 10, k),
    "3 rows": lambda rng, k: np.full(k, 3),
}


def _joint(first: Sequence[float], second: Sequence[float], agree: float) -> Floats:
    """The joint shares of two ratings with these shares: a copy with probability ``agree``, else independent."""
    table: Floats = agree * np.diag(first) + (1 - agree) * np.outer(first, second)
    return table


RATINGS = {
    "0 or 1, independent": _joint([0.5, 0.5], [0.5, 0.5], 0.0),
    "0 or 1, independent, 10 % of 0": _joint([0.1, 0.9], [0.1, 0.9], 0.0),
    "0 or 1, κ = 0.6": _joint([0.4, 0.6], [0.4, 0.6], 0.6),
    "0 or 1, κ = 0.6, 5 % of 1": _joint([0.95, 0.05], [0.95, 0.05], 0.6),
    "1 to 5, independent, 80 % of 5": _joint([0.05, 0.05, 0.05, 0.05, 0.8], [0.05, 0.05, 0.05, 0.05, 0.8], 0.0),
    "1 to 5, κ = 0.5": _joint([0.1, 0.2, 0.3, 0.3, 0.1], [0.1, 0.2, 0.3, 0.3, 0.1], 0.5),
}
SEPARATED = {"AUC 0.5, half positive": (0.5, 0.5), "AUC 0.8, half positive": (0.8, 0.5)} | {
    f"AUC {area}, {share:.0%} positive".replace("%", " %"): (area, share)
    for area in (0.5, 0.8, 0.95)
    for share in (0.05, 0.2)
}


CORRELATED = {"normal, ρ = 0.5": (0.5, 0.0), "normal, ρ = 0.99": (0.99, 0.0), "5 % far from the others": (0.9, 0.05)}


def agreement_of(table: Floats) -> dict[str, float]:
    """The figures of agreement of two ratings with these joint shares."""
    first, second = table.sum(axis=1), table.sum(axis=0)
    grades = np.arange(len(table), dtype=float)
    pooled = (first + second) / 2
    chance = float((first * second).sum())
    mid = [np.cumsum(shares) - shares / 2 for shares in (first, second)]
    ties = [1 - float((shares**2).sum()) for shares in (first, second)]
    upper = [
        [table[i + 1 :, j + 1 :].sum() - table[i + 1 :, :j].sum() for j in range(len(table))] for i in range(len(table))
    ]
    return {
        "kappa": (float(np.trace(table)) - chance) / (1 - chance),
        "alpha": 1 - (1 - float(np.trace(table))) / (1 - float((pooled**2).sum())),
        "pearson": _correlation(table, grades, grades),
        "spearman": _correlation(table, mid[0], mid[1]),
        "kendall": 2 * float((table * np.array(upper)).sum()) / math.sqrt(ties[0] * ties[1]),
    }


def _correlation(table: Floats, first: Floats, second: Floats) -> float:
    a, b = first - table.sum(axis=1) @ first, second - table.sum(axis=0) @ second
    return float(a @ table @ b / math.sqrt(table.sum(axis=1) @ a**2 * (table.sum(axis=0) @ b**2)))


# The claims of each quantity.


def _table(values: Floats, bounded: bool, columns: dict[str, Any]) -> dict[str, Any]:
    """A table with a metric for each trial; ``token_f1`` declares bounds, ``m`` none."""
    name = "token_f1@" if bounded else "m"
    return {**columns, **{f"{name}{trial + 1}": row for trial, row in enumerate(values)}}


def _better(table: dict[str, Any]) -> dict[str, str]:
    return {name: "higher" for name in table if name.startswith("m")}


def _metrics(table: dict[str, Any]) -> list[str]:
    return [name for name in table if name.startswith(("m", "token"))]


def _rules(tally: Tally, table: dict[str, Any], rules: dict[str, str], **options: Any) -> None:
    """Count the rules that are met by scores at their limit; a ``{}`` stands for the metric.

    Below ``LEAST_ROWS`` no such rule is met.
    """
    if len(set(table["id"])) < LEAST_ROWS:
        return
    for claim, rule in rules.items():
        texts = [rule.format(name) for name in _metrics(table)]
        for check in fm.gate(table, texts, better=_better(table), threads=1, **options).checks:
            note = check.why if check.why is not None else check.interval_note
            tally[claim].add(check.met, note)


def means(tally: Tally, values: Floats, truth: float, bounded: bool, columns: dict[str, Any], **options: Any) -> None:
    """The intervals of means, and rules on their bounds."""
    table = _table(values, bounded, columns)
    for one in fm.results.summarize_by(table, metrics=_metrics(table), threads=1, **options):
        tally.interval(truth, one.low, one.high, one.interval_note)
    limits = {"low >= mean": f"{{}}.low >= {truth + 1e-9}", "high <= mean": f"{{}}.high <= {truth - 1e-9}"}
    _rules(tally, table, limits, **options)


def changes(
    tally: Tally, pair: Pair, loss: float, bounded: bool, columns: Sequence[dict[str, Any]], **options: Any
) -> None:
    """The intervals of differences, and the tests or the verdicts and rules at their limit."""
    tables = [_table(values, bounded, beside) for values, beside in zip(pair, columns, strict=True)]
    how: dict[str, Any] = {"correction": "none", "resamples": RESAMPLES, "threads": 1, "margin": loss or None}
    better = _better(tables[0])
    compared = fm.compare(tables, metrics=_metrics(tables[0]), better=better, **how, **options)
    for one in compared.comparisons:
        tally.interval(-loss, one.low, one.high, one.interval_note)
        if not loss:
            tally["test"].add(one.p <= 1 - LEVEL, one.p_note)
        else:
            for claim, p in (("equivalent", one.p_equivalent), ("not worse", one.p_not_worse)):
                tally[claim].add(p is not None and p <= 1 - LEVEL, one.interval_note)
    if loss and options.get("pairing") != "none":
        _rules(tally, tables[1], {"drop": f"{{}}.drop <= {loss - 1e-9}"}, baseline=tables[0], **options)


def agreements(tally: Tally, first: Floats, second: Floats, truths: dict[str, float], **options: Any) -> None:
    """The intervals of the figures of agreement between metrics (rows of ``first``) and a label."""
    found = fm.validate({f"m{at}": row for at, row in enumerate(first)}, second, **options)
    for one in found.metrics.values():
        intervals = {name: getattr(one, name) for name in ("pearson", "spearman", "kendall", "auc")}
        if one.agreement is not None:
            intervals |= {"kappa": one.agreement.pairs[0].kappa, "alpha": one.agreement.alpha_nominal}
        for name, truth in truths.items():
            if (interval := intervals.get(name)) is not None:
                tally[f"{name}: interval"].add(
                    truth < interval.low - 1e-9 or truth > interval.high + 1e-9,
                    (interval.note or "no interval") if math.isnan(interval.low) else interval.note,
                )


# The cells.


@dataclass(frozen=True)
class Cell:
    """One quantity of one kind of data with n rows, clusters or questions."""

    quantity: str
    data: str
    n: int
    trial: Callable[[Tally, np.random.Generator, int], None]
    """Adds the claims of so many trials."""

    @property
    def name(self) -> str:
        """The quantity, the data and the number."""
        return f"{self.quantity}: {self.data}, {self.n}"


def _ids(n: int, each: int = 1) -> dict[str, Any]:
    return {"id": np.repeat(np.arange(n), each), **({"repeat": np.tile(np.arange(each), n)} if each > 1 else {})}


def _of_means(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    scores = SCORES[kind]
    means(tally, scores.draw(rng, (trials, n)), scores.mean, scores.bounded, _ids(n))


def _of_pairs(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    paired = PAIRED[kind]
    for loss in dict.fromkeys((0.0, paired.loss)):
        changes(tally, paired.draw(rng, (trials, n), loss), loss, paired.bounded, [_ids(n)] * 2)


def _of_unpaired(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    apart, more = UNPAIRED[kind], UNPAIRED[kind].ratio * n
    pair = apart.first(rng, (trials, more)), apart.second(rng, (trials, n))
    changes(tally, pair, apart.loss, apart.bounded, [_ids(more), _ids(n)], pairing="none")


def _of_clusters(data: str, n: int, tally: Tally, rng: np.random.Generator, trials: int, what: str) -> None:
    kind, sizes = data.rsplit(", ", 1)
    groups = np.repeat(np.arange(n), SIZES[sizes](rng, n))
    beside = {**_ids(len(groups)), "session": groups}
    bounded = kind.startswith("0")
    values = [_in_groups(kind, rng, trials, groups) for _ in range(2)]
    if what == "means":
        means(tally, values[0], GROUPED_ALL[kind], bounded, beside, cluster="session")
    else:
        changes(tally, (values[0], values[1]), 0.0, bounded, [beside, beside], cluster="session")


def _of_repeats(data: str, n: int, tally: Tally, rng: np.random.Generator, trials: int, what: str) -> None:
    kind, many = data.rsplit(", ", 1)
    each = int(many.split()[0])
    groups, beside, bounded = np.repeat(np.arange(n), each), _ids(n, each), kind.startswith("0")
    values = [_in_groups(kind, rng, trials, groups) for _ in range(2)]
    if what == "means":
        means(tally, values[0], GROUPED[kind], bounded, beside)
    else:
        options = {"pairing": "none"} if what == "unpaired differences" else {}
        changes(tally, (values[0], values[1]), 0.0, bounded, [beside, beside], **options)


_LABELLED_AT_ONCE = 10


def _of_ratings(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    table = RATINGS[kind]
    for _ in range(max(1, trials // _LABELLED_AT_ONCE)):
        second = rng.choice(len(table), n, p=table.sum(axis=0))
        given = (table / table.sum(axis=0)).cumsum(axis=0)[:, second]
        first = (rng.random((_LABELLED_AT_ONCE, 1, n)) > given).sum(axis=1).astype(float)
        agreements(tally, first, second.astype(float), agreement_of(table))


def _of_separation(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    area, share = SEPARATED[kind]
    good = np.arange(n) < max(1, round(share * n))
    apart = math.sqrt(2) * NormalDist().inv_cdf(area)
    first = rng.normal(0, 1, (trials, n)) + apart * good
    agreements(tally, first, good.astype(float), {"auc": area})


def _of_correlations(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    rho, far = CORRELATED[kind]
    truths = {"pearson": (1 - far) * rho / (1 + 35 * far)}
    if not far:
        truths |= {"spearman": 6 / math.pi * math.asin(rho / 2), "kendall": 2 / math.pi * math.asin(rho)}
    for _ in range(trials):
        second, other = rng.normal(0, 1, (2, n))
        away = rng.random(n) < far
        first = np.where(away, 6 * rng.normal(0, 1, n), rho * second + math.sqrt(1 - rho * rho) * other)
        agreements(tally, first[None], np.where(away, 6 * rng.normal(0, 1, n), second), truths)


def _of_promises(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    """Twenty scores that say nothing, of labels of which fewer are positive than any cut may promise."""
    for _ in range(trials):
        good = (rng.random(n) < 0.77).astype(float)
        scores = {f"m{at}": row for at, row in enumerate(rng.random((20, n)))}
        found = fm.validate(scores, good, promises=fm.stats.CutPromises(precision=0.8))
        tally["interval"].add(any(one.thresholds["precision"].cut is not None for one in found.metrics.values()), None)


def _of_powered(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    scores = SCORES[kind]
    for labels in scores.draw(rng, (trials, 1000)):
        judged = labels + rng.normal(0, 0.3, 1000)
        labels[n:] = np.nan
        found = powered_mean(judged, labels).powered
        tally.interval(scores.mean, found.low, found.high, found.note)


def _of_plans(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    paired = PAIRED[kind]
    many = paired.draw(np.random.default_rng(9), (100, 10_000), 0.0)
    delta = 0.2 * float(np.std(many[1] - many[0]))
    enough = fm.power(between=float(np.var(many[1] - many[0])), delta=delta)[0].n
    tables = [_table(values, paired.bounded, _ids(n)) for values in paired.draw(rng, (trials, n), 0.0)]
    for plan in fm.power(tables, metrics=_metrics(tables[0]), delta=delta).plans:
        high = math.inf if plan.high is None else plan.high  # which claims nothing
        tally["plan"].add(not (plan.low or 0) <= enough <= high, plan.note)


def _of_shares(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    draw, share, bounded = SHARES[kind]
    tables = [_table(values, bounded, _ids(n)) for values in draw(rng, (trials, n), 0.0)]
    _rules(tally, tables[1], {"drop in %": f"{{}}.drop <= {100 * share - 1e-9}%"}, baseline=tables[0])


def _of_letters(kind: str, n: int, tally: Tally, rng: np.random.Generator, trials: int) -> None:
    question = rng.normal(0.5, 0.2, (trials, n))
    own = [question + rng.normal(0, 0.1, (trials, n)) for _ in range(5)]
    if kind == "four near copies and another":
        own = [own[0] + rng.normal(0, 0.005, (trials, n)) for _ in range(4)] + own[1:2]
    tables = [_table(values, False, _ids(n)) for values in own]
    found = fm.compare(tables, metrics=_metrics(tables[0]), correction="none", resamples=RESAMPLES, threads=1)
    for ranking in found.rankings:
        tally["letters"].add(not set.intersection(*map(set, ranking.letters)), None)


def cells() -> Iterator[Cell]:
    """All cells."""
    plain: list[tuple[str, Sequence[str], Sequence[int], Any]] = [
        ("means", list(SCORES), ROWS, _of_means),
        ("means", list(OPEN_ENDED), (100, 300), _of_means),
        ("paired differences", list(PAIRED), ROWS, _of_pairs),
        ("paired differences", list(GOOD), (50, 100, 300), _of_pairs),
        ("paired differences", list(SHARES), (100, 400), _of_shares),
        ("unpaired differences", list(UNPAIRED), ROWS, _of_unpaired),
        ("agreement", list(RATINGS), ROWS[2:], _of_ratings),
        ("agreement", list(SEPARATED), ROWS[2:], _of_separation),
        ("agreement", list(CORRELATED)[:2], ROWS[1:5], _of_correlations),
        ("agreement", list(CORRELATED)[2:], ROWS[3:5], _of_correlations),
        ("promises", ["twenty scores"], ROWS[2:4], _of_promises),
        (
            "prediction-powered means",
            ["0 or 1, half of 1", "0 or 1, 90 % of 1", "3 % fail with 0"],
            ROWS[1:5],
            _of_powered,
        ),
        ("power", [kind for kind in PAIRED if kind not in GOOD], ROWS[:5], _of_plans),
        ("letters", ["five equal systems", "four near copies and another"], ROWS[1:5], _of_letters),
    ]
    for quantity, kinds, numbers, trial in plain:
        yield from (Cell(quantity, kind, n, partial(trial, kind, n)) for kind in kinds for n in numbers)
    for data in ("lognormal, 1 to 9 rows", "normal, 1 to 9 rows", "0 or 1, 70 % of 1, 3 rows"):
        for n in (100, 300, 1000):
            yield Cell("means of clusters", data, n, partial(_of_clusters, data, n, what="means"))
    for what in ("means", "paired differences"):
        for data in (f"{kind}, {sizes}" for kind in GROUPED for sizes in list(SIZES)[:2]):
            yield from (
                Cell(f"{what} of clusters", data, n, partial(_of_clusters, data, n, what=what)) for n in CLUSTERS
            )
    for what in ("means", "paired differences", "unpaired differences"):
        for data in (f"{kind}, {each} answers" for kind in list(GROUPED)[::2] for each in (3, 10)):
            yield from (Cell(f"{what} of repeats", data, n, partial(_of_repeats, data, n, what=what)) for n in ROWS[:5])


def simulated(place: int, trials: int, first: int = 0) -> Tally:
    """The claims of one cell in so many trials; those that begin at another number are other ones."""
    cell, tally = list(cells())[place], Tally()
    cell.trial(tally, np.random.default_rng([40, zlib.crc32(cell.name.encode()), first]), trials)
    return tally


def entries_of(cell: Cell, tally: Tally) -> list[dict[str, Any]]:
    """The entries of a cell in the results, one for each kind of claim."""
    entries = []
    for key, claims in tally.items():
        figure, _, claim = key.rpartition(": ")
        what = f"{cell.quantity}, {figure}" if figure else cell.quantity
        entries.append({"quantity": what, "data": cell.data, "n": cell.n, "claim": claim, **claims.to_dict()})
    return entries


def run(trials: int, processes: int, only: str = "") -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The trials so far and the entries of all cells, or of those whose names contain ``only``, after every few."""
    every = list(cells())
    places = sorted((place for place, cell in enumerate(every) if only in cell.name), key=lambda at: -every[at].n)
    tallies = {place: Tally() for place in sorted(places)}
    with ProcessPoolExecutor(processes) as pool:
        for first in range(0, trials, AT_ONCE):
            count = min(AT_ONCE, trials - first)
            for place, found in zip(
                places, pool.map(partial(simulated, trials=count, first=first), places), strict=True
            ):
                for key, claims in found.items():
                    tallies[place][key].update(claims)
            print(f"{first + count} of {trials} trials", file=sys.stderr)
            yield (
                first + count,
                [entry for place, tally in tallies.items() for entry in entries_of(every[place], tally)],
            )


# What is outside, and the tables of the page.


NOTED = 0.5
"""The share of trials with a note above which a cell counts as noted."""
ERRORS = 2.0
"""What is outside by no more than so many standard errors of the simulation may be inside."""


def _at_most(claim: str, trials: int) -> float:
    return MOST[claim] + ERRORS * math.sqrt(MOST[claim] * (1 - MOST[claim]) / trials)


def _said(entry: dict[str, Any]) -> float:
    """The share of trials with a note; one that an interval is safe but wide has no sign."""
    return max(entry["noted"], min(1.0, sum(entry.get("notes", {}).values())))


def why_outside(entry: dict[str, Any]) -> str | None:
    """Why a claim is outside its limits without a note; None if it is not."""
    claim, trials = entry["claim"], entry["trials"]
    if entry["unnoted_wrong"] > _at_most(claim, trials):
        return f"wrong without a note in {entry['unnoted_wrong']:.3f}, at most {MOST[claim]:.3f}"
    if claim == "interval" and _said(entry) < 0.5 and entry["wrong"] < FEWEST - ERRORS * math.sqrt(FEWEST / trials):
        return f"too wide: wrong in {entry['wrong']:.3f}, notes in {entry['noted']:.2f}"
    return None


def audit(entries: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each claim outside its limits without a note."""
    lines = []
    for entry in entries:
        if (why := why_outside(entry)) is not None:
            notes = "; ".join(f"{share:.2f} {note}" for note, share in entry["notes"].items())
            place = f"{entry['quantity']}: {entry['data']}, n = {entry['n']}, {entry['claim']}"
            lines.append(f"{place}: {why}; all {entry['wrong']:.3f}" + (f" ({notes})" if notes else ""))
    return lines


BEGIN, END = "<!-- levels, written by scripts/simulate -->", "<!-- end of levels -->"
TABLES = {
    "a 95 % interval misses the truth": ("interval",),
    "p at most 0.05 without a difference": ("test",),
    "different letters for equal systems": ("letters",),
    "a rule passes at its limit (0.025)": ("low >= mean", "high <= mean", "drop", "drop in %"),
    "`equivalent`, `not worse` at the margin (0.05)": ("equivalent", "not worse"),
    "a plan misses the questions that are enough": ("plan",),
}
"""The claims of each line of the page."""


SHOWN = (20, 60, 200, 1_000)
"""The numbers of rows whose intervals the page shows."""


def section(results: dict[str, Any]) -> str:
    """The tables of the page: how many cells of each claim are inside its limits, and the intervals that are not."""
    every = {(one["quantity"], one["data"], one["n"], one["claim"]): one for one in results["entries"]}
    head = ["| claim | cells | inside | outside, noted | not noted | worst at 300 or more |", "| --- |" + " ---: |" * 5]
    for title, claims in TABLES.items():
        chosen = [one for claim in claims for one in every.values() if one["claim"] == claim]
        outside = [one for one in chosen if _is_outside(one)]
        noted = sum(_said(one) >= NOTED for one in outside)
        worst = max((one["wrong"] for one in chosen if one["n"] >= 300), default=math.nan)
        cells = [len(chosen), len(chosen) - len(outside), noted, len(outside) - noted]
        head.append(f"| {title} | {' | '.join(f'{n:,}' for n in cells)} | {worst:.3f} |".replace("nan", "–"))
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    for one in every.values():
        if one["claim"] == "interval":
            lines.setdefault(f"{one['quantity']}: {one['data']}", {})[one["n"]] = one
    table = ["| intervals of | " + " | ".join(f"{n:,}" for n in SHOWN) + " |", "| --- |" + " ---: |" * len(SHOWN)]
    for name, line in lines.items():
        found = [line.get(n) for n in SHOWN]
        if any(one is not None and _is_outside(one) and one["wrong"] > MOST["interval"] for one in found):
            table.append(f"| {name} | {' | '.join('' if one is None else _shown(one) for one in found)} |")
    counts = sorted({one["trials"] for one in every.values()})
    trials = f"{' to '.join(f'{n:,}' for n in dict.fromkeys((counts[0], counts[-1])))} trials for each cell."
    return "\n\n".join([BEGIN, "\n".join(head), "\n".join(table), trials, END])


def _is_outside(entry: dict[str, Any]) -> bool:
    """Whether a claim errs too often, or an interval too seldom, by more than the errors of the simulation."""
    wrong, trials = entry["wrong"], entry["trials"]
    few = entry["claim"] == "interval" and wrong < FEWEST - ERRORS * math.sqrt(FEWEST / trials)
    return few or wrong > _at_most(entry["claim"], trials)


def _shown(entry: dict[str, Any]) -> str:
    """How often an interval holds, and where that is outside its limits the share of trials with a note."""
    text = f"{1 - entry['wrong']:.2f}"
    return f"{text} ({_said(entry) * 100:.0f} %)" if _is_outside(entry) else text


def store(trials: int, entries: Sequence[dict[str, Any]]) -> None:
    """Write the results, a claim in each line."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    RESULTS.write_text(f'{{"trials": {trials}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")


def write_page() -> None:
    """Write the tables into the page, from the stored results."""
    text, results = PAGE.read_text(encoding="utf-8"), json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(text.partition(BEGIN)[0] + section(results) + text.partition(END)[2], encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/simulate", description="How often intervals, tests and rules err.")
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials for each cell")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="cells whose names contain this text; nothing is stored")
    parser.add_argument("--audit", action="store_true", help="list what is outside, from the stored results")
    parser.add_argument("--page", action="store_true", help="write the page from the stored results")
    options = parser.parse_args()
    if options.only:
        *_, (_, entries) = run(options.trials, options.processes, options.only)
        print("\n".join(audit(entries)))
    elif options.audit:
        print("\n".join(audit(json.loads(RESULTS.read_text(encoding="utf-8"))["entries"])))
    else:
        if not options.page:
            for trials, entries in run(options.trials, options.processes):
                store(trials, entries)
        write_page()


if __name__ == "__main__":
    main()
