"""Concordant and discordant pairs, counted for each row with a Fenwick tree: O(n log n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel


@kernel
def below(tree: NDArray[np.int64], level: int) -> int:
    """Number of inserted rows with a lower level; ``tree`` has an entry more than there are levels."""
    count = 0
    while level > 0:
        count += tree[level]
        level -= level & -level
    return count


@kernel
def insert(tree: NDArray[np.int64], level: int) -> None:
    """Insert one row with the level ``level``."""
    place = level + 1
    while place < tree.shape[0]:
        tree[place] += 1
        place += place & -place


@kernel
def concordance(
    runs: NDArray[np.int64], levels: NDArray[np.int32], lower: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """For each row, the number of concordant rows minus the number of discordant rows.

    Rows are in ``runs`` of ascending score; row i has the label of level ``levels[i]``; ``lower[k]`` rows have a label
    below level k.
    """
    n = levels.shape[0]
    tree = np.zeros(lower.shape[0], np.int64)
    for run in range(runs.shape[0] - 1):
        start, stop = runs[run], runs[run + 1]
        for row in range(start, stop):
            level = levels[row]
            out[row] = below(tree, level) - (start - below(tree, level + 1))
        for row in range(start, stop):
            insert(tree, levels[row])
        for row in range(start, stop):
            level = levels[row]
            behind, ahead = below(tree, level), stop - below(tree, level + 1)
            out[row] += (n - lower[level + 1] - ahead) - (lower[level] - behind)
