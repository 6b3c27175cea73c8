"""Sums of rows drawn with replacement, for the bootstrap of paired differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.stats.draws import GOLDEN, mix, stream

BLOCK_BITS = 10
BLOCK = 1 << BLOCK_BITS


@leaf
def count_blocks(n: np.uint64, state: np.uint64, counts: NDArray[np.int64]) -> None:
    """Count in ``counts[b]`` how many of n draws fall into block b of rows.

    A 64-bit draw gives two rows, for fewer than 2³² rows.
    """
    counts[:] = 0
    for _ in range(n // np.uint64(2)):
        state += GOLDEN
        z = mix(state)
        counts[((z >> np.uint64(32)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1
        counts[((z & np.uint64(0xFFFFFFFF)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1
    if n & np.uint64(1):
        counts[((mix(state + GOLDEN) >> np.uint64(32)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1


@leaf
def block_sum(block: NDArray[np.int64], draws: int, state: np.uint64) -> int:
    """The sum of the given number of values drawn from ``block[:BLOCK]``; each 64-bit draw gives six values."""
    total = np.int64(0)
    for _ in range(draws // 6):
        state += GOLDEN
        z = mix(state)
        for _ in range(6):
            total += block[z & np.uint64(BLOCK - 1)]
            z >>= np.uint64(BLOCK_BITS)
    z = mix(state + GOLDEN)
    for _ in range(draws % 6):
        total += block[z & np.uint64(BLOCK - 1)]
        z >>= np.uint64(BLOCK_BITS)
    return total


@leaf
def short_block_sum(block: NDArray[np.int64], draws: int, state: np.uint64) -> int:
    """Like ``block_sum``, for a ``block`` of fewer values."""
    total, n = np.int64(0), np.uint64(block.shape[0])
    for _ in range(draws):
        state += GOLDEN
        total += block[((mix(state) >> np.uint64(32)) * n) >> np.uint64(32)]
    return total


@kernel
def resampled_sums(values: NDArray[np.int64], seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """The sum of n values drawn with replacement from n values, for the resamples from number ``first`` on.

    The first draws choose the number of rows per block of 1,024, the next ones choose the rows: a block fits in cache.
    """
    n = values.shape[0]
    counts = np.empty((out.shape[0], (n + BLOCK - 1) >> BLOCK_BITS), np.int64)
    for place in range(out.shape[0]):
        count_blocks(np.uint64(n), stream(seed, first + place), counts[place])
        out[place] = 0
    for block in range(counts.shape[1]):
        block_values = values[block << BLOCK_BITS : (block + 1) << BLOCK_BITS]
        for place in range(out.shape[0]):
            state = stream(mix(stream(seed, first + place)), block)
            if block_values.shape[0] == BLOCK:
                out[place] += block_sum(block_values, counts[place, block], state)
            else:
                out[place] += short_block_sum(block_values, counts[place, block], state)


@kernel
def resampled_clusters(
    values: NDArray[np.int64],
    sizes: NDArray[np.int64],
    seed: np.uint64,
    first: int,
    out: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> None:
    """The sums of the values and sizes of n clusters drawn with replacement from n clusters.

    Cluster c has ``values[c]`` and ``sizes[c]``; resample ``first + r`` gives ``out[r]`` and ``rows[r]``.
    """
    n = np.uint64(values.shape[0])
    for place in range(out.shape[0]):
        state = stream(seed, first + place)
        total = n_rows = np.int64(0)
        for _ in range(values.shape[0]):
            state += GOLDEN
            drawn = ((mix(state) >> np.uint64(32)) * n) >> np.uint64(32)
            total += values[drawn]
            n_rows += sizes[drawn]
        out[place], rows[place] = total, n_rows
