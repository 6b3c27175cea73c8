"""Fast selection of the few words of a text that numbers and dates can consist of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.located_words import Marks
from fastmetrics.kernels.numbers import NOTHING, W_HARD, W_OF, WordValues

NEITHER, FOLLOWS, BEGINS = 0, 1, 2
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
    """The role of each word of the vocabulary, and its meaning as part of a value; see ``numbers.WordValues``.

    ``known`` is ``UNASKED`` for a word that was not yet looked up in the names of all languages; ``ask`` makes it
    ``ASKED`` if the word stands beside a number.  An ``ENGLISH`` word tells what a ``LONG_SCALE`` is: "billion".
    """

    worth: Bytes
    kinds: Bytes
    amounts: Floats
    known: Bytes


UNASKED, KNOWN, ASKED, ENGLISH, LONG_SCALE = range(5)


class Picked(NamedTuple):
    """The selected words: their marks, meanings, and positions among all words of all texts; and which texts are to be
    written in plain spelling first."""

    marks: Marks
    values: WordValues
    places: Ints
    hard: Flags


@kernel
def ask(ids: Ids, first: Ints, counts: Ints, senses: WordSenses) -> bool:
    """Mark the words beside numbers as ``ASKED``, but for those that were looked up; return whether there are any.

    The words of text i are the ``counts[i]`` ids from ``ids[first[i]]`` on.
    """
    worth, kinds, known = senses.worth, senses.kinds, senses.known
    found = False
    for row in range(len(counts)):
        begin, live = np.uint64(first[row]), False
        for k in range(begin, begin + np.uint64(counts[row])):
            word = np.uint32(ids[k])
            if not live and worth[word] != BEGINS:
                continue
            near = k
            if worth[word] == BEGINS and kinds[word] in (NOTHING, W_HARD) and k > begin:  # a word of digits
                near = k - _U1
                if kinds[np.uint32(ids[near])] == W_OF and near > begin:  # "Februar de 2020"
                    near -= _U1
            while near <= k:
                beside = np.uint32(ids[near])
                if known[beside] == UNASKED:
                    known[beside], found = ASKED, True
                near += _U1
            live = worth[word] != NEITHER
    return found


@kernel
def pick(strings: Strings, counts: Ints, classes: Bytes, senses: WordSenses, picked: Picked) -> int:
    """Select the words that begin a value, its continuations, and the next word; return how many.

    Returns ``UNEQUAL`` if a text has fewer or more words than ``counts`` says, ``FULL`` if ``picked`` has too little
    room.
    """
    starts, stops, bounds = strings.starts, strings.stops, picked.marks.bounds
    size = m.longest(starts, stops)
    edges = np.empty(size + m.PADDING, np.int64)
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
    first, at, live, hard, long = np.uint64(strings.first[row]), np.uint64(n), False, False, False
    for w in range(np.uint64(n_words)):
        word = np.uint32(strings.ids[first + w])
        if not live and senses.worth[word] != BEGINS:  # ``live``: the word before is picked and may go on here
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
        long |= senses.known[word] == LONG_SCALE
        # A word of hours changes only digits: no "time" in "the first time".
        hard |= senses.kinds[word] == W_HARD and (senses.worth[word] == BEGINS or (live and digit[at - _U1]))
        if digit[at]:
            hard |= (before[at] | after[at]) & m.HARD != 0
            if w > 0:
                gap = begin + edges[edge - _U1]
                hard |= joins(data, begin + edges[edge - _U1 - _U1], gap, gap, w_starts[at])
            elif w_starts[at] > begin:  # (1, 2)
                hard |= (
                    data[np.uint64(w_starts[at]) - _U1] in (40, 91, 123)
                    and w_stops[at] < stop
                    and data[w_stops[at]] == 44
                )
            if w_stops[at] + 1 < stop:
                sign, short = data[w_stops[at]], w_stops[at] - w_starts[at] < 3
                hard |= (sign == 33 and short) or (sign == 123 and data[w_stops[at] + 1] == 44)  # 5! and 1{,}000
                hard |= n_words < _FEW and is_multiplied(data, w_stops[at], stop)
            elif w_stops[at] < stop:
                hard |= data[w_stops[at]] == 33
            if w + _U1 < np.uint64(n_words):
                following = begin + edges[edge + _U1 + _U1]
                ends = begin + edges[edge + _U1 + _U1 + _U1] if w + _U1 + _U1 < np.uint64(n_words) else stop
                hard |= joins(data, following, ends, w_stops[at], following)
        live = senses.worth[word] != NEITHER
        at += _U1
    picked.hard[row] = hard or (long and not is_english(strings, row, n_words, edges, senses))
    return np.int64(at)


@leaf
def is_english(strings: Strings, row: int, n_words: int, edges: Ints, senses: WordSenses) -> bool:
    """Whether a text of ``n_words`` words has an English one, or none but numbers and "billion"."""
    first, begin, others = strings.first[row], strings.starts[row], False
    for w in range(n_words):
        known = senses.known[np.uint32(strings.ids[first + w])]
        if known == ENGLISH:
            return True
        letters = strings.data[begin + edges[2 * w]] >= 65 and edges[2 * w + 1] - edges[2 * w] > 1
        others |= known != LONG_SCALE and letters
    return not others


_FEW = 8
"""Words of a text that can be nothing but a product: 15×15 among others is a size."""


@inline
def is_multiplied(data: Bytes, i: int, stop: int) -> bool:
    """Whether the sign of a product and a number follow one that ends at byte ``i``: 5 * 3."""
    if data[i] == 32 and i + 1 < stop:
        i += 1
    size = 1 if data[i] == 42 else 2 if data[i] in (0xC2, 0xC3) and i + 1 < stop and data[i + 1] in (0x97, 0xB7) else 0
    if size == 0:
        return False
    i += size
    if i < stop and data[i] == 32:
        i += 1
    return i < stop and 48 <= data[i] <= 57


_ASIAN = 0xE0
"""The first byte of letters of scripts that join numbers and words, or whose letters are no word characters."""


@inline
def joins(data: Bytes, start: int, stop: int, gap: int, end: int) -> bool:
    """Whether the word ``data[start:stop]`` is a variable beside an operator, or of an Asian script.

    ``data[gap:end]`` is what stands between the word and a number.
    """
    if data[start] >= _ASIAN or (start > 0 and data[start - 1] == 92):  # a command such as \log_2
        return True
    variable = False
    if stop - start == 1 and data[start] >= 65:
        if end - gap == 1 and data[gap] in (45, 47):  # F-22 and 5/a are names, n-1 is none
            return data[start] == 110 or 120 <= data[start] <= 122
        for i in range(gap, end):
            variable |= data[i] in (42, 43, 45, 47, 61)  # * + - / =
    return variable
