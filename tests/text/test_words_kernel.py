"""Words are found by a hash: two of the same hash must stay two words."""

from __future__ import annotations

import random

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.arrays import text_of_strings
from fastmetrics.text import tokenize
from fastmetrics.text.tokenize import Vocabularies
from tests.reference.text import CONVENTIONS as REFERENCES

SECRET = (0, 1)
"""A secret under which the hash can be inverted: the upper half of a product of letters can be chosen."""

LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-./:<=>?@^_|~"
HALF = (1 << 32) - 1


def number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def product(key: int) -> int:
    return (key & HALF) * (key >> 32)


def hash_of(word: bytes) -> int:
    """The hash of a word, whose upper half the table keeps."""
    key = number(word[:8]) ^ product(number(word[8:16]))
    for place in range(16, len(word), 8):
        key = product(key ^ number(word[place : place + 8]))
    return key


def eight_letters(before: int, key: int) -> bytes:
    """Letters whose number, xored with ``before``, has a product with the upper half of ``key``."""
    drawn = random.Random(1)
    while True:
        first = bytes(drawn.choices(LETTERS, k=4))
        factor = number(first) ^ before & HALF
        if factor > key >> 32:
            other = ((key >> 32 << 32) // factor + 1) ^ before >> 32
            if other <= HALF and set(other.to_bytes(4, "little")) <= set(LETTERS):
                return first + other.to_bytes(4, "little")


FIRST, SECOND, THIRD, FOURTH = b"attached", b"sentence", b"together", b"adjusted"


def short_twins() -> tuple[bytes, bytes]:
    """Eight bytes each."""
    return FIRST, b"over" + FIRST[4:]


def twins_in_the_first_half() -> tuple[bytes, bytes]:
    return FIRST + SECOND, b"over" + FIRST[4:] + SECOND


def twins_in_the_second_half() -> tuple[bytes, bytes]:
    """The upper halves of the products are equal, and so are those of the hashes."""
    return FIRST + SECOND, FIRST + eight_letters(0, product(number(SECOND)))


def twins_before_the_same_tail() -> tuple[bytes, bytes]:
    """The first eight of twenty-four bytes differ."""
    word = FIRST + SECOND + THIRD
    return word, eight_letters(product(number(SECOND)) ^ number(THIRD), hash_of(word)) + SECOND + THIRD


def twins_in_the_tail() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND
    return begin + THIRD, begin + eight_letters(hash_of(begin), hash_of(begin + THIRD))


def twins_at_the_tails_end() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND + THIRD
    return begin + FOURTH, begin + eight_letters(hash_of(begin), hash_of(begin + FOURTH))


def sixteen_bytes_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins."""
    begin = FIRST + SECOND
    return begin, begin + eight_letters(hash_of(begin), hash_of(begin))


def a_tail_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins, both beyond sixteen bytes."""
    begin = FIRST + SECOND + THIRD
    return begin, begin + eight_letters(hash_of(begin), hash_of(begin))


TWINS = [
    *(short_twins, twins_in_the_first_half, twins_in_the_second_half, twins_before_the_same_tail, twins_in_the_tail),
    *(twins_at_the_tails_end, sixteen_bytes_and_more, a_tail_and_more),
]


@pytest.mark.parametrize("twins", TWINS)
def test_words_with_equal_hashes_are_distinct(twins, monkeypatch) -> None:
    monkeypatch.setattr(tokenize, "SECRET", np.array(SECRET, np.uint64))
    for one, other in (twins(), twins()[::-1]):
        words = [one.decode(), other.decode()]
        vocabulary = Vocabularies().vocabulary("split")
        tokens = vocabulary.tokenize(text_of_strings([*words, " ".join(words), " ".join(reversed(words))]))
        slots = vocabulary.arrays.slots[vocabulary.arrays.slots != 0]
        assert len(np.unique(slots >> np.uint64(32))) == 1, "the hashes do not collide: this test tests nothing"
        assert tokens.ids.tolist() == [0, 1, 0, 1, 1, 0]
        assert vocabulary.words() == words


def test_vocabulary_grows_beyond_initial_tables() -> None:
    """A batch of a million distinct words, short and long, all looked up again."""
    rng = np.random.default_rng(1)
    numbers = rng.permutation(1_000_000)
    answers = [" ".join(f"{n}{'abcdefghij' * (n % 3)}" for n in part.tolist()) for part in np.split(numbers, 100)]
    turned = [" ".join(reversed(answer.split())) for answer in answers]
    assert fm.token_f1(answers, turned, threads=1).tolist() == [1.0] * 100
    assert fm.token_f1(answers, turned[1:] + turned[:1], threads=1).tolist() == [0.0] * 100


PARTS = [*"xЖЁяÉΩΠΣשب٣中’«—\u212a\x00-' \u2028", "..."]


@pytest.mark.parametrize("name", REFERENCES)
def test_words_at_the_borders_of_blocks_are_those_of_the_definition(name: str) -> None:
    """Text is folded in blocks of 64 bytes: each character and pair at every place around a border."""
    pairs = [one + other for one in PARTS for other in PARTS]
    texts = [
        f"{'a' * size}{part}Bc. {part} d" for size in (0, *range(58, 66), *range(122, 130)) for part in PARTS + pairs
    ]
    for sliced in (texts, [value.rstrip() for value in texts]):
        assert text.tokens(sliced, name) == [REFERENCES[name](value) for value in sliced]


HARD = ["İ", "ΑΣ", "\u212a", "Ⱥ", "ẞ", "a\u0301n", "§the§", "&amp;", "北京", "\x00", "𝔸"]


@pytest.mark.parametrize("name", REFERENCES)
def test_a_hard_text_among_short_ones_leaves_them_as_they_are(name: str) -> None:
    """Short texts are folded together, unless one has a character that does not become as many bytes."""
    short = [f"Text {number}, the {'word' * (number % 7)}'s Ends." for number in range(40)]
    for hard in HARD:
        for place in (0, 1, 5, 38, 39):
            texts = [*short[:place], f"{hard} x{hard}y. The {hard}B{hard}", *short[place + 1 :]]
            assert text.tokens(texts, name) == [REFERENCES[name](value) for value in texts], (hard, place)


def test_articles_are_dropped_next_to_symbols_of_any_length() -> None:
    """A symbol that keeps its bytes still ends a word, at which ``squad`` looks for an article."""
    texts = [f"{before}the{after} cat" for before in ("", "+", "§", "€", "😀") for after in ("", "=", "¬", "→", "🂡")]
    assert text.tokens(texts, "squad") == [REFERENCES["squad"](value) for value in texts]


def test_every_letter_of_two_bytes_is_lower_cased_as_in_python() -> None:
    letters = [chr(code) for code in range(0x80, 0x800)]
    texts = [f"a{letter} {letter}{letter.upper()}{letter * 40}" for letter in letters]
    assert text.tokens(texts, "split") == [value.lower().split() for value in texts]


def test_texts_of_all_lengths_are_read_to_their_last_byte_and_not_beyond() -> None:
    """The last text ends where its buffer ends."""
    for size in range(200):
        words = ["b" * size, "я" * size, "c"]
        assert text.tokens(words, "split") == [[word] if word else [] for word in words]
