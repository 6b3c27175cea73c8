"""Words with their positions in the text and the gaps between them."""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints, Text, Tokens
from fastmetrics.kernels import located_words as marks
from fastmetrics.kernels import values as figures
from fastmetrics.kernels.values import WordValues
from fastmetrics.text import unicode
from fastmetrics.text.tokenize import Vocabulary

CURRENCIES = "$€£¥₽₹"

_GAPS = {
    marks.COMMA: ",",
    marks.DOT: ".",
    marks.HYPHEN: "-‐‑‒–—−",
    marks.SLASH: "/",
    marks.COLON: ":",
    marks.APOSTROPHE: "'’",
    marks.PERCENT: "%",
    marks.QUESTION: "?？",
    marks.END: "!…。！",
    marks.CLAUSE: ';()«»“”"',
    marks.OPEN: "[",
    marks.CLOSE: "]",
    marks.LINE: "\n",
    **{marks.CURRENCY + 1 + place: sign for place, sign in enumerate(CURRENCIES)},
}


_SHARE = 8
"""Of so many words, at most one is part of a value in most texts: more room is only made where it is needed."""


@functools.cache
def _classes() -> Bytes:
    classes = np.zeros(unicode.SIZE, np.uint8)
    classes[unicode.is_space()] = marks.SPACE
    classes[unicode.is_word()] = marks.WORD
    classes[[ord(digit) for digit in "0123456789"]] = marks.DIGIT
    for kind, characters in _GAPS.items():
        classes[[ord(character) for character in characters]] = kind
    return classes


def _room(n_texts: int, n_words: int) -> marks.Marks:
    """Arrays for words; memory without words is never touched."""
    return marks.Marks(
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int32),
        np.empty(n_words, np.int32),
        np.empty(n_words, np.bool_),
        np.zeros(n_texts + 1, np.int64),
    )


def _first(words: marks.Marks, n: int) -> marks.Marks:
    """The first ``n`` of the words."""
    starts, stops, before, after, digit, bounds = words
    return marks.Marks(starts[:n], stops[:n], before[:n], after[:n], digit[:n], bounds)


def scan(text: Text) -> marks.Marks:
    """The words of every string: runs of word characters in the original text."""
    words = _room(len(text), int((text.stops - text.starts).sum()) // 2 + len(text))
    return _first(words, marks.scan(text.data, text.starts, text.stops, _classes(), words))


def pick(text: Text, ids: Ids, first: Ints, counts: Ints, senses: figures.WordSenses) -> figures.Picked | None:
    """The words that can be part of values, with meanings and positions; None if words and ids do not match.

    The ids of string i are the ``counts[i]`` ids from ``ids[first[i]]`` on.
    """
    most = int(counts.sum())
    strings = figures.Strings(text.data, text.starts, text.stops, ids, first)
    for room in (most // _SHARE + int(counts.max(initial=0)), most):
        values = WordValues(np.empty(room, np.uint8), np.empty(room))
        picked = figures.Picked(_room(len(text), room), values, np.empty(room, np.int64))
        n = figures.pick(strings, counts, _classes(), senses, picked)
        if n >= 0:
            values = WordValues(values.kinds[:n], values.amounts[:n])
            return figures.Picked(_first(picked.marks, n), values, picked.places[:n])
        if n == figures.UNEQUAL:
            break
    return None


def ids_of_marks(text: Text, words: marks.Marks, tokens: Tokens, vocabulary: Vocabulary) -> Ids:
    """The id of each word found by ``scan``: its token, or its first token if the text is split differently.

    Only texts in which lowercasing adds characters (U+0130) are split differently from ``words``.
    """
    counts = np.diff(words.bounds)
    same = tokens.counts == counts
    if same.all() and np.array_equal(tokens.starts, words.bounds[:-1]):
        return tokens.ids
    places = np.arange(len(words.starts)) + np.repeat(tokens.starts - words.bounds[:-1], counts)
    if same.all():
        return tokens.ids[places]
    separate = vocabulary.tokenize(Text(text.data, words.starts, words.stops, np.ones(len(words.starts), np.bool_)))
    ids = separate.ids[separate.starts]
    same_words = np.repeat(same, counts)
    ids[same_words] = tokens.ids[places[same_words]]
    return ids
