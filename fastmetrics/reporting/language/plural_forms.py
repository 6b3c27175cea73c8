"""The form of words beside a number: of one, of a few, of many."""

from __future__ import annotations


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
