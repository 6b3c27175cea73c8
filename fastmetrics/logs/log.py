"""A log of questions and answers as batches of the requested columns, with its times and counts by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import (
    Flags,
    Floats,
    Ints,
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
from fastmetrics.base.columns import as_array, check_type, ids_in_index
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownColumnError, UnknownNameError
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.base.threads import ordered
from fastmetrics.metrics.abstention import PHRASES, abstained, refusals_in
from fastmetrics.metrics.batch import Batch
from fastmetrics.tables.good_rows import Piece, gathered
from fastmetrics.tables.input_files import PLAIN, ReadSettings
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Reject
from fastmetrics.vectors.embedder import embedder_of
from fastmetrics.vectors.vector_arrays import Vectors

# Times as microseconds since 1970: of Arrow's types, of texts in ISO 8601, and of numbers.


MISSING = np.iinfo(np.int64).min
"""The value of a missing time."""

ZONED, LOCAL = "with a time zone", "without a time zone"
_MILLISECONDS = 1e11
"""Numbers this large are milliseconds: as seconds they would be beyond the year 5000."""
_MICRO = 1_000_000
_MOST = 1e14


def times_of(column: pa.Array, name: str) -> tuple[Ints, str | None]:
    """Microseconds since 1970 of each row, and whether they are ``ZONED`` or ``LOCAL``, None without times.

    Numbers are seconds, from 10¹¹ on milliseconds, and zoned.  Raises ``InputError`` with the row for text that is not
    a time, and for times with a time zone among times without.
    """
    column = decoded(column)
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return np.full(len(column), MISSING), None
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = ZONED if pa.types.is_timestamp(kind) and kind.tz is not None else LOCAL
        return _filled(pc.cast(column, pa.timestamp("us", kind.tz if zone == ZONED else None), safe=False)), zone
    if is_number(kind):
        return _of_numbers(floats_of_arrow(column, name), name), ZONED
    if not is_text(kind):
        raise ColumnError(f"column {name!r}: expected times, got {kind}")
    blank = pc.equal(pc.utf8_trim_whitespace(column), "")
    text = pc.if_else(blank, pa.scalar(None, kind), pc.utf8_trim_whitespace(column))
    if text.null_count == len(text):
        return np.full(len(column), MISSING), None
    return _cast(text) or _of_texts(text, name)


def _filled(times: pa.Array) -> Ints:
    return np.asarray(times.cast(pa.int64()).fill_null(MISSING)).astype(np.int64)


def _of_numbers(values: Floats, name: str) -> Ints:
    wrong = np.flatnonzero(~(np.abs(values) < _MOST) & ~np.isnan(values))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {row}: {values[row]:g} is not a time in seconds since 1970")
    scale = np.where(np.abs(values) >= _MILLISECONDS, _MICRO / 1000, _MICRO)
    return np.where(np.isnan(values), MISSING, np.rint(np.nan_to_num(values) * scale).astype(np.int64))


def _of_texts(text: pa.Array, name: str) -> tuple[Ints, str | None]:
    """Texts of mixed forms: numbers as text, or an error with the first invalid row."""
    try:
        return _of_numbers(floats_of_arrow(text.cast(pa.float64()), name), name), ZONED
    except pa.ArrowInvalid:
        seen: dict[str, int] = {}
    for row in np.flatnonzero(numpy_values(text.is_valid())).tolist():
        found = _cast(text.slice(row, 1))
        if found is None:
            way = "expected a time in ISO 8601, such as 2024-01-05T10:30:00Z, or seconds since 1970"
            raise InputError(f"column {name!r}, row {row}: {way}, got {text[row].as_py()[:40]!r}")
        seen.setdefault(found[1], row)
    zones = " and ".join(f"row {row} is {zone}" for zone, row in seen.items())
    raise InputError(f"column {name!r}: {zones}, so their order is unknown; give all times a zone, or none")


def _cast(text: pa.Array) -> tuple[Ints, str] | None:
    """Texts that are all zoned times, or all times without a zone."""
    for type_, zone in ((pa.timestamp("us", "UTC"), ZONED), (pa.timestamp("us"), LOCAL)):
        try:
            return _filled(text.cast(type_)), zone
        except pa.ArrowInvalid:
            continue
    return None


def order_of_turns(table: pa.Table, turn: str | None, timestamp: str | None) -> Ints | Floats:
    """The sort key of the rows of a session: their turn, else their time, else their number; last where it is null."""
    if turn is not None:
        return floats_of_arrow(as_array(table[turn], "turn"), "turn")
    if timestamp is None:
        return np.arange(len(table))
    times = times_of(as_array(table[timestamp], "timestamp"), "timestamp")[0]
    return np.where(times == MISSING, np.iinfo(np.int64).max, times)


# Counts by key (an id or a word), exact over parts, in memory bounded by the number of keys.


KEY = "key"
_MANY = 1 << 20


def summed(tables: Sequence[pa.Table]) -> pa.Table:
    """Each ``key`` of the tables once, in the order of their first rows, with the sums of the other columns.

    Keys become text if some tables have numbers and others text.  Arrow's own grouping imports pandas, which takes
    longer than most logs.

    >>> summed([pa.table({"key": ["a", "b"], "n": [1, 2]}), pa.table({"key": ["b"], "n": [3]})]).to_pydict()
    {'key': ['a', 'b'], 'n': [1, 5]}
    """
    if len({table.schema.field(KEY).type for table in tables} - {pa.null()}) > 1:
        tables = [table.set_column(0, KEY, table[KEY].cast(pa.large_string())) for table in tables]
    joined = pa.concat_tables(tables, promote_options="permissive")
    encoded = joined[KEY].combine_chunks().dictionary_encode()
    sums = {name: np.zeros(len(encoded.dictionary), np.int64) for name in joined.column_names[1:]}
    codes, integers = numpy_values(encoded.indices).astype(np.intp), pa.int64()
    for name, totals in sums.items():
        np.add.at(totals, codes, numpy_values(joined[name].combine_chunks(), null=0).astype(np.int64))
    return pa.table({KEY: encoded.dictionary, **{name: arrow_numbers(each, integers) for name, each in sums.items()}})


def fewer(tables: list[pa.Table]) -> list[pa.Table]:
    """The tables, or their sum alone if they have many rows; the first is the sum of those before."""
    many = sum(map(len, tables)) > max(_MANY, 2 * len(tables[0]))
    return [summed(tables)] if many else tables


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

    def parts(self, work: Callable[[LogPart], T], add: Callable[[pa.Schema, Iterator[T]], R], threads: int) -> R:
        """Reduce with ``add`` the results of ``work`` for each part, in order, with ``threads`` parts at a time."""

        def make(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            own = pa.schema([(name, plain(schema.field(column).type)) for name, column in self.names.items()])
            return add(own, ordered(lambda item: work(self._part(*item, own)), _numbered(pieces), threads))

        return self.read(make, threads)

    def table(self, threads: int = 1) -> pa.Table:
        """All rows as one table, under canonical names."""
        return self.parts(
            lambda part: part.rows, lambda schema, rows: pa.Table.from_batches(rows, schema=schema), threads
        )

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
    what: str = "log",
    rejects: list[Reject] | None = None,
) -> Log:
    """Open a log with its ``needed`` columns, the ``optional`` ones that exist, and ``numbers`` by their own names.

    ``labels`` are also found by their own names and may have any type.  ``what`` is the log in messages, and a list of
    ``rejects`` gets the rows that cannot be read, which end the reading otherwise.

    ``log`` is an input of ``score``; the index of a pandas frame is the ``id`` where it is ids and no column is.
    Raises ``ColumnError`` for a missing needed column, or for a column of an unexpected kind.
    """
    source = open_table(log, how.reading, _SIZES, name=what, schema=how.schema)
    present = source.names
    mapping = resolve(present, how.columns, how.schema, {*needed, *optional})
    for name in needed:
        if name not in mapping:
            raise _missing(name, present)
    if "id" in optional and "id" not in mapping and (ids := ids_in_index(log)) is not None:
        log = log.copy(deep=False)
        log["id"] = ids.to_pandas().to_numpy()
        source, mapping = open_table(log, how.reading, _SIZES, name=what, schema=how.schema), {**mapping, "id": "id"}
    columns = {name: mapping[name] for name in (*needed, *optional) if name in mapping}
    for argument, group in (("scores", numbers), ("labels", labels)):
        for name in group:
            check_named(argument, name, present)
    names = {**columns, **{name: name for name in (*numbers, *labels) if name not in columns.values()}}
    others = dict.fromkeys(labels, "any") | dict.fromkeys(numbers, "number")
    kinds = {column: COLUMNS[name].kind if name in columns else others[name] for name, column in names.items()}
    as_read = {column: "any" if kind == "time" else kind for column, kind in kinds.items()}

    def read(make: Callable[[pa.Schema, Iterator[Piece]], R], threads: int) -> R:
        def checked(schema: pa.Schema, pieces: Iterator[Piece]) -> R:
            for column, kind in kinds.items():
                check_type("", column, kind, schema.field(column).type)
            return make(schema, pieces)

        return gathered(source, as_read, checked, threads, rejects)

    return Log(names, read)


def check_named(argument: str, name: str, names: Sequence[str]) -> None:
    """Raise ``UnknownColumnError`` for a column that an argument names and a table has not."""
    if name not in names:
        raise UnknownColumnError(Argument(argument, name), ": ", UnknownNameError.of("column", name, names).message)


def _missing(name: str, present: Sequence[str]) -> ColumnError:
    column = COLUMNS[name]
    others = f" (or {', '.join(column.aliases)})" if column.aliases else ""
    have = ", ".join(map(repr, present)) or "none"
    way = Argument("columns", {name: ...})
    return ColumnError(f"the log has no column {name!r}{others}; it has {have}; name the column with ", way)


def row_table(log: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Columns beside the rows of a log: their numbers from 0, and their ids and questions where they have them."""
    known = {name: log[name] for name in ("id", "question") if name in log.column_names}
    return pa.table({"row": np.arange(log.num_rows), **known, **columns})


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
    texts = texts.cast(pa.large_string())
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


def with_smallest_keys(table: pa.Table, size: int, tie: str) -> pa.Table:
    """The rows with the smallest values of ``key``, one row for each; among equal keys, the smallest in ``tie``."""
    table = table.sort_by([(KEY, "ascending"), (tie, "ascending")])
    keys = np.asarray(table[KEY])
    new = np.flatnonzero(np.append(np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]))
    return table.take(pa.array(new[:size]))


Units = npt.NDArray[np.float32]


class QuestionVectors(NamedTuple):
    """One unit vector per row, in float32; rows that are not ``valid`` have no question, or a zero or NaN vector."""

    units: Units
    valid: Flags


def with_vectors(
    log: Any,
    needed: Sequence[str],
    optional: Sequence[str],
    how: Columns,
    embedder: Any,
    cache: Any,
    numbers: Sequence[str] = (),
) -> tuple[pa.Table, QuestionVectors]:
    """A log as a table, as :func:`open_log` reads it, and the vectors of its questions.

    They are those of the column ``question_embedding``, or made by the embedder.  Raises ``ColumnError`` for a log with
    neither.
    """
    needed = [*needed, *(["question"] if embedder is not None else [])]
    columns = [name for name in ("question", "question_embedding", *optional) if name not in needed]
    opened = open_log(log, needed, columns, numbers, how)
    if embedder is None and "question_embedding" not in opened.has:
        way = Argument("embedder", "wordllama")
        raise ColumnError("the log has no column 'question_embedding'; have the questions embedded with ", way)
    table = opened.table().combine_chunks()
    if embedder is None:
        rows = Vectors.of(table["question_embedding"]).all().astype(np.float32)
    else:
        rows = embedder_of(embedder, cache).embed(table["question"])
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    valid = np.isfinite(norms) & (norms > 0)
    units = np.zeros(rows.shape, np.float32)
    np.divide(rows, norms[:, None], out=units, where=valid[:, None], casting="same_kind")
    return table, QuestionVectors(units, valid)
