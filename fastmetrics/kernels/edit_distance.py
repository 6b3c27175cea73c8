"""Levenshtein distances of lists of ids and of texts, 64 columns of the table at a time (Myers 1999, Hyyrö 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.lcs import lcs_length
from fastmetrics.kernels.ngrams import Lists
from fastmetrics.kernels.simd.blocks import count_ones

# Neighbours in the table of distances differ by -1, 0 or 1.  A row of the table (a prefix of the longer list) is two
# words for each 64 ids of the shorter one: the bits of ``up`` say where the distance grows by one from the previous
# column, those of ``down`` where it falls by one.  Of lists of n and m ids this takes n · ⌈m / 64⌉ steps of some twenty
# instructions.


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_U0, _U1, _U2, _U63 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(63)


class Step(NamedTuple):
    """A row of one block of the table, and how the distance changes along its last column: by 1, -1 or 0."""

    up: np.uint64
    down: np.uint64
    grows: np.uint64
    falls: np.uint64


LANES = 4
"""Number of pairs whose tables are computed together, which the compiler turns into instructions for four numbers."""


@inline
def step(equal: np.uint64, up: np.uint64, down: np.uint64, grows: np.uint64, falls: np.uint64) -> Step:
    """The next row of a block: its bits, and whether the distance grows and falls along its last column.

    ``grows`` and ``falls`` are those of the block before, or 1 and 0.
    """
    equal |= falls
    # Where the distance along the diagonal stays the same; the addition carries runs of such places upwards.
    same = (((equal & up) + up) ^ up) | equal | down
    right = down | ~(same | up)
    left = same & up
    shifted = (right << _U1) | grows
    return Step(((left << _U1) | falls) | ~(same | shifted), shifted & same, right >> _U63, left >> _U63)


@inline
def change(block: Step, size: int) -> int:
    """What the first ``size`` columns of a block add to the distance."""
    inside = _ALL >> np.uint64(64 - size)
    return np.int64(count_ones(block.up & inside)) - np.int64(count_ones(block.down & inside))


@inline
def mask(masks: Uint64s, id_: np.int32, lane: int) -> np.uint64:
    """The bits of an id in a lane: where the lane's pattern has it."""
    return masks[(np.uint64(np.uint32(id_)) << _U2) | np.uint64(lane)]


@leaf
def all_lanes(texts: tuple[Ids, Ids, Ids, Ids], places: Ints, steps: int, masks: Uint64s, rows: Uint64s) -> None:
    """``steps`` rows of the tables of four pairs, each of one block, for the ids of the texts from ``places`` on."""
    first, second, third, fourth = texts
    h, i, j, k = np.uint64(places[0]), np.uint64(places[1]), np.uint64(places[2]), np.uint64(places[3])
    a, b = Step(rows[0], rows[4], _U0, _U0), Step(rows[1], rows[5], _U0, _U0)
    c, d = Step(rows[2], rows[6], _U0, _U0), Step(rows[3], rows[7], _U0, _U0)
    for at in range(np.uint64(steps)):
        a = step(mask(masks, first[h + at], 0), a.up, a.down, _U1, _U0)
        b = step(mask(masks, second[i + at], 1), b.up, b.down, _U1, _U0)
        c = step(mask(masks, third[j + at], 2), c.up, c.down, _U1, _U0)
        d = step(mask(masks, fourth[k + at], 3), d.up, d.down, _U1, _U0)
    rows[0], rows[1], rows[2], rows[3] = a.up, b.up, c.up, d.up
    rows[4], rows[5], rows[6], rows[7] = a.down, b.down, c.down, d.down


@leaf
def two_blocks(
    text: Ids, start: int, stop: int, pattern: Ids, first: int, last: int, masks: Uint64s, carries: Bytes
) -> int:
    """What the ids ``pattern[first:last]``, at most 128 of them, add to the distance.

    ``carries`` has two bits for each id of the text: how the distance changes there in the column before; it is
    overwritten with the last column's.
    """
    half = min(first + 64, last)
    set_bits(pattern, first, half, masks, 0)
    set_bits(pattern, half, last, masks, 1)
    one, other = Step(_ALL, _U0, _U0, _U0), Step(_ALL, _U0, _U0, _U0)
    for i in range(np.uint64(start), np.uint64(stop)):
        carry = np.uint64(carries[i - np.uint64(start)])
        one = step(mask(masks, text[i], 0), one.up, one.down, carry & _U1, carry >> _U1)
        other = step(mask(masks, text[i], 1), other.up, other.down, one.grows, one.falls)
        carries[i - np.uint64(start)] = np.uint8(other.grows | (other.falls << _U1))
    clear_bits(pattern, first, half, masks, 0)
    clear_bits(pattern, half, last, masks, 1)
    added = change(one, half - first)
    return added + change(other, last - half) if last > half else added


@leaf
def set_bits(pattern: Ids, first: int, last: int, masks: Uint64s, lane: int) -> None:
    """Set bit k in the lane's mask of the k-th id, for up to 64 ids."""
    bit = _U1
    for k in range(np.uint64(first), np.uint64(last)):
        masks[(np.uint64(np.uint32(pattern[k])) << _U2) | np.uint64(lane)] |= bit
        bit <<= _U1


@leaf
def clear_bits(pattern: Ids, first: int, last: int, masks: Uint64s, lane: int) -> None:
    """Undo ``set_bits``."""
    for k in range(np.uint64(first), np.uint64(last)):
        masks[(np.uint64(np.uint32(pattern[k])) << _U2) | np.uint64(lane)] = _U0


@leaf
def trimmed(a: Lists, b: Lists, row: int) -> tuple[bool, int, int, int, int]:
    """The bounds of the lists of a row without what both begin and end with, the longer one first.

    Also whether the longer one is that of ``a``.
    """
    start, stop, first, last = a.starts[row], a.stops[row], b.starts[row], b.stops[row]
    while start < stop and first < last and a.ids[np.uint64(start)] == b.ids[np.uint64(first)]:
        start, first = start + 1, first + 1
    while start < stop and first < last and a.ids[np.uint64(stop - 1)] == b.ids[np.uint64(last - 1)]:
        stop, last = stop - 1, last - 1
    if stop - start < last - first:
        return False, first, last, start, stop
    return True, start, stop, first, last


@leaf
def short_distances(a: Lists, b: Lists, masks: Uint64s, rows: Uint64s, lanes: Ints, distances: Ints) -> None:
    """Write the distances of the pairs of which one list has at most 64 ids, and the lengths of the others.

    ``lanes`` are buffers with an entry per lane.
    """
    # The row in each lane, -1 if none: the next id and the end of its text, and its pattern.
    owner, of_a, place, end, begin, size = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    owner[:] = -1
    row = busy = 0
    while busy >= 0:
        busy = -1
        for lane in range(LANES):
            while owner[lane] < 0 and row < len(distances):
                longer_is_a, start, stop, first, last = trimmed(a, b, row)
                distances[row] = stop - start
                if 0 < last - first <= 64:
                    set_bits(b.ids if longer_is_a else a.ids, first, last, masks, lane)
                    owner[lane], of_a[lane], place[lane], end[lane] = row, longer_is_a, start, stop
                    begin[lane], size[lane] = first, last - first
                    rows[lane], rows[LANES + lane] = _ALL, _U0
                row += 1
            busy = lane if owner[lane] >= 0 else busy
        if busy >= 0:
            steps = end[busy] - place[busy]
            for lane in range(LANES):
                if owner[lane] < 0:  # an empty lane follows another one, for nothing
                    of_a[lane], place[lane], end[lane] = of_a[busy], place[busy], end[busy]
                steps = min(steps, end[lane] - place[lane])
            texts = (
                a.ids if of_a[0] else b.ids,
                a.ids if of_a[1] else b.ids,
                a.ids if of_a[2] else b.ids,
                a.ids if of_a[3] else b.ids,
            )
            all_lanes(texts, place, steps, masks, rows)
        for lane in range(LANES):
            place[lane] += steps
            if owner[lane] >= 0 and place[lane] == end[lane]:
                pattern = b.ids if of_a[lane] else a.ids
                distances[owner[lane]] += change(Step(rows[lane], rows[LANES + lane], _U0, _U0), size[lane])
                clear_bits(pattern, begin[lane], begin[lane] + size[lane], masks, lane)
                owner[lane] = -1


@kernel
def edit_distances(a: Lists, b: Lists, masks: Uint64s) -> Ints:
    """Per pair: the fewest insertions, deletions and substitutions that turn one list into the other.

    ``masks``, ``LANES`` for each word of the vocabulary, are 0 before and after the call.
    """
    n = len(a.starts)
    distances = np.empty(n, np.int64)
    rows = np.empty(2 * LANES, np.uint64)
    short_distances(a, b, masks, rows, np.zeros((6, LANES), np.int64), distances)
    longest = 0
    for row in range(n):
        sizes = a.stops[row] - a.starts[row], b.stops[row] - b.starts[row]
        longest = max(longest, max(sizes) if min(sizes) > 64 else 0)
    carries = np.empty(longest, np.uint8)
    for row in range(n if longest else 0):
        if min(a.stops[row] - a.starts[row], b.stops[row] - b.starts[row]) > 64:
            longer_is_a, start, stop, first, last = trimmed(a, b, row)
            text, pattern = (a.ids, b.ids) if longer_is_a else (b.ids, a.ids)
            if last - first > 64:
                carries[: stop - start] = 1
                for begin in range(first, last, 128):
                    end = min(begin + 128, last)
                    distances[row] += two_blocks(text, start, stop, pattern, begin, end, masks, carries)
    return distances


# Distances of the characters of two texts.  The code points of some rows at a time are written to a buffer, which stays
# in the processor's cache.


class Texts(NamedTuple):
    """Texts in UTF-8: text i is ``data[starts[i]:stops[i]]``."""

    data: Bytes
    starts: Ints
    stops: Ints


ROWS = 128
"""Number of rows whose code points are in memory at once."""


@leaf
def code_points(texts: Texts, row: int, end: int, edge: Flags, out: Ids, starts: Ints, stops: Ints) -> None:
    """Write the code points of the texts of the rows, and their bounds without the ones at the ends with the flag."""
    k, data = _U0, texts.data
    for at in range(row, end):
        i, stop = np.uint64(texts.starts[at]), np.uint64(texts.stops[at])
        high, first = np.uint8(0), k
        for j in range(i, stop):
            high |= data[j]
        if high < 128:
            for j in range(i, stop):
                out[k + j - i] = data[j]
            k += stop - i
        else:
            place = np.int64(i)
            while place < np.int64(stop):
                out[k], place = decode(data, place)
                k += _U1
        last = k
        while first < last and edge[np.uint32(out[first])]:
            first += _U1
        while first < last and edge[np.uint32(out[last - _U1])]:
            last -= _U1
        starts[at - row], stops[at - row] = first, last


@leaf
def largest(texts: Texts) -> int:
    """The most bytes of the texts of ``ROWS`` rows in sequence, which begin at a multiple of ``ROWS``."""
    most = size = 0
    for row in range(len(texts.starts)):
        size = texts.stops[row] - texts.starts[row] + (size if row % ROWS else 0)
        most = max(most, size)
    return most


@kernel
def character_distances(a: Texts, b: Texts, edge: Flags, masks: Uint64s, substitutes: bool) -> Ints:
    """Per pair, in three rows: the fewest edits that turn one text into the other, and the characters of both.

    Edits are insertions, deletions and, if ``substitutes``, substitutions of characters.  Characters at the
    ends of a text with the flag ``edge`` are left out.  ``masks`` is as for ``edit_distances``.
    """
    counts = np.empty((3, len(a.starts)), np.int64)
    of_a, of_b = np.empty(largest(a), np.int32), np.empty(largest(b), np.int32)
    bounds, carry = np.empty((4, ROWS), np.int64), np.empty(0 if substitutes else len(of_b), np.uint64)
    for row in range(0, len(a.starts), ROWS):
        end = min(row + ROWS, len(a.starts))
        n = end - row
        code_points(a, row, end, edge, of_a, bounds[0], bounds[1])
        code_points(b, row, end, edge, of_b, bounds[2], bounds[3])
        first, second = Lists(of_a, bounds[0, :n], bounds[1, :n]), Lists(of_b, bounds[2, :n], bounds[3, :n])
        counts[1, row:end], counts[2, row:end] = first.stops - first.starts, second.stops - second.starts
        if substitutes:
            counts[0, row:end] = edit_distances(first, second, masks)
        else:
            for at in range(row, end):
                common = lcs_length(first, second, at - row, masks, carry)
                counts[0, at] = counts[1, at] + counts[2, at] - 2 * common
    return counts
