"""Parsing a judge's reply: JSON, or text that known, recorded repairs turn into JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from fastmetrics.derive.clients.completion import completion
from fastmetrics.derive.replies.reply_objects import FoundObject, objects_in

OK, UNPARSED, TRUNCATED, REFUSED = "ok", "unparsed", "truncated", "refused"

_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
_NUMBER = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*")


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

    >>> import json
    >>> body = {"choices": [{"message": {"content": 'It is {"score": 4, "reason": "good",}.'}}]}
    >>> read_reply(json.dumps(body), lambda found: grade_of(found, 1, 5))[:4]
    ('ok', 4.0, 'good', ('braces', 'commas'))
    """
    reply = completion(body)
    if reply.text is None or not reply.text.strip():
        status = REFUSED if reply.refused else TRUNCATED if reply.truncated else UNPARSED
        return Reading(status, reason=reply.refused, text=reply.text, trace=reply.trace)
    text, trace = reply.text, reply.trace
    thought = _THOUGHT.match(text) if "<think" in text else None
    if thought is not None:
        text, trace = text[thought.end() :], trace or thought[1].strip()
    verdict = _verdict(text, score)
    if verdict is not None:
        value, chosen = verdict
        more = ("number in text",) if isinstance(chosen.content.get("score"), str) else ()
        reason = chosen.content.get("reason")
        return Reading(OK, value, reason if isinstance(reason, str) else None, chosen.repairs + more, reply.text, trace)
    status = REFUSED if reply.refused else TRUNCATED if reply.truncated else UNPARSED
    return Reading(status, reason=reply.refused, text=reply.text, trace=trace)


def _verdict(text: str, score: Score) -> tuple[float, FoundObject] | None:
    """The last object with a score, unless two objects have different scores or the object is a quotation.

    An object within a line of prose is a verdict only with a reason, as the requested form has it.
    """
    last: tuple[float, FoundObject] | None = None
    values: set[str] = set()
    for candidate in objects_in(text):
        value = score(candidate.content)
        if value is not None:
            values.add(repr(value))  # NaN, a list without claims, equals itself in text only
            if not candidate.quoted and (candidate.alone or isinstance(candidate.content.get("reason"), str)):
                last = value, candidate
    return last if len(values) == 1 else None


def grade_of(fields: Mapping[str, Any], low: float, high: float) -> float | None:
    """The number under "score", also as text, if it is within the range.

    >>> grade_of({"score": "4"}, 1, 5), grade_of({"score": 6}, 1, 5), grade_of({"score": True}, 0, 1)
    (4.0, None, None)
    """
    value = fields.get("score")
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and low <= value <= high else None
