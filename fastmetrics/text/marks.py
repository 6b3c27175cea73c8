"""Words with their places in the text and the gaps between them."""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.arrays import Bytes, Ids, Text, Tokens
from fastmetrics.kernels import marks
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


@functools.cache
def _classes() -> Bytes:
    classes = np.zeros(unicode.SIZE, np.uint8)
    classes[unicode.is_space()] = marks.SPACE
    classes[unicode.is_word()] = marks.WORD
    classes[[ord(digit) for digit in "0123456789"]] = marks.DIGIT
    for kind, characters in _GAPS.items():
        classes[[ord(character) for character in characters]] = kind
    return classes


def scan(text: Text) -> marks.Marks:
    """The words of every string: runs of word characters in the text as it stands."""
    room = int((text.stops - text.starts).sum()) // 2 + len(text)
    starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
    before, after = np.empty(room, np.int32), np.empty(room, np.int32)
    digit = np.empty(room, np.bool_)
    bounds = np.zeros(len(text) + 1, np.int64)
    found = marks.Marks(starts, stops, before, after, digit, bounds)
    n = marks.scan(text.data, text.starts, text.stops, _classes(), found)
    return marks.Marks(starts[:n], stops[:n], before[:n], after[:n], digit[:n], bounds)


def ids_of_marks(text: Text, found: marks.Marks, tokens: Tokens, vocabulary: Vocabulary) -> Ids:
    """The id of each word found by ``scan``: its token, or its first one by itself in a text that is cut otherwise.

    Only a text in which lower case adds characters (U+0130) is cut otherwise as ``words``.
    """
    counts = np.diff(found.bounds)
    same = tokens.counts == counts
    if same.all() and np.array_equal(tokens.starts, found.bounds[:-1]):
        return tokens.ids
    places = np.arange(len(found.starts)) + np.repeat(tokens.starts - found.bounds[:-1], counts)
    if same.all():
        return tokens.ids[places]
    apart = vocabulary.tokenize(Text(text.data, found.starts, found.stops, np.ones(len(found.starts), np.bool_)))
    alone = apart.ids[apart.starts]
    kept = np.repeat(same, counts)
    alone[kept] = tokens.ids[places[kept]]
    return alone
