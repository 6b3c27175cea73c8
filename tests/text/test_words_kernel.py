"""Words are found by a hash: two of the same hash must stay two words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics import text
from fastmetrics.base.arrays import text_of_strings
from fastmetrics.text.tokenize import Wordbook
from tests.reference.text import CONVENTIONS as REFERENCES

pytestmark = pytest.mark.slow

MIX, STIR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
UNMIX, UNSTIR = (pow(factor, -1, 1 << 64) for factor in (MIX, STIR))
MASK, TAG = (1 << 64) - 1, 0xFFFFFFFF << 32
LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-./:<=>?@^_|~")

# The halves of a word's first sixteen bytes and the eights of its tail are numbers; ``kernels.vocabulary`` mixes them
# in turn. Every step is invertible, so a test can construct a part of a word with a chosen hash.


def number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def hash_of(word: bytes) -> int:
    """The hash of a word, whose upper half the table keeps."""
    key = ((number(word[:8]) ^ (number(word[8:16]) * STIR)) * MIX) & MASK
    for place in range(16, len(word), 8):
        key = ((key ^ (key >> 32) ^ number(word[place : place + 8])) * MIX) & MASK
    return key


def parts_of_the_same_tag(key: int) -> Iterator[int]:
    """What ``MIX`` makes hashes of that share the upper half of ``key``."""
    return (((key & TAG) | low) * UNMIX & MASK for low in range(1 << 24))


def spelt(numbers: Iterator[int]) -> bytes:
    """The first number that is eight letters."""
    return next(part for part in (n.to_bytes(8, "little") for n in numbers) if LETTERS.issuperset(part))


def undo_fold(key: int) -> int:
    return key ^ (key >> 32)


FIRST, SECOND, THIRD, FOURTH = b"attached", b"sentence", b"fragment", b"adjusted"


def short_twins() -> tuple[bytes, bytes]:
    """Eight bytes each."""
    return FIRST, spelt(parts_of_the_same_tag(hash_of(FIRST)))


def twins_in_the_first_half() -> tuple[bytes, bytes]:
    parts = parts_of_the_same_tag(hash_of(FIRST + SECOND))
    return FIRST + SECOND, spelt(part ^ (number(SECOND) * STIR & MASK) for part in parts) + SECOND


def twins_in_the_second_half() -> tuple[bytes, bytes]:
    parts = parts_of_the_same_tag(hash_of(FIRST + SECOND))
    return FIRST + SECOND, FIRST + spelt((part ^ number(FIRST)) * UNSTIR & MASK for part in parts)


def twins_before_the_same_tail() -> tuple[bytes, bytes]:
    """The first eight of twenty-four bytes differ."""
    word = FIRST + SECOND + THIRD
    keys = (undo_fold(part ^ number(THIRD)) for part in parts_of_the_same_tag(hash_of(word)))
    return word, spelt((key * UNMIX & MASK) ^ (number(SECOND) * STIR & MASK) for key in keys) + SECOND + THIRD


def twins_in_the_tail() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND
    return begin + THIRD, begin + tail_after(begin, hash_of(begin + THIRD))


def twins_at_the_tails_end() -> tuple[bytes, bytes]:
    begin = FIRST + SECOND + THIRD
    return begin + FOURTH, begin + tail_after(begin, hash_of(begin + FOURTH))


def sixteen_bytes_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins."""
    return FIRST + SECOND, FIRST + SECOND + tail_after(FIRST + SECOND, hash_of(FIRST + SECOND))


def a_tail_and_more() -> tuple[bytes, bytes]:
    """One is how the other begins, both beyond sixteen bytes."""
    begin = FIRST + SECOND + THIRD
    return begin, begin + tail_after(begin, hash_of(begin))


def tail_after(begin: bytes, key: int) -> bytes:
    """Eight letters after which a word that begins so has the upper half of ``key``."""
    key_before = hash_of(begin)
    return spelt(part ^ undo_fold(key_before) for part in parts_of_the_same_tag(key))


TWINS = [
    short_twins,
    twins_in_the_first_half,
    twins_in_the_second_half,
    twins_before_the_same_tail,
    twins_in_the_tail,
    twins_at_the_tails_end,
    sixteen_bytes_and_more,
    a_tail_and_more,
]


@pytest.mark.parametrize("twins", TWINS)
def test_words_with_equal_hashes_are_distinct(twins) -> None:
    for one, other in (twins(), twins()[::-1]):
        words = [one.decode(), other.decode()]
        vocabulary = Wordbook().vocabulary("split")
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
