"""The body of a chat completion: writing and parsing its text, why it ended, and its tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastmetrics.base.arrays import well_formed


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


@dataclass(frozen=True)
class ModelReply:
    """What a model client returns: the text of a reply, its tokens, and why it ended.

    ``finish_reason`` is "stop", "length" for a text that the limit of tokens cut short, or "content_filter";
    ``refusal`` is the model's reason not to answer, ``reasoning`` its thoughts.  None is unknown.

    >>> ModelReply("yes", prompt_tokens=12, completion_tokens=1).text
    'yes'
    """

    text: str | None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    reasoning: str | None = None

    def body(self, **more: Any) -> str:
        """The reply as a chat completion, the form in which all replies are stored, with ``more`` fields.

        >>> ModelReply("yes", completion_tokens=1).body()
        '{"choices": [{"message": {"role": "assistant", "content": "yes"}}], "usage": {"completion_tokens": 1}}'
        """
        message = {"role": "assistant", "content": self.text}
        further = {"refusal": self.refusal, "reasoning_content": self.reasoning}
        message |= {name: value for name, value in further.items() if value is not None}
        ending = {} if self.finish_reason is None else {"finish_reason": self.finish_reason}
        counts = {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}
        usage = {name: count for name, count in counts.items() if count is not None}
        return json.dumps({"choices": [{"message": message, **ending}], "usage": usage, **more})


def completion(body: str) -> Completion:
    """The first choice of a chat completion; without text for any other body.

    >>> completion('{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}').text
    'yes'
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return Completion(None)
    choices = _mapping(content).get("choices")
    if choices is None:
        error = _mapping(_mapping(content).get("error"))
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
    counts = _mapping(_mapping(json.loads(body)).get("usage"))
    prompt, completion = (_count(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
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
