"""Fast selection of the few words of a text that numbers and dates can consist of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ids, Ints
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.numbers import WordValues
from fastmetrics.kernels.jit import kernel, leaf

OTHER, FOLLOWS, BEGINS = 0, 1, 2
"""Role of a word: it can begin a value, only continue a value, or neither."""


UNEQUAL, FULL = -1, -2

_U1 = np.uint64(1)


class Strings(NamedTuple):
    """The bytes of texts, and the ids of their words."""

    data: Bytes
    starts: Ints
    stops: Ints
    ids: Ids
    first: Ints


class WordSenses(NamedTuple):
    """The role of each word of the vocabulary, and its meaning as part of a value; see ``numbers.WordValues``."""

    worth: Bytes
    kinds: Bytes
    amounts: Floats


class Picked(NamedTuple):
    """The selected words: their marks, meanings, and positions among all words of all texts."""

    marks: Marks
    values: WordValues
    places: Ints


@kernel
def pick(strings: Strings, counts: Ints, classes: Bytes, senses: WordSenses, picked: Picked) -> int:
    """Select the words that begin a value, its continuations, and the next word; return how many.

    Returns ``UNEQUAL`` if a text has fewer or more words than ``counts`` says, ``FULL`` if ``picked`` has too little
    room.
    """
    starts, stops, bounds = strings.starts, strings.stops, picked.marks.bounds
    size = m.longest(starts, stops)
    edges = np.empty(size + m.ROOM, np.int64)
    n, total = 0, 0
    for row in range(len(starts)):
        if m.find_words(strings.data, starts[row], stops[row], classes, edges) != counts[row]:
            return UNEQUAL
        if n + counts[row] > len(picked.places):
            return FULL
        n = pick_of_text(strings, row, counts[row], total, edges, classes, senses, picked, n)
        total += counts[row]
        bounds[row + 1] = n
    return n


@leaf
def pick_of_text(
    strings: Strings,
    row: int,
    n_words: int,
    total: int,
    edges: Ints,
    classes: Bytes,
    senses: WordSenses,
    picked: Picked,
    n: int,
) -> int:
    """Add the selected words of one text to the ``n`` in ``picked``; return their number.

    The text has ``n_words`` words, whose ``edges`` are in bytes, and ``total`` come before it; ``classes`` are those of
    all characters.
    """
    data, begin, stop = strings.data, strings.starts[row], strings.stops[row]
    w_starts, w_stops, before, after, digit, _ = picked.marks
    first, at, live = np.uint64(strings.first[row]), np.uint64(n), False
    for w in range(np.uint64(n_words)):
        word = np.uint32(strings.ids[first + w])
        if not live and senses.worth[word] != BEGINS:
            continue
        edge = w << _U1
        w_starts[at], w_stops[at] = begin + edges[edge], begin + edges[edge + _U1]
        digit[at] = 48 <= data[np.uint64(w_starts[at])] <= 57
        before[at] = after[at - _U1] if live else m.gap_before(data, classes, edges, np.int64(w), begin)
        if w + _U1 < np.uint64(n_words):
            after[at] = m.gap_before(data, classes, edges, np.int64(w + _U1), begin)
        else:
            after[at] = m.gap_at_end(data, classes, w_stops[at], stop)
        picked.values.kinds[at], picked.values.amounts[at] = senses.kinds[word], senses.amounts[word]
        picked.places[at] = total + np.int64(w)
        live = senses.worth[word] != OTHER
        at += _U1
    return np.int64(at)
