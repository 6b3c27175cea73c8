"""Score files as one table of scores: their batches, and notes on the files and the differences between their runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from fastmetrics.base.errors import some
from fastmetrics.results.runs.score_file import ScoreFile
from fastmetrics.tables.run_outputs import RunDifference, described_inputs, differences

_MOST_NOTED = 5
"""Maximum number of files and differences in a note."""


class PooledFiles:
    """Opened score files as one table."""

    def __init__(self, files: Sequence[ScoreFile]) -> None:
        self._files = files
        self._rows = [0] * len(files)

    @classmethod
    def open(cls, paths: str | Path | Sequence[str | Path]) -> PooledFiles:
        """One or several score files, folders or patterns."""
        each = [paths] if isinstance(paths, str | Path) else list(paths)
        return cls([file for path in each for file in ScoreFile.open_all(path)])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The scores of all files, each batch with the metadata of its file; can be called repeatedly."""
        for place, file in enumerate(self._files):
            self._rows[place] = 0
            for batch in file.batches():
                self._rows[place] += batch.num_rows
                yield batch

    @property
    def columns_read(self) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
        """The scored and the ignored columns, if all files have the same."""
        first = self._files[0].columns_read
        return first if all(file.columns_read == first for file in self._files) else ({}, {})

    @property
    def notes(self) -> list[str]:
        """The notes on several files, after their rows were read."""
        return _pooled(self._files, self._rows) if len(self._files) > 1 else []


def _pooled(files: Sequence[ScoreFile], rows: Sequence[int]) -> list[str]:
    """The note on the pooled files, and on differences between their settings."""
    described = [f"{file.name} ({count:,} rows)" for file, count in zip(files, rows, strict=True)]
    notes = [f"{len(files):,} files pooled: {some(described, _MOST_NOTED)}"]
    with_settings = [file for file in files if file.settings]
    where: dict[RunDifference, list[str]] = {}
    for file in with_settings[1:]:
        for difference in differences(with_settings[0].settings, file.settings):
            where.setdefault(difference, []).append(file.name)
    notes += [
        f"{what} is {a} in {with_settings[0].name}, {b} in {some(names, _MOST_NOTED)}"
        for (what, a, b), names in where.items()
    ][:_MOST_NOTED]
    notes += [f"{len(where) - _MOST_NOTED:,} more differences in settings"] if len(where) > _MOST_NOTED else []
    notes += _inputs(files)
    unknown = [file.name for file in files if not file.settings]
    return [*notes, *([f"unknown settings: {some(unknown, _MOST_NOTED)}"] if with_settings and unknown else [])]


def _inputs(files: Sequence[ScoreFile]) -> list[str]:
    """The notes on files with different inputs, and on files with the same input, from their metadata."""
    by_inputs: dict[str, list[str]] = {}
    for file in files:
        inputs = described_inputs(None if file.metadata is None else file.metadata.inputs)
        if inputs is not None:
            by_inputs.setdefault(inputs, []).append(file.name)
    pairs = [f"{some(names, _MOST_NOTED)} from {inputs}" for inputs, names in by_inputs.items()]
    notes = [f"different inputs: {some(pairs, _MOST_NOTED, '; ')}"] if len(by_inputs) > 1 else []
    again = "files from the same input (by name and size); its rows are counted repeatedly"
    several = {inputs: names for inputs, names in by_inputs.items() if len(names) > 1}
    notes += [f"{again}: {some(names, _MOST_NOTED)} from {inputs}" for inputs, names in several.items()][:_MOST_NOTED]
    return notes
