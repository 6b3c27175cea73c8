"""What sacreBLEU's tokenisers separate: tables of :func:`fastmetrics.kernels.sacrebleu_tokenizers.separate`."""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.base.arrays import Flags, Ids, Ints, Text
from fastmetrics.kernels import folding as words
from fastmetrics.kernels import sacrebleu_tokenizers as bleu
from fastmetrics.text import unicode

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


def table(name: str, nul: int, lower: bool) -> Ids:
    """The entry of each code point for the tokeniser ``name``; ``nul`` is the byte that encodes U+0000."""
    codes = unicode.lower() if lower else np.arange(unicode.SIZE, dtype=np.int32)
    marks = np.zeros(unicode.SIZE, np.int32)
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
    table = np.where(unicode.is_space()[codes], 0x20, codes).astype(np.int32)
    if not lower or table[0] == 0:
        table[0] = words.RAW | nul
    table |= marks[codes] * (table != 0x20)
    if name == "13a":
        table[ord("\n")] |= bleu.BREAK
        table[_ascii("&<")] |= words.CONTEXT
    if lower:
        table[[unicode.DOTTED_I, unicode.SIGMA]] |= words.CONTEXT
    return table


def _ascii(characters: str) -> list[int]:
    return [ord(character) for character in characters]


@functools.cache
def _property(name: str) -> Flags:
    """The code points of a general category in the package ``regex``, whose Unicode may be newer than Python's."""
    import regex

    everything = np.arange(unicode.SIZE, dtype=np.int32)
    everything[0xD800:0xE000] = 0
    text = everything.tobytes().decode("utf-32-le")
    flags = np.zeros(unicode.SIZE, np.bool_)
    for match in regex.finditer(rf"\p{{{name}}}+", text):
        flags[match.start() : match.end()] = True
    return flags


@functools.cache
def _chinese() -> Flags:
    """The characters that sacreBLEU treats as Chinese, none beyond U+FFFF."""
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    flags = np.zeros(unicode.SIZE, np.bool_)
    is_chinese = TokenizerZh._is_chinese_char.__wrapped__
    flags[:0x10000] = [is_chinese(chr(code)) for code in range(0x10000)]
    return flags
