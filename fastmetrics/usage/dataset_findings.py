"""What was looked for in a data set and found: the result of ``fm.check_dataset``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastmetrics.core.display import Grid, Shown

EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One kind of fault: in how many ``rows``, and the numbers (from 0) and words of the first examples.

    ``looked`` is the number of rows that were looked at, where it was a sample.
    """

    check: str
    rows: int
    examples: Sequence[tuple[Sequence[int], str]]
    looked: int | None = None


@dataclass(frozen=True)
class DatasetChecks(Shown):
    """What was looked for in a data set, and found; ``skipped`` are checks that need columns it has not."""

    rows: int
    findings: Sequence[Finding]
    skipped: Sequence[str]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(one.rows for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All findings."""
        found = [asdict(one) for one in self.findings]
        return {"rows": self.rows, "clean": self.clean, "findings": found, "skipped": list(self.skipped)}

    def grids(self) -> list[Grid]:
        """A line a check."""
        lines = [(one.check, f"{one.rows:,}", _example(one)) for one in self.findings]
        return [Grid(("check", "rows", "for example"), lines)]

    def remarks(self) -> list[str]:
        """What the figures stand on."""
        notes = [f"{self.rows:,} rows"]
        notes += [f"{one.check}: of a sample of {one.looked:,}" for one in self.findings if one.looked is not None]
        return [*notes, f"skipped because columns are missing: {', '.join(self.skipped)}"] if self.skipped else notes


def _example(one: Finding) -> str:
    if not one.examples:
        return ""
    rows, text = one.examples[0]
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}: {text[:60]}"
