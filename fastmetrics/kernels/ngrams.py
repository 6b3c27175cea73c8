"""Counts of the n-grams that pairs of lists of ids share, by order."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.arrays import Ids, Ints
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.simd.words import LANES, alike_ids

# The places of n-grams in pairs of lists of ids, and the numbers of the n-grams at them.
#
# Where an n-gram begins that both lists have, both have an (n - 1)-gram, and another one a place later.  So each order
# looks only at the places that are left from the order before.
#
# ``limit``, ``shared`` and the rows of ``counters`` have one entry per n-gram of the list of a (see ``LIMIT`` and the
# following); ``place`` has one per word of the vocabulary; ``grams`` are the n-grams at the places that are left.


_U32, _U64 = np.uint64(32), np.uint64(64)
_LOW = np.uint64(0xFFFFFFFF)

Counters: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.uint16]

LIMIT, SHARED, BEST, USED, FIRST, LEFT, ALONE = range(7)
"""Counters of each n-gram: how often a has it, how often the lists of b do; for rows with several lists of b, matches
by the previous lists and by this list; for others, a place in a, whether longer n-grams of it are to be counted, and
whether both lists have it once."""


class Lists(NamedTuple):
    """Lists of ids: list i is ``ids[starts[i]:stops[i]]``."""

    ids: Ids
    starts: Ints
    stops: Ints


class Places(NamedTuple):
    """Numbered words of a row, and the n-grams among them that are left: the k-th starts at ``words[at[k]]``.

    The words of the list of a are numbered from 1 on; other words of b, and the place after each of its lists, are 0.
    The word after the list of a has a number of its own.
    """

    words: Ids
    at: Ids
    grams: Ids


class Table(NamedTuple):
    """The numbers of n-grams, each by a shorter n-gram and a word; ``keys`` are those of a hash table."""

    keys: Ints
    slots: Ids


class Shape(NamedTuple):
    """A row per shorter n-gram of ``width`` slots, or 2 ** ``bits`` slots; numbers up to ``base`` are out of date.

    ``odd`` is the secret of the hash.
    """

    width: int
    bits: int
    base: int
    odd: np.uint64


class Part(NamedTuple):
    """One of ``n_parts`` parts of all n-grams, by a hash whose secret is ``odd``."""

    number: np.uint64
    n_parts: np.uint64
    odd: np.uint64


class LetterTables(NamedTuple):
    """The numbers of 2-grams, by two letters, and of 3-grams, by a 2-gram and a letter; those up to ``bases`` are
    out of date."""

    pairs: Numbers
    triples: Numbers
    bases: Ints


class NgramArrays(NamedTuple):
    """Arrays to work in; ``place`` are the numbers of ids, ``ends`` where the places of each list of b end.

    ``lone`` are the places in both lists, a's in its first row, of n-grams that both have once; so many of them are
    still equal up to each order, and no longer, as ``runs`` says.
    """

    a: Places
    b: Places
    place: Ids
    table: Table
    letters: LetterTables
    counters: Counters
    ends: Ints
    lone: Counters
    runs: Ints


@leaf
def number(ids: Ids, start: int, stop: int, place: Ids, base: int, a: Places, limit: Ids) -> int:
    """Number the ids of a list in order of first use, and count each; return how many are different.

    ``place[id]`` is the number of an id + ``base``.
    """
    used, first = 0, np.uint64(start)
    for i in range(first, np.uint64(stop)):
        # A number up to ``base`` is from an earlier row and counts as none, so that the table is not cleared for each
        # row.
        code = place[np.uint32(ids[i])]
        new = code <= base
        used += new
        code = base + used if new else code
        place[np.uint32(ids[i])] = code
        k = i - first
        a.words[k] = a.grams[k] = code - base
        a.at[k] = k
        limit[np.uint32(code - base)] += 1
    # A word that no list of b has ends runs of equal ids here; the lists of b end with 0, which a lacks.
    a.words[np.uint64(stop - start)] = used + 1
    return used


@leaf
def look_up(b: Lists, groups: tuple[int, int], place: Ids, base: int, out: Places, ends: Ints, shared: Ids) -> None:
    """Write the numbers of the words of some lists, and the places of those that a has."""
    i = k = np.uint64(0)
    for text in range(groups[0], groups[1]):
        for word in b.ids[b.starts[text] : b.stops[text]]:
            code = max(place[np.uint32(word)] - base, 0)
            # Always written, but overwritten by the next unless k moves on: a branch would be unpredictable.
            out.words[i] = out.grams[k] = code
            out.at[k] = i
            shared[np.uint32(code)] += 1
            k += np.uint64(code > 0)
            i += np.uint64(1)
        out.words[i] = 0
        i += np.uint64(1)
        ends[text - groups[0]] = k


@inline
def slot(gram: int, word: int, shape: Shape, table: Table) -> np.uint64:
    """The table's slot for the n-gram that consists of a shorter n-gram and a word."""
    # Every word has a number below ``width``, so a shorter n-gram and a word have a key of their own.
    key = np.int64(gram) * np.int64(shape.width) + np.int64(word)
    h = np.uint64(key)
    if shape.bits:
        h = (h * shape.odd) >> (_U64 - np.uint64(shape.bits))
        # Slots with numbers up to ``base`` are free.
        while table.slots[h] > shape.base and table.keys[h] != key:
            h = (h + np.uint64(1)) & ((np.uint64(1) << np.uint64(shape.bits)) - np.uint64(1))
    return h


@leaf
def lengthen(a: Places, n: int, order: int, shape: Shape, table: Table, limit: Ids) -> int:
    """Replace the shorter n-grams at n places by the longer ones, and count each; return how many are different."""
    if shape.bits == 0:  # compiled separately, without hashing
        return renumber(a, n, order, Shape(shape.width, 0, shape.base, shape.odd), table, limit)
    return renumber(a, n, order, shape, table, limit)


@inline
def renumber(a: Places, n: int, order: int, shape: Shape, table: Table, limit: Ids) -> int:
    """Like ``lengthen``."""
    used = 0
    for k in range(np.uint64(n)):
        word = a.words[np.uint64(a.at[k] + order - 1)]
        h = slot(a.grams[k], word, shape, table)
        code = table.slots[h]
        new = code <= shape.base
        used += new
        code = shape.base + used if new else code
        table.slots[h] = code
        if shape.bits:
            table.keys[h] = a.grams[k] * np.int64(shape.width) + word
        a.grams[k] = code - shape.base
        limit[np.uint32(code - shape.base)] += 1
    return used


@leaf
def extend(b: Places, ends: Ints, n_lists: int, order: int, shape: Shape, table: Table, shared: Ids) -> None:
    """Replace the shorter n-grams by the longer ones that a has, and drop the places of others."""
    k = j = np.uint64(0)
    for text in range(n_lists):
        end = np.uint64(ends[text])
        while k < end:
            at = b.at[k]
            h = slot(b.grams[k], b.words[np.uint64(at + order - 1)], shape, table)
            code = max(table.slots[h] - shape.base, 0)
            b.at[j], b.grams[j] = at, code
            shared[np.uint32(code)] += 1
            j += np.uint64(code > 0)
            k += np.uint64(1)
        ends[text] = j


@leaf
def drop(a: Places, n: int, shared: Ids) -> int:
    """Drop the places where no longer n-gram of b can begin; return how many are left."""
    # The last place has none after it.
    a.at[np.uint64(n)] = -1
    j = np.uint64(0)
    for k in range(np.uint64(n)):
        at, gram = a.at[k], a.grams[k]
        after = k + np.uint64(1)
        # b has an (n + 1)-gram only if it has the n-grams at its place and at the next one.
        follows = np.uint64(a.at[after] == at + 1) & np.uint64(shared[np.uint32(a.grams[after])] > 0)
        a.at[j], a.grams[j] = at, gram
        j += follows & np.uint64(shared[np.uint32(gram)] > 0)
    return np.int64(j)


# N-grams that both lists of a pair have once: longer ones there are found by comparing the ids that follow.
#
# Only the places of other n-grams, which one of the lists has more than once, need the numbers of longer ones.  The
# rows of ``counters`` have one entry per n-gram of a; ``shared`` and ``runs`` have one per order.


_U1, _LANES = np.uint64(1), np.uint64(LANES)


@leaf
def sum_of_least(counters: Counters, different: int) -> int:
    """The number of n-grams that both lists have, and which of the ``different`` ones to look at further."""
    in_a, in_b, left, alone = counters[LIMIT], counters[SHARED], counters[LEFT], counters[ALONE]
    total = 0
    for gram in range(_U1, np.uint64(different + 1)):
        x, y = in_a[gram], in_b[gram]
        total += min(x, y)
        once = np.int32((x == 1) & (y == 1))
        alone[gram] = once
        left[gram] = np.int32(y > 0) - once
    # 0 stands for all n-grams of b that a lacks.
    left[0] = alone[0] = 0
    return total


@leaf
def keep_left(a: Places, n: int, first: Ids, left: Ids) -> int:
    """Keep the places of a with n-grams that are left; return how many.  Write a place of each n-gram to ``first``."""
    at, grams = a.at, a.grams
    j = np.uint64(0)
    for k in range(np.uint64(n)):
        place, gram = at[k], grams[k]
        first[np.uint32(gram)] = place
        at[j], grams[j] = place, gram
        j += np.uint64(left[np.uint32(gram)])
    return np.int64(j)


@leaf
def set_lone_apart(b: Places, n: int, counters: Counters, lone: Counters) -> tuple[int, int]:
    """Keep the places of b with n-grams that are left, and list those both lists have once; return how many of each."""
    at, grams = b.at, b.grams
    first, left, alone, of_a, of_b = counters[FIRST], counters[LEFT], counters[ALONE], lone[0], lone[1]
    j = s = np.uint64(0)
    for k in range(np.uint64(n)):
        place, gram = at[k], grams[k]
        # If a has the n-gram once, the place in ``first`` is the only one.
        of_a[s], of_b[s] = first[np.uint32(gram)], place
        s += np.uint64(alone[np.uint32(gram)])
        at[j], grams[j] = place, gram
        j += np.uint64(left[np.uint32(gram)])
    return np.int64(j), np.int64(s)


@leaf
def follow_lone(work: NgramArrays, n: int, order: int, orders: int) -> None:
    """Count how far the ids stay equal after each of the ``n`` n-grams that both lists have once."""
    a, b, of_a, of_b, runs = work.a.words, work.b.words, work.lone[0], work.lone[1], work.runs
    most = np.uint64(orders - order)
    # What continues an n-gram that both have once occurs nowhere else, so it also counts once, as long as ids are
    # equal.
    for k in range(np.uint64(n)):
        i, j = np.uint64(of_a[k] + order), np.uint64(of_b[k] + order)
        # Nearly all runs end within the ids that are compared at once.
        more = alike = alike_ids(a, i, b, j)
        while more == _LANES and alike < most:
            more = alike_ids(a, i + alike, b, j + alike)
            alike += more
        runs[np.uint64(order) + min(alike, most)] += 1
    runs[order] -= n  # they are counted in this order and in those before


@leaf
def separate(work: NgramArrays, n: int, order: int, orders: int) -> int:
    """Settle the n-grams that both lists have once; return how many places of a are left, and keep those."""
    counters = work.counters
    n = keep_left(work.a, n, counters[FIRST], counters[LEFT])
    work.ends[0], n_lone = set_lone_apart(work.b, work.ends[0], counters, work.lone)
    follow_lone(work, n_lone, order, orders)
    return n


@leaf
def add_runs(runs: Ints, shared: Ints) -> None:
    """Add the n-grams that equal ids continue to those of each order, and clear ``runs``."""
    longer = 0
    for order in range(len(shared), 0, -1):
        # A run that ends at an order has matched all n-grams up to it.
        longer += runs[order]
        shared[order - 1] += longer
        runs[order] = 0


# N-grams of two and of three letters, which a pass over each list numbers and counts together.
#
# A text has few letters, so that tables with an entry for every pair of letters, and for every pair and a letter,
# stay in the processor's cache; and few of the pairs occur once.  ``pairs`` and ``triples`` have one entry per 2-gram
# and 3-gram.


PAIRS, TRIPLES = 1 << 13, 1 << 16
"""The sizes of the tables."""

MOST = (1 << 16) - 1
"""The largest number in a table."""

_U2 = np.uint64(2)


@inline
def fit(n: int, width: int) -> bool:
    """Whether n letters of ``width`` occur often, and the tables have room for their 2-grams and 3-grams."""
    return 3 * width < n and width * width <= PAIRS and (n + 1) * width <= TRIPLES and n < MOST


@inline
def take_number(numbers: Numbers, h: np.uint64, base: int, used: int) -> tuple[int, int]:
    """The number of an n-gram whose entry is ``h``, the next one if it is new; and how many are now in use."""
    code = np.int64(numbers[h])
    new = code <= base
    used += new
    code = base + used if new else code
    numbers[h] = code
    return code - base, used


@leaf
def number_letters(a: Places, n: int, width: int, tables: LetterTables, pairs: Ids, triples: Ids) -> tuple[int, int]:
    """Number the 2-grams and 3-grams of n letters, and count each; return how many are different.

    The places are then those of the 3-grams.
    """
    words, grams, numbers, longer = a.words, a.grams, tables.pairs, tables.triples
    base, longer_base = tables.bases[0], tables.bases[1]
    used = longer_used = 0
    before, word = np.int64(words[0]), np.int64(words[1])
    for k in range(np.uint64(n - 2)):
        after = np.int64(words[k + _U2])
        pair, used = take_number(numbers, np.uint64(before * width + word), base, used)
        pairs[np.uint32(pair)] += 1
        gram, longer_used = take_number(longer, np.uint64(pair * width + after), longer_base, longer_used)
        triples[np.uint32(gram)] += 1
        grams[k] = gram
        before, word = word, after
    # The last 2-gram begins no 3-gram.
    pair, used = take_number(numbers, np.uint64(before * width + word), base, used)
    pairs[np.uint32(pair)] += 1
    return used, longer_used


@leaf
def look_up_letters(b: Places, n: int, width: int, tables: LetterTables, pairs: Ids, triples: Ids) -> int:
    """Count the 2-grams and 3-grams of n letters; return how many places have a 3-gram of a, and write those."""
    words, at, grams, numbers, longer = b.words, b.at, b.grams, tables.pairs, tables.triples
    base, longer_base = tables.bases[0], tables.bases[1]
    before, word = np.int64(words[0]), np.int64(words[1])
    j = np.uint64(0)
    for k in range(np.uint64(max(n - 2, 0))):
        after = np.int64(words[k + _U2])
        pair = max(np.int64(numbers[np.uint64(before * width + word)]) - base, 0)
        pairs[np.uint32(pair)] += 1
        gram = max(np.int64(longer[np.uint64(pair * width + after)]) - longer_base, 0)
        triples[np.uint32(gram)] += 1
        # 0, no 3-gram of a, is overwritten by the next one.
        at[j], grams[j] = k, gram
        j += np.uint64(gram > 0)
        before, word = word, after
    if n > 1:
        pairs[np.uint32(max(np.int64(numbers[np.uint64(before * width + word)]) - base, 0))] += 1
    return np.int64(j)


@leaf
def count_letters(
    work: NgramArrays, sizes: tuple[int, int], width: int, top: int, spare: Counters
) -> tuple[int, int, int]:
    """The 2-grams and the 3-grams that both lists have, and how many different 3-grams a has.

    ``sizes`` are those of the lists; the places are then those of 3-grams.  ``spare`` has two rows like ``counters``.
    """
    n, n_b = sizes
    tables, counters = work.letters, work.counters
    # Numbers of 16 bits run out soon; then the tables are cleared and counting begins again.
    if max(tables.bases[0], tables.bases[1]) + n > min(top, MOST):
        tables.pairs[:], tables.triples[:], tables.bases[:] = 0, 0, 0
    spare[:, : n + 1] = 0
    counters[: SHARED + 1, : n + 1] = 0
    used, longer_used = number_letters(work.a, n, width, tables, spare[0], counters[LIMIT])
    # The tables are read only after a is numbered; a number up to its base becomes 0, so b adds none.
    work.ends[0] = look_up_letters(work.b, n_b, width, tables, spare[1], counters[SHARED])
    tables.bases[0] += used
    tables.bases[1] += longer_used
    both = 0
    for gram in range(_U1, np.uint64(used + 1)):
        both += min(spare[0, gram], spare[1, gram])
    return both, sum_of_least(counters, longer_used), longer_used


# Counts of the n-grams that pairs of lists of ids share, per order.
#
# The rows of ``counters`` have one entry per n-gram of the list of a, ``grams`` are the n-grams at places of b.


Counts: TypeAlias = npt.NDArray[np.int64]

DENSE = 1 << 16
"""Maximum number of slots of a table with a row for each shorter n-gram."""

SLOTS = 1 << 22
"""The least number of slots for the n-grams of long rows; there is one for eight ids, so that passes are few."""

LONGEST = 1 << 22
"""The largest number of ids, on either side of a row, for which there are arrays of about 100 bytes an id; longer rows
take more time, and 1 byte an id."""

TOP = 1 << 30
"""The number in the tables above which they are cleared before the next row."""


@inline
def match_more(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that one of several lists matches in addition to the previous lists."""
    more = 0
    for j in range(first, last):
        g = grams[j]
        counters[USED, g] += 1
        # The best of several lists is their maximum count, clipped: an occurrence adds to it only beyond all lists
        # before.
        if counters[USED, g] > counters[BEST, g] and counters[BEST, g] < counters[LIMIT, g]:
            counters[BEST, g] += 1
            more += 1
    for j in range(first, last):
        counters[USED, grams[j]] = 0
    return more


@inline
def match_each(grams: Ids, first: int, last: int, counters: Counters) -> int:
    """Number of the counted n-grams that one list matches, independent of the other lists."""
    matched = 0
    for j in range(first, last):
        g = grams[j]
        counters[USED, g] += 1
        matched += counters[USED, g] <= counters[LIMIT, g]
    for j in range(first, last):
        counters[USED, grams[j]] = 0
    return matched


@kernel
def table_bits(n: int, width: int) -> int:
    """The bits of a hash table for n n-grams; 0 if a table with a row for each n-gram is small enough."""
    bits = 0
    if (n + 1) * width > DENSE:
        bits = 1
        # At most half full, so that searches are short.
        while (1 << bits) < 2 * n:
            bits += 1
    return bits


@leaf
def match_lists(work: NgramArrays, first: int, n_lists: int, row: int, together: bool, shared: Counts) -> None:
    """Count the matches of the n-grams that are left: ``shared`` is per row if ``together``, else per list of b."""
    begin = 0
    for text in range(n_lists):
        end = work.ends[text]
        if together:
            shared[row] += match_more(work.b.grams, begin, end, work.counters)
        else:
            shared[first + text] = match_each(work.b.grams, begin, end, work.counters)
        begin = end


@leaf
def hash_gram(ids: Ids, at: int, order: int, odd: np.uint64) -> np.uint64:
    """A hash of the n-gram ``ids[at : at + order]``; ``odd`` is secret."""
    key = odd
    for k in range(at, at + order):
        key = (key ^ np.uint64(np.uint32(ids[k]))) * odd
        key ^= key >> _U32
    return key


@leaf
def find_gram(ids: Ids, at: int, order: int, key: np.uint64, stored: Ids, places: Ids) -> int:
    """The slot of the n-gram ``ids[at : at + order]``, or the free one where it belongs.

    ``places[slot]`` is 0, or 1 more than the place in ``stored`` of an n-gram.
    """
    # The product maps a hash of 32 bits evenly to slots whose number is no power of two.
    slot, last = np.int64((key >> _U32) * np.uint64(len(places)) >> _U32), len(places) - 1
    while places[slot] > 0:
        place, k = places[slot] - 1, 0
        while k < order and stored[place + k] == ids[at + k]:
            k += 1
        if k == order:
            break
        slot = slot + 1 if slot < last else 0
    return slot


@leaf
def count_part(
    stored: Ids, b: Lists, lists: tuple[int, int], order: int, part: Part, table: Counters, shared: Ints, to: int
) -> bool:
    """Add the matches of the n-grams of one part to ``shared[to]``, or, with ``to`` -1, to those of each list.

    Returns False, and adds nothing, if more than half of the table would be in use.
    """
    alone = lists[1] - lists[0] == 1
    places, limit = table[0], table[1]
    # Without other lists the last three are not used; they only need a value.
    used, best, owner = (limit, limit, limit) if alone else (table[2], table[3], table[4])
    table[: 2 if alone else 5] = 0
    different = 0
    for i in range(len(stored) - order + 1):
        key = hash_gram(stored, i, order, part.odd)
        # The lower half of the hash chooses the part, the upper half the slot: they are independent.
        if ((key & _LOW) * part.n_parts) >> _U32 != part.number:
            continue
        slot = find_gram(stored, i, order, key, stored, places)
        if places[slot] == 0:
            if 2 * different >= len(places):
                return False
            places[slot] = i + 1
            different += 1
        limit[slot] += 1
    for text in range(lists[0], lists[1]):
        for i in range(b.starts[text], b.stops[text] - order + 1):
            key = hash_gram(b.ids, i, order, part.odd)
            if ((key & _LOW) * part.n_parts) >> _U32 != part.number:
                continue
            slot = find_gram(b.ids, i, order, key, stored, places)
            if places[slot] == 0:
                continue
            if alone:
                shared[to if to >= 0 else text] += limit[slot] > 0
                limit[slot] -= limit[slot] > 0
                continue
            # A count by another list is out of date, and begins again at 1.
            used[slot] = used[slot] + 1 if owner[slot] == text + 1 else 1
            owner[slot] = text + 1
            if to < 0:
                shared[text] += used[slot] <= limit[slot]
            elif used[slot] > best[slot] and best[slot] < limit[slot]:
                best[slot] += 1
                shared[to] += 1
    return True


@leaf
def count_long_row(
    stored: Ids, b: Lists, lists: tuple[int, int], to: int, odd: np.uint64, table: Counters, shared: Counts
) -> None:
    """Add the matches of a row that is too long for tables of its size: a part of the n-grams at a time, by hash.

    ``stored`` are the ids of a, which are compared with the ``lists`` of b; ``to`` is as for ``count_part``.  Each
    part is another pass over the ids; there are twice as many as soon as a part does not fit into the table.
    """
    n_parts = np.uint64(1)
    for order in range(1, len(shared) + 1):
        part = np.uint64(0)
        while part < n_parts:
            if count_part(stored, b, lists, order, Part(part, n_parts, odd), table, shared[order - 1], to):
                part += np.uint64(1)
            else:  # begin the order again
                # Parts that were counted before must not count twice.
                first, last = (to, to + 1) if to >= 0 else lists
                shared[order - 1, first:last] = 0
                part, n_parts = np.uint64(0), n_parts * np.uint64(2)


@leaf
def size_of_row(a: Lists, b: Lists, groups: Ints, row: int) -> int:
    """The ids of the list of a, or those of its lists of b, whichever are more, each list with a place after it."""
    size = 0
    for k in range(groups[row], groups[row + 1]):
        size += b.stops[k] - b.starts[k] + 1
    return max(size, a.stops[row] - a.starts[row] + 1)


@inline
def count_rows(
    a: Lists,
    b: Lists,
    groups: Ints,
    together: bool,
    odd: np.uint64,
    top: int,
    longest: int,
    has_long: bool,
    work: NgramArrays,
    shared: Counts,
) -> None:
    """Like ``count_ngrams``, into ``shared``, with a row per order; rows longer than ``longest`` are passed over."""
    counters, table, orders = work.counters, work.table, len(shared)
    base = 0
    for row in range(len(a.starts)):
        n, first, n_lists = a.stops[row] - a.starts[row], groups[row], groups[row + 1] - groups[row]
        if has_long and size_of_row(a, b, groups, row) > longest:
            continue
        alone = n_lists == 1
        to = row if together else first
        # Numbers only grow from row to row, and must stay within 32 bits.
        if base > top:
            work.place[:], table.slots[:], base = 0, 0, 0
        counters[: SHARED + 1 if alone else BEST + 1, : n + 1] = 0
        different = number(a.ids, a.starts[row], a.stops[row], work.place, base, work.a, counters[LIMIT])
        look_up(b, (first, first + n_lists), work.place, base, work.b, work.ends, counters[SHARED])
        base += different
        # Words of a are 1 to ``different``, one more is its end, and 0 is any other word.
        width, order = different + 2, 1
        if alone:
            shared[0, to] = sum_of_least(counters, different)
        else:
            match_lists(work, first, n_lists, row, together, shared[0])
        if alone and orders > 2 and n > 2 and fit(n, width):
            sizes = n, b.stops[first] - b.starts[first]
            shared[1, to], shared[2, to], different = count_letters(work, sizes, width, top, counters[FIRST:])
            # All places of 3-grams are left, two fewer than there are letters.
            n, order = n - 2, 3
        while order < orders:
            # With several lists of b, an n-gram's best list may change with the order, so none can be settled early.
            n = separate(work, n, order, orders) if alone else drop(work.a, n, counters[SHARED])
            if n == 0:
                break
            order += 1
            shape = Shape(width, table_bits(max(n, different), width), base, odd)
            counters[: SHARED + 1 if alone else BEST + 1, : n + 1] = 0
            different = lengthen(work.a, n, order, shape, table, counters[LIMIT])
            extend(work.b, work.ends, n_lists, order, shape, table, counters[SHARED])
            base += different
            if alone:
                shared[order - 1, to] = sum_of_least(counters, different)
            else:
                match_lists(work, first, n_lists, row, together, shared[order - 1])
        if alone:
            add_runs(work.runs, shared[:, to])


@kernel
def count_ngrams(
    a: Lists,
    b: Lists,
    groups: Ints,
    n_words: int,
    orders: int,
    together: bool,
    odd: np.uint64,
    top: int,
    longest: int,
) -> Counts:
    """Per order and list of b: number of its n-grams matched in the list of a to which its group belongs.

    List i of a has the lists ``groups[i]:groups[i + 1]`` of b.  If ``together``, the counts are per list of a, and the
    matches of an n-gram are its maximum count over the lists of b.  Matches are clipped to the n-gram's count in a.
    ``odd`` is a secret odd number, from which hashes are made; ``top`` and ``longest`` are ``TOP`` and ``LONGEST``.
    They have no defaults: Numba looks at the types of a call again each time one is left out.
    """
    n_rows, n_lists = len(a.starts), len(b.starts)
    room, slots, columns = LANES, 0, 2  # of arrays of zeros, which take memory even if they are not used
    for row in range(n_rows):
        size = size_of_row(a, b, groups, row)
        if size <= longest:
            room = max(room, size + LANES)
        else:
            slots = max(slots, SLOTS, size // 8)
            columns = max(columns, 2 if groups[row + 1] - groups[row] == 1 else 5)
    shared = np.zeros((orders, n_rows if together else n_lists), np.int64)
    # 3 + 3 rows of places in a and b, 2 of lone places, 7 of counters.
    rows, letters = np.zeros((15, room), np.int32), np.zeros(PAIRS + TRIPLES, np.uint16)
    # One array, cut below: the bases of the letters' tables, runs by order, and ends by list of b.
    sizes = np.zeros(2 + orders + 1 + n_lists, np.int64)
    work = NgramArrays(
        Places(rows[0], rows[1], rows[2]),
        Places(rows[3], rows[4], rows[5]),
        np.zeros(n_words, np.int32),
        # ``table_bits`` takes the first power of two from 2n on, which is below 4n.
        Table(np.zeros(4 * room, np.int64), np.zeros(max(4 * room, DENSE), np.int32)),
        LetterTables(letters[:PAIRS], letters[PAIRS:], sizes[:2]),
        rows[8:],
        sizes[3 + orders :],
        rows[6:8],
        sizes[2 : 3 + orders],
    )
    count_rows(a, b, groups, together, odd, top, longest, slots > 0, work, shared)
    table = np.zeros((columns, slots), np.int32)
    for row in range(n_rows if slots > 0 else 0):
        if size_of_row(a, b, groups, row) > longest:
            stored, several = a.ids[a.starts[row] : a.stops[row]], (groups[row], groups[row + 1])
            count_long_row(stored, b, several, row if together else -1, odd, table, shared)
    return shared
