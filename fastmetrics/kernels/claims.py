"""Claims of answers: clauses that assert something, triples of subject, verb and object, equal claims, and citation
marks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint32s
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.folding import decode
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.located_words import Marks, is_mark
from fastmetrics.kernels.values import WEAK, Values

# The clauses of answers that assert something: subject, verbs and object as ranges of words.


# Flags of the roles of a word in a sentence.
STOP, VERB, HEDGE, PERSON, ABBREVIATION, VALUE, ANAPHOR, CAPITAL = (1 << k for k in range(8))
"""Roles of words.  STOP: stop word; PERSON: first or second person; VALUE: an anchor by itself, without a second end;
ANAPHOR: refers to the previous subject; CAPITAL: begins a name."""


class Clauses(NamedTuple):
    """Clauses that assert something, as ranges of words; text i has the clauses ``bounds[i]:bounds[i + 1]``, and the
    arrays have room for more.

    The subject is in ``subjects[i]:subject_ends[i]``, empty if there is none.  ``has_name``: the clause itself
    names it.  ``firsts[i]:lasts[i]`` are the verbs; the object is in ``lasts[i]:cuts[i]``.
    """

    subjects: Ints
    subject_ends: Ints
    has_name: Flags
    firsts: Ints
    lasts: Ints
    cuts: Ints
    bounds: Ints


class Subject(NamedTuple):
    """The words of a subject; without words there is none."""

    first: int
    last: int


class Clause(NamedTuple):
    """One clause; the words have the meaning of those of ``Clauses``."""

    subject: Subject
    has_name: bool
    first: int
    last: int
    cut: int


@inline
def is_name(role: int) -> bool:
    """Whether the word can be part of a subject or object."""
    return role & (STOP | HEDGE) == 0 or role & PERSON != 0


@inline
def any_name(roles: Bytes, first: int, last: int) -> bool:
    """Whether any of the words is a name."""
    hit = False
    for k in range(first, last):  # the ranges are short: a branch to leave early costs more than it saves
        hit |= is_name(roles[k])
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
        if values.kinds[v] < WEAK:
            for k in range(np.uint64(values.first[v]), np.uint64(values.last[v])):
                marked[k] |= VALUE
    return marked


@inline
def ends_sentence(gap: int, length: int, role: int) -> bool:
    """Whether a sentence ends in the gap after a word of ``length`` bytes and a role."""
    ended = gap & (m.ENDED | m.NEW_LINE) != 0
    # A full stop alone in its gap has a letter or digit behind it, as in "3.5" or "e.g.", and ends nothing; followed by
    # a space it does, unless the word before it is an initial or an abbreviation.
    if gap & m.DOTTED and gap & m.KIND != m.DOT and not gap & m.POINT:
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
        # "was then sold" is one group, "was a car that sold" is two: at most two stop words separate the verbs of a
        # group, without a comma or anything else that could begin a clause.
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
def is_courtesy(roles: Bytes, before: int, first: int, last: int, stop: int) -> bool:
    """Whether a clause of the speaker or the listener, or of nobody, holds a word of courtesy or a guess behind its
    verbs ``first:last``: "You are welcome", "Let us know"."""
    alone = before == first or has(roles, before, first, PERSON)
    for k in range(before, first):
        alone &= not is_name(roles[k]) or roles[k] & PERSON != 0
    return alone and has(roles, last, stop, HEDGE)


@inline
def clauses_of_sentence(
    marks: Marks, roles: Bytes, begin: int, stop: int, clauses: Clauses, n: int, subject: Subject
) -> tuple[int, Subject]:
    """Add the clauses of one sentence; return the number of clauses and the subject of the last.

    ``subject`` is that of the sentence before, to which an anaphor refers.
    """
    first, before = next_verb(roles, begin, stop), begin
    if first < stop and not has(roles, begin, first, ANAPHOR):
        subject = Subject(begin, begin)
    while first < stop:
        # A clause is the words from ``before`` to its verbs, the verbs first:last, and all up to the next verb.
        last = group_end(marks, roles, first, stop)
        following = next_verb(roles, last, stop)
        if not has(roles, before, last, HEDGE) and not is_courtesy(roles, before, first, last, following):
            # The subject is behind the last comma before the verb: in "In 1998, Ann left" it is Ann.  A clause that
            # names nobody has the subject of the clause before: "Ann left and came back".
            start = subject_start(marks, before, first)
            has_name = any_name(roles, start, first)
            if has_name:
                subject = Subject(start, first)
            # Words behind the last comma before the next verb are its subject ("Ann left Rome, and Bob came"), so the
            # object ends there, if both sides of the comma have names.
            cut = subject_start(marks, last, following) if following < stop else following
            if not (any_name(roles, last, cut) and any_name(roles, cut, following)):
                cut = following
            n = put_clause(clauses, n, Clause(subject, has_name, first, last, cut))
        before, first = last, following
    return n, subject


@inline
def put_clause(clauses: Clauses, n: int, clause: Clause) -> int:
    """Write clause ``n``; return the number of clauses."""
    clauses.subjects[n], clauses.subject_ends[n] = clause.subject.first, clause.subject.last
    clauses.has_name[n], clauses.firsts[n] = clause.has_name, clause.first
    clauses.lasts[n], clauses.cuts[n] = clause.last, clause.cut
    return n + 1


@kernel
def find_clauses(marks: Marks, roles: Bytes) -> Clauses:
    """The clauses of every text by sentence, except in questions."""
    text_bounds = marks.bounds
    # A clause has a verb of its own, so there are at most as many clauses as words.
    ranges, has_name = np.empty((5, len(roles)), np.int64), np.empty(len(roles), np.bool_)
    bounds, n = np.zeros(len(text_bounds), np.int64), 0
    clauses = Clauses(ranges[0], ranges[1], has_name, ranges[2], ranges[3], ranges[4], bounds)
    for row in range(len(text_bounds) - 1):
        begin = text_bounds[row]
        subject = Subject(begin, begin)  # of nobody, until a sentence names someone
        for k in range(begin, text_bounds[row + 1]):
            if ends_sentence(marks.after[k], marks.stops[k] - marks.starts[k], roles[k]):
                if not marks.after[k] & m.QUESTIONED:  # a question asserts nothing
                    n, subject = clauses_of_sentence(marks, roles, begin, k + 1, clauses, n, subject)
                begin = k + 1
        bounds[row + 1] = n
    return clauses


# Claims from clauses: a triple of subject, verb and object each.


class Claims(NamedTuple):
    """Claims: an object that must occur near its subject; text i has the claims ``bounds[i]:bounds[i + 1]``, and the
    arrays have room for more.

    The subject is ``words[subjects[i]:subject_ends[i]]``, the object ``words[objects[i]:object_ends[i]]``; ``words``
    are word positions.  Without a subject, the object only has to occur.  The claim is shown from word ``firsts[i]`` to
    word ``lasts[i]``; ``begins[i]:cuts[i]`` are all words of its clause.
    """

    words: Ints
    subjects: Ints
    subject_ends: Ints
    objects: Ints
    object_ends: Ints
    firsts: Ints
    lasts: Ints
    begins: Ints
    cuts: Ints
    bounds: Ints


@inline
def spoken(roles: Bytes, first: int, last: int) -> int:
    """The last verb in ``first:last`` that is not a stop word, or ``last`` if there is none."""
    for k in range(last - 1, first - 1, -1):
        if roles[k] & (VERB | STOP | VALUE) == VERB:
            return k
    return last


@kernel
def make_claims(roles: Bytes, n_rows: int) -> tuple[Claims, Ints]:
    """Room for the claims of texts with these words; and how many words of ends come before each word."""
    n = 0
    words, ranks = np.empty(len(roles), np.int64), np.zeros(len(roles) + 1, np.int64)
    for k in range(len(roles)):
        words[n] = k
        n += is_name(roles[k]) and not roles[k] & VALUE
        ranks[k + 1] = n
    r, bounds = np.zeros((8, len(roles)), np.int64), np.zeros(n_rows + 1, np.int64)
    return Claims(words[:n], r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], bounds), ranks


@kernel
def triples(clauses: Clauses, roles: Bytes) -> Claims:
    """One claim for each clause with a verb and an object that is not only values; ends are made of names that are no
    values."""
    claims, ranks = make_claims(roles, len(clauses.bounds) - 1)
    n = 0
    for row in range(len(clauses.bounds) - 1):
        for c in range(clauses.bounds[row], clauses.bounds[row + 1]):
            first, low, high = clauses.firsts[c], clauses.lasts[c], clauses.cuts[c]
            # "Ann slept": without an object, the verb itself is what is claimed.
            if not any_name(roles, low, high):
                low, high = spoken(roles, first, low), low
            begin, end = ranks[low], ranks[high]
            if begin == end:
                continue
            subject, subject_end = ranks[clauses.subjects[c]], ranks[clauses.subject_ends[c]]
            # What is shown begins with the subject if the clause names it, else with the verbs.
            if clauses.has_name[c] and subject < subject_end:
                first = claims.words[subject]
            claims.subjects[n], claims.subject_ends[n], claims.objects[n], claims.object_ends[n] = (
                subject,
                subject_end,
                begin,
                end,
            )
            claims.firsts[n], claims.lasts[n] = first, claims.words[end - 1]
            claims.begins[n] = clauses.subjects[c] if clauses.has_name[c] else clauses.firsts[c]
            claims.cuts[n] = clauses.cuts[c]
            n += 1
        claims.bounds[row + 1] = n
    return claims


@kernel
def misstated(claims: Claims, values: Values, supported: Flags, ids: Ids, apart: Ids) -> Flags:
    """Whether the clause of each triple states a value that is not ``supported``: "a profit of -12 million".

    ``ids`` are the words; ``apart[w]`` is at least 0 for a word behind which a value is none of the clause's own, as in
    "in 1998".
    """
    wrong = np.zeros(claims.bounds[-1], np.bool_)
    for row in range(len(claims.bounds) - 1):
        v, last = values.bounds[row], values.bounds[row + 1]
        for c in range(claims.bounds[row], claims.bounds[row + 1]):  # both are in the order of the text
            while v < last and values.first[v] < claims.begins[c]:
                v += 1
            while v < last and values.first[v] < claims.cuts[c]:
                before = values.first[v] - 1
                own = before < claims.begins[c] or apart[ids[before]] < 0
                wrong[c] |= own and values.kinds[v] < WEAK and not supported[v]
                v += 1
    return wrong


# Claims of a row that equal an earlier one, so that an answer that repeats itself is compared once.
#
# ``stems[k]`` is the number of the stem of word k, and ranges of k are those of the claims.


LONG = 64
"""Words of a claim from which it is not recorded: a row has few such claims."""

MIX = np.uint64(0x9E3779B97F4A7C15)


class Checked(NamedTuple):
    """A hash table of the claims of a row that were compared: the row, the claim and its hash in each slot."""

    rows: Ids
    claims: Ids
    keys: Ints


@kernel
def make_checked(claims: Claims) -> Checked:
    """Allocate a table large enough for the claims of any row."""
    size = 2
    for row in range(len(claims.bounds) - 1):
        while size < 2 * (claims.bounds[row + 1] - claims.bounds[row]):
            size *= 2
    slots = np.full((2, size), -1, np.int32)
    return Checked(slots[0], slots[1], np.zeros(size, np.int64))


@leaf
def mixed(key: int, stems: Uint32s, low: int, high: int) -> int:
    """A hash of ``key`` and the stems ``low:high``."""
    value = np.uint64(key)
    for k in range(low, high):
        value = (value ^ np.uint64(stems[k])) * MIX
        value ^= value >> np.uint64(32)
    return np.int64((value ^ np.uint64(high - low)) * MIX)


@leaf
def are_equal(claims: Claims, stems: Uint32s, a: int, b: int) -> bool:
    """Whether two claims have the same stems in the same order."""
    subject, target = claims.subjects[b] - claims.subjects[a], claims.objects[b] - claims.objects[a]
    same = claims.subject_ends[b] - claims.subject_ends[a] == subject
    same &= claims.object_ends[b] - claims.object_ends[a] == target
    if same:
        for k in range(claims.subjects[a], claims.subject_ends[a]):
            same &= stems[k] == stems[k + subject]
        for k in range(claims.objects[a], claims.object_ends[a]):
            same &= stems[k] == stems[k + target]
    return same


@leaf
def equal_before(claims: Claims, stems: Uint32s, row: int, c: int, checked: Checked) -> int:
    """A claim of the row that equals claim ``c`` and was compared before it, or ``c``, which is then recorded."""
    n_subject, n_target = claims.subject_ends[c] - claims.subjects[c], claims.object_ends[c] - claims.objects[c]
    if n_subject + n_target > LONG:
        return c
    key = mixed(0, stems, claims.subjects[c], claims.subject_ends[c])
    key = mixed(key, stems, claims.objects[c], claims.object_ends[c])
    slot = key & (len(checked.rows) - 1)
    # A slot of an earlier row is free, so the table is never cleared.
    while checked.rows[slot] == row:
        if checked.keys[slot] == key and are_equal(claims, stems, checked.claims[slot], c):
            return checked.claims[slot]
        slot = (slot + 1) & (len(checked.rows) - 1)
    checked.rows[slot], checked.claims[slot], checked.keys[slot] = row, c, key
    return c


# Citation marks found in sentences.


MOST = np.int64(10**9)  # larger numbers refer to no context


@kernel
def find_citations(data: Bytes, starts: Ints, stops: Ints, marks: Ints) -> None:
    """Per sentence, in four columns: number of marks ``[n]``; number, first byte and end byte of the last mark."""
    for row in range(len(starts)):
        i = starts[row]
        while i < stops[row]:
            if data[i] != 91:
                i += 1
                continue
            begin, number = i, np.int64(0)
            i += 1
            while i < stops[row] and 48 <= data[i] <= 57:
                number = min(number * 10 + data[i] - 48, MOST)
                i += 1
            if i < stops[row] and data[i] == 93 and i > begin + 1:
                i += 1
                marks[row, 0] += 1
                marks[row, 1], marks[row, 2], marks[row, 3] = number, begin, i


@kernel
def copy_without(data: Bytes, spans: Ints, out: Bytes, bounds: Ints) -> None:
    """Copy each text without its middle and the white space before it.

    ``spans[i]`` is (start, middle, end of the middle, stop) of text i; its copy is ``out[bounds[i]:bounds[i + 1]]``.
    """
    size = 0
    for row in range(len(spans)):
        start, middle, after, stop = spans[row]
        while middle < after and middle > start and (data[middle - 1] == 32 or 9 <= data[middle - 1] <= 13):
            middle -= 1
        for at in range(start, middle):
            out[size] = data[at]
            size += 1
        for at in range(after, stop):
            out[size] = data[at]
            size += 1
        bounds[row + 1] = size
