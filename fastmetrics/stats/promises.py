"""Cuts of a score that keep a promise: precision, recall or risk, shown on labels with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.display import cell, number
from fastmetrics.base.notes import Note
from fastmetrics.base.options import Optional, Real, argument
from fastmetrics.base.shared_parameters import Help


@dataclass(frozen=True)
class Threshold:
    """A cut of a score with a promise: on the rows tested, the figure reaches ``target`` with ``confidence``."""

    target: float
    confidence: float
    cut: float | None
    """None where the labels do not suffice."""
    rows: int
    """The rows that the figure is a share of, at the cut; without a cut, at the first one that was tested."""
    hits: int
    needed_low: int | None = None
    """Without a cut: about how many rows would suffice if the share of hits is as high as the labels allow; None if no
    number does."""
    needed_high: int | None = None
    """The same for a share as low as they allow."""
    observed: float | None = None
    """The cut at which the figure of the rows tested reaches ``target``, without confidence: the lowest, of recall the
    highest; None if it does at none."""


# The promises of cuts that users ask for, as one object.


_Share = Optional(Real(0.0, 1.0, above=True, below=True))


@dataclass(frozen=True, kw_only=True)
class CutPromises:
    """The promises for which :func:`fit` and :func:`validate` find cuts of a score, tested on labelled rows.

    >>> CutPromises(precision=0.95)
    CutPromises(precision=0.95, recall=None, risk=None)

    Raises ``OptionError`` for a share that is not between 0 and 1.
    """

    precision: Annotated[float | None, Help("Find the lowest cut from which on this share of rows is positive.")] = None
    recall: Annotated[float | None, Help("Find the highest cut above which this share of the positive rows is.")] = None
    risk: Annotated[
        float | None, Help("Find the lowest cut with at most this share of rows above it and negative.")
    ] = None

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid share."""
        for setting in fields(self):
            argument(setting.name, getattr(self, setting.name), _Share)


Promises = Annotated[CutPromises | None, Help("The promises of cuts, a ``CutPromises``.")]


# Thresholds with a promise, tested on rows kept apart from the fit.
#
# For a cut that was fixed without these rows, the hits among them are binomial, and the bound of Clopper and Pearson
# 1934 holds for any number of rows.  Several cuts are tested in an order that was also fixed without them, each at
# the whole level, up to the first that fails (fixed-sequence testing, as in Learn then Test, Angelopoulos and others
# 2021): the chance that any cut is accepted wrongly is at most 1 − confidence.  The order is that of the expected
# power, by held- out scores of the fitted rows.


_STEPS = 40
_ENOUGH = 1_000_000
_ROUNDING = 1e-12
_START = 2.0
"""The first cut of a ready score has so many times the rows that hits alone would need."""


@dataclass(frozen=True)
class Promise:
    """A figure of a cut that is a share of rows: those from the cut on (precision), positive ones (recall), or all."""

    name: str
    target: float

    @property
    def best(self) -> Callable[..., Any]:
        """Which of the cuts that keep the promise is chosen: the lowest, or of recall the highest."""
        return max if self.name == "recall" else min

    def counts(self, cuts: Any, rows: tuple[Floats, Flags]) -> tuple[Ints, Ints]:
        """For each cut the number of rows that count, and of the hits among them."""
        scores, good = rows
        accepted, right = (len(some) - np.searchsorted(np.sort(some), cuts) for some in (scores, scores[good]))
        if self.name == "precision":
            return accepted, right
        if self.name == "recall":
            return np.full_like(right, good.sum()), right
        return np.full_like(right, len(good)), len(good) - accepted + right


def promises_of(targets: CutPromises) -> list[Promise]:
    """The promises that were asked for; a risk of 5 % is a share of 95 % of rows that are not accepted wrongly."""
    asked = {setting.name: getattr(targets, setting.name) for setting in fields(targets)}
    return [Promise(name, 1 - share if name == "risk" else share) for name, share in asked.items() if share is not None]


def level_of_each(confidence: float, count: int) -> float:
    """The confidence of each of ``count`` statements of which all are to hold with ``confidence`` (Holm's first step).

    >>> round(level_of_each(0.95, 5), 4)
    0.99
    """
    return 1 - (1 - confidence) / count


def lower_bound(hits: Any, n: Any, confidence: float) -> Any:
    """The one-sided lower bound of a share, or of each of several (Clopper and Pearson 1934).

    >>> round(lower_bound(59, 59, 0.95), 4), lower_bound(0, 10, 0.95)
    (0.9505, 0.0)
    """
    from scipy.special import betaincinv

    hits, n = np.asarray(hits), np.asarray(n)
    bounds = np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, 1 - confidence), 0.0)
    return bounds if bounds.ndim else float(bounds)


def threshold(
    promise: Promise,
    fitted: tuple[Floats, Flags],
    apart: tuple[Floats, Flags],
    confidence: float,
    independent: Ints | slice = slice(None),
) -> Threshold:
    """The cut of a promise: scores and labels of the fitted rows set the order, those of the rows apart decide.

    The ``independent`` ones of the fitted rows tell how many would suffice, where those apart do not.
    """
    cuts = np.unique(np.quantile(fitted[0], np.linspace(0, 1, _STEPS + 1)[:-1]))
    order = cuts[np.argsort(-_power(promise, cuts, fitted, len(apart[0]), confidence), kind="stable")]
    found = _tested(promise, order, apart, confidence)
    return _with_needed(found, promise, (fitted[0][independent], fitted[1][independent]), confidence)


def _with_needed(found: Threshold, promise: Promise, rows: tuple[Floats, Flags], confidence: float) -> Threshold:
    if found.cut is not None:
        return found
    low, high = _needed(promise, rows, confidence)
    return replace(found, needed_low=low, needed_high=high)


def _power(promise: Promise, cuts: Floats, fitted: tuple[Floats, Flags], n_apart: int, confidence: float) -> Floats:
    """The standardised distance of each cut's expected share of hits from the target, less what the level needs."""
    counted, hits = promise.counts(cuts, fitted)
    n, target = counted / len(fitted[0]) * n_apart, promise.target
    likely = (hits / np.maximum(counted, 1) - target) * np.sqrt(n / (target * (1 - target)))
    too_few = n < math.log(1 - confidence) / math.log(target)  # not even hits alone suffice
    return np.where(too_few, n - _ENOUGH, likely)


def _needed(promise: Promise, rows: tuple[Floats, Flags], confidence: float) -> tuple[int | None, int | None]:
    """About how many rows would suffice, at the ends of the intervals of each cut's shares in ``rows``.

    The fewest of all cuts at the high end; at the low end, those of the cut that needs fewest at its own share.
    """
    ends: list[tuple[float, ...]] = []
    for n, hits in zip(*promise.counts(_cuts(rows[0]), rows), strict=True):
        if n:
            shares = zip(_shares(n, len(rows[0]), confidence), _shares(hits, n, confidence), strict=True)
            ends.append(tuple(_rows(promise, *pair, confidence) for pair in shares))
    low, high = min((end[2] for end in ends), default=math.inf), min(ends)[1] if ends else math.inf
    return None if math.isinf(low) else int(low), None if math.isinf(high) else int(high)


def _cuts(scores: Floats) -> Floats:
    """Some of the scores, in equal steps of their order."""
    return np.unique(np.quantile(scores, np.linspace(0, 1, _STEPS + 1)[:-1], method="nearest"))


def _shares(hits: int, n: int, confidence: float) -> tuple[float, float, float]:
    """A share, and the low and the high end of its interval."""
    level = (1 + confidence) / 2
    return hits / n, lower_bound(hits, n, level), 1 - lower_bound(n - hits, n, level)


_NUMBERS = np.outer(10 ** np.arange(5), np.arange(10, 100)).ravel()
"""The numbers of labels that are tried: of two digits and zeros."""


def _rows(promise: Promise, counted: float, share: float, confidence: float) -> float:
    """The fewest rows, of which these shares count and are hits, that show the promise; infinite if none do."""
    from scipy.special import betainc

    n = np.round(_NUMBERS * counted)
    hits = np.floor(n * share + 1e-9)
    holds = (hits > 0) & (betainc(np.maximum(hits, 1), n - hits + 1, promise.target) <= 1 - confidence)
    return float(_NUMBERS[holds.argmax()]) if holds.any() else math.inf


def ready_threshold(promise: Promise, scores: Floats, good: Flags, confidence: float) -> Threshold:
    """The cut of a promise for a score that was not made from these labels, tested on all of them.

    The cuts are tested from the strictest one on that may hold: in an order that the scores alone set.
    """
    cuts, rows = _cuts(scores), (scores, good)
    order = cuts if promise.name == "recall" else cuts[::-1]
    least = _START * math.log(1 - confidence) / math.log(promise.target)
    if promise.name == "precision":
        enough = order[promise.counts(order, rows)[0] >= least]
        order = enough if len(enough) else order[-1:]
    return _with_needed(_tested(promise, order, rows, confidence), promise, rows, confidence)


def _tested(promise: Promise, order: Floats, rows: tuple[Floats, Flags], confidence: float) -> Threshold:
    """The best of the cuts before the first that does not hold; without one, the counts at the first cut."""
    n, hits = promise.counts(order, rows)
    fails = lower_bound(hits, n, confidence) < promise.target
    tried = list(zip(order.tolist(), n.tolist(), hits.tolist(), strict=True))
    held = tried[: int(fails.argmax()) if fails.any() else None]
    every = np.unique(rows[0])
    n, hits = promise.counts(every, rows)
    reached = every[(n > 0) & (hits >= promise.target * n - _ROUNDING * n)].tolist()
    target = promise.target if promise.name != "risk" else 1 - promise.target
    cut, rows_at, hits_at = promise.best(held) if held else (None, *tried[0][1:])
    return Threshold(target, confidence, cut, rows_at, hits_at, observed=promise.best(reached) if reached else None)


def one_of_each(groups: Ints, seed: int) -> Ints:
    """One row of each group, drawn at random: rows of a group are dependent, and the bound needs independent ones."""
    order = np.random.default_rng([seed, len(groups)]).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


# Cuts in tables and notes.


PROMISE_HEAD = ("promise", "cut", "rows", "hits", "observed cut")


def promise_cells(name: str, entry: Threshold) -> tuple[str, ...]:
    """A line of a table: the promise, the cut, the rows that tested it, the hits, and the cut without confidence."""
    cut = f"none: {_needs(entry)}" if entry.cut is None else number(entry.cut)
    return f"{name} {entry.target:g}", cut, number(entry.rows), number(entry.hits), cell(entry.observed)


def observed_note(thresholds: Mapping[str, Threshold]) -> list[str]:
    """What the cuts without confidence are, if there are cuts."""
    kinds = ", ".join(f"{name} {entry.target:g}" for name, entry in thresholds.items())
    return [Note("observed_cuts", kinds=kinds)] if kinds else []


def promise_note(name: str, entry: Threshold) -> str:
    """What the cut promises, or that the labels do not suffice."""
    what = Note(f"promise_{name}", target=entry.target)
    if entry.cut is not None:
        return Note("promised", name=name, what=what, confidence=entry.confidence)
    return Note("not_promised", name=name, what=what, needs=_needs(entry))


def _needs(entry: Threshold) -> str:
    """About how many rows a promise without a cut needs."""
    if entry.needed_low is None:
        return Note("needs_none")
    if entry.needed_high is None:
        return Note("needs_more", low=entry.needed_low)
    return Note("needs", low=entry.needed_low, high=entry.needed_high)
