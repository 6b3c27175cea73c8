"""Phrases found among word ids by an automaton."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Flags, Ids, Ints
from fastmetrics.kernels.jit import inline, kernel


@inline
def phrase_end(ids: Ids, k: int, stop: int, letters: Ids, table: Ids, final: Flags) -> int:
    """The token after the longest phrase that begins at token ``k``, or -1."""
    state, end = 0, -1
    while k < stop and state >= 0:
        letter = letters[ids[k]]
        state = table[state, letter] if letter >= 0 else -1
        k += 1
        if state >= 0 and final[state]:
            end = k
    return end


@kernel
def holds_phrase(ids: Ids, starts: Ints, stops: Ints, letters: Ids, table: Ids, final: Flags) -> Flags:
    """Whether each text holds a phrase."""
    found = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            if letters[ids[k]] >= 0 and phrase_end(ids, k, stops[row], letters, table, final) >= 0:
                found[row] = True
                break
    return found


@kernel
def last_phrase(ids: Ids, starts: Ints, stops: Ints, letters: Ids, table: Ids, final: Flags) -> Ints:
    """Per text, in two rows: where its last phrase begins and ends, counted from the text's start; -1 if none."""
    places = np.full((2, len(starts)), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            end = phrase_end(ids, k, stops[row], letters, table, final)
            if end >= 0:
                places[0, row] = k - starts[row]
                places[1, row] = end - starts[row]
    return places


@kernel
def words_after(ids: Ids, starts: Ints, stops: Ints, marked: Flags) -> Ints:
    """Per text: how many tokens follow the first marked one; -1 if none is marked."""
    counts = np.full(len(starts), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            if marked[ids[k]]:
                counts[row] = stops[row] - k - 1
                break
    return counts


@kernel
def abstains(groups: Ints, idk: Flags, filler: Flags, turns: Flags, sizes: Ints, preamble: int) -> Flags:
    """Whether each answer, made of the sentences ``groups[row]:groups[row + 1]``, is an "I don't know" as a whole.

    At most ``preamble`` words may stand in sentences before the first "I don't know" that are no filler, and no
    sentence after it may turn to an answer.
    """
    abstained = np.zeros(len(groups) - 1, np.bool_)
    for row in range(len(abstained)):
        said, answered, before = False, False, 0
        for k in range(groups[row], groups[row + 1]):
            if idk[k]:
                said = True
            elif not said and not filler[k]:
                before += sizes[k]
            elif said and turns[k]:
                answered = True
        abstained[row] = said and not answered and before <= preamble
    return abstained
