"""Reading score files: their metadata, their score columns, and single columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.core.arrays import floats_of_arrow
from fastmetrics.core.column_kinds import is_list
from fastmetrics.core.corpus_counts import METADATA, counts_column
from fastmetrics.errors import FileFormatError
from fastmetrics.plan.corpus_values import lists_read
from fastmetrics.results.declared_metrics import declared_specs, stored_declarations
from fastmetrics.stats.metadata_claims import Claims
from fastmetrics.stats.score_sums import score_columns
from fastmetrics.tables import Source, open_source
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.tables.output.recorded import recorded_schema
from fastmetrics.tables.remote.addresses import as_local, shown
from fastmetrics.tables.source import open_each

_SETTINGS = ("fastmetrics", "unicode", "scores", "columns")


@dataclass(frozen=True)
class ScoreFile:
    """An opened score file or folder: its metadata, if a run wrote it, and its score columns."""

    name: str
    source: Source
    metadata: Mapping[str, Any] | None
    scores: Sequence[str]

    @classmethod
    def open(cls, path: str | Path) -> ScoreFile:
        """Open ``path``; raises ``FileFormatError`` if it cannot be read or contains no scores."""
        text = as_local(path)
        source = open_source(text)
        return cls._of(shown(text), source, find_metadata(text, source.files))

    @classmethod
    def open_all(cls, path: str | Path) -> list[ScoreFile]:
        """Open ``path``: one output, or each file of a folder or pattern, with its own metadata."""
        whole = open_source(as_local(path))
        if len(whole.files) == 1 or find_metadata(path) is not None:
            return [cls._of(shown(as_local(path)), whole, find_metadata(path, whole.files))]
        each = open_each(whole.files)
        return [cls._of(one.files[0].shown, one, find_metadata(one.files[0].path, one.files)) for one in each]

    @classmethod
    def _of(cls, name: str, source: Source, metadata: Mapping[str, Any] | None) -> ScoreFile:
        said = said_scores(metadata, name)
        names = source.schema.names
        scores = score_columns(source.schema) if said is None else [name for name in names if name in said]
        if not (scores or (metadata and "metrics" in metadata)):
            raise FileFormatError(
                f"{name}: no column of scores (numbers or booleans); "
                "for CSV, the .meta.json beside the file lists the score columns"
            )
        return cls(name, source, metadata, scores)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of the scores, or of ``names`` only, each with the metadata.

        The first batch is empty, so that the columns of an empty file are known too.
        """
        chosen = [*self.scores, *self._lists] if names is None else names
        flags = {field.name for field in self.source.schema if pa.types.is_boolean(field.type)}
        kinds = {name: "flag" if name in flags else "number" for name in chosen}
        kinds |= {name: "any" for name in chosen if name in self._lists}
        selection = self.source.select(kinds or dict.fromkeys(self._counts[:1], "any"))
        borne = {METADATA: json.dumps(self.metadata or {}).encode()}
        yield pa.RecordBatch.from_pylist([], selection.schema).replace_schema_metadata(borne)
        for batch in good_batches(self.source, selection, any_length=True):
            yield batch.replace_schema_metadata(borne)

    @property
    def _counts(self) -> list[str]:
        """The columns with the counts of rows; with corpus metrics only, they give the number of rows."""
        columns = map(counts_column, (self.metadata or {}).get("counts", {}))
        return [name for name in columns if name in self.source.schema.names]

    @property
    def _lists(self) -> list[str]:
        """The columns with lists for corpus metrics that need all rows at once."""
        specs = declared_specs(stored_declarations(self.metadata))
        known = lists_read(specs.get(name, name) for name in (self.metadata or {}).get("counts", {}))
        return [name for name in known if name in self.source.schema.names]

    @property
    def run_names(self) -> list[str]:
        """The files with metadata of a run of their own."""
        told = ((one.shown, find_metadata(one.path, [one])) for one in self.source.files)
        return [name for name, metadata in told if metadata is not None and "metrics" in metadata]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the scores, from the metadata."""
        return {name: value for name, value in (self.metadata or {}).items() if name in _SETTINGS}

    @property
    def read(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """The scored and the ignored columns, from the metadata."""
        columns, over = ((self.metadata or {}).get(name) for name in ("columns", "passed_over"))
        return (
            {name: str(yours) for name, yours in columns.items()} if isinstance(columns, dict) else {},
            {name: list(map(str, others)) for name, others in over.items() if isinstance(others, list)}
            if isinstance(over, dict)
            else {},
        )


def said_scores(metadata: Mapping[str, Any] | None, name: str) -> list[str] | None:
    """The score columns of a file according to its metadata, or None if unknown.

    Raises a ``FileFormatError`` with the file's name if the metadata are not those of a run.
    """
    try:
        claims = Claims.of(None if metadata is None else json.dumps(metadata).encode())
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from error
    if metadata is not None and "metrics" in metadata:
        return list(claims.metrics)  # the other numeric columns are copied input
    schema = recorded_schema(metadata or {})
    return None if schema is None else score_columns(schema)


def column_of(path: str | Path, name: str) -> Iterator[Any]:
    """The scores of one column of an output, or the lists stored in it, at each call."""
    for batch in ScoreFile.open(path).batches([name]):
        yield batch.column(0) if is_list(batch.schema.field(0).type) else floats_of_arrow(batch.column(0), name)
