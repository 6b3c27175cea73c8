"""The completion mark of a folder of parts: a file with the metadata of the run, written last and deleted first.

A folder without it is incomplete.
"""

from __future__ import annotations

import os
from pathlib import Path

from fastmetrics.tables.remote.addresses import is_url, parse

MARK = "_fastmetrics.json"
"""The name of the file."""


def write_mark(folder: Path, metadata: str) -> None:
    """Mark a folder as complete."""
    (folder / MARK).write_text(metadata + "\n", encoding="utf-8")


def mark_path(folder: str) -> str:
    """The path or address of a folder's mark."""
    return str(parse(folder).child(MARK)) if is_url(folder) else os.path.join(folder, MARK)
