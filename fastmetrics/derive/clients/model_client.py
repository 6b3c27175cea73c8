"""Model clients by name: a function that sends the messages of a call to a model and returns its text and usage."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import Argument, ModelCallError, OptionError, PluginError
from fastmetrics.base.plugin_files import REGISTRIES
from fastmetrics.derive.bots.function_calls import FunctionCalls, words_of
from fastmetrics.derive.calls.call import HTTP, TIMEOUT, Call, Message
from fastmetrics.derive.clients.client import Connection, Failure, Reply
from fastmetrics.derive.clients.completion import ModelReply

_SERVERS = ("http", "https")


@dataclass(frozen=True)
class ModelRequest:
    """One call of a model: its name, the messages (role and content), and the parameters, such as the temperature.

    ``schema`` is the JSON schema that the reply should follow, or None; ``address`` the ``base_url`` as it was given.

    >>> request = ModelRequest("m", (Message("user", "why?"),), {"temperature": 0}, None, "mine:")
    >>> request.messages[-1].content
    'why?'
    """

    model: str
    messages: Sequence[Message]
    parameters: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    address: str


ModelFunction: TypeAlias = Callable[[ModelRequest], "ModelReply | str | Awaitable[ModelReply | str]"]

MODEL_CLIENTS: dict[str, ModelFunction] = {}
"""The registered clients by name, which is the scheme of the addresses that they serve."""
REGISTRIES.append(MODEL_CLIENTS)


def model_client(name: str) -> Callable[[ModelFunction], ModelFunction]:
    """Register a function as the client of a model: ``base_url="NAME:"`` then calls it instead of a server.

    The function, which may be a coroutine, receives a :class:`ModelRequest` and returns a text or a
    :class:`ModelReply`, with the tokens and the reason of its end.  It raises :class:`ModelCallError` for a call that
    failed; any other exception counts as a transient failure.  What follows the colon is its own:
    ``base_url="NAME://localhost:11434"``.  Replies are stored and requested once, and all limits, retries and budgets
    of :func:`judge` and the bots hold; up to ``concurrency`` calls run at the same time, each in a thread unless
    awaited.  The address is part of the key of a stored call, as is the address of a server.  For the command line,
    write the function to a file: ``judge --plugin FILE --base-url NAME:``.

    >>> import fastmetrics as fm, tempfile
    >>> @fm.model_client("strict")
    ... def strict(request):
    ...     return fm.ModelReply('{"reason": "as always", "score": 1}', prompt_tokens=len(request.messages[-1].content))
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> fm.judge(table, "safety", model="m", base_url="strict:", store=store)["judge_safety"].to_pylist()
    [1.0]

    Raises ``OptionError`` for a name that is no scheme of an address, or is that of servers, ``PluginError`` for the
    name of another client.
    """
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", name) or name in _SERVERS:
        raise OptionError(
            Argument("name", name), ": expected lowercase letters, digits, '+', '.' or '-', and not http or https"
        )

    def register(function: ModelFunction) -> ModelFunction:
        other = MODEL_CLIENTS.get(name)
        if other is not None and other.__module__ != function.__module__:
            raise PluginError(f"model client {name!r}: {other.__module__} has registered a client of this name")
        MODEL_CLIENTS[name] = function
        return function

    return register


def scheme_of(address: str) -> str | None:
    """The name of the registered client that serves an address; None for the address of a server."""
    scheme, colon, _ = address.partition(":")
    return scheme if colon and scheme in MODEL_CLIENTS else None


class FunctionClient:
    """Sends calls to the function that is registered as a model client."""

    structured = True

    def __init__(self, name: str, connection: Connection) -> None:
        self._name, self._connection = name, connection
        self._calls = FunctionCalls(MODEL_CLIENTS[name], name, connection.concurrency, connection.timeout)

    async def close(self) -> None:
        """Release the threads."""
        await self._calls.close()

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call; raises ``PluginError`` if the function returns neither a text nor a reply."""
        model, most = self._connection.model, self._connection.max_reply_bytes
        address = self._connection.base_url or ""
        began = time.perf_counter()
        try:
            reply = await self._calls.returned(
                ModelRequest(model.name, call.messages, model.parameters, call.schema, address)
            )
        except TimeoutError:
            return Failure(TIMEOUT, f"no reply within {self._connection.timeout:g} seconds")
        except ModelCallError as error:
            return Failure(HTTP, words_of(error), error.retry_after, not error.final, error.fatal, error.limited)
        except Exception as error:  # noqa: BLE001 - a client may raise anything, and the row says what
            return Failure(HTTP, words_of(error))
        latency = (time.perf_counter() - began) * 1000
        if isinstance(reply, str):
            reply = ModelReply(reply)
        if not isinstance(reply, ModelReply) or not isinstance(reply.text, str | None):
            raise PluginError(
                f"the model client {self._name!r} returned {type(reply).__name__}: expected a text or a ModelReply"
            )
        if sum(len(well_formed(text).encode()) for text in (reply.text, reply.reasoning) if text) > most:
            return Failure(HTTP, f"the reply is above the limit max_reply_bytes of {most:,}", passing=False)
        return Reply(reply.body(), latency)
