"""Columns of rankings: ids of any kind become integer keys and offsets, and meet their judgements.

The only place that validates ids.  Two representations:

- :class:`Rankings`: per row a list of ids, best first (or, of relevant documents, in any order);
- :class:`Judged`: per row the grade found at each rank, and the grades an ideal ranking would have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.errors import ColumnError
from fastmetrics.ids import WANTED, Flags, Floats, Ints, fixed_ids, frozen, ids_of, numbers, offsets, spans, take_ids
from fastmetrics.kernels import ids as id_kernels
from fastmetrics.kernels import ranking as kernels
from fastmetrics.kernels.ids import Ids


@dataclass(frozen=True)
class Rankings:
    """Lists of ids: row r holds ``ids[starts[r]:starts[r + 1]]``; where not ``valid`` the row was missing."""

    ids: Ids
    starts: Ints
    valid: Flags
    kind: str
    """``text``, ``integer``, or ``none`` when there is no id at all."""
    memory: list[tuple[object, object, Judged]] = field(default_factory=list, repr=False, compare=False)

    @property
    def sizes(self) -> Ints:
        """Number of ids of each row."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return int(self.starts.size - 1)

    def take(self, rows: Ints) -> Rankings:
        """The given rows, in that order; a row of -1 gives an empty one."""
        sizes = np.where(rows < 0, 0, self.sizes[rows])
        picked = spans(self.starts[rows], sizes)
        return Rankings(take_ids(self.ids, picked), offsets(sizes), self.valid[rows] | (rows < 0), self.kind)


@dataclass(frozen=True)
class Judged:
    """Rankings after the judgements were looked up: all that a measure needs.

    ``grades[starts[q]:starts[q + 1]]`` are the grades of query q's documents in rank order, NaN for one that was not
    judged; ``ideal[ideal_starts[q]:…]`` are the grades of all its judged documents, from the highest down.
    """

    grades: Floats
    starts: Ints
    ideal: Floats
    ideal_starts: Ints


def rankings(column: Any, name: str = "ids") -> Rankings:
    """The rankings held by ``column``, called ``name`` in errors.

    Takes an Arrow list array (of strings or integers), a two-dimensional integer array (-1 = none), a list of lists,
    or a pandas or polars series of lists.  ``None`` for a row says that it is missing.

    >>> rankings([["a", "b"], [], None]).sizes
    array([2, 0, 0])
    >>> rankings([[1, 2.5]], "retrieved_ids")
    Traceback (most recent call last):
    fastmetrics.errors.ColumnError: retrieved_ids: ids are lists of strings or of integers, not of double
    """
    if isinstance(column, Rankings):
        return column
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.dtype.kind in "iu":
        return _of_matrix(column, name)
    array = _as_lists(_as_arrow(column, name), name)
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = array.flatten()
    if values.null_count:
        row = int(np.searchsorted(offsets(sizes), np.flatnonzero(_nulls(values))[0], side="right")) - 1
        raise ColumnError(f"{name}, row {row}: an id is null")
    ids, kind = ids_of(values, name)
    return Rankings(ids, offsets(sizes), ~_nulls(array), kind)


def grades_of(column: Any, relevant: Rankings, name: str = "relevance") -> Floats:
    """One grade per relevant id; a missing list means that all are 1.

    >>> grades_of([[2, 0.5], None], rankings([["a", "b"], ["c"]]))
    array([2. , 0.5, 1. ])
    """
    array = _as_lists(_as_arrow(column, name), name)
    if len(array) != len(relevant):
        raise ColumnError(f"{name} has {len(array)} rows where relevant_ids has {len(relevant)}")
    given = ~_nulls(array)
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    wrong = np.flatnonzero(given & relevant.valid & (sizes != relevant.sizes))
    if wrong.size:
        row = int(wrong[0])
        raise ColumnError(f"{name}, row {row}: {sizes[row]} grades for {relevant.sizes[row]} relevant ids")
    used = np.repeat(given & relevant.valid, sizes)
    grades = np.ones(relevant.ids.keys.size)
    grades[np.repeat(given & relevant.valid, relevant.sizes)] = numbers(array.flatten(), name)[used]
    return grades


def judge(retrieved: Rankings, relevant: Rankings, grades: Floats | None = None) -> Judged:
    """Look every retrieved id up among its row's relevant ids, whose ``grades`` are 1 unless given.

    An id that a row retrieves twice counts at its first place, and holds the later one without a grade; an id judged
    twice counts once, with its first grade.  The result is remembered, so that ten measures cost one look-up.
    """
    for known, marks, judged in retrieved.memory:
        if known is relevant and marks is grades:
            return judged
    if len(retrieved) != len(relevant):
        raise ColumnError(f"retrieved_ids has {len(retrieved)} rows where relevant_ids has {len(relevant)}")
    if {retrieved.kind, relevant.kind} == {"text", "integer"}:
        raise ColumnError(f"retrieved_ids holds {retrieved.kind} ids but relevant_ids {relevant.kind} ones")
    marks = frozen(np.ones(relevant.ids.keys.size) if grades is None else grades)
    found, repeated = kernels.judge(retrieved.ids, retrieved.starts, relevant.ids, relevant.starts, marks)
    ideal, ideal_starts = marks, relevant.starts
    if repeated:
        first = ~id_kernels.repeats(relevant.ids, relevant.starts)
        counted = np.concatenate(([0], np.cumsum(first)))
        ideal, ideal_starts = marks[first], counted[relevant.starts]
    if grades is not None:
        ideal = descending(ideal, ideal_starts)
    judged = Judged(frozen(found), retrieved.starts, frozen(ideal), frozen(ideal_starts))
    retrieved.memory[:] = [(relevant, grades, judged)]
    return judged


def descending(grades: Floats, starts: Ints) -> Floats:
    """Each row's grades from the highest to the lowest."""
    grades, starts = frozen(grades), frozen(starts)
    nobody = fixed_ids(np.zeros(0, np.uint64))
    if kernels.first_unranked(grades, nobody, starts) == starts.size - 1:
        return grades
    return grades[kernels.rank_order(grades, nobody, starts)]


def _of_matrix(matrix: NDArray[Any], name: str) -> Rankings:
    if matrix.dtype == np.uint64 and matrix.size and matrix.max() > np.iinfo(np.int64).max:
        raise ColumnError(f"{name}: integer ids must fit in 64 bits with sign; give larger ones as strings")
    whole = np.ascontiguousarray(matrix, np.int64)
    there = whole != -1
    sizes = np.full(len(whole), whole.shape[1], np.int64) if there.all() else there.sum(axis=1)
    keys = whole.ravel() if there.all() else whole[there]
    kind = "integer" if keys.size else "none"
    return Rankings(fixed_ids(keys.view(np.uint64)), offsets(sizes), np.ones(len(whole), np.bool_), kind)


def _as_arrow(column: Any, name: str) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    if hasattr(column, "__arrow_c_stream__"):
        return pa.chunked_array(column).combine_chunks()
    try:
        return pa.array(column if isinstance(column, np.ndarray) and column.ndim == 1 else list(column))
    except (pa.ArrowException, OverflowError, TypeError):
        raise _oddity(column, name) from None


def _oddity(column: Any, name: str) -> ColumnError:
    """The error that names the first row whose ids are not all strings or all integers."""
    kinds: set[type] = set()
    for row, ids in enumerate(column):
        if ids is not None and (isinstance(ids, str | bytes) or not hasattr(ids, "__iter__")):
            return ColumnError(f"{name}, row {row}: a list of ids was expected, not {ids!r}")
        for one in () if ids is None else ids:
            kinds.add(int if isinstance(one, int | np.integer) else type(one))
            if not isinstance(one, str | int | np.integer) or isinstance(one, bool) or len(kinds) > 1:
                return ColumnError(f"{name}, row {row}: ids are {WANTED}, not {one!r}")
    return ColumnError(f"{name}: integer ids must fit in 64 bits with sign; give larger ones as strings")


def _as_lists(array: pa.Array, name: str) -> pa.Array:
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(pa.list_(pa.null()))
    if pa.types.is_dictionary(kind):
        return _as_lists(array.cast(kind.value_type), name)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return array.cast(pa.large_list(kind.value_type))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise ColumnError(f"{name}: a column of lists was expected, not of {kind}")
    return array


def _nulls(array: pa.Array) -> Flags:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)
