"""Phrases as a finite automaton over words, and markers that are looked for anywhere, also inside words."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, GrowingArray, Ids, Ints, Text, Tokens, Uint64s, well_formed
from fastmetrics.base.errors import OptionError, shown
from fastmetrics.kernels import byte_search
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary, fold

# Phrases as a finite automaton over words.
#
# A phrase is a sequence of words in which ``(a|b c)`` matches any of its alternatives and ``[a|b]`` any or none.


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


def words_in_phrases(ids: Ids, bounds: Ints, vocabulary: Vocabulary, phrases: Phrases) -> Ints:
    """The places of the words within phrases; text i has the words ``ids[bounds[i]:bounds[i + 1]]``."""
    letters = phrases.letters(vocabulary)
    first = np.flatnonzero(phrases.openings(vocabulary)[ids])
    states, stop, found = phrases.table[START, letters[ids[first]]], first + 1, [np.zeros(0, np.int64)]
    while len(first):  # one step for each word of the longest phrase, all places together
        ended = phrases.final[states]
        begins, stops = first[ended], stop[ended]
        within = np.searchsorted(bounds, begins, "right") == np.searchsorted(bounds, stops - 1, "right")
        begins, sizes = begins[within], (stops - begins)[within]
        found.append(np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum()))
        letter = letters[ids[np.minimum(stop, len(ids) - 1)]]
        going = np.flatnonzero((letter >= 0) & (stop < len(ids)))
        following = phrases.table[states[going], letter[going]]
        going, following = going[following >= 0], following[following >= 0]
        first, states, stop = first[going], following, stop[going] + 1
    return np.concatenate(found)


# Markers: words and phrases that are looked for anywhere in a text, also inside words.
#
# A marker without white space lies within a word, so each distinct word is searched once.  One with white space
# begins at the end of a word; only the texts with such a word are searched.


class _Searched(NamedTuple):
    """Lower-cased phrases in the form that ``find_phrases`` takes."""

    begins: Uint64s
    pairs: Bytes
    phrases: Bytes
    bounds: Ints


def count_markers(text: Text, words: Tokens, vocabulary: Vocabulary, markers: tuple[str, ...]) -> Ints:
    """How many of ``markers`` each text contains; ``words`` are its words under the convention ``split``."""
    counts = np.zeros(len(text), np.int64)
    for first in range(0, len(markers), 64):
        some = tuple(well_formed(marker).lower() for marker in markers[first : first + 64])
        counts += np.bitwise_count(_masks(text, words, vocabulary, some))
    return counts


def _masks(text: Text, words: Tokens, vocabulary: Vocabulary, markers: tuple[str, ...]) -> Uint64s:
    """Which of up to 64 markers each text contains, one bit each."""
    of_words, marked = _masks_of_words(vocabulary, markers)
    masks = np.empty(len(text), np.uint64)
    byte_search.masks_of_texts(words.ids, words.starts, words.stops, of_words, marked, masks)
    spaced = [re.search(r"\s", marker) is not None for marker in markers]
    across = np.uint64(sum(1 << bit for bit in np.flatnonzero(spaced).tolist()))
    rows = np.flatnonzero(masks & across)
    if any(re.match(r"\s", marker) for marker in markers):  # may follow any word, or begin the text
        rows = np.arange(len(text))
    folded = fold(text.take(rows), convention("lower"))
    masks[rows] = masks[rows] & ~across | _find(folded.data, folded.starts, folded.stops, markers) & across
    return masks


def _masks_of_words(vocabulary: Vocabulary, markers: tuple[str, ...]) -> tuple[Uint64s, Flags]:
    """Per word, the markers that it contains, or if they contain white space, whose first part it ends with.

    Also whether it has any.
    """
    if ("markers", markers) not in vocabulary.memo:
        empty = np.zeros(0, np.uint64), np.zeros(0, np.bool_)
        vocabulary.memo["markers", markers] = tuple(map(GrowingArray, empty))
    of_words, marked = vocabulary.memo["markers", markers]
    if len(of_words) < len(vocabulary):
        new = vocabulary.spelled(len(of_words))
        parts = tuple(re.split(r"\s", marker, maxsplit=1) for marker in markers)
        masks = _find(new.data, new.starts, new.stops, tuple(first for first, *_ in parts))
        for word in np.flatnonzero(masks).tolist():
            spelled = new.data[new.starts[word] : new.stops[word]].tobytes()
            for bit, (part, *after) in enumerate(parts):
                if after and not spelled.endswith(_encoded(part)):
                    masks[word] &= ~np.uint64(1 << bit)
        of_words.extend(masks)
        marked.extend(masks != 0)
    return of_words.values, marked.values


def _find(data: Bytes, starts: Ints, stops: Ints, phrases: tuple[str, ...]) -> Uint64s:
    masks = np.empty(len(starts), np.uint64)
    data = data.view()
    data.setflags(write=False)  # as the bytes of words, so that the kernel is compiled once
    byte_search.find_phrases(data, starts, stops, *_searched(phrases), masks)
    return masks


def _searched(phrases: tuple[str, ...]) -> _Searched:
    """What begins the phrases that are not empty; each is searched by two of its bytes."""
    encoded = [_encoded(phrase) for phrase in phrases]
    begins: dict[tuple[int, int, int], int] = {}
    for bit, phrase in enumerate(encoded):
        if phrase:
            distance = int(len(phrase) > 1)
            pair = phrase[0], distance, phrase[distance]
            begins[pair] = begins.get(pair, 0) | 1 << bit
    bounds = np.cumsum([0, *(len(phrase) for phrase in encoded)])
    return _Searched(
        np.array(list(begins.values()), np.uint64),
        np.array(list(begins), np.uint8).reshape(-1, 3),
        np.frombuffer(b"".join(encoded), np.uint8),
        bounds,
    )


def _encoded(phrase: str) -> bytes:
    """The bytes of a phrase in folded text."""
    return phrase.encode().replace(b"\0", b"\xff")
