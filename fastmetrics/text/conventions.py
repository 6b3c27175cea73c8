"""The text conventions: the characters that a metric keeps and where it splits words, by the properties of Unicode."""

from __future__ import annotations

import functools
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Text
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.kernels import folding, word_boundaries
from fastmetrics.kernels import folding as words
from fastmetrics.kernels import sacrebleu_tokenizers as bleu
from fastmetrics.kernels.simd.blocks import KINDS_SIZE
from fastmetrics.kernels.simd.words import LETTERS

# Unicode properties of every code point from this Python: lowercase, word character, space, punctuation.
#
# The tables are computed with ``str.lower``, ``numpy.strings`` (``str.isalnum`` and others) and ``unicodedata``, so
# compiled code agrees with them for the interpreter's Unicode version.


_Characters = np.ndarray[tuple[int], np.dtype[np.str_]]

SIZE = sys.maxunicode + 1
DOTTED_I, SIGMA = 0x130, 0x3A3
"""The two characters whose ``str.lower`` is not one character for one: U+0130 grows, a final U+03A3 differs."""

_LAST_PUNCTUATION = 0x20000

_ASSIGNED = 0x40000
"""From here on there are only tags, variation selectors, private and unassigned code points, without any property."""


@functools.cache
def lowercase() -> Ids:
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
    lowered[cased] = flags[lowercase()[cased]]
    return lowered


@functools.cache
def _cased() -> Ints:
    """The code points that differ from their lowercase."""
    return np.flatnonzero(lowercase()[:_ASSIGNED] != np.arange(_ASSIGNED))


@functools.cache
def is_word() -> Flags:
    r"""Whether ``\w`` matches each code point."""
    flags = _each(np.strings.isalnum)
    flags[ord("_")] = True
    return flags


@functools.cache
def is_digit() -> Flags:
    r"""Whether ``\d`` matches each code point."""
    return _each(np.strings.isdecimal)


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


# What sacreBLEU's tokenisers separate: tables of :func:`fastmetrics.kernels.sacrebleu_tokenizers.separate`.


_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

FRAMES = {"13a": bleu.FRAMED, "zh": bleu.STRIPPED, "intl": 0, "char": 0}
"""How each tokeniser handles the ends of a text."""


def unescape(string: str) -> str:
    """The first step of 13a: join hyphenated lines, and resolve four entities in this order."""
    string = string.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        string = string.replace(entity, character)
    return string


def joined_lines(text: Text) -> Ints:
    """The texts in which ``unescape`` may join the last word of a line and the first of the next.

    It does so after a hyphen, also before "<skipped>".
    """
    first = int(text.starts.min(initial=len(text.data)))
    breaks = first + np.flatnonzero(text.data[first : text.stops.max(initial=0)] == ord("\n"))
    joins = breaks[np.isin(text.data[breaks - 1], [ord("-"), ord(">")])]
    return np.flatnonzero(np.searchsorted(joins, text.starts) < np.searchsorted(joins, text.stops))


def sacrebleu_table(name: str, nul: int, lower: bool) -> Ids:
    """The entry of each code point for the tokeniser ``name``; ``nul`` is the byte that encodes U+0000."""
    codes = lowercase() if lower else np.arange(SIZE, dtype=np.int32)
    marks = np.zeros(SIZE, np.int32)
    if name == "char":
        marks[:] = words.ALONE
    elif name == "intl":
        marks[_property("P")] = bleu.POINT
        marks[_property("N")] = bleu.DIGIT
        marks[_property("S")] = words.ALONE
    else:
        marks[_ascii('!"#$%&()*+/:;<=>?@[\\]^_`{|}~')] = words.ALONE
        marks[_ascii(".,")] = bleu.POINT
        marks[_ascii("0123456789")] = bleu.DIGIT
        marks[_ascii("-")] = bleu.DASH
    if name == "zh":
        marks[_chinese()] = words.ALONE
    table = np.where(is_space()[codes], 0x20, codes).astype(np.int32)
    if not lower or table[0] == 0:
        table[0] = words.RAW | nul
    table |= marks[codes] * (table != 0x20)
    if name == "13a":
        table[ord("\n")] |= bleu.BREAK
        table[_ascii("&<")] |= words.CONTEXT
    if lower:
        table[[DOTTED_I, SIGMA]] |= words.CONTEXT
    return table


def _ascii(characters: str) -> list[int]:
    return [ord(character) for character in characters]


@functools.cache
def _property(name: str) -> Flags:
    """The code points of a general category in the package ``regex``, whose Unicode may be newer than Python's."""
    import regex

    everything = np.arange(SIZE, dtype=np.int32)
    everything[0xD800:0xE000] = 0
    text = everything.tobytes().decode("utf-32-le")
    flags = np.zeros(SIZE, np.bool_)
    for match in regex.finditer(rf"\p{{{name}}}+", text):
        flags[match.start() : match.end()] = True
    return flags


@functools.cache
def _chinese() -> Flags:
    """The characters that sacreBLEU treats as Chinese, none beyond U+FFFF."""
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    flags = np.zeros(SIZE, np.bool_)
    is_chinese = TokenizerZh._is_chinese_char.__wrapped__
    flags[:0x10000] = [is_chinese(chr(code)) for code in range(0x10000)]
    return flags


# The text conventions: the characters that a metric keeps, and where it splits words.
#
# Each is a pair of tables (one entry per byte, one per code point) for :func:`fastmetrics.kernels.folding.fold`,
# with the characters stripped from the ends of words and the words removed.  ``tests/reference`` has plain-Python
# versions.


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

        13a looks across white space only in the texts that ``joined_lines`` finds.
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
    codemap = np.where(of_lower(keep), lowercase(), np.int32(0x20))
    if codemap[0] == 0:
        codemap[0] = words.RAW | NUL
    if delete is not None:
        codemap[of_lower(delete)] = words.DELETE
    codemap[[DOTTED_I, SIGMA]] |= words.CONTEXT
    return _bytemap(codemap), codemap


def _bytemap(codemap: Ids) -> Ids:
    """The byte table of ``fold``, derived from the table of code points."""
    bytemap = np.full(256, words.SLOW, np.int32)
    simple = np.flatnonzero((codemap[:128] & ~0xFF) == 0)
    bytemap[simple] = codemap[simple] | words.KEEP
    bytemap[np.flatnonzero(codemap[:128] == words.DELETE)] = 0
    return bytemap


def _flags(characters: str) -> Flags:
    flags = np.zeros(SIZE, np.bool_)
    flags[[ord(c) for c in characters]] = True
    return flags


def _words() -> tuple[Ids, Ids]:
    return _build(is_word())


def _hyphen_words() -> tuple[Ids, Ids]:
    return _build(is_word() | _flags("-"))


def _ascii_words() -> tuple[Ids, Ids]:
    return _build(_flags(string.ascii_letters + string.digits + "_"))


def _split() -> tuple[Ids, Ids]:
    return _build(~is_space())


def _lower() -> tuple[Ids, Ids]:
    return _build(np.ones(SIZE, np.bool_))


def _light() -> tuple[Ids, Ids]:
    bytemap, codemap = _split()
    codemap[[ord(character) for character in _PRIVATE]] = [words.RAW | byte for byte in _PRIVATE.values()]
    return bytemap, codemap


def _plain() -> tuple[Ids, Ids]:
    return _build(~is_space(), delete=is_punctuation())


def _squad() -> tuple[Ids, Ids]:
    delete = _flags(string.punctuation)
    _, codemap = _build(~is_space(), delete)
    odd = ~(is_space() | delete | is_word())
    codemap[of_lower(odd)] |= words.EDGE
    return _bytemap(codemap), codemap


def _rouge() -> tuple[Ids, Ids]:
    bytemap, codemap = _build(_flags(string.ascii_letters + string.digits))
    codemap[SIGMA] = 0x20
    return bytemap, codemap


def _unicode() -> tuple[Ids, Ids]:
    bytemap, codemap = _words()
    for first, last in UNSPACED:
        letters = codemap[first : last + 1] & words.CODE != 0x20
        codemap[first : last + 1][letters] |= words.ALONE
    return bytemap, codemap


def _exact(separator: Flags) -> tuple[Ids, Ids]:
    """Tables that keep every code point except separators unchanged."""
    codemap = np.where(separator, np.int32(0x20), np.arange(SIZE, dtype=np.int32))
    codemap[0] = words.RAW | NUL
    return _bytemap(codemap), codemap


def _none() -> tuple[Ids, Ids]:
    return _exact(is_space())


def _characters() -> tuple[Ids, Ids]:
    return _exact(np.zeros(SIZE, np.bool_))


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
    if tokenizer in FRAMES:
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
    codemap = sacrebleu_table(tokenizer, NUL, lower)
    steps = [*([str.lower] if lower else []), *([unescape] if tokenizer == "13a" else [])]
    frame = FRAMES[tokenizer]
    nothing = np.zeros(256, np.bool_)
    return Convention(name, codemap[:256], codemap, nothing, frame=frame, prepare=functools.partial(_apply, steps))


def _apply(steps: list[Callable[[str], str]], string: str) -> str:
    for step in steps:
        string = step(string)
    return string


CONVENTIONS = (
    *(name for name in _BUILDERS if name not in ("lower", "characters")),
    *(name + ending for name in FRAMES for ending in ("", LOWER)),
)


# What a convention does with bytes, as the kernel that finds words needs it: ranges of bytes instead of tables.


_CAPITALS = 26


@functools.cache
def rules_of(convention: Convention) -> word_boundaries.Rules:
    """The rules of a convention."""
    byte = np.arange(256)
    ascii_byte = byte < 128
    entry = np.where(ascii_byte, convention.bytemap, folding.SLOW)
    capitals = _CAPITALS if entry[ord("A")] == folding.KEEP | ord("a") else 0
    capital = (byte >= ord("A")) & (byte < ord("A") + capitals)
    separator = entry == folding.KEEP | 0x20
    deleted = entry == 0
    letter = entry == folding.KEEP | (byte + 0x20 * capital)
    return word_boundaries.Rules(
        kinds=_kinds(separator, deleted | convention.strip, ascii_byte & ~(separator | deleted | letter), capital),
        marks=ranges(deleted | convention.strip, capital),
        capitals=np.uint64(capitals),
        letters=_letters(convention),
        folded=False,
        deletes=bool(deleted.any()),
        bytemap=convention.bytemap,
        codemap=convention.codemap,
        is_word=is_word(),
    )


@functools.cache
def folded_rules() -> word_boundaries.Rules:
    """The rules of text that is folded already: its words stand between spaces."""
    return word_boundaries.Rules(
        kinds=_kinds(np.arange(256) == ord(" "), *np.zeros((3, 256), np.bool_)),
        marks=np.zeros((0, 2), np.uint8),
        capitals=np.uint64(0),
        letters=word_boundaries.UNKNOWN,
        folded=True,
        deletes=False,
        bytemap=np.zeros(256, np.int32),
        codemap=np.zeros(1, np.int32),
        is_word=np.zeros(1, np.bool_),
    )


def ranges(flags: Flags, absent: Flags | bool = False) -> Bytes:
    """The ranges of flagged bytes as (first, size); they may include bytes that are ``absent``."""
    edges = np.flatnonzero(np.diff(flags | absent, prepend=False, append=False)).reshape(-1, 2)
    flagged = [(first, end - first) for first, end in edges.tolist() if flags[first:end].any()]
    return np.array(flagged, np.uint8).reshape(-1, 2)


def _kinds(separators: Flags, marks: Flags, rare: Flags, absent: Flags) -> Bytes:
    """The flagged ASCII bytes as ``simd.blocks.kinds_of`` reads them; they may include bytes that are ``absent``."""
    rectangles = [
        (kind, rows, columns)
        for kind, flags in enumerate((separators, marks, rare))
        for rows, columns in _rectangles(flags[:128].reshape(8, 16), absent[:128].reshape(8, 16))
    ]
    tables = []
    for first in range(0, len(rectangles), 8):
        table = np.zeros(KINDS_SIZE, np.uint8)
        for bit, (kind, rows, columns) in enumerate(rectangles[first : first + 8]):
            table[:16][columns] |= 1 << bit
            table[16:24][rows] |= 1 << bit
            table[32 + kind] |= 1 << bit
        tables.append(table)
    return np.concatenate(tables) if tables else np.zeros(0, np.uint8)


def _rectangles(flags: Flags, absent: Flags) -> list[tuple[list[int], Flags]]:
    """Rows and columns whose crossings are the flagged places of a matrix, and perhaps others that are ``absent``."""
    rectangles: list[tuple[list[int], Flags]] = []
    for row in np.flatnonzero(flags.any(axis=1)).tolist():
        for i, (rows, columns) in enumerate(rectangles):
            together = columns | flags[row]
            if not (together & ~(flags | absent)[[*rows, row]]).any():
                rectangles[i] = [*rows, row], together
                break
        else:
            rectangles.append(([row], flags[row]))
    return rectangles


def _letters(convention: Convention) -> np.uint64:
    """What becomes of the letters that ``fold_letters`` folds."""
    letters = [ord(bytes([first, second]).decode()) for first, low, high in LETTERS for second in range(low, high + 1)]
    become = convention.codemap[letters]
    if (become == lowercase()[letters]).all():
        return word_boundaries.FOLDED
    return word_boundaries.SEPARATORS if (become == 0x20).all() else word_boundaries.UNKNOWN
