"""Where the stems that a row looks up occur in its contexts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Ids, Ints, Uint32s
from fastmetrics.kernels.facts.support import Passages
from fastmetrics.kernels.jit import inline, kernel, leaf


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
            n += np.uint64(lookups.rows[stem] == row)
        place += np.int64(stop - start) + window
    for hit in range(n):
        lookups.ends[lookups.hits[hit]] += 1
    return np.int64(n)


@leaf
def by_stem(lookups: Lookups, n_listed: int, n: int) -> None:
    """Sort the collected occurrences by stem."""
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
