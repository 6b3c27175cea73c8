"""Claims from clauses: a triple of subject, verb and object each, or each of their words by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ints
from fastmetrics.kernels.facts.clauses import STOP, VALUE, VERB, Clauses, any_name, any_object, is_name
from fastmetrics.kernels.jit import inline, kernel


class Claims(NamedTuple):
    """Claims: an object that must occur near its subject; text i has the claims ``bounds[i]:bounds[i + 1]``, and the
    arrays have room for more.

    The subject is ``words[subjects[i]:subject_ends[i]]``, the object ``words[objects[i]:object_ends[i]]``; ``words``
    are word positions.  Without a subject, or if the subject is ``vague`` and in no context, the object only has to
    occur.  The claim is shown from word ``firsts[i]`` to word ``lasts[i]``.
    """

    words: Ints
    subjects: Ints
    subject_ends: Ints
    objects: Ints
    object_ends: Ints
    firsts: Ints
    lasts: Ints
    vague: Flags
    bounds: Ints


@inline
def put(claims: Claims, n: int, subject: tuple[int, int], vague: bool, target: tuple[int, int], first: int) -> int:
    """Write claim ``n``, which is shown from word ``first`` on; return the number of claims."""
    claims.subjects[n], claims.subject_ends[n] = subject
    claims.objects[n], claims.object_ends[n] = target
    claims.firsts[n], claims.lasts[n], claims.vague[n] = first, claims.words[target[1] - 1], vague
    return n + 1


@inline
def spoken(roles: Bytes, first: int, last: int) -> int:
    """The last verb in ``first:last`` that is not a stop word, or ``last`` if there is none."""
    for k in range(last - 1, first - 1, -1):
        if roles[k] & (VERB | STOP | VALUE) == VERB:
            return k
    return last


@kernel
def make_claims(roles: Bytes, n_rows: int, with_values: bool) -> tuple[Claims, Ints]:
    """Room for the claims of texts with these words; and how many words of ends come before each word."""
    n = 0
    words, ranks = np.empty(len(roles), np.int64), np.zeros(len(roles) + 1, np.int64)
    for k in range(len(roles)):
        words[n] = k
        n += is_name(roles[k]) and (with_values or not roles[k] & VALUE)
        ranks[k + 1] = n
    ranges, vague = np.empty((6, len(roles)), np.int64), np.empty(len(roles), np.bool_)
    bounds = np.zeros(n_rows + 1, np.int64)
    return Claims(words[:n], ranges[0], ranges[1], ranges[2], ranges[3], ranges[4], ranges[5], vague, bounds), ranks


@kernel
def triples(clauses: Clauses, roles: Bytes) -> Claims:
    """One claim for each clause with an object that is not only values; ends are made of names that are no values."""
    claims, ranks = make_claims(roles, len(clauses.bounds) - 1, False)
    n = 0
    for row in range(len(clauses.bounds) - 1):
        for c in range(clauses.bounds[row], clauses.bounds[row + 1]):
            first, low, high = clauses.firsts[c], clauses.lasts[c], clauses.cuts[c]
            if not any_name(roles, low, high):
                low, high = spoken(roles, first, low), low
            begin, end = ranks[low], ranks[high]
            if begin == end:
                continue
            subject = ranks[clauses.subjects[c]], ranks[clauses.subject_ends[c]]
            if clauses.has_name[c] and subject[0] < subject[1]:
                first = claims.words[subject[0]]
            elif first == clauses.lasts[c]:
                first = claims.words[begin]
            n = put(claims, n, subject, False, (begin, end), first)
        claims.bounds[row + 1] = n
    return claims


@kernel
def single_words(clauses: Clauses, roles: Bytes) -> Claims:
    """A claim for each word of an object, with its subject, and for each word before the first verb of a sentence, with
    the object; values are words of the other end only."""
    claims, ranks = make_claims(roles, len(clauses.bounds) - 1, True)
    n = 0
    for row in range(len(clauses.bounds) - 1):
        for c in range(clauses.bounds[row], clauses.bounds[row + 1]):
            first, low, high = clauses.firsts[c], clauses.lasts[c], clauses.stops[c]
            bare = not any_name(roles, low, high)
            if bare or any_object(roles, low, high):
                target = (ranks[first], ranks[low]) if bare else (ranks[low], ranks[high])
                n = put_words(claims, n, target, False, (clauses.leads[c], first), roles, ranks)
            if bare:
                low, high = spoken(roles, first, low), low
            subject = ranks[clauses.subjects[c]], ranks[clauses.subject_ends[c]]
            n = put_words(claims, n, subject, clauses.vague[c], (low, high), roles, ranks)
        claims.bounds[row + 1] = n
    return claims


@inline
def put_words(
    claims: Claims, n: int, other: tuple[int, int], vague: bool, words: tuple[int, int], roles: Bytes, ranks: Ints
) -> int:
    """Write a claim for each name in the range ``words`` with the other end ``other``; return the number of claims.

    ``roles[k]`` is the role of word k; ``ranks[k]`` words of claims come before it, and ``ranks`` has one entry more.
    """
    for k in range(words[0], words[1]):
        if is_name(roles[k]) and not roles[k] & VALUE:
            n = put(claims, n, other, vague, (ranks[k], ranks[k + 1]), k)
    return n
