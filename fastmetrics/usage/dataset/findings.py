"""The result of ``fm.check_dataset``: checks of a data set, and their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastmetrics.base.display import Grid, Shown

EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One kind of fault: its number of ``rows``, and the row numbers (from 0) and texts of the first examples.

    ``looked`` is the number of examined rows, if the check used a sample.
    """

    check: str
    rows: int
    examples: Sequence[tuple[Sequence[int], str]]
    looked: int | None = None


@dataclass(frozen=True)
class DatasetChecks(Shown):
    """The findings of all checks of a data set; ``skipped`` are the checks whose columns are missing."""

    rows: int
    findings: Sequence[Finding]
    skipped: Sequence[str]

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return not any(finding.rows for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All findings."""
        findings = [asdict(finding) for finding in self.findings]
        return {"rows": self.rows, "clean": self.clean, "findings": findings, "skipped": list(self.skipped)}

    def grids(self) -> list[Grid]:
        """One line per check."""
        lines = [(finding.check, f"{finding.rows:,}", _example(finding)) for finding in self.findings]
        return [Grid(("check", "rows", "for example"), lines)]

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        notes = [f"{self.rows:,} rows"]
        notes += [
            f"{finding.check}: of a sample of {finding.looked:,}"
            for finding in self.findings
            if finding.looked is not None
        ]
        return [*notes, f"skipped because columns are missing: {', '.join(self.skipped)}"] if self.skipped else notes


def _example(finding: Finding) -> str:
    if not finding.examples:
        return ""
    rows, text = finding.examples[0]
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}: {text[:60]}"
