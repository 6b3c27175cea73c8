"""NumPy's derivation of bounded integers from 64-bit draws, and sums over them, to reproduce sacreBLEU's results.

``raw[i]`` is draw i of 64 bits, which gives two draws of 32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.stats.sign_flips import looked_up, subset_sums

_HALF = np.uint64(0xFFFFFFFF)


@leaf
def half(raw: NDArray[np.uint64], at: int) -> np.uint64:
    """The 32-bit draw at an index: each raw draw gives its lower half first."""
    return (raw[at >> 1] >> np.uint64(32 * (at & 1))) & _HALF


@kernel
def bounded(raw: NDArray[np.uint64], at: int, n: int, out: NDArray[np.int32]) -> tuple[int, int]:
    """Write integers below n from the 32-bit draws from ``at`` on (Lemire 2019); return how many, and the next index.

    It ends when ``out`` is full or no draws are left.
    """
    below, threshold, ends = np.uint64(n), np.uint64((2**32 - n) % n), 2 * raw.shape[0]
    filled = 0
    if not at & 1:  # two draws at a time, up to the first rejected draw
        for draw in raw[at >> 1 : min(raw.shape[0], (at + out.shape[0]) >> 1)]:
            low, high = (draw & _HALF) * below, (draw >> np.uint64(32)) * below
            if low & _HALF < threshold or high & _HALF < threshold:
                break
            out[filled], out[filled + 1] = low >> np.uint64(32), high >> np.uint64(32)
            filled += 2
        at += filled
    while filled < out.shape[0] and at < ends:
        product = half(raw, at) * below
        at += 1
        if product & _HALF >= threshold:
            out[filled] = product >> np.uint64(32)
            filled += 1
    return filled, at


@kernel
def float_sums(table: NDArray[np.float32], rows: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """The sums of resampled float32 rows, added in NumPy's order; a sample has as many rows as the data."""
    n = table.shape[0]
    out[:] = 0
    for place in range(out.shape[0]):
        for at in range(place * n, (place + 1) * n):
            for column in range(table.shape[1]):
                out[place, column] += table[rows[at], column]


@kernel
def word_sums(words: NDArray[np.int64], rows: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """The sums of resampled integer rows; ``words`` are tables of four columns each, small enough for the CPU cache."""
    n = words.shape[1]
    for table in range(words.shape[0]):
        columns = words[table]
        for place in range(out.shape[0]):
            a = b = c = d = np.int64(0)
            for row in rows[place * n : (place + 1) * n]:
                a += columns[row, 0]
                b += columns[row, 1]
                c += columns[row, 2]
                d += columns[row, 3]
            out[place, 4 * table : 4 * table + 4] = a, b, c, d


@leaf
def bits_from(words: NDArray[np.uint64], place: int) -> np.uint64:
    """The 64 bits from a bit position on; zeros after the end."""
    word, shift = place >> 6, np.uint64(place & 63)
    bits = words[word] >> shift
    if shift and word + 1 < words.shape[0]:
        bits |= words[word + 1] << (np.uint64(64) - shift)
    return bits


@kernel
def selected_sums(values: NDArray[np.int64], words: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    """Write the sum of the ``values[i]`` whose bits are set into ``out[s]`` for each sample s.

    Each sample has a bit per value in ``words``; the samples are concatenated.
    """
    tables, n = np.empty((8, 256), np.int64), values.shape[0]
    out[:] = 0
    for start in range(0, n, 64):
        subset_sums(values, start, tables)
        for place in range(out.shape[0]):
            out[place] += looked_up(tables, bits_from(words, place * n + start))
