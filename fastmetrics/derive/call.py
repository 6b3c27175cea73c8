"""One call of a model: what is asked, the key that it is kept under, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Message(NamedTuple):
    """A message of a conversation: ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Model:
    """Who is asked, and how: all but the messages.

    ``endpoint`` is the name that calls are kept under, as two servers may offer models of one name.
    """

    name: str
    endpoint: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Call(NamedTuple):
    """One question to a model, and the ``key`` that its reply is kept under."""

    key: bytes
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    repeat: int

    @property
    def characters(self) -> int:
        """How long the messages are together."""
        return sum(len(message.content) for message in self.messages)


class CallMaker:
    """Makes calls of one model with one schema of replies; calls that begin alike share the work of hashing."""

    def __init__(self, model: Model, schema: Mapping[str, Any] | None, opening: Sequence[Message] = ()) -> None:
        self._schema = schema
        self._opening = tuple(opening)
        head = [model.name, model.endpoint, dict(model.parameters), schema]
        self._hash = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for message in opening:
            _add(self._hash, message)

    def call(self, messages: Sequence[Message], repeat: int = 0) -> Call:
        """The call that goes on after the opening with these messages; ``repeat`` tells equal questions apart.

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
    """The length goes first, so that no message can pass for two."""
    content = message.content.encode("utf-8", "surrogatepass")
    digest.update(b"%s %d %s" % (message.role.encode(), len(content), content))


REPLY, HTTP, TIMEOUT, BUDGET, ERROR = "reply", "http", "timeout", "budget", "error"
"""What may come of a call: a reply, a failure on the way, no reply in time, not asked as the budget was spent, or an
exception in a function that stands for a server."""


class Answer(NamedTuple):
    """What came of a call.

    ``body`` is a reply as the server sent it, or says what failed; ``time`` is when it came, in seconds since 1970.
    ``attempt`` counts the requests that were sent for it, by all runs.
    """

    outcome: str
    body: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None
    time: float = 0.0
    attempt: int = 0
