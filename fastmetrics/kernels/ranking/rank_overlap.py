"""Agreement of two rankings by depth."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.ranking.ids import Ids, find, longest_row, room, table_for


@leaf
def met_at(ids: Ids, starts: Ints, first: int, second: int, slots: Ints, met: Ints) -> None:
    """``met[d]`` = number of ids that are in both rankings down to rank d + 1 but not down to rank d.

    ``slots`` are those of a table for the longest row ``starts[r]:starts[r + 1]``.
    """
    start, stop = starts[first], starts[first + 1]
    mask = room(stop - start) - 1
    for slot in range(mask + 1):
        slots[slot] = -1
    for i in range(start, stop):
        slots[find(slots, mask, start, ids, ids, i)] = i
    for rank in range(met.size):
        met[rank] = 0
    for j in range(starts[second], starts[second + 1]):
        i = slots[find(slots, mask, start, ids, ids, j)]
        if i >= start:
            met[max(i - start, j - starts[second])] += 1


@kernel
def shares_in_common(ids: Ids, starts: Ints, pairs: Ints) -> Floats:
    """|A ∩ B| / |A ∪ B| of each pair of rows, 1 for two empty ones."""
    shares = np.ones(len(pairs))
    slots = table_for(longest_row(starts))
    for p in range(len(pairs)):
        first, second = pairs[p, 0], pairs[p, 1]
        sizes = starts[first + 1] - starts[first], starts[second + 1] - starts[second]
        met = np.empty(max(sizes[0], sizes[1]), np.int64)
        met_at(ids, starts, first, second, slots, met)
        common = met.sum()
        if met.size > 0:
            shares[p] = common / (sizes[0] + sizes[1] - common)
    return shares


@kernel
def rank_biased_overlaps(ids: Ids, starts: Ints, pairs: Ints, persistence: float) -> Floats:
    """Extrapolated rank-biased overlap of each pair of rows: 1 if both are empty, 0 if one is empty."""
    overlaps = np.ones(len(pairs))
    slots = table_for(longest_row(starts))
    for p in range(len(pairs)):
        first, second = pairs[p, 0], pairs[p, 1]
        sizes = starts[first + 1] - starts[first], starts[second + 1] - starts[second]
        short, long = min(sizes[0], sizes[1]), max(sizes[0], sizes[1])
        met = np.empty(long, np.int64)
        met_at(ids, starts, first, second, slots, met)
        common, common_short, total, weight = 0, 0, 0.0, 1.0
        for rank in range(1, long + 1):
            common += met[rank - 1]
            weight *= persistence
            total += common / rank * weight
            if rank == short:
                common_short = common
            if rank > short > 0:
                total += common_short * (rank - short) / (short * rank) * weight
        if short > 0:
            tail = (common - common_short) / long + common_short / short
            overlaps[p] = (1.0 - persistence) / persistence * total + tail * weight
        elif long > 0:
            overlaps[p] = 0.0
    return overlaps
