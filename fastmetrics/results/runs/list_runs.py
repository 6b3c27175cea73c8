"""Listing the runs in a folder by their metadata, and choosing the last of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.results.runs.score_file import metadata_of
from fastmetrics.tables.addresses import Url, as_local, is_url, parse, shown_address, within
from fastmetrics.tables.file_formats import FORMATS
from fastmetrics.tables.input_files import WORK_SUFFIX, reading
from fastmetrics.tables.input_paths import expand
from fastmetrics.tables.remote_files import listing, look, missing, patiently, plainly, side_by_side, store
from fastmetrics.tables.run_outputs import described_inputs

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("file", "name", "began", "ended")),
        ("rows", pa.int64()),
        ("metrics", pa.list_(pa.string())),
        *((name, pa.string()) for name in ("ids", "questions", "inputs")),
    ]
)


def list_runs(folder: str | Path) -> pa.Table:
    """The outputs of runs in a folder or at an address, one per row, sorted by start time and then by name.

    Columns: ``file`` (its name in the folder; may be a folder of parts), ``name``, ``began`` and ``ended`` (null unless
    the run stored them), ``rows``, ``metrics``, the fingerprints ``ids`` and ``questions``, and the ``inputs`` with
    their sizes.  Runs with the same fingerprint scored the same rows, in any order.  Files that are not outputs of a
    run are ignored.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"id": 1, "answer": "in Paris"}')
    >>> _ = fm.score(folder / "rows.jsonl", "answer_words", output=folder / "scores.parquet", name="first")
    >>> fm.list_runs(folder).select(["file", "name", "rows"]).to_pylist()
    [{'file': 'scores.parquet', 'name': 'first', 'rows': 1}]

    Raises ``FileFormatError`` for a folder that cannot be read, and for damaged metadata.
    """
    runs = [_run(name, metadata) for name, metadata in _outputs(as_local(folder))]
    runs.sort(key=lambda run: (run["began"] is None, run["began"] or "", run["file"]))
    return pa.Table.from_pylist(runs, SCHEMA)


@dataclass(frozen=True)
class _Entry:
    """A file or folder in a folder of runs."""

    name: str
    path: str
    is_folder: bool
    is_remote: bool

    def metadata(self) -> ScoreMetadata | None:
        """The metadata of an output; None for anything else."""
        if self.is_folder:
            return None if self.name.endswith(WORK_SUFFIX) else metadata_of(self.path)
        if not self.name.endswith(tuple(suffix for format in FORMATS.values() for suffix in format.suffixes)):
            return None
        return metadata_of(self.path, expand(self.path))


def _outputs(folder: str) -> Iterator[tuple[str, ScoreMetadata]]:
    """The entries of a folder that are outputs of runs, with their metadata."""
    entries = _behind(parse(folder)) if is_url(folder) else _on_disk(folder)
    for entry, metadata in zip(entries, side_by_side(_Entry.metadata, entries), strict=True):
        if metadata is not None and metadata.metrics is not None:
            yield entry.name, metadata


def _on_disk(folder: str) -> list[_Entry]:
    with reading(folder):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    return [
        _Entry(entry.name, entry.path, entry.is_dir(), is_remote=False)
        for entry in entries
        if entry.is_dir() or entry.is_file()
    ]


def _behind(url: Url) -> list[_Entry]:
    with reading(url.shown), plainly():
        place = store(url)
        files, folders = patiently(lambda: listing(place, deep=False))
        if not (files or folders or look(place).type.name == "Directory"):
            raise FileFormatError(f"{url.shown}: cannot be read: {missing(url, place)}")
    names = sorted([(name, False) for name in files] + [(name, True) for name in folders])
    return [_Entry(name, str(url.child(name)), is_folder, is_remote=True) for name, is_folder in names]


def _run(file: str, metadata: ScoreMetadata) -> dict[str, Any]:
    """The metadata of a run."""
    metrics, prints = metadata.metrics or {}, metadata.fingerprint or {}
    return {
        "file": file,
        "name": metadata.name,
        "began": metadata.began,
        "ended": metadata.ended,
        "rows": max((counts.n_rows for counts in metrics.values()), default=0),
        "metrics": list(metrics if metadata.scores is None else metadata.scores),
        "ids": prints.get("ids"),
        "questions": prints.get("questions"),
        "inputs": described_inputs(metadata.inputs),
    }


def latest_run(folder: Any) -> tuple[str, str]:
    """The last run of a folder, in the order of ``list_runs``, and a note on how it was chosen.

    Raises ``OptionError`` if there is no run, or if only some of the runs store their start, so that their order is
    unknown.
    """
    if not isinstance(folder, str | Path):
        raise OptionError(Argument("latest", True), ": expected the path of a folder of runs")
    runs, place = list_runs(folder).to_pylist(), shown_address(folder)
    if not runs:
        raise OptionError(Argument("latest", True), f": {place} holds no output of a run")
    untimed = [run["file"] for run in runs if run["began"] is None]
    if untimed and len(untimed) < len(runs):
        raise OptionError(
            Argument("latest", True),
            f": {untimed[0]} in {place} does not store when it began, others do; score it with --times, or name a run",
        )
    last = runs[-1]
    order = "by file name, since no run stores when it began (score --times)" if untimed else f"began {last['began']}"
    return within(folder, last["file"]), f"{last['file']} is the last of {len(runs):,} runs in {place}, {order}"
