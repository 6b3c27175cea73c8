"""Ids in Arrow buffers: hashing, comparison, and exact look-up.

An id is a 64-bit key: the integer itself, or the hash of a text; equal hashes are confirmed by the texts' bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.blocks.byte_blocks import eight

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BYTE = np.uint64(8)
_ZERO = np.uint64(0)


class Ids(NamedTuple):
    """``keys[i]`` is the key of id i; the bytes of a text id are ``data[starts[i]:stops[i]]``; integers have none."""

    keys: NDArray[np.uint64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


@kernel
def hash_texts(data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit key per text ``data[starts[i]:stops[i]]``, eight bytes at a time."""
    keys = np.empty(starts.size, np.uint64)
    for row in range(starts.size):
        at, stop = starts[row], stops[row]
        key = _ODD * np.uint64(stop - at + 1)
        while at + 8 <= stop:
            key = (key ^ eight(data, np.uint64(at))) * _MIX
            key ^= key >> _HALF
            at += 8
        word = _ZERO
        while at < stop:
            word = (word << _BYTE) | np.uint64(data[at])
            at += 1
        key = (key ^ word) * _MIX
        keys[row] = key ^ (key >> _HALF)
    return keys


@inline
def same_text(a: Ids, i: int, b: Ids, j: int) -> bool:
    """Whether the bytes of text ``i`` of ``a`` equal those of text ``j`` of ``b``; always True for integers."""
    return (a.starts.size == 0 or b.starts.size == 0) or (
        a.stops[i] - a.starts[i] == b.stops[j] - b.starts[j]
        and same_bytes(a.data, a.starts[i], b.data, b.starts[j], a.stops[i] - a.starts[i])
    )


@leaf
def same_bytes(a: NDArray[np.uint8], i: int, b: NDArray[np.uint8], j: int, size: int) -> bool:
    """Whether ``a[i:i + size]`` equals ``b[j:j + size]``."""
    if size >= 8:  # the last eight may overlap: their number is easier to predict than a rest of single bytes
        for offset in range(0, size - 7, 8):
            if eight(a, np.uint64(i + offset)) != eight(b, np.uint64(j + offset)):
                return False
        return bool(eight(a, np.uint64(i + size - 8)) == eight(b, np.uint64(j + size - 8)))
    for offset in range(size):  # noqa: SIM110 - a generator expression does not compile
        if a[i + offset] != b[j + offset]:
            return False
    return True


@leaf
def is_after(ids: Ids, i: int, j: int) -> bool:
    """Whether text ``i`` sorts after text ``j`` by bytes; always False for integers."""
    if ids.starts.size == 0:
        return False
    left, right = ids.starts[i], ids.starts[j]
    for offset in range(min(ids.stops[i] - left, ids.stops[j] - right)):
        if ids.data[left + offset] != ids.data[right + offset]:
            return bool(ids.data[left + offset] > ids.data[right + offset])
    return bool(ids.stops[i] - left > ids.stops[j] - right)


@kernel
def table_for(longest: int) -> NDArray[np.int64]:
    """Empty slots, enough for the ``longest`` row of ids.

    Rows share the table in their order: entries of earlier rows are below the first id of a row and count as empty.
    """
    return np.full(room(longest), -1, np.int64)


@leaf
def room(count: int) -> int:
    """Number of slots for ``count`` ids, a power of two: eight per id for few ids, two per id for many."""
    size = 8
    while size < 2 * count or (size < 8 * count and size < 2048):
        size *= 2
    return size


@inline
def first_slot(mask: int, key: np.uint64) -> int:
    """The slot where the search for ``key`` begins."""
    return int(np.int64((key * _ODD) >> _HALF)) & mask


@inline
def find(slots: NDArray[np.int64], mask: int, first: int, stored: Ids, ids: Ids, i: int) -> int:
    """The slot that holds id ``i`` of ``ids``, or the empty slot for it.

    ``slots`` hold places in ``stored``; those below ``first``, the first id of the row, belong to earlier rows.
    """
    slot = first_slot(mask, ids.keys[i])
    while slots[slot] >= first and not (
        stored.keys[slots[slot]] == ids.keys[i] and same_text(stored, slots[slot], ids, i)
    ):
        slot = (slot + 1) & mask
    return slot


@kernel
def repeats(ids: Ids, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ids occur earlier in the same row; row r is ``starts[r]:starts[r + 1]``."""
    repeated = np.zeros(ids.keys.size, np.bool_)
    mark_repeats(ids, starts, table_for(longest_row(starts)), repeated)
    return repeated


@leaf
def mark_repeats(ids: Ids, starts: NDArray[np.int64], slots: NDArray[np.int64], repeated: NDArray[np.bool_]) -> None:
    """Set ``repeated`` of the ids that occur earlier in the same row ``ids.keys[starts[r]:starts[r + 1]]``.

    ``slots`` are those of a table for the longest row.
    """
    for row in range(starts.size - 1):
        first = starts[row]
        mask = room(starts[row + 1] - first) - 1
        for i in range(first, starts[row + 1]):
            slot = find(slots, mask, first, ids, ids, i)
            if slots[slot] >= first:
                repeated[i] = True
            else:
                slots[slot] = i


@leaf
def longest_row(starts: NDArray[np.int64]) -> int:
    """Number of ids of the longest row ``starts[r]:starts[r + 1]``."""
    longest = 0
    for row in range(starts.size - 1):
        longest = max(longest, starts[row + 1] - starts[row])
    return longest
