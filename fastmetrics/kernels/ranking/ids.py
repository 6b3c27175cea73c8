"""Ids in Arrow buffers: hashing, comparison, and exact look-up.

An id is a 64-bit key: the integer itself, or the hash of a text; equal hashes are confirmed by the texts' bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel

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
    """A 64-bit key per text, eight bytes at a time."""
    keys = np.empty(starts.size, np.uint64)
    for row in range(starts.size):
        at, stop = starts[row], stops[row]
        key = _ODD * np.uint64(stop - at + 1)
        while at + 8 <= stop:
            word = _ZERO
            for byte in range(8):  # fixed length, so that the compiler emits one load
                word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
            key = (key ^ word) * _MIX
            key ^= key >> _HALF
            at += 8
        word = _ZERO
        while at < stop:
            word = (word << _BYTE) | np.uint64(data[at])
            at += 1
        key = (key ^ word) * _MIX
        keys[row] = key ^ (key >> _HALF)
    return keys


@kernel
def same(a: Ids, i: int, b: Ids, j: int) -> bool:
    """Whether id ``i`` of ``a`` equals id ``j`` of ``b``: equal keys and, for texts, equal bytes."""
    if a.keys[i] != b.keys[j]:
        return False
    if a.starts.size == 0 or b.starts.size == 0:
        return True
    size = a.stops[i] - a.starts[i]
    if size != b.stops[j] - b.starts[j]:
        return False
    for offset in range(size):  # noqa: SIM110 - a generator expression does not compile
        if a.data[a.starts[i] + offset] != b.data[b.starts[j] + offset]:
            return False
    return True


@kernel
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
    """Allocate enough slots for the ``longest`` row of ids."""
    return np.empty(room(longest), np.int64)


@kernel
def room(count: int) -> int:
    """Number of slots for ``count`` ids, a power of two: eight per id for few ids, two per id for many."""
    size = 8
    while size < 2 * count or (size < 8 * count and size < 2048):
        size *= 2
    return size


@kernel
def clear(slots: NDArray[np.int64], count: int) -> int:
    """Clear the first slots for ``count`` ids; return the mask for hashes."""
    size = room(count)
    for slot in range(size):
        slots[slot] = -1
    return size - 1


@kernel
def find(slots: NDArray[np.int64], mask: int, stored: Ids, ids: Ids, i: int) -> int:
    """The slot that holds id ``i`` of ``ids``, or the empty slot for it."""
    slot = int(np.int64((ids.keys[i] * _ODD) >> _HALF)) & mask
    while slots[slot] >= 0 and not same(stored, slots[slot], ids, i):
        slot = (slot + 1) & mask
    return slot


@kernel
def repeats(ids: Ids, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ids occur earlier in the same row; row r is ``starts[r]:starts[r + 1]``."""
    repeated = np.zeros(ids.keys.size, np.bool_)
    longest = 0
    for row in range(starts.size - 1):
        longest = max(longest, starts[row + 1] - starts[row])
    slots = table_for(longest)
    for row in range(starts.size - 1):
        mask = clear(slots, starts[row + 1] - starts[row])
        for i in range(starts[row], starts[row + 1]):
            slot = find(slots, mask, ids, ids, i)
            if slots[slot] >= 0:
                repeated[i] = True
            else:
                slots[slot] = i
    return repeated
