"""Words of an answer that its contexts lack, or contain with the opposite polarity; and names that they lack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints
from fastmetrics.kernels.facts.clauses import CAPITAL, STOP, ends_sentence
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.support import Passages
from fastmetrics.kernels.jit import inline, kernel, leaf

NEGATES, CONTRACTED, SUFFIX = 1, 2, 4
"""Kinds of words: a negation; a word as in "isn't"; the "t" after it."""

REACH = 3
"""The number of words after a negation that it negates."""


class WordKinds(NamedTuple):
    """The roles, the kind of negation, and the stem of each word of the vocabulary."""

    roles: Bytes
    negations: Bytes
    stems: Ids


@inline
def negates(negations: Bytes, ids: Ids, start: int, k: int) -> bool:
    """Whether word ``k`` of a text that begins at ``start`` negates; ``negations`` has the kind of each id."""
    kind = negations[ids[k]]
    return kind == NEGATES or (kind == SUFFIX and k > start and negations[ids[k - 1]] == CONTRACTED)


@leaf
def mark_words(ids: Ids, start: int, stop: int, words: WordKinds, row: int, seen: Ids) -> None:
    """Set ``seen[p, stem]`` to the row for each content word of a text; p is 1 if the word is negated, else 0."""
    negated_to = start
    for k in range(start, stop):
        if negates(words.negations, ids, start, k):
            negated_to = k + 1 + REACH
        elif words.roles[ids[k]] & STOP == 0:
            seen[np.int64(k < negated_to), words.stems[ids[k]]] = row


@kernel
def count_content_words(
    ids: Ids, starts: Ints, stops: Ints, contexts: Passages, words: WordKinds, n_stems: int
) -> tuple[Ints, Ints, Ints]:
    """Per answer: its content words, those whose stem is in the row's contexts, and those of them that are negated in
    the answer alone or in the contexts alone."""
    n = len(starts)
    content, shared, opposite = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    seen = np.full((2, n_stems), -1, np.int32)
    for row in range(n):
        for text in range(contexts.groups[row], contexts.groups[row + 1]):
            mark_words(contexts.ids, contexts.starts[text], contexts.stops[text], words, row, seen)
        negated_to = starts[row]
        for k in range(starts[row], stops[row]):
            if negates(words.negations, ids, starts[row], k):
                negated_to = k + 1 + REACH
            elif words.roles[ids[k]] & STOP == 0:
                same, stem = np.int64(k < negated_to), words.stems[ids[k]]
                occurs = seen[0, stem] == row or seen[1, stem] == row
                content[row] += 1
                shared[row] += occurs
                opposite[row] += occurs and seen[same, stem] != row
    return content, shared, opposite


@kernel
def count_names(marks: Marks, ids: Ids, roles: Bytes, contexts: Passages, n_words: int) -> tuple[Ints, Ints]:
    """Per answer: its capitalised words within sentences, and those that no context of the row contains.

    ``ids`` and ``roles`` have one entry per word of ``marks``.
    """
    n = len(marks.bounds) - 1
    names, novel = np.zeros(n, np.int64), np.zeros(n, np.int64)
    seen = np.full(n_words, -1, np.int32)
    for row in range(n):
        for text in range(contexts.groups[row], contexts.groups[row + 1]):
            for k in range(contexts.starts[text], contexts.stops[text]):
                seen[contexts.ids[k]] = row
        for k in range(marks.bounds[row] + 1, marks.bounds[row + 1]):
            length = marks.stops[k - 1] - marks.starts[k - 1]
            if roles[k] & (CAPITAL | STOP) == CAPITAL and not ends_sentence(marks.after[k - 1], length, roles[k - 1]):
                names[row] += 1
                novel[row] += seen[ids[k]] != row
    return names, novel
