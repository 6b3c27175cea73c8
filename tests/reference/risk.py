"""Risk among the most confident rows, by fractions, and by trying every order of those that are equally confident."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction


def defined(confidence: Sequence[float | None], quality: Sequence[float | None]) -> list[tuple[float, Fraction]]:
    """Confidence and loss of the rows that have both, the most confident first."""
    pairs = zip(confidence, quality, strict=True)
    rows = [
        (c, 1 - Fraction(q))
        for c, q in pairs
        if c is not None and q is not None and not (math.isnan(c) or math.isnan(q))
    ]
    return sorted(rows, key=lambda row: -row[0])


def orders(rows: Sequence[tuple[float, Fraction]]) -> Iterator[list[Fraction]]:
    """The losses in every order that the confidence allows."""
    ties = [[loss for _, loss in tie] for _, tie in itertools.groupby(rows, key=lambda row: row[0])]
    for chosen in itertools.product(*(itertools.permutations(tie) for tie in ties)):
        yield list(itertools.chain(*chosen))


def risks(losses: Sequence[Fraction]) -> list[Fraction]:
    """The mean loss of the first i, for every i."""
    return [sum(losses[:i], Fraction()) / i for i in range(1, len(losses) + 1)]


def curve(confidence: Sequence[float | None], quality: Sequence[float | None]) -> list[float]:
    """The mean over all orders of the risk of the first i, for every i."""
    curves = [risks(losses) for losses in orders(defined(confidence, quality))]
    return [float(sum(values, Fraction()) / len(values)) for values in zip(*curves, strict=True)]


def aurc(confidence: Sequence[float | None], quality: Sequence[float | None]) -> float:
    """The mean of the curve."""
    curves = [risks(losses) for losses in orders(defined(confidence, quality))]
    total = sum((sum(values, Fraction()) / len(values) for values in zip(*curves, strict=True)), Fraction())
    n = len(curves[0])
    return float(total / n) if n else math.nan
