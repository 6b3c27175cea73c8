"""What a report is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Asked:
    """What beside scores goes into a report, and how systems are compared."""

    baseline: Any
    texts: Any
    baseline_texts: Any
    judged: Any
    usage: Any
    vectors: Any
    runs: str | Path | None
    by: Sequence[str]
    allow_differences: bool
    seed: int
    threads: int | None
    folder: Path | None = None
    """Where all rows go, if all are asked for."""
