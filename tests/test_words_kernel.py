"""Words are found by a hash: two of the same hash must stay two words."""

import itertools

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.kernels import vocabulary
from tests.reference import lexical

STIR = 0xD6E8FEB86659FD93
LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def colliding_pair() -> tuple[str, str]:
    """Two words of sixteen letters: their second halves stir so little apart that the first halves make up for it."""
    rng = np.random.default_rng(7)
    ends = rng.choice(np.frombuffer(LETTERS, np.uint8), (1 << 16, 8))
    with np.errstate(over="ignore"):
        states = np.ascontiguousarray(ends).view(np.uint64).ravel() * np.uint64(STIR)
    tops = states & np.uint64(0xE0E0E0E0E0E0E0E0)
    order = np.argsort(tops, kind="stable")
    for i in np.flatnonzero(tops[order][1:] == tops[order][:-1]):
        one, other = order[i], order[i + 1]
        difference = int(states[one] ^ states[other]).to_bytes(8, "little")
        begins = [next(((a, a ^ d) for a in LETTERS if a ^ d in LETTERS), None) for d in difference]
        if None not in begins and not np.array_equal(ends[one], ends[other]):
            left, right = zip(*filter(None, begins), strict=True)
            return (bytes(left) + ends[one].tobytes()).decode(), (bytes(right) + ends[other].tobytes()).decode()
    raise AssertionError("no pair among 65,536 words")


def test_words_of_the_same_hash_stay_apart() -> None:
    one, other = colliding_pair()
    packed = np.frombuffer(f"{one}{other}        ".encode(), np.uint8)
    first, second = (vocabulary.key_of(packed, np.uint64(p), np.uint64(16)) for p in (0, 16))
    assert first[2] == second[2]
    assert first[:2] != second[:2]
    assert one != other
    answers = [one, other, f"{one} {other}", f"{other} x {one}"]
    rows = list(itertools.product(answers, answers))
    columns = [a for a, _ in rows], [b for _, b in rows]
    for name in ("token_f1", "keyword_recall", "squad_em"):
        slow = [getattr(lexical, name)(*row) for row in rows]
        assert getattr(fm, name)(*columns) == pytest.approx(slow, rel=1e-15)


def test_vocabulary_that_outgrows_every_table() -> None:
    """A batch of a million distinct words, short and long, all looked up again."""
    rng = np.random.default_rng(1)
    numbers = rng.permutation(1_000_000)
    answers = [" ".join(f"{n}{'abcdefghij' * (n % 3)}" for n in part.tolist()) for part in np.split(numbers, 100)]
    turned = [" ".join(reversed(answer.split())) for answer in answers]
    assert fm.token_f1(answers, turned, threads=1).tolist() == [1.0] * 100
    assert fm.token_f1(answers, turned[1:] + turned[:1], threads=1).tolist() == [0.0] * 100
