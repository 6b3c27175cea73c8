"""Rankings as arrays: ids in Arrow buffers and their exact look-up, trec_eval's order, the grade of each document."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.blocks import eight

# Ids in Arrow buffers: hashing, comparison, and exact look-up.
#
# An id is a 64-bit key: an integer, or the hash of a text; equal hashes are confirmed by the texts' bytes.


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
def hash_texts(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], seed: np.uint64
) -> NDArray[np.uint64]:
    """A 64-bit key per text ``data[starts[i]:stops[i]]``, eight bytes at a time; nobody can choose texts of one key
    for a ``seed`` that is not known.
    """
    keys = np.empty(starts.size, np.uint64)
    for row in range(starts.size):
        at, stop = starts[row], stops[row]
        # With the length, since a rest of zero bytes would change nothing.
        key = (_ODD * np.uint64(stop - at + 1)) ^ seed
        while at + 8 <= stop:
            key = (key ^ eight(data, np.uint64(at))) * _MIX
            key ^= key >> _HALF
            at += 8
        word = _ZERO
        while at < stop:
            word = (word << _BYTE) | np.uint64(data[at])
            at += 1
        key = (key ^ word) * _MIX
        keys[row] = key ^ (key >> _HALF)
    return keys


@inline
def same_text(a: Ids, i: int, b: Ids, j: int) -> bool:
    """Whether the bytes of text ``i`` of ``a`` equal those of text ``j`` of ``b``; always True for integers."""
    return (a.starts.size == 0 or b.starts.size == 0) or (
        a.stops[i] - a.starts[i] == b.stops[j] - b.starts[j]
        and same_bytes(a.data, a.starts[i], b.data, b.starts[j], a.stops[i] - a.starts[i])
    )


@leaf
def same_bytes(a: NDArray[np.uint8], i: int, b: NDArray[np.uint8], j: int, size: int) -> bool:
    """Whether ``a[i:i + size]`` equals ``b[j:j + size]``."""
    if size >= 8:  # the last eight may overlap: their number is easier to predict than a rest of single bytes
        for offset in range(0, size - 7, 8):
            if eight(a, np.uint64(i + offset)) != eight(b, np.uint64(j + offset)):
                return False
        return bool(eight(a, np.uint64(i + size - 8)) == eight(b, np.uint64(j + size - 8)))
    for offset in range(size):  # noqa: SIM110 - a generator expression does not compile
        if a[i + offset] != b[j + offset]:
            return False
    return True


@leaf
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
    """Empty slots, enough for the ``longest`` row of ids.

    Rows share the table in their order: entries of earlier rows are below the first id of a row and count as empty.
    """
    return np.full(table_size(longest), -1, np.int64)


@leaf
def table_size(count: int) -> int:
    """Number of slots for ``count`` ids, a power of two: eight per id for few ids, two per id for many."""
    size = 8
    while size < 2 * count or (size < 8 * count and size < 2048):
        size *= 2
    return size


@inline
def first_slot(mask: int, key: np.uint64) -> int:
    """The slot where the search for ``key`` begins."""
    return int(np.int64((key * _ODD) >> _HALF)) & mask


@inline
def find(slots: NDArray[np.int64], mask: int, first: int, stored: Ids, ids: Ids, i: int) -> int:
    """The slot that holds id ``i`` of ``ids``, or the empty slot for it.

    ``slots`` hold places in ``stored``; those below ``first``, the first id of the row, belong to earlier rows.
    """
    # An entry of another row is below ``first``, whatever size the table had for that row, and ends the search.
    slot = first_slot(mask, ids.keys[i])
    while slots[slot] >= first and not (
        stored.keys[slots[slot]] == ids.keys[i] and same_text(stored, slots[slot], ids, i)
    ):
        slot = (slot + 1) & mask
    return slot


@kernel
def repeats(ids: Ids, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ids occur earlier in the same row; row r is ``starts[r]:starts[r + 1]``."""
    repeated = np.zeros(ids.keys.size, np.bool_)
    mark_repeats(ids, starts, table_for(longest_row(starts)), repeated)
    return repeated


@leaf
def mark_repeats(ids: Ids, starts: NDArray[np.int64], slots: NDArray[np.int64], repeated: NDArray[np.bool_]) -> None:
    """Set ``repeated`` of the ids that occur earlier in the same row ``ids.keys[starts[r]:starts[r + 1]]``.

    ``slots`` are those of a table for the longest row.
    """
    for row in range(starts.size - 1):
        first = starts[row]
        mask = table_size(starts[row + 1] - first) - 1
        for i in range(first, starts[row + 1]):
            slot = find(slots, mask, first, ids, ids, i)
            if slots[slot] >= first:
                repeated[i] = True
            else:
                slots[slot] = i


@leaf
def longest_row(starts: NDArray[np.int64]) -> int:
    """Number of ids of the longest row ``starts[r]:starts[r + 1]``."""
    longest = 0
    for row in range(starts.size - 1):
        longest = max(longest, starts[row + 1] - starts[row])
    return longest


# The order of a ranking by trec_eval's rule: by score descending, and documents of equal score by id descending.


_SHORT = 16
"""Rows that are sorted by insertion before they are merged."""


@inline
def ranks_before(scores: Floats, docs: Ids, i: int, j: int) -> bool:
    """Whether row ``i`` ranks before row ``j``: by score descending, then by document id descending."""
    return scores[i] > scores[j] or (scores[i] == scores[j] and is_after(docs, i, j))


@leaf
def is_ranked(scores: Floats, docs: Ids, first: int, last: int) -> bool:
    """Whether the rows ``first:last`` are in rank order."""
    for i in range(first + 1, last):  # noqa: SIM110 - a generator expression does not compile
        if ranks_before(scores, docs, i, i - 1):
            return False
    return True


@leaf
def all_ranked(scores: Floats, docs: Ids, starts: Ints) -> bool:
    """Whether all queries are in rank order; query q has the rows ``starts[q]:starts[q + 1]``."""
    for query in range(starts.size - 1):  # noqa: SIM110 - a generator expression does not compile
        if not is_ranked(scores, docs, starts[query], starts[query + 1]):
            return False
    return True


@kernel
def in_rank_order(values: Floats, scores: Floats, docs: Ids, starts: Ints) -> Floats:
    """``values`` sorted by rank within each query ``starts[q]:starts[q + 1]``."""
    ordered = values.copy()
    longest = longest_row(starts)
    sort_queries((values, scores, docs, starts), np.empty(longest, np.int64), np.empty(longest, np.int64), ordered)
    return ordered


@leaf
def sort_queries(rows: tuple[Floats, Floats, Ids, Ints], order: Ints, spare: Ints, ordered: Floats) -> None:
    """Write the values of unsorted queries into ``ordered``; sort stably, by insertion and then by merging.

    ``rows`` are values, scores, ids and the start of each query; ``order`` and ``spare`` have room for
    the longest query.
    """
    values, scores, docs, starts = rows
    for query in range(starts.size - 1):
        first, size = starts[query], starts[query + 1] - starts[query]
        # Nearly all rankings come in order.
        if is_ranked(scores, docs, first, first + size):
            continue
        for low in range(0, size, _SHORT):
            _insert(order, low, min(low + _SHORT, size), first, scores, docs)
        width = _SHORT
        while width < size:
            for low in range(0, size, 2 * width):
                _merge(order, spare, (low, min(low + width, size), min(low + 2 * width, size)), scores, docs)
            # The merged rows are the input of the next round; the first array takes its output.
            order, spare = spare, order
            width *= 2
        for place in range(size):
            ordered[first + place] = values[order[place]]


@leaf
def _insert(order: Ints, low: int, high: int, first: int, scores: Floats, docs: Ids) -> None:
    """Sort the rows ``first + low:first + high`` into ``order[low:high]`` by insertion."""
    for at in range(low, high):
        place = at
        while place > low and ranks_before(scores, docs, first + at, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = first + at


@leaf
def _merge(order: Ints, spare: Ints, bounds: tuple[int, int, int], scores: Floats, docs: Ids) -> None:
    """Merge the sorted rows of ``order`` before and after the middle of the bounds into the same place of ``spare``."""
    low, middle, high = bounds
    left, right = low, middle
    for place in range(low, high):
        # From the left unless the right one is truly before it: the order of equal rows is kept.
        if left < middle and (right >= high or not ranks_before(scores, docs, order[right], order[left])):
            spare[place] = order[left]
            left += 1
        else:
            spare[place] = order[right]
            right += 1


# The grade of each document of a ranking.
#
# Row r has the documents ``docs[starts[r]:starts[r + 1]]`` and the judged ids ``judged[judged_starts[r]:…]``, with
# their ``grades``.


@kernel
def ranked_grades(docs: Ids, starts: Ints, judged: Ids, judged_starts: Ints, grades: Floats) -> tuple[Floats, int]:
    """The grade of each ranked document, NaN if it was not judged or already occurred at a better rank.

    If a row judges an id twice, the first grade counts; the second result is the number of repeated ids.
    """
    doc_grades = np.full(docs.keys.size, np.nan)
    scratch = table_for(longest_row(judged_starts)), np.empty(longest_row(starts), np.int64)
    seen = np.zeros(judged.keys.size, np.bool_)
    repeated = look_up((docs, starts), (judged, judged_starts, grades), scratch, seen, doc_grades)
    return doc_grades, repeated


@leaf
def look_up(
    rankings: tuple[Ids, Ints],
    judgements: tuple[Ids, Ints, Floats],
    scratch: tuple[Ints, Ints],
    seen: Flags,
    doc_grades: Floats,
) -> int:
    """Write the grades of documents that were judged, and return how many ids a row judges again.

    ``rankings`` are ids and where each row starts, ``judgements`` the same and the grades.  ``scratch`` are the slots
    of a table for the longest row of judged ids, and places for the longest ranking.  ``seen`` marks the judged ids
    whose grade is in ``doc_grades``.
    """
    docs, starts = rankings
    judged, judged_starts, grades = judgements
    slots, possible = scratch
    repeated = 0
    for row in range(starts.size - 1):
        first, last = judged_starts[row], judged_starts[row + 1]
        mask = table_size(last - first) - 1
        for j in range(first, last):
            # The first of equal ids keeps the slot, hence the first grade counts.
            slot = find(slots, mask, first, judged, judged, j)
            if slots[slot] < first:
                slots[slot] = j
            else:
                repeated += 1
        n_possible = 0
        for i in range(starts[row], starts[row + 1]):  # without a branch: which documents pass is unpredictable
            possible[n_possible] = i
            n_possible += slots[first_slot(mask, docs.keys[i])] >= first
        # Most documents were not judged, and most of these met an empty slot above: few are compared.
        for i in possible[:n_possible]:
            j = slots[find(slots, mask, first, judged, docs, i)]
            if j >= first and not seen[j]:
                seen[j] = True
                doc_grades[i] = grades[j]
    return repeated
