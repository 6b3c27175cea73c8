"""Support of an answer by its contexts: equal values and shared pairs of adjacent words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.facts.values import DATE, NUMBER, TIME, WEAK, WEEKDAY, Values
from fastmetrics.kernels.jit import inline, kernel, leaf

_MIX = np.uint64(0x9E3779B97F4A7C15)
_U1, _U8, _U32 = np.uint64(1), np.uint64(8), np.uint64(32)

ABSENT = 255
"""What numbers a word that the answer of a row does not have; of up to so many, each has a number of its own."""

_ABSENT_BEFORE = np.uint64(ABSENT << 8)


class Passages(NamedTuple):
    """The words of the contexts: row i has the texts ``groups[i]:groups[i + 1]``."""

    ids: Ids
    starts: Ints
    stops: Ints
    groups: Ints


@inline
def agrees(date: int, stated: int, year_elsewhere: bool) -> bool:
    """Whether every part of ``date`` equals that of ``stated``; the year may be stated elsewhere."""
    if date < 0 or stated < 0:
        return False
    year, other = date // 10000, stated // 10000
    same_year = year in (0, other) or (other == 0 and year_elsewhere)
    month, day = date // 100 % 100, date % 100
    return same_year and (month == 0 or month == stated // 100 % 100) and (day == 0 or day == stated % 100)


@leaf
def has_number(values: Values, first: int, last: int, number: int) -> bool:
    """Whether the number is among the values ``first:last``."""
    hit = False
    for v in range(first, last):
        hit |= values.kinds[v] in (NUMBER, WEAK) and values.a[v] == number
    return hit


@leaf
def date_holds(values: Values, first: int, last: int, date: int, other: int) -> bool:
    """Whether a date among the values ``first:last`` agrees with one reading of the date."""
    for reading in (date, other):
        elsewhere = reading >= 0 and has_number(values, first, last, reading // 10000)
        for v in range(first, last):
            if values.kinds[v] == DATE:
                stated, or_this = np.int64(values.a[v]), np.int64(values.b[v])
                if agrees(reading, stated, elsewhere) or agrees(reading, or_this, elsewhere):
                    return True
    return False


@kernel
def values_hold(answer: Values, context: Values, groups: Ints, most: int) -> tuple[Flags, Flags]:
    """Whether each value of the answers is among the values of the row's contexts ``groups[row]:groups[row + 1]``; and
    which rows were skipped because they have more than ``most`` pairs of values to compare."""
    supported, skipped = np.zeros(len(answer.kinds), np.bool_), np.zeros(len(answer.bounds) - 1, np.bool_)
    kinds, a, b = context.kinds, context.a, context.b
    for row in range(len(answer.bounds) - 1):
        first, last = context.bounds[groups[row]], context.bounds[groups[row + 1]]
        if (answer.bounds[row + 1] - answer.bounds[row]) * (last - first) > most:
            skipped[row] = True
            continue
        for v in range(answer.bounds[row], answer.bounds[row + 1]):
            kind, x, y = answer.kinds[v], answer.a[v], answer.b[v]
            if kind == DATE:
                supported[v] = date_holds(context, first, last, np.int64(x), np.int64(y))
                continue
            for w in range(first, last):
                if kind == NUMBER:
                    number = kinds[w] in (NUMBER, WEAK)
                    supported[v] |= number and a[w] == x and (b[w] == y or b[w] == 0 or y == 0)
                elif kind == TIME:
                    either = (b[w] != 0 or y != 0) and a[w] % 720 == x % 720
                    supported[v] |= kinds[w] == TIME and (a[w] == x or either)
                elif kind == WEEKDAY:
                    supported[v] |= kinds[w] == WEEKDAY and a[w] == x
    return supported, skipped


@kernel
def count_pairs(ids: Ids, starts: Ints, stops: Ints, contexts: Passages, n_words: int) -> Ints:
    """Number of pairs of adjacent words of each answer that are adjacent in one of the row's contexts."""
    counts = np.zeros(len(starts), np.int64)
    longest, longest_context, size = 0, 0, 4
    for row in range(len(starts)):
        longest = max(longest, stops[row] - starts[row])
    for text in range(len(contexts.starts)):
        longest_context = max(longest_context, contexts.stops[text] - contexts.starts[text])
    while size < 4 * longest and longest > ABSENT:
        size *= 2
    keys, seen, places = np.zeros(size, np.int64), np.zeros(size, np.int64), np.empty(longest_context + 1, np.int64)
    numbers, table = np.full(n_words, ABSENT, np.uint8), np.zeros(1 << 16, np.uint8)
    for row in range(len(starts)):
        first, last, mark = np.uint64(starts[row]), np.uint64(stops[row]), np.uint8(row % 255 + 1)
        if mark == 1:
            table[:] = 0
        if number_words(ids, first, last, numbers) <= ABSENT:
            mark_pairs(contexts, row, numbers, table, mark)
            counts[row] = count_marked(ids, first, last, numbers, table, mark)
        else:
            counts[row] = count_by_hash(ids, first, last, contexts, row, numbers, keys, seen, places)
        for k in range(first, last):
            numbers[np.uint32(ids[k])] = ABSENT
    return counts


@leaf
def number_words(ids: Ids, first: np.uint64, last: np.uint64, numbers: Bytes) -> int:
    """Number the distinct words ``ids[first:last]`` in ``numbers``, from 0 on; return how many there are.

    The number of all other words is ``ABSENT``; all words from the 255th on have the number before it.
    """
    n = 0
    for k in range(first, last):
        word = np.uint32(ids[k])
        if numbers[word] == ABSENT:
            numbers[word] = min(n, ABSENT - 1)
            n += 1
    return n


@leaf
def mark_pairs(contexts: Passages, row: int, numbers: Bytes, table: Bytes, mark: int) -> None:
    """Write ``mark`` to the entry of ``table`` of each pair of adjacent words of the row's contexts.

    The entry is that of the two numbers of the words, in ``numbers``, so that words that the answer does not have need
    no branch, which the processor would have to guess.
    """
    for text in range(contexts.groups[row], contexts.groups[row + 1]):
        before = _ABSENT_BEFORE
        for k in range(np.uint64(contexts.starts[text]), np.uint64(contexts.stops[text])):
            number = np.uint64(numbers[np.uint32(contexts.ids[k])])
            table[before + number] = mark
            before = number << _U8


@leaf
def count_marked(ids: Ids, first: np.uint64, last: np.uint64, numbers: Bytes, table: Bytes, mark: int) -> int:
    """How many pairs of adjacent words of ``ids[first:last]`` have ``mark`` in ``table``; see ``mark_pairs``."""
    n, before = 0, _ABSENT_BEFORE
    for k in range(first, last):
        number = np.uint64(numbers[np.uint32(ids[k])])
        n += (k > first) & (table[before + number] == mark)
        before = number << _U8
    return n


@leaf
def count_by_hash(
    ids: Ids,
    first: np.uint64,
    last: np.uint64,
    contexts: Passages,
    row: int,
    numbers: Bytes,
    keys: Ints,
    seen: Ints,
    places: Ints,
) -> int:
    """How many pairs of adjacent words of ``ids[first:last]`` are in the row's contexts, for any number of words.

    ``numbers`` is ``ABSENT`` for words that are not among them; ``keys`` and ``seen`` are a hash table, ``places`` room
    for the words of a context.
    """
    none, some = 2 * row + 1, 2 * row + 2
    for k in range(first + _U1, last):
        seen[slot(keys, seen, none, np.int64(ids[k - _U1]) << 32 | ids[k])] = none
    for text in range(contexts.groups[row], contexts.groups[row + 1]):
        n, before = 0, False
        for k in range(contexts.starts[text], contexts.stops[text]):  # without a branch
            here = numbers[np.uint32(contexts.ids[k])] != ABSENT
            places[n] = k
            n += here & before
            before = here
        for k in places[:n]:
            h = slot(keys, seen, none, np.int64(contexts.ids[k - 1]) << 32 | contexts.ids[k])
            if seen[h] >= none:
                seen[h] = some
    count = 0
    for k in range(first + _U1, last):
        count += seen[slot(keys, seen, none, np.int64(ids[k - _U1]) << 32 | ids[k])] == some
    return count


@inline
def slot(keys: Ints, seen: Ints, oldest: int, key: int) -> np.uint64:
    """The slot of ``key``, or the free slot it is written to; slots with ``seen`` below ``oldest`` are free."""
    mixed, last = np.uint64(key) * _MIX, np.uint64(len(keys) - 1)
    h = (mixed >> _U32) & last
    while seen[h] >= oldest and keys[h] != key:
        h = (h + _U1) & last
    keys[h] = key
    return h
