"""Longest common subsequences of lists of ids, and their unions over the lines of two texts, as in ROUGE-Lsum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.ngrams import Lists
from fastmetrics.kernels.simd.blocks import count_ones

# Longest common subsequences of lists of ids, 64 columns of the table at a time.
#
# A row of the table (a prefix of one list) holds one bit per id of the other list: 0 where the length grows (Hyyrö
# 2004). Lists of n and m ids take n · ⌈m / 64⌉ steps of a few instructions; no known algorithm has a much better
# worst case.


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_U0, _U1 = np.uint64(0), np.uint64(1)


@inline
def zeros_of(v: np.uint64) -> int:
    """Number of bits that are 0."""
    return np.int64(count_ones(~v))


@leaf
def mark(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Set bit k in the mask of the k-th id, for up to 64 ids."""
    bit = _U1
    for i in range(np.uint64(first), np.uint64(last)):
        masks[np.uint32(ids[i])] |= bit
        bit <<= _U1


@leaf
def clear(ids: Ids, first: int, last: int, masks: Uint64s) -> None:
    """Undo ``mark``."""
    for i in range(np.uint64(first), np.uint64(last)):
        masks[np.uint32(ids[i])] = _U0


@leaf
def block_length(b: Ids, start: int, stop: int, masks: Uint64s, carry: Uint64s) -> int:
    """Process one block of up to 64 ids of a: return its part of the length; write the carries for the next block.

    The other list is ``b[start:stop]``, with a carry for each of its ids.
    """
    v, first = _ALL, np.uint64(start)
    for j in range(first, np.uint64(stop)):
        u = v & masks[np.uint32(b[j])]
        # The addition carries from the lowest match of each run of ones up to the 0 above the run, so that this 0 moves
        # down to the match; v & ~u restores the ones that the carry cleared.  A carry out of the word belongs to the
        # next block.  At most one of the two additions overflows.
        low = v + u
        total = low + carry[j - first]
        carry[j - first] = np.uint64(low < v) | np.uint64(total < low)
        v = total | (v & ~u)
    # Bits past the end of a match nothing and stay 1.
    return zeros_of(v)


@inline
def lcs_length(a: Lists, b: Lists, row: int, masks: Uint64s, carry: Uint64s) -> int:
    """The length of the longest common subsequence of a pair; ``carry`` has room for the longer list."""
    a_ids, b_ids = a.ids, b.ids
    start, stop, b_start, b_stop = a.starts[row], a.stops[row], b.starts[row], b.stops[row]
    # Most lists fit into one block, whose carries lead nowhere.
    if stop - start <= 64:
        mark(a_ids, start, stop, masks)
        v = _ALL
        for j in range(np.uint64(b_start), np.uint64(b_stop)):
            mask = masks[np.uint32(b_ids[j])]
            v = (v + (v & mask)) | (v & ~mask)
        clear(a_ids, start, stop, masks)
        return zeros_of(v)
    # A block goes through all of b before the next one, so what it carries waits, one bit for each id of b.
    length = 0
    carry[: b_stop - b_start] = _U0
    for first in range(start, stop, 64):
        last = min(first + 64, stop)
        mark(a_ids, first, last, masks)
        length += block_length(b_ids, b_start, b_stop, masks, carry)
        clear(a_ids, first, last, masks)
    return length


@kernel
def lcs_lengths(a: Lists, b: Lists, n_words: int) -> Ints:
    """Per pair: length of the longest common subsequence."""
    lengths = np.zeros(len(a.starts), np.int64)
    masks = np.zeros(n_words, np.uint64)
    longest = 0
    for row in range(len(a.starts)):
        longest = max(longest, b.stops[row] - b.starts[row])
    carry = np.zeros(longest, np.uint64)
    for row in range(len(a.starts)):
        lengths[row] = lcs_length(a, b, row, masks, carry)
    return lengths


# Unions of longest common subsequences (LCS) between the lines of two texts, as in ROUGE-Lsum.
#
# ``reference`` and ``answer`` are the ids of one line each, or of one text each in ``count_hits``; ``marked`` has one
# entry per id of the reference.


BLOCKS = 16
"""Number of blocks of 64 ids whose part of the table is in memory at once."""


class Texts(NamedTuple):
    """Lists in sequence: text t consists of the lists ``firsts[t]:lasts[t]``, each a slice of ``ids``; two lists have
    the same number in ``same`` if and only if they are equal."""

    ids: Ids
    starts: Ints
    stops: Ints
    same: Ids
    firsts: Ints
    lasts: Ints


class TableBuffers(NamedTuple):
    """Buffers for the table of one pair of lists: the masks of ids, the carries of the current block and of the first
    block of each stretch of ``BLOCKS`` blocks, and the rows of one stretch."""

    masks: Uint64s
    carry: Uint64s
    edges: Bytes
    rows: Uint64s


class Lines(NamedTuple):
    """The ids of one text by list, and the distinct lists that hold an id: a linked list in ``owners`` that begins at
    ``heads[id]`` and continues by ``nexts``."""

    ids: Ids
    bounds: Ids  # in two rows: starts and stops
    heads: Ids
    nexts: Ids
    owners: Ids


@leaf
def trace(b: Ids, masks: Uint64s, carry: Uint64s, rows: Uint64s) -> None:
    """Like ``block_length`` of a whole list ``b``, but store the row of the table's block of each of its ids."""
    v = _ALL
    for j in range(len(b)):
        u = v & masks[b[j]]
        low = v + u
        total = low + carry[j]
        carry[j] = np.uint64(low < v) | np.uint64(total < low)
        v = total | (v & ~u)
        rows[j] = v


@leaf
def trace_alone(b: Ids, masks: Uint64s, rows: Uint64s) -> None:
    """Like ``trace`` of ``b``, for a table of one block, without carries."""
    v = _ALL
    for j in range(len(b)):
        u = v & masks[b[j]]
        v = (v + u) | (v & ~u)
        rows[j] = v


@leaf
def walk(
    reference: Ids, answer: Ids, begin: int, place: tuple[int, int], rows: Uint64s, marked: Ids
) -> tuple[int, int]:
    """Mark the reference's ids in one longest common subsequence, the same one that rouge-score's backtracking finds.

    Goes from ``place`` back to the reference's id ``begin``, the start of ``rows``: equal ids are taken; else the
    answer's id is skipped if the length decreases without the reference's id, else the reference's id is skipped.
    """
    i, j, n = place[0], place[1], len(answer)
    while i > begin and j > 0:
        if reference[i - 1] == answer[j - 1]:
            marked[i - 1] = 1
            i -= 1
            j -= 1
        # The ids differ, so length(i, j) is the larger one of length(i, j - 1) and length(i - 1, j).  A 0 says that
        # length(i, j) exceeds length(i - 1, j), thus that length(i, j - 1) does, which is what rouge-score compares.
        elif (rows[((i - 1 - begin) >> 6) * n + j - 1] >> np.uint64((i - 1) & 63)) & _U1 == _U0:
            j -= 1
        else:
            i -= 1
    return i, j


@leaf
def mark_lcs(reference: Ids, answer: Ids, buffers: TableBuffers, marked: Ids) -> None:
    """Mark the reference's ids in its longest common subsequence with the answer.

    The walk goes from the end to the start, the table is computed from start to end: for a long reference the carries
    at the start of each stretch are stored, and its rows are computed again when the walk reaches the stretch.
    """
    masks, carry, edges, rows = buffers
    m, n = len(reference), len(answer)
    carry[:n] = _U0
    stretch = 64 * BLOCKS
    # Only the rows of one stretch are in memory.  The first pass keeps just the carries between stretches.
    final = (m - 1) // stretch * stretch
    for begin in range(0, final, stretch):
        for first in range(begin, begin + stretch, 64):
            mark(reference, first, first + 64, masks)
            block_length(answer, 0, n, masks, carry)
            clear(reference, first, first + 64, masks)
        for j in range(n):
            edges[begin // stretch * n + j] = np.uint8(carry[j])
    place = m, n
    for begin in range(final, -1, -stretch):
        # At the last stretch the carries are still those that the first pass left.
        if begin < final:
            for j in range(n):
                carry[j] = np.uint64(edges[(begin // stretch - 1) * n + j]) if begin > 0 else _U0
        for first in range(begin, min(begin + stretch, m), 64):
            last = min(first + 64, m)
            mark(reference, first, last, masks)
            trace(answer, masks, carry, rows[((first - begin) >> 6) * n :])
            clear(reference, first, last, masks)
        place = walk(reference, answer, begin, place, rows, marked)


@leaf
def count_hits(reference: Ids, answer: Ids, marked: Ids, left: Ids, answer_left: Ids) -> int:
    """Number of marked ids of the reference, each clipped to its counts in both texts.

    ``left`` and ``answer_left``, one counter per word of the vocabulary, are 0 before and after the call.
    """
    for word in reference:
        left[word] += 1
    for word in answer:
        answer_left[word] += 1
    hits = 0
    for i in range(len(reference)):
        word = reference[i]
        if marked[i] and left[word] > 0 and answer_left[word] > 0:
            hits += 1
            left[word] -= 1
            answer_left[word] -= 1
    for word in reference:
        left[word] = 0
    for word in answer:
        answer_left[word] = 0
    return hits


@kernel
def make_buffers(answer: Texts, reference: Texts, rows: Ints, n_words: int) -> tuple[TableBuffers, Lines, int]:
    """Buffers for the pairs of lists of ``rows`` and for the lists of an answer; the maximum ids of a reference."""
    # Each of the answer and of the reference: the ids of the longest text, and, of this row, of the longest list and of
    # all.
    most, line, words = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    longest = size = edges = n_lines = 0
    for row in rows:
        line[:], words[:] = 0, 0
        for side in range(2):
            texts = answer if side == 0 else reference
            for k in range(texts.firsts[row], texts.lasts[row]):
                line[side] = max(line[side], texts.stops[k] - texts.starts[k])
                words[side] += texts.stops[k] - texts.starts[k]
            most[side] = max(most[side], words[side])
        blocks = (line[1] + 63) >> 6
        longest = max(longest, line[0])
        size = max(size, min(blocks, BLOCKS) * line[0])
        edges = max(edges, blocks // BLOCKS * line[0])
        n_lines = max(n_lines, answer.lasts[row] - answer.firsts[row])
    masks, carry = np.zeros(n_words, np.uint64), np.zeros(longest, np.uint64)
    buffer = np.empty((3, most[0]), np.int32)
    lines = Lines(buffer[0], np.zeros((2, n_lines + 1), np.int32), np.full(n_words, -1, np.int32), buffer[1], buffer[2])
    return TableBuffers(masks, carry, np.empty(edges, np.uint8), np.empty(size, np.uint64)), lines, most[1]


@leaf
def enter(texts: Texts, row: int, met: Ints, lines: Lines) -> int:
    """Write the lists of a text in sequence and the distinct lists that hold each id; return the number of ids.

    ``met`` holds the last row in which each list occurred.
    """
    n = node = 0
    for k in range(texts.firsts[row], texts.lasts[row]):
        # A list equal to an earlier one has the same matches, so only the first holds its ids in the linked lists.
        new, line = met[texts.same[k]] != row, k - texts.firsts[row]
        met[texts.same[k]] = row
        lines.bounds[0, line] = n
        for i in range(texts.starts[k], texts.stops[k]):
            word = texts.ids[i]
            lines.ids[n] = word
            n += 1
            # The latest owner of an id is this list if the id has occurred in it before: then it is listed already.
            if new and (lines.heads[word] < 0 or lines.owners[lines.heads[word]] != line):
                lines.nexts[node], lines.owners[node], lines.heads[word] = lines.heads[word], line, node
                node += 1
        lines.bounds[1, line] = n
    return n


@leaf
def mark_line(reference: Ids, lines: Lines, seen: Ints, stamp: int, buffers: TableBuffers, marked: Ids) -> None:
    """Mark the ids of one list that are in its longest common subsequence with any of the lines.

    Only a line that holds an id can match it, so the lines that hold each id are tried until one matches; ``seen``, one
    entry per line of the answer, is ``stamp`` for those that were tried.
    """
    m = len(reference)
    if m <= 64:
        mark(reference, 0, m, buffers.masks)
    for p in range(m):
        node = lines.heads[reference[p]]
        # A marked id is in the union already; further lines that hold it can wait until an unmarked id needs them.
        while node >= 0 and not marked[p]:
            line = lines.owners[node]
            node = lines.nexts[node]
            if seen[line] != stamp:
                seen[line] = stamp
                answer = lines.ids[lines.bounds[0, line] : lines.bounds[1, line]]
                if m <= 64:
                    trace_alone(answer, buffers.masks, buffers.rows)
                    walk(reference, answer, 0, (m, len(answer)), buffers.rows, marked)
                else:
                    mark_lcs(reference, answer, buffers, marked)
    if m <= 64:
        clear(reference, 0, m, buffers.masks)


@kernel
def union_hits(answer: Texts, reference: Texts, rows: Ints, n_words: int) -> Ints:
    """Per row: number of ids of the reference in the union of its lists' LCS with all lists of the answer.

    Equal lists are processed once, and pairs of lists without a shared id are skipped.
    """
    hits = np.zeros(len(rows), np.int64)
    buffers, lines, most = make_buffers(answer, reference, rows, n_words)
    b, marked, left = np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros((2, n_words), np.int32)
    met, seen = np.full(len(answer.starts), -1, np.int64), np.full(lines.bounds.shape[1], -1, np.int64)
    cached = np.full((2, len(reference.starts)), -1, np.int64)
    for at in range(len(rows)):
        row = rows[at]
        n, start = enter(answer, row, met, lines), 0
        for r in range(reference.firsts[row], reference.lasts[row]):
            size = reference.stops[r] - reference.starts[r]
            b[start : start + size] = reference.ids[reference.starts[r] : reference.stops[r]]
            number, own = reference.same[r], marked[start : start + size]
            # An equal list of this reference has the same marks, at its own place in ``marked``.
            if cached[0, number] == row:
                own[:] = marked[cached[1, number] : cached[1, number] + size]
            else:
                own[:] = 0
                cached[0, number], cached[1, number] = row, start
                # The stamp differs for each list and row, so that ``seen`` never has to be cleared.
                mark_line(b[start : start + size], lines, seen, r * len(rows) + at, buffers, own)
            start += size
        hits[at] = count_hits(b[:start], lines.ids[:n], marked, left[0], left[1])
        for word in lines.ids[:n]:
            lines.heads[word] = -1
    return hits
