"""The metadata of an output: the settings that made it, and what a run counted in its rows.

A run writes them as one JSON object, into or beside its output; a table of scores in memory has them in its schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pyarrow as pa

from fastmetrics.core.metadata.input_drift import InputDrift
from fastmetrics.core.metadata.missing_queries import MissingQueries
from fastmetrics.errors import FileFormatError

METADATA = b"fastmetrics"
"""The key of the schema metadata that contains the information about scores as JSON."""


@dataclass(frozen=True)
class RowCounts:
    """How many rows a score column has, and why some of them have no score."""

    n_rows: int
    n_missing: int
    n_undefined: int
    n_error: int


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _list(value: Any) -> Sequence[str] | None:
    return value if isinstance(value, list) else None


def _texts(value: Any) -> Mapping[str, str] | None:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else None


def _lists(value: Any) -> Mapping[str, Sequence[str]] | None:
    if not isinstance(value, dict):
        return None
    return {name: list(map(str, texts)) for name, texts in value.items() if isinstance(texts, list)}


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {value!r}")
    return value


def _rows(value: Any) -> Mapping[str, RowCounts]:
    return {
        name: RowCounts(**{entry.name: int(counts[entry.name]) for entry in fields(RowCounts)})
        for name, counts in value.items()
    }


def _counts(value: Any) -> Mapping[str, list[int]]:
    return {name: [int(count) for count in vector] for name, vector in value.items()}


def _cautions(value: Any) -> Mapping[str, list[int]]:
    counts = _counts(value)
    if any(len(pair) != 2 for pair in counts.values()):
        raise ValueError("cautions: expected pairs of counts")
    return counts


def _drift(value: Any) -> Mapping[str, InputDrift]:
    return {name: InputDrift.of(entry) for name, entry in value.items()}


def _by_ranking(value: Any) -> Mapping[str, MissingQueries]:
    return {name: queries for name, entry in value.items() if (queries := MissingQueries.of(entry)) is not None}


def _count(value: Any) -> int | None:
    return None if value is None else int(value)


def _entry(read: Callable[[Any], Any], key: str | None = None) -> Any:
    """A field that is read from JSON by a function, under its own name or another ``key``."""
    return field(default=None, metadata={"read": read, "key": key})


@dataclass(frozen=True, kw_only=True)
class ScoreMetadata:
    """The metadata of an output, in the order in which they are written; None is not written.

    The settings come first, then what is known after the last row.
    """

    version: str | None = _entry(_text, "fastmetrics")
    unicode: str | None = _entry(_text)
    system: str | None = _entry(_text)
    """The name of the system whose bot answered."""
    answers: Mapping[str, Any] | None = _entry(_mapping)
    """The settings of the bot."""
    embeddings: Mapping[str, Any] | None = _entry(_mapping)
    scores: Mapping[str, Any] | None = _entry(_mapping)
    """Per score column, its metric and all its options."""
    columns: Mapping[str, str] | None = _entry(_texts)
    """The user's columns that were read, by their canonical names."""
    passed_over: Mapping[str, Sequence[str]] | None = _entry(_lists)
    """The columns that were not read although their names fit."""
    keep: Sequence[str] | None = _entry(_list)
    lists: Sequence[str] | None = _entry(_list)
    keep_counts: bool | None = _entry(bool)
    options: Mapping[str, Any] | None = _entry(_object)
    """The value of each option for all metrics whose names set no other."""
    declared: Mapping[str, Any] | None = _entry(_object)
    """Per score column, what its name does not tell of its metric."""
    repeats: int | None = _entry(_number)
    sample: Mapping[str, int] | None = _entry(_mapping)
    until: Mapping[str, Any] | None = _entry(_mapping)
    more_columns: Sequence[str] | None = _entry(_list, "made")
    """The optional columns of a judge."""
    metrics: Mapping[str, RowCounts] | None = _entry(_rows)
    """Per score column, its rows; scored and judged outputs have this entry, if only an empty one."""
    missing_queries: MissingQueries | None = _entry(MissingQueries.of)  # noqa: RUF009 - a field
    """The judged queries that the ranking lacks, or the sum over several rankings."""
    missing_by_ranking: Mapping[str, MissingQueries] | None = _entry(_by_ranking)
    """Of several rankings in one table, the judged queries that each lacks."""
    answered: Mapping[str, Any] | None = _entry(_mapping)
    embedded: Mapping[str, int] | None = _entry(_mapping)
    n_rejected: int | None = _entry(int)
    """The number of rows of the input that have no row in the output."""
    judged: Mapping[str, Any] | None = _entry(_mapping)
    """Per judged column, its rows by status, its repairs and its tokens."""
    counts: Mapping[str, list[int]] | None = _entry(_counts)
    """The summed counts of each corpus metric."""
    cautions: Mapping[str, list[int]] | None = _entry(_cautions)
    """Per metric, the rows that its caution concerns, and the scored rows."""
    drift: Mapping[str, InputDrift] | None = _entry(_drift)
    """Per fitted score, the distributions of the metrics that it reads, beside those of the labelled rows."""
    n_rows: int | None = _entry(_count)
    """The number of rows, if no score column has it."""
    fingerprint: Mapping[str, str] | None = _entry(_mapping)
    """The fingerprints of the ``ids``, and of ids and ``questions``."""
    name: str | None = _entry(_text)
    ended_by_until: Mapping[str, Any] | None = _entry(_mapping)
    began: str | None = _entry(_text)
    ended: str | None = _entry(_text)
    inputs: Mapping[str, Any] | None = _entry(_mapping)
    """The files that were read: names, sizes and a digest."""

    stored: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON object that was read, with the entries of other writers."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> ScoreMetadata:
        """The metadata from a JSON object.

        Raises ``FileFormatError`` if the entries from which rows are counted cannot be read; an entry of another type
        among those that only describe the run is as if it were absent.
        """
        try:
            entries = {
                entry.name: entry.metadata["read"](stored[key]) for key, entry in _ENTRIES.items() if key in stored
            }
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise FileFormatError(f"the scores' metadata {METADATA.decode()!r} cannot be read: {error!r}") from error
        return cls(**entries, stored=stored)

    @classmethod
    def of_schema(cls, schema: pa.Schema) -> ScoreMetadata:
        """The metadata of a table of scores; empty without any."""
        return cls.of_text((schema.metadata or {}).get(METADATA))

    @classmethod
    def of_text(cls, text: bytes | None) -> ScoreMetadata:
        """The metadata from the JSON in a schema; empty without any."""
        if text is None:
            return cls()
        try:
            stored = json.loads(text)
            if not isinstance(stored, dict):
                raise ValueError("expected a JSON object")
        except ValueError as error:
            raise FileFormatError(f"the scores' metadata {METADATA.decode()!r} cannot be read: {error!r}") from error
        return cls.of(stored)

    def to_json(self) -> dict[str, Any]:
        """The entries that are not None, as plain values."""
        values = {key: getattr(self, entry.name) for key, entry in _ENTRIES.items()}
        return {key: _plain(value) for key, value in values.items() if value is not None}

    def __or__(self, other: ScoreMetadata) -> ScoreMetadata:
        """The entries of both; those of the ``other`` win."""
        values = {entry.name: getattr(other, entry.name) for entry in _ENTRIES.values()}
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    def for_schema(self) -> dict[bytes, str]:
        """The metadata of a table in memory."""
        return {METADATA: json.dumps(self.to_json())}

    def settings(self) -> dict[str, Any]:
        """The stored versions, options and columns of the scores, by which runs are compared."""
        return {key: self.stored[key] for key in ("fastmetrics", "unicode", "scores", "columns") if key in self.stored}

    def settings_of(self, score: str) -> Mapping[str, Any]:
        """The metric and options of a score, or the rubric and model of a judged column; empty if unknown."""
        settings = (self.scores or {}).get(score)
        return settings if isinstance(settings, Mapping) else {}

    def range_of(self, score: str) -> tuple[float, float] | None:
        """The lowest and the highest score of a judged column, from its rubric; None if unknown."""
        match self.settings_of(score).get("range"):
            case [int() | float() as low, int() | float() as high]:
                return float(low), float(high)
            case _:
                return None

    @property
    def rows(self) -> int | None:
        """The number of rows; None if unknown or contradictory."""
        numbers = {counts.n_rows for counts in (self.metrics or {}).values()}
        return numbers.pop() if len(numbers) == 1 else None if numbers else self.n_rows


_ENTRIES = {entry.metadata["key"] or entry.name: entry for entry in fields(ScoreMetadata) if entry.name != "stored"}
"""The fields by their keys in JSON."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
