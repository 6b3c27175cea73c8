"""Comparison of claims with contexts: whether subject and object occur in one stretch of a context.

Only the stretches around the rarest words of a claim are searched, since each stretch that supports the claim holds at
least one of them: of n words that need m, the n - m + 1 rarest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Flags, Ids, Ints, Uint32s
from fastmetrics.kernels.facts.claims import Claims
from fastmetrics.kernels.facts.equal_claims import Checked, equal_before, make_checked
from fastmetrics.kernels.facts.stem_places import (
    Lookups,
    by_stem,
    gather,
    look_up,
    make_lookups,
    occurrences,
    occurs_between,
)
from fastmetrics.kernels.facts.support import Passages
from fastmetrics.kernels.jit import inline, kernel, leaf

MANY = 64
"""Number of words up to which the rarest words of an end are selected; of longer ends all are searched."""

N, NEEDED, N_RAREST, TOTAL, STAMP = range(5)
"""Sizes of an end: its distinct stems; how many of them must occur in one stretch; how many are the rarest, which come
first, and how often these occur; the stamp of its stems."""


_U1 = np.uint64(1)


class End(NamedTuple):
    """A subject or an object: its distinct ``stems``; ``stamps[s]`` is the current stamp if stem s is one of them."""

    stems: Uint32s
    stamps: Ids
    sizes: Ints


class Stretch(NamedTuple):
    """A stretch of hits: how often each stem occurs in it, and its number of distinct stems of subject and object."""

    counts: Ids
    n: Ints


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
def read_end(stems: Uint32s, low: int, high: int, three_quarters: bool, lookups: Lookups, end: End) -> int:
    """Make the stems ``low:high`` the words of the end; return how many of them occur.

    Three quarters of them must occur in one stretch, or with ``three_quarters`` false only one.
    """
    n, occurring = 0, 0
    stamp = end.sizes[STAMP] + 1
    for k in range(np.uint64(low), np.uint64(high)):
        stem = stems[k]
        if end.stamps[stem] != stamp:
            end.stamps[stem], end.stems[np.uint64(n)] = stamp, stem
            occurring += occurrences(lookups, stem) > 0
            n += 1
    end.sizes[STAMP] = stamp
    needed = n - n // 4 if three_quarters else min(n, 1)
    end.sizes[N], end.sizes[NEEDED] = n, needed
    if occurring >= needed:
        select_rarest(lookups, end)
    return occurring


@leaf
def select_rarest(lookups: Lookups, end: End) -> None:
    """Move the rarest stems to the front: as many as a stretch cannot do without."""
    n, needed, stems = np.uint64(end.sizes[N]), np.uint64(end.sizes[NEEDED]), end.stems
    n_rarest = np.uint64(0) if needed == 0 else n if n > MANY else n - needed + np.uint64(1)
    total = 0
    for i in range(n_rarest):
        if n_rarest < n:
            rarest = i
            for j in range(i + np.uint64(1), n):
                if occurrences(lookups, stems[j]) < occurrences(lookups, stems[rarest]):
                    rarest = j
            stems[i], stems[rarest] = stems[rarest], stems[i]
        total += occurrences(lookups, stems[i])
    end.sizes[N_RAREST], end.sizes[TOTAL] = np.int64(n_rarest), total


@inline
def count(hit: np.uint64, step: int, lookups: Lookups, subject: End, target: End, stretch: Stretch) -> None:
    """Add a hit to the stretch, or remove it if ``step`` is -1."""
    stem = lookups.hits[hit]
    in_subject = subject.stamps[stem] == subject.sizes[STAMP]
    in_target = target.stamps[stem] == target.sizes[STAMP]
    if in_subject or in_target:
        stretch.counts[stem] += step
        if stretch.counts[stem] == (step + 1) // 2:
            stretch.n[0] += step * in_subject
            stretch.n[1] += step * in_target


@leaf
def empty(lookups: Lookups, low: np.uint64, high: np.uint64, stretch: Stretch) -> None:
    """Remove the hits ``low:high``, which are all, from the stretch."""
    for hit in range(low, high):
        stretch.counts[lookups.hits[hit]] = 0
    stretch.n[0] = stretch.n[1] = 0


@leaf
def enough_around(lookups: Lookups, place: int, window: int, end: End, needed: int) -> bool:
    """Whether ``needed`` stems of the end occur at most ``window`` words from a position."""
    n = 0
    for s in range(end.sizes[N]):
        if n >= needed:
            break
        n += occurs_between(lookups, end.stems[s], place - window, place + window)
    return n >= needed


@leaf
def occur_together(
    lookups: Lookups, sizes: tuple[int, int, int], heavy: bool, ends: tuple[End, End, End], stretch: Stretch
) -> bool:
    """Whether enough words of subject and object occur in a stretch around one of the rarest words of the third end.

    ``sizes`` are the number of hits, the window, and how many words of the subject are enough.  ``heavy``: the row has
    so many hits that each of the rarest words is first looked at by itself.
    """
    n, window, needed = np.uint64(sizes[0]), sizes[1], sizes[2]
    subject, target, seeds = ends
    places = lookups.places
    enough = needed == 0 and target.sizes[NEEDED] == 1  # its only word occurs
    for s in range(np.uint64(0 if enough else seeds.sizes[N_RAREST])):
        low = high = np.uint64(0)
        stem = seeds.stems[s]
        for at in range(np.uint64(lookups.begins[stem]), np.uint64(lookups.ends[stem])):
            seed = np.uint64(lookups.order[at])
            place = places[seed]
            if heavy and not (
                enough_around(lookups, place, window, target, target.sizes[NEEDED])
                and enough_around(lookups, place, window, subject, needed)
            ):
                continue
            if high <= seed and (low == high or places[high - _U1] < place - window):
                empty(lookups, low, high, stretch)
                low = seed
                while low > 0 and places[low - _U1] >= place - window:
                    low -= _U1
                high = low
            while high < n and places[high] <= place + window and not enough:
                count(high, 1, lookups, subject, target, stretch)
                high += _U1
                while places[low] < places[high - _U1] - window:
                    count(low, -1, lookups, subject, target, stretch)
                    low += _U1
                enough = stretch.n[0] >= needed and stretch.n[1] >= target.sizes[NEEDED]
            if enough:
                break
        empty(lookups, low, high, stretch)
        if enough:
            break
    return enough


@kernel
def make_ends(n_stems: int) -> tuple[End, End, Stretch]:
    """Allocate arrays large enough for any claim."""
    stamps, stems, counts = (
        np.full((2, n_stems), -1, np.int32),
        np.empty((2, n_stems), np.uint32),
        np.zeros(n_stems, np.int32),
    )
    return (
        End(stems[0], stamps[0], np.zeros(5, np.int64)),
        End(stems[1], stamps[1], np.zeros(5, np.int64)),
        Stretch(counts, np.zeros(2, np.int64)),
    )


@kernel
def claims_hold(
    claims: Claims,
    three_quarters: bool,
    ids: Ids,
    contexts: Passages,
    stem_of: Uint32s,
    n_stems: int,
    window: int,
    many: int,
) -> Flags:
    """Whether subject and object of each claim occur in one context, their words no more than ``window`` words apart.

    ``ids`` are the words of the answers, ``stem_of`` holds the stem of every word of the vocabulary.  Three quarters
    of the words of both ends have to occur, or with ``three_quarters`` false one word of the subject.  From ``many``
    claims × hits on, equal claims of a row are compared once.
    """
    supported = np.zeros(claims.bounds[-1], np.bool_)
    stems = np.empty(len(claims.words), np.uint32)
    for k in range(len(stems)):
        stems[k] = stem_of[np.uint32(ids[np.uint64(claims.words[k])])]
    lookups = make_lookups(contexts, n_stems)
    subject, target, stretch = make_ends(n_stems)
    checked = make_checked(claims)
    for row in range(len(claims.bounds) - 1):
        if claims.bounds[row] < claims.bounds[row + 1]:
            n_listed = look_up_all(claims, stems, row, lookups)
            n = gather(contexts, row, stem_of, window, lookups)
            by_stem(lookups, n_listed, n)
            compare_row(
                claims,
                three_quarters,
                stems,
                row,
                (n, window, many),
                lookups,
                subject,
                target,
                stretch,
                checked,
                supported,
            )
    return supported


@leaf
def compare_row(
    claims: Claims,
    three_quarters: bool,
    stems: Uint32s,
    row: int,
    sizes: tuple[int, int, int],
    lookups: Lookups,
    subject: End,
    target: End,
    stretch: Stretch,
    checked: Checked,
    supported: Flags,
) -> None:
    """Write whether each claim of the row is ``supported`` by its contexts.

    ``stems`` are those of ``claims.words``, and ``sizes`` are the number of stems that the contexts have, the window
    and how many comparisons are many; the other parameters are as for ``claims_hold``.  Here, in a leaf, tuples of
    arrays cost nothing.
    """
    n, window, many = sizes
    begin, end = claims.bounds[row], claims.bounds[row + 1]
    heavy = (end - begin) * n > many
    occurring = 0
    for c in range(begin, end):
        if c == begin or is_other(claims, c):
            occurring = read_end(stems, claims.subjects[c], claims.subject_ends[c], three_quarters, lookups, subject)
        alone = claims.vague[c] and occurring == 0
        needed = 0 if alone else subject.sizes[NEEDED]
        if occurring < needed:
            continue
        if heavy:
            equal = equal_before(claims, stems, row, c, checked)
            if equal < c:
                supported[c] = supported[equal]
                continue
        if read_end(stems, claims.objects[c], claims.object_ends[c], True, lookups, target) < target.sizes[NEEDED]:
            continue
        seeds = subject if needed > 0 and subject.sizes[TOTAL] < target.sizes[TOTAL] else target
        supported[c] = occur_together(lookups, (n, window, needed), heavy, (subject, target, seeds), stretch)
