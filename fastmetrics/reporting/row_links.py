"""Addresses within the page: the rows behind a metric or a segment, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastmetrics.core.visible_text import visible

LABEL = 300
"""Maximum characters of a displayed segment."""


@dataclass(frozen=True)
class RowLinks:
    """The links of a page to its rows; the rows are those of one run, and have its metrics and segments."""

    metrics: Mapping[str, int]
    segments: Mapping[str, int]

    @classmethod
    def of(cls, names: Sequence[str], segments: Sequence[str]) -> RowLinks:
        """The links to rows with these metrics and segments; of equal names the first counts."""
        return cls(*({visible(name): at for at, name in reversed(list(enumerate(some)))} for some in (names, segments)))

    def to(self, metric: str, segment: str | None = None) -> str | None:
        """The address of the rows of a displayed metric and segment; None if the page has no such rows.

        >>> RowLinks.of(["jaccard", "token_f1"], ["language=en", "language=ru"]).to("token_f1", "language=ru")
        '#page=rows&metric=1&segment=1'
        """
        if metric not in self.metrics or (segment is not None and segment not in self.segments):
            return None
        within = "" if segment is None else f"&segment={self.segments[segment]}"
        return f"#page=rows&metric={self.metrics[metric]}{within}"


def label(text: str) -> str:
    """A name, truncated if it is very long.

    >>> label("x" * 1_000) == "x" * 300 + "…"
    True
    """
    return text if len(text) <= LABEL else f"{text[:LABEL]}…"
