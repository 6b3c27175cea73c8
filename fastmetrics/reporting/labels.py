"""The words of a report in each language (``labels.toml``), and how figures and words beside them are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastmetrics.base.display import Grid, OwnName
from fastmetrics.reporting.sections.section import WORDS, Section

_WORDS: Mapping[str, Sequence[str]] = WORDS["words"]

HEADINGS: Mapping[str, str] = WORDS["headings"]
"""The Russian headings of tables that the terminal shows too, and the names of figures that are words."""

LANGUAGES = ("en", "ru")


def labels(language: str, sections: Sequence[Section] = ()) -> Mapping[str, str]:
    """The words of a report and of its sections in a language, by their keys.

    Raises ``ValueError`` for a section with a key that has other words already.
    """
    place = LANGUAGES.index(language)
    words = dict(_WORDS)
    for section in sections:
        if twice := sorted(words.keys() & section.labels.keys()):
            raise ValueError(f"section {section.name}: labels exist already: {', '.join(twice)}")
        words |= section.labels
    return {key: translated[place] for key, translated in words.items()}


def headed(grid: Grid, language: str) -> Grid:
    """The table with its headings and figures in this language, and with the names of figures that are words.

    >>> headed(Grid(("figure", "bm25"), [("rows", "9")]), "ru")
    Grid(header=('показатель', 'bm25'), rows=(('строк', '9'),), label_columns=1)
    """
    if language == "en":
        return grid
    rows = written(grid, language).rows
    if grid.header[:1] == ("figure",):
        rows = [(HEADINGS.get(name, name), *cells) for name, *cells in rows]
    return replace(
        grid,
        header=[head if isinstance(head, OwnName) else HEADINGS.get(head, head) for head in grid.header],
        rows=rows,
    )


def written(grid: Grid, language: str) -> Grid:
    """The table with its figures as the language writes them; its headings may be names of systems."""
    rows = [
        (name, *(figures(cell, language) if _CELL.fullmatch(cell) else cell for cell in cells))
        for name, *cells in grid.rows
    ]
    return replace(grid, rows=rows)


_FIGURE = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w*[.,]?\d)")
_INTERVAL = re.compile(r"\[([^][]+?), ([^][]+)\]")
_CELL = re.compile(r"[\d\s.,e%*†‡≤<±–−+/()[\]→-]*")


def figures(text: str, language: str) -> str:
    """A text of ours with its figures as the language writes them: in Russian a decimal comma and spaces by thousands.

    >>> figures("1,234.5, [-0.2500, 10,000]*", "ru").replace("\xa0", " "), figures("0.5", "en")
    ('1 234,5, [-0,2500; 10 000]*', '0.5')
    """
    if language == "en":
        return text
    apart = _INTERVAL.sub(r"[\1; \2]", text)
    return _FIGURE.sub(lambda found: found[0].replace(",", "\xa0").replace(".", ","), apart)


def plural_form(forms: str, number: int, language: str) -> str:
    """The form for a number among those that ``|`` divides: two in English, three in Russian.

    >>> [plural_form("row|rows", n, "en") for n in (0, 1, 2)]
    ['rows', 'row', 'rows']
    >>> [plural_form("строка|строки|строк", n, "ru") for n in (1, 3, 11, 14, 25, 121)]
    ['строка', 'строки', 'строк', 'строк', 'строк', 'строка']
    """
    of_one, *others = forms.split("|")
    if language == "en":
        return of_one if number == 1 else others[-1]
    units = number % 10 if number % 100 // 10 != 1 else 0
    return of_one if units == 1 else others[0] if 2 <= units <= 4 else others[-1]
