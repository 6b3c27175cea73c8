"""Parsing of numbers from words in the usual formats: digits, separators, scales, currencies, number words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.jit import inline

# Flags of words.
(
    NOTHING,
    W_NUMBER,
    W_WEAK,
    W_PARTS,
    W_SCALE,
    W_MONTH,
    W_WEEKDAY,
    W_PERCENT,
    W_PER,
    W_CENT,
    W_HALF_DAY,
    W_CURRENCY,
    W_OF,
) = range(13)


class WordValues(NamedTuple):
    """The meaning of each word of the texts, and the amount it names."""

    kinds: Bytes
    amounts: Floats


@inline
def digits(data: Bytes, i: int, stop: int) -> tuple[int, int, int]:
    """The integer a word begins with, its number of digits, and up to four letters after it as a number in base 256.

    The letters are -1 if the word is not a number: more than 15 digits or four letters, or digits after a letter.
    """
    value, n, letters = 0, 0, 0
    while i < stop and 48 <= data[i] <= 57:
        value = value * 10 + (np.int64(data[i]) - 48)
        n += 1
        i += 1
        if n > 15:
            return 0, n, -1
    if stop - i > 4:
        return value, n, -1
    while i < stop:
        byte = np.int64(data[i])
        if 48 <= byte <= 57 or byte == 95:
            return value, n, -1
        letters = letters * 256 + (byte | 32 if byte < 128 else byte)
        i += 1
    return value, n, letters


def suffix(letters: str) -> int:
    """A suffix as the number that ``digits`` returns."""
    return int.from_bytes(letters.encode(), "big")


THOUSANDS = (suffix("k"),)
MILLIONS = tuple(suffix(s) for s in ("m", "mn", "mln"))
BILLIONS = tuple(suffix(s) for s in ("b", "bn", "bln"))


@inline
def plain(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """The integer and the number of digits of word ``k`` if it consists of digits, else -1 and 0."""
    if k >= stop or not marks.digit[k]:
        return -1, 0
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    return (value, n) if letters == 0 else (-1, 0)


@inline
def grouped(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int, int, int]:
    """A number in digits at word ``k``: its digits as an integer, number of decimals, its letters, the next word.

    1,000 and 1 000 and 1'000 and 1.000.000 are grouped; 3.5 and 3,5 have decimals.
    """
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    j = k + 1
    if letters == 0 and n <= 3 and value > 0:
        mark = marks.before[j] & m.KIND if j < stop else m.OTHER
        more = mark in (m.COMMA, m.SPACE, m.APOSTROPHE)
        if mark == m.DOT:
            more = plain(data, marks, j + 1, stop)[1] == 3 and marks.before[j + 1] & m.KIND == m.DOT
        while more and letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == mark:
            part, size, tail = digits(data, marks.starts[j], marks.stops[j])
            if size != 3 or tail < 0 or value > 10**11:
                break
            value, letters = value * 1000 + part, tail
            n += 3
            j += 1
    if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND in (m.DOT, m.COMMA):
        part, size, tail = digits(data, marks.starts[j], marks.stops[j])
        if tail >= 0 and n + size <= 15:
            return value * 10**size + part, size, tail, j + 1
    return value, 0, letters, j


@inline
def scaled(marks: Marks, words: WordValues, decimals: int, letters: int, j: int, stop: int) -> tuple[int, int]:
    """The decimals of a number after a following k, million, percent or % is applied, and the next word."""
    kinds, amounts = words.kinds, words.amounts
    if letters in THOUSANDS:
        decimals -= 3
    elif letters in MILLIONS:
        decimals -= 6
    elif letters in BILLIONS:
        decimals -= 9
    while (
        j < stop and decimals > -10 and kinds[j] == W_SCALE and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN, m.DOT)
    ):
        decimals -= np.int64(amounts[j])
        j += 1
    if marks.after[j - 1] & m.HAS_PERCENT:
        decimals += 2
    elif j < stop and kinds[j] == W_PERCENT and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN):
        decimals, j = decimals + 2, j + 1
    elif j + 1 < stop and kinds[j] == W_PER and kinds[j + 1] == W_CENT:
        decimals, j = decimals + 2, j + 2
    return decimals, j


@inline
def money(marks: Marks, words: WordValues, k: int, j: int, stop: int) -> tuple[int, int]:
    """The currency of a number from word ``k`` to ``j``, 0 for none, and the next word."""
    before, after = marks.before[k], marks.after[j - 1]
    if j < stop and words.kinds[j] == W_CURRENCY and after & m.KIND in (m.SPACE, m.HYPHEN):
        return np.int64(words.amounts[j]), j + 1
    if before >> m.MONEY and not before & m.GLUED:
        return before >> m.MONEY, j
    if after >> m.MONEY and (after & m.GLUED or j >= stop or not marks.digit[j]):
        return after >> m.MONEY, j
    return 0, j


@inline
def shifted(value: float, decimals: int) -> float:
    """``value`` / 10**``decimals``, rounded once: equal decimals give equal floats."""
    return value / 10.0**decimals if decimals >= 0 else value * 10.0**-decimals


@inline
def spelled(marks: Marks, words: WordValues, k: int, stop: int) -> tuple[float, bool, int]:
    """The number that the words from ``k`` on spell, whether it is weak, and the next word."""
    kinds, amounts = words.kinds, words.amounts
    value, weak, j = amounts[k], kinds[k] == W_WEAK, k + 1
    linked = j < stop and marks.before[j] & m.KIND in (m.HYPHEN, m.SPACE)
    if linked and 20 <= value < 100 and value % 10 == 0 and kinds[j] in (W_NUMBER, W_WEAK) and 1 <= amounts[j] <= 9:
        return value + amounts[j], False, j + 1
    if linked and kinds[j] == W_PARTS:
        return value / amounts[j], False, j + 1
    if linked and kinds[j] == W_SCALE:
        return value, False, j
    return value, weak, j


@inline
def is_mark(marks: Marks, k: int) -> bool:
    """Whether word ``k`` is a citation like [1] or the number of a list item."""
    before, after = marks.before[k], marks.after[k]
    if before & m.OPENED or after & m.CLOSED:
        return True
    return (
        before & m.NEW_LINE != 0
        and after & m.ITEM != 0
        and after & m.KIND == 0
        and marks.stops[k] - marks.starts[k] < 3
    )
