"""A log of questions and answers, in files or in memory, as batches of the requested columns; and its questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Ints, Uint64s, text_of_arrow
from fastmetrics.base.arrow import check_type, plain
from fastmetrics.base.errors import Argument, ColumnError, UnknownNameError
from fastmetrics.base.input_columns import COLUMNS, resolve
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.base.threads import ordered
from fastmetrics.metrics.abstention import PHRASES, RefusalsIn, abstained
from fastmetrics.metrics.batch import Batch
from fastmetrics.tables.sources import FrameSource, open_table
from fastmetrics.tables.table_rows import Piece, gathered
from fastmetrics.vectors.embedder import Embedder, embedder_of
from fastmetrics.vectors.neighbors import nearest
from fastmetrics.vectors.vector_arrays import Vectors

T = TypeVar("T")
R = TypeVar("R")

_SIZES = ReadSizes(parquet_rows=SIZES.log_rows, parquet_bytes=64 << 20)


class LogPart(NamedTuple):
    """Some rows of a log, under canonical names, and the number of the first, from 0."""

    first: int
    rows: pa.RecordBatch


class Columns(NamedTuple):
    """The mapping of a log's columns: ``columns`` (canonical: user's) and the preset ``schema``, as in ``score``."""

    columns: Mapping[str, str] | None = None
    schema: str | None = None
    format: str | None = None


PLAIN = Columns()
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
    how: Columns = PLAIN,
    labels: Sequence[str] = (),
    *,
    again: bool = False,
    what: str = "log",
) -> Log:
    """Open a log with its ``needed`` columns, the ``optional`` ones that exist, and ``numbers`` by their own names.

    ``labels`` are also found by their own names and may have any type.  A log in memory that is to be read ``again`` is
    held, as a reader or a generator has its rows only once.  ``what`` is the log in messages.

    ``log`` is an input of ``score``.  Raises ``ColumnError`` for a missing needed
    column, or for a column of an unexpected kind.
    """
    source = open_table(log, how.format, sizes=_SIZES, name=what)
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

        return gathered(source, as_read, checked, threads)

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
        refusals = RefusalsIn().of(batch, "answer", {"phrases": PHRASES})
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
    neighbors = nearest(vectors[valid], k=1, method="exact", threads=threads)
    close = np.flatnonzero(neighbors.scores[:, 0] >= near)
    return valid[close], valid[neighbors.ids[close, 0]], neighbors.scores[close, 0]
