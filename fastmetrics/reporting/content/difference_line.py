"""A difference of two systems as a line of a report, and which differences of segments an overview shows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from fastmetrics.results.comparison import Compared

VERDICTS = ("worse", "better", "lower", "higher", "–")
"""The verdicts in their order on the page."""
_NEAREST = 3


@dataclass(frozen=True)
class DifferenceLine:
    """A metric of two systems over all rows or a segment: its figures as text, its verdict, its drawn interval."""

    metric: str
    segment: str | None
    baseline: str
    other: str
    cells: Sequence[str]
    """The two means, Δ, its interval, the corrected p, and the number of rows."""
    counts: Sequence[str]
    """Rows with a score of one system only, rows won, tied and lost, and d_z."""
    verdict: str
    turn: str
    """gain, loss, change or same, from the test's verdict."""
    drawn: tuple[float, float, float] | None
    """Low, Δ and high in percent of a line with 0 in the middle."""
    scale: str
    """The largest value of the line."""
    has_direction: bool
    alone: str = ""
    """Without a verdict: the verdict that an interval without 0 would give by itself; empty if it holds 0."""
    by_p: bool = False
    """Whether the test gives a verdict although the interval holds 0."""
    least_p: bool = False
    """Whether no resample is as far apart, so that p is at most what is shown."""
    reversible: bool = False
    """Whether there is a verdict that the missing scores of rows with a score of one system only could reverse."""
    interval_note: str | None = None

    @property
    def size(self) -> float:
        """The absolute difference as a share of its scale."""
        return 0.0 if self.drawn is None else abs(self.drawn[1] - 50)

    @property
    def clearness(self) -> float:
        """The absolute difference by half the width of its interval, which metrics of all units have in common."""
        if self.drawn is None:
            return 0.0
        width = self.drawn[2] - self.drawn[0]
        return 2 * self.size / width if width > 0 else math.inf if self.size else 0.0


def by_clearness(lines: Sequence[DifferenceLine], first: str) -> list[DifferenceLine]:
    """Pairs of the system ``first`` before the others, by verdict, the clearest of chance first."""
    return sorted(lines, key=lambda line: (line.baseline != first, VERDICTS.index(line.verdict), -line.clearness))


def of_each_pair(lines: Sequence[DifferenceLine], most: int) -> list[DifferenceLine]:
    """At most ``most`` lines in their order: the first of each pair of systems, then the second of each, and so on."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for at, line in enumerate(lines):
        pairs.setdefault((line.baseline, line.other), []).append(at)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*pairs.values()))
    places = itertools.islice((at for at in turns if at is not None), most)
    return [lines[at] for at in sorted(places)]


def nearest_segments(lines: Sequence[tuple[DifferenceLine, Compared]]) -> list[DifferenceLine]:
    """Of the segments with the least p the difference that has it."""
    of_segment: dict[str | None, DifferenceLine] = {}
    for line, difference in sorted(lines, key=lambda entry: entry[1].p):
        if not math.isnan(difference.p):
            of_segment.setdefault(line.segment, line)
    return list(of_segment.values())[:_NEAREST]
