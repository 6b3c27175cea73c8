"""The text conventions: which characters a metric keeps, and where it cuts words.

Each is a pair of tables (one entry a byte, one a code point) that :func:`fastmetrics.kernels.words.fold` reads, with
the characters cut off the ends of words and the words left out.  ``tests/reference.py`` says the same in plain Python.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastmetrics.arrays import Flags, Ids
from fastmetrics.errors import UnknownNameError
from fastmetrics.kernels import words
from fastmetrics.text import unicode

NUL = 0xFF
"""The byte that stands for U+0000 in folded text, which has no zero byte."""

LIGHT_STRIP = ".,!?;:()[]{}\"'`«»“”‘’…"
"""The characters that ``light`` strips off both ends of a word."""

_PRIVATE = {character: 0xF8 + i for i, character in enumerate("«»“”‘’…")}
"""A byte of its own, never found in UTF-8, for each of them that is not ASCII."""


@dataclass(frozen=True, eq=False)
class Convention:
    """How text becomes words. ``strip`` are the bytes cut off word ends; ``leave_out`` the words dropped."""

    name: str
    bytemap: Ids
    codemap: Ids
    strip: Flags
    leave_out: tuple[str, ...] = ()

    def spell(self, folded: bytes) -> str:
        """The characters that the bytes of a folded word stand for."""
        for character, byte in _PRIVATE.items():
            folded = folded.replace(bytes([byte]), character.encode())
        return folded.replace(bytes([NUL]), b"\0").decode("utf-8", "surrogatepass")


def _build(keep: Flags, delete: Flags | None = None) -> tuple[Ids, Ids]:
    """Tables that lower each code point, then drop the deleted, keep the kept and turn the rest into separators."""
    lower = unicode.lower()
    codemap = np.where(keep[lower], lower, 0x20).astype(np.int32)
    if codemap[0] == 0:
        codemap[0] = words.RAW | NUL
    if delete is not None:
        codemap[delete[lower]] = words.DELETE
    codemap[[unicode.DOTTED_I, unicode.SIGMA]] |= words.CONTEXT
    return _bytemap(codemap), codemap


def _bytemap(codemap: Ids) -> Ids:
    """What fold needs to know of most bytes, read off the table of code points."""
    bytemap = np.full(256, words.SLOW, np.int32)
    simple = np.flatnonzero((codemap[:128] & ~0xFF) == 0)
    bytemap[simple] = codemap[simple] | words.KEEP
    bytemap[np.flatnonzero(codemap[:128] == words.DELETE)] = 0
    return bytemap


def _flags(characters: str) -> Flags:
    flags = np.zeros(unicode.SIZE, np.bool_)
    flags[[ord(c) for c in characters]] = True
    return flags


def _words() -> tuple[Ids, Ids]:
    return _build(unicode.is_word())


def _ascii_words() -> tuple[Ids, Ids]:
    return _build(_flags(string.ascii_letters + string.digits + "_"))


def _split() -> tuple[Ids, Ids]:
    return _build(~unicode.is_space())


def _lower() -> tuple[Ids, Ids]:
    return _build(np.ones(unicode.SIZE, np.bool_))


def _light() -> tuple[Ids, Ids]:
    bytemap, codemap = _split()
    codemap[[ord(character) for character in _PRIVATE]] = [words.RAW | byte for byte in _PRIVATE.values()]
    return bytemap, codemap


def _plain() -> tuple[Ids, Ids]:
    return _build(~unicode.is_space(), delete=unicode.is_punctuation())


def _squad() -> tuple[Ids, Ids]:
    delete = _flags(string.punctuation)
    _, codemap = _build(~unicode.is_space(), delete)
    odd = ~(unicode.is_space() | delete | unicode.is_word())
    codemap[odd[unicode.lower()]] |= words.EDGE
    return _bytemap(codemap), codemap


_BUILDERS: dict[str, Callable[[], tuple[Ids, Ids]]] = {
    "words": _words,
    "ascii_words": _ascii_words,
    "split": _split,
    "lower": _lower,
    "light": _light,
    "plain": _plain,
    "squad": _squad,
}


@functools.cache
def convention(name: str) -> Convention:
    """The convention called ``name``; its tables are made at the first call.

    Raises ``UnknownNameError`` for a name that is not one of ``CONVENTIONS``.
    """
    if name not in _BUILDERS:
        raise UnknownNameError.of("text convention", name, _BUILDERS)
    bytemap, codemap = _BUILDERS[name]()
    strip = np.zeros(256, np.bool_)
    if name == "light":
        strip[[ord(c) for c in LIGHT_STRIP if ord(c) < 128] + list(_PRIVATE.values())] = True
    return Convention(name, bytemap, codemap, strip, ("a", "an", "the") if name == "squad" else ())


CONVENTIONS = tuple(name for name in _BUILDERS if name != "lower")
