"""The metadata of scores: the settings that made them, counts of corpus metrics, drift of the rows, missing queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.column_names import is_system, roles
from fastmetrics.base.errors import FileFormatError, some
from fastmetrics.base.notes import Note

# The counts of corpus metrics: their columns, and their sums over batches beside those of cautions, ids and drift.


@dataclass(frozen=True)
class BatchSums:
    """Sums over the rows of scored batches, which travel in the metadata of a batch from its scorer to the engine."""

    counts: Mapping[str, list[int]] = field(default_factory=dict)
    """The counts of each corpus metric."""
    cautions: Mapping[str, list[int]] = field(default_factory=dict)
    """Per metric, the rows that its caution concerns, and the scored rows."""
    fingerprint: Mapping[str, list[int]] = field(default_factory=dict)
    """The sums of the fingerprint of the rows."""
    drift: Mapping[str, list[int]] = field(default_factory=dict)
    """Per fitted score, the rows in each part of the distributions of the metrics that it reads."""
    unread: UnreadRows = field(default_factory=dict)
    of_rows: int = 0
    """The number of rows; a batch of corpus metrics alone has no columns that would tell it."""

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> BatchSums:
        """The sums that consecutive scored batches carry, added up."""
        carried = (
            (json.loads((batch.schema.metadata or {}).get(METADATA, b"{}")), batch.num_rows) for batch in batches
        )
        return cls.added({"of_rows": n_rows, **sums} for sums, n_rows in carried)

    @classmethod
    def added(cls, parts: Iterable[Mapping[str, Any]]) -> BatchSums:
        """The sums of consecutive parts, whose sums are among plain values as by :meth:`to_json`."""
        listed = list(parts)
        sums = {name: add_up(part.get(name, {}) for part in listed) for name in _SUMMED}
        unread = unread_in((part.get("unread", {}), part.get("of_rows", 0)) for part in listed)
        return cls(**sums, unread=unread, of_rows=sum(part.get("of_rows", 0) for part in listed))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in (*_SUMMED, "unread"))

    def to_json(self) -> dict[str, Any]:
        """The sums as plain values."""
        return {**{name: dict(getattr(self, name)) for name in (*_SUMMED, "unread")}, "of_rows": self.of_rows}

    def on(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with these sums as the metadata of its scores; without metadata if there are none."""
        return batch.replace_schema_metadata(
            {METADATA: json.dumps({"metrics": {}, **self.to_json()})} if self else None
        )


_SUMMED = ("counts", "cautions", "fingerprint", "drift")

UnreadRows: TypeAlias = Mapping[str, Mapping[str, Sequence[int]]]
"""Per score and reason, the rows with a value that could not be read, the first of them, and 1 if they are scored as
wrong, 2 if as they are read."""


def unread_in(parts: Iterable[tuple[UnreadRows, int]]) -> dict[str, dict[str, list[int]]]:
    """The unread rows of consecutive parts, each with its number of rows; in the order of the first rows of reasons.

    >>> part = {"number_match": {"hold an unknown unit": [2, 5, 0]}}
    >>> unread_in([({}, 100), (part, 10), (part, 10)])
    {'number_match': {'hold an unknown unit': [4, 105, 0]}}
    """
    total: dict[str, dict[str, list[int]]] = {}
    start = 0
    for unread, n_rows in parts:
        for score, reasons in unread.items():
            so_far = total.setdefault(score, {})
            for reason, (rows, first, scored) in reasons.items():
                before = so_far.get(reason)
                so_far[reason] = [rows, start + first, scored] if before is None else [before[0] + rows, *before[1:]]
        start += n_rows
    return {score: dict(sorted(total[score].items(), key=lambda entry: entry[1][1])) for score in sorted(total)}


def counts_column(metric: str) -> str:
    """The column that stores each row's counts for a corpus metric.

    >>> counts_column("corpus_bleu")
    'corpus_bleu.counts'
    """
    return f"{metric}.counts"


def counts_array(counts: Ints, present: Flags) -> pa.Array:
    """The counts of rows as lists; null for a row that was not counted."""
    ends = np.concatenate([[0], np.cumsum(present * np.int64(counts.shape[1]))])
    mask = None if present.all() else pa.array(~present)
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(counts[present].ravel(), pa.int64()), mask=mask
    )


def add_up(parts: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """The sums of counts by name.

    >>> add_up([{"corpus_bleu": [1, 2]}, {"corpus_bleu": [10, 20]}])
    {'corpus_bleu': [11, 22]}
    """
    total: dict[str, list[int]] = {}
    for part in parts:
        for name, counts in part.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0] * len(counts)), counts, strict=True)]
    return total


# How far rows are from the labelled rows that a score was fitted to: the distributions of the metrics that it reads.
#
# The distance is the population stability index Σ (p − q) · ln(p / q) over the parts between the quantiles of the
# labelled rows, with the shares p of the rows at hand and q of the labelled rows.  Each part counts half a row more,
# so that no share is 0.


FAR = 0.25
"""The index from which on a distribution is another one (Siddiqi 2006, Credit Risk Scorecards)."""
CHANCE = 0.001
"""How often at most a note may be by chance alone, over all metrics of a fitted score."""
_MOST_NAMES = 5


@dataclass(frozen=True)
class InputShares:
    """A metric that a fitted score reads: the shares of labelled rows in its parts, and the counts of other rows."""

    name: str
    shares: Sequence[float]
    counts: Sequence[int]


@dataclass(frozen=True)
class InputDrift:
    """The metrics that a fitted score reads, over the rows at hand and over the ``labelled`` rows, or their groups."""

    labelled: int
    inputs: Sequence[InputShares]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` unless each share has a count."""
        if any(len(part.shares) != len(part.counts) for part in self.inputs):
            raise ValueError("drift: expected a count for each share")

    def is_alike(self, other: InputDrift) -> bool:
        """Whether the labelled rows of both are the same."""
        return self.without_counts() == other.without_counts()

    def without_counts(self) -> InputDrift:
        """The labelled rows alone."""
        return replace(self, inputs=[replace(part, counts=[0] * len(part.counts)) for part in self.inputs])

    def __add__(self, other: InputDrift) -> InputDrift:
        """The sum over two sets of rows, of scores that were fitted to the same labelled rows."""
        pairs = zip(self.inputs, other.inputs, strict=True)
        added = [replace(a, counts=[x + y for x, y in zip(a.counts, b.counts, strict=True)]) for a, b in pairs]
        return replace(self, inputs=added)

    @property
    def n_rows(self) -> int:
        """The number of rows at hand."""
        return max((sum(part.counts) for part in self.inputs), default=0)

    def far(self) -> dict[str, float]:
        """The metrics with another distribution than in the labelled rows, the farthest first, with their indexes.

        The index is at least ``FAR``, and above what rows drawn from the labelled ones would reach by chance.
        """
        level = CHANCE / max(len(self.inputs), 1)
        indexes = {}
        for part in self.inputs:
            index, by_chance = stability(np.array(part.counts), np.array(part.shares), self.labelled, level)
            if index >= FAR and index > by_chance:
                indexes[part.name] = index
        return dict(sorted(indexes.items(), key=lambda item: -item[1]))


def stability(counts: Ints, shares: Floats, labelled: int, level: float) -> tuple[float, float]:
    """The population stability index, and what it exceeds with the probability ``level`` if nothing has changed.

    Without a change, the index is about (1/n + 1/m) · χ² with a degree of freedom less than there are parts, for n rows
    and m labelled ones (Yurdakul 2018, Statistical Properties of Population Stability Index).

    >>> stability(np.array([50, 50]), np.array([0.5, 0.5]), 100, 0.001)[0]
    0.0
    """
    from scipy.special import chdtri

    used = (counts > 0) | (shares > 0)
    n, parts = int(counts.sum()), int(used.sum())
    if not n or parts < 2:
        return 0.0, 0.0
    p = (counts[used] + 0.5) / (n + parts / 2)
    q = (shares[used] * labelled + 0.5) / (labelled + parts / 2)
    index = float(np.sum((p - q) * np.log(p / q)))
    return index, float(chdtri(parts - 1, level)) * (1 / n + 1 / labelled)


def drift_notes(drifts: Mapping[str, InputDrift]) -> list[str]:
    """The notes on fitted scores whose metrics are far from those of the labelled rows, by name of the score."""
    names: dict[str, list[str]] = {}
    for name, drift in drifts.items():
        note = _note(drift)
        if note:
            names.setdefault(note, []).append(name)
    return [Note("of_run", run=", ".join(scores), note=note) for note, scores in names.items()]


def _note(drift: InputDrift) -> str:
    """The note on one fitted score; empty if its metrics are near enough."""
    far = drift.far()
    if not far:
        return ""
    listed = some((f"{name} {index:.2f}" for name, index in far.items()), _MOST_NAMES)
    return Note("drift", n=drift.n_rows, far=len(far), of=len(drift.inputs), index=listed, least=FAR)


def summed_drifts(parts: Iterable[Mapping[str, InputDrift]]) -> dict[str, InputDrift]:
    """The sums by name of the score, of those whose labelled rows are the same in all parts."""
    total: dict[str, InputDrift] = {}
    torn: set[str] = set()
    for part in parts:
        for name, drift in part.items():
            before = total.get(name)
            if before is not None and not before.is_alike(drift):
                torn.add(name)
                continue
            total[name] = drift if before is None else before + drift
    return {name: drift for name, drift in total.items() if name not in torn}


# The judged queries that a ranking lacks: their number, and the rule that scores them.


_HOW = {
    "zero": ("score 0", "as trec_eval -c; missing='skip' (--missing skip) leaves them out"),
    "skip": ("are left out", "the default of trec_eval; missing='zero' (--missing zero) scores them 0"),
}


@dataclass(frozen=True)
class MissingQueries:
    """How many of the ``judged`` queries a ranking lacks, and the rule for them."""

    count: int
    judged: int
    rule: str

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for an unknown rule."""
        if self.rule not in _HOW:
            raise ValueError("missing_queries: expected count, judged and rule")

    def __add__(self, other: MissingQueries) -> MissingQueries:
        """The sum over two rankings with the same rule."""
        return MissingQueries(self.count + other.count, self.judged + other.judged, self.rule)

    @property
    def brief(self) -> str:
        """The number and the treatment of the missing queries, for a narrow table.

        >>> MissingQueries(60, 150, "zero").brief
        '60 of 150 queries missing, score 0'
        """
        return f"{self.count:,} of {self.judged:,} queries missing, {_HOW[self.rule][0]}"

    @property
    def notes(self) -> list[str]:
        """The note on missing queries, if there are any.

        >>> MissingQueries(60, 150, "skip").notes[0][:60]
        '60 of 150 judged queries are not in the ranking and are left'
        """
        if not self.count:
            return []
        how, option = _HOW[self.rule]
        return [Note("missing_queries", n=self.count, of=self.judged, how=how, option=option)]


# The metadata of an output: the settings that made it, and what a run counted in its rows.
#
# A run writes them as one JSON object, into or beside its output; a table of scores in memory has them in its schema.


RANKING = "ranking"
"""The column of the values of several rankings that names the ranking of each query."""
METADATA = b"fastmetrics"
"""The key of the schema metadata that contains the information about scores as JSON."""


@dataclass(frozen=True)
class RowCounts:
    """How many rows a score column has, and why some of them have no score."""

    n_rows: int
    n_missing: int
    n_undefined: int
    n_error: int


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(value: Any, kind: Any) -> Any:
    """A JSON value as what a field holds, item by item; raises ``TypeError`` or another error for any other value."""
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer is UnionType:  # with None
        return None if value is None else _read(value, inner[0])
    if is_dataclass(kind):
        return outer(**{name: _read(value[name], hint) for name, hint in _hints(outer).items()})
    if kind is float:
        return float(value)
    expected = {Mapping: dict, Sequence: list, Any: object}.get(outer, outer)
    if not isinstance(value, expected):
        raise TypeError(f"expected {expected.__name__}, got {value!r}")
    if expected is dict:
        return {name: _read(item, inner[1]) for name, item in value.items()}
    return [_read(item, inner[0]) for item in value] if expected is list else value


@dataclass(frozen=True, kw_only=True)
class ScoreMetadata:
    """The metadata of an output, in the order in which they are written; None is not written.

    The settings come first, then what is known after the last row.
    """

    version: str | None = None
    unicode: str | None = None
    system: str | None = None
    """The name of the system whose bot answered."""
    answers: Mapping[str, Any] | None = None
    """The settings of the bot."""
    embeddings: Mapping[str, Any] | None = None
    scores: Mapping[str, Any] | None = None
    """Per score column, its metric and all its options."""
    columns: Mapping[str, str] | None = None
    """The user's columns that were read, by their canonical names."""
    named: Mapping[str, str] | None = None
    """The user's columns that were named, read or not, by their canonical names."""
    passed_over: Mapping[str, Sequence[str]] | None = None
    """The columns that were not read although their names fit."""
    keep: Sequence[str] | None = None
    lists: Sequence[str] | None = None
    keep_counts: bool | None = None
    strip_thoughts: bool | None = None
    extracted: Mapping[str, Any] | None = None
    """The columns of extracted answers, and the extractors of each."""
    options: Mapping[str, Any] | None = None
    """The value of each option for all metrics whose names set no other."""
    declared: Mapping[str, Any] | None = None
    """Per score column, what its name does not tell of its metric."""
    repeats: int | None = None
    sample: Mapping[str, int] | None = None
    more_columns: Sequence[str] | None = None
    """The optional columns of a judge."""
    metrics: Mapping[str, RowCounts] | None = None
    """Per score column, its rows; scored and judged outputs have this entry, if only an empty one."""
    missing_queries: MissingQueries | None = None
    """The judged queries that the ranking lacks, or the sum over several rankings."""
    missing_by_ranking: Mapping[str, MissingQueries] | None = None
    """Of several rankings in one table, the judged queries that each lacks."""
    answered: Mapping[str, Any] | None = None
    embedded: Mapping[str, int] | None = None
    n_rejected: int | None = None
    """The number of rows of the input that have no row in the output."""
    judged: Mapping[str, Any] | None = None
    """Per judged column, its rows by status, its repairs and its tokens."""
    counts: Mapping[str, list[int]] | None = None
    """The summed counts of each corpus metric."""
    cautions: Mapping[str, list[int]] | None = None
    """Per metric, the rows that its caution concerns, and the scored rows."""
    unread: UnreadRows | None = None
    drift: Mapping[str, InputDrift] | None = None
    """Per fitted score, the distributions of the metrics that it reads, beside those of the labelled rows."""
    n_rows: int | None = None
    """The number of rows, if no score column has it."""
    fingerprint: Mapping[str, str] | None = None
    """The fingerprints of the ``ids``, and of ids and ``questions``."""
    scored: Sequence[str] | None = None
    """The score columns of a table in memory; the other numbers beside them are the user's."""
    name: str | None = None
    began: str | None = None
    ended: str | None = None
    inputs: Mapping[str, Any] | None = None
    """The files that were read: names, sizes and a digest."""
    sources: Mapping[str, str] | None = None
    """The digests of the files of plugins whose metrics were computed."""

    stored: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON object that was read, with the entries of other writers."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> ScoreMetadata:
        """The metadata from a JSON object.

        Raises ``FileFormatError`` if the entries from which rows are counted cannot be read; an entry of another type
        among those that only describe the run is as if it were absent.
        """
        own: Any = cls
        hints, entries = _hints(own), {}
        for key, name in _NAMES.items():
            try:
                entries[name] = _read(stored.get(key), hints[name])
            except (ValueError, KeyError, TypeError) as error:
                if key in _COUNTED:
                    raise FileFormatError(_UNREADABLE.format(error)) from error
        found = cls(**entries, stored=stored)
        faults = {
            "cautions: expected pairs of counts": any(len(pair) != 2 for pair in (found.cautions or {}).values()),
            "unread: expected three numbers for each reason": any(
                len(row) != 3 for reasons in (found.unread or {}).values() for row in reasons.values()
            ),
        }
        for fault in (fault for fault, is_so in faults.items() if is_so):
            raise FileFormatError(_UNREADABLE.format(fault))
        return found

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
            raise FileFormatError(_UNREADABLE.format(error)) from error
        return cls.of(stored)

    def to_json(self) -> dict[str, Any]:
        """The entries that are not None, as plain values."""
        values = {key: getattr(self, name) for key, name in _NAMES.items()}
        return {key: _plain(value) for key, value in values.items() if value is not None}

    def __or__(self, other: ScoreMetadata) -> ScoreMetadata:
        """The entries of both; those of the ``other`` win."""
        values = {name: getattr(other, name) for name in _NAMES.values()}
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    def for_schema(self) -> dict[bytes, str]:
        """The metadata of a table in memory."""
        return {METADATA: json.dumps(self.to_json())}

    def settings(self) -> dict[str, Any]:
        """The stored versions, options and columns of the scores, by which runs are compared."""
        return {key: self.stored[key] for key in ("fastmetrics", "unicode", "scores", "columns") if key in self.stored}

    @property
    def own_columns(self) -> dict[str, str]:
        """The user's columns that were read or named, by their canonical names."""
        return {**(self.columns or {}), **(self.named or {})}

    def roles(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The columns that tell rows apart (:func:`~fastmetrics.base.column_names.roles`), a named id first."""
        found, own = roles(names), self.own_columns.get("id")
        if self.missing_by_ranking is not None:
            found["setting"] += [name for name in names if name == RANKING]
        if own is None or own not in names:
            return found
        return {**found, "id": [own, *(name for name in found["id"] if name != own)]}

    def system_of(self, names: Sequence[str]) -> str | None:
        """The column that names the system of each row, or the ranking of each query; None without one."""
        is_own = self.missing_by_ranking is not None
        return next((name for name in names if is_system(name) or (is_own and name == RANKING)), None)

    def settings_of(self, score: str) -> Mapping[str, Any]:
        """The metric and options of a score, or the rubric and model of a judged column; empty if unknown."""
        settings = (self.scores or {}).get(score)
        return settings if isinstance(settings, Mapping) else {}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The lowest and the highest score of judged columns, from their rubrics."""
        ranges = {}
        for score in self.scores or ():
            match self.settings_of(score).get("range"):
                case [int() | float() as low, int() | float() as high]:
                    ranges[score] = float(low), float(high)
        return ranges

    def n_unread(self, score: str) -> int:
        """The number of rows without a score since they hold a value that could not be read."""
        return sum(rows for rows, _, scored in (self.unread or {}).get(score, {}).values() if not scored)

    @property
    def rows(self) -> int | None:
        """The number of rows; None if unknown or contradictory."""
        numbers = {counts.n_rows for counts in (self.metrics or {}).values()}
        return numbers.pop() if len(numbers) == 1 else None if numbers else self.n_rows


_NAMES = {
    {"version": "fastmetrics", "more_columns": "made"}.get(entry.name, entry.name): entry.name
    for entry in fields(ScoreMetadata)
}
del _NAMES["stored"]
"""The fields by their keys in JSON."""

_COUNTED = {
    *("keep_counts", "strip_thoughts", "options", "declared", "metrics", "missing_queries", "missing_by_ranking"),
    *("n_rejected", "counts", "cautions", "unread", "drift", "n_rows"),
}
"""The keys of what readers count or compute by; the others only describe the run."""

_UNREADABLE = f"the scores' metadata {METADATA.decode()!r} cannot be read: {{}}; score the rows again"

SETTINGS = frozenset(list(_NAMES)[: list(_NAMES).index("metrics")])
"""The keys of the settings, which are known before the first row."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
