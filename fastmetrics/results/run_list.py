"""Listing the runs in a folder by their metadata."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.file_formats import SUFFIXES
from fastmetrics.tables.input_files import WORK_SUFFIX, expand
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.tables.output.run_differences import told_inputs

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("file", "name", "began", "ended")),
        ("rows", pa.int64()),
        ("metrics", pa.list_(pa.string())),
        *((name, pa.string()) for name in ("ids", "questions", "inputs")),
    ]
)


def list_runs(folder: str | Path) -> pa.Table:
    """The outputs of runs in a folder, one per row, sorted by start time and then by name.

    Columns: ``file`` (its name in the folder; may be a folder of parts), ``name``, ``began`` and ``ended`` (null unless
    the run stored them), ``rows``, ``metrics``, the fingerprints ``ids`` and ``questions``, and the ``inputs`` with
    their sizes.  Runs with the same fingerprint scored the same rows, in any order.  Files that are not outputs of a
    run are ignored.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> _ = fm.score_files(folder / "rows.jsonl", folder / "scores.parquet", metrics="answer_words", name="first")
    >>> fm.list_runs(folder).select(["file", "name", "rows"]).to_pylist()
    [{'file': 'scores.parquet', 'name': 'first', 'rows': 1}]

    Raises ``FileFormatError`` for a folder that cannot be read, and for damaged metadata.
    """
    found = [_run(name, metadata) for name, metadata in _outputs(Path(folder))]
    found.sort(key=lambda run: (run["began"] is None, run["began"] or "", run["file"]))
    return pa.Table.from_pylist(found, SCHEMA)


def _outputs(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The entries of a folder that are outputs of runs, with their metadata."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be read: {error.strerror}") from error
    for entry in entries:
        whole = not entry.name.endswith(WORK_SUFFIX)
        if entry.is_dir() and whole:
            metadata = find_metadata(entry.path)
        elif entry.is_file() and any(entry.name.endswith(suffix) for suffix in SUFFIXES):
            metadata = find_metadata(entry.path, expand(entry.path))
        else:
            continue
        if metadata is not None and "metrics" in metadata:
            yield entry.name, metadata


def _run(file: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a run."""
    try:
        prints = dict(metadata.get("fingerprint", {}))
        rows = max((int(counts["n_rows"]) for counts in metadata["metrics"].values()), default=0)
        return {
            "file": file,
            **{name: metadata.get(name) for name in ("name", "began", "ended")},
            "rows": rows,
            "metrics": list(metadata.get("scores", metadata["metrics"])),
            **{name: prints.get(name) for name in ("ids", "questions")},
            "inputs": told_inputs(metadata.get("inputs")),
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{file}: its metadata do not describe a run: {error!r}") from error
