"""Parsing a judge's reply: JSON, or text that known, recorded repairs turn into JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from fastmetrics.derive.completion import completion

OK, UNPARSED, TRUNCATED, REFUSED = "ok", "unparsed", "truncated", "refused"

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_NUMBER = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*")
_MOST_BRACES = 100
"""Maximum number of positions in a text tried as the start of a JSON object."""


class Reading(NamedTuple):
    """The content of a reply: a score with its reason, or why there is none, and the repairs.

    ``text`` is the reply's text, and ``trace`` the model's reasoning, if there are any.
    """

    status: str
    score: float | None = None
    reason: str | None = None
    repairs: tuple[str, ...] = ()
    text: str | None = None
    trace: str | None = None


Score: TypeAlias = Callable[[Mapping[str, Any]], float | None]
"""Computes a score from the object in a reply, or None if it has none."""


def read_reply(body: str, score: Score) -> Reading:
    """Parse the body of a chat completion; ``score`` computes the score from the object in the reply.

    >>> body = {"choices": [{"message": {"content": 'It is {"score": 4, "reason": "good",}.'}}]}
    >>> read_reply(json.dumps(body), lambda found: grade_of(found, 1, 5))[:4]
    ('ok', 4.0, 'good', ('braces', 'commas'))
    """
    found = completion(body)
    if found.text is None or not found.text.strip():
        status = REFUSED if found.refused else TRUNCATED if found.truncated else UNPARSED
        return Reading(status, reason=found.refused, text=found.text, trace=found.trace)
    text, trace = found.text, found.trace
    thought = _THOUGHT.match(text) if "<think" in text else None
    if thought is not None:
        text, trace = text[thought.end() :], trace or thought[1].strip()
    for repairs, held in _objects(text):
        value = score(held)
        if value is not None:
            more = ("number in text",) if isinstance(held.get("score"), str) else ()
            reason = held.get("reason")
            told = reason if isinstance(reason, str) else None
            return Reading(OK, value, told, repairs + more, found.text, trace)
    status = REFUSED if found.refused else TRUNCATED if found.truncated else UNPARSED
    return Reading(status, reason=found.refused, text=found.text, trace=trace)


def grade_of(found: Mapping[str, Any], low: float, high: float) -> float | None:
    """The number under "score", also as text, if it is within the range.

    >>> grade_of({"score": "4"}, 1, 5), grade_of({"score": 6}, 1, 5), grade_of({"score": True}, 0, 1)
    (4.0, None, None)
    """
    value = found.get("score")
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and low <= value <= high else None


def _objects(text: str) -> Any:
    """The candidate JSON objects in a text, with their repairs, fewest repairs first."""
    plain = _object(text)
    if plain is not None:
        yield (), plain
    for repairs, candidate in _candidates(text):
        held = _object(candidate) if repairs else None
        if held is not None:
            yield repairs, held
        repaired = _COMMA.sub(_without_comma, candidate)
        held = _object(repaired) if repaired != candidate else None
        if held is not None:
            yield (*repairs, "commas"), held


def _candidates(text: str) -> Any:
    yield (), text
    for fenced in reversed(_FENCE.findall(text)):
        yield ("fences",), fenced
    yield from ((("braces",), piece) for piece in _braced(text))
    yield ("braces",), text[text.find("{") : text.rfind("}") + 1]  # an unclosed quote hides braces from _braced


def _braced(text: str) -> list[str]:
    """The outermost pairs of braces in a text, the last one first, because the conclusion is at the end."""
    pieces: list[str] = []
    depth = start = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}]', text):
        if match[0] == "{":
            start, depth = (match.start() if depth == 0 else start), depth + 1
        elif match[0] == "}" and depth:
            depth -= 1
            if depth == 0:
                pieces.append(text[start : match.end()])
    return pieces[::-1][:_MOST_BRACES]


def _without_comma(match: re.Match[str]) -> str:
    return match[1] or ""


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
