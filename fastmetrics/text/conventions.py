"""The text conventions: the characters that a metric keeps, and where it splits words.

Each is a pair of tables (one entry per byte, one per code point) for :func:`fastmetrics.kernels.folding.fold`,
with the characters stripped from the ends of words and the words removed.  ``tests/reference`` has plain-Python
versions.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Flags, Ids
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.kernels import folding as words
from fastmetrics.text import sacrebleu_rules as translation
from fastmetrics.text import unicode

NUL = 0xFF
"""The byte that encodes U+0000 in folded text, which contains no zero byte."""

LIGHT_STRIP = ".,!?;:()[]{}\"'`«»“”‘’…"
"""The characters that ``light`` strips off both ends of a word."""

_PRIVATE = {character: 0xF8 + i for i, character in enumerate(c for c in LIGHT_STRIP if not c.isascii())}
"""A byte that never occurs in UTF-8 for each non-ASCII character of ``LIGHT_STRIP``."""


LOWER = "_lower"
"""Suffix of the name of a sacreBLEU tokeniser that lower-cases text first."""

UNSPACED = (
    *((0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai, Lao, Tibetan, Burmese, Khmer
    *((0x3005, 0x3007), (0x3040, 0x312F), (0x31A0, 0x31FF), (0xFF66, 0xFF9F)),  # kana, bopomofo
    *((0x2E80, 0x2FDF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),  # Han
)
"""The first and the last character of each block of scripts without spaces between words."""


@dataclass(frozen=True, eq=False)
class Convention:
    """A text convention.  ``strip`` are the bytes stripped from word ends; ``leave_out`` the removed words.

    ``frame`` defines the ends of a text for ``sacrebleu_tokenizers.separate``, None for ``folding.fold``;
    ``prepare`` handles what tables cannot express, and ``stem`` states whether words are stemmed.
    """

    name: str
    bytemap: Ids
    codemap: Ids
    strip: Flags
    leave_out: tuple[str, ...] = ()
    frame: int | None = None
    prepare: Callable[[str], str] = str.lower
    stem: bool = False

    @property
    def base(self) -> str | None:
        """The convention of whose words this one rewrites each, whatever the words around it; None if there is none.

        13a looks across white space only in the texts that ``sacrebleu_rules.joined_lines`` finds.
        """
        if self.name.removesuffix(LOWER) == "13a":
            return "none"
        return None if self.frame is not None or self.name in ("split", "none", "characters") else "split"

    def words_of(self, words: Iterable[str]) -> list[str]:
        """Those of ``words`` that are words of the convention; ``ascii_words`` has none with other letters."""
        return [word for word in words if word.isascii() or self.name != "ascii_words"]

    def spell(self, folded: bytes) -> str:
        """The characters encoded by the bytes of a folded word."""
        for character, byte in _PRIVATE.items():
            folded = folded.replace(bytes([byte]), character.encode())
        return folded.replace(bytes([NUL]), b"\0").decode()


def _build(keep: Flags, delete: Flags | None = None) -> tuple[Ids, Ids]:
    """Tables that lowercase each code point, then delete, keep or turn it into a separator."""
    codemap = np.where(unicode.of_lower(keep), unicode.lower(), np.int32(0x20))
    if codemap[0] == 0:
        codemap[0] = words.RAW | NUL
    if delete is not None:
        codemap[unicode.of_lower(delete)] = words.DELETE
    codemap[[unicode.DOTTED_I, unicode.SIGMA]] |= words.CONTEXT
    return _bytemap(codemap), codemap


def _bytemap(codemap: Ids) -> Ids:
    """The byte table of ``fold``, derived from the table of code points."""
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


def _hyphen_words() -> tuple[Ids, Ids]:
    return _build(unicode.is_word() | _flags("-"))


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
    codemap[unicode.of_lower(odd)] |= words.EDGE
    return _bytemap(codemap), codemap


def _rouge() -> tuple[Ids, Ids]:
    bytemap, codemap = _build(_flags(string.ascii_letters + string.digits))
    codemap[unicode.SIGMA] = 0x20
    return bytemap, codemap


def _unicode() -> tuple[Ids, Ids]:
    bytemap, codemap = _words()
    for first, last in UNSPACED:
        letters = codemap[first : last + 1] & words.CODE != 0x20
        codemap[first : last + 1][letters] |= words.ALONE
    return bytemap, codemap


def _exact(separator: Flags) -> tuple[Ids, Ids]:
    """Tables that keep every code point except separators unchanged."""
    codemap = np.where(separator, np.int32(0x20), np.arange(unicode.SIZE, dtype=np.int32))
    codemap[0] = words.RAW | NUL
    return _bytemap(codemap), codemap


def _none() -> tuple[Ids, Ids]:
    return _exact(unicode.is_space())


def _characters() -> tuple[Ids, Ids]:
    return _exact(np.zeros(unicode.SIZE, np.bool_))


_BUILDERS: dict[str, Callable[[], tuple[Ids, Ids]]] = {
    "words": _words,
    "ascii_words": _ascii_words,
    "hyphen_words": _hyphen_words,
    "split": _split,
    "lower": _lower,
    "light": _light,
    "plain": _plain,
    "squad": _squad,
    "rouge": _rouge,
    "rouge_stem": _rouge,
    "unicode": _unicode,
    "none": _none,
    "characters": _characters,
}


@functools.cache
def convention(name: str) -> Convention:
    """The convention ``name``; its tables are built at the first call.

    Raises ``UnknownNameError`` for a name that is not in ``CONVENTIONS``.
    """
    tokenizer = name.removesuffix(LOWER)
    if tokenizer in translation.FRAMES:
        return _translation(name, tokenizer)
    if name not in _BUILDERS:
        raise UnknownNameError.of("text convention", name, CONVENTIONS)
    bytemap, codemap = _BUILDERS[name]()
    strip = np.zeros(256, np.bool_)
    if name == "light":
        strip[[ord(c) for c in LIGHT_STRIP if c.isascii()] + list(_PRIVATE.values())] = True
    leave_out = ("a", "an", "the") if name == "squad" else ()
    return Convention(name, bytemap, codemap, strip, leave_out, stem=name == "rouge_stem")


def _translation(name: str, tokenizer: str) -> Convention:
    """One of sacreBLEU's tokenisers, after ``str.lower`` if the name has the suffix."""
    lower = name.endswith(LOWER)
    codemap = translation.table(tokenizer, NUL, lower)
    steps = [*([str.lower] if lower else []), *([translation.unescape] if tokenizer == "13a" else [])]
    frame = translation.FRAMES[tokenizer]
    nothing = np.zeros(256, np.bool_)
    return Convention(name, codemap[:256], codemap, nothing, frame=frame, prepare=functools.partial(_apply, steps))


def _apply(steps: list[Callable[[str], str]], string: str) -> str:
    for step in steps:
        string = step(string)
    return string


CONVENTIONS = (
    *(name for name in _BUILDERS if name not in ("lower", "characters")),
    *(name + ending for name in translation.FRAMES for ending in ("", LOWER)),
)
