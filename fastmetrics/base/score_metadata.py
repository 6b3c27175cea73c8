"""The metadata of scores: the settings that made them, counts of corpus metrics, drift of the rows, missing queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.errors import FileFormatError, some

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
"""Per score and reason, the rows with a value that could not be read, the first of them, and 1 if they are scored."""


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

    @classmethod
    def of(cls, entry: Any) -> InputDrift:
        """An entry of the metadata; raises ``ValueError``, ``KeyError`` or ``TypeError`` if it cannot be read."""
        inputs = [
            InputShares(str(part["name"]), [float(x) for x in part["shares"]], [int(x) for x in part["counts"]])
            for part in entry["inputs"]
        ]
        if any(len(part.shares) != len(part.counts) for part in inputs):
            raise ValueError("drift: expected a count for each share")
        return cls(int(entry["labelled"]), inputs)

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
    return [f"{', '.join(scores)}: {note}" for note, scores in names.items()]


def _note(drift: InputDrift) -> str:
    """The note on one fitted score; empty if its metrics are near enough."""
    far = drift.far()
    if not far:
        return ""
    listed = some((f"{name} {index:.2f}" for name, index in far.items()), _MOST_NAMES)
    return (
        f"these {drift.n_rows:,} rows are far from the labelled rows that it was fitted to: the distribution differs "
        f"for {len(far)} of {len(drift.inputs)} metrics (population stability index: {listed}; from "
        f"{FAR} on); its held-out figures may not hold here: label some of these rows and fit it again"
    )


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
    "zero": ("score 0", "missing: zero, as trec_eval -c; skip leaves them out"),
    "skip": ("are left out", "missing: skip, the default of trec_eval; zero scores them 0"),
}


@dataclass(frozen=True)
class MissingQueries:
    """How many of the ``judged`` queries a ranking lacks, and the rule for them."""

    count: int
    judged: int
    rule: str

    @classmethod
    def of(cls, entry: Any) -> MissingQueries | None:
        """The stored entry of the metadata, or None for null; raises ``ValueError`` if it cannot be read."""
        if entry is None:
            return None
        if not isinstance(entry, Mapping) or entry.get("rule") not in _HOW:
            raise ValueError("missing_queries: expected count, judged and rule")
        return cls(int(entry["count"]), int(entry["judged"]), entry["rule"])

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
        return [f"{self.count:,} of {self.judged:,} judged queries are not in the ranking and {how} ({option})"]


# The metadata of an output: the settings that made it, and what a run counted in its rows.
#
# A run writes them as one JSON object, into or beside its output; a table of scores in memory has them in its schema.


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


def _unread(value: Any) -> UnreadRows:
    unread = {name: _counts(reasons) for name, reasons in value.items()}
    if any(len(row) != 3 for reasons in unread.values() for row in reasons.values()):
        raise ValueError("unread: expected three numbers for each reason")
    return unread


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
    named: Mapping[str, str] | None = _entry(_texts)
    """The user's columns that were named, read or not, by their canonical names."""
    passed_over: Mapping[str, Sequence[str]] | None = _entry(_lists)
    """The columns that were not read although their names fit."""
    keep: Sequence[str] | None = _entry(_list)
    lists: Sequence[str] | None = _entry(_list)
    keep_counts: bool | None = _entry(bool)
    strip_thoughts: bool | None = _entry(bool)
    extracted: Mapping[str, Any] | None = _entry(_mapping)
    """The columns of extracted answers, and the extractors of each."""
    options: Mapping[str, Any] | None = _entry(_object)
    """The value of each option for all metrics whose names set no other."""
    declared: Mapping[str, Any] | None = _entry(_object)
    """Per score column, what its name does not tell of its metric."""
    repeats: int | None = _entry(_number)
    sample: Mapping[str, int] | None = _entry(_mapping)
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
    unread: UnreadRows | None = _entry(_unread)  # noqa: RUF009 - a field
    drift: Mapping[str, InputDrift] | None = _entry(_drift)
    """Per fitted score, the distributions of the metrics that it reads, beside those of the labelled rows."""
    n_rows: int | None = _entry(_count)
    """The number of rows, if no score column has it."""
    fingerprint: Mapping[str, str] | None = _entry(_mapping)
    """The fingerprints of the ``ids``, and of ids and ``questions``."""
    name: str | None = _entry(_text)
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

    @property
    def own_columns(self) -> dict[str, str]:
        """The user's columns that were read or named, by their canonical names."""
        return {**(self.columns or {}), **(self.named or {})}

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

    def n_unread(self, score: str) -> int:
        """The number of rows without a score since they hold a value that could not be read."""
        return sum(rows for rows, _, scored in (self.unread or {}).get(score, {}).values() if not scored)

    @property
    def rows(self) -> int | None:
        """The number of rows; None if unknown or contradictory."""
        numbers = {counts.n_rows for counts in (self.metrics or {}).values()}
        return numbers.pop() if len(numbers) == 1 else None if numbers else self.n_rows


_ENTRIES = {entry.metadata["key"] or entry.name: entry for entry in fields(ScoreMetadata) if entry.name != "stored"}
"""The fields by their keys in JSON."""

SETTINGS = frozenset(list(_ENTRIES)[: list(_ENTRIES).index("metrics")])
"""The keys of the settings, which are known before the first row."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
