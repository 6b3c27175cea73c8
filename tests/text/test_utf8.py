"""Validation of UTF-8 against Python's decoder."""

import random
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest

from fastmetrics.base.arrays import ANGLE, BRACE, BRACKET, HIGH, PIPE, SHORT, SHORT_BYTES
from fastmetrics.text.text_keys import is_utf8, signs_of

CHARACTERS = "aéЖ\x7f\x80\u07ff\u0800中\ud7ff\ue000\uffff\U00010000😀\U0010ffff"
WRONG = [0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF, 0x41]


def decodes(texts: list[bytes]) -> bool:
    try:
        for text in texts:
            text.decode()
    except UnicodeDecodeError:
        return False
    return True


def checked(texts: list[bytes], large: bool = False) -> bool:
    array = pa.array(texts, pa.large_binary() if large else pa.binary())
    return is_utf8(array.view(pa.large_string() if large else pa.string()))


@pytest.mark.parametrize("large", [False, True])
def test_damaged_text_is_what_python_does_not_decode(large: bool) -> None:
    chance = random.Random(5)
    verdicts = set()
    for _ in range(20_000):
        text = bytearray("".join(chance.choices(CHARACTERS, k=chance.choice([1, 3, 20, 63, 64, 65, 130]))).encode())
        place = chance.randrange(len(text))
        damage = chance.random()
        if damage < 0.4:
            text[place] = chance.choice(WRONG)
        elif damage < 0.6:
            del text[place:]
        texts = [b"x" * chance.randrange(70), bytes(text), "я".encode()]
        verdicts.add(decodes(texts))
        assert checked(texts, large) == decodes(texts), texts
    assert verdicts == {True, False}


def test_every_sequence_of_three_edge_bytes() -> None:
    for bytes_ in product([*WRONG, 0x00], repeat=3):
        for text in (bytes(bytes_), b"a" * 62 + bytes(bytes_), bytes(bytes_) + b"\x80"):
            assert checked([text]) == decodes([text]), text


def test_characters_must_not_be_divided_between_texts() -> None:
    for character in "éЖ中😀":
        encoded = character.encode()
        for place, _ in pairwise(range(len(encoded) + 1)):
            texts = [encoded[:place], encoded[place:]]
            assert checked(texts) == decodes(texts)


def test_bytes_outside_the_texts_may_be_anything() -> None:
    array = pa.array([b"\xff", "я".encode(), b"\x80"]).view(pa.string())
    assert is_utf8(array.slice(1, 1))
    validity = pa.py_buffer(b"\x02")
    with_null = pa.Array.from_buffers(pa.string(), 3, [validity, *array.buffers()[1:]])
    assert is_utf8(with_null)
    assert not is_utf8(array)
    assert is_utf8(array.slice(0, 0))


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string()])
def test_signs_are_those_of_each_text_or_of_its_neighbours_in_blocks(layout: pa.DataType) -> None:
    chance = random.Random(7)
    parts = ["<", "|", "Ж", "[", "{", "thinking", "Here's", "◁think▷", " #", "", "word " * 20, "я" * 100, "a"]
    for _ in range(300):
        texts = [
            *(
                "".join(chance.choices(parts, k=chance.randrange(4)))
                for _ in range(chance.randrange(1, chance.choice([9, 90])))
            ),
            None,
        ]
        signs = signs_of(pa.array(["<|", *texts, "Ж{"], layout).slice(1, len(texts)))
        assert signs is not None
        inside = 0
        for text, found in zip(texts, signs.tolist(), strict=True):
            own = HIGH * (not (text or "").isascii()) | ANGLE * ("<" in (text or "")) | PIPE * ("|" in (text or ""))
            first = BRACKET * (text or "").startswith("[") | BRACE * (text or "").startswith("{")
            assert found & own == own
            assert bool(found & SHORT) == (bool(found & HIGH) and len((text or "").encode()) <= SHORT_BYTES)
            assert found & (BRACKET | BRACE) == first
            inside |= own
        assert not int(np.bitwise_or.reduce(signs)) & (HIGH | ANGLE | PIPE) & ~inside  # of other rows nothing is seen


def test_signs_of_a_text_do_not_go_far() -> None:
    signs = signs_of(pa.array(["a" * 128, "<" + "b" * 63, "c" * 64, None, ""]))
    assert signs is not None
    assert signs.tolist() == [0, ANGLE, 0, 0, 0]
