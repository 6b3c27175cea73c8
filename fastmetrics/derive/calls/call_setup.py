"""Settings of model calls and their limits, shared by judges and bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import LimitedText, NotAllowedError, Optional, Real, Whole, argument
from fastmetrics.derive.calls.budget import LONGEST_REPLY, Budget
from fastmetrics.derive.calls.call import CallMaker, Message, Model
from fastmetrics.derive.calls.call_options import CallOptions
from fastmetrics.derive.calls.call_sender import CallSender
from fastmetrics.derive.calls.circuit_breaker import CircuitBreaker
from fastmetrics.derive.calls.rate_limits import RateLimits
from fastmetrics.derive.calls.retries import Retries
from fastmetrics.derive.clients.client import Connection
from fastmetrics.derive.clients.connect import connect
from fastmetrics.derive.clients.server_address import address_of, endpoint_of
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.results.prices import Price, price_of
from fastmetrics.tables.output_places import cache_folder

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
            limits=lambda: RateLimits(self.concurrency, self.rpm, self.tpm),
            concurrency=self.concurrency,
            retries=Retries(self.tries, self.pause),
            breaker=CircuitBreaker(self.endpoint_name),
            neutral=CallMaker(model, None).call([_NEUTRAL]),
        )
