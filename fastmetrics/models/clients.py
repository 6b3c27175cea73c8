"""Clients that send calls: to a server with an OpenAI-compatible API, or to a registered function."""

from __future__ import annotations

import asyncio
import email.utils
import inspect
import json
import math
import os
import re
import time
import tomllib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import (
    Argument,
    FileFormatError,
    MissingExtraError,
    ModelCallError,
    OptionError,
    PluginError,
    without_escapes,
)
from fastmetrics.base.options import LimitedText, Optional, Real, Whole, argument
from fastmetrics.base.plugin_files import REGISTRIES
from fastmetrics.base.shared_parameters import Help, Prices
from fastmetrics.models.calls import (
    HTTP,
    TIMEOUT,
    Answer,
    Call,
    Client,
    Failure,
    KeyMask,
    Message,
    Model,
    ModelReply,
    answer_in,
    keys_of_environment,
    refusal_in,
)
from fastmetrics.tables.input_files import local_path, read_text

if TYPE_CHECKING:
    import httpx

# Calling a user's function in threads, or awaiting it, with a time limit.


_LONGEST = 500
_ENDINGS = (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
"""Exceptions that would end the event loop, or its task, instead of one call."""


class FunctionClient(ABC):
    """Sends calls to a function, up to ``threads`` at once, each of which may take ``timeout`` seconds.

    A subclass says with which values a call calls it, and turns what it returns into the body of a reply.
    """

    structured = True
    fails: ClassVar = Failure(HTTP, "")
    """The kind of a failure."""

    def __init__(self, function: Callable[..., Any], name: str, threads: int, timeout: float) -> None:
        self._function, self._name, self._timeout = function, name, timeout
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @abstractmethod
    def values(self, call: Call) -> Sequence[Any]:
        """The arguments of the function."""

    @abstractmethod
    def body(self, value: Any, call: Call) -> str | Failure:
        """The body of a reply with the value that the function returned; an error in its form ends the run."""

    async def send(self, call: Call) -> Answer | Failure:
        """Send one call."""
        began = time.perf_counter()
        try:
            value = await self._returned(*self.values(call))
        except TimeoutError:
            return self.fails._replace(outcome=TIMEOUT, reason=f"no reply within {self._timeout:g} seconds")
        except ModelCallError as error:
            return Failure(HTTP, words_of(error), error.retry_after, not error.final, error.fatal, error.limited)
        except Exception as error:  # noqa: BLE001 - a function may raise anything, and the row says what
            return self.fails._replace(reason=words_of(error))
        latency = (time.perf_counter() - began) * 1000
        body = self.body(value, call)
        return body if isinstance(body, Failure) else answer_in(body, latency)

    async def _returned(self, *values: Any) -> Any:
        """The returned value; raises ``TimeoutError`` after the time limit."""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                value = await asyncio.get_running_loop().run_in_executor(self._pool, self._value, *values)
                return await _awaited(value) if inspect.isawaitable(value) else value
        except TimeoutError as error:
            if limit.expired():
                raise
            raise RuntimeError(f"the function raised {words_of(error)}") from error  # before the limit

    def _value(self, *values: Any) -> Any:
        """What the function returns; no exception of its own ends the event loop or is lost in it."""
        try:
            return self._function(*values)
        except (StopIteration, *_ENDINGS) as error:
            raise _as_failure(error) from error

    async def close(self) -> None:
        """Release the threads without waiting for running ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _awaited(value: Awaitable[Any]) -> Any:
    """What a coroutine of the function returns; only this run itself cancels it."""
    try:
        return await value
    except _ENDINGS as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise _as_failure(error) from error


def _as_failure(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the function raised {type(error).__name__}")


def words_of(error: Exception) -> str:
    """An exception of a user's function for messages, without the keys in the environment."""
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001 - the method of an exception of the user, which may do anything
        text = f"its message cannot be read, {type(failure).__name__}"
    masked = KeyMask(*keys_of_environment())(f"{type(error).__name__}: {text}")
    return well_formed(without_escapes(masked))[:_LONGEST]


# Model clients by name: a function that sends the messages of a call to a model and returns its text and usage.


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


_CLIENT = re.compile(r"[a-z][a-z0-9+.-]*")
"""The name of a client: the scheme of its addresses."""


def model_client(name: str) -> Callable[[ModelFunction], ModelFunction]:
    """Register a function as the client of a model: ``base_url="NAME:"`` then calls it instead of a server.

    The function, which may be a coroutine, receives a :class:`ModelRequest` and returns a text or a
    :class:`ModelReply`, with the tokens and the reason of its end.  It raises :class:`ModelCallError` for a call that
    failed; any other exception counts as a transient failure.  What follows the colon is its own:
    ``base_url="NAME://localhost:11434"``.  Replies are stored and requested once, and all limits, retries and budgets
    of :func:`judge` and the bots hold; up to ``concurrency`` calls run at the same time, each in a thread unless
    awaited.  The address is part of the key of a stored call, as is the address of a server.  For the command line,
    write the function to a file: ``judge run --plugin FILE --base-url NAME:``.

    >>> import fastmetrics as fm, tempfile
    >>> @fm.models.model_client("strict")
    ... def strict(request):
    ...     return fm.models.ModelReply('{"score": 1}', prompt_tokens=len(request.messages[-1].content))
    >>> table = {"id": [1], "question": ["Capital of France?"], "answer": ["Paris"]}
    >>> store = f"{tempfile.mkdtemp()}/calls.sqlite"
    >>> fm.judge(table, "safety", model="m", base_url="strict:", store=store)["judge_safety"].to_pylist()
    [1.0]

    Raises ``OptionError`` for a name that is no scheme of an address, or is that of servers, ``PluginError`` for the
    name of another client.
    """
    if not _CLIENT.fullmatch(name) or name in _SERVERS:
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


class _RegisteredClient(FunctionClient):
    """Sends calls to the function that is registered as a model client."""

    def __init__(self, name: str, model: Model, settings: ClientSettings) -> None:
        super().__init__(MODEL_CLIENTS[name], name, settings.concurrency, settings.timeout)
        self._model, self._most_bytes = model, settings.max_reply_bytes
        self._address = address_of(settings.base_url)

    def values(self, call: Call) -> Sequence[Any]:
        """The call as a request of the model."""
        model = self._model
        return [ModelRequest(model.name, call.messages, model.parameters, call.schema, self._address)]

    def body(self, value: Any, call: Call) -> str | Failure:
        """The body; raises ``PluginError`` if the function returned neither a text nor a reply."""
        reply = ModelReply(value) if isinstance(value, str) else value
        if not isinstance(reply, ModelReply) or not isinstance(reply.text, str | None):
            raise PluginError(
                f"the model client {self._name!r} returned {type(reply).__name__}: expected a text or a ModelReply"
            )
        if sum(len(well_formed(text).encode()) for text in (reply.text, reply.reasoning) if text) > self._most_bytes:
            return _too_long(self._most_bytes)
        return reply.body()


def _too_long(most: int) -> Failure:
    return Failure(HTTP, f"the reply is above the limit max_reply_bytes of {most:,}", passing=False)


# The address of a model server, and the key for it: where they come from, and how messages hide secrets in them.


KEY = "OPENAI_API_KEY"
"""The environment variable with the API key."""

ADDRESS = "OPENAI_BASE_URL"

_OPENAI = "https://api.openai.com/v1"


def address_of(base_url: str | None, argument: str = "base_url") -> str:
    """The server's address: the given one, otherwise from the environment, otherwise OpenAI's own.

    ``argument`` is the name of the address, for messages.

    Raises ``OptionError`` for a malformed address, or one with a user or password.
    """
    text = base_url or os.environ.get(ADDRESS) or _OPENAI
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
        good = good or scheme_of(text) is not None
        good = good and parts.username is None and text.isprintable() and not {" ", "#"}.intersection(text)
    except ValueError:
        good = False
    if not good:
        reason = f" without user and password; put the key into {KEY}" if "@" in text else ""
        clients = "".join(f", or {name}:" for name in MODEL_CLIENTS)
        scheme, colon, rest = text.partition(":")
        if colon and (not rest or rest.startswith("//")) and _CLIENT.fullmatch(scheme) and scheme not in _SERVERS:
            clients += f"; a client {scheme!r} of your own needs --plugin FILE, in Python the import of its module"
        raise OptionError(
            Argument(argument, shown_address(text)), f": expected an address such as https://host/v1{reason}{clients}"
        )
    return text


def shown_address(text: str) -> str:
    """An address for messages, without user, password and query, whatever is wrong with it.

    >>> shown_address("htp:/me:secret@host/v1?key=1"), shown_address("me:secret@host")
    ('htp:/***@host/v1', '***@host')
    """
    address = text.partition("?")[0] if "@" not in text.partition("?")[2] else text
    user, at, host = address.rpartition("@")
    if not at:
        return address
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/+", user)
    return f"{scheme[0] if scheme else ''}***@{host.partition('?')[0]}"


def endpoint_of(base_url: str | None) -> str:
    """The name of an address in the keys of stored calls: host, port and path, without query.

    >>> endpoint_of("https://host:8000/v1/?key=1")
    'host:8000/v1'

    The address of a model client is named with its scheme, without query.
    """
    address = address_of(base_url)
    if scheme_of(address) is not None:
        return address.partition("?")[0].rstrip("/")
    parts = urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"


def key_for(base_url: str | None) -> str:
    """The API key from the environment; a custom server needs none.

    Raises ``OptionError`` without a key for OpenAI's server, and for a key that no request can carry.
    """
    key = os.environ.get(KEY, "").strip()
    if not key and address_of(base_url) == _OPENAI:
        raise OptionError(f"no API key for {_OPENAI}: set {KEY}, or give ", Argument("base_url"), " of your own")
    if not (key.isascii() and key.isprintable()):
        raise OptionError(
            f"the API key in {KEY} contains a line break, another control character or a character beyond ASCII: "
            "set it to the key alone"
        )
    return key


# The settings of a client, each declared once, for functions and commands.


CLIENT = "The settings of the client: limits, time-outs, retries, store and prices, in a TOML file."
BASE_URL = "The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."
STORED = "The file that stores all calls. Default: calls.sqlite in ~/.cache/fastmetrics."
CONCURRENCY = "Maximum concurrent calls. Default: 16."
MAX_CALLS = "Maximum requests of this run."
MAX_COST = "Maximum cost of the calls, by the prices of the client: calls that might exceed it are not made."
MANY = 1_000_000_000

_ALLOWED: Mapping[str, Any] = {
    "endpoint": Optional(LimitedText(200, "a name")),
    "max_chars": Whole(1, MANY),
    "concurrency": Whole(1, 10_000),
    "rpm": Optional(Real(0.0, float(MANY), above=True)),
    "tpm": Optional(Real(0.0, float(MANY), above=True)),
    "timeout": Real(0.0, 86_400.0, above=True),
    "tries": Whole(1, 100),
    "pause": Real(0.0, 86_400.0),
    "max_reply_bytes": Whole(1, MANY),
    "max_calls": Optional(Whole(0, MANY)),
    "max_cost": Optional(Real(0.0, float(MANY))),
}


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """The settings of the client of a model: its server, and the limits, time-outs, retries, store and prices of calls.

    Judges and bots take it as ``client``, as an object, a mapping or a TOML file with these names.  Paths in a file are
    relative to it.

    >>> ClientSettings.of({"timeout": 90.0, "rpm": 60}).timeout
    90.0

    Raises ``OptionError`` for an invalid setting or an unknown name, ``FileFormatError`` for a file that is no TOML.
    """

    base_url: Annotated[str | None, Help(BASE_URL)] = None
    endpoint: Annotated[
        str | None, Help("The name of the server in the store. Default: host and path of its address.")
    ] = None
    max_chars: Annotated[
        int,
        Help(
            "Maximum characters of a prompt; a judge does not send a longer one, and a bot ends before the first call."
        ),
    ] = 400_000
    store: Annotated[str | os.PathLike[str] | None, Help(STORED)] = None
    concurrency: Annotated[int, Help(CONCURRENCY)] = 16
    rpm: Annotated[float | None, Help("Maximum requests per minute.")] = None
    tpm: Annotated[float | None, Help("Maximum tokens per minute.")] = None
    timeout: Annotated[float, Help("Timeout of a call, in seconds.")] = 60.0
    tries: Annotated[int, Help("Maximum attempts of a call.")] = 5
    pause: Annotated[float, Help("Seconds before the second attempt of a call, doubled for each later one.")] = 0.5
    max_reply_bytes: Annotated[int, Help("Maximum bytes of a reply; a longer reply gives the status http.")] = 1_048_576
    max_calls: Annotated[int | None, Help(MAX_CALLS)] = None
    max_cost: Annotated[float | None, Help(MAX_COST)] = None
    prices: Prices = None

    def __post_init__(self) -> None:
        """Check all settings."""
        for name, allowed in _ALLOWED.items():
            object.__setattr__(self, name, argument(name, getattr(self, name), allowed))
        if self.base_url is not None:
            address_of(self.base_url)

    @classmethod
    def of(cls, client: ClientSettings | Mapping[str, Any] | str | os.PathLike[str] | None) -> ClientSettings:
        """The settings themselves, or from a mapping or a file."""
        if isinstance(client, ClientSettings):
            return client
        if client is None or isinstance(client, Mapping):
            names = [field.name for field in fields(cls)]
            unknown = [name for name in client or () if name not in names]
            if unknown:
                raise OptionError(f"client: {unknown[0]!r} is no setting; expected {', '.join(names)}")
            return cls(**(client or {}))
        path = local_path(client, "client")
        try:
            values = tomllib.loads(read_text(path))
        except ValueError as error:
            raise FileFormatError(f"{path}: not the settings of a client: {error}") from error
        places = {name: values[name] for name in ("store", "prices") if isinstance(values.get(name), str)}
        try:
            return cls.of(values | {name: path.parent / place for name, place in places.items()})
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from error


# What a server says besides its reply: where it redirects to, and how long it asks to wait.


LONGEST_WAIT = 300.0
"""The longest wait in seconds that a server may ask for."""


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port of an address, without user; for messages and comparisons."""
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.host}{port}"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The waiting time requested by a server, at most ``LONGEST_WAIT`` seconds, from a number or a date.

    >>> retry_after({"retry-after": "99999999"}), retry_after({"retry-after-ms": "1500"}), retry_after({})
    (300.0, 1.5, None)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = float(value) * unit
        except ValueError:
            try:
                wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
        if not math.isnan(wait):
            return min(max(wait, 0.0), LONGEST_WAIT)
    return None


# A request to a chat completions server: the raw reply, or the failure and whether to retry.


_LONGEST_REASON = 500
_MOST_REDIRECTS = 5


class TooLongError(Exception):
    """The body of a response is longer than allowed."""


class ChatClient:
    """Sends calls to one address; use and close it within one event loop.

    Results and errors never contain the API key, or one in the address's query.  A reply has at most
    ``max_reply_bytes`` bytes.  Redirects to another server are refused, since prompts and the key are for this one.
    After a server refuses structured output, requests omit it.  Raises ``MissingExtraError`` if the package ``httpx``
    is not installed.
    """

    def __init__(self, model: Model, settings: ClientSettings) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError.of("httpx", "judge") from error
        self._model, self._timeout, self._most_bytes = model, settings.timeout, settings.max_reply_bytes
        address, key = address_of(settings.base_url), key_for(settings.base_url)
        place, mark, query = address.partition("?")
        secrets = [value for _, value in parse_qsl(query)]
        self._without_key = KeyMask(key, *secrets, *map(quote, secrets))
        self.structured = True
        try:
            self._url = httpx.URL(f"{place.rstrip('/')}/chat/completions{mark}{query}")
        except httpx.InvalidURL as error:
            raise OptionError(
                Argument("base_url", shown_address(address)), f": {self._for_message(str(error))}"
            ) from error
        self._new = partial(
            httpx.AsyncClient,
            headers={
                "Authorization": f"Bearer {key or 'none'}",
                "Content-Type": "application/json",
                "Accept-Encoding": "gzip",
            },
            timeout=None,  # ``send`` limits the whole call; the client would limit each read
            verify=httpx.create_ssl_context(),
        )
        self._free: list[httpx.AsyncClient] = []

    async def close(self) -> None:
        """Close all connections."""
        for client in self._free:
            await client.aclose()

    async def send(self, call: Call) -> Answer | Failure:
        """Send one call and wait at most ``timeout`` seconds for its complete reply."""
        structured = self.structured and call.schema is not None
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                response, text = await self._posted(self._body(call, structured))
        except TimeoutError:
            return Failure(TIMEOUT, f"no reply within {self._timeout:g} seconds")
        except TooLongError:
            return _too_long(self._most_bytes)
        except Exception as error:  # noqa: BLE001 - what a server sends makes other packages raise many exceptions
            return Failure(HTTP, self._for_message(f"the connection failed: {str(error) or type(error).__name__}"))
        latency = (time.perf_counter() - began) * 1000
        if response.next_request is not None:
            return self._redirected(response.status_code, response.next_request.url)
        if not response.is_success:
            refusal = refusal_in(text, response.status_code)
            if structured and refusal.is_about_format:
                self.structured = False
                return await self.send(call)
            if refusal.is_filter:  # a reply that a filter blocked is final, like any reply
                blocked = {"code": "content_filter", "message": self._for_message(refusal.reason)}
                return answer_in(self._without_key(json.dumps({"error": blocked})), 0.0)
            came: Answer | Failure = refusal.failure(retry_after(response.headers))
        else:
            came = answer_in(self._without_key(text), latency)
        return came._replace(reason=self._for_message(came.reason)) if isinstance(came, Failure) else came

    async def _posted(self, body: Mapping[str, Any]) -> tuple[httpx.Response, str]:
        """The response to a request, and its text; redirects within the server that keep the method are followed."""
        # a client for each call under way: a shared one would look at all its connections for every request
        client = self._free.pop() if self._free else self._new()
        try:
            request = client.build_request("POST", self._url, content=json.dumps(body))
            for _ in range(_MOST_REDIRECTS):
                response = await client.send(request, stream=True)
                try:
                    text = await self._text(response)
                finally:
                    await response.aclose()
                onward = response.next_request
                if onward is None or onward.method != "POST" or origin_of(onward.url) != origin_of(self._url):
                    return response, text
                request = onward
            raise ConnectionError(f"more than {_MOST_REDIRECTS} redirects")
        finally:
            self._free.append(client)

    async def _text(self, response: httpx.Response) -> str:
        """The body of a response, of which no more than the limit is read."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise ConnectionError(f"the reply has the content encoding {encoding!r}, which was not requested")
        unpack = zlib.decompressobj(wbits=47)  # httpx would unpack a chunk to any size
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk if encoding == "identity" else unpack.decompress(chunk, self._most_bytes + 1 - len(body))
            if len(body) > self._most_bytes:
                raise TooLongError
        return body.decode("utf-8-sig", "replace")

    def _body(self, call: Call, structured: bool) -> dict[str, Any]:
        messages = [{"role": message.role, "content": well_formed(message.content)} for message in call.messages]
        body = {"model": self._model.name, "messages": messages, **self._model.parameters}
        if structured:
            schema = {"name": "reply", "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _redirected(self, status: int, target: httpx.URL) -> Failure:
        has_key = self._without_key(str(target)) != str(target)
        place = "an address that contains the key" if has_key else origin_of(target)
        reason = f"{status}: the server redirects to {place}, and prompts and keys are not sent there; if it"
        return Failure(
            HTTP, self._for_message(f"{reason} is the right server, use its address"), passing=False, fatal=True
        )

    def _for_message(self, text: str) -> str:
        """A server's words for messages, on one line, without the key, escape sequences and control characters."""
        text = self._without_key(well_formed(text))
        return " ".join(self._without_key(without_escapes(text)).split())[:_LONGEST_REASON]


# All clients of models: of a registered function, or of a server with an OpenAI-compatible API.
#
# A client that comes with the package is a module with a function under ``@model_client``, imported here.


def connect(model: Model, settings: ClientSettings) -> Client:
    """The client of a model."""
    name = scheme_of(address_of(settings.base_url))
    return ChatClient(model, settings) if name is None else _RegisteredClient(name, model, settings)
