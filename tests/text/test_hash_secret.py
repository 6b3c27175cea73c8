"""The hash of words is secret: words made to collide do not, and no number of a word depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from fastmetrics.base.arrays import text_of_strings
from fastmetrics.text import tokenize
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary

MIX, STIR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
PREFIX = "sixteencharacter"
KNOWN_BITS = 16


def fixed_hash(word: str) -> int:
    """A hash without a secret, of words of 8 letters or of the prefix and 8 letters."""
    numbers = [int.from_bytes(word[at : at + 8].encode(), "little") for at in range(0, len(word), 8)]
    key = numbers[0] * MIX
    if len(numbers) == 3:
        key = (numbers[0] ^ numbers[1] * STIR) * MIX % 2**64
        key = (key ^ key >> 32 ^ numbers[2]) * MIX
    return key % 2**64


def colliding(prefix: str) -> list[str]:
    """Words whose fixed hashes begin with the same bits: halves of letters whose products add up to the sought one."""
    start = fixed_hash(prefix + "\0" * 8) if prefix else 0
    before = start * pow(MIX, -1, 2**64) % 2**64  # what the letters are xored with
    letters = np.random.default_rng(7).integers(97, 123, (2, 30_000, 4)).astype(np.uint8)
    halves = [np.unique(half.reshape(-1, 4).view("<u4").ravel()).astype(np.uint64) for half in letters]
    low = (halves[0] ^ np.uint64(before & 0xFFFFFFFF)) * np.uint64(MIX)
    high = (halves[1] << np.uint64(32) ^ np.uint64(before >> 32 << 32)) * np.uint64(MIX)
    order = np.argsort(high)
    sorted_high, least = high[order], np.uint64(1 << 63) - low  # hashes from 2**63 on
    ends = [np.searchsorted(sorted_high, least + np.uint64(add)) for add in (0, 1 << (64 - KNOWN_BITS))]
    words = []
    for i in np.flatnonzero(ends[1] > ends[0]).tolist():
        for j in order[ends[0][i] : ends[1][i]].tolist():
            word = int(halves[0][i] | halves[1][j] << np.uint64(32)).to_bytes(8, "little")
            words.append(prefix + word.decode())
    return words


def further_slots(vocabulary: Vocabulary) -> int:
    """How many slots the words lie behind their first ones, together: the further slots that looking each up visits."""
    slots = vocabulary.arrays.slots
    places = np.flatnonzero(slots)
    first = (slots[places] >> np.uint64(64 - (len(slots).bit_length() - 1))).astype(np.int64)
    return int(((places - first) % len(slots)).sum())


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_words_made_to_collide_have_slots_of_their_own(prefix: str) -> None:
    words = colliding(prefix)
    assert len(words) > 10_000
    assert len({fixed_hash(word) >> (64 - KNOWN_BITS) for word in words}) == 1
    vocabulary = Vocabulary(convention("words"))
    for start in range(0, len(words), 1000):
        vocabulary.tokenize(text_of_strings([" ".join(words[start : start + 1000])]))
    assert len(vocabulary) == len(words)
    assert further_slots(vocabulary) < 10 * len(words), "all in one run of slots, they are len(words) ** 2 / 2"


def test_no_number_depends_on_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    letters = np.array(list("abcdeжщё漢é12"))
    words = ["".join(random.choice(letters, n)) for n in random.integers(1, 50, 3000)]
    texts = text_of_strings([" ".join(random.choice(words, 40)) for _ in range(300)])
    drawn = [(int(a), int(b) | 1) for a, b in random.integers(0, 2**63, (3, 2))]
    found = []
    for secret in [(0, 1), (2**64 - 1, 2**64 - 1), *drawn]:
        monkeypatch.setattr(tokenize, "SECRET", np.array(secret, np.uint64))
        vocabulary = Vocabulary(convention("words"))
        found.append((vocabulary.tokenize(texts).ids.tolist(), vocabulary.words()))
    assert all(one == found[0] for one in found)
    listed = " ".join(texts.strings()).split()
    numbers = {word: number for number, word in enumerate(dict.fromkeys(listed))}
    assert found[0][0] == [numbers[word] for word in listed], "numbers are in the order of first occurrence"
