"""Claims found in answers: who is said to do what, as places of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.arrays import Bytes, Flags, Ints
from fastmetrics.kernels import marks as m
from fastmetrics.kernels._jit import inline, kernel
from fastmetrics.kernels.marks import Marks

# What a word may be in a sentence.
STOP, VERB, HEDGE, PERSON, ABBREVIATION, VALUE = (1 << k for k in range(6))
"""A STOP word names nothing; a PERSON speaks or is spoken to; a VALUE is an anchor by itself and no object."""


class Claims(NamedTuple):
    """Claims: the subject is among the words ``lows[i]:highs[i]``, the object is the word ``targets[i]``."""

    lows: Ints
    highs: Ints
    targets: Ints
    bounds: Ints


@inline
def is_content(role: int) -> bool:
    """Whether a word names something."""
    return role & (STOP | HEDGE) == 0


@kernel
def next_verb(roles: Bytes, k: int, end: int) -> int:
    """The first verb from word ``k`` on, ``end`` if there is none."""
    while k < end and not roles[k] & VERB:
        k += 1
    return k


@kernel
def group_end(marks: Marks, roles: Bytes, first: int, end: int) -> int:
    """The word after a group of verbs, between which at most two stop words may stand."""
    last = first + 1
    while True:
        following = next_verb(roles, last, end)
        if following == end or following - last > 2 or marks.before[following] & m.PARTED:
            return last
        for k in range(last, following):
            if roles[k] & (STOP | HEDGE | PERSON) != STOP or marks.before[k] & m.PARTED:
                return last
        last = following + 1


@kernel
def put(claims: Claims, n: int, low: int, high: int, first: int, last: int, roles: Bytes) -> int:
    """Add a claim for every content word from ``first`` to ``last``; the number of claims."""
    lows, highs, targets, _ = claims
    for k in range(first, last):
        if is_content(roles[k]) and not roles[k] & VALUE:
            lows[n], highs[n], targets[n] = low, high, k
            n += 1
    return n


@kernel
def put_verb(claims: Claims, n: int, low: int, high: int, first: int, last: int, roles: Bytes) -> int:
    """Add a claim for the last verb among ``first:last`` that is no stop word, if any; the number of claims."""
    for k in range(last - 1, first - 1, -1):
        if roles[k] & (VERB | STOP | VALUE) == VERB:
            claims.lows[n], claims.highs[n], claims.targets[n] = low, high, k
            return n + 1
    return n


@kernel
def claims_of_sentence(marks: Marks, roles: Bytes, begin: int, end: int, claims: Claims, n: int) -> int:
    """Add the claims of one sentence; the number of claims."""
    first, before, low, high = next_verb(roles, begin, end), begin, begin, begin
    if first == end:
        for k in range(begin, end):
            if roles[k] & HEDGE:
                return n
        return put(claims, n, begin, begin, begin, end, roles)
    while first < end:
        last = group_end(marks, roles, first, end)
        following = next_verb(roles, last, end)
        guess = False
        for k in range(before, last):
            guess |= roles[k] & HEDGE != 0
        if not guess:
            clause, named = before, False
            for k in range(before, first):
                if k > before and marks.before[k] & m.PARTED:
                    clause, named = k, False
                named |= is_content(roles[k]) or roles[k] & PERSON != 0
            if named:
                low, high = clause, first
            bare = True
            for k in range(last, following):
                bare &= not is_content(roles[k])
            n = put(claims, n, low, high, last, following, roles)
            if bare:
                n = put_verb(claims, n, low, high, first, last, roles)
        before, first = last, following
    return n


@kernel
def find_claims(marks: Marks, roles: Bytes, claims: Claims) -> int:
    """The claims of every text, sentence by sentence, those that ask left out; how many there are."""
    starts, stops, _, after, _, text_bounds = marks
    n = claims.bounds[0]
    for row in range(len(text_bounds) - 1):
        begin = text_bounds[row]
        for k in range(begin, text_bounds[row + 1]):
            gap = after[k]
            ended = gap & (m.ENDED | m.NEW_LINE)
            if gap & m.DOTTED and gap & m.KIND != m.DOT:
                ended |= stops[k] - starts[k] > 1 and not roles[k] & ABBREVIATION
            if ended:
                if not gap & m.ASKED:
                    n = claims_of_sentence(marks, roles, begin, k + 1, claims, n)
                begin = k + 1
        claims.bounds[row + 1] = n
    return n


@kernel
def endings(data: Bytes, starts: Ints, stops: Ints, suffixes: Ints, stems: Ints) -> Flags:
    """Where the stem of each word ends (into ``stems``), and whether the word ends in "ed" as a verb may.

    ``suffixes`` are the English ones as numbers in base 256, in the order they are tried.
    """
    past = np.zeros(len(starts), np.bool_)
    for word in range(len(starts)):
        begin, end = starts[word], stops[word]
        latin = True
        for k in range(begin, end):
            latin &= 97 <= data[k] <= 122
        past[word] = is_past(data, begin, end)
        stems[word] = stem_latin(data, begin, end, suffixes) if latin else stem_cyrillic(data, begin, end)
    return past


@kernel
def is_past(data: Bytes, begin: int, end: int) -> bool:
    """Whether more than four ASCII characters end in "ed"."""
    if end - begin < 5 or data[end - 2] != 101 or data[end - 1] != 100:
        return False
    ascii = True
    for k in range(begin, end):
        ascii &= data[k] < 128
    return ascii


@kernel
def stem_latin(data: Bytes, begin: int, end: int, suffixes: Ints) -> int:
    """The end of a word of small Latin letters without one suffix and without a doubled last letter."""
    if end - begin < 4:
        return end
    if not (data[end - 1] == 115 and data[end - 2] == 115):
        for suffix in suffixes:
            size = 1 + (suffix > 255) + (suffix > 65535)
            tail = 0
            for k in range(max(begin, end - size), end):
                tail = tail * 256 + np.int64(data[k])
            if tail == suffix and end - begin - size >= 3:
                end -= size
                break
    return end - 1 if end - begin > 3 and data[end - 1] == data[end - 2] else end


@kernel
def stem_cyrillic(data: Bytes, begin: int, end: int) -> int:
    """The end of a Russian word of more than four letters without up to three last ones that endings are made of."""
    if (end - begin) % 2:
        return end
    for k in range(begin, end, 2):
        code = (np.int64(data[k]) & 0x1F) << 6 | (np.int64(data[k + 1]) & 0x3F)
        if data[k] not in (0xD0, 0xD1) or not (0x430 <= code <= 0x44F or code == 0x451):
            return end
    for _ in range(3):
        code = (np.int64(data[end - 2]) & 0x1F) << 6 | (np.int64(data[end - 1]) & 0x3F)
        if end - begin <= 8 or not (code == 0x451 or (code >= 0x430 and _ENDING >> (code - 0x430) & 1)):
            break
        end -= 2
    return end


_ENDING = sum(1 << (ord(letter) - 0x430) for letter in "аеиоуыэюяйьмхв")
