"""Words with their positions in the text, and the properties of every word of a vocabulary."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ids, Ints, Text, Tokens, text_of_strings
from fastmetrics.kernels import claim_support, claims, numbers, picked_words
from fastmetrics.kernels import located_words as marks
from fastmetrics.kernels.byte_search import count_characters
from fastmetrics.kernels.located_words import endings
from fastmetrics.kernels.numbers import WordValues
from fastmetrics.kernels.picked_words import Picked, WordSenses
from fastmetrics.text import conventions
from fastmetrics.text.conventions import convention
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.plain_numbers import ENGLISH, LONG_SCALES, is_hard, is_stand_in, sense_beside_number
from fastmetrics.text.tokenize import Vocabulary

# Properties of every word of a vocabulary, from word lists and spelling.


SUFFIXES = ("ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
"""Suffixes removed from English words, tried in this order."""

KINDS = {
    "number": numbers.W_NUMBER,
    "dozen": numbers.W_DOZEN,
    "twice": numbers.W_TWICE,
    "weak": numbers.W_WEAK,
    "ordinal": numbers.W_ORDINAL,
    "unit": numbers.W_UNIT,
    "parts": numbers.W_PARTS,
    "fraction": numbers.W_FRACTION,
    "minus": numbers.W_MINUS,
    "scale": numbers.W_SCALE,
    "month": numbers.W_MONTH,
    "weekday": numbers.W_WEEKDAY,
    "percent": numbers.W_PERCENT,
    "per": numbers.W_PER,
    "cent": numbers.W_CENT,
    "half-day": numbers.W_HALF_DAY,
    "currency": numbers.W_CURRENCY,
    "of": numbers.W_OF,
    "and": numbers.W_AND,
    "article": numbers.W_ARTICLE,
    "times": numbers.W_TIMES,
    "to": numbers.W_TO,
    "quarter": numbers.W_QUARTER,
    "link": numbers.W_LINK,
    "plus": numbers.W_PLUS,
    "before": numbers.W_BEFORE,
    "after": numbers.W_AFTER,
    "between": numbers.W_BETWEEN,
    "compound": numbers.W_COMPOUND,
    "unclear": numbers.W_UNCLEAR,
    "hard": numbers.W_HARD,
}
"""The kinds of words in the lexicon "values"."""

DIGITS = np.frombuffer(b"0123456789", np.uint8)
MOST_DIGITS = 15
"""Those that a float holds exactly."""


def word_list(*names: str) -> tuple[str, ...]:
    """The words of lexicons with several words per line."""
    return tuple(dict.fromkeys(word for name in names for line in lexicon(name) for word in line.split()))


STOP_WORDS = word_list("stop_en", "stop_ru")
"""English and Russian stop words."""


class Senses:
    """Properties per word of a vocabulary, up to the last ``catch_up``.

    ``roles`` are the bits of ``kernels.clauses``; ``negations`` those of ``kernels.novelty``; ``stems`` the number of
    the stem; ``kinds`` and ``amounts`` what ``kernels.numbers`` reads; ``worth`` what ``kernels.picked_words`` does;
    ``lengths`` the characters.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._stems = Vocabulary(convention("words"))
        self.roles, self.negations, self.kinds = (np.zeros(0, np.uint8) for _ in range(3))
        self.stems, self.lengths = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self.amounts, self.worth, self.known = np.zeros(0), np.zeros(0, np.uint8), np.zeros(0, np.uint8)
        self._lists = [(role, vocabulary.tokenize(words).ids) for role, words in _roles()]
        negations = [(bit, vocabulary.tokenize(words).ids) for bit, words in _negations()]
        words, kinds, amounts = _says()
        self._values = vocabulary.tokenize(words).ids, kinds, amounts
        self.catch_up()
        for role, ids in self._lists:
            self.roles[ids] |= role
        for bit, ids in negations:
            self.negations[ids] = bit
        ids = self._values[0]
        operations = (kinds >= numbers.W_OF) | (kinds == numbers.W_MINUS)  # which are named where they change a number
        begins = (kinds < numbers.W_SCALE) | ((kinds >= numbers.W_BEFORE) & (kinds <= numbers.W_BETWEEN))
        self.kinds[ids], self.amounts[ids] = kinds, np.where(operations, ids, amounts)
        self.worth[ids] = np.where(begins, picked_words.BEGINS, picked_words.FOLLOWS)
        self.known[ids] = picked_words.KNOWN
        for known, some in ((picked_words.ENGLISH, ENGLISH), (picked_words.LONG_SCALE, LONG_SCALES)):
            self.known[vocabulary.tokenize(text_of_strings(some)).ids] = known

    @property
    def n_stems(self) -> int:
        """The number of stems."""
        return len(self._stems)

    @property
    def of_values(self) -> WordSenses:
        """What the words mean as parts of values."""
        return WordSenses(self.worth, self.kinds, self.amounts, self.known)

    def learn(self) -> None:
        """Look up the words that were found beside numbers in the names of all languages."""
        asked = np.flatnonzero(self.known == picked_words.ASKED)
        self.known[asked] = picked_words.KNOWN
        first = int(asked[0]) if len(asked) else len(self._vocabulary)
        words = self._vocabulary.spelled(first).take(asked - first).strings()
        for word, sense in zip(asked.tolist(), map(sense_beside_number, words), strict=True):
            if sense is not None:
                kind, amount = sense
                self.kinds[word] = KINDS[kind]
                self.amounts[word] = word if amount is None else amount
                begins = kind in ("month", "unclear") or self.worth[word] == picked_words.BEGINS
                self.worth[word] = picked_words.BEGINS if begins else picked_words.FOLLOWS

    def catch_up(self) -> Senses:
        """Process the words added since the last call."""
        first = len(self.roles)
        if first < len(self._vocabulary):
            new = self._vocabulary.spelled(first)
            ends = np.empty(len(new), np.int64)
            past = endings(new.data, new.starts, new.stops, _suffixes(), ends)
            stems = self._stems.tokenize(Text(new.data, new.starts, ends, new.valid))
            self.roles = _longer(self.roles, past * np.uint8(claims.VERB))
            self.stems = _longer(self.stems, stems.ids[stems.starts])
            lengths = count_characters(new.data, new.starts, new.stops)
            digits = np.concatenate([[0], np.cumsum(np.isin(new.data, DIGITS))])
            digit = digits[new.starts + 1] > digits[new.starts]
            whole = digits[new.stops] - digits[new.starts] == new.stops - new.starts
            places = np.arange(first, first + len(new))
            long = digit & (lengths > MOST_DIGITS)  # a value of its own, as a hash is
            kinds = np.where(is_hard(new), numbers.W_HARD, 0)
            kinds[long] = numbers.W_UNREAD
            versions = (new.data[new.starts] == ord("v")) & (lengths > 1)
            versions[versions] = np.isin(new.data[new.starts[versions] + 1], DIGITS)
            kinds[versions] = numbers.W_CODE
            kinds[is_stand_in(new)] = numbers.W_UNREAD
            begins = digit | (kinds > 0)
            self.lengths = _longer(self.lengths, lengths)
            self.worth = _longer(self.worth, np.where(begins, picked_words.BEGINS, lengths == 1))  # letters, as in p.m.
            self.kinds = _longer(self.kinds, kinds)
            self.known = _longer(self.known, np.where(whole, picked_words.KNOWN, picked_words.UNASKED))
            self.negations = _longer(self.negations, np.zeros(len(new), np.uint8))
            self.amounts = _longer(self.amounts, np.where(kinds > 0, places, 0.0))
        return self


def _longer(array: Any, more: Any) -> Any:
    return np.concatenate([array, more.astype(array.dtype)])


@functools.cache
def _roles() -> tuple[tuple[int, Text], ...]:
    lists = {
        claims.STOP: (*STOP_WORDS, *word_list("discourse")),
        claims.VERB: word_list("assertive"),
        claims.HEDGE: word_list("hedges"),
        claims.PERSON: word_list("persons"),
        claims.ANAPHOR: word_list("anaphors"),
        claims.ABBREVIATION: lexicon("abbreviations"),
    }
    return tuple((role, text_of_strings(words)) for role, words in lists.items())


@functools.cache
def _negations() -> tuple[tuple[int, Text], ...]:
    lists = {
        claim_support.NEGATES: word_list("negations"),
        claim_support.CONTRACTED: word_list("contracted"),
        claim_support.SUFFIX: ("t",),
    }
    return tuple((bit, text_of_strings(words)) for bit, words in lists.items())


@functools.cache
def _says() -> tuple[Text, Bytes, Floats]:
    """The words that are part of values, with kind and amount; the last line for a word counts."""
    values: dict[str, tuple[int, float]] = {}
    for line in lexicon("values"):
        kind, amount, *forms = line.split()
        values.update(dict.fromkeys(forms, (KINDS[kind], float(amount))))
    kinds, amounts = zip(*values.values(), strict=True)
    return text_of_strings(values), np.array(kinds, np.uint8), np.array(amounts)


@functools.cache
def _suffixes() -> Ints:
    return np.array([int.from_bytes(suffix.encode(), "big") for suffix in SUFFIXES])


# Words with their positions in the text and the gaps between them.


CURRENCIES = "$€£¥₽₹"

_GAPS = {
    marks.COMMA: ",",
    marks.DOT: ".",
    marks.HYPHEN: "-‐‑‒–—−",
    marks.SLASH: "/⁄∕",
    marks.COLON: ":",
    marks.APOSTROPHE: "'’",
    marks.PERCENT: "%‰",
    marks.QUESTION: "?？",
    marks.END: "!…。！",
    marks.CLAUSE: ';()«»“”"',
    marks.OPEN: "[",
    marks.CLOSE: "]",
    marks.LINE: "\n",
    marks.OPERATOR: "\\^<>≤≥≠±∓√∛∜+÷°",
    **{marks.CURRENCY + 1 + place: sign for place, sign in enumerate(CURRENCIES)},
}


_SHARE = 8
"""Of so many words, at most one is part of a value in most texts: more room is only made where it is needed."""


@functools.cache
def _classes() -> Bytes:
    classes = np.zeros(conventions.SIZE, np.uint8)
    classes[conventions.is_space()] = marks.SPACE
    classes[conventions.is_word()] = marks.WORD
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


def pick(text: Text, ids: Ids, first: Ints, counts: Ints, senses: WordSenses) -> Picked | None:
    """The words that can be part of values, with meanings and positions; None if words and ids do not match.

    The ids of string i are the ``counts[i]`` ids from ``ids[first[i]]`` on.
    """
    most = int(counts.sum())
    strings = picked_words.Strings(text.data, text.starts, text.stops, ids, first)
    for room in (most // _SHARE + int(counts.max(initial=0)), most):
        values = WordValues(np.empty(room, np.uint8), np.empty(room))
        picked = Picked(_room(len(text), room), values, np.empty(room, np.int64), np.zeros(len(text), np.bool_))
        n = picked_words.pick(strings, counts, _classes(), senses, picked)
        if n >= 0:
            values = WordValues(values.kinds[:n], values.amounts[:n])
            return Picked(_first(picked.marks, n), values, picked.places[:n], picked.hard)
        if n == picked_words.UNEQUAL:
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
