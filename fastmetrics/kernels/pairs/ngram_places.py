"""The places of n-grams in pairs of lists of ids, and the numbers of the n-grams at them.

Where an n-gram begins that both lists have, both have an (n - 1)-gram, and another one a place later.  So each order
looks only at the places that are left from the order before.

``limit``, ``shared`` and the rows of ``counters`` have one entry per n-gram of the list of a (see ``LIMIT`` and the
following); ``place`` has one per word of the vocabulary; ``grams`` are the n-grams at the places that are left.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastmetrics.base.arrays import Ids, Ints
from fastmetrics.kernels.jit import inline, leaf

_MIX = np.uint64(0x9E3779B97F4A7C15)
_U64 = np.uint64(64)

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
    """A row per shorter n-gram of ``width`` slots, or 2 ** ``bits`` slots; numbers up to ``base`` are out of date."""

    width: int
    bits: int
    base: int


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
        code = place[np.uint32(ids[i])]
        new = code <= base
        used += new
        code = base + used if new else code
        place[np.uint32(ids[i])] = code
        k = i - first
        a.words[k] = a.grams[k] = code - base
        a.at[k] = k
        limit[np.uint32(code - base)] += 1
    a.words[np.uint64(stop - start)] = used + 1
    return used


@leaf
def look_up(b: Lists, groups: tuple[int, int], place: Ids, base: int, out: Places, ends: Ints, shared: Ids) -> None:
    """Write the numbers of the words of some lists, and the places of those that a has."""
    i = k = np.uint64(0)
    for text in range(groups[0], groups[1]):
        for word in b.ids[b.starts[text] : b.stops[text]]:
            code = max(place[np.uint32(word)] - base, 0)
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
    key = np.int64(gram) * np.int64(shape.width) + np.int64(word)
    h = np.uint64(key)
    if shape.bits:
        h = (h * _MIX) >> (_U64 - np.uint64(shape.bits))
        while table.slots[h] > shape.base and table.keys[h] != key:
            h = (h + np.uint64(1)) & ((np.uint64(1) << np.uint64(shape.bits)) - np.uint64(1))
    return h


@leaf
def lengthen(a: Places, n: int, order: int, shape: Shape, table: Table, limit: Ids) -> int:
    """Replace the shorter n-grams at n places by the longer ones, and count each; return how many are different."""
    if shape.bits == 0:  # compiled separately, without hashing
        return renumber(a, n, order, Shape(shape.width, 0, shape.base), table, limit)
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
    a.at[np.uint64(n)] = -1
    j = np.uint64(0)
    for k in range(np.uint64(n)):
        at, gram = a.at[k], a.grams[k]
        after = k + np.uint64(1)
        follows = np.uint64(a.at[after] == at + 1) & np.uint64(shared[np.uint32(a.grams[after])] > 0)
        a.at[j], a.grams[j] = at, gram
        j += follows & np.uint64(shared[np.uint32(gram)] > 0)
    return np.int64(j)
