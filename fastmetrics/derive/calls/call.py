"""One call of a model: its messages, its key in the store, and its result."""

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
