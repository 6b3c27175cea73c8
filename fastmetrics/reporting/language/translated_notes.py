"""Notes of results and headings of their tables in the language of a report; others stay in English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from fastmetrics.core.display.printed_tables import Grid
from fastmetrics.reporting.language.plural_forms import plural_form
from fastmetrics.reporting.language.russian_notes import HEADS, PHRASES, RUSSIAN, WITHIN

_LONG = 2_000
"""Characters up to which a note is looked up: those with long names of runs take long to match and stay as they are."""


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The patterns of notes; one that begins with a place matches after those that begin with words."""
    ordered = sorted(RUSSIAN.items(), key=lambda entry: entry[0].startswith("{}"))
    return [
        (re.compile(re.escape(english).replace(re.escape("{}"), "(.+?)"), re.DOTALL), russian)
        for english, russian in ordered
    ]


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile(rf"(?:(?<=^)|(?<=, ))({'|'.join(map(re.escape, PHRASES))})(?= \(|, |$)")


def in_language(notes: Iterable[str], language: str) -> list[str]:
    """The notes in this language where they have a translation.

    >>> in_language(["40 questions in 3 topics, seed 42", "{x}", "p of t, corrected by Holm over 22 comparisons"], "ru")
    ['вопросов: 40, тем: 3, seed 42', '{x}', 'p по t, с поправкой Холма на 22 сравнения']
    """
    return [_russian(note) if language == "ru" else note for note in notes]


def headed(grid: Grid, language: str) -> Grid:
    """The table with its headings in this language, and with the names of figures that are words.

    >>> headed(Grid(("figure", "bm25"), [("rows", "9")]), "ru")
    Grid(header=['показатель', 'bm25'], rows=[('строк', '9')], label_columns=1)
    """
    if language == "en":
        return grid
    names_figures = grid.header[:1] == ("figure",)
    rows = [(HEADS.get(name, name) if names_figures else name, *cells) for name, *cells in grid.rows]
    return replace(grid, header=[HEADS.get(head, head) for head in grid.header], rows=rows)


def _russian(note: str) -> str:
    for pattern, russian in _patterns() if len(note) <= _LONG else ():
        if match := pattern.fullmatch(note):
            return _filled(russian, match.groups())
    return note


def _filled(text: str, values: Sequence[str]) -> str:
    """The text with its places filled and the forms after numbers chosen; no value is read again."""
    parts = re.split(r"(\{\d?~?\}|\[[^]|]+\|[^]]+\])", text)
    turn, number, filled = iter(range(len(values))), 0, []
    for part in parts:
        if part.startswith("["):
            filled.append(plural_form(part[1:-1], number, "ru"))
        elif part.startswith("{"):
            value = values[int(part[1])] if part[1].isdigit() else values[next(turn)]
            number = int(value.replace(",", "")) if re.fullmatch(r"[\d,]*\d", value) else number
            filled.append(_inner(value) if "~" in part else value)
        else:
            filled.append(part)
    return "".join(filled)


def _inner(value: str) -> str:
    """A note within a note, or the texts of this package in a list of names."""
    translated = _russian(value)
    if translated != value:
        return translated
    for pattern, russian in WITHIN:
        value = re.sub(pattern, russian, value)
    return _phrases().sub(lambda match: PHRASES[match[1]], value)
