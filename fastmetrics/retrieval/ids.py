"""Ids of Arrow columns as flat read-only arrays for kernels."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.core.arrays import Ints
from fastmetrics.errors import ColumnError
from fastmetrics.kernels.ranking import ids as kernels
from fastmetrics.kernels.ranking.ids import Ids

T = TypeVar("T", bound=np.generic)


def frozen(array: NDArray[T]) -> NDArray[T]:
    """A read-only view, so that kernels receive one array type and are compiled once."""
    view = array.view()
    view.setflags(write=False)
    return view


_NOTHING = frozen(np.zeros(0, np.int64))
_NO_BYTES = frozen(np.zeros(0, np.uint8))


def ids_of(values: pa.Array, name: str) -> tuple[Ids, str]:
    """The ids of an Arrow array without nulls, and their kind."""
    kind = values.type
    if pa.types.is_null(kind) or len(values) == 0:
        return fixed_ids(np.zeros(0, np.uint64)), "none"
    if pa.types.is_integer(kind):
        return integer_ids(values, name), "integer"
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
    return fixed_ids(kernels.hash_texts(text, begins, ends), text, begins, ends)


def integer_ids(values: pa.Array, name: str) -> Ids:
    """Keys of an Arrow integer array: the integers themselves, so keys cannot collide."""
    try:
        whole = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise ColumnError(f"column {name!r}: expected integer ids below 2**63; give larger ones as strings") from None
    return fixed_ids(np.ascontiguousarray(whole).view(np.uint64))


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
