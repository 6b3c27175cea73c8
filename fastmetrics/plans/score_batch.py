"""Scoring a record batch under a plan: the pure function that threads, the command line and clusters map.

``score`` and the functions of single metrics share this code: columns are converted to Arrow, the table is split into
batches, and :func:`score_batch` scores each.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Watch, arrow_numbers, decoded, is_list, is_text, plain
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.score_metadata import BatchSums, counts_array
from fastmetrics.base.text_structure import as_choices, as_flags, as_json, as_text_lists, as_texts, is_value
from fastmetrics.base.threads import ordered
from fastmetrics.base.token_counts import Told, told
from fastmetrics.metrics.batch import Batch, Unread, where_present
from fastmetrics.metrics.fitted_metric import FittedMetric
from fastmetrics.metrics.metric import caution_name
from fastmetrics.plans.notes import (
    column_counts,
    extraction_counts,
    read_as,
    reason_counts,
    spelling_counts,
    thought_counts,
)
from fastmetrics.plans.plan import Plan
from fastmetrics.stats.fingerprints import fingerprint_of_hashes, is_hashable, text_hashes
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.sources import TableSource
from fastmetrics.text.thoughts import without_thoughts
from fastmetrics.text.tokenize import Vocabularies

T = TypeVar("T")

_SMALL = 1 << 16
"""Bytes of a table that is scored at once: to start a thread takes longer, and nobody interrupts it."""

_FEW_ROUNDS = 4
"""A table of at most this many rounds of batches over all threads is divided evenly."""


def fit(plan: Plan, batches: Callable[[], Iterable[pa.RecordBatch]]) -> Plan:
    """The plan with what is known from rows alone: the unit of latencies, and the options that some metrics compute.

    ``batches`` returns the rows at each call.
    """
    if plan.latency_unit is None and "latency_ms" in plan.used:
        plan = replace(plan, latency_unit=_latency_unit(rows_of(batch, plan) for batch in batches()))
    if all(score.metric.rows.fit is None for score in plan.scores):
        return plan
    scores = []
    for score in plan.scores:
        if score.metric.rows.fit is not None:
            rows = (rows_of(batch, plan).read(score.options) for batch in batches())
            score = replace(score, options=score.metric.rows.fit(rows, score.options))
        scores.append(score)
    return replace(plan, scores=tuple(scores))


_SEEN, _SLOW, _MOST = 1_000, 100.0, 0.9


def _latency_unit(batches: Iterable[Batch]) -> float:
    """The milliseconds in a unit of latencies that no name tells: 1, or NaN if they may as well be seconds.

    They may if 90 % of the first thousand are below 100, which nobody calls milliseconds.
    """
    seen = np.zeros(0)
    for batch in batches:
        values = batch.numbers("latency_ms").values
        seen = np.concatenate([seen, values[values > 0]])[:_SEEN]
        if len(seen) == _SEEN:
            break
    return math.nan if len(seen) and np.count_nonzero(seen < _SLOW) >= _MOST * len(seen) else 1.0


def fitted(plan: Plan, source: TableSource) -> Plan:
    """The plan with what is known from rows of a source alone, which are read for it."""
    is_sure = plan.latency_unit is not None or "latency_ms" not in plan.used
    if is_sure and all(score.metric.rows.fit is None for score in plan.scores):
        return plan
    source.select(plan.columns_read)  # all at once: a reader in memory can be read only once
    return source.select(plan.kinds).settled(
        lambda selection: fit(plan, partial(good_batches, source, selection, skip=True))  # scoring reports bad rows
    )


@dataclass(frozen=True)
class Reading:
    """How a plan reads the batches of one schema: what does not depend on their rows, for all of them."""

    schema: pa.Schema
    converted: Sequence[tuple[str, Callable[[pa.Array], Mapping[str, pa.Array]]]]
    """What some columns become."""
    numeric: frozenset[str]
    """The columns that hold numbers."""
    read: Mapping[str, str]
    """What of each column is read as text."""
    told: Told
    """What counts of tokens and latencies tell."""
    compares_spelling: bool
    cautioned: Mapping[str, str]
    """For each score with cautions, the first of the scores whose cautions concern the same rows."""

    @classmethod
    def of(cls, plan: Plan, schema: pa.Schema) -> Reading:
        """The reading of a schema, made once for batches in sequence."""
        known: Reading | None = plan.memory.get("reading")
        if known is None or not known.schema.equals(schema):
            known = plan.memory["reading"] = cls._made(plan, schema)
        return known

    @classmethod
    def _made(cls, plan: Plan, schema: pa.Schema) -> Reading:
        converted: list[tuple[str, Callable[[pa.Array], Mapping[str, pa.Array]]]] = []

        def convert(column: str, change: Callable[..., pa.Array], *arguments: Any) -> None:
            converted.append((column, partial(_changed, column, change, arguments)))

        kinds = {column: COLUMNS[column].kind if column in COLUMNS else "" for column in plan.used}
        held = {column: plain(schema.field(name).type) for column, name in plan.used.items()}
        for column, name in plan.used.items():
            kind, wanted = kinds[column], plan.kinds.get(name)
            if name in plan.lists:
                convert(column, as_text_lists, name, kind, plan.lists[name])
            is_plain = schema.field(name).type in _PLAIN and name not in plan.lists
            if kind in ("text", "texts") and wanted in ("value", "values") and not is_plain:
                convert(column, as_texts, name, kind)
            if kind == "flag":
                convert(column, as_flags, name)
            if wanted == "choices":
                converted.append((column, partial(as_choices, name=name)))
            if wanted in ("json", "jsons"):
                convert(column, partial(as_json, several=wanted == "jsons"))
        if plan.strip_thoughts and "answer" in plan.used:
            convert("answer", without_thoughts)
        unit = plan.latency_unit
        is_told = unit is None or not math.isnan(unit)
        if is_told and unit not in (None, 1.0) and "latency_ms" in plan.used:
            convert("latency_ms", _times, unit)
        numeric = {column for column, type_ in held.items() if is_value(type_.value_type if is_list(type_) else type_)}
        read = {column: read_as(kinds[column], held[column]) for column in plan.used if column not in plan.keys}
        spelt = plan.compares_spelling and is_text(held["answer"])
        told_of = told(plan.used)._replace(latency=is_told)
        firsts: dict[Hashable, str] = {}
        cautioned = {
            score.name: firsts.setdefault(key, score.name)
            for score in plan.scores
            if (key := score.metric.caution_key(score.options)) is not None
        }
        return cls(schema, converted, frozenset(numeric), read, told_of, spelt, cautioned)


_PLAIN = (pa.string(), pa.large_string())
"""The types of texts that are no others' codes."""


def _changed(
    column: str, change: Callable[..., pa.Array], arguments: Sequence[Any], array: pa.Array
) -> dict[str, pa.Array]:
    return {column: change(array, *arguments)}


def _times(array: pa.Array, unit: float) -> pa.Array:
    return pc.multiply(decoded(array).cast(pa.float64(), safe=False), unit)


def rows_of(batch: pa.RecordBatch, plan: Plan, words: Vocabularies | None = None, watch: Watch | None = None) -> Batch:
    """The columns of a record batch that a plan needs, under their canonical names."""
    reading = Reading.of(plan, batch.schema)
    columns = {column: batch.column(name) for column, name in plan.used.items()}
    for column, change in reading.converted:
        columns |= change(columns[column])
    return Batch(columns, plan.shared, words, watch, reading.numeric, reading.told)


@dataclass(frozen=True)
class ScoredRows:
    """The scores of the rows of a batch, before they are a table."""

    kept: Sequence[pa.Array]
    """The columns that were copied, and the answers that were extracted."""
    scores: Mapping[str, tuple[Floats, Flags]]
    """For each metric of rows, NaN where it is undefined or a row lacks an input, and which rows have all inputs."""
    stored: Mapping[str, pa.Array]
    """By column, the counts of corpus metrics for each row."""
    sums: BatchSums
    given: Batch
    """The rows, with what was read of them."""

    def column(self, name: str) -> pa.Array:
        """The scores of a metric, null for a row that lacks an input."""
        values, present = self.scores[name]
        return arrow_numbers(values, _FLOAT, ~present)


_FLOAT = pa.float64()


def score_batch(
    batch: pa.RecordBatch, plan: Plan, words: Vocabularies | None = None, watch: Watch | None = None
) -> pa.RecordBatch:
    """The scores of a record batch: the kept columns, one float64 column per metric, and the stored counts.

    A score is null where an input is missing and NaN where it is undefined.  A corpus metric has no column: its counts
    are in the schema's metadata, as JSON under the key ``fastmetrics``, with the counts of cautions, the sums of
    fingerprints, and the counts of drift and of unread rows.  The function is pure; ``words`` from earlier batches save
    time and do not change the result.  ``watch`` times the representations and metrics.
    """
    rows = score_rows(batch, plan, words, watch)
    texts = [
        text
        for score in plan.scores
        if score.metric.beside
        for text in score.metric.texts(rows.given, score.options, rows.scores[score.name][0])
    ]
    arrays = [*rows.kept, *map(rows.column, rows.scores), *texts, *rows.stored.values()]
    names = [*plan.copied, *plan.extracted, *rows.scores, *plan.texts, *rows.stored]
    return rows.sums.on(pa.RecordBatch.from_arrays(arrays, names=names))


def score_rows(
    batch: pa.RecordBatch, plan: Plan, words: Vocabularies | None = None, watch: Watch | None = None
) -> ScoredRows:
    """The scores of a record batch as arrays, for a caller in the same process."""
    reading, given = Reading.of(plan, batch.schema), rows_of(batch, plan, words, watch)
    rows = given.read({"extract": plan.common.get("extract")})
    kept = [batch.column(name) for name in plan.copied.values()]
    kept += [given.read({"extract": extract}).columns["answer"] for extract in plan.extracted.values()]
    scores: dict[str, tuple[Floats, Flags]] = {}
    counts: dict[str, list[int]] = {}
    columns: dict[str, pa.Array] = {}
    cautions = column_counts(rows, plan.used, reading.read, has_blanks=plan.has_blanks)
    if "answer" in plan.used:
        name = plan.used["answer"]
        cautions |= thought_counts(batch.column(name), given, name, stripped=plan.strip_thoughts)
        for extract in plan.extracts:
            cautions |= extraction_counts(given.read({"extract": extract}).columns["answer"], name, extract)
    if reading.compares_spelling:
        cautions |= spelling_counts(rows)
    if plan.reason is not None:
        cautions |= reason_counts(batch.column(plan.used["answer"]), batch.column(plan.reason))
    cautioned: dict[str, dict[int, list[int]]] = {}
    drift: dict[str, list[int]] = {}
    unread: dict[str, dict[str, list[int]]] = {}
    for score in plan.scores:
        with nullcontext() if watch is None else watch(score.name):
            first = reading.cautioned.get(score.name)
            if first is not None:
                if first not in cautioned:
                    cautioned[first] = score.metric.cautioned(given, score.options)
                cautions |= {caution_name(score.name, place): pair for place, pair in cautioned[first].items()}
            column = plan.kept_counts.get(score.name)
            if score.metric.keeps is not None and column is not None:
                found: Sequence[Unread] = []
                if column not in columns:
                    lists, counted, found = score.metric.row_counts(given, score.options)
                    columns[column] = where_present(lists, counted)
                counts[score.name] = [len(columns[column]) - columns[column].null_count]
            elif score.metric.corpus is not None:
                added, counted, found = score.metric.row_counts(given, score.options)
                counts[score.name] = added[counted].sum(axis=0).tolist()
                cautions.setdefault(score.name, [0, int(np.count_nonzero(counted))])
                if column is not None:
                    columns[column] = counts_array(added, counted)
            else:
                values, present, found = given.scored(score.metric, score.options)
                scores[score.name] = values, present
                if isinstance(score.metric, FittedMetric):
                    drift[score.name] = score.metric.input_counts(given, score.options)
            if found:
                unread[score.name] = {some.key: some.counted() for some in found}
    sums = BatchSums(counts, cautions, fingerprints(batch, plan.identity), drift, unread, batch.num_rows)
    return ScoredRows(kept, scores, columns, sums, given)


def fingerprints(batch: pa.RecordBatch, identity: Mapping[str, str]) -> dict[str, list[int]]:
    """The fingerprints of the rows: by id, and by id and question, if these columns are read."""
    columns = {canonical: batch.column(name) for canonical, name in identity.items()}
    hashes = {name: text_hashes(column) for name, column in columns.items() if is_hashable(column.type)}
    sums = {"ids": fingerprint_of_hashes([hashes["id"]])} if "id" in hashes else {}
    return {**sums, "questions": fingerprint_of_hashes(list(hashes.values()))} if "question" in hashes else sums


class VocabularyPool:
    """Vocabularies shared by threads one after the other: one per thread, created on demand, replaced when full."""

    def __init__(self) -> None:
        self._free: deque[Vocabularies] = deque()

    @contextmanager
    def borrow(self) -> Iterator[Vocabularies]:
        """A vocabulary for this thread alone, returned at the end."""
        try:
            words = self._free.pop()
        except IndexError:
            words = Vocabularies()
        yield words
        if not words.full:
            self._free.append(words)


class Scorer:
    """``score_batch`` under one plan, thread-safe, with a cache of known words."""

    def __init__(self, plan: Plan, pool: VocabularyPool | None = None) -> None:
        self.plan = plan
        self._pool = VocabularyPool() if pool is None else pool

    def __reduce__(self) -> tuple[type[Scorer], tuple[Plan]]:
        """Pickling drops the cache of words."""
        return Scorer, (self.plan,)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The scores of a batch."""
        with self._pool.borrow() as words:
            return score_batch(batch, self.plan, words=words)

    def rows(self, batch: pa.RecordBatch) -> ScoredRows:
        """The scores of a batch as arrays."""
        with self._pool.borrow() as words:
            return score_rows(batch, self.plan, words=words)


def map_batches(
    work: Callable[[pa.RecordBatch], T], batches: Iterable[pa.RecordBatch], threads: int, *, at_once: bool = False
) -> Generator[T, None, None]:
    """``work`` applied to consecutive batches of a table on threads, in order; ``at_once`` if there is one small batch.

    An ``InputError`` about one row of a batch names the row of the table.
    """

    def located(item: tuple[int, pa.RecordBatch]) -> T:
        first, batch = item
        try:
            return work(batch)
        except InputError as error:
            if error.row is None:
                raise
            raise InputError(f"row {first + error.row}: ", error.message) from error

    def numbered() -> Iterator[tuple[int, pa.RecordBatch]]:
        first = 0
        for batch in chain(head, batches):
            yield first, batch
            first += batch.num_rows

    batches = iter(batches)
    head = list(islice(batches, 2))
    if at_once and len(head) == 1 and head[0].nbytes <= _SMALL:
        yield located((0, head[0]))
    else:
        yield from ordered(located, numbered(), threads)


def _repeated_bytes(column: pa.ChunkedArray) -> int:
    """The bytes of the texts of a dictionary, each as often as rows have it: every row is scored by itself."""
    if not (pa.types.is_dictionary(column.type) and is_text(column.type.value_type)):
        return 0
    sizes = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(pc.sum(of_rows).as_py() or 0 for of_rows in sizes)


def slices(table: pa.Table, threads: int = 1) -> Iterator[pa.RecordBatch]:
    """The rows of ``table`` in batches of at most ``SIZES.batch_rows`` rows and about ``SIZES.batch_bytes`` bytes.

    Tables of few batches are divided evenly, so that all threads have work.
    """
    nbytes = table.nbytes + sum(map(_repeated_bytes, table.columns))
    rows = max(1, min(SIZES.batch_rows, SIZES.batch_bytes * table.num_rows // max(nbytes, 1)))
    rounds = math.ceil(table.num_rows / (rows * threads))
    if threads > 1 and rounds <= _FEW_ROUNDS:
        rows = min(rows, max(SIZES.least_batch_rows, math.ceil(table.num_rows / (max(rounds, 1) * threads))))
    batches = table.to_batches(max_chunksize=rows)
    # Arrow cannot join dictionaries that hold nulls
    joins = not any("dictionary<" in str(type_) for type_ in table.schema.types)
    yield from _together(batches, rows) if joins else (batch for batch in batches if batch.num_rows)


def _together(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches that have rows; small ones that follow each other as one of at most so many rows."""
    small: list[pa.RecordBatch] = []
    for batch in batches:
        if small and sum(part.num_rows for part in small) + batch.num_rows > rows:
            yield _joined(small)
            small = []
        if 2 * batch.num_rows > rows:
            yield from [_joined(small)] if small else []
            small = []
            yield batch
        elif batch.num_rows:
            small.append(batch)
    if small:
        yield _joined(small)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of batches as one batch."""
    if len(batches) == 1:
        return batches[0]
    [batch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch
