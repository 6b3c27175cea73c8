"""Search of phrases in word ids with an automaton."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Flags, Ids, Ints
from fastmetrics.kernels.jit import kernel, leaf

START = 0
"""The state of the automaton before a phrase."""


@leaf
def phrase_end(ids: Ids, k: int, stop: int, letters: Ids, table: Ids, final: Flags) -> int:
    """The token after the longest phrase that begins at token ``k``, or -1."""
    state, end = START, -1
    while k < stop and state >= 0:
        letter = letters[np.uint32(ids[np.uint64(k)])]
        state = table[state, letter] if letter >= 0 else -1
        k += 1
        if state >= 0 and final[state]:
            end = k
    return end


@kernel
def holds_phrase(ids: Ids, starts: Ints, stops: Ints, openings: Flags, letters: Ids, table: Ids, final: Flags) -> Flags:
    """Whether each text holds a phrase; ``openings`` marks the words of the vocabulary that can begin one."""
    flags = np.zeros(len(starts), np.bool_)
    for row in range(len(starts)):
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            opens = openings[np.uint32(ids[k])]
            if opens and phrase_end(ids, np.int64(k), stops[row], letters, table, final) >= 0:
                flags[row] = True
                break
    return flags


@kernel
def last_phrase(ids: Ids, starts: Ints, stops: Ints, letters: Ids, table: Ids, final: Flags) -> Ints:
    """Per text, in two rows: start and end of its last phrase, relative to the text's start; -1 if none."""
    places = np.full((2, len(starts)), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            end = phrase_end(ids, k, stops[row], letters, table, final)
            if end >= 0:
                places[0, row] = k - starts[row]
                places[1, row] = end - starts[row]
    return places


@kernel
def words_after(ids: Ids, starts: Ints, stops: Ints, places: Ids) -> Ints:
    """Per text: number of tokens after the first one in a list; -1 without one.

    ``places`` has the place of each word of the vocabulary in the list, or -1.
    """
    counts = np.full(len(starts), -1, np.int64)
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            if places[ids[k]] >= 0:
                counts[row] = stops[row] - k - 1
                break
    return counts


@kernel
def abstains(groups: Ints, idk: Flags, filler: Flags, turns: Flags, sizes: Ints, preamble: int) -> Flags:
    """Whether each answer, made of the sentences ``groups[row]:groups[row + 1]``, is an abstention ("I don't know").

    ``idk``, ``filler``, ``turns`` and ``sizes`` have one entry per sentence: whether it says so, is filler, or turns to
    an answer, and its number of words.  Sentences before the first "I don't know", except filler, may have at most
    ``preamble`` words, and no later sentence may begin an answer.
    """
    abstained = np.zeros(len(groups) - 1, np.bool_)
    for row in range(len(abstained)):
        refused, answered, before = False, False, 0
        for k in range(groups[row], groups[row + 1]):
            if idk[k]:
                refused = True
            elif not refused and not filler[k]:
                before += sizes[k]
            elif refused and turns[k]:
                answered = True
        abstained[row] = refused and not answered and before <= preamble
    return abstained
