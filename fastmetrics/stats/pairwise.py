"""Pairwise judgements: win rate, flips by order, and the strengths of many systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Real, argument
from fastmetrics.core.arrays import Floats
from fastmetrics.errors import InputError
from fastmetrics.stats.association import Estimate
from fastmetrics.stats.proportions import wilson


@dataclass(frozen=True)
class Pairwise:
    """The results of comparing two answers in both orders."""

    win_rate: Estimate
    """The win rate of the first system over the rows judged in both orders; a tie is half a win."""
    flips: Estimate
    """The share of rows judged in both orders whose two verdicts differ."""
    first_place: Estimate
    """The share of verdicts for the answer shown first, excluding ties; 0.5 is no preference."""
    n: int
    """Rows judged in both orders."""
    n_one_order: int
    """Rows judged in one order only."""
    n_none: int
    """Rows without a verdict."""
    wins: Mapping[str, int]
    """The number of rows with each pair of verdicts: ``A, tie`` is A in one order and a tie in the other."""


def pairwise(
    first: Sequence[str | None],
    second: Sequence[str | None],
    *,
    a: str = "A",
    b: str = "B",
    tie: str = "tie",
    confidence: float = 0.95,
) -> Pairwise:
    """Win rate, flips and first-position preference of verdicts given with A shown first, then with B first.

    A verdict is the name of the better system, ``a`` or ``b``, whatever its position, or ``tie``; null is no verdict.
    Rows with one verdict are excluded from the win rate and the flips, which the position would bias.  They count in
    the first-position preference, which excludes ties.  The intervals are Wilson's.  Without rows, all figures are NaN.

    >>> found = pairwise(["A", "A", "tie", "B"], ["A", "B", "B", None])
    >>> round(found.win_rate.value, 3), round(found.flips.value, 3), round(found.first_place.value, 3), found.n
    (0.583, 0.667, 0.667, 3)

    Raises ``InputError`` for columns of different length and for another verdict.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    if len(first) != len(second):
        raise InputError(f"the first order has {len(first):,} verdicts and the second {len(second):,}")
    worth = {a: 1.0, b: 0.0, tie: 0.5}
    for order, verdicts in (("first", first), ("second", second)):
        for row, one in enumerate(verdicts):
            if one is not None and one not in worth:
                raise InputError(f"{order} order, row {row}: expected {a!r}, {b!r}, {tie!r} or null, got {one!r}")
    rows = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    none = sum(x is None and y is None for x, y in zip(first, second, strict=True))
    counts: dict[str, int] = {}
    for x, y in rows:
        counts[f"{x}, {y}"] = counts.get(f"{x}, {y}", 0) + 1
    chosen = [one == a for one in first if one in (a, b)] + [one == b for one in second if one in (a, b)]
    return Pairwise(
        win_rate=wilson(sum(worth[x] + worth[y] for x, y in rows) / 2, len(rows), confidence),
        flips=wilson(sum(x != y for x, y in rows), len(rows), confidence),
        first_place=wilson(sum(chosen), len(chosen), confidence),
        n=len(rows),
        n_one_order=len(first) - len(rows) - none,
        n_none=none,
        wins=dict(sorted(counts.items())),
    )


def bradley_terry(
    contests: Iterable[tuple[str, str, str | None]], *, tie: str = "tie", confidence: float = 0.95
) -> dict[str, Estimate]:
    """Strengths of systems from contests of two, given as (one, other, winner); strongest first.

    P(i beats j) = 1 / (1 + exp(sⱼ − sᵢ)); the strengths s maximise the likelihood and sum to 0.  A tie is half a win
    for each; contests with a null winner are ignored.  Intervals are s ± z·e with e from the inverse of the information
    matrix, assuming independent contests.  Source: Bradley and Terry 1952; Hunter 2004.

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
    found = {}
    for i in order:
        value, margin = float(strengths[i]), z * float(errors[i])
        found[names[i]] = Estimate(value, value - margin, value + margin)
    return found


def _wins(contests: Iterable[tuple[str, str, Any]], tie: str) -> tuple[list[str], Floats]:
    """The systems in alphabetical order, and the number of wins of each (row) against each (column)."""
    counts: dict[tuple[str, str], float] = {}
    for row, (one, other, winner) in enumerate(contests):
        if winner is None:
            continue
        if one == other:
            raise InputError(f"contest {row}: {one!r} is compared with itself")
        if winner not in (one, other, tie):
            raise InputError(f"contest {row}: expected {one!r}, {other!r}, {tie!r} or null, got {winner!r}")
        for winning, losing in ((one, other), (other, one)):
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
    found = steps | np.eye(len(steps), dtype=bool)
    for _ in range(len(steps).bit_length()):
        found = (found.astype(np.int64) @ found.astype(np.int64)) > 0
    return found


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
