"""Messages of a conversation, in the shapes of APIs: who said what, the last turn, and the calls of tools.

A turn is a message of the user and all that follows it up to the next one: calls of tools, their results, the answer.
Messages are read as OpenAI (chat, Responses, Agents), Anthropic, Gemini, Bedrock, Vercel's AI SDK, LangChain,
LlamaIndex, Pydantic AI, Haystack, Cohere and ShareGPT write them.  What a tool returns is no message of a user,
although Anthropic and Gemini send it under that role.  Calls are found by what they hold: a name and arguments.  A part
that is neither a call nor known to be none is an error, for it may be a call of a shape that nobody has told us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fastmetrics.base.errors import shown

# Messages: their roles and texts.


USER, ASSISTANT = "user", "assistant"

_ROLES = {
    **dict.fromkeys(("user", "human", "humanmessage"), USER),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot", "aimessage", "aimessagechunk"), ASSISTANT),
    **dict.fromkeys(("function_call", "tool_call", "tool_calls", "response"), ASSISTANT),
}
"""Who speaks, by the names of roles; ``function_call`` is an item of OpenAI's Responses, ``response`` Pydantic AI's."""
_ROLE_FIELDS = ("role", "from", "type", "kind")
_TEXT_FIELDS = ("content", "parts", "value", "blocks", "message")
"""The fields of a message with its text or blocks: of OpenAI and Anthropic, Gemini, ShareGPT, LlamaIndex, Cohere."""
_TEXT_TYPES = (None, "text", "input_text", "output_text")
_CALLS = ("tool_calls", "toolCalls", "toolInvocations", "function_call", "invalid_tool_calls")
"""The fields of a message that hold its calls."""


class LastTurn(NamedTuple):
    """The last turn with an answer: its question and answer, and all messages behind the question as JSON."""

    question: str | None
    answer: str | None
    tool_calls: str | None


def _unwrapped(message: Any) -> Any:
    """A message without what logs put around it: LangChain's data, an item of OpenAI's Agents, a choice."""
    if not isinstance(message, Mapping):
        return message
    for holder, sign in (("raw_item", "type"), ("message", "role"), ("content", "parts"), ("data", "content")):
        inner = message.get(holder)
        if isinstance(inner, Mapping) and (sign in inner or "role" in inner):
            return {**inner, "type": message.get("type")} if holder == "data" else inner
    if message.get("type") == "constructor" and isinstance(message.get("kwargs"), Mapping):
        return {**message["kwargs"], "type": str(message.get("id", [""])[-1])}
    return message


def role_of(message: Any) -> str | None:
    """``user`` or ``assistant``; None for instructions, results of tools and whatever else is in a conversation.

    >>> role_of({"role": "model", "parts": []}), role_of({"from": "human", "value": "Why?"}), role_of({"role": "tool"})
    ('assistant', 'user', None)
    """
    message = _unwrapped(message)
    if not isinstance(message, Mapping):
        raise ValueError(f"expected messages with a role and content, got {shown(message)}")
    name = next((message[field] for field in _ROLE_FIELDS if isinstance(message.get(field), str)), None)
    if name is None:
        raise ValueError(f"expected messages with a role and content, got the fields {', '.join(map(repr, message))}")
    if name == "request":  # of Pydantic AI: what the user says, or what tools return
        parts = message.get("parts") or ()
        return USER if any(part.get("part_kind") == "user-prompt" for part in parts) else None
    role = ASSISTANT if _is_item_call(message) else _ROLES.get(name.lower())
    return None if role == USER and _only_results(message) else role


def _only_results(message: Mapping[str, Any]) -> bool:
    """Whether a message holds nothing but results of tools, which go back under the user's role."""
    blocks = message.get("content") or message.get("parts")
    return (
        isinstance(blocks, list)
        and len(blocks) > 0
        and all(isinstance(block, Mapping) and _is_result(block) for block in blocks)
    )


def text_of(message: Mapping[str, Any], between: str = "") -> str | None:
    """The text of a message, or of its blocks of text; None without any, as where it only calls tools.

    >>> text_of({"role": "assistant", "content": [{"type": "text", "text": "In "}, {"type": "text", "text": "Rome."}]})
    'In Rome.'
    """
    message = _unwrapped(message)
    if _written_call(message):
        return None
    content = next((message[field] for field in _TEXT_FIELDS if message.get(field) is not None), None)
    if isinstance(content, str):
        return None if not content and any(message.get(field) for field in _CALLS) else content
    texts = [text for text in map(_block_text, content if isinstance(content, list) else ()) if text is not None]
    return between.join(texts) if texts else None


def _block_text(block: Any) -> str | None:
    """The text of a block, under ``text``, or ``content`` as of OpenTelemetry and Pydantic AI."""
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping) or block.get("thought") is True:
        return None
    kind = _kind(block)
    texts = [block.get("text"), *([block.get("content")] if kind in ("text", "user-prompt") else [])]
    is_text = kind in _TEXT_TYPES or kind == "user-prompt"
    return next((text for text in texts if isinstance(text, str)), None) if is_text else None


_KINDS = ("type", "part_kind", "block_type", "content_type")
"""The fields that name the kind of a block: of most, Pydantic AI's, LlamaIndex', Semantic Kernel's."""


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


# Calls of tools.


Call: TypeAlias = tuple[str, str | None]
"""A call: the name of the tool, its arguments as a text of JSON, or None if nothing says what they are.

Millions of plain tuples of texts cost the collector of garbage nothing, unlike objects of a class.
"""

_WRAPPED = ("function", "functionCall", "function_call", "toolUse", "tool_call", "toolInvocation", "custom", "params")
"""The fields of a call with its name and arguments: OpenAI's, Gemini's, Bedrock's, Haystack's, Vercel's and MCP's."""
_NAMES = ("name", "toolName", "tool_name", "function_name")
_ARGUMENTS = ("arguments", "args", "input", "input_parameters", "parameters", "tool_kwargs", "tool_args", "tool_input")
"""The names of arguments: OpenAI's and MCP's, those of Gemini and LangChain, Anthropic's, Bedrock's and Vercel's, and
others; LlamaIndex', Agno's, Vertex AI's."""
_GIVEN = ("queries", "code", "operation")
"""What tools that OpenAI calls itself were given, unless it is an ``action``."""
_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_id")
_MADE = re.compile(
    r"function|custom|(?:(?:mcp|server|custom|invalid|builtin)[_-])?(?:tool|function)[_-]call|(?:(?:server|mcp)_)?tool_use|"
    r"mcp_call|dynamic-tool|tool-invocation|tool_call_message"
)
"""The types of calls with a name."""
_USUAL = frozenset({None, "function", "function_call", "tool_use", "tool_call"})
_ITEM = re.compile(r"([a-z][a-z_]*)_call")
"""The type of a call that OpenAI makes itself, with the name of its tool."""
_RESULT = re.compile(
    r"(?i)(?:.*[_-])?(?:results?|output|outputs|response|return|returned|error|denied)(?:_(?:item|block|event|error))?|"
    r"data-.*|ToolCallExecutionEvent"
)
_OTHER = re.compile(
    r"(?i)(?:(?:input|output|summary|reasoning)_)?text|refusal|(?:redacted_)?thinking|reasoning(?:_item|content)?|thought|"
    r"compaction|(?:(?:input|output|inline)_?)?(?:image|audio|video|file|document|media|binary|data)(?:[_-]?(?:url|file|data))?|"
    r"search_result|container_upload|citations?(?:content)?|source(?:-.*)?|step-start|item_reference|cache_?point|"
    r"mcp_(?:list_tools|approval_request)(?:_item)?|(?:system|user|retry)-prompt|guardcontent|json|non_standard"
)
"""The types of parts, or the fields of those without a type, that are neither calls nor results of tools."""
_RESULTS = re.compile(r"(?i)(?:function_?response|tool_?result|code_?execution_?result|tool_call_result)")
"""The fields of results in parts without a type."""
_BESIDE = frozenset(
    {"additional_kwargs", "response_metadata", "usage", "usage_metadata", "meta", "metadata", "annotations"}
)
"""Fields of a message that hold neither what it says nor what it calls."""
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
"""A call within the text of an answer, as Hermes and Qwen write it."""
_COLLECTIONS = ("choices", "candidates", "messages", "contents", "output", "new_items", "intermediate_steps")
"""The fields of whole responses and runs that hold messages or items."""
_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def calls_of(value: Any) -> list[Call]:
    """The calls in a value of parsed JSON: a name, a call, a message with calls, or a list of these.

    >>> [name for name, _ in calls_of(["search", {"function": {"name": "read", "arguments": "{}"}}])]
    ['search', 'read']
    >>> calls_of({"role": "assistant", "content": [{"type": "tool_use", "name": "add", "input": {"a": 1.0}}]})
    [('add', '{"a": 1.0}')]

    Raises ``ValueError`` for any other value.
    """
    if isinstance(value, list):
        return [call for item in value for call in calls_of(item)]
    if isinstance(value, str):
        return [(value, None)]
    if type(value) is dict and "role" not in value and "tool_calls" not in value:  # the most frequent shapes
        inner = value.get("function", value)
        if type(inner) is dict and "name" in inner and value.get("type") in _USUAL:
            return [_call(inner)]
    value = _unwrapped(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"expected the name of a tool or a call, got {shown(value)}")
    if _is_message(value):
        return _of_message(value)
    for holder in _COLLECTIONS:
        if _kind(value) is None and isinstance(value.get(holder), list) and not any(name in value for name in _NAMES):
            return calls_of(value[holder])
    return _of_part(value)


def _is_message(value: Mapping[str, Any]) -> bool:
    speaks = any(isinstance(value.get(field), str) for field in ("role", "from"))
    said = str(value.get("type")).lower() in ("message", *_SPEAKERS, *_SILENT - {"function"})
    return speaks or said or value.get("kind") in ("request", "response") or any(field in value for field in _CALLS[:3])


def _speaker(message: Mapping[str, Any]) -> str:
    """Who says a message, by the name of the role; empty for an item without one."""
    return next((message[field] for field in _ROLE_FIELDS[:3] if isinstance(message.get(field), str)), "").lower()


_SILENT = frozenset({name for name, role in _ROLES.items() if role == USER})
_SILENT |= {"system", "developer", "tool", "function", "ipython", "tool_response", "tool_result", "observation"}
_SILENT |= {"environment", "toolmessage", "systemmessage", "functionmessage"}
"""The roles that call no tools: users, instructions, and tools that return something."""
_SPEAKERS = ("human", "ai", "humanmessage", "aimessage", "aimessagechunk")


def _of_message(message: Mapping[str, Any]) -> list[Call]:
    """The calls of a message; one that stands in two fields, as LangChain has those of Anthropic, once."""
    if _speaker(message) in _SILENT:
        return []
    contents = [message[field] for field in (*_TEXT_FIELDS, "items") if message.get(field)]
    contents = [[content] if isinstance(content, Mapping) else content for content in contents]
    if _written_call(message):
        return [call for content in contents[:1] for call in _of_text(content)]
    more = message.get("additional_kwargs")
    fields = [_listed(message) or (_listed(more) if isinstance(more, Mapping) else [])]
    fields += [content for content in contents if isinstance(content, list)]
    calls: list[Call] = []
    known: set[Any] = set()
    for number, parts in enumerate(fields):
        new = [part for part in parts if not (_id(part) in known or (number and isinstance(part, str)))]
        calls += [call for part in new for call in ([(part, None)] if isinstance(part, str) else _of_part(part))]
        known |= set(map(_id, new)) - {None}
    texts = [content for content in contents if isinstance(content, str)]
    if not calls and texts and role_of(message) == ASSISTANT:
        calls = [call for tagged in _TAGGED.findall(texts[0]) for call in _of_text(tagged, tagged=True)]
    if not contents and not fields[0]:
        unknown = [name for name, held in message.items() if isinstance(held, list | Mapping) and held]
        if not _BESIDE.issuperset(unknown):
            raise ValueError(
                f"expected a message with content or calls, got the fields {', '.join(map(repr, message))}"
            )
    return calls


def _id(part: Any) -> Any:
    """The id of a call; None if it has none."""
    holders = [part.get(holder) for holder in _WRAPPED] if isinstance(part, Mapping) else []
    found = (some[field] for some in (part, *holders) if isinstance(some, Mapping) for field in _IDS if some.get(field))
    return next((one for one in found if isinstance(one, str)), None)


def _listed(message: Mapping[str, Any]) -> list[Any]:
    """What the fields of calls hold, which some datasets store as text of JSON."""
    parts: list[Any] = []
    for field in _CALLS:
        found = message.get(field)
        if isinstance(found, str) and found.strip():
            found = _parsed(found)
        parts += found if isinstance(found, list) else [found] if found else []
    return parts


def _written_call(message: Mapping[str, Any]) -> bool:
    """Whether the text of a message is a call, by its role: of ShareGPT's function_call and the like."""
    said = message.get("role", message.get("from"))
    return isinstance(said, str) and said.lower() in ("function_call", "tool_call", "tool_calls")


def _of_text(text: Any, *, tagged: bool = False) -> list[Call]:
    """The calls in a text of JSON; a ``tagged`` one that a model spoiled is a call of nothing that anybody expects."""
    if not isinstance(text, str):
        return calls_of(text)
    parts = [text] if tagged else _TAGGED.findall(text) or [text]
    try:
        return [call for part in parts for call in calls_of(_parsed(part))]
    except ValueError:
        if not tagged:
            raise
        return [(text, None)]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"expected a call in JSON, got {shown(text)}") from None


def _kind(part: Mapping[str, Any]) -> str | None:
    """The type of a part; None for one of Gemini or Bedrock, whose fields say what it is."""
    return next((part[field] for field in _KINDS if isinstance(part.get(field), str)), None)


def _is_item_call(message: Mapping[str, Any]) -> bool:
    """Whether an item without a role is a call of a tool, as of a search on the web by OpenAI."""
    kind = message.get("type")
    named = isinstance(kind, str) and (_MADE.fullmatch(kind) or _ITEM.fullmatch(kind))
    return "role" not in message and "from" not in message and bool(named)


def _is_result(part: Mapping[str, Any]) -> bool:
    kind = _kind(part)
    return any(map(_RESULTS.fullmatch, part)) if kind is None else _RESULT.fullmatch(kind) is not None


def _of_part(part: Any) -> list[Call]:
    """The call that a block or item is; none if it is known to be none."""
    if not isinstance(part, Mapping):
        raise ValueError(f"expected the name of a tool or a call, got {shown(part)}")
    kind = _kind(part)
    if _is_result(part):
        return []
    if kind is None or _MADE.fullmatch(kind):
        inner = _inner(part)
        if inner is not None:
            return [_call(inner)]
    elif found := _ITEM.fullmatch(kind):
        given = {name: part[name] for name in _GIVEN if name in part}
        return [_call({"name": found[1], "arguments": part.get("action") or given or None})]
    elif kind.startswith("tool-") and "toolCallId" in part and "state" in part:  # of messages of Vercel's interface
        return [_call({**part, "name": kind.removeprefix("tool-")})]
    code = part.get("executableCode", part.get("executable_code"))
    if kind is None and code is not None:
        return [("code_execution", _ENCODE(code))]
    if any(map(_OTHER.fullmatch, part if kind is None else [kind])):
        return []
    raise ValueError(f"expected a call with a name and arguments, got the fields {', '.join(map(repr, part))}")


def _inner(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The object with name and arguments of a call; None if it is none."""
    for holder in _WRAPPED:
        inner = value.get(holder)
        if isinstance(inner, Mapping) and any(name in inner for name in _NAMES):
            return inner
    if isinstance(value.get("function"), str):  # of Inspect
        return {**value, "name": value["function"]}
    return value if any(isinstance(value.get(name), str) for name in _NAMES) else None


def _call(inner: Mapping[str, Any]) -> Call:
    name = inner["name"] if "name" in inner else next((inner[field] for field in _NAMES if field in inner), None)
    if not isinstance(name, str) or not name:
        raise ValueError(f"expected the name of a tool, got {shown(name)}")
    for key in _ARGUMENTS:
        given = inner.get(key)
        if given is not None:  # text that a model cut off is no JSON, and equals itself only
            return name, (given or "{}") if isinstance(given, str) else _ENCODE(given)
    return name, "{}" if any(key in inner for key in _ARGUMENTS) else None
