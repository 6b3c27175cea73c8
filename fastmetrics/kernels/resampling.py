"""Resampling: random draws by seed and index, sums of drawn rows, random splits and signs, and the bootstrap of
associations.
"""

from __future__ import annotations

from typing import NamedTuple

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


# Sums of randomly drawn subsets of a fixed size, for the randomisation test of two independent samples.


@leaf
def split_sums(values: NDArray[np.int64], size: int, seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """Σ of ``size`` of the values (n,), drawn without replacement, for the resamples from number ``first`` on.

    Selection sampling (Knuth 1969, algorithm S): a value is drawn with the probability that the number still needed
    has among the values still left, so that each subset is equally likely.
    """
    n = values.shape[0]
    for place in range(out.shape[0]):
        state = stream(seed, first + place)
        needed, total = size, np.int64(0)
        for row in range(n):
            if needed == 0:
                break
            state += GOLDEN
            # 32 bits of a draw, as a whole number below the number of values left
            if (((mix(state) >> np.uint64(32)) * np.uint64(n - row)) >> np.uint64(32)) < np.uint64(needed):
                total += values[row]
                needed -= 1
        out[place] = total


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


# The range of the systems' sums after a random permutation of each row's values (randomised Tukey HSD).


@leaf
def shuffle(places: NDArray[np.int64], state: np.uint64) -> np.uint64:
    """Shuffle ``places`` (Fisher and Yates) with 16 bits per swap; return the state after the draws."""
    bits, left = np.uint64(0), 0
    for last in range(places.shape[0] - 1, 0, -1):
        if left == 0:
            state += GOLDEN
            bits, left = mix(state), 4
        # 16 random bits · (last + 1) / 2¹⁶ is a place up to ``last``.
        other = np.int64(((bits & np.uint64(0xFFFF)) * np.uint64(last + 1)) >> np.uint64(16))
        bits >>= np.uint64(16)
        left -= 1
        places[last], places[other] = places[other], places[last]
    return state


@kernel
def permuted_ranges(values: NDArray[np.int64], seed: np.uint64, first: int, out: NDArray[np.int64]) -> None:
    """The maximum minus the minimum of the systems' sums, for the resamples from number ``first`` on.

    ``values`` has a row for each question and a column for each system.
    """
    systems = values.shape[1]
    places, sums = np.arange(systems), np.empty(systems, np.int64)
    for place in range(out.shape[0]):
        state = stream(seed, first + place)
        sums[:] = 0
        for row in range(values.shape[0]):
            state = shuffle(places, state)
            for system in range(systems):
                sums[places[system]] += values[row, system]
        out[place] = sums.max() - sums.min()


# Correlations, ROC AUC and F1 of weighted rows in one pass, and the bootstrap that repeats it.


PEARSON, SPEARMAN, AUC, F1 = range(4)


class LabelledScores(NamedTuple):
    """Rows sorted by score, hence in runs of equal score, and by label within a run."""

    runs: NDArray[np.int64]
    """Start of each run, followed by the number of rows."""
    scores: NDArray[np.float64]
    """The standardised score of each run."""
    levels: NDArray[np.int32]
    """Index of each row's label among the distinct labels."""
    labels: NDArray[np.float64]
    """The distinct labels, ascending, standardised."""
    positive: NDArray[np.float64]
    """1 for a distinct label that counts as positive, else 0."""
    clusters: NDArray[np.int32]
    """The cluster of each row, from 0 on; the rows of a cluster are drawn together."""


class Scratch(NamedTuple):
    """Work arrays of one pass: per row, and per distinct label."""

    weights: NDArray[np.float64]
    level_weights: NDArray[np.float64]
    level_ranks: NDArray[np.float64]


@kernel
def draw(seed: np.uint64, resample: int, weights: NDArray[np.float64]) -> None:
    """Count in ``weights[c]`` how often cluster c is drawn in a sample of n from n clusters with replacement.

    The generator is SplitMix64 on a counter: each draw depends only on the seed, the resample and the draw's index.
    """
    weights[:] = 0.0
    n = np.uint64(weights.shape[0])
    state = seed + np.uint64(resample) * np.uint64(0xD1342543DE82EF95)
    for _ in range(weights.shape[0]):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        weights[np.int64(((z >> np.uint64(32)) * n) >> np.uint64(32))] += 1.0


@kernel
def rank_levels(sample: LabelledScores, scratch: Scratch) -> float:
    """Compute each distinct label's weight, and twice its mean rank minus n + 1; return n, the sum of weights."""
    level_weights, level_ranks = scratch.level_weights, scratch.level_ranks
    level_weights[:] = 0.0
    total = 0.0
    for row in range(sample.levels.shape[0]):
        level_weights[sample.levels[row]] += scratch.weights[row]
        total += scratch.weights[row]
    below = 0.0
    for level in range(level_weights.shape[0]):
        # The mean rank of equal labels is below + (weight + 1) / 2; twice this, less n + 1, has the mean 0.
        level_ranks[level] = 2.0 * below + level_weights[level] - total
        below += level_weights[level]
    return total


@kernel
def weigh(weights: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    """Σ w·v and Σ w·v² over ``weights[i]`` and ``values[i]``, added in order."""
    total = squares = 0.0
    for place in range(values.shape[0]):
        total += weights[place] * values[place]
        squares += weights[place] * values[place] * values[place]
    return total, squares


@kernel
def ratio(above: float, below: float) -> float:
    """``above / below``, NaN unless ``below`` is positive."""
    return above / below if below > 0.0 else np.nan


@kernel
def spread(n: float, total: float, squares: float) -> float:
    """n²·variance; 0 if it is within the rounding error."""
    value = n * squares - total * total
    return value if value > 1e-14 * n * squares else 0.0


@kernel
def measure(sample: LabelledScores, scratch: Scratch, cut: int, out: NDArray[np.float64]) -> None:
    """Pearson, Spearman, AUC, and F1 (runs from ``cut`` on predicted positive) of the weighted rows."""
    n = rank_levels(sample, scratch)
    below = x = xx = xy = rr = rs = wins = positives = hits = predicted = 0.0
    for run in range(sample.scores.shape[0]):
        weight = good = label_sum = rank_sum = 0.0
        for row in range(sample.runs[run], sample.runs[run + 1]):
            w, level = scratch.weights[row], sample.levels[row]
            weight += w
            good += w * sample.positive[level]
            label_sum += w * sample.labels[level]
            rank_sum += w * scratch.level_ranks[level]
        # As for labels: twice the mean rank, less n + 1.
        score, rank = sample.scores[run], 2.0 * below + weight - n
        x, xx, xy = x + weight * score, xx + weight * score * score, xy + score * label_sum
        rr, rs = rr + weight * rank * rank, rs + rank * rank_sum
        # Pairs of a positive and a negative row that the scores put in order: the negative ones below, and half those
        # equal.
        wins += good * (below - positives + (weight - good) / 2.0)
        below, positives = below + weight, positives + good
        if run >= cut:
            hits, predicted = hits + good, predicted + weight
    y, yy = weigh(scratch.level_weights, sample.labels)
    # Pearson's r is n·Σxy - Σx·Σy over the root of both n²·variances; Spearman's is r of ranks, whose means are 0.
    out[0] = ratio(n * xy - x * y, np.sqrt(spread(n, x, xx) * spread(n, y, yy)))
    out[1] = ratio(rs, np.sqrt(rr * weigh(scratch.level_weights, scratch.level_ranks)[1]))
    out[2] = ratio(wins, positives * (n - positives))
    out[3] = ratio(2.0 * hits, positives + predicted)


@kernel
def resample(sample: LabelledScores, cut: int, seed: np.uint64, first: int, out: NDArray[np.float64]) -> None:
    """The four figures of each resample from number ``first`` on, one row of ``out`` each; number 0 is the sample."""
    n_rows, n_levels = sample.levels.shape[0], sample.labels.shape[0]
    scratch = Scratch(np.ones(n_rows), np.empty(n_levels), np.empty(n_levels))
    drawn = np.empty(sample.clusters.max() + 1)
    for place in range(out.shape[0]):
        if first + place > 0:
            draw(seed, first + place, drawn)
            for row in range(n_rows):
                scratch.weights[row] = drawn[sample.clusters[row]]
        measure(sample, scratch, cut, out[place])
