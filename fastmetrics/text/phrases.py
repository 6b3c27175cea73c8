"""Phrases as a finite automaton over words.

A phrase is a sequence of words in which ``(a|b c)`` matches any of its alternatives and ``[a|b]`` any or none.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Flags, Ids
from fastmetrics.base.errors import OptionError, shown
from fastmetrics.text.tokenize import Vocabulary

START = 0

_STATES, _CELLS, _WORK = 20_000, 1 << 24, 1 << 20
"""Limits of an automaton: states, states times words, and steps of its construction.

Consecutive alternatives multiply the number of states.
"""

_PIECE = r"\([^()\[\]]*\)|\[[^()\[\]]*\]|[^()\[\]]+"
"""A choice, an optional choice, or words."""


@dataclass(frozen=True, eq=False)
class Phrases:
    """The automaton: ``table[state, word]`` is the next state or -1, ``final[state]`` whether a phrase ends there."""

    words: tuple[str, ...]
    table: Ids
    final: Flags

    @property
    def first_words(self) -> tuple[str, ...]:
        """The words with which a phrase can begin."""
        return tuple(word for word, state in zip(self.words, self.table[START], strict=True) if state >= 0)

    def letters(self, vocabulary: Vocabulary) -> Ids:
        """The number in ``words`` of every word of ``vocabulary``, -1 for words of no phrase."""
        return vocabulary.places_in(self.words)

    def openings(self, vocabulary: Vocabulary) -> Flags:
        """Whether a phrase can begin with each word of ``vocabulary``; cached, with room for later words."""
        letters = self.letters(vocabulary)
        openings: Flags | None = vocabulary.memo.get(("openings", self))
        if openings is None or len(openings) < len(letters):
            openings = vocabulary.memo["openings", self] = letters >= 0
            openings[openings] = self.table[START, letters[openings]] >= 0
        return openings


@functools.lru_cache(maxsize=64)
def compile_phrases(patterns: tuple[str, ...]) -> Phrases:
    """The automaton that finds all ``patterns``.

    >>> len(compile_phrases(("I (do not|don't) [really] know",)).words)
    7

    Raises ``OptionError`` for a pattern with unclosed brackets, and for one without a required word.
    """
    edges: dict[int, set[tuple[str, int]]] = defaultdict(set)
    silent: dict[int, set[int]] = defaultdict(set)
    ends = {pattern: _add(pattern, edges, silent) for pattern in patterns}
    words = tuple(sorted({word for targets in edges.values() for word, _ in targets}))
    place = {word: number for number, word in enumerate(words)}
    first = _closure({START}, silent)
    for pattern, end in ends.items():
        if end in first:
            raise OptionError(f"phrase {shown(pattern)}: expected at least one required word")
    states, rows = {first: 0}, []
    waiting, work = [first], 0
    for state in waiting:
        reached: dict[str, set[int]] = defaultdict(set)
        for node in state:
            for word, target in edges[node]:
                reached[word].add(target)
        row = np.full(len(words), -1, np.int32)
        for word, targets in reached.items():
            following = _closure(targets, silent)
            work += len(following)
            if work > _WORK or len(states) > _STATES or len(states) * len(words) > _CELLS:
                raise OptionError(f"phrases: these {len(patterns):,} expand to too many variants")
            if following not in states:
                states[following] = len(states)
                waiting.append(following)
            row[place[word]] = states[following]
        rows.append(row)
    final = np.array([not state.isdisjoint(ends.values()) for state in states])
    return Phrases(words, np.array(rows, np.int32).reshape(len(rows), len(words)), final)


def _add(pattern: str, edges: dict[int, set[tuple[str, int]]], silent: dict[int, set[int]]) -> int:
    """Add the path of one pattern; return its last node."""
    node = START
    pieces = re.findall(_PIECE, pattern)
    if "".join(pieces) != pattern:
        raise OptionError(f"phrase {shown(pattern)}: expected closed brackets without nesting")
    for piece in pieces:
        alternatives = piece[1:-1].split("|") if piece[0] in "([" else [piece]
        end = _new(edges, silent)
        if piece[0] == "[":
            silent[node].add(end)
        for alternative in alternatives:
            at = node
            for word in re.findall(r"\w+", alternative.lower()):
                following = _new(edges, silent)
                edges[at].add((word, following))
                at = following
            silent[at].add(end)
        node = end
    return node


def _new(edges: dict[int, set[tuple[str, int]]], silent: dict[int, set[int]]) -> int:
    node = len(silent) + 1
    silent[node] = set()
    edges[node] = set()
    return node


def _closure(nodes: set[int], silent: dict[int, set[int]]) -> frozenset[int]:
    reached, waiting = set(nodes), list(nodes)
    while waiting:
        for target in silent.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return frozenset(reached)
