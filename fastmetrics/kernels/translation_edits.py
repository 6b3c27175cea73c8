"""Translation edits: the fewest edits of words and moves of runs of words that a greedy search finds (Snover 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.ngrams import Lists

# The search of Tercom, with the limits and the order of choices of sacreBLEU, to whose numbers it is equal.
#
# The table of edit distances has a row for each prefix of the answer; only the columns near its diagonal are computed.
# A move changes a stretch of the answer.  Its table has the rows of the old one before the stretch, and as soon as a
# row behind it differs from the old one by a constant, all further rows do.


BEAM = 25
"""Number of columns on each side of the diagonal; more if the reference is much longer than the answer."""

FARTHEST, LONGEST, MOVES = 50, 10, 1000
"""How far a run of words moves at most, how many words it has, and how many moves are tried for a pair of texts."""

NOTHING, SUBSTITUTE, DELETE, INSERT = range(4)
_NEVER = 1 << 29


class Table(NamedTuple):
    """The table of a pair: from ``costs[i * width]`` on the columns ``firsts[i]:lasts[i]`` of row i, and its edits."""

    costs: Ids
    edits: Bytes
    firsts: Ints
    lasts: Ints
    width: int


class Alignment(NamedTuple):
    """For each word of the reference, that of the answer; before each word, the number of wrong words of both."""

    answer: Ints
    wrong_reference: Ints
    wrong_answer: Ints


@leaf
def frame(n: int, m: int, firsts: Ints, lasts: Ints) -> int:
    """Write the columns of each row of the table of ``n`` and ``m`` words; return the most of a row but the first."""
    ratio = m / n if n else 1.0
    beam = BEAM if ratio / 2 <= BEAM else int(np.ceil(ratio / 2 + BEAM))
    firsts[0], lasts[0] = 0, m + 1
    width = 1
    for i in range(1, n + 1):
        diagonal = int(np.floor(i * ratio))
        firsts[i], lasts[i] = max(0, diagonal - beam), m + 1 if i == n else min(m + 1, diagonal + beam)
        width = max(width, lasts[i] - firsts[i])
    return width


@leaf
def fill_row(table: Table, i: int, word: int, reference: Ids, above: Ids, row: Ids, edits: Bytes) -> None:
    """Compute row ``i``, of a ``word`` of the answer, from the row ``above``; the first row is not read."""
    first, last, before, behind = table.firsts[i], table.lasts[i], table.firsts[i - 1], table.lasts[i - 1]
    for j in range(first, last):
        if i == 1:
            diagonal, up = j - 1, j
        else:
            diagonal = above[j - 1 - before] if before < j <= behind else _NEVER
            up = above[j - before] if before <= j < behind else _NEVER
        # Of equal costs the substitution is taken, then the deletion.
        cost, edit = up + 1, DELETE
        if j > 0:
            same = word == reference[j - 1]
            if diagonal + (not same) <= cost:
                cost, edit = diagonal + (not same), NOTHING if same else SUBSTITUTE
            if j > first and row[j - 1 - first] + 1 < cost:
                cost, edit = row[j - 1 - first] + 1, INSERT
        row[j - first], edits[j - first] = cost, edit


@leaf
def fill(table: Table, answer: Ids, n: int, reference: Ids) -> int:
    """Compute the table of the first ``n`` words of an answer; return the distance."""
    width = table.width
    for i in range(1, n + 1):
        above, row = table.costs[(i - 1) * width : i * width], table.costs[i * width : (i + 1) * width]
        fill_row(table, i, answer[i - 1], reference, above, row, table.edits[i * width : (i + 1) * width])
    return table.costs[n * width + len(reference) - table.firsts[n]] if n else len(reference)


@leaf
def align(table: Table, n: int, m: int, alignment: Alignment) -> None:
    """Read the alignment of ``n`` and ``m`` words off their table."""
    i, j = n, m
    while i > 0 or j > 0:
        edit = INSERT if i == 0 else table.edits[i * table.width + j - table.firsts[i]]
        if edit != INSERT:
            alignment.wrong_answer[i] = edit != NOTHING
        if edit != DELETE:
            alignment.wrong_reference[j] = edit != NOTHING
            alignment.answer[j - 1] = i - 1
        i -= edit != INSERT
        j -= edit != DELETE
    alignment.wrong_answer[0] = alignment.wrong_reference[0] = 0
    for i in range(n):
        alignment.wrong_answer[i + 1] += alignment.wrong_answer[i]
    for j in range(m):
        alignment.wrong_reference[j + 1] += alignment.wrong_reference[j]


@leaf
def move(answer: Ids, n: int, start: int, length: int, target: int, out: Ids) -> tuple[int, int]:
    """Write the words between the ends that a move of ``length`` words from ``start`` changes; return the ends."""
    stop = start + length
    # A target within the run moves it by as many words as the target is behind its start.
    end = target if target > stop else min(target + length, n)
    begin, end = (target, stop) if target < start else (start, end)
    # Where the run begins afterwards; the words that it jumps over close up.
    place = begin if target < start else end - length
    for k in range(length):
        out[place + k] = answer[start + k]
    jumped, first = (begin, place + length) if target < start else (stop, begin)
    for k in range(end - begin - length):
        out[first + k] = answer[jumped + k]
    return begin, end


@leaf
def distance_after(
    table: Table, answer: Ids, n: int, reference: Ids, moved: Ids, begin: int, end: int, rows: Ids, edits: Bytes
) -> int:
    """The distance of the answer with the words ``moved[begin:end]`` in place of its own."""
    width, final = table.width, table.costs[n * table.width + len(reference) - table.firsts[n]]
    above = table.costs[begin * width : (begin + 1) * width]
    for i in range(begin + 1, n + 1):
        row = rows[(i & 1) * width : ((i & 1) + 1) * width]
        fill_row(table, i, moved[i - 1] if i <= end else answer[i - 1], reference, above, row, edits)
        if i >= end:
            size, k = table.lasts[i] - table.firsts[i], 0
            change = row[0] - table.costs[i * width]
            while k < size and row[k] - table.costs[i * width + k] == change:
                k += 1
            if k == size:
                return final + change
        above = row
    return above[len(reference) - table.firsts[n]]


class Work(NamedTuple):
    """Buffers: the answer as it is and after a move, and two rows of a table with their last edits."""

    answer: Ids
    moved: Ids
    rows: Ids
    edits: Bytes


@leaf
def best_move(
    table: Table, n: int, reference: Ids, alignment: Alignment, work: Work, tried: int
) -> tuple[int, int, int, int, int]:
    """The move that lowers the distance most: by how much, its start, length and target; the moves ``tried`` so far.

    Of equal ones, the longest, then the first, then that to the first target.
    """
    m, answer = len(reference), work.answer
    before = table.costs[n * table.width + m - table.firsts[n]] if n else m
    gain, best_start, best_length, best_target = -_NEVER, 0, 0, 0
    for start in range(n):
        for place in range(max(0, start - FARTHEST), min(m, start + FARTHEST + 1)):
            length = 0
            while length < min(LONGEST, n - start, m - place) and answer[start + length] == reference[place + length]:
                length += 1
                right_here = alignment.wrong_answer[start + length] == alignment.wrong_answer[start]
                right_there = alignment.wrong_reference[place + length] == alignment.wrong_reference[place]
                if right_here or right_there or start <= alignment.answer[place] < start + length:
                    continue
                last = -1
                for offset in range(place - 1, min(place + length, m)):
                    target = alignment.answer[offset] + 1 if offset >= 0 else 0
                    if target == last:
                        continue
                    last = target
                    begin, end = move(answer, n, start, length, target, work.moved)
                    after = distance_after(table, answer, n, reference, work.moved, begin, end, work.rows, work.edits)
                    found = before - after
                    better = found > gain or (
                        found == gain
                        and (
                            length > best_length
                            or (
                                length == best_length
                                and (start < best_start or (start == best_start and target < best_target))
                            )
                        )
                    )
                    if better:
                        gain, best_start, best_length, best_target = found, start, length, target
                    tried += 1
                if tried >= MOVES:
                    return gain, best_start, best_length, best_target, tried
    return gain, best_start, best_length, best_target, tried


@kernel
def translation_edits(a: Lists, b: Lists) -> Ints:
    """Per pair of an answer and a reference: the edits and moves that turn the answer into the reference."""
    counts = np.empty(len(a.starts), np.int64)
    longest, longest_reference = 0, 0
    for row in range(len(a.starts)):
        longest = max(longest, a.stops[row] - a.starts[row])
        longest_reference = max(longest_reference, b.stops[row] - b.starts[row])
    firsts, lasts = np.empty((2, longest + 1), np.int64)
    size = width = 1
    for row in range(len(a.starts)):
        n = a.stops[row] - a.starts[row]
        columns = frame(n, b.stops[row] - b.starts[row], firsts, lasts)
        size, width = max(size, (n + 1) * columns), max(width, columns)
    costs, edits = np.empty(size, np.int32), np.empty(size, np.uint8)
    work = Work(
        np.empty(longest, np.int32),
        np.empty(longest, np.int32),
        np.empty(2 * width, np.int32),
        np.empty(width, np.uint8),
    )
    alignment = Alignment(
        np.empty(longest_reference, np.int64),
        np.empty(longest_reference + 1, np.int64),
        np.empty(longest + 1, np.int64),
    )
    for row in range(len(a.starts)):
        n, reference = a.stops[row] - a.starts[row], b.ids[b.starts[row] : b.stops[row]]
        m = len(reference)
        if m == 0:
            counts[row] = n
            continue
        work.answer[:n] = a.ids[a.starts[row] : a.stops[row]]
        table = Table(costs, edits, firsts, lasts, frame(n, m, firsts, lasts))
        moves = tried = 0
        distance = fill(table, work.answer, n, reference)
        while distance > 0:
            align(table, n, m, alignment)
            gain, start, length, target, tried = best_move(table, n, reference, alignment, work, tried)
            if tried >= MOVES or gain <= 0:
                break
            begin, end = move(work.answer, n, start, length, target, work.moved)
            work.answer[begin:end] = work.moved[begin:end]
            moves += 1
            distance = fill(table, work.answer, n, reference)
        counts[row] = moves + distance
    return counts
