"""Comparison of claims with contexts: whether both ends of a claim occur near each other.

A context is divided into stretches of the maximum distance between two words, so only adjacent stretches are searched,
and each claim visits the positions of its own words only.  A stem that occurs at least once in 64 positions is visited
once per row instead of once per claim: a row takes at most claims × positions / 64 steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Flags, Ids, Uint64s
from fastmetrics.kernels.facts.claims import Claims
from fastmetrics.kernels.facts.support import Passages
from fastmetrics.kernels.jit import kernel, leaf

_U0, _U1 = np.uint64(0), np.uint64(1)


class Asked(NamedTuple):
    """The stems that a row looks up.  ``rows[s]`` is the last row that used stem s; ``listed`` are this row's stems.

    The occurrences of stem s are ``begins[s]:ends[s]`` of ``stretches`` and ``places``.  A frequent stem has its own
    bit ``often[s]``; ``meets[s]`` are the bits of the frequent stems near s.  ``marked[s]`` is the last stamp of s.
    """

    rows: Ids
    listed: Ids
    begins: Ids
    ends: Ids
    stretches: Ids
    places: Ids
    often: Uint64s
    meets: Uint64s
    marked: Ids


class Marks(NamedTuple):
    """Stretches that hold a word of the current end: the stamp, and the first and last position of such a word."""

    stamps: Ids
    firsts: Ids
    lasts: Ids


@kernel
def make_room(contexts: Passages, n_stems: int, width: int) -> tuple[Asked, Marks, Ids]:
    """Allocate arrays large enough for any row and for the occurrences in its contexts."""
    _, starts, stops, groups = contexts
    most = most_stretches = 0
    for row in range(len(groups) - 1):
        words, stretches = 0, 2
        for text in range(groups[row], groups[row + 1]):
            words += stops[text] - starts[text]
            stretches += (stops[text] - starts[text]) // width + 2
        most, most_stretches = max(most, words), max(most_stretches, stretches)
    own, bits, places = (
        np.full((5, n_stems), -1, np.int32),
        np.empty((2, n_stems), np.uint64),
        np.empty((5, most), np.int32),
    )
    marks = np.full((3, most_stretches), -1, np.int32)
    asked = Asked(own[0], own[1], own[2], own[3], places[0], places[1], bits[0], bits[1], own[4])
    return asked, Marks(marks[0], marks[1], marks[2]), places[2:]


@leaf
def ask(stem: int, row: int, asked: Asked, n: int) -> int:
    """Add a stem to the stems that the row looks up; return their number."""
    if asked.rows[stem] != row:
        asked.rows[stem], asked.listed[n], asked.ends[stem] = row, stem, 0
        asked.often[stem] = asked.meets[stem] = _U0
        n += 1
    return n


@leaf
def ask_all(claims: Claims, stems: Ids, names: Flags, row: int, asked: Asked) -> int:
    """Add the stems of all claims of a row; return their number."""
    n, lows, highs = 0, claims.lows, claims.highs
    for c in range(claims.bounds[row], claims.bounds[row + 1]):
        n = ask(stems[claims.targets[c]], row, asked, n)
        if c == claims.bounds[row] or lows[c] != lows[c - 1] or highs[c] != highs[c - 1]:
            for k in range(lows[c], highs[c]):
                if names[k]:
                    n = ask(stems[k], row, asked, n)
    return n


@leaf
def gather(contexts: Passages, row: int, stem_of: Ids, width: int, asked: Asked, hits: Ids) -> int:
    """Collect the occurrences of the stems of ``row`` in its contexts, each with its stretch of ``width`` words and its
    position in the context; return how many.  Stretches of different contexts are never adjacent."""
    n, stretch = 0, 1
    for text in range(contexts.groups[row], contexts.groups[row + 1]):
        start, stop = contexts.starts[text], contexts.stops[text]
        for k in range(start, stop):
            stem = stem_of[contexts.ids[k]]
            if asked.rows[stem] == row:
                hits[0, n], hits[1, n], hits[2, n] = stem, stretch + (k - start) // width, k - start
                asked.ends[stem] += 1
                n += 1
        stretch += (stop - start) // width + 2
    return n


@leaf
def by_stem(asked: Asked, n_asked: int, hits: Ids, n: int) -> None:
    """Sort the collected occurrences by stem."""
    at = 0
    for i in range(n_asked):
        stem = asked.listed[i]
        size = asked.ends[stem]
        asked.begins[stem] = asked.ends[stem] = at
        at += size
    for h in range(n):
        at = asked.ends[hits[0, h]]
        asked.stretches[at], asked.places[at] = hits[1, h], hits[2, h]
        asked.ends[hits[0, h]] = at + 1


@leaf
def mark(asked: Asked, stem: int, marks: Marks, stamp: int) -> None:
    """Stamp the stretches that hold the stem."""
    for h in range(asked.begins[stem], asked.ends[stem]):
        stretch, place = asked.stretches[h], asked.places[h]
        new = marks.stamps[stretch] != stamp
        marks.stamps[stretch] = stamp
        marks.firsts[stretch] = place if new else min(marks.firsts[stretch], place)
        marks.lasts[stretch] = place if new else max(marks.lasts[stretch], place)


@leaf
def is_near(asked: Asked, stem: int, marks: Marks, stamp: int, width: int) -> bool:
    """Whether the stem occurs less than ``width`` words from a position of the current end."""
    for h in range(asked.begins[stem], asked.ends[stem]):
        stretch, place = asked.stretches[h], asked.places[h]
        if marks.stamps[stretch] == stamp:
            return True
        if marks.stamps[stretch - 1] == stamp and place - marks.lasts[stretch - 1] < width:
            return True
        if marks.stamps[stretch + 1] == stamp and marks.firsts[stretch + 1] - place < width:
            return True
    return False


@leaf
def mark_often(asked: Asked, n_asked: int, n: int, marks: Marks, stamp: int, width: int) -> int:
    """Give each stem with over ``n`` / 64 positions a bit, also in ``meets`` of near stems; return the last stamp."""
    bit = _U1
    for i in range(n_asked):
        stem = asked.listed[i]
        if 64 * (asked.ends[stem] - asked.begins[stem]) > n:
            stamp += 1
            mark(asked, stem, marks, stamp)
            asked.often[stem] = bit
            for j in range(n_asked):
                if is_near(asked, asked.listed[j], marks, stamp, width):
                    asked.meets[asked.listed[j]] |= bit
            bit <<= _U1
    return stamp


@leaf
def mark_end(
    stems: Ids, names: Flags, end: tuple[int, int], asked: Asked, marks: Marks, stamp: int
) -> tuple[bool, np.uint64, np.uint64]:
    """Stamp the stretches that hold an infrequent name of the words ``end``; return whether any context holds a name,
    the bits of the frequent names, and the bits of all stems near them."""
    some, often, meets = False, _U0, _U0
    for k in range(end[0], end[1]):
        stem = stems[k]
        if names[k] and asked.marked[stem] != stamp and asked.begins[stem] < asked.ends[stem]:
            asked.marked[stem] = stamp
            some, often, meets = True, often | asked.often[stem], meets | asked.meets[stem]
            if asked.often[stem] == _U0:
                mark(asked, stem, marks, stamp)
    return some, often, meets


@kernel
def claims_hold(
    claims: Claims, stems: Ids, names: Flags, contexts: Passages, stem_of: Ids, n_stems: int, window: int, many: int
) -> Flags:
    """Whether both ends of each claim occur within ``window`` words of each other in one context.

    ``stems`` are the stems of the answers' words, ``names`` marks the words that can be ends, ``stem_of`` holds the
    stem of every word of the vocabulary.  From ``many`` claims × positions on, frequent stems are processed first.
    """
    lows, highs, targets, vague, bounds = claims
    found = np.zeros(len(targets), np.bool_)
    width, stamp = window + 1, 0
    asked, marks, hits = make_room(contexts, n_stems, width)
    for row in range(len(bounds) - 1):
        c, end = bounds[row], bounds[row + 1]
        if c == end:
            continue
        n_asked = ask_all(claims, stems, names, row, asked)
        n = gather(contexts, row, stem_of, width, asked, hits)
        by_stem(asked, n_asked, hits, n)
        if (end - c) * n > many:
            stamp = mark_often(asked, n_asked, n, marks, stamp, width)
        while c < end:
            low, high, loose = lows[c], highs[c], vague[c]
            stamp += 1
            some, often, meets = mark_end(stems, names, (low, high), asked, marks, stamp)
            while c < end and lows[c] == low and highs[c] == high and vague[c] == loose:
                stem = stems[targets[c]]
                if not some:
                    found[c] = (low == high or loose) and asked.begins[stem] < asked.ends[stem]
                elif asked.often[stem] != _U0:
                    found[c] = asked.often[stem] & meets != _U0
                else:
                    found[c] = asked.meets[stem] & often != _U0 or is_near(asked, stem, marks, stamp, width)
                c += 1
    return found
