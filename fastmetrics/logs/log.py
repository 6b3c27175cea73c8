"""A log of questions and answers as batches of the requested columns, with its times and counts by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import (
    Flags,
    Floats,
    Ints,
    Uint64s,
    arrow_numbers,
    decoded,
    floats_of_arrow,
    is_number,
    is_text,
    numpy_values,
    plain,
    text_of_arrow,
)
from fastmetrics.base.column_names import COLUMNS, resolve
from fastmetrics.base.columns import check_type
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.base.threads import ordered
from fastmetrics.metrics.abstention import PHRASES, abstained, refusals_in
from fastmetrics.metrics.batch import Batch
from fastmetrics.tables.good_rows import Piece, gathered
from fastmetrics.tables.input_files import PLAIN, ReadSettings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Reject
from fastmetrics.tables.sources import FrameSource
from fastmetrics.vectors.embedder import Embedder, embedder_of
from fastmetrics.vectors.vector_arrays import Vectors

# Times as microseconds since 1970: of Arrow's types, of texts in ISO 8601, and of numbers.


MISSING = np.iinfo(np.int64).min
"""The value of a missing time."""

ZONED, LOCAL = "with a time zone", "without a time zone"
_MILLISECONDS = 1e11
"""Numbers this large are milliseconds: as seconds they would be beyond the year 5000."""
_MICRO = 1_000_000
_MOST = 1e14


def times_of(column: pa.Array, name: str, first: int = 0) -> tuple[Ints, str | None]:
    """Microseconds since 1970 of each row, and whether they are ``ZONED`` or ``LOCAL``, None without times.

    ``first`` is the number of the first row.  Numbers are seconds, from 10¹¹ on milliseconds, and zoned.  Raises
    ``InputError`` with the row for text that is not a time, and for times with a time zone among times without.
    """
    column = decoded(column)
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return np.full(len(column), MISSING), None
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = ZONED if pa.types.is_timestamp(kind) and kind.tz is not None else LOCAL
        return _filled(pc.cast(column, pa.timestamp("us", kind.tz if zone == ZONED else None), safe=False)), zone
    if is_number(kind):
        return _of_numbers(floats_of_arrow(column, name), name, first), ZONED
    if not is_text(kind):
        raise ColumnError(f"column {name!r}: expected times, got {kind}")
    blank = pc.equal(pc.utf8_trim_whitespace(column), "")
    text = pc.if_else(blank, pa.scalar(None, kind), pc.utf8_trim_whitespace(column))
    if text.null_count == len(text):
        return np.full(len(column), MISSING), None
    for type_, zone in ((pa.timestamp("us", "UTC"), ZONED), (pa.timestamp("us"), LOCAL)):
        try:
            return _filled(text.cast(type_)), zone
        except pa.ArrowInvalid:
            continue
    return _of_texts(text, name, first)


def _filled(times: pa.Array) -> Ints:
    return np.asarray(times.cast(pa.int64()).fill_null(MISSING)).astype(np.int64)


def _of_numbers(values: Floats, name: str, first: int) -> Ints:
    wrong = np.flatnonzero(~(np.abs(values) < _MOST) & ~np.isnan(values))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {first + row}: {values[row]:g} is not a time in seconds since 1970")
    scale = np.where(np.abs(values) >= _MILLISECONDS, _MICRO / 1000, _MICRO)
    return np.where(np.isnan(values), MISSING, np.rint(np.nan_to_num(values) * scale).astype(np.int64))


def _of_texts(text: pa.Array, name: str, first: int) -> tuple[Ints, str | None]:
    """Texts of mixed forms: numbers as text, or an error with the first invalid row."""
    try:
        return _of_numbers(floats_of_arrow(text.cast(pa.float64()), name), name, first), ZONED
    except pa.ArrowInvalid:
        seen: dict[str, int] = {}
    for row, value in enumerate(text):
        if value.is_valid:
            zone = next((zone for type_, zone in _TYPES if _reads(value, type_)), None)
            if zone is None:
                way = "expected a time in ISO 8601, such as 2024-01-05T10:30:00Z, or seconds since 1970"
                raise InputError(f"column {name!r}, row {first + row}: {way}, got {value.as_py()[:40]!r}")
            seen.setdefault(zone, first + row)
    raise InputError(mixed(name, seen))


_TYPES = ((pa.timestamp("us", "UTC"), ZONED), (pa.timestamp("us"), LOCAL))


def _reads(value: pa.Scalar, type_: pa.DataType) -> bool:
    try:
        value.cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def mixed(name: str, rows: dict[str, int]) -> str:
    """The error message for a column with and without time zones; ``rows`` has the first row of each."""
    zones_text = " and ".join(f"row {row} is {zone}" for zone, row in sorted(rows.items(), key=lambda item: item[1]))
    return f"column {name!r}: {zones_text}, so their order is unknown; give all times a zone, or none"


# Counts and sums of scores by key (an id or a word), exact over parts, in memory bounded by the number of keys.


KEY = "key"
_MANY = 1 << 20


class Tally:
    """Counts by key: tables of a column ``key`` and integer columns are summed; equal keys are merged.

    >>> tally = Tally(["n"])
    >>> for part in (["a", "b"], ["b", "c"]):
    ...     tally.add(counted(pa.array(part), {"n": np.ones(2)}))
    >>> sorted(zip(*tally.table().to_pydict().values()))
    [('a', 1), ('b', 2), ('c', 1)]
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._most = _MANY

    def add(self, part: pa.Table | None) -> None:
        """Add the counts of a part, or None."""
        if part is None or not part.num_rows:
            return
        self._parts.append(part)
        self._rows += part.num_rows
        if self._rows > self._most:
            self._merge()
            self._most = max(_MANY, 2 * self._rows)

    def table(self) -> pa.Table:
        """Every key once, with its counts."""
        self._merge()
        if not self._parts:
            return pa.table(
                {KEY: pa.nulls(0, pa.large_string()), **{name: pa.nulls(0, _INT) for name in self._columns}}
            )
        return self._parts[0]

    def _merge(self) -> None:
        if self._parts:
            joined = pa.concat_tables(_alike(self._parts), promote_options="permissive")
            encoded = joined[KEY].combine_chunks().dictionary_encode()
            codes, keys = numpy_values(encoded.indices), encoded.dictionary
            sums = {
                name: arrow_numbers(_summed(codes, numpy_values(joined[name].combine_chunks()), len(keys)), _INT)
                for name in self._columns
            }
            self._parts = [pa.table({KEY: keys, **sums})]
            self._rows = self._parts[0].num_rows


_INT = pa.int64()


def _summed(codes: npt.NDArray[np.int32], counts: Ints, n: int) -> Ints:
    """The sum of each code's counts, as integers."""
    total = np.zeros(n, np.int64)
    np.add.at(total, codes, counts)
    return total


def _alike(parts: Sequence[pa.Table]) -> Sequence[pa.Table]:
    """The parts with keys of one type: text, if some are numbers and others text."""
    if len({part.schema.field(KEY).type for part in parts}) == 1:
        return parts
    return [part.set_column(0, KEY, part[KEY].cast(pa.large_string())) for part in parts]


def counted(keys: pa.Array, counts: Mapping[str, npt.ArrayLike]) -> pa.Table:
    """A part of a tally: integers of any representation, with their keys."""
    return pa.table({KEY: keys, **{name: arrow_numbers(np.array(n, np.int64), _INT) for name, n in counts.items()}})


_SCALE = 2.0**30
_LARGEST = 2.0**32
_HALF = 1 << 31


def score_column(rows: pa.RecordBatch, name: str, first: int) -> Floats:
    """A column of scores, NaN if missing; raises ``InputError`` for a score that is too large to be score_sums."""
    values = floats_of_arrow(rows.column(name), name)
    wrong = np.flatnonzero(np.abs(values) > _LARGEST)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {first + row}: {values[row]:g} is not a score; expected at most ±2**32")
    return values


def sum_names(name: str) -> tuple[str, str, str]:
    """The three columns of a tally that hold the sum of a score: its number, and its high and low part."""
    return f"{name} n", f"{name} high", f"{name} low"


def score_sums(name: str, codes: Ints, values: Floats, keys: int) -> dict[str, Any]:
    """The sums of a part: ``values[i]``, if it is a number, belongs to the key ``codes[i]``.

    A score is rounded to the nearest multiple of 2⁻³⁰, so means of scores are accurate to about 10⁻⁹.
    """
    present = ~np.isnan(values)
    codes, whole = codes[present], np.rint(values[present] * _SCALE).astype(np.int64)
    # sums of fewer than 2**21 numbers below 2**32 are exact in float64
    parts = (np.ones(len(codes)), whole // _HALF, whole % _HALF)
    sums = (np.bincount(codes, part, keys) for part in parts)
    return dict(zip(sum_names(name), sums, strict=True))


def mean_of(table: pa.Table, name: str) -> Floats:
    """The mean score of each key of a tally, NaN without scores."""
    n, high, low = (numpy_values(table[column].combine_chunks()) for column in sum_names(name))
    total = (high * float(_HALF) + low) / _SCALE
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)


# A log of questions and answers, in files or in memory, as batches of the requested columns; and its questions.


T = TypeVar("T")
R = TypeVar("R")

_SIZES = ReadSizes(parquet_rows=SIZES.log_rows, parquet_bytes=64 << 20)


class LogPart(NamedTuple):
    """Some rows of a log, under canonical names, and the number of the first, from 0."""

    first: int
    rows: pa.RecordBatch


class Columns(NamedTuple):
    """The mapping of a log's columns: ``columns`` (canonical: user's) the preset ``schema``, and how files are read."""

    columns: Mapping[str, str] | None = None
    schema: str | None = None
    reading: ReadSettings = PLAIN


BY_NAME = Columns()
"""The mapping by canonical names only."""


@dataclass(frozen=True)
class Log:
    """An opened log: ``names`` maps the canonical columns found to their names in the log."""

    names: Mapping[str, str]
    read: Callable[[Callable[[pa.Schema, Iterator[Piece]], Any], int], Any]

    @property
    def has(self) -> frozenset[str]:
        """The canonical columns found."""
        return frozenset(self.names)

    def parts(self, work: Callable[[LogPart], T], add: Callable[[Iterator[T]], R], threads: int) -> R:
        """Reduce with ``add`` the results of ``work`` for each part, in order, with ``threads`` parts at a time."""

        def make(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            renamed = self._renamed(schema)
            return add(ordered(lambda item: work(self._part(*item, renamed)), _numbered(pieces), threads))

        return self.read(make, threads)

    def table(self) -> pa.Table:
        """All rows as one table, under canonical names."""

        def make(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
            renamed = self._renamed(schema)
            rows = (self._part(first, piece, renamed).rows for first, piece in _numbered(pieces))
            return pa.Table.from_batches(rows, schema=renamed)

        return self.read(make, 1)

    def _renamed(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([(name, plain(schema.field(column).type)) for name, column in self.names.items()])

    def _part(self, first: int, piece: Piece, renamed: pa.Schema) -> LogPart:
        batch = piece.batch()
        arrays = [batch.column(column) for column in self.names.values()]
        return LogPart(first, pa.RecordBatch.from_arrays(arrays, schema=renamed))


def _numbered(pieces: Iterator[Piece]) -> Iterator[tuple[int, Piece]]:
    """Each piece and the number of its first row."""
    first = 0
    for piece in pieces:
        yield first, piece
        first += piece.rows


def open_log(
    log: Any,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    numbers: Sequence[str] = (),
    how: Columns = BY_NAME,
    labels: Sequence[str] = (),
    *,
    again: bool = False,
    what: str = "log",
    rejects: list[Reject] | None = None,
) -> Log:
    """Open a log with its ``needed`` columns, the ``optional`` ones that exist, and ``numbers`` by their own names.

    ``labels`` are also found by their own names and may have any type.  A log in memory that is to be read ``again`` is
    held, as a reader or a generator has its rows only once.  ``what`` is the log in messages, and a list of
    ``rejects`` gets the rows that cannot be read, which end the reading otherwise.

    ``log`` is an input of ``score``.  Raises ``ColumnError`` for a missing needed
    column, or for a column of an unexpected kind.
    """
    source = open_table(log, how.reading, _SIZES, name=what, schema=how.schema)
    present = source.names
    mapping = resolve(present, how.columns, how.schema, {*needed, *optional})
    for name in needed:
        if name not in mapping:
            raise _missing(name, present)
    columns = {name: mapping[name] for name in (*needed, *optional) if name in mapping}
    for argument, group in (("scores", numbers), ("labels", labels)):
        for name in group:
            if name not in present:
                raise ColumnError(Argument(argument, name), ": ", UnknownNameError.of("column", name, present).message)
    names = {**columns, **{name: name for name in (*numbers, *labels) if name not in columns.values()}}
    others = dict.fromkeys(labels, "any") | dict.fromkeys(numbers, "number")
    kinds = {column: COLUMNS[name].kind if name in columns else others[name] for name, column in names.items()}
    if again and isinstance(source, FrameSource):
        source.hold(kinds)
    as_read = {column: "any" if kind == "time" else kind for column, kind in kinds.items()}

    def read(make: Callable[[pa.Schema, Iterator[Piece]], R], threads: int) -> R:
        def checked(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            for column, kind in kinds.items():
                check_type("", column, kind, schema.field(column).type)
            return make(schema, pieces)

        return gathered(source, as_read, checked, threads, rejects)

    return Log(names, read)


def _missing(name: str, present: Sequence[str]) -> ColumnError:
    column = COLUMNS[name]
    others = f" (or {', '.join(column.aliases)})" if column.aliases else ""
    have = ", ".join(map(repr, present)) or "none"
    way = Argument("columns", {name: ...})
    return ColumnError(f"the log has no column {name!r}{others}; it has {have}; name the column with ", way)


_SPACE, _ASCII_END = ord(" "), 0x80


def abstains(answers: pa.Array) -> Flags:
    """Which answers abstain: those with the score 1 of the metric ``abstained``."""
    flags, size = np.zeros(len(answers), np.bool_), SIZES.log_answers
    for start in range(0, len(answers), size):
        batch = Batch({"answer": answers.slice(start, size)})
        refusals = refusals_in(batch, "answer", {"phrases": PHRASES})
        flags[start : start + size] = abstained(refusals) == 1
    return flags


def blank(texts: pa.Array) -> Flags:
    """Which texts are missing or contain only white space.

    Only texts whose first byte is white space are examined completely.
    """
    text = text_of_arrow(texts, "text")
    is_blank = ~text.valid | (text.starts == text.stops)
    some = np.flatnonzero(~is_blank)
    head = text.data[text.starts[some]]
    doubtful = some[(head <= _SPACE) | (head >= _ASCII_END)]
    trimmed = pc.utf8_trim_whitespace(texts.take(pa.array(doubtful)))
    is_blank[doubtful] = np.asarray(pc.equal(pc.binary_length(trimmed), 0))
    return is_blank


def answered(answers: pa.Array) -> Flags:
    """Which rows have an answer that is neither missing nor blank, and does not abstain."""
    return ~blank(answers) & ~abstains(answers)


_KEY, _TEXT = "key", "question"


def sampled(questions: pa.Array, keys: Uint64s, size: int) -> pa.Table:
    """The ``size`` distinct questions of a part with the smallest keys; among equal keys, the first in text order."""
    first = keys[: len(questions) if size else 0, 0]
    return with_smallest_keys(
        pa.table({_KEY: first, _TEXT: questions[: len(first)].cast(pa.large_string())}), size, _TEXT
    )


def sampled_of(samples: Sequence[pa.Table], size: int) -> pa.Table:
    """The sample of all parts, from the samples of each."""
    return with_smallest_keys(pa.concat_tables(samples), size, _TEXT)


def questions_of(samples: Sequence[pa.Table]) -> pa.Array:
    """The questions of samples."""
    nothing = pa.table({_TEXT: pa.array([], pa.large_string())})
    return pa.concat_tables([nothing, *(sample.select([_TEXT]) for sample in samples)])[_TEXT].combine_chunks()


def with_smallest_keys(table: pa.Table, size: int, tie: str) -> pa.Table:
    """The rows with the smallest values of ``key``, one row for each; among equal keys, the smallest in ``tie``."""
    table = table.sort_by([(_KEY, "ascending"), (tie, "ascending")])
    keys = np.asarray(table[_KEY])
    new = np.flatnonzero(np.append(np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]))
    return table.take(pa.array(new[:size]))


Units = npt.NDArray[np.float32]


class QuestionVectors(NamedTuple):
    """One unit vector per row, in float32; rows that are not ``valid`` have no question, or a zero or NaN vector."""

    units: Units
    valid: Flags


def check_vectors(log: Log, embedder: Any) -> None:
    """Raise ``ColumnError`` for a log without vectors and without an embedder."""
    if embedder is None and "question_embedding" not in log.has:
        way = Argument("embedder", "wordllama")
        raise ColumnError("the log has no column 'question_embedding'; have the questions embedded with ", way)


def question_vectors(table: pa.Table, embedder: Any, cache: Any = None) -> QuestionVectors:
    """The vectors of a log's column ``question_embedding``, or the embeddings of its questions by an embedder."""
    if embedder is None:
        rows = Vectors.of(table["question_embedding"]).all().astype(np.float32)
    else:
        rows = embedder_of(embedder, cache).embed(table["question"])
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    valid = np.isfinite(norms) & (norms > 0)
    units = np.zeros(rows.shape, np.float32)
    np.divide(rows, norms[:, None], out=units, where=valid[:, None], casting="same_kind")
    return QuestionVectors(units, valid)


def near_repeats(questions: pa.Array, embedder: Embedder, near: float, threads: int) -> int:
    """Number of the distinct questions that have another one at a cosine of at least ``near``."""
    return len(near_pairs(questions, embedder, near, threads)[0])


def near_pairs(
    questions: pa.Array, embedder: Embedder, near: float, threads: int
) -> tuple[Ints, Ints, NDArray[np.floating[Any]]]:
    """The questions that have another one at a cosine of at least ``near``, the nearest other one, and the cosine."""
    vectors = embedder.embed(questions)
    valid = np.flatnonzero(np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1))
    if len(valid) < 2:
        return valid[:0], valid[:0], np.zeros(0)
    from fastmetrics.vectors.neighbors import nearest  # FAISS takes longer to import than most logs to read

    neighbors = nearest(vectors[valid], k=1, method="exact", threads=threads)
    close = np.flatnonzero(neighbors.scores[:, 0] >= near)
    return valid[close], valid[neighbors.ids[close, 0]], neighbors.scores[close, 0]
