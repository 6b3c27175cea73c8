"""How far rows are from the labelled rows that a score was fitted to: the distributions of the metrics that it reads.

The distance is the population stability index Σ (p − q) · ln(p / q) over the parts between the quantiles of the
labelled rows, with the shares p of the rows at hand and q of the labelled rows.  Each part counts half a row more, so
that no share is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.errors.messages import some

FAR = 0.25
"""The index from which on a distribution is another one (Siddiqi 2006, Credit Risk Scorecards)."""
CHANCE = 0.001
"""How often at most a note may be by chance alone, over all metrics of a fitted score."""
_MOST_NAMES = 5


@dataclass(frozen=True)
class InputShares:
    """A metric that a fitted score reads: the shares of labelled rows in its parts, and the counts of other rows."""

    name: str
    shares: Sequence[float]
    counts: Sequence[int]


@dataclass(frozen=True)
class InputDrift:
    """The metrics that a fitted score reads, over the rows at hand and over the ``labelled`` rows, or their groups."""

    labelled: int
    inputs: Sequence[InputShares]

    @classmethod
    def of(cls, entry: Any) -> InputDrift:
        """An entry of the metadata; raises ``ValueError``, ``KeyError`` or ``TypeError`` if it cannot be read."""
        inputs = [
            InputShares(str(part["name"]), [float(x) for x in part["shares"]], [int(x) for x in part["counts"]])
            for part in entry["inputs"]
        ]
        if any(len(part.shares) != len(part.counts) for part in inputs):
            raise ValueError("drift: expected a count for each share")
        return cls(int(entry["labelled"]), inputs)

    def is_alike(self, other: InputDrift) -> bool:
        """Whether the labelled rows of both are the same."""
        return self.without_counts() == other.without_counts()

    def without_counts(self) -> InputDrift:
        """The labelled rows alone."""
        return replace(self, inputs=[replace(part, counts=[0] * len(part.counts)) for part in self.inputs])

    def __add__(self, other: InputDrift) -> InputDrift:
        """The sum over two sets of rows, of scores that were fitted to the same labelled rows."""
        pairs = zip(self.inputs, other.inputs, strict=True)
        added = [replace(a, counts=[x + y for x, y in zip(a.counts, b.counts, strict=True)]) for a, b in pairs]
        return replace(self, inputs=added)

    @property
    def n_rows(self) -> int:
        """The number of rows at hand."""
        return max((sum(part.counts) for part in self.inputs), default=0)

    def far(self) -> dict[str, float]:
        """The metrics with another distribution than in the labelled rows, the farthest first, with their indexes.

        The index is at least ``FAR``, and above what rows drawn from the labelled ones would reach by chance.
        """
        level = CHANCE / max(len(self.inputs), 1)
        indexes = {}
        for part in self.inputs:
            index, by_chance = stability(np.array(part.counts), np.array(part.shares), self.labelled, level)
            if index >= FAR and index > by_chance:
                indexes[part.name] = index
        return dict(sorted(indexes.items(), key=lambda item: -item[1]))


def stability(counts: Ints, shares: Floats, labelled: int, level: float) -> tuple[float, float]:
    """The population stability index, and what it exceeds with the probability ``level`` if nothing has changed.

    Without a change, the index is about (1/n + 1/m) · χ² with a degree of freedom less than there are parts, for n rows
    and m labelled ones (Yurdakul 2018, Statistical Properties of Population Stability Index).

    >>> stability(np.array([50, 50]), np.array([0.5, 0.5]), 100, 0.001)[0]
    0.0
    """
    from scipy.special import chdtri

    used = (counts > 0) | (shares > 0)
    n, parts = int(counts.sum()), int(used.sum())
    if not n or parts < 2:
        return 0.0, 0.0
    p = (counts[used] + 0.5) / (n + parts / 2)
    q = (shares[used] * labelled + 0.5) / (labelled + parts / 2)
    index = float(np.sum((p - q) * np.log(p / q)))
    return index, float(chdtri(parts - 1, level)) * (1 / n + 1 / labelled)


def drift_notes(drifts: Mapping[str, InputDrift]) -> list[str]:
    """The notes on fitted scores whose metrics are far from those of the labelled rows, by name of the score."""
    names: dict[str, list[str]] = {}
    for name, drift in drifts.items():
        note = _note(drift)
        if note:
            names.setdefault(note, []).append(name)
    return [f"{', '.join(scores)}: {note}" for note, scores in names.items()]


def _note(drift: InputDrift) -> str:
    """The note on one fitted score; empty if its metrics are near enough."""
    far = drift.far()
    if not far:
        return ""
    listed = some((f"{name} {index:.2f}" for name, index in far.items()), _MOST_NAMES)
    return (
        f"these {drift.n_rows:,} rows are far from the labelled rows that it was fitted to: the distribution differs "
        f"for {len(far)} of {len(drift.inputs)} metrics (population stability index: {listed}; from "
        f"{FAR} on); its held-out figures may not hold here: label some of these rows and fit it again"
    )


def summed_drifts(parts: Iterable[Mapping[str, InputDrift]]) -> dict[str, InputDrift]:
    """The sums by name of the score, of those whose labelled rows are the same in all parts."""
    total: dict[str, InputDrift] = {}
    torn: set[str] = set()
    for part in parts:
        for name, drift in part.items():
            before = total.get(name)
            if before is not None and not before.is_alike(drift):
                torn.add(name)
                continue
            total[name] = drift if before is None else before + drift
    return {name: drift for name, drift in total.items() if name not in torn}
