"""Regular expressions that users write: which are allowed, and their matches, each text within limited time.

Backtracking may take time that is exponential in the length of a text, and Python's ``re`` neither ends it nor hears a
signal meanwhile.  So ``re`` decides what is a pattern, and the package ``regex`` matches it, with a time limit.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastmetrics.base.errors import Argument, InputError, shown
from fastmetrics.base.options import NotAllowedError

if TYPE_CHECKING:
    import regex

SECONDS = 5.0
"""Processor time for the matches in a text; an ordinary pattern takes microseconds."""

_PER_CHARACTER = 1e-6
"""Further seconds for each character of the text: more than slow patterns need that go through it once."""


@dataclass(frozen=True)
class Pattern:
    """A regular expression of at most ``longest`` characters."""

    longest: int = 1_000

    def take(self, value: Any) -> str:
        """The expression as text."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise NotAllowedError
        try:
            _compiled(value)
        except Exception as error:  # the packages raise errors of many types
            raise NotAllowedError(str(error)) from error
        return str(value)

    def __str__(self) -> str:
        return f"a regular expression of at most {self.longest:,} characters"


class UserPattern:
    r"""The pattern that a user gave for ``option``, to be matched with the texts of rows.

    >>> [mark[1] for mark in UserPattern("pattern", r"\((\d+)\)").matches("Bread (1), (2).", 0)]
    ['1', '2']
    """

    def __init__(self, option: str, pattern: str) -> None:
        self._option = Argument(option, pattern)
        self._compiled = _compiled(pattern)

    def matches(self, text: str, row: int) -> Iterator[regex.Match[str]]:
        """The matches in ``text``, which belongs to ``row``, from left to right.

        Raises ``InputError`` for that row if they take too long.
        """
        try:
            yield from self._compiled.finditer(text, timeout=SECONDS + _PER_CHARACTER * len(text))
        except TimeoutError as error:
            raise InputError(
                self._option,
                f" takes more than {SECONDS:g} seconds in the text {shown(text)}; write a pattern that can match a text"
                " in one way only, without a repetition in a repetition such as (a+)+, or skip the row",
                row=row,
            ) from error

    def is_in(self, text: str, row: int) -> bool:
        """Whether ``text``, which belongs to ``row``, has a match."""
        return any(True for _ in self.matches(text, row))


def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        re.compile(pattern)  # excludes what only regex has, such as recursion, which may take all memory
        return regex.compile(pattern)
