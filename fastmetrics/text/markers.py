"""Markers: words and phrases that are looked for anywhere in a text, also inside words.

A marker without white space lies within a word, so each distinct word is searched once.  One with white space begins at
the end of a word; only the texts with such a word are searched.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, GrowingArray, Ints, Text, Tokens, Uint64s, well_formed
from fastmetrics.kernels import byte_search
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary, fold


class _Searched(NamedTuple):
    """Lower-cased phrases in the form that ``substrings.find_phrases`` takes."""

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
        of_words.append(masks)
        marked.append(masks != 0)
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
