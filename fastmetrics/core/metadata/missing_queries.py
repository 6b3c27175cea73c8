"""The judged queries that a ranking lacks: their number, and the rule that scores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_HOW = {
    "zero": ("score 0", "missing: zero, as trec_eval -c; skip leaves them out"),
    "skip": ("are left out", "missing: skip, the default of trec_eval; zero scores them 0"),
}


@dataclass(frozen=True)
class MissingQueries:
    """How many of the ``judged`` queries a ranking lacks, and the rule for them."""

    count: int
    judged: int
    rule: str

    @classmethod
    def of(cls, entry: Any) -> MissingQueries | None:
        """The stored entry of the metadata, or None for null; raises ``ValueError`` if it cannot be read."""
        if entry is None:
            return None
        if not isinstance(entry, Mapping) or entry.get("rule") not in _HOW:
            raise ValueError("missing_queries: expected count, judged and rule")
        return cls(int(entry["count"]), int(entry["judged"]), entry["rule"])

    def __add__(self, other: MissingQueries) -> MissingQueries:
        """The sum over two rankings with the same rule."""
        return MissingQueries(self.count + other.count, self.judged + other.judged, self.rule)

    @property
    def brief(self) -> str:
        """The number and the treatment of the missing queries, for a narrow table.

        >>> MissingQueries(60, 150, "zero").brief
        '60 of 150 queries missing, score 0'
        """
        return f"{self.count:,} of {self.judged:,} queries missing, {_HOW[self.rule][0]}"

    @property
    def notes(self) -> list[str]:
        """The note on missing queries, if there are any.

        >>> MissingQueries(60, 150, "skip").notes[0][:60]
        '60 of 150 judged queries are not in the ranking and are left'
        """
        if not self.count:
            return []
        how, option = _HOW[self.rule]
        return [f"{self.count:,} of {self.judged:,} judged queries are not in the ranking and {how} ({option})"]
