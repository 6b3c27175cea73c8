"""Sums over rows and pairs of vectors, and the look-up of rows by 128-bit keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastmetrics.base.arrays import Ints, Uint64s
from fastmetrics.kernels.jit import kernel, leaf

# Sums over rows and pairs of vectors.
#
# Row sums use pairwise summation in float64: element-wise loops that compile to SIMD instructions without reordering.
# A tile is a block of scalar products between two groups of centred rows; with ``h`` the half squared norms,
# ``h[i] + h[j] - tile[i, j]`` is half the squared distance of the pair (the cosine distance, for unit rows).


Array = npt.NDArray[Any]

LANES = 32  # parallel sums: vectorised, and bit-identical on every machine


class Nearest(NamedTuple):
    """The nearest of each row found so far: int64 ids and half squared distances, ascending by (half, id)."""

    halves: Array
    ids: Array


class TilePoints(NamedTuple):
    """Centred rows along one side of a tile: the rows, their half squared norms, their ids."""

    rows: Array
    halves: Array
    ids: Array


@leaf
def fold(buffer: Array, width: int) -> float:
    """Pairwise sum of the first ``width`` numbers of ``buffer``, which is overwritten."""
    # The second half is added to the first; the middle one of an odd number waits for the next round.  The order
    # depends on the width alone, not on the processor's registers.
    while width > 1:
        half = width // 2
        for j in range(half):
            buffer[j] += buffer[width - half + j]
        width -= half
    return float(buffer[0])


@kernel
def norms_and_sums(rows: Array, norms: Array, total: Array, unit_total: Array) -> None:
    """Norm of each row (not finite if the row is not), and the sums of the finite rows and of their directions.

    ``rows`` is n × d, ``norms`` has n entries, ``total`` and ``unit_total`` have d.
    """
    dim = rows.shape[1]
    squares = np.zeros(dim)
    for i in range(rows.shape[0]):
        for j in range(dim):
            value = np.float64(rows[i, j])
            squares[j] = value * value
        norms[i] = np.sqrt(fold(squares, dim))
        if not np.isfinite(norms[i]):
            continue
        # A zero vector has no direction and adds none.
        inverse = 1.0 / norms[i] if norms[i] > 0 else 0.0
        for j in range(dim):
            value = np.float64(rows[i, j])
            total[j] += value
            unit_total[j] += value * inverse


@kernel
def centre(rows: Array, scales: Array, mean: Array, factor: float, centred: Array, squares: Array) -> None:
    """``centred`` = (row · its scale − mean) · factor as float32; ``squares`` = the squared norm before the factor.

    ``rows`` and ``centred`` are n × d, ``scales`` and ``squares`` have n entries, ``mean`` has d.
    """
    dim = rows.shape[1]
    buffer = np.zeros(dim)
    for i in range(rows.shape[0]):
        scale = scales[i]
        for j in range(dim):
            value = np.float64(rows[i, j]) * scale - mean[j]
            buffer[j] = value * value
            centred[i, j] = np.float32(value * factor)
        squares[i] = fold(buffer, dim)


@leaf
def insert(halves: Array, ids: Array, half: float, new: int) -> None:
    """Insert a neighbour into one row's ascending list if it is near enough; ties are sorted by id."""
    last = halves.shape[0] - 1
    # With ties by id the list does not depend on the order in which pairs come.
    if half > halves[last] or (half == halves[last] and new > ids[last]):
        return
    place = last
    while place > 0 and (half < halves[place - 1] or (half == halves[place - 1] and new < ids[place - 1])):
        halves[place] = halves[place - 1]
        ids[place] = ids[place - 1]
        place -= 1
    halves[place] = half
    ids[place] = new


@kernel
def scan_tile(
    tile: Array, down: TilePoints, across: TilePoints, near_down: Nearest, near_across: Nearest, far: Array
) -> None:
    """Add every pair of the tile to the lists of both rows; write the farthest pair to ``far`` (half, id, id).

    ``near_across`` is skipped if its lists have no columns, as where both sides are the same rows; those of
    ``near_down`` have at least one.
    """
    kept_down = near_down.halves.shape[1]
    kept_across = near_across.halves.shape[1]
    # A pair enters a list if it is at most as far as its last entry; -inf stands for no list.
    limits = np.full(tile.shape[1], np.float32(-np.inf))
    if kept_across:
        limits[:] = near_across.halves[:, kept_across - 1]
    for i in range(tile.shape[0]):
        own = down.halves[i]
        limit = near_down.halves[i, kept_down - 1]
        for j in range(tile.shape[1]):
            half = own + across.halves[j] - tile[i, j]
            # Nearly all pairs are neither near nor the farthest, and end here.
            if half > limit and half > limits[j] and half <= far[0]:
                continue
            if down.ids[i] == across.ids[j]:
                continue
            if half <= limit:
                insert(near_down.halves[i], near_down.ids[i], half, across.ids[j])
                limit = near_down.halves[i, kept_down - 1]
            if half <= limits[j]:
                insert(near_across.halves[j], near_across.ids[j], half, down.ids[i])
                limits[j] = near_across.halves[j, kept_across - 1]
            if half > far[0]:
                far[0], far[1], far[2] = half, down.ids[i], across.ids[j]


@kernel
def distance_sums(
    tile: Array, down: TilePoints, across: TilePoints, centre_at: float, above_diagonal: bool
) -> tuple[float, float]:
    """Sums of (d − centre_at) and its square over the pairs, d = √(2·half); only j > i if ``above_diagonal``."""
    width = tile.shape[1]
    buffer = np.zeros(max(width, down.rows.shape[1]))
    sums, squares = np.zeros(width), np.zeros(width)
    for i in range(tile.shape[0]):
        own = down.halves[i]
        for j in range(i + 1 if above_diagonal else 0, width):
            both = own + across.halves[j]
            half = float(both - tile[i, j])
            if half < 0.01 * both:  # cancellation in float32: the square root would amplify the error
                half = near_half(down.rows[i], across.rows[j], buffer)
            off = np.sqrt(2.0 * half) - centre_at
            sums[j] += off
            squares[j] += off * off
    return fold(sums, width), fold(squares, width)


@leaf
def near_half(left: Array, right: Array, buffer: Array) -> float:
    """Half the squared distance of two centred rows; ``left``, ``right`` and the scratch ``buffer`` have d entries."""
    for j in range(left.shape[0]):
        off = np.float64(left[j]) - np.float64(right[j])
        buffer[j] = off * off
    return 0.5 * fold(buffer, left.shape[0])


@kernel
def pair_halves(
    left: Array,
    right: Array,
    left_rows: Array,
    right_rows: Array,
    left_scales: Array,
    right_scales: Array,
    halves: Array,
) -> None:
    """Half the squared distance, in float64, of each given pair of rows of ``left`` and ``right``, scaled."""
    lanes = np.zeros(LANES)
    whole = left.shape[1] - left.shape[1] % LANES
    for pair in range(left_rows.shape[0]):
        a, b = left[left_rows[pair]], right[right_rows[pair]]
        left_scale, right_scale = left_scales[pair], right_scales[pair]
        lanes[:] = 0.0
        for first in range(0, whole, LANES):
            for lane in range(LANES):
                off = np.float64(a[first + lane]) * left_scale - np.float64(b[first + lane]) * right_scale
                lanes[lane] += off * off
        for lane in range(left.shape[1] - whole):
            off = np.float64(a[whole + lane]) * left_scale - np.float64(b[whole + lane]) * right_scale
            lanes[lane] += off * off
        halves[pair] = 0.5 * fold(lanes, LANES)


@kernel
def pair_products(left: Array, right: Array, left_rows: Array, right_rows: Array, products: Array) -> None:
    """Scalar product, in float64, of each given pair of rows of ``left`` and ``right``."""
    lanes = np.zeros(LANES)
    whole = left.shape[1] - left.shape[1] % LANES
    for pair in range(left_rows.shape[0]):
        a, b = left[left_rows[pair]], right[right_rows[pair]]
        lanes[:] = 0.0
        for first in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += np.float64(a[first + lane]) * np.float64(b[first + lane])
        for lane in range(left.shape[1] - whole):
            lanes[lane] += np.float64(a[whole + lane]) * np.float64(b[whole + lane])
        products[pair] = fold(lanes, LANES)


# Look-up of rows by 128-bit keys, with an open-addressing table of row numbers.


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
