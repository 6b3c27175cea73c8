"""Rankings and their judgements as arrays: ids become integer keys and are matched with the judgements."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Floats, Ints, decoded, floats_of_arrow, is_list, numpy_values
from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import Argument, ColumnError, InputError
from fastmetrics.base.options import by_name
from fastmetrics.kernels import rankings as kernels
from fastmetrics.kernels.rankings import Ids, in_rank_order, ranked_grades
from fastmetrics.tables.rankings import Triples

# Rankings and their judgements as arrays: ids become integer keys and are matched with the judgements.
#
# Ids are validated here only.  There are two representations:
#
# - :class:`Rankings`: per row a list of ids, best first (or, of relevant documents, in any order);
# - :class:`GradedRankings`: per row the grade found at each rank, and the grades an ideal ranking would have.


T = TypeVar("T", bound=np.generic)


def frozen(array: NDArray[T]) -> NDArray[T]:
    """A read-only view, so that kernels receive one array type and are compiled once."""
    view = array.view()
    view.setflags(write=False)
    return view


_NOTHING = frozen(np.zeros(0, np.int64))
_NO_BYTES = frozen(np.zeros(0, np.uint8))
_SEED = np.uint64(int.from_bytes(os.urandom(8)))
"""The seed of the keys of ids, new in each process: whoever chooses ids cannot choose that they meet in a table."""


def ids_of(values: pa.Array, name: str) -> tuple[Ids, str]:
    """The ids of an Arrow array without nulls, and their kind."""
    kind = values.type
    if pa.types.is_null(kind) or len(values) == 0:
        return fixed_ids(np.zeros(0, np.uint64)), "none"
    if pa.types.is_integer(kind):
        try:
            whole = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            expected = f"column {name!r}: expected integer ids below 2**63; give larger ones as strings"
            raise ColumnError(expected) from None
        # multiples of the integers, which differ as these do
        return fixed_ids(np.ascontiguousarray(whole).view(np.uint64) * (_SEED | np.uint64(1))), "integer"
    if kind == pa.string_view():
        values = values.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ColumnError(f"column {name!r}: expected ids that are strings or integers, got {kind}")
    return text_ids(values), "text"


def text_ids(values: pa.Array) -> Ids:
    """Keys of an Arrow string array; the bytes are not copied."""
    _, bounds, data = values.buffers()
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    edges = np.frombuffer(bounds, width)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    text = _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
    begins, ends = frozen(edges[:-1]), frozen(edges[1:])
    return fixed_ids(kernels.hash_texts(text, begins, ends, _SEED), text, begins, ends)


def take_ids(ids: Ids, places: Ints) -> Ids:
    """The ids at ``places``; their bytes are not copied."""
    if ids.starts.size == 0:
        return fixed_ids(ids.keys[places])
    return fixed_ids(ids.keys[places], ids.data, ids.starts[places], ids.stops[places])


def fixed_ids(
    keys: NDArray[np.uint64], data: NDArray[np.uint8] = _NO_BYTES, starts: Ints = _NOTHING, stops: Ints = _NOTHING
) -> Ids:
    """Ids of read-only arrays; integers have keys only."""
    return Ids(frozen(keys), frozen(data), frozen(starts), frozen(stops))


def offsets(sizes: Ints) -> Ints:
    """The start of each of consecutive spans, and the end of the last.

    >>> offsets(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return frozen(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))


def spans(starts: Ints, sizes: Ints) -> Ints:
    """The positions ``starts[i], …, starts[i] + sizes[i] - 1`` of all i, concatenated.

    >>> spans(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


@dataclass(frozen=True)
class Rankings:
    """Lists of ids: row r has ``ids[starts[r]:starts[r + 1]]``; a row that is not ``valid`` was missing."""

    ids: Ids
    starts: Ints
    valid: Flags
    kind: str
    """``text``, ``integer``, or ``none`` without any id."""
    memory: list[tuple[object, object, GradedRankings]] = field(default_factory=list, repr=False, compare=False)

    @property
    def sizes(self) -> Ints:
        """Number of ids of each row."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return int(self.starts.size - 1)

    def take(self, rows: Ints) -> Rankings:
        """The given rows, in that order; -1 gives an empty row."""
        sizes = np.where(rows < 0, 0, self.sizes[rows])
        picked = spans(self.starts[rows], sizes)
        return Rankings(take_ids(self.ids, picked), offsets(sizes), self.valid[rows] | (rows < 0), self.kind)


@dataclass(frozen=True)
class GradedRankings:
    """Rankings with their grades, the input of all measures.

    ``grades[starts[q]:starts[q + 1]]`` are the grades of query q's documents in rank order, NaN for an unjudged one;
    ``ideal[ideal_starts[q]:…]`` are the grades of all its judged documents in descending order.
    """

    grades: Floats
    starts: Ints
    ideal: Floats
    ideal_starts: Ints


def rankings(column: Any, name: str = "ids") -> Rankings:
    """The rankings in ``column``; ``name`` is used in errors.

    Accepts an Arrow list array (of strings or integers), a two-dimensional integer array (-1 = none), a list of lists,
    or a pandas or Polars series of lists.  ``None`` is a missing row.

    >>> rankings([["a", "b"], [], None]).sizes
    array([2, 0, 0])
    >>> rankings(np.array([[7, 8], [9, -1]])).sizes
    array([2, 1])
    >>> rankings([["a"], ["b", None]], "retrieved_ids")
    Traceback (most recent call last):
    fastmetrics.base.errors.ColumnError: column 'retrieved_ids', row 1: an id is null
    """
    array = _lists(column, name)
    sizes, values = _sizes(array), decoded(array.flatten())
    if values.null_count:
        row = int(np.searchsorted(offsets(sizes), np.flatnonzero(_nulls(values))[0], side="right")) - 1
        raise ColumnError(f"column {name!r}, row {row}: an id is null")
    ids, kind = ids_of(values, name)
    present = _valid_ids(array)
    if not present.all():
        ids = take_ids(ids, np.flatnonzero(present))
        sizes = np.diff(offsets(present.astype(np.int64))[offsets(sizes)])
    return Rankings(ids, offsets(sizes), ~_nulls(array), kind)


@dataclass(frozen=True)
class Groups:
    """The relevant ids of each row in groups, of each of which any document is enough.

    ``flat`` are all ids of a row as one list, ``lists`` those of each group, and ``starts[r]:starts[r + 1]`` are the
    groups of row r.  Groups without an id, or with empty texts only, are none.
    """

    flat: pa.Array
    lists: Rankings
    starts: Ints


def groups_of(column: Any, name: str = "relevant_ids") -> Groups | None:
    """The groups of relevant ids in a column of lists of lists; None for a column of plain lists.

    >>> groups_of(pa.array([[["a", "b"], ["c"]], [[]]])).starts
    array([0, 2, 2])
    """
    array = _lists(column, name)
    if not is_list(array.type.value_type):
        return None
    groups = array.flatten()
    ids = decoded(groups.flatten())
    row_of_group = np.repeat(np.arange(len(array)), _sizes(array))
    group_of_id = np.repeat(np.arange(len(groups)), _sizes(groups))
    if not pa.types.is_integer(ids.type) and not pa.types.is_null(ids.type):
        filled = ~numpy_values(pc.equal(ids, "").fill_null(False))
        ids, group_of_id = ids.filter(pa.array(filled)), group_of_id[filled]
    sizes = np.bincount(group_of_id, minlength=len(groups))

    def split(sizes: Ints, mask: pa.Array | None = None) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(offsets(sizes), pa.int32()), ids, mask=mask)

    flat = split(
        np.bincount(row_of_group[group_of_id], minlength=len(array)), array.is_null() if array.null_count else None
    )
    starts = offsets(np.bincount(row_of_group[sizes > 0], minlength=len(array)))
    return Groups(flat, rankings(split(sizes[sizes > 0]), name), starts)


@dataclass(frozen=True)
class GradedGroups:
    """The rankings of rows with the grades of each group, as if it were a query; ``starts`` as in ``Groups``."""

    rankings: GradedRankings
    starts: Ints

    def mean(self, values: Floats) -> Floats:
        """The mean of a value of each group over the groups of each row; 0 for a row without any."""
        sizes = np.diff(self.starts)
        totals = np.bincount(np.repeat(np.arange(len(sizes)), sizes), values, len(sizes))
        return np.divide(totals, sizes, out=np.zeros(len(sizes)), where=sizes > 0)


def graded_groups(retrieved: Rankings, groups: Groups) -> GradedGroups:
    """Look up every retrieved id in each group of its row; an id may be in several groups."""
    sizes = np.diff(groups.starts)
    _check_rows(retrieved, len(sizes))
    return GradedGroups(graded(retrieved.take(np.repeat(np.arange(len(sizes)), sizes)), groups.lists), groups.starts)


def grades_of(column: Any, relevant: Any, name: str = "relevance") -> Floats:
    """One grade per id of the column ``relevant``; a missing list means that all grades are 1.

    >>> grades_of([[2, 0.5], None], [["a", "b"], ["c"]])
    array([2. , 0.5, 1. ])
    >>> grades_of([[2]], [["a", "b"]])
    Traceback (most recent call last):
    fastmetrics.base.errors.ColumnError: column 'relevance', row 0: expected a grade for each of 2 relevant ids, got 1
    """
    array, ids = _lists(column, name), _lists(relevant, "relevant_ids")
    sizes, n_relevant = _sizes(array), _sizes(ids)
    graded = ~_nulls(array) & ~_nulls(ids)
    wrong = np.flatnonzero(graded & (sizes != n_relevant))
    if wrong.size:
        row = int(wrong[0])
        raise ColumnError(
            f"column {name!r}, row {row}: expected a grade for each of {n_relevant[row]} relevant ids, got {sizes[row]}"
        )
    values = floats_of_arrow(array.flatten(), name)[np.repeat(graded, sizes)]
    if np.isnan(values).any():
        row = int(np.repeat(np.arange(graded.size), sizes * graded)[np.isnan(values)][0])
        raise ColumnError(f"column {name!r}, row {row}: a grade is not a number")
    grades = np.ones(int(n_relevant.sum()))
    grades[np.repeat(graded, n_relevant)] = values
    return frozen(grades[_valid_ids(ids)])


def graded(retrieved: Rankings, relevant: Rankings, grades: Floats | None = None) -> GradedRankings:
    """Look up every retrieved id among its row's relevant ids; their ``grades`` default to 1.

    An id retrieved twice counts at its first position, and the later position has no grade; an id judged twice counts
    once, with its first grade.  The result is cached, so several measures need one lookup.
    """
    for earlier, marks, judged in retrieved.memory:
        if earlier is relevant and marks is grades:
            return judged
    _check_rows(retrieved, len(relevant))
    if {retrieved.kind, relevant.kind} == {"text", "integer"}:
        raise ColumnError(
            f"column 'retrieved_ids' holds {retrieved.kind} ids, column 'relevant_ids' {relevant.kind} ids"
        )
    marks = frozen(np.ones(relevant.ids.keys.size) if grades is None else grades)
    doc_grades, repeated = ranked_grades(retrieved.ids, retrieved.starts, relevant.ids, relevant.starts, marks)
    ideal, ideal_starts = marks, relevant.starts
    if repeated:
        first = ~kernels.repeats(relevant.ids, relevant.starts)
        counted = np.concatenate(([0], np.cumsum(first)))
        ideal, ideal_starts = marks[first], counted[relevant.starts]
    if grades is not None:
        ideal = descending(ideal, ideal_starts)
    judged = GradedRankings(frozen(doc_grades), retrieved.starts, frozen(ideal), frozen(ideal_starts))
    retrieved.memory[:] = [(relevant, grades, judged)]
    return judged


def _check_rows(retrieved: Rankings, rows: int) -> None:
    """Raise ``ColumnError`` unless there are as many rankings as rows of relevant documents."""
    if len(retrieved) != rows:
        raise ColumnError(f"column 'retrieved_ids' has {len(retrieved)} rows, column 'relevant_ids' {rows}")


def descending(grades: Floats, starts: Ints) -> Floats:
    """Each row's grades in descending order."""
    return by_grade(frozen(grades), frozen(grades), frozen(starts))


def by_grade(values: Floats, grades: Floats, starts: Ints) -> Floats:
    """Each row's ``values``, those of the highest grade first."""
    return in_rank_order(values, grades, fixed_ids(np.zeros(0, np.uint64)), starts)


def _lists(column: Any, name: str) -> pa.Array:
    array = as_array(column, name)
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(pa.list_(pa.null()))
    if not is_list(kind):
        raise ColumnError(f"column {name!r}: expected lists, got {kind}")
    return array


def _sizes(array: pa.Array) -> Ints:
    return numpy_values(pc.list_value_length(array), null=0).astype(np.int64)


def _valid_ids(array: pa.Array) -> Flags:
    """The valid ids: all except the -1 that pads the rows of a two-dimensional integer array."""
    kind = array.type
    if not (pa.types.is_fixed_size_list(kind) and pa.types.is_signed_integer(kind.value_type)):
        return np.ones(int(_sizes(array).sum()), np.bool_)
    return numpy_values(array.flatten()) != -1


def _nulls(array: pa.Array) -> Flags:
    return numpy_values(array.is_null())


# Judgements of documents, grouped by query and held in memory.


@dataclass(frozen=True)
class Judgements:
    """``queries`` in the order of the source; the documents of query q are row q of ``documents``, best grade first."""

    queries: pa.Array
    documents: Rankings
    grades: Floats

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each judged query."""
        return {query: place for place, query in enumerate(self.queries.to_pylist())}

    def places(self, queries: pa.Array) -> Ints:
        """The position of each query among the judged ones, -1 for an unknown query."""
        encoded = queries if pa.types.is_dictionary(queries.type) else queries.dictionary_encode()
        names = _plain(encoded.dictionary).to_pylist()
        codes = np.fromiter((self.place.get(name, -1) for name in names), np.int64, len(names))
        places: Ints = codes[numpy_values(encoded.indices)]
        return places

    def of(self, places: Ints) -> tuple[Rankings, Floats]:
        """The documents and grades of the queries at ``places``; empty for -1."""
        sizes = np.where(places < 0, 0, self.documents.sizes[places])
        picked = spans(self.documents.starts[places], sizes)
        return self.documents.take(places), frozen(self.grades[picked])

    def of_nothing(self, places: Ints) -> GradedRankings:
        """Empty rankings of the queries at ``places``."""
        rankings, grades = self.of(places)
        return GradedRankings(frozen(np.zeros(0)), offsets(0 * places), grades, rankings.starts)


def judgements(source: Any, duplicates: str = "error", columns: Mapping[str, str] | None = None) -> Judgements:
    """Read the judgements in ``source``: a path, a table, with ``columns`` as in ``rank``, or a dictionary.

    Raises ``InputError`` for a document judged twice for one query, unless ``duplicates`` is "first".
    """
    if isinstance(source, Judgements):
        return source
    rows = Triples(source, "grade", named=by_name("columns", columns, "names"))
    batches = list(rows.batches())
    if not sum(batch.num_rows for batch in batches):
        raise InputError(f"{rows.name}: the file has no judgements")
    queries = pa.concat_arrays([_plain(batch["query"]) for batch in batches]).dictionary_encode()
    docs = pa.concat_arrays([_plain(batch["doc"]) for batch in batches])
    grades = np.concatenate([numpy_values(batch["value"]) for batch in batches])
    codes = numpy_values(queries.indices)
    starts = offsets(np.bincount(codes, minlength=len(queries.dictionary)))
    order = np.arange(codes.size) if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    ids = take_ids(text_ids(docs), order)
    again = np.flatnonzero(kernels.repeats(ids, starts))
    if again.size and duplicates != "first":
        row = int(order[again[0]])
        raise InputError(
            f"{rows.name}, row {row}: document {docs[row]} is judged twice for query {queries[row]}; ",
            Argument("duplicates", "first"),
            " keeps the first",
        )
    if again.size:
        order, ids = np.delete(order, again), take_ids(ids, np.delete(np.arange(order.size), again))
        starts = offsets(np.bincount(codes[order], minlength=len(queries.dictionary)))
    everyone = np.ones(len(queries.dictionary), np.bool_)
    grades = frozen(grades[order])
    best_first = by_grade(frozen(np.arange(float(order.size))), grades, starts).astype(np.int64)
    documents = Rankings(take_ids(ids, best_first), starts, everyone, "text")
    return Judgements(queries.dictionary, documents, frozen(grades[best_first]))


def _plain(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.large_string())
