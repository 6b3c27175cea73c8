"""Words with their places and the gaps between them, and what the word lists say of each word."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from fastmetrics.arrays import Bytes, Floats, Ids, Ints, Text, Tokens, text_of_strings
from fastmetrics.kernels import claims, marks, values
from fastmetrics.text import unicode
from fastmetrics.text.conventions import convention
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.tokenize import Vocabulary

SUFFIXES = ("ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
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
    """The id of each word found by ``scan``: those of ``tokens`` where both cut alike, else the word's first token."""
    if len(tokens.ids) == len(found.starts) and np.array_equal(tokens.counts, np.diff(found.bounds)):
        ids = tokens.ids
        if len(tokens.starts) == 0 or np.array_equal(tokens.starts, found.bounds[:-1]):
            return ids
    alone = Text(text.data, found.starts, found.stops, np.ones(len(found.starts), np.bool_))
    apart = vocabulary.tokenize(alone)
    return apart.ids[apart.starts]


_KINDS = {
    "number": values.W_NUMBER,
    "weak": values.W_WEAK,
    "parts": values.W_PARTS,
    "scale": values.W_SCALE,
    "month": values.W_MONTH,
    "weekday": values.W_WEEKDAY,
    "percent": values.W_PERCENT,
    "per": values.W_PER,
    "cent": values.W_CENT,
    "half-day": values.W_HALF_DAY,
    "currency": values.W_CURRENCY,
    "of": values.W_OF,
}


@functools.cache
def _says() -> tuple[Text, Bytes, Floats]:
    """The words that say something of values, what each is, and its amount; the last line that names a word counts."""
    found: dict[str, tuple[int, float]] = {}
    for line in lexicon("values"):
        kind, amount, *forms = line.split()
        found.update(dict.fromkeys(forms, (_KINDS[kind], float(amount))))
    kinds, amounts = zip(*found.values(), strict=True)
    return text_of_strings(found), np.array(kinds, np.uint8), np.array(amounts)


def said(vocabulary: Vocabulary) -> values.Said:
    """What each word of the vocabulary says of values."""
    words, kinds, amounts = _says()
    ids = vocabulary.tokenize(words).ids
    all_kinds, all_amounts = np.zeros(len(vocabulary), np.uint8), np.zeros(len(vocabulary))
    all_kinds[ids], all_amounts[ids] = kinds, amounts
    return values.Said(all_kinds, all_amounts)


def word_list(*names: str) -> tuple[str, ...]:
    """The words of lexicons whose lines hold several."""
    return tuple(dict.fromkeys(word for name in names for line in lexicon(name) for word in line.split()))


STOP_WORDS = word_list("stop_en", "stop_ru")
"""English and Russian words that carry no topic of their own."""


@functools.cache
def _role_words() -> tuple[tuple[int, Text], ...]:
    lists: dict[int, Iterable[str]] = {
        claims.STOP: (*STOP_WORDS, *word_list("discourse")),
        claims.VERB: word_list("assertive"),
        claims.HEDGE: word_list("hedges"),
        claims.PERSON: word_list("persons"),
        claims.ABBREVIATION: lexicon("abbreviations"),
    }
    return tuple((role, text_of_strings(words)) for role, words in lists.items())


def roles_and_stems(vocabulary: Vocabulary) -> tuple[Bytes, Ints]:
    """What each word of the vocabulary may be in a sentence, and the number of its stem."""
    lists = [(role, vocabulary.tokenize(words).ids) for role, words in _role_words()]
    n = len(vocabulary)
    starts = 8 * vocabulary.arrays.begins[:n]
    stops = starts + vocabulary.arrays.lengths[:n]
    data = vocabulary.arrays.arena.view(np.uint8)
    ends = np.empty(n, np.int64)
    past = claims.endings(data, starts, stops, _suffixes(), ends)
    roles = np.where(past, claims.VERB, 0).astype(np.uint8)
    for role, ids in lists:
        roles[ids] |= role
    stems = Vocabulary(convention("words"))
    return roles, stems.tokenize(Text(data, starts, ends, np.ones(n, np.bool_))).ids.astype(np.int64)


@functools.cache
def _suffixes() -> Ints:
    return np.array([int.from_bytes(suffix.encode(), "big") for suffix in SUFFIXES])
