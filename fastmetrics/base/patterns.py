r"""Regular expressions that users write: RE2, in time that is linear in the texts whatever the pattern.

``\w``, ``\d`` and ``\s`` mean Unicode's, as in Python; ``\b`` is the edge of a word of ASCII.  What RE2 cannot compile,
such as look-around and backreferences, is refused.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, arrow_texts, numpy_values
from fastmetrics.base.options import NotAllowedError


@dataclass(frozen=True)
class Pattern:
    """A regular expression of at most ``longest`` characters."""

    longest: int = 1_000
    groups: int = 0
    """The number of groups that it needs."""

    def take(self, value: Any) -> str:
        """The expression as text."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise NotAllowedError
        if UserPattern(value).groups < self.groups:
            raise NotAllowedError(f"it has no group; put the part to find in brackets, as in {value}(.+)")
        return str(value)

    def __str__(self) -> str:
        return f"a regular expression of RE2 of at most {self.longest:,} characters"


class Match(NamedTuple):
    """A match in a text: where it begins and ends, and its groups, empty where one has no part in it."""

    start: int
    stop: int
    text: str
    groups: tuple[str, ...]


class UserPattern:
    r"""The pattern that a user gave.

    >>> [[mark.groups[0] for mark in marks] for marks in UserPattern(r"\((\d+)\)").matches(["Bread (1), (2).", "3"])]
    [['1', '2'], []]

    Raises ``NotAllowedError`` for one that RE2 cannot compile.
    """

    def __init__(self, pattern: str) -> None:
        self._re2, self.groups = _compiled(pattern)

    def is_in(self, texts: pa.Array) -> Flags:
        """Whether each text has a match."""
        return numpy_values(pc.match_substring_regex(texts, self._re2))

    def matches(self, texts: Sequence[str]) -> list[list[Match]]:
        """The matches in each text, from left to right."""
        column = arrow_texts(list(texts))
        found: list[list[Match]] = [[] for _ in texts]
        rows = pc.indices_nonzero(pc.match_substring_regex(column, self._re2)).to_pylist()
        if not rows:
            return found
        # RE2 marks what it finds, by characters that no text has.
        begin, middle, end = _marks(column)
        mark = begin + middle.join(rf"\{group}" for group in range(self.groups + 1)) + end
        marked = pc.replace_substring_regex(column.take(rows), self._re2, mark)
        for row, text in zip(rows, marked.to_pylist(), strict=True):
            before, *pieces = text.split(begin)
            place = len(before)
            for piece in pieces:
                inside, _, rest = piece.partition(end)
                whole, *groups = inside.split(middle)
                found[row].append(Match(place, place + len(whole), whole, tuple(groups)))
                place += len(whole) + len(rest)
        return found


def _marks(texts: pa.Array) -> list[str]:
    """Three noncharacters that are in none of the texts."""
    free = (mark for mark in map(chr, range(0xFDD0, 0xFDF0)) if not pc.any(pc.match_substring(texts, mark)).as_py())
    return [next(free), next(free), next(free)]


_MOST_GROUPS = 9
_SETS = {"w": r"\pL\pN_", "d": r"\p{Nd}", "s": r"\s\x0b\x1c-\x1f\x{85}\pZ"}
_TOKEN = re.compile(
    r"\\u([0-9A-Fa-f]{4})|\\([pPx]\{[^}]*\}|.)|(?P<group>\((?!\?)|\(\?P?<(?![=!]))|\[\^?\]?|\]|.", re.DOTALL
)


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[str, int]:
    """A pattern as RE2 has it, and the number of its groups."""
    parts, groups, in_set = [], 0, False
    for token in _TOKEN.finditer(pattern):
        text, escaped = token[0], token[2]
        if token[1] is not None:
            text = rf"\x{{{token[1]}}}"
        elif escaped in _SETS:
            text = _SETS[escaped] if in_set else f"[{_SETS[escaped]}]"
        elif escaped is not None and escaped.lower() in _SETS:
            if in_set:
                raise NotAllowedError(rf"{text} within [] is not supported: write the characters that it leaves")
            text = f"[^{_SETS[escaped.lower()]}]"
        elif escaped == "Z":
            text = r"\z"
        elif not in_set and text.startswith("["):
            in_set = True
        elif in_set and text == "]":
            in_set = False
        elif not in_set and token["group"] is not None:
            groups += 1
        parts.append(text)
    translated = "".join(parts)
    if groups > _MOST_GROUPS:
        raise NotAllowedError(
            f"it has {groups} groups, of at most {_MOST_GROUPS}: write (?:…) for those that find nothing"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)  # RE2 takes for text what Python takes for a repetition that is too large
    except (re.error, OverflowError, RecursionError) as error:
        raise NotAllowedError(str(error)) from error
    try:
        pc.match_substring_regex(arrow_texts([""]), translated)
    except UnicodeEncodeError as error:
        raise NotAllowedError("it holds half of a surrogate pair, which no text has") from error
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise NotAllowedError(f"RE2, which has no look-around and no backreferences, says: {reason}") from error
    return translated, groups
