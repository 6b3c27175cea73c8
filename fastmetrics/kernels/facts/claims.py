"""Extraction of claims from answers: subject, verb and object as word positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.core.arrays import Bytes, Flags, Ints
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.numbers import is_mark
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.text.folding import decode

# Flags of the roles of a word in a sentence.
STOP, VERB, HEDGE, PERSON, ABBREVIATION, VALUE, ANAPHOR, CAPITAL = (1 << k for k in range(8))
"""Roles of words.  STOP: stop word; PERSON: first or second person; VALUE: an anchor by itself, without a second end;
ANAPHOR: refers to the previous subject; CAPITAL: begins a name."""


class Claims(NamedTuple):
    """Claims: the word ``targets[i]`` must occur near one of the words ``lows[i]:highs[i]``, the other end.

    Without another end, or if the other end is ``vague`` and in no context, the word only has to occur.
    """

    lows: Ints
    highs: Ints
    targets: Ints
    vague: Flags
    bounds: Ints


@inline
def is_name(role: int) -> bool:
    """Whether the word can be part of a subject or object."""
    return role & (STOP | HEDGE) == 0 or role & PERSON != 0


@leaf
def any_name(roles: Bytes, first: int, last: int) -> bool:
    """Whether any of the words is a name."""
    found = False
    for k in range(first, last):
        found |= is_name(roles[k])
    return found


@leaf
def any_object(roles: Bytes, first: int, last: int) -> bool:
    """Whether any of the words is a name but not a VALUE."""
    found = False
    for k in range(first, last):
        found |= is_name(roles[k]) and not roles[k] & VALUE
    return found


@leaf
def has(roles: Bytes, first: int, last: int, role: int) -> bool:
    """Whether any of the words has the role."""
    found = False
    for k in range(first, last):
        found |= roles[k] & role != 0
    return found


@kernel
def refine(data: Bytes, marks: Marks, is_upper: Flags, roles: Bytes) -> None:
    """Refine the roles by position: citations and the numbers of list items are stop words."""
    starts = marks.starts
    for k in range(len(starts)):
        byte = np.int64(data[starts[k]])
        upper = 65 <= byte <= 90 if byte < 128 else is_upper[decode(data, starts[k])[0]]
        if upper:
            roles[k] |= CAPITAL
        elif marks.digit[k] and is_mark(marks, k):
            roles[k] |= STOP


@leaf
def next_verb(roles: Bytes, k: int, end: int) -> int:
    """The first verb at or after word ``k``, or ``end`` if there is none."""
    while k < end and not roles[k] & VERB:
        k += 1
    return k


@leaf
def group_end(marks: Marks, roles: Bytes, first: int, end: int) -> int:
    """The word after a group of verbs, which may be separated by at most two stop words."""
    last = first + 1
    while True:
        following = next_verb(roles, last, end)
        if following == end or following - last > 2 or marks.before[following] & m.PARTED:
            return last
        for k in range(last, following):
            if roles[k] & (STOP | HEDGE | PERSON) != STOP or marks.before[k] & m.PARTED:
                return last
        last = following + 1


@leaf
def put(claims: Claims, n: int, end: Ints, first: int, last: int, roles: Bytes) -> int:
    """Add a claim for every name from ``first`` to ``last`` with the other end ``end``; return the number of claims."""
    lows, highs, targets, vague, _ = claims
    for k in range(first, last):
        if is_name(roles[k]) and not roles[k] & VALUE:
            lows[n], highs[n], targets[n], vague[n] = end[0], end[1], k, end[2]
            n += 1
    return n


@leaf
def put_verb(claims: Claims, n: int, end: Ints, first: int, last: int, roles: Bytes) -> int:
    """Add a claim for the last verb in ``first:last`` that is not a stop word, if any; return the number of claims."""
    for k in range(last - 1, first - 1, -1):
        if roles[k] & (VERB | STOP | VALUE) == VERB:
            return put(claims, n, end, k, k + 1, roles)
    return n


@leaf
def find_subject(marks: Marks, roles: Bytes, first: int, last: int, begin: int, subject: Ints) -> None:
    """Write the subject of the last clause in ``first:last``, if the clause names one."""
    clause = first
    for k in range(first + 1, last):
        if marks.before[k] & m.PARTED:
            clause = k
    if any_name(roles, clause, last):
        subject[0], subject[1], subject[2] = clause, last, 1
        for k in range(clause, last):
            if is_name(roles[k]) and roles[k] & (CAPITAL | PERSON) == CAPITAL and k != begin:
                subject[2] = 0


@leaf
def claims_of_sentence(
    marks: Marks, roles: Bytes, begin: int, stop: int, claims: Claims, n: int, ends: tuple[Ints, Ints]
) -> int:
    """Add the claims of one sentence; return the number of claims.

    ``ends`` holds the subject (an anaphor refers to the previous sentence's) and the object, in the form ``put`` takes.
    """
    subject, done = ends
    first, before = next_verb(roles, begin, stop), begin
    if first == stop:
        done[0], done[1] = begin, begin
        return n if has(roles, begin, stop, HEDGE) else put(claims, n, done, begin, stop, roles)
    if not has(roles, begin, first, ANAPHOR):
        subject[0], subject[1], subject[2] = begin, begin, 1
    while first < stop:
        last = group_end(marks, roles, first, stop)
        following = next_verb(roles, last, stop)
        if not has(roles, before, last, HEDGE):
            find_subject(marks, roles, before, first, begin, subject)
            bare = not any_name(roles, last, following)
            if before == begin and (bare or any_object(roles, last, following)):
                done[0], done[1] = (first, last) if bare else (last, following)
                if bare and not any_name(roles, first, last):
                    done[0], done[1] = begin, begin
                n = put(claims, n, done, begin, first, roles)
            n = put_verb(claims, n, subject, first, last, roles) if bare else n
            n = put(claims, n, subject, last, following, roles)
        before, first = last, following
    return n


@kernel
def find_claims(marks: Marks, roles: Bytes, claims: Claims) -> int:
    """Find the claims of every text by sentence, except in questions; return how many there are."""
    starts, stops, _, after, _, text_bounds = marks
    n = claims.bounds[0]
    subject, done = np.zeros(3, np.int64), np.zeros(3, np.int64)
    for row in range(len(text_bounds) - 1):
        begin = text_bounds[row]
        subject[0] = subject[1] = begin
        for k in range(begin, text_bounds[row + 1]):
            gap = after[k]
            ended = gap & (m.ENDED | m.NEW_LINE)
            if gap & m.DOTTED and gap & m.KIND != m.DOT:
                ended |= stops[k] - starts[k] > 1 and not roles[k] & ABBREVIATION
            if ended:
                if not gap & m.ASKED:
                    n = claims_of_sentence(marks, roles, begin, k + 1, claims, n, (subject, done))
                begin = k + 1
        claims.bounds[row + 1] = n
    return n


@kernel
def endings(data: Bytes, starts: Ints, stops: Ints, suffixes: Ints, stems: Ints) -> Flags:
    """Write the end of each word's stem to ``stems``, and whether the word ends in "ed" like a past-tense verb.

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


@leaf
def is_past(data: Bytes, begin: int, end: int) -> bool:
    """Whether more than four ASCII characters end in "ed"."""
    if end - begin < 5 or data[end - 2] != 101 or data[end - 1] != 100:
        return False
    ascii = True
    for k in range(begin, end):
        ascii &= data[k] < 128
    return ascii


@leaf
def stem_latin(data: Bytes, begin: int, end: int, suffixes: Ints) -> int:
    """The end of the stem of a lower-case Latin word: one suffix and a doubled last letter are removed."""
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


@leaf
def stem_cyrillic(data: Bytes, begin: int, end: int) -> int:
    """The end of the stem of a Russian word of more than four letters: up to three letters of endings are removed."""
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
