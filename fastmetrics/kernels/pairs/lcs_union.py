"""Unions of longest common subsequences: which ids of a text's lines are in common order with any line of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.pairs.lcs import block_length, clear, mark

_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
BLOCKS = 16
"""Blocks of 64 ids whose part of the table is held at a time."""


class Texts(NamedTuple):
    """Lists in sequence: text t is made of the lists ``firsts[t]:lasts[t]``, each a slice of ``ids``; equal lists have
    equal numbers in ``same``, and unequal ones have not."""

    ids: Ids
    starts: Ints
    stops: Ints
    same: Ids
    firsts: Ints
    lasts: Ints


class Room(NamedTuple):
    """Room for the table of one pair of lists: the masks of ids, the carries of the block in hand and of those that
    begin each stretch of ``BLOCKS``, and the rows of one stretch."""

    masks: Uint64s
    carry: Uint64s
    edges: Bytes
    rows: Uint64s


class Lines(NamedTuple):
    """The ids of one text by list, and which of its distinct lists hold an id: ``owners`` at ``heads[id]``, and from
    there on at ``nexts``."""

    ids: Ids
    bounds: Ids  # in two rows: starts and stops
    heads: Ids
    nexts: Ids
    owners: Ids


@kernel
def trace(b: Ids, masks: Uint64s, carry: Uint64s, rows: Uint64s) -> None:
    """As ``block_length``, but keep every row of the table's block."""
    v = _ALL
    for j in range(len(b)):
        u = v & masks[b[j]]
        low = v + u
        total = low + carry[j]
        carry[j] = np.uint64(low < v) | np.uint64(total < low)
        v = total | (v & ~u)
        rows[j] = v


@kernel
def trace_alone(b: Ids, masks: Uint64s, rows: Uint64s) -> None:
    """As ``trace``, of a table of one block, which has no carries."""
    v = _ALL
    for j in range(len(b)):
        u = v & masks[b[j]]
        v = (v + u) | (v & ~u)
        rows[j] = v


@kernel
def walk(reference: Ids, answer: Ids, begin: int, place: tuple[int, int], rows: Uint64s, taken: Ids) -> tuple[int, int]:
    """Mark the reference's ids that one longest common subsequence takes, the one rouge-score reads off its table.

    From ``place`` back to the reference's id ``begin``, where ``rows`` begin: equal ids are taken; else the answer's id
    is left if the length up to both exceeds that without the reference's id, else the reference's id is.
    """
    i, j, n = place[0], place[1], len(answer)
    while i > begin and j > 0:
        if reference[i - 1] == answer[j - 1]:
            taken[i - 1] = 1
            i -= 1
            j -= 1
        elif (rows[((i - 1 - begin) >> 6) * n + j - 1] >> np.uint64((i - 1) & 63)) & _U1 == _U0:
            j -= 1
        else:
            i -= 1
    return i, j


@kernel
def mark_lcs(reference: Ids, answer: Ids, room: Room, taken: Ids) -> None:
    """Mark the reference's ids in its longest common subsequence with the answer.

    The walk goes from the end to the start, and the table is made the other way: of a long reference the carries that
    begin each stretch are kept, and its rows made again when the walk comes there.
    """
    masks, carry, edges, rows = room
    m, n = len(reference), len(answer)
    carry[:n] = _U0
    stretch = 64 * BLOCKS
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
        if begin < final:
            for j in range(n):
                carry[j] = np.uint64(edges[(begin // stretch - 1) * n + j]) if begin > 0 else _U0
        for first in range(begin, min(begin + stretch, m), 64):
            last = min(first + 64, m)
            mark(reference, first, last, masks)
            trace(answer, masks, carry, rows[((first - begin) >> 6) * n :])
            clear(reference, first, last, masks)
        place = walk(reference, answer, begin, place, rows, taken)


@kernel
def count_hits(reference: Ids, answer: Ids, taken: Ids, left: Ids, answer_left: Ids) -> int:
    """Taken ids of the reference, each counted no more often than either text has it; the counters end all 0."""
    for word in reference:
        left[word] += 1
    for word in answer:
        answer_left[word] += 1
    hits = 0
    for i in range(len(reference)):
        word = reference[i]
        if taken[i] and left[word] > 0 and answer_left[word] > 0:
            hits += 1
            left[word] -= 1
            answer_left[word] -= 1
    for word in reference:
        left[word] = 0
    for word in answer:
        answer_left[word] = 0
    return hits


@kernel
def make_room(answer: Texts, reference: Texts, rows: Ints, n_words: int) -> tuple[Room, Lines, int]:
    """Room for the pairs of lists of ``rows``, for the lists of an answer, and how many ids a reference has at most."""
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
    held = np.empty((3, most[0]), np.int32)
    lines = Lines(held[0], np.zeros((2, n_lines + 1), np.int32), np.full(n_words, -1, np.int32), held[1], held[2])
    return Room(masks, carry, np.empty(edges, np.uint8), np.empty(size, np.uint64)), lines, most[1]


@kernel
def enter(texts: Texts, row: int, met: Ints, lines: Lines) -> int:
    """Write the lists of a text one after another, and which of those that differ hold each id; how many ids it has.

    ``met`` has the row that a list was last met in.
    """
    n = node = 0
    for k in range(texts.firsts[row], texts.lasts[row]):
        new, line = met[texts.same[k]] != row, k - texts.firsts[row]
        met[texts.same[k]] = row
        lines.bounds[0, line] = n
        for i in range(texts.starts[k], texts.stops[k]):
            word = texts.ids[i]
            lines.ids[n] = word
            n += 1
            if new and (lines.heads[word] < 0 or lines.owners[lines.heads[word]] != line):
                lines.nexts[node], lines.owners[node], lines.heads[word] = lines.heads[word], line, node
                node += 1
        lines.bounds[1, line] = n
    return n


@kernel
def mark_line(reference: Ids, lines: Lines, seen: Ints, stamp: int, room: Room, taken: Ids) -> None:
    """Mark the ids of one list that are in common order with any of the lines.

    Only a line that holds an id can take it, so each id asks the lines that hold it, until one does.
    """
    m = len(reference)
    if m <= 64:
        mark(reference, 0, m, room.masks)
    for p in range(m):
        node = lines.heads[reference[p]]
        while node >= 0 and not taken[p]:
            line = lines.owners[node]
            node = lines.nexts[node]
            if seen[line] != stamp:
                seen[line] = stamp
                answer = lines.ids[lines.bounds[0, line] : lines.bounds[1, line]]
                if m <= 64:
                    trace_alone(answer, room.masks, room.rows)
                    walk(reference, answer, 0, (m, len(answer)), room.rows, taken)
                else:
                    mark_lcs(reference, answer, room, taken)
    if m <= 64:
        clear(reference, 0, m, room.masks)


@kernel
def union_hits(answer: Texts, reference: Texts, rows: Ints, n_words: int) -> Ints:
    """Per row: ids of the reference that its lists' longest common subsequences with all lists of the answer take.

    Lists that are equal are looked at once, and pairs of lists that share no id not at all.
    """
    hits = np.zeros(len(rows), np.int64)
    room, lines, most = make_room(answer, reference, rows, n_words)
    b, taken, left = np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros((2, n_words), np.int32)
    met, seen = np.full(len(answer.starts), -1, np.int64), np.full(lines.bounds.shape[1], -1, np.int64)
    known = np.full((2, len(reference.starts)), -1, np.int64)
    for at in range(len(rows)):
        row = rows[at]
        n, start = enter(answer, row, met, lines), 0
        for r in range(reference.firsts[row], reference.lasts[row]):
            size = reference.stops[r] - reference.starts[r]
            b[start : start + size] = reference.ids[reference.starts[r] : reference.stops[r]]
            number, own = reference.same[r], taken[start : start + size]
            if known[0, number] == row:
                own[:] = taken[known[1, number] : known[1, number] + size]
            else:
                own[:] = 0
                known[0, number], known[1, number] = row, start
                mark_line(b[start : start + size], lines, seen, r * len(rows) + at, room, own)
            start += size
        hits[at] = count_hits(b[:start], lines.ids[:n], taken, left[0], left[1])
        for word in lines.ids[:n]:
            lines.heads[word] = -1
    return hits
