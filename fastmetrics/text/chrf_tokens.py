"""Characters and words for chrF."""

from __future__ import annotations

import functools
import string

import numpy as np

from fastmetrics.core.arrays import Flags, Tokens
from fastmetrics.kernels.text import chrf
from fastmetrics.text.tokenize import Folded, Vocabulary

N_CHARACTERS = 0x110100
"""All code points, followed by the bytes that encode others in folded text."""


def characters(folded: Folded, whitespace: bool) -> Tokens:
    """The characters of each folded text, without spaces unless ``whitespace``."""
    bounds = np.zeros(len(folded.starts) + 1, np.int64)
    out = np.empty(int((folded.stops - folded.starts).sum()) + 1, np.int32)
    chrf.characters(folded.data, folded.starts, folded.stops, -1 if whitespace else 0x20, out, bounds)
    return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], N_CHARACTERS)


def words(folded: Folded, vocabulary: Vocabulary) -> Tokens:
    """The words of each folded text; an ASCII punctuation mark at a word's end, or else at its start, is split off."""
    bounds = np.zeros(len(folded.starts) + 1, np.int64)
    size = 2 * int((folded.stops - folded.starts + 1).sum()) + 32
    data = np.empty(size - size % 8, np.uint8)
    chrf.split_ends(folded.data, folded.starts, folded.stops, _punctuation(), data, bounds)
    return vocabulary.cut(Folded(data, bounds, None))


@functools.cache
def _punctuation() -> Flags:
    flags = np.zeros(256, np.bool_)
    flags[[ord(character) for character in string.punctuation]] = True
    return flags
