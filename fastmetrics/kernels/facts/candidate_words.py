"""Fast selection of the few words of a text that numbers and dates can consist of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Ids, Ints
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.jit import kernel

OTHER, FOLLOWS, BEGINS = 0, 1, 2
"""Role of a word: it can begin a value, only continue a value, or neither."""


class Strings(NamedTuple):
    """The bytes of texts, and the ids of their words."""

    data: Bytes
    starts: Ints
    stops: Ints
    ids: Ids
    first: Ints


class Picked(NamedTuple):
    """The selected words: their marks, ids, and positions among all words of all texts."""

    marks: Marks
    ids: Ids
    places: Ints


@kernel
def pick(strings: Strings, counts: Ints, classes: Bytes, worth: Bytes, picked: Picked) -> int:
    """Select the words that begin a value, its continuations, and the next word; return how many.

    ``worth`` holds the role of each id.  Returns -1 if a text has fewer or more words than ``counts`` says.
    """
    data, starts, stops, ids, first = strings
    w_starts, w_stops, before, after, digit, bounds = picked.marks
    size = m.longest(starts, stops)
    edges = np.empty(size + m.ROOM, np.int64)
    n, total = 0, 0
    for row in range(len(starts)):
        begin, stop, n_words = starts[row], stops[row], counts[row]
        if m.find_words(data, begin, stop, classes, edges) != n_words:
            return -1
        live = False
        for w in range(n_words):
            word = ids[np.uint64(first[row] + w)]
            if not live and worth[np.uint32(word)] != BEGINS:
                continue
            live = worth[word] != OTHER
            w_starts[n], w_stops[n] = begin + edges[2 * w], begin + edges[2 * w + 1]
            digit[n] = 48 <= data[w_starts[n]] <= 57
            before[n] = m.gap_before(data, classes, edges, w, begin)
            if w + 1 < n_words:
                after[n] = m.gap_before(data, classes, edges, w + 1, begin)
            else:
                after[n] = m.gap_at_end(data, classes, w_stops[n], stop)
            picked.ids[n], picked.places[n] = word, total + w
            n += 1
        total += n_words
        bounds[row + 1] = n
    return n
