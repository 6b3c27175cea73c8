"""The lists of integers that a run stores for each row, for corpus metrics that need all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Ints, Uint64s

KeptRows: TypeAlias = Callable[[], Iterable[tuple[pa.Array, ...]]]
"""Returns the stored column batch by batch at each call; null for an incomplete row."""


def row_lists(heads: Uint64s, values: Uint64s, sizes: Ints) -> pa.ListArray:
    """Lists of integers: for each row its ``heads``, equally many in all rows, followed by its ``values``."""
    offsets = np.concatenate([[0], np.cumsum(sizes + heads.shape[1])])
    flat = np.empty(offsets[-1], np.uint64)
    at_head = np.zeros(len(flat), np.bool_)
    for place in range(heads.shape[1]):
        flat[offsets[:-1] + place] = heads[:, place]
        at_head[offsets[:-1] + place] = True
    flat[~at_head] = values
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat.view(np.int64)))


def where_present(lists: pa.ListArray, present: Flags) -> pa.ListArray:
    """The lists of complete rows; null for the others."""
    if present.all():
        return lists
    offsets = np.concatenate([[0], np.cumsum(np.diff(lists.offsets.to_numpy()) * present)])
    values = lists.filter(pa.array(present)).flatten()
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~present))


def heads_of(lists: pa.Array, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Ints]:
    """The heads, the values and the number of values of the rows that are not null: the inverse of ``row_lists``."""
    present = lists.drop_null()
    flat = present.flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
    sizes = present.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    at_head = np.zeros(len(flat), np.bool_)
    places = starts[:, None] + np.arange(count)
    at_head[places.ravel()] = True
    return flat[places], flat[~at_head], sizes - count


def numbered(keys: Uint64s) -> Ints:
    """A number for each distinct row of keys, in order of first occurrence."""
    width = keys.shape[1] * keys.itemsize
    data = pa.py_buffer(np.ascontiguousarray(keys))
    encoded = pa.Array.from_buffers(pa.binary(width), len(keys), [None, data]).dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
