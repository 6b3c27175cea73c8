"""Splitting text into sentences, paragraphs, and the statements for checking citations.

**Statements**, the units that citations are checked against, are sentences including the citations that follow them
(``Paris. [1]``). A full stop does not end a sentence before a lowercase letter, within a number, after an initial or a
known abbreviation, or after the number of a list item.
"""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints, Text, Uint64s
from fastmetrics.kernels import sentences as segments
from fastmetrics.kernels.simd.blocks import BLOCK
from fastmetrics.text import conventions
from fastmetrics.text.conventions import ranges
from fastmetrics.text.lexicons import lexicon

SENTENCE_ENDS = ".!?。！？…"
_CLOSERS = "\"'”’»›)]}」』）"


def sentences(text: Text) -> Text:
    """The writing guide's sentences: split at every run of ``.!?。！？…``, stripped, without empty ones."""
    return _split(text, "sentences")


def lines(text: Text) -> Text:
    r"""Split at every "\n" and nowhere else, without empty lines."""
    return _split(text, "lines")


def paragraphs(text: Text) -> Text:
    """The writing guide's paragraphs: split at blank lines, stripped, without empty ones."""
    return _split(text, "paragraphs")


def statements(text: Text) -> Text:
    """Sentences for grounding (the RAG project), each with its citations.

    A run of sentence ends splits, and includes the closing quotes, brackets and citations (`` [1]``) after it.  A full
    stop splits only before whitespace, and not before a lowercase letter (unless a citation precedes the stop), after a
    single capital (an initial), a known abbreviation, or a number that starts the sentence (a list item).  A line end
    splits before a blank line or a list item.
    """
    pieces, groups = _room(text)
    n = segments.split_statements(
        text.data, text.starts, text.stops, _classes("statements"), _abbreviations(), pieces, groups
    )
    return _pieces(text, pieces[: 2 * n], groups)


def _split(text: Text, kind: str) -> Text:
    pieces, groups = _room(text)
    data = text.data
    if len(data) < BLOCK:
        data = np.concatenate([data, np.zeros(BLOCK, np.uint8)])
        data.setflags(write=False)
    n = segments.split(data, text.starts, text.stops, _marks(kind), _classes(kind), pieces, groups)
    return _pieces(text, pieces[: 2 * n], groups)


def _room(text: Text) -> tuple[Ints, Ints]:
    """Arrays for the maximum number of pieces: every other byte may be one."""
    size = int((text.stops - text.starts).sum())
    return np.empty(size + 2 * len(text) + 2, np.int64), np.zeros(len(text) + 1, np.int64)


def _pieces(text: Text, pieces: Ints, groups: Ints) -> Text:
    valid = np.ones(len(pieces) // 2, np.bool_)
    return Text(text.data, pieces[::2].copy(), pieces[1::2].copy(), valid, groups)


@functools.cache
def _classes(kind: str) -> Bytes:
    classes = np.zeros(conventions.SIZE, np.uint8)
    if kind == "lines":
        classes[ord("\n")] = segments.BREAK
        return classes
    if kind == "statements":
        word = conventions.is_word()
        classes[word] = segments.LETTER
        classes[word & conventions.is_lower()] = segments.LOWER
        classes[word & conventions.is_upper()] = segments.UPPER
        classes[[ord(c) for c in "0123456789"]] = segments.DIGIT
        classes[[ord(c) for c in _CLOSERS]] = segments.CLOSER
        classes[ord("[")] = segments.OPEN
    classes[conventions.is_space()] = segments.SPACE
    if kind != "sentences":
        classes[ord("\n")] = segments.HALF
    if kind != "paragraphs":
        classes[[ord(c) for c in SENTENCE_ENDS]] = segments.BREAK
    if kind == "statements":
        classes[[ord(c) for c in ".!?…"]] = segments.STOP
    return classes


@functools.cache
def _marks(kind: str) -> Bytes:
    """The ranges of the first bytes of characters that end a piece or may do so."""
    ends = np.isin(_classes(kind), [segments.BREAK, segments.HALF])
    first_bytes = np.zeros(256, np.bool_)
    first_bytes[[chr(code).encode()[0] for code in np.flatnonzero(ends).tolist()]] = True
    return ranges(first_bytes)


@functools.cache
def _abbreviations() -> Uint64s:
    """The known abbreviations as sorted 64-bit keys: lowercase, capitalised, and uppercase."""
    spellings = {form for word in lexicon("abbreviations") for form in (word, word.capitalize(), word.upper())}
    keys = [int.from_bytes(word.encode(), "big") for word in spellings if len(word.encode()) <= 8]
    return np.array(sorted(keys), np.uint64)
