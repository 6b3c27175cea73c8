"""What all parts of a page share: the options of a report, links to its rows, data for its scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastmetrics.base.display import strict
from fastmetrics.base.specs import Better

# Data of a page as JSON.


def embedded(value: Any) -> str:
    """JSON as browsers read it, NaN as null.

    >>> embedded({"score": float("nan")})
    '{"score":null}'
    """
    encode = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return encode(value)
    except (ValueError, TypeError):  # a number that JSON lacks, or a mapping of another class
        return encode(strict(value))


# The options of a report.


@dataclass(frozen=True)
class ReportOptions:
    """The contents of a report in addition to scores, and the settings of comparisons."""

    baseline: Any
    texts: Any
    baseline_texts: Any
    judged: Any
    labels: Any
    """What people say of the judged rows."""
    label: str | None
    usage: Any
    vectors: Any
    vectors_column: str | None
    runs: str | Path | None
    by: Sequence[str]
    system: str | None
    resamples: int | None
    main: str | None
    """The metric that decides; None for the first one of quality."""
    allow_differences: bool
    seed: int
    threads: int | None
    predicted: str | None = None
    """The column of predicted labels; None for the usual ones."""
    expected: str | None = None
    skip_unreadable: bool = False
    folder: Path | None = None
    """The folder for all rows, if requested."""


# Addresses within the page: the rows behind a metric or a segment of one system or of two, the worst first.


LABEL = 300
"""Maximum characters of a displayed segment."""


@dataclass(frozen=True)
class RowLinks:
    """The links of a page to its rows; the rows are those of one run, and have its metrics and segments."""

    metrics: Mapping[str, int]
    segments: Mapping[str, int]
    systems: Mapping[str, int]
    shown: tuple[int | None, int]
    """The systems of which a page shows the change at first: the baseline, None without one, and the main system."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        segments: Sequence[str],
        systems: Sequence[str] = (),
        shown: tuple[int | None, int] = (None, 0),
    ) -> RowLinks:
        """The links to rows with these metrics and segments of these systems; of equal names the first counts."""
        metrics, segment_places, system_places = (
            {name: at for at, name in reversed(list(enumerate(some)))} for some in (names, segments, systems)
        )
        return cls(metrics, segment_places, system_places, shown)

    def to(self, metric: str, segment: str | None = None, pair: tuple[str, str] | None = None) -> str | None:
        """The address of the rows of a displayed metric and segment, and of a pair of a baseline and another system.

        None if the page has no such rows.

        >>> RowLinks.of(["jaccard", "token_f1"], ["language=en", "language=ru"]).to("token_f1", "language=ru")
        '#page=rows&metric=1&segment=1'
        >>> RowLinks.of(["jaccard"], [], ["old", "new", "third"], (0, 1)).to("jaccard", None, ("old", "third"))
        '#page=rows&metric=0&system=2&against=0'
        """
        if metric not in self.metrics or (segment is not None and segment not in self.segments):
            return None
        within = "" if segment is None else f"&segment={self.segments[segment]}"
        of = "" if pair is None else self.of_pair(*pair)
        return f"#page=rows&metric={self.metrics[metric]}{within}{of}"

    def improved(self, metric: str, pair: tuple[str, str], better: Better) -> str | None:
        """The address of the rows of a metric with a direction and a pair of systems, the most improved first.

        >>> RowLinks.of(["jaccard"], [], ["old", "new"], (0, 1)).improved("jaccard", ("old", "new"), "higher")
        '#page=rows&metric=0&sort=change&down=1'
        """
        address = self.to(metric, None, pair)
        return None if address is None else f"{address}&sort=change{'' if better == 'lower' else '&down=1'}"

    def of_pair(self, baseline: str, other: str) -> str:
        """The part of an address that names two systems; empty for those that a page shows at first."""
        against, system = self.systems[baseline], self.systems[other]
        return "" if (against, system) == self.shown else f"&system={system}&against={against}"


def label(text: str) -> str:
    """A name, truncated if it is very long.

    >>> label("x" * 1_000) == "x" * 300 + "…"
    True
    """
    return text if len(text) <= LABEL else f"{text[:LABEL]}…"
