"""What contexts hold of an answer: equal values, adjacent words, claims in one stretch, and the words that they
lack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint32s
from fastmetrics.kernels.claims import CAPITAL, STOP, Checked, Claims, ends_sentence, equal_before, make_checked
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.located_words import Marks
from fastmetrics.kernels.values import DATE, MARK, NUMBER, TIME, UNREAD, WEAK, Values

# Support of an answer by its contexts: equal values and shared pairs of adjacent words.


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
def place_of(values: Values, first: int, last: int, kind: int, a: float) -> int:
    """The first of the values ``first:last``, which are in order, that is not before a kind and a number."""
    while first < last:
        middle = (first + last) // 2
        if values.kinds[middle] < kind or (values.kinds[middle] == kind and values.a[middle] < a):
            first = middle + 1
        else:
            last = middle
    return first


@leaf
def has_number(
    values: Values, first: int, last: int, number: float, near: float, currency: float, ordered: bool
) -> bool:
    """Whether a number that differs by at most ``near`` is among the values ``first:last``, in no other currency."""
    hit, kinds, a, b = False, values.kinds, values.a, values.b
    if ordered:
        for kind in (NUMBER, WEAK):
            at = place_of(values, first, last, kind, number - near)
            while at < last and kinds[at] == kind and not hit and (a[at] <= number + near or a[at] == number):
                hit = b[at] == currency or b[at] == 0 or currency == 0
                at += 1
        return hit
    for w in range(first, last):
        same = kinds[w] in (NUMBER, WEAK) and (a[w] == number or abs(a[w] - number) <= near)
        hit |= same and (b[w] == currency or b[w] == 0 or currency == 0)
    return hit


@leaf
def date_holds(values: Values, first: int, last: int, date: int, other: int, ordered: bool) -> bool:
    """Whether a date among the values ``first:last`` agrees with one reading of the date."""
    begin, end = first, last
    if ordered:
        begin, end = place_of(values, first, last, DATE, -np.inf), place_of(values, first, last, DATE + 1, -np.inf)
    for reading in (date, other):
        year = np.float64(reading // 10000)
        elsewhere = reading >= 0 and has_number(values, first, last, year, 0.0, 0.0, ordered)
        for v in range(begin, end):
            if values.kinds[v] == DATE:
                stated, or_this = np.int64(values.a[v]), np.int64(values.b[v])
                if agrees(reading, stated, elsewhere) or agrees(reading, or_this, elsewhere):
                    return True
    return False


HALF_DAY = 720
"""Minutes between the two readings of a time of twelve hours."""


@leaf
def is_stated(values: Values, first: int, last: int, kind: int, x: float, y: float, near: float, ordered: bool) -> bool:
    """Whether a value is among the values ``first:last``; numbers may differ by ``near``.

    Values that are ``ordered`` by kind and number are found by bisection, but for dates.
    """
    hit, kinds, a, b = False, values.kinds, values.a, values.b
    if kind == DATE:
        return date_holds(values, first, last, np.int64(x), np.int64(y), ordered)
    if kind in (NUMBER, WEAK, MARK):
        return has_number(values, first, last, x, near, y, ordered)
    if ordered:
        last = place_of(values, first, last, kind + 1, -np.inf)
        first = place_of(values, first, last, kind, -np.inf if kind == TIME else x)
    if kind == TIME:
        for w in range(first, last):
            either = (b[w] != 0 or y != 0) and a[w] % HALF_DAY == x % HALF_DAY
            hit |= kinds[w] == TIME and (a[w] == x or either)
        return hit
    w = first
    while w < last and not hit and not (ordered and a[w] > x):
        # days of the week, versions, and what was not read but is written alike
        hit = kinds[w] == kind and a[w] == x and b[w] == y
        w += 1
    return hit


@leaf
def may_hide(values: Values, first: int, last: int, kind: int, x: float) -> bool:
    """Whether a number or a date may be among those of the values ``first:last`` that were not read: the same digits
    stand there, beside something unknown."""
    for v in range(first, last):
        if values.kinds[v] == UNREAD and values.a[v] != np.inf:
            a = values.a[v]
            if kind == DATE and a in (np.int64(x) % 100, np.int64(x) // 10000):
                return True
            if kind == NUMBER and (a == x or (a * x > 0 and abs(np.log10(x / a) - np.rint(np.log10(x / a))) < 1e-12)):
                return True
    return False


@kernel
def values_hold(answer: Values, context: Values, groups: Ints, ordered: Flags) -> tuple[Flags, Flags]:
    """Whether each value of the answers is among the values of the row's contexts ``groups[row]:groups[row + 1]``; and
    whether that cannot be told, since it or what may be its equal was not read.

    ``ordered`` are the rows whose values of the contexts are in order, for these have very many.
    """
    supported, unknown = np.zeros(len(answer.kinds), np.bool_), np.zeros(len(answer.kinds), np.bool_)
    for row in range(len(answer.bounds) - 1):
        first, last = context.bounds[groups[row]], context.bounds[groups[row + 1]]
        for v in range(answer.bounds[row], answer.bounds[row + 1]):
            kind, x, y = answer.kinds[v], answer.a[v], answer.b[v]
            if kind in (WEAK, MARK):
                continue
            supported[v] = is_stated(context, first, last, kind, x, y, 0.0, ordered[row])
            if not supported[v]:
                unknown[v] = kind == UNREAD or (not ordered[row] and may_hide(context, first, last, kind, x))
    return supported, unknown


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
        if mark == 1:  # the marks of 255 rows differ, so the table is cleared only then
            table[:] = 0
        if number_words(ids, first, last, numbers) <= ABSENT:
            mark_pairs(contexts, row, numbers, table, mark)
            counts[row] = count_marked(ids, first, last, numbers, table, mark)
        else:
            counts[row] = count_by_hash(ids, first, last, contexts, row, numbers, keys, seen, places)
        for k in range(first, last):  # undo what this row wrote, not all of the vocabulary
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
    # What ``seen`` holds grows with the row, so entries of earlier rows are below ``none`` and count as free.
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
        for k in places[:n]:  # only pairs of words that the answer has are looked up
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


# Where the stems that a row looks up occur in its contexts.


class Lookups(NamedTuple):
    """The stems that a row looks up, and their occurrences in its contexts, the hits.

    ``rows[s]`` is the last row that used stem s; ``listed`` are this row's stems.  Hit h is an occurrence of stem
    ``hits[h]`` at position ``places[h]``, counted over all contexts of the row so that words of two contexts are far
    apart.  The hits of stem s are ``order[begins[s]:ends[s]]``.
    """

    rows: Ids
    listed: Uint32s
    begins: Ids
    ends: Ids
    order: Uint32s
    hits: Uint32s
    places: Ints


@kernel
def make_lookups(contexts: Passages, n_stems: int) -> Lookups:
    """Allocate arrays large enough for any row and for the occurrences in its contexts."""
    most = 0
    for row in range(len(contexts.groups) - 1):
        words = 0
        for text in range(contexts.groups[row], contexts.groups[row + 1]):
            words += contexts.stops[text] - contexts.starts[text]
        most = max(most, words)
    own, hits = np.full((3, n_stems), -1, np.int32), np.empty((2, most), np.uint32)
    return Lookups(own[0], np.empty(n_stems, np.uint32), own[1], own[2], hits[0], hits[1], np.empty(most, np.int64))


@leaf
def look_up(stems: Uint32s, low: int, high: int, row: int, lookups: Lookups, n: int) -> int:
    """Add the stems ``low:high`` to those that the row looks up; return their number."""
    for k in range(np.uint64(low), np.uint64(high)):
        stem = stems[k]
        if lookups.rows[stem] != row:
            lookups.rows[stem], lookups.listed[n], lookups.ends[stem] = row, stem, 0
            n += 1
    return n


@leaf
def gather(contexts: Passages, row: int, stem_of: Uint32s, window: int, lookups: Lookups) -> int:
    """Collect the occurrences of the stems of ``row`` in its contexts; return how many.

    ``stem_of[w]`` is the number of the stem of word w.
    """
    n, place = np.uint64(0), np.int64(0)
    for text in range(contexts.groups[row], contexts.groups[row + 1]):
        start, stop = np.uint64(contexts.starts[text]), np.uint64(contexts.stops[text])
        for k in range(start, stop):  # without a branch that the processor would have to guess
            stem = stem_of[np.uint32(contexts.ids[k])]
            lookups.hits[n], lookups.places[n] = stem, place + np.int64(k - start)
            n += np.uint64(lookups.rows[stem] == row)  # else the next word overwrites the entry
        place += np.int64(stop - start) + window
    for hit in range(n):  # ``ends`` counts for now; ``by_stem`` turns the counts into ranges
        lookups.ends[lookups.hits[hit]] += 1
    return np.int64(n)


@leaf
def by_stem(lookups: Lookups, n_listed: int, n: int) -> None:
    """Sort the collected occurrences by stem."""
    # A counting sort: room for each stem, then each hit to the end of its stem's, which keeps their order.
    begin = 0
    for i in range(np.uint64(n_listed)):
        stem = lookups.listed[i]
        size = lookups.ends[stem]
        lookups.begins[stem] = lookups.ends[stem] = begin
        begin += size
    for hit in range(np.uint64(n)):
        stem = lookups.hits[hit]
        at = np.uint32(lookups.ends[stem])
        lookups.order[at] = hit
        lookups.ends[stem] = at + np.uint32(1)


@inline
def occurrences(lookups: Lookups, stem: int) -> int:
    """How often the stem occurs in the row's contexts."""
    return lookups.ends[stem] - lookups.begins[stem]


@leaf
def occurs_between(lookups: Lookups, stem: int, first: int, last: int) -> bool:
    """Whether the stem occurs at a position from ``first`` to ``last``."""
    low, high = lookups.begins[stem], lookups.ends[stem]
    end = high
    while low < high:
        middle = (low + high) // 2
        if lookups.places[lookups.order[middle]] < first:
            low = middle + 1
        else:
            high = middle
    return low < end and lookups.places[lookups.order[low]] <= last


# Comparison of claims with contexts: whether subject and object occur in one stretch of a context.
#
# Only the stretches around the rarest words of a claim are searched, since each stretch that supports the claim holds
# at least one of them: of n words that need m, the n - m + 1 rarest.


MANY = 64
"""Number of words up to which the rarest words of an end are selected; of longer ends all are searched."""


class Sizes(NamedTuple):
    """Figures of an end: its ``n`` distinct stems, how many of them occur in the row's contexts and how many are needed
    in one stretch; how many are the rarest, which come first, and how often these occur; the stamp of its stems."""

    n: int
    occurring: int
    needed: int
    n_rarest: int
    total: int
    stamp: int


class End(NamedTuple):
    """A subject or an object: its distinct ``stems``; ``stamps[s]`` is the current stamp if stem s is one of them.

    A new stamp for each end, the number of the claim, spares clearing an array of all stems of the vocabulary.
    """

    stems: Uint32s
    stamps: Ids
    sizes: Sizes


class ClaimRules(NamedTuple):
    """The words that a stretch spans, and the number of claims × hits of a row from which comparing them is dear."""

    window: int
    many: int


class Scratch(NamedTuple):
    """Arrays that are allocated once and used for all claims; ``counts`` is how often each stem is in the stretch."""

    lookups: Lookups
    subject: End
    target: End
    counts: Ids
    checked: Checked


@inline
def is_other(claims: Claims, c: int) -> bool:
    """Whether the subject of claim ``c`` is not that of the claim before."""
    same = claims.subjects[c] == claims.subjects[c - 1] and claims.subject_ends[c] == claims.subject_ends[c - 1]
    return not same


@leaf
def look_up_all(claims: Claims, stems: Uint32s, row: int, lookups: Lookups) -> int:
    """Add the stems of all claims of a row to the lookups; return their number.  ``stems[k]`` is that of word k."""
    n, begin = 0, claims.bounds[row]
    for c in range(begin, claims.bounds[row + 1]):
        n = look_up(stems, claims.objects[c], claims.object_ends[c], row, lookups, n)
        if c == begin or is_other(claims, c):
            n = look_up(stems, claims.subjects[c], claims.subject_ends[c], row, lookups, n)
    return n


@leaf
def read_end(stems: Uint32s, low: int, high: int, lookups: Lookups, end: End, stamp: int) -> Sizes:
    """Make the stems ``low:high`` the words of the end, under a stamp that no end had before; return its figures.

    Three quarters of them must occur in one stretch.
    """
    n, occurring = 0, 0
    for k in range(np.uint64(low), np.uint64(high)):
        stem = stems[k]
        if end.stamps[stem] != stamp:
            end.stamps[stem], end.stems[np.uint64(n)] = stamp, stem
            occurring += occurrences(lookups, stem) > 0
            n += 1
    needed = n - n // 4
    if occurring < needed:  # the caller reads no further: the rarest words are of no use
        return Sizes(n, occurring, needed, np.int64(0), np.int64(0), stamp)
    n_rarest, total = select_rarest(lookups, end.stems, n, needed)
    return Sizes(n, occurring, needed, n_rarest, total, stamp)


@leaf
def select_rarest(lookups: Lookups, stems: Uint32s, size: int, needed: int) -> tuple[int, int]:
    """Move the rarest stems to the front; return how many, and how often they occur.

    Of n words of which m are needed, a stretch lacks at most n - m, so it holds one of any n - m + 1.
    """
    n = np.uint64(size)
    # Of very many words, selecting would take n² steps; all of them are as good, if slower to search.
    n_rarest = np.uint64(0) if needed == 0 else n if n > MANY else n - np.uint64(needed) + _U1
    total = np.int64(0)
    for i in range(n_rarest):
        if n_rarest < n:
            rarest = i
            for j in range(i + _U1, n):
                if occurrences(lookups, stems[j]) < occurrences(lookups, stems[rarest]):
                    rarest = j
            stems[i], stems[rarest] = stems[rarest], stems[i]
        total += occurrences(lookups, stems[i])
    return np.int64(n_rarest), total


@inline
def count(hit: np.uint64, step: int, lookups: Lookups, subject: End, target: End, counts: Ids) -> tuple[int, int]:
    """Add a hit to the stretch, or remove it if ``step`` is -1; return by how many its distinct stems of the subject
    and of the object change."""
    stem = lookups.hits[hit]
    in_subject = subject.stamps[stem] == subject.sizes.stamp
    in_target = target.stamps[stem] == target.sizes.stamp
    if in_subject or in_target:
        counts[stem] += step
        # The number of distinct stems changes with the first occurrence that comes, 0 → 1, and the last that goes.
        if counts[stem] == (step + 1) // 2:
            return step * np.int64(in_subject), step * np.int64(in_target)
    return np.int64(0), np.int64(0)


@leaf
def empty(lookups: Lookups, low: np.uint64, high: np.uint64, counts: Ids) -> None:
    """Remove the hits ``low:high``, which are all, from the stretch."""
    for hit in range(low, high):
        counts[lookups.hits[hit]] = 0


@leaf
def enough_around(lookups: Lookups, place: int, window: int, end: End, needed: int) -> bool:
    """Whether ``needed`` stems of the end occur at most ``window`` words from a position."""
    n = 0
    for s in range(end.sizes.n):
        if n >= needed:
            break
        n += occurs_between(lookups, end.stems[s], place - window, place + window)
    return n >= needed


@leaf
def occur_together(
    lookups: Lookups, n_hits: int, window: int, needed: int, heavy: bool, subject: End, target: End, counts: Ids
) -> bool:
    """Whether a stretch of ``window`` words has ``needed`` words of the subject and enough of the object.

    Only the stretches around the rarest words of one end are read, the end whose rarest words occur less often, or the
    object if no word of the subject is needed.  ``heavy``: the row has so many hits that each of these words is first
    looked at by itself.
    """
    seeds = subject if needed > 0 and subject.sizes.total < target.sizes.total else target
    n, places, enough_target = np.uint64(n_hits), lookups.places, target.sizes.needed
    enough = needed == 0 and enough_target == 1  # its only word occurs, as the caller knows
    for s in range(np.uint64(0 if enough else seeds.sizes.n_rarest)):
        # The stretch is the hits low:high, which has n_subject and n_target distinct stems of the two ends.
        low = high = np.uint64(0)
        n_subject = n_target = np.int64(0)
        stem = seeds.stems[s]
        for at in range(np.uint64(lookups.begins[stem]), np.uint64(lookups.ends[stem])):
            seed = np.uint64(lookups.order[at])
            place = places[seed]
            # Binary searches for each stem cost more than a stretch of few hits, but do not grow with its hits.
            if heavy and not (
                enough_around(lookups, place, window, target, enough_target)
                and enough_around(lookups, place, window, subject, needed)
            ):
                continue
            # If the stretch ends before the seed's window begins, start anew at the first hit of the window; else the
            # stretch slides on, so that seeds close to each other do not read the same hits twice.
            if high <= seed and (low == high or places[high - _U1] < place - window):
                empty(lookups, low, high, counts)
                n_subject = n_target = np.int64(0)
                low = seed
                while low > 0 and places[low - _U1] >= place - window:
                    low -= _U1
                high = low
            # Take hits on the right up to the end of the seed's window; drop those on the left that are too far away.
            while high < n and places[high] <= place + window and not enough:
                of_subject, of_target = count(high, 1, lookups, subject, target, counts)
                n_subject, n_target = n_subject + of_subject, n_target + of_target
                high += _U1
                while places[low] < places[high - _U1] - window:
                    of_subject, of_target = count(low, -1, lookups, subject, target, counts)
                    n_subject, n_target = n_subject + of_subject, n_target + of_target
                    low += _U1
                enough = n_subject >= needed and n_target >= enough_target
            if enough:
                break
        empty(lookups, low, high, counts)  # the counts are zero again for the next end
        if enough:
            break
    return enough


@kernel
def make_scratch(claims: Claims, contexts: Passages, n_stems: int) -> Scratch:
    """Allocate arrays large enough for any claim."""
    stamps, stems = np.full((2, n_stems), -1, np.int32), np.empty((2, n_stems), np.uint32)
    zero = np.int64(0)
    nothing = Sizes(zero, zero, zero, zero, zero, zero)
    return Scratch(
        make_lookups(contexts, n_stems),
        End(stems[0], stamps[0], nothing),
        End(stems[1], stamps[1], nothing),
        np.zeros(n_stems, np.int32),
        make_checked(claims),
    )


@kernel
def claims_hold(
    claims: Claims, rules: ClaimRules, ids: Ids, contexts: Passages, stem_of: Uint32s, n_stems: int
) -> Flags:
    """Whether subject and object of each claim occur in one context, their words no more than a window apart.

    ``ids`` are the words of the answers, ``stem_of`` holds the stem of every word of the vocabulary.
    """
    supported = np.zeros(claims.bounds[-1], np.bool_)
    stems = np.empty(len(claims.words), np.uint32)
    for k in range(len(stems)):
        stems[k] = stem_of[np.uint32(ids[np.uint64(claims.words[k])])]
    scratch = make_scratch(claims, contexts, n_stems)
    for row in range(len(claims.bounds) - 1):
        if claims.bounds[row] < claims.bounds[row + 1]:
            n_listed = look_up_all(claims, stems, row, scratch.lookups)
            n_hits = gather(contexts, row, stem_of, rules.window, scratch.lookups)
            by_stem(scratch.lookups, n_listed, n_hits)
            compare_row(claims, stems, row, n_hits, rules, scratch, supported)
    return supported


@leaf
def compare_row(
    claims: Claims, stems: Uint32s, row: int, n_hits: int, rules: ClaimRules, scratch: Scratch, supported: Flags
) -> None:
    """Write whether each claim of the row is ``supported`` by its contexts.

    ``stems`` are those of ``claims.words``; the lookups of ``scratch`` have the ``n_hits`` words of the contexts that
    the claims of the row have.  In a leaf, building tuples of arrays costs nothing.
    """
    lookups, subject, target, counts, checked = scratch
    begin, end = claims.bounds[row], claims.bounds[row + 1]
    heavy = (end - begin) * n_hits > rules.many
    for c in range(begin, end):
        if c == begin or is_other(claims, c):  # claims of one clause share their subject
            low, high = claims.subjects[c], claims.subject_ends[c]
            sizes = read_end(stems, low, high, lookups, subject, c)
            subject = End(subject.stems, subject.stamps, sizes)
        needed = subject.sizes.needed
        if subject.sizes.occurring < needed:
            continue
        if heavy:
            equal = equal_before(claims, stems, row, c, checked)
            if equal < c:
                supported[c] = supported[equal]
                continue
        sizes = read_end(stems, claims.objects[c], claims.object_ends[c], lookups, target, c)
        target = End(target.stems, target.stamps, sizes)
        if target.sizes.occurring >= target.sizes.needed:
            supported[c] = occur_together(lookups, n_hits, rules.window, needed, heavy, subject, target, counts)


# Words of an answer that its contexts lack, or contain with the opposite polarity; and names that they lack.


NEGATES, CONTRACTED, SUFFIX = 1, 2, 4
"""Kinds of words: a negation; a word as in "isn't"; the "t" after it."""

REACH = 3
"""The number of words after a negation that it negates."""


class WordKinds(NamedTuple):
    """The roles, the kind of negation, and the stem of each word of the vocabulary."""

    roles: Bytes
    negations: Bytes
    stems: Ids


@inline
def negates(negations: Bytes, ids: Ids, start: int, k: int) -> bool:
    """Whether word ``k`` of a text that begins at ``start`` negates; ``negations`` has the kind of each id."""
    kind = negations[ids[k]]
    return kind == NEGATES or (kind == SUFFIX and k > start and negations[ids[k - 1]] == CONTRACTED)


@leaf
def mark_words(ids: Ids, start: int, stop: int, words: WordKinds, row: int, seen: Ids) -> None:
    """Set ``seen[p, stem]`` to the row for each content word of a text; p is 1 if the word is negated, else 0."""
    negated_to = start
    for k in range(start, stop):
        if negates(words.negations, ids, start, k):
            negated_to = k + 1 + REACH
        elif words.roles[ids[k]] & STOP == 0:
            seen[np.int64(k < negated_to), words.stems[ids[k]]] = row


@kernel
def count_content_words(
    ids: Ids, starts: Ints, stops: Ints, contexts: Passages, words: WordKinds, n_stems: int
) -> tuple[Ints, Ints, Ints]:
    """Per answer: its content words, those whose stem is in the row's contexts, and those of them that are negated in
    the answer alone or in the contexts alone."""
    n = len(starts)
    content, shared, opposite = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    seen = np.full((2, n_stems), -1, np.int32)
    for row in range(n):
        for text in range(contexts.groups[row], contexts.groups[row + 1]):
            mark_words(contexts.ids, contexts.starts[text], contexts.stops[text], words, row, seen)
        negated_to = starts[row]
        for k in range(starts[row], stops[row]):
            if negates(words.negations, ids, starts[row], k):
                negated_to = k + 1 + REACH
            elif words.roles[ids[k]] & STOP == 0:
                # ``seen[p, stem] == row`` says that a context of this row has the stem with that polarity.
                same, stem = np.int64(k < negated_to), words.stems[ids[k]]
                occurs = seen[0, stem] == row or seen[1, stem] == row
                content[row] += 1
                shared[row] += occurs
                opposite[row] += occurs and seen[same, stem] != row
    return content, shared, opposite


@kernel
def count_names(marks: Marks, ids: Ids, roles: Bytes, contexts: Passages, n_words: int) -> tuple[Ints, Ints]:
    """Per answer: its capitalised words within sentences, and those that no context of the row contains.

    ``ids`` and ``roles`` have one entry per word of ``marks``.
    """
    n = len(marks.bounds) - 1
    names, novel = np.zeros(n, np.int64), np.zeros(n, np.int64)
    seen = np.full(n_words, -1, np.int32)
    for row in range(n):
        for text in range(contexts.groups[row], contexts.groups[row + 1]):
            for k in range(contexts.starts[text], contexts.stops[text]):
                seen[contexts.ids[k]] = row
        for k in range(marks.bounds[row] + 1, marks.bounds[row + 1]):  # the first word of a text is always capital
            length = marks.stops[k - 1] - marks.starts[k - 1]
            if roles[k] & (CAPITAL | STOP) == CAPITAL and not ends_sentence(marks.after[k - 1], length, roles[k - 1]):
                names[row] += 1
                novel[row] += seen[ids[k]] != row
    return names, novel


NO, YES, NOTHING, UNKNOWN = range(4)
"""What ``values_match`` says of a reference: the answer lacks a value of it or has all, it has none, or that cannot be
told."""


@kernel
def values_match(
    answer: Values, reference: Values, groups: Ints, absolute: float, relative: float, last_only: bool, ordered: Flags
) -> tuple[Bytes, Ints]:
    """Per text of the reference whether the row's answer has all its values, one of ``NO``, ``YES``, ``NOTHING`` and
    ``UNKNOWN``; and the value that was not read, of the reference, or of the answer as -1 - its place.

    Numbers may differ by ``absolute``, or by ``relative`` times that of the reference.  Weak numbers are compared if
    there is nothing else, and so are those in brackets.  Of the answer only the last value counts if ``last_only``.
    ``ordered`` are the rows whose values of the answer are in order, for these have very many.
    """
    matches, culprits = (
        np.full(len(reference.bounds) - 1, NOTHING, np.uint8),
        np.zeros(len(reference.bounds) - 1, np.int64),
    )
    for row in range(len(groups) - 1):
        first, stop = answer.bounds[row], answer.bounds[row + 1]
        least = strongest(answer, first, stop)
        if last_only and stop > first:
            last = stop - 1
            while answer.kinds[last] > least and answer.kinds[last] != UNREAD:
                last -= 1
            first = last
        unread, bracket = 0, least == MARK
        for v in range(first, stop):
            if answer.kinds[v] == UNREAD and unread == 0:
                unread = -1 - v
        for text in range(groups[row], groups[row + 1]):
            begin, end = reference.bounds[text], reference.bounds[text + 1]
            weakest = strongest(reference, begin, end)
            for v in range(begin, end):
                kind, x, y = reference.kinds[v], reference.a[v], reference.b[v]
                if kind > weakest and kind != UNREAD:
                    continue
                near = max(absolute, relative * abs(x)) if kind in (NUMBER, WEAK, MARK) else 0.0
                found = is_stated(answer, first, stop, kind, x, y, near, ordered[row])
                culprit = 0
                if not found and kind in (NUMBER, WEAK, MARK):  # [42] is a citation, or the answer if there is no other
                    for w in range(first, stop):
                        if answer.kinds[w] == MARK and abs(answer.a[w] - x) <= near:
                            found, culprit = bracket, -1 - w
                if not found:
                    culprit = v + 1 if kind == UNREAD else culprit if culprit != 0 else unread
                if found:
                    matches[text] = YES if matches[text] in (YES, NOTHING) else matches[text]
                elif culprit == 0:
                    matches[text] = NO
                elif matches[text] != NO:
                    matches[text], culprits[text] = UNKNOWN, culprit
    return matches, culprits


@inline
def strongest(values: Values, first: int, last: int) -> int:
    """The weakest kind that counts among the values ``first:last``: those that need support, else weak ones, else
    those in brackets."""
    least = MARK
    for v in range(first, last):
        kind = values.kinds[v]
        if kind < WEAK or kind == UNREAD:
            return WEAK - 1
        if kind == WEAK:
            least = WEAK
    return least
