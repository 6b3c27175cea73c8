"""Settings of model calls and their limits, shared by judges and bots, each declared once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.base.options import (
    LimitedText,
    NotAllowedError,
    Optional,
    Real,
    Whole,
    about,
    argument,
    with_parameters,
)
from fastmetrics.metrics.stored_metadata import source_of
from fastmetrics.models.call_sender import LONGEST_REPLY, Budget, CallSender, CircuitBreaker, RateLimits, Retries
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import CallMaker, Connection, Message, Model
from fastmetrics.models.clients import MODEL_CLIENTS, address_of, connect, endpoint_of, scheme_of
from fastmetrics.results.prices import Price, price_of
from fastmetrics.tables.input_files import local_path, read_text
from fastmetrics.tables.targets import cache_folder

# The settings of model calls, judges and bots: each declared once, for functions and commands.


MODEL = "The model, by the server's name."
RUBRICS = (
    "Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
    "answer_faithfulness, e2e (0 to 1), or your own .toml files."
)
KNOWLEDGE = "The text that the full-context bot reads; on the command line, UTF-8 files of it."
TEMPLATE = (
    "The prompt, with columns of the table in braces, such as {contexts} and {question}, and {knowledge} for the text; "
    "on the command line, a file of it."
)


CLIENT = "The settings of the client: limits, time-outs, retries, store and prices, in a TOML file."
BASE_URL = "The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."
STORED = "The file that stores all calls. Default: calls.sqlite in ~/.cache/fastmetrics."
CONCURRENCY = "Maximum concurrent calls. Default: 16."
MAX_CALLS = "Maximum requests of this run."
MAX_COST = "Maximum cost of the calls, by the prices of the client: calls that might exceed it are not made."
PRICES = 'Prices of a million tokens, or a TOML or JSON file of them: {"MODEL": {"input": 0.5, "output": 2}}.'
MANY = 1_000_000_000
STORE = "calls.sqlite"

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


@with_parameters
@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """The settings of the client of a model: its server, and the limits, time-outs, retries, store and prices of calls.

    Judges and bots take it as ``client``, as an object, a mapping or a TOML file with these names.  Paths in a file are
    relative to it.

    {parameters}

    >>> ClientSettings.of({"timeout": 120, "rpm": 60}).timeout
    120.0

    Raises ``OptionError`` for an invalid setting or an unknown name, ``FileFormatError`` for a file that is no TOML.
    """

    base_url: str | None = field(default=None, metadata=about(BASE_URL))
    endpoint: str | None = field(
        default=None,
        metadata=about("The name of the server in the store. Default: host and path of its address."),
    )
    max_chars: int = field(
        default=400_000,
        metadata=about(
            "Maximum characters of a prompt; a judge does not send a longer one, and a bot ends before the first call."
        ),
    )
    store: str | os.PathLike[str] | None = field(default=None, metadata=about(STORED))
    concurrency: int = field(default=16, metadata=about(CONCURRENCY))
    rpm: float | None = field(default=None, metadata=about("Maximum requests per minute."))
    tpm: float | None = field(default=None, metadata=about("Maximum tokens per minute."))
    timeout: float = field(default=60.0, metadata=about("Timeout of a call, in seconds."))
    tries: int = field(default=5, metadata=about("Maximum attempts of a call."))
    pause: float = field(
        default=0.5,
        metadata=about("Seconds before the second attempt of a call, doubled for each later one."),
    )
    max_reply_bytes: int = field(
        default=1_048_576, metadata=about("Maximum bytes of a reply; a longer reply gives the status http.")
    )
    max_calls: int | None = field(default=None, metadata=about(MAX_CALLS))
    max_cost: float | None = field(default=None, metadata=about(MAX_COST))
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = field(default=None, metadata=about(PRICES))

    def __post_init__(self) -> None:
        """Check all settings."""
        for name, allowed in _ALLOWED.items():
            object.__setattr__(self, name, argument(name, getattr(self, name), allowed))
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


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The settings of all model calls: the client, the parameters of the model, and what replaces the client's own."""

    client: ClientSettings | Mapping[str, Any] | str | os.PathLike[str] | None = field(
        default=None, metadata=about(CLIENT)
    )
    base_url: str | None = field(default=None, metadata=about(BASE_URL))
    parameters: Mapping[str, Any] | None = field(
        default=None,
        metadata=about("Parameters of each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    )
    store: str | os.PathLike[str] | None = field(default=None, metadata=about(STORED))
    concurrency: int | None = field(default=None, metadata=about(CONCURRENCY))
    max_calls: int | None = field(default=None, metadata=about(MAX_CALLS))
    max_cost: float | None = field(default=None, metadata=about(MAX_COST))


def client_with(client: Any, **own: Any) -> ClientSettings:
    """The settings of a client, with those of its values that are not None; another address has no ``endpoint`` yet."""
    settings = ClientSettings.of(client)
    given = {name: value for name, value in own.items() if value is not None}
    if given.get("base_url", settings.base_url) != settings.base_url:
        given["endpoint"] = None
    return replace(settings, **given)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(CallOptions):
    """The settings of a judge besides its rubrics and its model."""

    language: str = field(default="en", metadata=about("The language of the rubrics: en or ru."))
    repeats: int = field(default=1, metadata=about("Number of repeats of each call."))
    structured: bool = field(default=True, metadata=about("Request structured output if the server supports it."))
    retry: Sequence[str] | str = field(
        default=(), metadata=about("Repeat stored calls with these statuses: unparsed,truncated,refused.")
    )
    max_unparsed: int = field(
        default=20, metadata=about("Stop if none of this many first replies has a score; 0 never stops.")
    )
    keep_replies: bool = field(default=False, metadata=about("Copy the model's replies and reasoning to the output."))


@dataclass(frozen=True, kw_only=True)
class BotOptions(CallOptions):
    """The settings of a bot of a model besides its prompt and its model."""

    context_window: int | None = field(
        default=None, metadata=about("The maximum tokens of a prompt, estimated at four bytes a token.")
    )


# Settings of model calls and their limits, shared by judges and bots.


_PARAMETERS = {"temperature": 0}
_REPLY_LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters of a call that limit the tokens of its reply."""

_NEUTRAL = Message("user", "Reply with the word: ready")
"""The prompt that checks a server of which no call has worked yet."""


@dataclass(frozen=True)
class _Parameters:
    """JSON-serialisable names and values, except those that the package sets itself."""

    def take(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise NotAllowedError
        reserved = sorted({"model", "messages", "stream", "n", "response_format"} & set(value))
        if reserved:
            raise NotAllowedError(f"{', '.join(reserved)} cannot be set here")
        return {**value}

    def __str__(self) -> str:
        return "parameters of a chat completion by name"


class CallSettings(CallOptions):
    """Base class of what calls a model; a subclass is a dataclass that adds the ``model``."""

    model: str

    def check_calls(self) -> None:
        """Raise ``OptionError`` for an invalid value of a field; the fields of the client's then have its values."""
        argument("model", self.model, LimitedText(200, "the name of a model"))
        argument("parameters", self.parameters, Optional(_Parameters()))
        if not self.model.strip():
            raise OptionError(Argument("model", self.model), ": expected the name of a model")
        calls = self.calls
        for name in ("base_url", "store", "concurrency", "max_calls", "max_cost"):
            object.__setattr__(self, name, getattr(calls, name))
        if calls.max_cost is not None and calls.prices is None:
            raise OptionError(
                Argument("max_cost", calls.max_cost), " needs the prices of the ", Argument("client"), " for a cost"
            )
        _ = self.price

    @cached_property
    def calls(self) -> ClientSettings:
        """The settings of the client."""
        return client_with(
            self.client,
            base_url=self.base_url,
            store=self.store,
            concurrency=self.concurrency,
            max_calls=self.max_calls,
            max_cost=self.max_cost,
        )

    @cached_property
    def price(self) -> Price | None:
        """The price of the model, if there is a table of prices."""
        return None if self.calls.prices is None else price_of(self.model, self.calls.prices)

    @property
    def endpoint_name(self) -> str:
        """The server's name in the keys of stored calls."""
        return self.calls.endpoint or endpoint_of(self.calls.base_url)

    @cached_property
    def configured_model(self) -> Model:
        """The model with its parameters: by default a temperature of 0; None removes a parameter."""
        parameters = {**_PARAMETERS, **(self.parameters or {})}
        given = {name: value for name, value in parameters.items() if value is not None}
        client = scheme_of(address_of(self.calls.base_url))
        return Model(self.model, self.endpoint_name, given, "" if client is None else source_of(MODEL_CLIENTS[client]))

    @property
    def store_path(self) -> Path:
        """The path of the store; by default in the user's cache."""
        return cache_folder().parent / STORE if self.calls.store is None else Path(self.calls.store)

    def budget(self) -> Budget:
        """A new budget."""
        parameters = self.configured_model.parameters
        limits = {name: parameters[name] for name in _REPLY_LIMITS if isinstance(parameters.get(name), int)}
        limit = max(limits, key=limits.__getitem__, default=_REPLY_LIMITS[0])
        longest = limits.get(limit, LONGEST_REPLY)
        return Budget(self.calls.max_calls, self.calls.max_cost, self.price, longest, limit)

    def sender(self, store: CallStore, budget: Budget) -> CallSender:
        """What sends the calls, within their limits."""
        model, calls = self.configured_model, self.calls
        connection = Connection(model, calls.base_url, calls.timeout, calls.max_reply_bytes, calls.concurrency)
        return CallSender(
            model,
            store,
            connect=lambda: connect(connection),
            budget=budget,
            limits=RateLimits(calls.concurrency, calls.rpm, calls.tpm),
            concurrency=calls.concurrency,
            retries=Retries(calls.tries, calls.pause),
            breaker=CircuitBreaker(self.endpoint_name),
            neutral=CallMaker(model, None).call([_NEUTRAL]),
        )
