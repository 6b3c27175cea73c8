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

    ``endpoint`` is the server's name in the key, because two servers may offer models of the same name; ``source`` is a
    digest of the code of a function that takes the model's place.
    """

    name: str
    endpoint: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def __str__(self) -> str:
        return f"{self.name} at {self.endpoint}"

    @property
    def identity(self) -> dict[str, Any]:
        """All of it, for metadata."""
        source = {"source": self.source} if self.source else {}
        return {"model": self.name, "endpoint": self.endpoint, "parameters": dict(self.parameters), **source}


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
        head = [model.name, model.endpoint, dict(model.parameters), schema, *filter(None, [model.source])]
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


class Failure(NamedTuple):
    """The failure of a request.

    ``retry_after`` is the waiting time requested by the server, in seconds; ``passing`` faults are transient, ``fatal``
    ones affect every other call too.  ``limited`` is a refusal for too many requests.  ``charged`` is the reply of a
    request that has its price without an answer.
    """

    outcome: str
    reason: str
    retry_after: float | None = None
    passing: bool = True
    fatal: bool = False
    limited: bool = False
    charged: Answer | None = None


class Client(Protocol):
    """The interface of clients; ``structured`` says whether replies are requested in the form of a schema."""

    structured: bool

    async def send(self, call: Call) -> Answer | Failure:
        """Send one call and wait for its reply, whose time and attempt the sender adds."""
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


# Keys in messages: an exception or a reply may repeat the key that it was sent.


_SECRET = 6
"""Minimum length of a key that is treated as a secret; shorter keys, such as "none", are common words."""


class KeyMask:
    """Replaces keys in texts, in any case.

    >>> KeyMask("sk-0123456789")('a "sk-0123456789", a "SK-0123456789"')
    'a "[key]", a "[key]"'
    """

    def __init__(self, *keys: str) -> None:
        patterns = (re.escape(key) for key in keys if len(key) >= _SECRET)
        self._pattern = re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """The text without the keys."""
        return self._pattern.sub("[key]", text)


def keys_of_environment() -> Iterator[str]:
    """The values of the environment variables that are named as keys are: ``OPENAI_API_KEY``, ``HF_TOKEN``."""
    return (value.strip() for name, value in os.environ.items() if re.search(r"(API_?KEY|TOKEN|SECRET)$", name.upper()))


# The body of a chat completion: writing and parsing its text, why it ended, and its tokens.


class Completion(NamedTuple):
    """What a body holds: the text of a reply, if any; ``refused`` and ``truncated`` explain missing or incomplete text.

    ``trace`` is the model's reasoning, if the server returns it.  Halves of surrogate pairs are U+FFFD.  ``lacks`` says
    what the reply is if it has no text.  ``failure`` is set if the body is that of a failure, which came with HTTP
    status 200, and not a reply, also one that says no to the call.  ``returned`` are the further columns of a function.
    """

    text: str | None = None
    refused: str | None = None
    truncated: bool = False
    trace: str | None = None
    lacks: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    failure: Failure | None = None
    returned: Mapping[str, Any] | None = None


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


_CUT_ENDS = ("length", "max_tokens", "max_output_tokens", "max_length", "model_length")
"""The reasons of an end at the limit of tokens, as servers name them."""

_FILTER_ENDS = (
    "content_filter",
    "content-filter",
    "safety",
    "refusal",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "guardrail",
)
"""The reasons of an end by a filter; further words may follow, as in ``content_filter: SAFETY``."""

_FILTER_CODES = ("content_filter", "content_policy_violation")


def completion(body: str) -> Completion:
    """What the first choice of a chat completion holds.

    A body is a failure if it is no JSON object, if it holds an error, in any of the forms of servers, if it has no
    choices, if the choice ended with an error, or if a reply that is complete has no text.  The reason is the server's,
    and the kind of the failure that of the HTTP status that it names; a failure of unknown kind may pass.

    >>> completion('{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}').text
    'yes'
    >>> completion('{"error": {"code": 429, "message": "Too many requests"}}').failure.reason
    '429: Too many requests'
    """
    content = _parsed(body)
    error = _error_in(content)
    if error is not None:
        if error.is_filter:
            return Completion(refused=error.message, lacks=error.message)
        return Completion(lacks=error.message, failure=error.failure())
    if not isinstance(content, dict):
        words = f"the reply is not a JSON object: {body[:_SHOWN]}"
        return Completion(lacks=words, failure=Failure(HTTP, words))
    choices = content.get("choices")
    choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = _mapping(choice.get("message"))
    end = _end_of(choice)
    is_cut = end in _CUT_ENDS
    refused = _nonempty(message.get("refusal"))
    if end.startswith(_FILTER_ENDS):
        refused = refused or _filter_words(choice, end)
    trace = next(filter(None, (_nonempty(message.get(name)) for name in _THOUGHTS)), None)
    text = _text(message.get("content"))
    tools = message.get("tool_calls") or message.get("function_call")
    lacks = _lack(choices, message, tools) if is_blank(text) else None
    counts = _mapping(content.get("usage"))
    tokens = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    returned = content.get("returned")
    failure = None
    if end == "error" or choice.get("error"):
        ended = _server_error(choice.get("error")) or ServerError("the server ended its reply with an error")
        failure = ended.failure()
    elif lacks is not None and not (refused or is_cut or tools or returned is not None):
        failure = Failure(HTTP, lacks)
    if failure is not None:
        failure = failure._replace(charged=Answer(REPLY, body, *tokens))
    return Completion(text, refused, is_cut, trace, lacks, *tokens, failure, returned)


def answer_in(body: str, latency_ms: float) -> Answer | Failure:
    """The result of a request that a body answered."""
    reply = completion(body)
    return reply.failure or Answer(REPLY, body, reply.prompt_tokens, reply.completion_tokens, latency_ms)


_BLANK = re.compile("[\\s\u200b-\u200d\u2060\ufeff]*")


def is_blank(text: str | None) -> bool:
    """Whether a text has no visible sign.

    >>> is_blank(" \\n"), is_blank("no")
    (True, False)
    """
    return text is None or _BLANK.fullmatch(text) is not None


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""The fields of a model's reasoning, as servers name them."""


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _end_of(choice: Mapping[str, Any]) -> str:
    """Why a choice ended, in lowercase."""
    reason = choice.get("finish_reason")
    return reason.strip().lower() if isinstance(reason, str) else ""


def _filter_words(choice: Mapping[str, Any], end: str) -> str:
    """What a server says of a reply that its filter blocked."""
    results = _mapping(choice.get("content_filter_results"))
    kinds = [str(name) for name, result in results.items() if _mapping(result).get("filtered") is True]
    words = _words(choice.get("error")) or ", ".join(kinds) or end.partition(":")[2].strip()
    return "blocked by the server's filter" + (f": {well_formed(words)}" if words else "")


def _lack(choices: Any, message: dict[str, Any], tools: Any) -> str:
    """What a reply without text is; ``tools`` are the tools that it calls."""
    if choices is None:
        return "a reply without choices"
    if not (isinstance(choices, list) and choices):
        return "a reply with an empty list of choices"
    if not tools:
        thoughts = any(_nonempty(message.get(name)) for name in _THOUGHTS)
        return "a reply of reasoning without an answer" if thoughts else "an empty reply"
    names = [_mapping(_mapping(call).get("function") or call).get("name") for call in _list(tools)]
    return f"a reply that calls tools instead of answering ({', '.join(repr(name)[:80] for name in names[:3])})"


# Failures that come with HTTP status 200: the server's words, and whether the call may be repeated.


_STATUS_OF_KIND = {
    "authentication": 401,
    "unauthenticated": 401,
    "permission": 403,
    "not_found": 404,
    "notfound": 404,
    "rate_limit": 429,
    "ratelimit": 429,
    "throttl": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "invalid_request": 400,
    "invalid_argument": 400,
    "badrequest": 400,
    "bad_request": 400,
    "unsupported": 400,
    "context_length": 400,
}
"""The HTTP status that the words of an error's type or code stand for."""

_FINAL_CODES = (
    "insufficient_quota",
    "invalid_api_key",
    "model_not_found",
    "unsupported_parameter",
    "unsupported_value",
)
_FINAL_STATUSES = (401, 402, 403, 404, 405)
"""Refusals that every other call would get as well."""

_PASSING_STATUSES = (408, 409, 425, 429)

_SHOWN, _SHOWN_WORDS = 200, 400
"""Characters of a body, and of a server's words, that a message shows."""


class ServerError(NamedTuple):
    """An error in the body of a response: the server's ``message``, its ``code`` and ``type``, and a ``status``.

    ``status`` is the HTTP status, or the one that a body with HTTP status 200 names; None is unknown.
    """

    message: str
    code: str = ""
    type: str = ""
    status: int | None = None

    @property
    def is_filter(self) -> bool:
        """Whether a filter blocked the prompt or the reply."""
        return self.code in _FILTER_CODES or self.type in _FILTER_CODES

    @property
    def is_about_format(self) -> bool:
        """Whether the server refused structured output."""
        mentions_format = any(word in self.message for word in ("response_format", "json_schema", "structured output"))
        return self.status in (400, 404, 415, 422, 501) and mentions_format

    @property
    def reason(self) -> str:
        """The server's words after the status, and what helps against a refused temperature."""
        words = self.message[:_SHOWN_WORDS]
        words = words if self.status is None else f"{self.status}: {words}"
        is_about_temperature = self.status in (400, 422) and "temperature" in self.message.lower()
        return words + ("; to send none, use --parameters temperature=null" if is_about_temperature else "")

    def failure(self, retry_after: float | None = None) -> Failure:
        """The failure, with its kind by code and status: an unknown one may pass."""
        status = self.status
        fatal = status in _FINAL_STATUSES or any(code in (self.code, self.type) for code in _FINAL_CODES)
        passing = not fatal and (status is None or status >= 500 or status in _PASSING_STATUSES)
        limited = status == 429 and not fatal
        return Failure(HTTP, self.reason, retry_after if passing else None, passing, fatal, limited)


def refusal_in(body: str, status: int) -> ServerError:
    """The error in a body with an HTTP status that is none of success.

    >>> refusal_in('{"detail": "no such model"}', 404).reason
    '404: no such model'
    """
    error = _error_in(_parsed(body))
    if error is None:
        return ServerError(well_formed(body) or "an empty answer", status=status)
    return ServerError(error.message, error.code, error.type, status)


def _error_in(content: Any) -> ServerError | None:
    """The error that a body is, in any of the forms of servers, if it is one.

    ``{"error": {…}}`` or a list of it, ``{"error": "words"}``, ``{"object": "error", …}``, ``{"type": "error", …}`` and
    ``{"detail": …}``.  An error beside choices counts if it is not empty.
    """
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    fields = _mapping(content)
    if fields.get("error"):
        return _server_error(fields["error"])
    if fields.get("choices"):
        return None
    if "error" in (fields.get("object"), fields.get("type")):
        return _server_error(fields)
    for name in ("detail", "errors", "message"):
        if fields.get(name):
            return _server_error({**fields, "message": _words(fields[name])})
    return None


def _server_error(error: Any) -> ServerError | None:
    if not error:
        return None
    fields = _mapping(error)
    code, kind = fields.get("code"), str(fields.get("type") or fields.get("status") or "")
    status = next(filter(None, map(_status, (code, fields.get("status"), fields.get("status_code")))), None)
    if status is None:
        words = f"{code} {kind}".lower()
        status = next((number for word, number in _STATUS_OF_KIND.items() if word in words), None)
    if "flagged_input" in _mapping(
        fields.get("metadata")
    ):  # a moderator before the model, which refuses this call alone
        code = _FILTER_CODES[0]
    return ServerError(_words(error) or "an error without words", str(code), kind, status)


def _status(value: Any) -> int | None:
    """An HTTP status of an error, which may be written as text."""
    text = str(value)
    return int(text) if re.fullmatch(r"[45]\d\d", text) else None


def _words(error: Any) -> str:
    """The words of an error: its message, with those of the provider behind the server, or the whole of it."""
    if isinstance(error, str):
        return well_formed(error)
    fields = _mapping(error)
    message = fields.get("message") or fields.get("msg") or fields.get("detail")
    if not message:
        return well_formed(json.dumps(error, ensure_ascii=False)) if error else ""
    further = _mapping(fields.get("metadata")).get("raw")
    words = _words(message)
    return f"{words}: {well_formed(further)}" if isinstance(further, str) and further else words


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
