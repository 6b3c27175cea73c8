"""Texts in one spelling before they are compared: composed characters, case, vowel signs, digits, dashes, languages."""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Text, known_true, map_texts
from fastmetrics.base.options import NotAllowedError
from fastmetrics.kernels.folding import hold_characters
from fastmetrics.text.tokenize import frozen

# The steps, and what each does with a text.


STEPS: Mapping[str, str] = MappingProxyType(
    {
        "nfc": "é of one or two code points is the same",
        "nfkc": "as nfc, and ﬁ is fi, ² is 2, full-width letters are letters",
        "casefold": "case is folded, ß to ss",
        "arabic": "no Arabic vowel signs and tatweel",
        "invisible": "no zero-width spaces, joiners and soft hyphens",
        "digits": "decimal digits of every script are 0 to 9",
        "dashes": "every dash and minus is -",
        "de": "ß is ss",
        "tr": "İ is i, and I is ı",
        "az": "as tr",
        "ru": "ё is е",
    }
)
"""What texts may be normalised by."""

ALL = ("nfkc", "casefold", "arabic", "invisible", "digits", "dashes")
"""The steps that ``all`` stands for: those of every language."""

_TATWEEL, _MINUS, _DOT, _TWO_DOTS = 0x0640, 0x2212, "\u0307", "\u0308"
_HAMZAS = range(0x0653, 0x0656)
"""Marks that make another letter of an Arabic one."""
_SELECTORS = (0x034F, *range(0xFE00, 0xFE10))
_SEEN = (*range(0x0600, 0x0606), 0x06DD, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD)
"""Signs over and around numbers, of the category of invisible formats."""
_PLANES = 0x20000
"""The code points from which on there are no digits, dashes and letters with marks but rare Chinese ones."""


@functools.cache
def _replaced() -> Mapping[str, Mapping[int, str | None]]:
    """What each step makes of the characters that it replaces one by one."""
    kinds: dict[str, list[int]] = {kind: [] for kind in ("Nd", "Pd", "Cf", "Mn")}
    for code in range(0x80, _PLANES):
        kinds.get(unicodedata.category(chr(code)), []).append(code)
    vowels = [code for code in kinds["Mn"] if 0x0600 <= code < 0x0700 or 0x08C0 <= code < 0x0900]
    turkish = {ord("İ"): "i", ord("I"): "ı"}
    return {
        "arabic": dict.fromkeys([_TATWEEL, *(code for code in vowels if code not in _HAMZAS)]),
        "invisible": dict.fromkeys(code for code in (*kinds["Cf"], *_SELECTORS) if code not in _SEEN),
        "digits": {code: str(unicodedata.decimal(chr(code))) for code in kinds["Nd"]},
        "dashes": dict.fromkeys([*kinds["Pd"], _MINUS], "-"),
        "de": {ord("ß"): "ss", ord("ẞ"): "SS"},
        "tr": turkish,
        "az": turkish,
        "ru": {ord("ё"): "е", ord("Ё"): "Е"},
    }


@dataclass(frozen=True)
class Steps:
    """The allowed values of ``normalize``: one step, several, or ``all``."""

    def take(self, value: Any) -> str | tuple[str, ...]:
        """The step, or several in a tuple."""
        names = (value,) if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not 0 < len(names) <= len(STEPS) + 1:
            raise NotAllowedError
        if not all(isinstance(name, str) and name in (*STEPS, "all") for name in names):
            raise NotAllowedError
        return str(names[0]) if len(names) == 1 else tuple(map(str, names))

    def __str__(self) -> str:
        return f"'all', or one or several of {', '.join(map(repr, STEPS))}"


Form = Literal["NFC", "NFKC"]


class Normalizer:
    """Brings texts into one spelling; the order of the steps does not matter, and a second time changes nothing.

    >>> Normalizer("all")("Ｎｏ.\u200b ٣–٥"), Normalizer(["tr"])("ISPARTA, İZMİR"), Normalizer("arabic")("كِتَاب")
    ('no. 3-5', 'ıSPARTA, iZMiR', 'كتاب')
    """

    def __init__(self, steps: Sequence[str] | str) -> None:
        names = (steps,) if isinstance(steps, str) else steps
        chosen = {step for name in names for step in (ALL if name == "all" else (name,))}
        self._form: Form | None = "NFKC" if "nfkc" in chosen else "NFC" if chosen & {"nfc", "casefold"} else None
        self._folds, self._is_turkish = "casefold" in chosen, bool(chosen & {"tr", "az"})
        self._is_russian = "ru" in chosen
        tables = _replaced()
        self._table = {code: to for step in chosen & tables.keys() for code, to in tables[step].items()}
        self.signs = frozenset(map(chr, self._table))

    def __call__(self, text: str) -> str:
        """The text in one spelling."""
        while (changed := self._once(text)) != text:  # a step may make what another one changes
            text = changed
        return text

    def _once(self, text: str) -> str:
        if self._is_turkish:  # İ of two code points, and what lowercasing it by the rules of other languages gives
            text = text.replace("I" + _DOT, "i").replace("i" + _DOT, "i")
        if self._is_russian:  # ё of two code points
            text = text.replace("е" + _TWO_DOTS, "е").replace("Е" + _TWO_DOTS, "Е")
        if not self.signs.isdisjoint(text):  # translating takes ten times as long
            text = text.translate(self._table)
        if self._folds:
            text = text.casefold()
        return text if self._form is None else unicodedata.normalize(self._form, text)

    def column(self, column: pa.Array) -> pa.Array:
        """The texts of a column, or of its lists, each distinct one changed once; a column of no texts as it is.

        >>> Normalizer("casefold").column(pa.array([["Straße", "A"], None, []])).to_pylist()
        [['strasse', 'a'], None, []]
        """
        return map_texts(column, self._texts)

    def _texts(self, texts: pa.Array) -> pa.Array:
        odd = known_true(pc.invert(pc.string_is_ascii(texts)))
        found = texts.filter(odd).to_pylist()
        changed = {text: self(text) for text in dict.fromkeys(found)}
        if self._is_turkish:
            texts = pc.replace_substring(texts, "I", "ı")
        if self._folds:
            texts = pc.ascii_lower(texts)
        if not found:
            return texts
        return pc.replace_with_mask(texts, odd, pa.array([changed[text] for text in found], texts.type))


# Which texts a step may change, other than by folding the case of letters.


@functools.cache
def _spelled() -> Flags:
    """Whether each code point is that of a character with another spelling."""
    flags = np.zeros(sys.maxunicode + 1, np.bool_)
    flags[[code for table in _replaced().values() for code in table if code >= 0x80]] = True
    for code in range(0x80, _PLANES):
        parts = unicodedata.decomposition(chr(code))
        if parts.startswith("<") or (parts and " " not in parts):
            flags[code] = True
        elif parts:
            flags[int(parts.split()[1], 16)] = True  # a mark that a letter before it takes up
    flags[ord("ı")] = True
    flags[[0xA0, 0x2026]] = False  # white space, and dots that tokenizers drop
    return flags


def may_change(text: Text) -> Flags:
    """Which texts hold a character with another spelling; fast, for a note.

    >>> from fastmetrics.base.arrays import text_of_strings
    >>> may_change(text_of_strings(["Paris", "Müller", "Mu\u0308ller", "Straße", "٣", "Париж", ""])).tolist()
    [False, False, True, True, True, False, False]
    """
    return hold_characters(frozen(text.data), frozen(text.starts), frozen(text.stops), frozen(_spelled()))


_ALIKE = ("arabic", "invisible", "digits", "dashes")


@functools.cache
def _normalizer(*steps: str) -> Normalizer:
    return Normalizer(steps)


def steps_between(answer: str, reference: str) -> tuple[str, ...] | None:
    """The steps after which an answer holds a reference, none if it does as both are written, None if no steps help.

    >>> steps_between("It was 1939–45.", "1939-45"), steps_between("Straße ٣", "strasse 3"), steps_between("a", "b")
    (('dashes',), ('casefold', 'digits'), None)
    """
    if not reference.strip() or reference.lower() in answer.lower():
        return ()
    every = _normalizer("all", "tr", "ru")
    if every(reference) not in every(answer):
        return None
    together = answer + " " + reference
    helps = {
        "nfc": not unicodedata.is_normalized("NFC", together),
        "casefold": not {"ß", "ẞ"}.isdisjoint(together),
        "ru": ("ё" in answer.lower()) != ("ё" in reference.lower()),
        "tr": not {"İ", "ı"}.isdisjoint(together) or "i" + _DOT in together,
    }
    for step in _ALIKE:
        signs = _normalizer(step).signs
        helps[step] = signs & {*answer} != signs & {*reference}
    chosen = [step for step, is_of_use in helps.items() if is_of_use]
    normal = _normalizer(*chosen)
    alike = normal(reference).lower() in normal(answer).lower()
    return tuple(chosen) if alike else ("all",)
