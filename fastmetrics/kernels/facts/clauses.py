"""The clauses of answers that assert something: subject, verbs and object as ranges of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.numbers import is_mark
from fastmetrics.kernels.facts.values import WEAK, Values
from fastmetrics.kernels.jit import inline, kernel
from fastmetrics.kernels.text.folding import decode

# Flags of the roles of a word in a sentence.
STOP, VERB, HEDGE, PERSON, ABBREVIATION, VALUE, ANAPHOR, CAPITAL = (1 << k for k in range(8))
"""Roles of words.  STOP: stop word; PERSON: first or second person; VALUE: an anchor by itself, without a second end;
ANAPHOR: refers to the previous subject; CAPITAL: begins a name."""


class Clauses(NamedTuple):
    """Clauses that assert something, as ranges of words; text i has the clauses ``bounds[i]:bounds[i + 1]``, and the
    arrays have room for more.

    The subject is in ``subjects[i]:subject_ends[i]``, empty if there is none.  ``has_name``: the clause itself
    names it; ``vague``: it is no name.  ``leads[i]:firsts[i]`` are all words before the first verb of a sentence, empty
    for its later clauses.  ``firsts[i]:lasts[i]`` are the verbs, empty in a sentence without a verb.  The object is in
    ``lasts[i]:stops[i]``; ``cuts[i]`` is its end before the subject of the next clause.
    """

    subjects: Ints
    subject_ends: Ints
    has_name: Flags
    vague: Flags
    leads: Ints
    firsts: Ints
    lasts: Ints
    cuts: Ints
    stops: Ints
    bounds: Ints


@inline
def is_name(role: int) -> bool:
    """Whether the word can be part of a subject or object."""
    return role & (STOP | HEDGE) == 0 or role & PERSON != 0


@inline
def any_name(roles: Bytes, first: int, last: int) -> bool:
    """Whether any of the words is a name."""
    hit = False
    for k in range(first, last):
        hit |= is_name(roles[k])
    return hit


@inline
def any_object(roles: Bytes, first: int, last: int) -> bool:
    """Whether any of the words is a name but not a VALUE."""
    hit = False
    for k in range(first, last):
        hit |= is_name(roles[k]) and not roles[k] & VALUE
    return hit


@inline
def has(roles: Bytes, first: int, last: int, role: int) -> bool:
    """Whether any of the words has the role."""
    hit = False
    for k in range(first, last):
        hit |= roles[k] & role != 0
    return hit


@kernel
def roles_in_place(data: Bytes, marks: Marks, is_upper: Flags, ids: Ids, roles: Bytes) -> Bytes:
    """The role of each of ``marks``: that of its word, refined by position.

    Citations and the numbers of list items are stop words.  ``ids`` are the words, ``roles`` those of the vocabulary;
    ``is_upper`` has one entry per code point.
    """
    starts, refined = marks.starts, np.empty(len(marks.starts), np.uint8)
    for k in range(np.uint64(len(starts))):
        byte, role = np.int64(data[np.uint64(starts[k])]), roles[np.uint32(ids[k])]
        upper = 65 <= byte <= 90 if byte < 128 else is_upper[decode(data, starts[k])[0]]
        if upper:
            role |= CAPITAL
        elif marks.digit[k] and is_mark(marks, np.int64(k)):
            role |= STOP
        refined[k] = role
    return refined


@kernel
def mark_values(roles: Bytes, values: Values) -> Bytes:
    """A copy of the roles in which the words of the values that are anchors have the role VALUE."""
    marked = roles.copy()
    for v in range(len(values.kinds)):
        if values.kinds[v] != WEAK:
            for k in range(np.uint64(values.first[v]), np.uint64(values.last[v])):
                marked[k] |= VALUE
    return marked


@inline
def ends_sentence(gap: int, length: int, role: int) -> bool:
    """Whether a sentence ends in the gap after a word of ``length`` bytes and a role."""
    ended = gap & (m.ENDED | m.NEW_LINE) != 0
    if gap & m.DOTTED and gap & m.KIND != m.DOT:
        ended |= length > 1 and not role & ABBREVIATION
    return ended


@inline
def next_verb(roles: Bytes, k: int, end: int) -> int:
    """The first verb at or after word ``k``, or ``end`` if there is none."""
    while k < end and not roles[k] & VERB:
        k += 1
    return k


@inline
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


@inline
def subject_start(marks: Marks, first: int, last: int) -> int:
    """The first word of the last clause in ``first:last``."""
    start = first
    for k in range(first + 1, last):
        if marks.before[k] & m.PARTED:
            start = k
    return start


@inline
def is_vague(roles: Bytes, first: int, last: int, begin: int) -> bool:
    """Whether none of the words is a name by its capital; the first word of the sentence, ``begin``, always has one."""
    vague = True
    for k in range(first, last):
        vague &= not is_name(roles[k]) or roles[k] & (CAPITAL | PERSON) != CAPITAL or k == begin
    return vague


@inline
def clauses_of_sentence(
    marks: Marks, roles: Bytes, begin: int, stop: int, clauses: Clauses, n: int, subject: Ints
) -> int:
    """Add the clauses of one sentence; return the number of clauses.

    ``subject`` holds the range of the subject and whether it is vague; an anaphor refers to the previous sentence's.
    """
    first, before = next_verb(roles, begin, stop), begin
    if first == stop:
        if has(roles, begin, stop, HEDGE):
            return n
        return put(clauses, n, (begin, begin, 1, 0), (begin, begin, begin, stop, stop))
    if not has(roles, begin, first, ANAPHOR):
        subject[0], subject[1], subject[2] = begin, begin, 1
    while first < stop:
        last = group_end(marks, roles, first, stop)
        following = next_verb(roles, last, stop)
        if not has(roles, before, last, HEDGE):
            start = subject_start(marks, before, first)
            has_name = any_name(roles, start, first)
            if has_name:
                subject[0], subject[1] = start, first
                subject[2] = is_vague(roles, start, first, begin)
            cut = subject_start(marks, last, following) if following < stop else following
            if not (any_name(roles, last, cut) and any_name(roles, cut, following)):
                cut = following
            lead = begin if before == begin else first
            n = put(clauses, n, (subject[0], subject[1], subject[2], has_name), (lead, first, last, cut, following))
        before, first = last, following
    return n


@inline
def put(clauses: Clauses, n: int, subject: tuple[int, int, int, int], words: tuple[int, int, int, int, int]) -> int:
    """Write clause ``n``; return the number of clauses."""
    clauses.subjects[n], clauses.subject_ends[n], clauses.vague[n], clauses.has_name[n] = subject
    clauses.leads[n], clauses.firsts[n], clauses.lasts[n], clauses.cuts[n], clauses.stops[n] = words
    return n + 1


@kernel
def find_clauses(marks: Marks, roles: Bytes) -> Clauses:
    """The clauses of every text by sentence, except in questions."""
    starts, stops, _, after, _, text_bounds = marks
    ranges, flags = np.empty((7, len(roles)), np.int64), np.empty((2, len(roles)), np.bool_)
    bounds, n = np.zeros(len(text_bounds), np.int64), 0
    clauses = Clauses(
        ranges[0], ranges[1], flags[0], flags[1], ranges[2], ranges[3], ranges[4], ranges[5], ranges[6], bounds
    )
    subject = np.zeros(3, np.int64)
    for row in range(len(text_bounds) - 1):
        begin = text_bounds[row]
        subject[0] = subject[1] = begin
        for k in range(begin, text_bounds[row + 1]):
            if ends_sentence(after[k], stops[k] - starts[k], roles[k]):
                if not after[k] & m.QUESTIONED:
                    n = clauses_of_sentence(marks, roles, begin, k + 1, clauses, n, subject)
                begin = k + 1
        bounds[row + 1] = n
    return clauses
