"""Parsing the body of a chat completion: the text, why it ended, and its tokens."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fastmetrics.core.arrays import well_formed


class Completion(NamedTuple):
    """The text of a reply, if any; ``refused`` and ``truncated`` explain missing or incomplete text.

    ``trace`` is the model's reasoning, if the server returns it.  Halves of surrogate pairs are U+FFFD.  ``lacks`` says
    what the reply is if it has no text.
    """

    text: str | None
    refused: str | None = None
    truncated: bool = False
    trace: str | None = None
    lacks: str | None = None


def completion(body: str) -> Completion:
    """The first choice of a chat completion; without text for any other body.

    >>> completion('{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}').text
    'yes'
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return Completion(None)
    choices = _mapping(found).get("choices")
    if choices is None:
        error = _mapping(_mapping(found).get("error"))
        refused = well_formed(str(error.get("message"))) if error.get("code") == "content_filter" else None
        return Completion(None, refused, lacks="a reply without choices")
    choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = _mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    refused = _nonempty(message.get("refusal"))
    if finish == "content_filter":
        refused = refused or "blocked by the server's filter"
    trace = _nonempty(message.get("reasoning_content")) or _nonempty(message.get("reasoning"))
    text = _text(message.get("content"))
    lacks = None if text is not None and text.strip() else _lack(choices, message)
    return Completion(text, refused, finish == "length", trace, lacks)


def _lack(choices: Any, message: dict[str, Any]) -> str:
    """What a reply without text is."""
    if not (isinstance(choices, list) and choices):
        return "a reply with an empty list of choices"
    calls = message.get("tool_calls") or message.get("function_call")
    if not calls:
        return "an empty reply"
    names = [_mapping(_mapping(call).get("function") or call).get("name") for call in _list(calls)]
    return f"a reply that calls tools instead of answering ({', '.join(repr(name)[:80] for name in names[:3])})"


def usage(body: str) -> tuple[int | None, int | None]:
    """The token counts reported by a completion."""
    found = _mapping(_mapping(json.loads(body)).get("usage"))
    prompt, completion = (_count(found.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return prompt, completion


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _text(content: Any) -> str | None:
    """The text of a message, which may consist of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return well_formed("".join(part for part in parts if isinstance(part, str))) or None
    return well_formed(content) if isinstance(content, str) else None


def _nonempty(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) and value else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
