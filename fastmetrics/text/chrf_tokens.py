"""Characters and words for chrF."""

from __future__ import annotations

import functools
import string

import numpy as np

from fastmetrics.base.arrays import Flags, Text, Tokens
from fastmetrics.kernels import sacrebleu_tokenizers as kernels
from fastmetrics.kernels.id_blocks import WIDENED
from fastmetrics.text import unicode
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Folded, Rewriter, Vocabulary, Wordbook

N_CHARACTERS = 0x110100
"""All code points, followed by the bytes that encode others in folded text."""


def characters(folded: Folded, whitespace: bool) -> Tokens:
    """The characters of each folded text, without spaces unless ``whitespace``."""
    bounds = np.zeros(len(folded.starts) + 1, np.int64)
    out = np.empty(int((folded.stops - folded.starts).sum()) + 1, np.int32)
    kernels.characters(folded.data, folded.starts, folded.stops, -1 if whitespace else 0x20, out, bounds)
    return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], N_CHARACTERS)


def visible_characters(text: Text) -> Tokens:
    """The characters of each text but white space."""
    bounds = np.zeros(len(text) + 1, np.int64)
    out = np.empty(int((text.stops - text.starts).sum()) + 1 + WIDENED, np.int32)
    kernels.visible_characters(text.data, text.starts, text.stops, unicode.is_space(), out, bounds)
    return Tokens(out[: bounds[-1]], bounds[:-1], bounds[1:], N_CHARACTERS)


def words(tokens: Tokens, name: str, book: Wordbook) -> Tokens:
    """chrF's words of each text from its words under ``name``, which is ``none`` or ``split``."""
    rewriter = book.remember(
        ("chrf words", name), lambda: Rewriter(book.vocabulary(name), WordEnds(Vocabulary(convention(name))))
    )
    return rewriter.tokens(tokens)


class WordEnds:
    """The words of chrF: an ASCII punctuation mark at a word's end, or else at its start, is a word."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self._vocabulary)

    def retokenize(self, words: Text) -> Tokens:
        """The parts of each of ``words``, which are folded."""
        bounds = np.zeros(len(words) + 1, np.int64)
        size = 2 * int((words.stops - words.starts + 1).sum()) + 32
        data = np.empty(size - size % 8, np.uint8)
        kernels.split_ends(words.data, words.starts, words.stops, _punctuation(), data, bounds)
        return self._vocabulary.cut(Folded(data, bounds, None))


@functools.cache
def _punctuation() -> Flags:
    flags = np.zeros(256, np.bool_)
    flags[[ord(character) for character in string.punctuation]] = True
    return flags
