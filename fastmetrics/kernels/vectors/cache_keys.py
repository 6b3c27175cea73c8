"""Look-up of rows by 128-bit keys, with an open-addressing table of row numbers."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Ints, Uint64s
from fastmetrics.kernels.jit import kernel


@kernel
def place_of(table: Ints, stored: Uint64s, low: np.uint64, high: np.uint64) -> int:
    """The slot of a key, or the free slot for it."""
    last = np.uint64(len(table) - 1)
    slot = np.int64(low & last)
    while table[slot] >= 0 and (stored[table[slot], 0] != low or stored[table[slot], 1] != high):
        slot = np.int64(np.uint64(slot + 1) & last)
    return slot


@kernel
def add_keys(table: Ints, stored: Uint64s, first: int) -> int:
    """Insert the stored keys from number ``first`` on, the first of equal keys; return how many were new."""
    new = 0
    for row in range(first, len(stored)):
        slot = place_of(table, stored, stored[row, 0], stored[row, 1])
        if table[slot] < 0:
            table[slot] = row
            new += 1
    return new


@kernel
def find_keys(table: Ints, stored: Uint64s, keys: Uint64s, rows: Ints) -> None:
    """The row of each key, -1 if it is not stored."""
    for number in range(len(keys)):
        rows[number] = table[place_of(table, stored, keys[number, 0], keys[number, 1])]
