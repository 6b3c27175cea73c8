"""The JSON objects in a text, and whether each of them stands for itself or is quoted; linear in the text's length."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_TOKEN = re.compile(r'\\[^\n]|["{}\n]')
# Both alternatives match wherever they start: a pattern that fails at the end of the text starts anew at each quote.
_COMMA = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*"?)|,(?=\s*[}\]])', re.DOTALL)
_OPENING = re.compile(r"[ \t]*(?:```[\w-]*)?[ \t`*_\[(]*")
_CLOSING = re.compile(r"[\s`*_\])]*")
_FENCED = re.compile(r"```[\w-]*\s*$")
_ENDS = ".!?。！？{"
"""What may follow an object that ends its sentence: the end of the sentence, or another object."""


class FoundObject(NamedTuple):
    """A JSON object in a text.

    ``repairs`` turned the text into the object: "fences" or "braces" for the text around it, and "commas".  ``alone``
    tells whether its line holds nothing else before it, ``quoted`` whether it is part of a sentence that goes on, or of
    a line that quotes: ``The answer says {"score": 5} but I refuse``.
    """

    content: dict[str, Any]
    repairs: tuple[str, ...]
    alone: bool
    quoted: bool


def objects_in(text: str) -> Iterator[FoundObject]:
    """The outermost JSON objects in a text, in their order; a comma before a closing bracket is removed.

    >>> [(one.content, one.quoted) for one in objects_in('It says {"score": 5} but I say {"score": 1}.')]
    [({'score': 5}, True), ({'score': 1}, False)]
    """
    whole = _object(text)
    if whole is not None:
        yield FoundObject(whole, (), True, False)
        return
    before = 0
    for start, stop in _braced(text):
        piece = text[start:stop]
        content, repairs = _object(piece), _surroundings(text, before, start, stop)
        if content is None:
            content, repairs = _object(_COMMA.sub(_without_comma, piece)), (*repairs, "commas")
        if content is not None:
            line = text[max(before, text.rfind("\n", before, start) + 1) : start]
            first = before == 0 or "\n" in text[before:start]
            alone = first and _OPENING.fullmatch(line) is not None
            yield FoundObject(content, repairs, alone, line.lstrip().startswith(">") or _goes_on(text, stop))
        before = stop


def _surroundings(text: str, before: int, start: int, stop: int) -> tuple[str, ...]:
    """The repair that the text around an object needs, from the end of the object ``before``."""
    opening, end = text[before:start], _after(text, stop)
    closing = text[stop:end]
    if before == 0 and end == len(text) and not (opening + closing).strip():
        return ()
    return ("fences",) if "```" in closing and _FENCED.search(opening, max(0, opening.rfind("```"))) else ("braces",)


def _after(text: str, stop: int) -> int:
    """The end of the closing marks and the white space after an object."""
    closing = _CLOSING.match(text, stop)
    return stop if closing is None else closing.end()


def _goes_on(text: str, stop: int) -> bool:
    """Whether the sentence with an object goes on after it."""
    end = _after(text, stop)
    if end == len(text) or text[end] in _ENDS:
        return False
    return text[end].islower() if "\n" in text[stop:end] else not text[end].isupper()


def _braced(text: str) -> list[tuple[int, int]]:
    """The outermost closed pairs of braces.

    Quotes count within braces only, since one in prose need not be closed; a line break ends a string, as JSON strings
    contain none.
    """
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    in_string = False
    at = text.find("{")
    while at >= 0 and (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        sign = token[0]
        if sign in '"\n':
            in_string = sign == '"' and not in_string
        elif in_string:
            continue
        elif sign == "{":
            opened.append(token.start())
        elif sign == "}":
            start = opened.pop()
            while pairs and pairs[-1][0] > start:
                pairs.pop()
            pairs.append((start, at))
            if not opened:
                at = text.find("{", at)
    return pairs


def _without_comma(match: re.Match[str]) -> str:
    return match[1] or ""


def _object(text: str) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
