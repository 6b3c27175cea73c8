"""The properties of the questions of a log, as figures and as printed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date

from fastmetrics.core.display import Grid, Shown, sparkline

_SPANS = 60
"""Maximum number of blocks in the line of activity over time."""
_SHOWN = 10
Weighed = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Domain(Shown):
    """The questions of a log; figures that need a missing column are None."""

    questions: int
    missing: int
    """Rows without a question, which are ignored."""
    answered: int | None
    """Questions with an answer that is neither blank nor, as a whole, an "I don't know"."""
    answered_share: float | None
    mean_characters: float
    ratings: Mapping[str, int] | None
    """The count of each rating, in ascending order, and of ``none``."""
    words: Weighed
    words_answered: Weighed | None
    words_unanswered: Weighed | None
    telling_answered: Weighed | None
    """The words that distinguish answered from unanswered questions, by the z-score of their log-odds ratio."""
    telling_unanswered: Weighed | None
    indicators: Mapping[str, int]
    """Questions that contain each of the given words, also as a part of other words."""
    scripts: Mapping[str, int]
    distinct: int
    """Distinct questions, ignoring letter case and white space at the ends."""
    repeated: int
    """Repeated questions: questions − distinct."""
    near_repeats: int | None
    """Sampled questions with another one at a cosine of at least ``near``; None unless requested."""
    near: float | None
    languages: Mapping[str, int] | None
    """Sampled questions by language (ISO 639-1); None unless requested."""
    sampled: int | None
    """Number of distinct questions in the sample for near repeats and languages."""
    first: str | None
    last: str | None
    days: Mapping[str, int] | None
    """Questions by date; in UTC, if the timestamps have a time zone."""
    hours: Sequence[int] | None
    """Questions by hour of the day, 0 to 23."""

    def to_dict(self) -> dict[str, object]:
        """All figures."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def grids(self) -> list[Grid]:
        """The figures, then words and counts, the most frequent first."""
        single = [(name, value) for name, value in self.to_dict().items() if isinstance(value, int | float | str)]
        grids = [Grid(("figure", "value"), [(name, _written(value)) for name, value in single])]
        for name, value in self.to_dict().items():
            if isinstance(value, Mapping) and name != "days" and value:
                ordered = list(value.items()) if name == "ratings" else sorted(value.items(), key=lambda item: -item[1])
                grids.append(Grid((name, "questions"), [(str(key), f"{n:,}") for key, n in ordered[:_SHOWN]]))
            elif name.startswith(("words", "telling")) and isinstance(value, Sequence) and value:
                unit = "z" if name.startswith("telling") else "times"
                grids.append(Grid((name, unit), [(word, _written(n)) for word, n in value[:_SHOWN]]))
        return grids

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
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
