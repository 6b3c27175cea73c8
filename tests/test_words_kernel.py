"""Words longer than eight bytes are found by a hash: two of the same hash must stay two words."""

import itertools

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.kernels import words
from tests.reference import lexical

MIX = 0x9E3779B97F4A7C15
LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def after_eight_bytes(heads: np.ndarray) -> np.ndarray:
    """The hash's state after the first eight bytes of words of sixteen."""
    with np.errstate(over="ignore"):
        state = (heads ^ np.uint64(16)) * np.uint64(MIX)
    return state ^ (state >> np.uint64(32))


def colliding_pair() -> tuple[str, str]:
    """Two words of sixteen letters whose states differ so little that letters in the second half make up for it."""
    rng = np.random.default_rng(7)
    heads = rng.choice(np.frombuffer(LETTERS, np.uint8), (1 << 16, 8))
    states = after_eight_bytes(np.ascontiguousarray(heads).view(np.uint64).ravel())
    tops = states & np.uint64(0xE0E0E0E0E0E0E0E0)
    order = np.argsort(tops, kind="stable")
    for i in np.flatnonzero(tops[order][1:] == tops[order][:-1]):
        one, other = order[i], order[i + 1]
        difference = int(states[one] ^ states[other]).to_bytes(8, "little")
        tails = [next(((a, a ^ d) for a in LETTERS if a ^ d in LETTERS), None) for d in difference]
        if None not in tails and not np.array_equal(heads[one], heads[other]):
            left, right = zip(*filter(None, tails), strict=True)
            return (heads[one].tobytes() + bytes(left)).decode(), (heads[other].tobytes() + bytes(right)).decode()
    raise AssertionError("no pair among 65,536 words")


def test_words_of_the_same_hash_stay_apart() -> None:
    one, other = colliding_pair()
    packed = np.frombuffer(f"{one}{other}        ".encode(), np.uint64)
    with np.errstate(over="ignore"):
        assert words.long_key(packed, 0, 16) == words.long_key(packed, 16, 16)
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
