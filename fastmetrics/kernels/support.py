"""What the contexts say of an answer's anchors: equal values, claims whose ends meet, pairs of words in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Flags, Ids, Ints
from fastmetrics.kernels._jit import inline, kernel, leaf
from fastmetrics.kernels.claims import Claims
from fastmetrics.kernels.values import DATE, NUMBER, TIME, WEAK, WEEKDAY, Values


class Passages(NamedTuple):
    """The words of the contexts: those of row i are the texts ``groups[i]:groups[i + 1]``."""

    ids: Ids
    starts: Ints
    stops: Ints
    groups: Ints


@inline
def agrees(asked: int, given: int, year_elsewhere: bool) -> bool:
    """Whether every part that the date ``asked`` says is the same in ``given``, but for a year said elsewhere."""
    if asked < 0 or given < 0:
        return False
    year, other = asked // 10000, given // 10000
    same_year = year in (0, other) or (other == 0 and year_elsewhere)
    month, day = asked // 100 % 100, asked % 100
    return same_year and (month == 0 or month == given // 100 % 100) and (day == 0 or day == given % 100)


@leaf
def has_number(values: Values, first: int, last: int, number: int) -> bool:
    """Whether the number is among the values ``first:last``."""
    found = False
    for v in range(first, last):
        found |= values.kinds[v] in (NUMBER, WEAK) and values.a[v] == number
    return found


@leaf
def date_holds(values: Values, first: int, last: int, date: int, other: int) -> bool:
    """Whether a date among the values ``first:last`` agrees with one reading of the date."""
    for v in range(first, last):
        if values.kinds[v] == DATE:
            for asked in (date, other):
                for given in (np.int64(values.a[v]), np.int64(values.b[v])):
                    elsewhere = asked >= 0 and has_number(values, first, last, asked // 10000)
                    if agrees(asked, given, elsewhere):
                        return True
    return False


@kernel
def values_hold(own: Values, known: Values, groups: Ints) -> Flags:
    """Whether each value of the answers is among those of the row's contexts, ``groups[row]:groups[row + 1]``."""
    found = np.zeros(len(own.kinds), np.bool_)
    kinds, a, b = known.kinds, known.a, known.b
    for row in range(len(own.bounds) - 1):
        first, last = known.bounds[groups[row]], known.bounds[groups[row + 1]]
        for v in range(own.bounds[row], own.bounds[row + 1]):
            kind, x, y = own.kinds[v], own.a[v], own.b[v]
            if kind == DATE:
                found[v] = date_holds(known, first, last, np.int64(x), np.int64(y))
                continue
            for w in range(first, last):
                if kind == NUMBER:
                    number = kinds[w] in (NUMBER, WEAK)
                    found[v] |= number and a[w] == x and (b[w] == y or b[w] == 0 or y == 0)
                elif kind == TIME:
                    either = (b[w] != 0 or y != 0) and a[w] % 720 == x % 720
                    found[v] |= kinds[w] == TIME and (a[w] == x or either)
                elif kind == WEEKDAY:
                    found[v] |= kinds[w] == WEEKDAY and a[w] == x
    return found


@leaf
def meet(stems: Ids, places: Ids, n: int, subject: Ids, near: Ids, stamp: int, window: int) -> bool:
    """Stamp in ``near`` every stem within ``window`` words of one stamped in ``subject``; whether any is."""
    never = last = -window - 1
    for h in range(n):
        if subject[stems[h]] == stamp:
            last = places[h]
        if places[h] - last <= window:
            near[stems[h]] = stamp
    if last == never:
        return False
    last = np.int64(1) << 62
    for h in range(n - 1, -1, -1):
        if subject[stems[h]] == stamp:
            last = places[h]
        if last - places[h] <= window:
            near[stems[h]] = stamp
    return True


@leaf
def gather(ids: Ids, starts: Ints, stops: Ints, stem_of: Ids, wanted: Ids, hits: Ids, row: int, window: int) -> int:
    """The stems wanted by ``row`` in its contexts, with their places; words of two contexts are out of reach."""
    n, offset = 0, 0
    for text in range(len(starts)):
        for k in range(starts[text], stops[text]):
            stem = stem_of[ids[k]]
            if wanted[stem] == row:
                hits[0, n], hits[1, n] = stem, offset + k - starts[text]
                n += 1
        offset += stops[text] - starts[text] + window + 1
    return n


@kernel
def longest(starts: Ints, stops: Ints, groups: Ints) -> int:
    """The most words that the contexts of one row have."""
    most = 0
    for row in range(len(groups) - 1):
        most = max(most, (stops[groups[row] : groups[row + 1]] - starts[groups[row] : groups[row + 1]]).sum())
    return most


@kernel
def claims_hold(
    claims: Claims, stems: Ids, names: Flags, contexts: Passages, stem_of: Ids, n_stems: int, window: int
) -> Flags:
    """Whether both ends of each claim stand within ``window`` words of each other in one context.

    ``stems`` are those of the answers' words, ``names`` says which of them ends are made of, ``stem_of`` has the
    stem of every word of the vocabulary.
    """
    lows, highs, targets, vague, bounds = claims
    ids, starts, stops, groups = contexts
    found = np.zeros(len(targets), np.bool_)
    wanted, subject, near = np.full(n_stems, -1, np.int32), np.zeros(n_stems, np.int32), np.zeros(n_stems, np.int32)
    hits = np.empty((2, longest(starts, stops, groups)), np.int32)
    stamp = 0
    for row in range(len(bounds) - 1):
        c, end = bounds[row], bounds[row + 1]
        if c == end:
            continue
        for k in range(c, end):
            wanted[stems[targets[k]]] = row
            if k == c or lows[k] != lows[k - 1]:
                want_names(stems, names, lows[k], highs[k], wanted, row)
        first, last = groups[row], groups[row + 1]
        n = gather(ids, starts[first:last], stops[first:last], stem_of, wanted, hits, row, window)
        while c < end:
            low, high, loose = lows[c], highs[c], vague[c]
            stamp += 1
            want_names(stems, names, low, high, subject, stamp)
            found_end = low < high and meet(hits[0], hits[1], n, subject, near, stamp, window)
            if not found_end and (low == high or loose):
                near[hits[0, :n]] = stamp
            while c < end and lows[c] == low and highs[c] == high and vague[c] == loose:
                found[c] = near[stems[targets[c]]] == stamp
                c += 1
    return found


@leaf
def want_names(stems: Ids, names: Flags, low: int, high: int, table: Ids, value: int) -> None:
    """Write ``value`` for the stem of every name among the words ``low:high``."""
    for k in range(low, high):
        if names[k]:
            table[stems[k]] = value


@kernel
def count_pairs(ids: Ids, starts: Ints, stops: Ints, contexts: Passages, n_words: int) -> Ints:
    """How many pairs of neighbouring words of each answer are neighbours in one of the row's contexts."""
    c_ids, c_starts, c_stops, groups = contexts
    counts = np.zeros(len(starts), np.int64)
    longest_answer, size = 0, 4
    for row in range(len(starts)):
        longest_answer = max(longest_answer, stops[row] - starts[row])
    while size < 4 * longest_answer:
        size *= 2
    keys, seen = np.zeros(size, np.int64), np.zeros(size, np.int64)
    own = np.full(n_words, -1, np.int32)
    for row in range(len(starts)):
        none, some = 2 * row + 1, 2 * row + 2
        for k in range(starts[row], stops[row] - 1):
            own[ids[k]] = own[ids[k + 1]] = row
            h = slot(keys, seen, none, np.int64(ids[k]) << 32 | ids[k + 1])
            seen[h] = none
        for text in range(groups[row], groups[row + 1]):
            before = False
            for k in range(c_starts[text], c_stops[text]):
                here = own[c_ids[k]] == row
                if here and before:
                    h = slot(keys, seen, none, np.int64(c_ids[k - 1]) << 32 | c_ids[k])
                    if seen[h] >= none:
                        seen[h] = some
                before = here
        for k in range(starts[row], stops[row] - 1):
            counts[row] += seen[slot(keys, seen, none, np.int64(ids[k]) << 32 | ids[k + 1])] == some
    return counts


@inline
def slot(keys: Ints, seen: Ints, oldest: int, key: int) -> int:
    """Where ``key`` is, or the free slot it is written to; slots stamped before ``oldest`` are free."""
    h = (key ^ (key >> 17) ^ (key >> 29)) & (len(keys) - 1)
    while seen[h] >= oldest and keys[h] != key:
        h = (h + 1) & (len(keys) - 1)
    keys[h] = key
    return h
