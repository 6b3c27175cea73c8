"""Pairwise judgements: win rate, flips by order, and the strengths of many systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.columns import as_array, as_strings
from fastmetrics.base.display import FigureTable
from fastmetrics.base.errors import Argument, InputError
from fastmetrics.base.options import Real, argument
from fastmetrics.stats.intervals.estimates import UNDEFINED, Estimate, Sample
from fastmetrics.stats.intervals.mean_interval import mean_interval

_FEW = 20
"""With fewer contests, the normal interval of a strength is approximate."""


@dataclass(frozen=True)
class Pairwise(FigureTable):
    """The results of comparing two answers in both orders."""

    win_rate: Estimate
    """The win rate of the first system over the rows judged in both orders; a tie is half a win."""
    flips: Estimate
    """The share of rows judged in both orders whose two verdicts differ, without rows of identical answers."""
    first_place: Estimate
    """The share of verdicts for the answer shown first, excluding ties; 0.5 is no preference."""
    n: int
    """Rows judged in both orders, and rows of identical answers."""
    n_identical: int
    """Rows of identical answers: ties without a call."""
    n_one_order: int
    """Rows judged in one order only."""
    n_none: int
    """Rows without a verdict."""
    wins: Mapping[str, int]
    """How often each pair of verdicts occurs: ``A, tie`` is A in one order and a tie in the other."""


def pairwise(
    first: Any,
    second: Any,
    *,
    a: str = "A",
    b: str = "B",
    tie: str = "tie",
    rows: Any = None,
    identical: Any = None,
    confidence: float = 0.95,
) -> Pairwise:
    """Win rate, flips and first-position preference of verdicts given with A shown first, then with B first.

    A verdict is the name of the better system, ``a`` or ``b``, whatever its position, or ``tie``; null is no verdict.
    Rows with one verdict are excluded from the win rate and the flips, which the position would bias.  They count in
    the first-position preference, which excludes ties.  The intervals are those of means over rows, whose two verdicts
    belong together (:func:`fastmetrics.stats.intervals.mean_interval.mean_interval`).  Without rows, all figures
    are NaN.

    ``rows`` identifies the row of each pair of verdicts if rows were judged several times: pairs with the same value
    are repeats of one row.  A row then counts once, with the means of its pairs, since repeats add no rows.

    ``identical`` marks the pairs of verdicts on two identical answers, which :func:`judge` counts as ties without a
    call (status ``identical``).  They count in the win rate, but not in the flips and the first-position preference,
    which describe the judge.

    Parameters:

    - ``first``: the verdicts with a first
    - ``second``: the verdicts with b first
    - ``a``: the name of one system
    - ``b``: the name of the other system
    - ``tie``: the verdict of a tie
    - ``rows``: the row of each pair of verdicts
    - ``identical``: whether the answers of a row are identical
    - ``confidence``: the level of the intervals

    >>> found = pairwise(["A", "A", "tie", "B"], ["A", "B", "B", None])
    >>> round(found.win_rate.value, 3), round(found.flips.value, 3), round(found.first_place.value, 3), found.n
    (0.583, 0.667, 0.667, 3)

    >>> pairwise(["A", "A", "B"], ["A", "B", "B"], rows=[1, 1, 2]).win_rate.value
    0.375

    All are columns of any kind.  Raises ``InputError`` for columns of different length and for another verdict,
    ``ColumnError`` for verdicts that are not text.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    first, second = as_strings(first, "first"), as_strings(second, "second")
    if len(first) != len(second):
        raise InputError(f"the first order has {len(first):,} verdicts and the second {len(second):,}")
    names = range(len(first)) if rows is None else as_array(rows, "rows").to_pylist()
    marks = [False] * len(first) if identical is None else as_array(identical, "identical").to_pylist()
    for name, values in (("rows", names), ("identical", marks)):
        if len(values) != len(first):
            lengths = f"there are {len(first):,} pairs of verdicts, but "
            raise InputError(lengths, Argument(name), f" has {len(values):,}")
    worth = {a: 1.0, b: 0.0, tie: 0.5}
    for order, verdicts in (("first", first), ("second", second)):
        for row, verdict in enumerate(verdicts):
            if verdict is not None and verdict not in worth:
                raise InputError(f"{order} order, row {row}: expected {a!r}, {b!r}, {tie!r} or null, got {verdict!r}")
    pairs_of_row: dict[Any, list[tuple[str | None, str | None]]] = {}
    for row, pair in zip(names, zip(first, second, strict=True), strict=True):
        pairs_of_row.setdefault(row, []).append(pair)
    same = {row for row, equal in zip(names, marks, strict=True) if equal}
    counts: dict[str, int] = {}
    wins, flips, first_shown = [], [], []
    none = 0
    for row, pairs in pairs_of_row.items():
        complete = [(x, y) for x, y in pairs if x is not None and y is not None]
        for x, y in complete:
            counts[f"{x}, {y}"] = counts.get(f"{x}, {y}", 0) + 1
        if complete:
            wins.append(sum(worth[x] + worth[y] for x, y in complete) / (2 * len(complete)))
            flips += [] if row in same else [sum(x != y for x, y in complete) / len(complete)]
        none += all(x is None and y is None for x, y in pairs)
        choices = [x == a for x, _ in pairs if x in (a, b)] + [y == b for _, y in pairs if y in (a, b)]
        if choices and row not in same:
            first_shown.append((sum(choices) / len(choices), min(len(choices), 2)))
    return Pairwise(
        win_rate=_mean(wins, confidence),
        flips=_mean(flips, confidence),
        first_place=_mean([share for share, _ in first_shown], confidence, [orders for _, orders in first_shown]),
        n=len(wins),
        n_identical=len(same),
        n_one_order=len(pairs_of_row) - len(wins) - none,
        n_none=none,
        wins=dict(sorted(counts.items())),
    )


def _mean(shares: Sequence[float], confidence: float, verdicts: Sequence[int] = ()) -> Estimate:
    """The mean over rows, or over verdicts if rows have different numbers of them, with its interval."""
    if not shares:
        return UNDEFINED
    rows = Sample.of(np.array(shares), None, (0.0, 1.0))
    if len(set(verdicts)) > 1:
        clusters = np.repeat(np.arange(len(shares)), verdicts)
        rows = Sample.of(np.repeat(shares, verdicts), clusters, (0.0, 1.0))
    return Estimate.of(rows.mean, mean_interval(rows, confidence))


def bradley_terry(
    contests: Iterable[tuple[str, str, str | None]], *, tie: str = "tie", confidence: float = 0.95
) -> dict[str, Estimate]:
    """Strengths of systems from contests of two, given as (one, other, winner); strongest first.

    P(i beats j) = 1 / (1 + exp(sⱼ − sᵢ)); the strengths s maximise the likelihood and sum to 0.  A tie is half a win
    for each; contests with a null winner are ignored.  Intervals are s ± z·e with e from the inverse of the information
    matrix, assuming independent contests; those of a system with fewer than 20 contests have a note.  Source: Bradley
    and Terry 1952; Hunter 2004.

    >>> found = bradley_terry([("x", "y", "x")] * 3 + [("x", "y", "y")])
    >>> {name: round(one.value, 4) for name, one in found.items()}
    {'x': 0.5493, 'y': -0.5493}

    Raises ``InputError`` if the winner is neither of the two, if a system is compared with itself, or if strengths are
    undefined: the contests do not connect all systems, or a group of systems won, or lost, all contests with the
    others.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    names, wins = _wins(contests, tie)
    if not names:
        raise InputError("expected at least one contest")
    _defined(names, wins)
    strengths, information = _fitted(wins)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    errors = np.sqrt(np.diag(np.linalg.inv(information + 1.0) - 1.0 / len(names) ** 2))
    order = sorted(range(len(names)), key=lambda i: (-strengths[i], names[i]))
    estimates = {}
    for i in order:
        value, margin = float(strengths[i]), z * float(errors[i])
        few = float((wins[i] + wins[:, i]).sum()) < _FEW
        note = f"approximate: fewer than {_FEW} contests of a system" if few else None
        estimates[names[i]] = Estimate(value, value - margin, value + margin, "normal", note)
    return estimates


def _wins(contests: Iterable[tuple[str, str, Any]], tie: str) -> tuple[list[str], Floats]:
    """The systems in alphabetical order, and the number of wins of each (row) against each (column)."""
    counts: dict[tuple[str, str], float] = {}
    for row, (left, right, winner) in enumerate(contests):
        if winner is None:
            continue
        if left == right:
            raise InputError(f"contest {row}: {left!r} is compared with itself")
        if winner not in (left, right, tie):
            raise InputError(f"contest {row}: expected {left!r}, {right!r}, {tie!r} or null, got {winner!r}")
        for winning, losing in ((left, right), (right, left)):
            share = 0.5 if winner == tie else float(winner == winning)
            counts[winning, losing] = counts.get((winning, losing), 0.0) + share
    names = sorted({name for pair in counts for name in pair})
    wins = np.zeros((len(names), len(names)))
    for (winning, losing), count in counts.items():
        wins[names.index(winning), names.index(losing)] = count
    return names, wins


def _defined(names: Sequence[str], wins: Floats) -> None:
    """Raise ``InputError`` unless a chain of wins leads from each system to each other."""
    met = _reached((wins + wins.T) > 0)
    if not met.all():
        groups = sorted({", ".join(names[i] for i in np.flatnonzero(row).tolist()) for row in met})
        raise InputError(f"strengths are undefined: no contests connect these groups of systems: {' | '.join(groups)}")
    won = _reached(wins > 0)
    if not won.all():
        row = int(np.argmax(won.sum(axis=1) < len(names)))
        below = ", ".join(names[i] for i in np.flatnonzero(won[row]).tolist())
        above = ", ".join(names[i] for i in np.flatnonzero(~won[row]).tolist())
        raise InputError(
            f"strengths are undefined: {below} lost all contests with {above}, so the difference is infinite"
        )


def _reached(steps: Any) -> Any:
    closure = steps | np.eye(len(steps), dtype=bool)
    for _ in range(len(steps).bit_length()):
        closure = (closure.astype(np.int64) @ closure.astype(np.int64)) > 0
    return closure


def _fitted(wins: Floats) -> tuple[Floats, Floats]:
    """The maximum-likelihood strengths, by Newton steps with halving; and the information matrix."""
    games, strengths = wins + wins.T, np.zeros(len(wins))
    for _ in range(200):
        odds = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        slope = wins.sum(axis=1) - (games * odds).sum(axis=1)
        weights = games * odds * odds.T
        information = np.diag(weights.sum(axis=1)) - weights
        step = np.linalg.solve(information + 1.0, slope)
        size = float(np.abs(step).max())
        if size < 1e-13:
            break
        strengths = strengths + step * min(1.0, 1.0 / size)
        strengths -= math.fsum(strengths) / len(strengths)
    return strengths, information
