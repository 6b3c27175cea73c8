"""Messages of a conversation, in the shapes of APIs: who said what, and the question and answer of its last turn.

A turn is a message of the user and all that follows it up to the next one: calls of tools, their results, the answer.
Roles and texts are found as OpenAI (chat and Responses), Anthropic, Gemini, Bedrock, LangChain and ShareGPT write them.
What a tool returns is no message of a user, although Anthropic sends it under that role.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fastmetrics.base.errors import shown

USER, ASSISTANT = "user", "assistant"

_ROLES = {
    **dict.fromkeys(("user", "human"), USER),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "function_call"), ASSISTANT),
}
"""Who speaks, by the names of roles; ``function_call`` is an item of OpenAI's Responses without a role."""
_ROLE_FIELDS = ("role", "from", "type")
_TEXT_FIELDS = ("content", "parts", "value")
"""The fields of a message with its text or its blocks: OpenAI's and Anthropic's, Gemini's, ShareGPT's."""
_TEXT_TYPES = (None, "text", "input_text", "output_text")
_CALLS = ("tool_calls", "toolCalls", "function_call")


class LastTurn(NamedTuple):
    """The last turn with an answer: its question and answer, and all messages behind the question as JSON."""

    question: str | None
    answer: str | None
    tool_calls: str | None


def role_of(message: Any) -> str | None:
    """``user`` or ``assistant``; None for instructions, results of tools and whatever else is in a conversation.

    >>> role_of({"role": "model", "parts": []}), role_of({"from": "human", "value": "Why?"}), role_of({"role": "tool"})
    ('assistant', 'user', None)
    """
    if not isinstance(message, Mapping):
        raise ValueError(f"expected messages with a role and content, got {shown(message)}")
    name = next((message[field] for field in _ROLE_FIELDS if isinstance(message.get(field), str)), None)
    if name is None:
        raise ValueError(f"expected messages with a role and content, got the fields {', '.join(map(repr, message))}")
    role = _ROLES.get(name.lower())
    return None if role == USER and _only_results(message) else role


def _only_results(message: Mapping[str, Any]) -> bool:
    """Whether a message holds nothing but results of tools, which go back under the user's role."""
    blocks = message.get("content")
    return (
        isinstance(blocks, list)
        and len(blocks) > 0
        and all(isinstance(block, Mapping) and ("toolResult" in block or _is_result(block)) for block in blocks)
    )


def _is_result(block: Mapping[str, Any]) -> bool:
    return str(block.get("type")).endswith("tool_result")


def text_of(message: Mapping[str, Any], between: str = "") -> str | None:
    """The text of a message, or of its blocks of text; None without any, as where it only calls tools.

    >>> text_of({"role": "assistant", "content": [{"type": "text", "text": "In "}, {"type": "text", "text": "Rome."}]})
    'In Rome.'
    """
    content = next((message[field] for field in _TEXT_FIELDS if message.get(field) is not None), None)
    if isinstance(content, str):
        return None if not content and any(message.get(field) for field in _CALLS) else content
    texts = [text for text in map(_block_text, content if isinstance(content, list) else ()) if text is not None]
    return between.join(texts) if texts else None


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    is_text = isinstance(block, Mapping) and block.get("type") in _TEXT_TYPES and isinstance(block.get("text"), str)
    return block["text"] if is_text else None


def user_turns(messages: Sequence[Any]) -> int:
    """The number of messages of the user.

    >>> user_turns([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}])
    1
    """
    return sum(role_of(message) == USER for message in messages)


def last_turn(messages: Sequence[Any]) -> LastTurn:
    """The last message of the assistant, the last one of the user before it, and what is between.

    >>> last_turn([{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]).answer
    '2'

    Raises ``ValueError`` for an item that is no message.
    """
    roles = list(map(role_of, messages))
    end = _last(roles, ASSISTANT, len(roles))
    start = _last(roles, USER, len(roles) if end < 0 else end)
    question = text_of(messages[start], "\n") if start >= 0 else None
    if end < 0:
        return LastTurn(question, None, None)
    behind = json.dumps(list(messages[start + 1 : end + 1]), ensure_ascii=False)
    return LastTurn(question, text_of(messages[end]), behind)


def _last(roles: Sequence[str | None], role: str, end: int) -> int:
    """The last place of a role before ``end``; -1 without one."""
    places: Iterator[int] = (place for place in range(end - 1, -1, -1) if roles[place] == role)
    return next(places, -1)
