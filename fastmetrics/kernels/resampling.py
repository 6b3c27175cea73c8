"""Resampling: random draws by seed and index, sums of drawn rows and random signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel, leaf

# Random numbers that depend only on a seed and an index, so results are independent of the order of execution.


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64."""


@leaf
def mix(state: np.uint64) -> np.uint64:
    """SplitMix64's 64-bit output for a state (Steele, Lea and Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@leaf
def stream(seed: np.uint64, resample: int) -> np.uint64:
    """The initial state of a resample's draws; draw i is ``mix(stream + i·GOLDEN)``."""
    return mix(mix(seed + GOLDEN) ^ (np.uint64(resample) * np.uint64(0xD1342543DE82EF95)))


# Sums of rows drawn with replacement, for the bootstrap of paired differences.


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
        # 32 random bits · n / 2³² is a row below n; its upper bits are its block.
        counts[((z >> np.uint64(32)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1
        counts[((z & np.uint64(0xFFFFFFFF)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1
    if n & np.uint64(1):
        counts[((mix(state + GOLDEN) >> np.uint64(32)) * n) >> np.uint64(32 + BLOCK_BITS)] += 1


@leaf
def block_sum(block: NDArray[np.int64], draws: int, state: np.uint64) -> int:
    """The sum of the given number of values drawn from ``block[:BLOCK]``; each 64-bit draw gives six values."""
    total = np.int64(0)
    # Ten bits are one of the 1,024 values, so 64 bits have six.
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
        # 32 random bits · n / 2³² is a place below n.
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
            # Each resample and block has a stream of its own, since the blocks come in the outer loop.
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


# Sums of numbers with randomly flipped signs, for Fisher's randomisation test.
#
# One draw holds the signs of 64 rows as bits.  The sums of all subsets of 8 rows are tabulated once, so that a byte
# of signs costs one look-up per resample (method of Four Russians).  Sums of integers are exact in any order.
# ``values[i]`` is the number of row i; ``tables[b, s]``, of 8 × 256 entries, is the sum of subset s of the eight rows
# of byte b.


@leaf
def subset_sums(values: NDArray[np.int64], start: int, tables: NDArray[np.int64]) -> int:
    """Write the sums of all subsets of each 8 of the 64 rows from ``start`` on to ``tables``; return the total."""
    total = 0
    for byte in range(8):
        tables[byte, 0] = 0
        for bit in range(8):
            row = start + 8 * byte + bit
            # Rows past the end are 0, and their signs have no effect.
            value = values[row] if row < values.shape[0] else np.int64(0)
            width = 1 << bit
            for subset in range(width):
                # A subset with this bit is one without it, and the value.
                tables[byte, width + subset] = tables[byte, subset] + value
        total += tables[byte, 255]
    return total


@leaf
def looked_up(tables: NDArray[np.int64], bits: np.uint64) -> int:
    """The sum of the rows with a set bit."""
    total = np.int64(0)
    for byte in range(8):
        total += tables[byte, (bits >> np.uint64(8 * byte)) & np.uint64(255)]
    return total


@kernel
def flipped_sums(values: NDArray[np.int64], seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """Σ ±value for the resamples from number ``first`` on; each sign is a bit of a draw of its resample."""
    tables = np.empty((8, 256), np.int64)
    states = np.empty(out.shape[0], np.uint64)
    for place in range(out.shape[0]):
        states[place] = stream(seed, first + place)
        out[place] = 0
    for start in range(0, values.shape[0], 64):
        total = subset_sums(values, start, tables)
        for place in range(out.shape[0]):
            states[place] += GOLDEN
            # Σ ±v: all, less twice those with a minus.
            out[place] += total - 2 * looked_up(tables, mix(states[place]))
