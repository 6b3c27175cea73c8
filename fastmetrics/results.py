"""Scores in files, read back: a column of them, and the summary of one output or of several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.arrays import floats_of_arrow
from fastmetrics.corpus import METADATA
from fastmetrics.errors import FileFormatError
from fastmetrics.stats.parts import Claims, score_columns
from fastmetrics.summary import Summary, summarize
from fastmetrics.tables import Source, open_source
from fastmetrics.tables.output import columns_in, find_metadata
from fastmetrics.tables.urls import as_local, shown


@dataclass(frozen=True)
class ScoreFile:
    """An opened file or folder of scores: what its metadata say, if a run made it, and which columns are scores."""

    name: str
    source: Source
    metadata: Mapping[str, Any] | None
    scores: Sequence[str]

    @classmethod
    def open(cls, path: str | Path) -> ScoreFile:
        """Open what ``path`` means; raises ``FileFormatError`` if it cannot be read or holds no scores."""
        text = as_local(path)
        source = open_source(text)
        metadata = find_metadata(text, source.files)
        said = said_scores(metadata, shown(text))
        names = source.schema.names
        scores = score_columns(source.schema) if said is None else [name for name in names if name in said]
        if not (scores or (metadata and "metrics" in metadata)):
            raise FileFormatError(
                f"{shown(text)}: no column of scores (numbers or truth values); "
                "of a CSV file only the .meta.json beside it says which they are"
            )
        return cls(shown(text), source, metadata, scores)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of the scores, or of ``names`` only, each bearing the metadata.

        The first batch has no rows, so that the columns of an empty file are known too.
        """
        chosen = self.scores if names is None else names
        flags = {field.name for field in self.source.schema if pa.types.is_boolean(field.type)}
        selection = self.source.select({name: "flag" if name in flags else "number" for name in chosen})
        borne = {METADATA: json.dumps(self.metadata or {}).encode()}
        yield pa.RecordBatch.from_pylist([], selection.schema).replace_schema_metadata(borne)
        for chunk in self.source.chunks(selection):
            yield self.source.conform(chunk, selection).replace_schema_metadata(borne)

    def read(self) -> dict[str, Any]:
        """Which columns were scored, as the metadata say: ``columns`` and ``passed_over`` of a summary."""
        found = {name: (self.metadata or {}).get(name) for name in ("columns", "passed_over")}
        return {name: value for name, value in found.items() if isinstance(value, dict)}


def said_scores(metadata: Mapping[str, Any] | None, name: str) -> list[str] | None:
    """The columns of scores of a file, as its metadata say, or None if they do not.

    Raises ``FileFormatError`` that bears its name if they are not what a run writes.
    """
    try:
        claims = Claims.of(None if metadata is None else json.dumps(metadata).encode())
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from error
    if metadata is not None and "metrics" in metadata:
        return list(claims.metrics)  # another column of numbers was kept
    if metadata is None or not columns_in(metadata):
        return None
    return [column for column, type_ in columns_in(metadata).items() if type_ == "double"]


def column_of(path: str | Path, name: str) -> Iterator[npt.NDArray[np.float64]]:
    """The scores of one column of an output, anew at each call."""
    for batch in ScoreFile.open(path).batches([name]):
        yield floats_of_arrow(batch.column(0), name)


def summarize_files(paths: str | Path | Sequence[str | Path]) -> Summary:
    """The summary of files and folders of scores; what their metadata count as undefined is told from missing.

    Percentiles are exact, found by reading the files again if need be.  Raises ``FileFormatError`` for a file that
    cannot be read, ``ColumnError`` if the files differ in their score columns.
    """
    files = [ScoreFile.open(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    found = summarize(lambda: (batch for file in files for batch in file.batches()))
    read = files[0].read()
    return replace(found, **read) if all(file.read() == read for file in files) else found
