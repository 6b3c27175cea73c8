"""Unicode properties of every code point from this Python: lowercase, word character, space, punctuation.

The tables are computed with ``str.lower``, ``numpy.strings`` (``str.isalnum`` and others) and ``unicodedata``, so
compiled code agrees with them for the interpreter's Unicode version.
"""

from __future__ import annotations

import functools
import sys
import unicodedata

import numpy as np

from fastmetrics.core.arrays import Flags, Ids

SIZE = sys.maxunicode + 1
DOTTED_I, SIGMA = 0x130, 0x3A3
"""The two characters whose ``str.lower`` is not one character for one: U+0130 grows, a final U+03A3 differs."""

_LAST_PUNCTUATION = 0x20000


@functools.cache
def lower() -> Ids:
    """The lowercase of every code point; the caller handles ``DOTTED_I`` and ``SIGMA``."""
    table = np.arange(SIZE, dtype=np.int32)
    table[[DOTTED_I, SIGMA]] = 0
    table[0xD800:0xE000] = 0
    lowered = table.tobytes().decode("utf-32-le").lower()
    folded = np.frombuffer(lowered.encode("utf-32-le"), np.int32).copy()
    folded[0xD800:0xE000] = np.arange(0xD800, 0xE000)
    folded[DOTTED_I], folded[SIGMA] = ord("i"), 0x3C3
    return folded


@functools.cache
def is_word() -> Flags:
    r"""Whether ``\w`` matches each code point."""
    flags = np.strings.isalnum(_each())
    flags[ord("_")] = True
    return flags


@functools.cache
def is_space() -> Flags:
    """Whether ``str.split`` splits at each code point."""
    return np.strings.isspace(_each())


@functools.cache
def is_lower() -> Flags:
    """Whether each code point is lowercase by ``str.islower``; some marks and symbols are."""
    return np.strings.islower(_each())


@functools.cache
def is_letter() -> Flags:
    """Whether each code point is a letter by ``str.isalpha``."""
    return np.strings.isalpha(_each())


@functools.cache
def is_upper() -> Flags:
    """Whether each code point is uppercase by ``str.isupper``."""
    return np.strings.isupper(_each())


def _each() -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Every code point as a string."""
    return np.arange(SIZE, dtype=np.uint32).view("U1")


@functools.cache
def is_punctuation() -> Flags:
    """Whether each code point is of category P."""
    flags = np.zeros(SIZE, np.bool_)
    category = unicodedata.category
    flags[:_LAST_PUNCTUATION] = [category(chr(c))[0] == "P" for c in range(_LAST_PUNCTUATION)]
    return flags
