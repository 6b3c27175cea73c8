"""Settings of model calls and their limits, shared by judges and bots, each declared once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import LimitedText, NotAllowedError, Optional, Real, Whole, about, argument
from fastmetrics.models.call_sender import LONGEST_REPLY, Budget, CallSender, CircuitBreaker, RateLimits, Retries
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import CallMaker, Connection, Message, Model
from fastmetrics.models.clients import address_of, connect, endpoint_of
from fastmetrics.results.prices import Price, price_of
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


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The settings of all model calls."""

    base_url: str | None = field(
        default=None,
        metadata=about("The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."),
    )
    endpoint: str | None = field(
        default=None,
        metadata=about("The name of the server in the store. Default: host and path of its address."),
    )
    parameters: Mapping[str, Any] | None = field(
        default=None,
        metadata=about("Parameters of each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    )
    max_chars: int = field(
        default=400_000,
        metadata=about(
            "Maximum characters of a prompt; a judge does not send a longer one, and a bot ends before the first call."
        ),
    )
    store: str | os.PathLike[str] | None = field(
        default=None,
        metadata=about("The file that stores all calls. Default: calls.sqlite in ~/.cache/fastmetrics."),
    )
    concurrency: int = field(default=16, metadata=about("Maximum concurrent calls."))
    rpm: float | None = field(default=None, metadata=about("Maximum requests per minute."))
    tpm: float | None = field(default=None, metadata=about("Maximum tokens per minute."))
    timeout: float = field(default=60.0, metadata=about("Timeout of a call, in seconds."))
    tries: int = field(default=5, metadata=about("Maximum attempts of a call."))
    max_reply_bytes: int = field(
        default=1_048_576, metadata=about("Maximum bytes of a reply; a longer reply gives the status http.")
    )
    max_calls: int | None = field(default=None, metadata=about("Maximum requests of this run."))
    max_cost: float | None = field(
        default=None,
        metadata=about("Maximum cost of the calls, by the prices: calls that might exceed it are not made."),
    )
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = field(
        default=None,
        metadata=about(
            'Prices of a million tokens, or a TOML or JSON file of them: {"MODEL": {"input": 0.5, "output": 2}}.'
        ),
    )
    pause: float = field(
        default=0.5,
        repr=False,
        metadata=about("Seconds before the second attempt of a call, doubled for each later one."),
    )


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


MANY = 1_000_000_000
STORE = "calls.sqlite"

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


_ALLOWED: Mapping[str, Any] = {
    "model": LimitedText(200, "the name of a model"),
    "endpoint": Optional(LimitedText(200, "a name")),
    "parameters": Optional(_Parameters()),
    "max_chars": Whole(1, MANY),
    "concurrency": Whole(1, 10_000),
    "rpm": Optional(Real(0.0, float(MANY), above=True)),
    "tpm": Optional(Real(0.0, float(MANY), above=True)),
    "timeout": Real(0.0, 86_400.0, above=True),
    "tries": Whole(1, 100),
    "max_reply_bytes": Whole(1, MANY),
    "max_calls": Optional(Whole(0, MANY)),
    "max_cost": Optional(Real(0.0, float(MANY))),
}


class CallSettings(CallOptions):
    """Base class of what calls a model; a subclass is a dataclass that adds the ``model``."""

    model: str

    def check_calls(self) -> None:
        """Raise ``OptionError`` for an invalid value of a field."""
        for name, allowed in _ALLOWED.items():
            argument(name, getattr(self, name), allowed)
        if not self.model.strip():
            raise OptionError(Argument("model", self.model), ": expected the name of a model")
        address_of(self.base_url)
        if self.max_cost is not None and self.prices is None:
            raise OptionError(Argument("max_cost", self.max_cost), " needs ", Argument("prices"), " to compute a cost")
        _ = self.price

    @cached_property
    def price(self) -> Price | None:
        """The price of the model, if there is a table of prices."""
        if self.prices is None:
            return None
        return price_of(self.model, self.prices)

    @property
    def endpoint_name(self) -> str:
        """The server's name in the keys of stored calls."""
        return self.endpoint or endpoint_of(self.base_url)

    @property
    def configured_model(self) -> Model:
        """The model with its parameters: by default a temperature of 0; None removes a parameter."""
        parameters = {**_PARAMETERS, **(self.parameters or {})}
        return Model(
            self.model, self.endpoint_name, {name: value for name, value in parameters.items() if value is not None}
        )

    @property
    def store_path(self) -> Path:
        """The path of the store; by default in the user's cache."""
        return cache_folder().parent / STORE if self.store is None else Path(self.store)

    def budget(self) -> Budget:
        """A new budget."""
        parameters = self.configured_model.parameters
        limits = {name: parameters[name] for name in _REPLY_LIMITS if isinstance(parameters.get(name), int)}
        limit = max(limits, key=limits.__getitem__, default=_REPLY_LIMITS[0])
        return Budget(self.max_calls, self.max_cost, self.price, limits.get(limit, LONGEST_REPLY), limit)

    def sender(self, store: CallStore, budget: Budget) -> CallSender:
        """What sends the calls, within their limits."""
        model = self.configured_model
        connection = Connection(model, self.base_url, self.timeout, self.max_reply_bytes, self.concurrency)
        return CallSender(
            model,
            store,
            connect=lambda: connect(connection),
            budget=budget,
            limits=RateLimits(self.concurrency, self.rpm, self.tpm),
            concurrency=self.concurrency,
            retries=Retries(self.tries, self.pause),
            breaker=CircuitBreaker(self.endpoint_name),
            neutral=CallMaker(model, None).call([_NEUTRAL]),
        )
