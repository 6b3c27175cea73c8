"""The options of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ReportOptions:
    """The contents of a report in addition to scores, and the settings of comparisons."""

    baseline: Any
    texts: Any
    baseline_texts: Any
    judged: Any
    usage: Any
    vectors: Any
    vectors_column: str | None
    runs: str | Path | None
    by: Sequence[str]
    system: str | None
    resamples: int | None
    allow_differences: bool
    seed: int
    threads: int | None
    folder: Path | None = None
    """The folder for all rows, if requested."""
