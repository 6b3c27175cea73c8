"""The journal of parts: ``journal.jsonl`` of a work folder, with one line for each finished part and its checksum.

A line that is incomplete, or does not fit its checksum, is ignored: a killed run leaves such a line, and so may other
programs.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fastmetrics.tables.output.private_files import open_private
from fastmetrics.tables.table_chunks import Place

JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class FinishedPart:
    """A finished part: its number, rows, rejects, the start of the next part, its observation, its checksum."""

    number: int
    rows: int
    rejects: int
    stop: tuple[int, int]
    size: int
    crc: int
    rejects_crc: int
    observed: Any

    @property
    def next(self) -> Place:
        """The start of the next part."""
        return Place(*self.stop)


def journal_parts(folder: Path) -> dict[int, FinishedPart]:
    """The finished parts of a work folder by number; their bytes are not checked."""
    journal, parts = folder / JOURNAL, {}
    for line in journal.read_bytes().splitlines() if journal.exists() else ():  # a run without rows has no journal
        try:
            record = json.loads(line)
            check = record.pop("check")
            part = FinishedPart(**{**record, "stop": tuple(record["stop"])})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        if check == _checksum(part):
            parts[part.number] = part
    return parts


def add_to_journal(folder: Path, part: FinishedPart) -> None:
    """Record a finished part."""
    with open(folder / JOURNAL, "ab", opener=open_private) as journal:
        # The leading line end separates this line from an incomplete one.
        journal.write(b"\n" + json.dumps({**asdict(part), "check": _checksum(part)}).encode() + b"\n")


def is_journal_empty(folder: Path) -> bool:
    """Whether no part was recorded."""
    journal = folder / JOURNAL
    return not journal.exists() or journal.stat().st_size == 0


def _checksum(part: FinishedPart) -> int:
    return zlib.crc32(json.dumps(asdict(part)).encode())
