"""What the questions of a log are like, as figures and as tables to print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date

from fastmetrics.core.display import Grid, Shown, sparkline

_SPANS = 60
"""Blocks of the line that shows activity over time, at most."""
_SHOWN = 10
Weighed = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Domain(Shown):
    """The questions of a log; what a column tells that the log has not is None."""

    questions: int
    missing: int
    """Rows without a question, which count nowhere."""
    answered: int | None
    """Questions with an answer that is neither blank nor, as a whole, an "I don't know"."""
    answered_share: float | None
    mean_characters: float
    ratings: Mapping[str, int] | None
    """How often the users gave each rating, from the lowest up, and ``none``."""
    words: Weighed
    words_answered: Weighed | None
    words_unanswered: Weighed | None
    telling_answered: Weighed | None
    """The words that tell answered questions from unanswered ones, by the z of their log-odds ratio."""
    telling_unanswered: Weighed | None
    indicators: Mapping[str, int]
    """Questions that hold each of the given words, as a part of other words, too."""
    scripts: Mapping[str, int]
    distinct: int
    """Different questions, letter case and white space at the ends aside."""
    repeated: int
    """Questions that are not the first of their kind: questions − distinct."""
    near_repeats: int | None
    """Sampled questions with another one at a cosine of at least ``near``; None unless asked for."""
    near: float | None
    languages: Mapping[str, int] | None
    """Sampled questions by language (ISO 639-1); None unless asked for."""
    sampled: int | None
    """How many of the distinct questions were looked at for near repeats and languages."""
    first: str | None
    last: str | None
    days: Mapping[str, int] | None
    """Questions by date; in UTC, where the timestamps have a zone."""
    hours: Sequence[int] | None
    """Questions by hour of the day, 0 to 23."""

    def to_dict(self) -> dict[str, object]:
        """All figures."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def grids(self) -> list[Grid]:
        """The figures, then words and counts, the most frequent first."""
        single = [(name, one) for name, one in self.to_dict().items() if isinstance(one, int | float | str)]
        grids = [Grid(("figure", "value"), [(name, _written(one)) for name, one in single])]
        for name, found in self.to_dict().items():
            if isinstance(found, Mapping) and name != "days" and found:
                ordered = list(found.items()) if name == "ratings" else sorted(found.items(), key=lambda one: -one[1])
                grids.append(Grid((name, "questions"), [(str(key), f"{n:,}") for key, n in ordered[:_SHOWN]]))
            elif name.startswith(("words", "telling")) and isinstance(found, Sequence) and found:
                unit = "z" if name.startswith("telling") else "times"
                grids.append(Grid((name, unit), [(word, _written(n)) for word, n in found[:_SHOWN]]))
        return grids

    def remarks(self) -> list[str]:
        """What the figures stand on."""
        notes = []
        if self.days and len(self.days) > 1:
            notes.append(f"questions from {min(self.days)} to {max(self.days)}: {sparkline(self._over_time())}")
        if self.hours is not None and any(self.hours):
            notes.append(f"questions by hour of the day, 0 to 23: {sparkline(self.hours)}")
        if self.missing:
            notes.append(f"{self.missing:,} rows without a question were left out")
        if self.answered is None:
            notes.append("without a column answer, it is unknown which questions were answered")
        if self.sampled is not None:
            notes.append(
                f"near repeats and languages: a sample of {self.sampled:,} of {self.distinct:,} distinct questions"
            )
        return notes

    def _over_time(self) -> list[int]:
        """The questions of spans of equal length from the first day to the last, days without any included."""
        numbers = {date.fromisoformat(day).toordinal(): n for day, n in (self.days or {}).items()}
        first, last = min(numbers), max(numbers)
        spans = min(_SPANS, last - first + 1)
        counts = [0] * spans
        for day, n in numbers.items():
            counts[(day - first) * spans // (last - first + 1)] += n
        return counts


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
