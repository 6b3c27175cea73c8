"""Unicode properties of every code point from this Python: lowercase, word character, space, punctuation.

The tables are computed with ``str.lower``, ``numpy.strings`` (``str.isalnum`` and others) and ``unicodedata``, so
compiled code agrees with them for the interpreter's Unicode version.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Callable

import numpy as np

from fastmetrics.base.arrays import Flags, Ids, Ints

_Characters = np.ndarray[tuple[int], np.dtype[np.str_]]

SIZE = sys.maxunicode + 1
DOTTED_I, SIGMA = 0x130, 0x3A3
"""The two characters whose ``str.lower`` is not one character for one: U+0130 grows, a final U+03A3 differs."""

_LAST_PUNCTUATION = 0x20000

_ASSIGNED = 0x40000
"""From here on there are only tags, variation selectors, private and unassigned code points, without any property."""


@functools.cache
def lower() -> Ids:
    """The lowercase of every code point; the caller handles ``DOTTED_I`` and ``SIGMA``."""
    table = np.arange(SIZE, dtype=np.int32)
    codes = table[:_ASSIGNED].copy()
    codes[[DOTTED_I, SIGMA]] = 0
    codes[0xD800:0xE000] = 0
    lowered = codes.tobytes().decode("utf-32-le").lower()
    codes = np.frombuffer(lowered.encode("utf-32-le"), np.int32).copy()
    codes[0xD800:0xE000] = np.arange(0xD800, 0xE000)
    codes[DOTTED_I], codes[SIGMA] = ord("i"), 0x3C3
    table[:_ASSIGNED] = codes
    return table


def of_lower(flags: Flags) -> Flags:
    """``flags`` of the lowercase of each code point."""
    lowered = flags.copy()
    cased = _cased()
    lowered[cased] = flags[lower()[cased]]
    return lowered


@functools.cache
def _cased() -> Ints:
    """The code points that differ from their lowercase."""
    return np.flatnonzero(lower()[:_ASSIGNED] != np.arange(_ASSIGNED))


@functools.cache
def is_word() -> Flags:
    r"""Whether ``\w`` matches each code point."""
    flags = _each(np.strings.isalnum)
    flags[ord("_")] = True
    return flags


@functools.cache
def is_space() -> Flags:
    """Whether ``str.split`` splits at each code point."""
    return _each(np.strings.isspace)


@functools.cache
def is_lower() -> Flags:
    """Whether each code point is lowercase by ``str.islower``; some marks and symbols are."""
    return _each(np.strings.islower)


@functools.cache
def is_letter() -> Flags:
    """Whether each code point is a letter by ``str.isalpha``."""
    return _each(np.strings.isalpha)


@functools.cache
def is_upper() -> Flags:
    """Whether each code point is uppercase by ``str.isupper``."""
    return _each(np.strings.isupper)


def _each(has: Callable[[_Characters], Flags]) -> Flags:
    """Whether each code point has a property."""
    flags = np.zeros(SIZE, np.bool_)
    flags[:_ASSIGNED] = has(np.arange(_ASSIGNED, dtype=np.uint32).view("U1"))
    return flags


@functools.cache
def is_punctuation() -> Flags:
    """Whether each code point is of category P."""
    flags = np.zeros(SIZE, np.bool_)
    flags[ord("_")] = True
    codes = np.flatnonzero(~is_word()[:_LAST_PUNCTUATION])
    categories = "".join(map(unicodedata.category, map(chr, codes.tolist())))  # two letters each
    flags[codes] = np.frombuffer(categories.encode(), np.uint8)[::2] == ord("P")
    return flags
