"""One call of a model: its messages, its key in the store, the interface of clients, and the completion that comes
back.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fastmetrics.base.arrays import well_formed

# One call of a model: its messages, its key in the store, and its result.


class Message(NamedTuple):
    """A message of a conversation: ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Model:
    """The model and its settings: everything except the messages.

    ``endpoint`` is the server's name in the key, because two servers may offer models of the same name.
    """

    name: str
    endpoint: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Call(NamedTuple):
    """One call of a model, and the ``key`` under which its reply is stored.

    ``values`` are the arguments of the function that takes the model's place, if there is one.
    """

    key: bytes
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    repeat: int
    values: tuple[Any, ...] = ()

    @property
    def id(self) -> str:
        """The first 16 digits of the key, which rows show."""
        return self.key.hex()[:16]


class CallMaker:
    """Creates calls of one model with one reply schema; calls with the same opening share hashing work."""

    def __init__(self, model: Model, schema: Mapping[str, Any] | None, opening: Sequence[Message] = ()) -> None:
        self._schema = schema
        self._opening = tuple(opening)
        head = [model.name, model.endpoint, dict(model.parameters), schema]
        self._hash = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for message in opening:
            _add(self._hash, message)

    def call(self, messages: Sequence[Message], repeat: int = 0) -> Call:
        """The call with these messages after the opening; ``repeat`` distinguishes repeated calls.

        >>> maker = CallMaker(Model("m", "here"), None, [Message("system", "Judge.")])
        >>> one, other = maker.call([Message("user", "a")]), maker.call([Message("user", "a")], repeat=1)
        >>> one.key == maker.call([Message("user", "a")]).key, one.key == other.key
        (True, False)
        """
        digest = self._hash.copy()
        for message in messages:
            _add(digest, message)
        digest.update(b"repeat %d" % repeat)
        return Call(digest.digest(), (*self._opening, *messages), self._schema, repeat)


def _add(digest: Any, message: Message) -> None:
    """Hash the length first, so that messages cannot be confused with their concatenation."""
    content = message.content.encode("utf-8", "surrogatepass")
    digest.update(b"%s %d %s" % (message.role.encode(), len(content), content))


REPLY, HTTP, TIMEOUT, BUDGET, ERROR = "reply", "http", "timeout", "budget", "error"
"""The possible results of a call: a reply, a transport failure, a timeout, not sent because the budget was spent, or an
exception in a bot's function.
"""


class Answer(NamedTuple):
    """The result of a call.

    ``body`` is the reply as the server sent it, or the failure; ``time`` is its arrival, in seconds since 1970;
    ``attempt`` counts the requests sent for it, over all runs; ``place`` is the place of a stored result in the order
    of arrival, which no clock can change.
    """

    outcome: str
    body: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None
    time: float = 0.0
    attempt: int = 0
    place: int = 0


# The interface of the clients that send calls.


@dataclass(frozen=True)
class Failure:
    """The failure of a request.

    ``retry_after`` is the waiting time requested by the server, in seconds; ``passing`` faults are transient, ``fatal``
    ones affect every other call too.  ``limited`` is a refusal for too many requests.
    """

    outcome: str
    reason: str
    retry_after: float | None = None
    passing: bool = True
    fatal: bool = False
    limited: bool = False


@dataclass(frozen=True)
class Reply:
    """The body of a reply, a chat completion as JSON, and its latency."""

    body: str
    latency_ms: float


@dataclass(frozen=True)
class Connection:
    """What a client is made for: a model at an address, and the limits of a call."""

    model: Model
    base_url: str | None
    timeout: float
    max_reply_bytes: int
    concurrency: int = 1


class Client(Protocol):
    """The interface of clients; ``structured`` says whether replies are requested in the form of a schema."""

    structured: bool

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait for its reply."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


# Keys in messages: an exception or a reply may repeat the key that it was sent.


_SECRET = 12
"""Minimum length of a key that is treated as a secret; shorter keys, such as "none", are common words."""


class KeyMask:
    """Replaces keys in texts, in any case; also with ``\\u`` escapes, and with escapes of escapes, as in JSON in JSON.

    >>> KeyMask("sk-0123456789")(r'a "sk-0123456789", a "\\u0073k-012345678\\\\u0039"')
    'a "[key]", a "[key]"'
    """

    def __init__(self, *keys: str) -> None:
        patterns = ("".join(map(self._letter, key)) for key in keys if len(key) >= _SECRET)
        self._pattern = re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)

    @staticmethod
    def _letter(letter: str) -> str:
        return rf"(?:{re.escape(letter)}|\\+u{ord(letter):04x})"

    def __call__(self, text: str) -> str:
        """The text without the keys."""
        return self._pattern.sub("[key]", text)


def keys_of_environment() -> Iterator[str]:
    """The values of the environment variables that are named as keys are: ``OPENAI_API_KEY``, ``HF_TOKEN``."""
    return (value.strip() for name, value in os.environ.items() if re.search(r"(API_?KEY|TOKEN|SECRET)$", name.upper()))


# The body of a chat completion: writing and parsing its text, why it ended, and its tokens.


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
