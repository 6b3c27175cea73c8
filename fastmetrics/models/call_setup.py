"""Settings of model calls and their limits, shared by judges and bots, each declared once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import LimitedText, NotAllowedError, Optional, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.metrics.prices import Price, price_of
from fastmetrics.models.call_sender import LONGEST_REPLY, Budget, CallSender
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Model
from fastmetrics.models.clients import (
    BASE_URL,
    CLIENT,
    CONCURRENCY,
    MAX_CALLS,
    MAX_COST,
    MODEL_CLIENTS,
    STORED,
    ClientSettings,
    address_of,
    connect,
    endpoint_of,
    scheme_of,
)
from fastmetrics.tables.targets import cache_folder

# The settings of model calls, judges and bots: each declared once, for functions and commands.


MODEL = "The model, by the server's name."
RUBRICS = (
    "Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
    "answer_faithfulness, e2e, context_precision, context_recall, supported_claims, show_answer (0 to 1), preference "
    "(of two answers), or your own .toml files."
)
KNOWLEDGE = "The text that the full-context bot reads; on the command line, UTF-8 files of it."
TEMPLATE = (
    "The prompt, with columns of the table in braces, such as {contexts} and {question}, and {knowledge} for the text; "
    "on the command line, a file of it."
)


STORE = "calls.sqlite"


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The settings of all model calls: the client, the parameters of the model, and what replaces the client's own."""

    client: Annotated[ClientSettings | Mapping[str, Any] | str | os.PathLike[str] | None, Help(CLIENT)] = None
    base_url: Annotated[str | None, Help(BASE_URL)] = None
    parameters: Annotated[
        Mapping[str, Any] | None,
        Help("Parameters of each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    ] = None
    store: Annotated[str | os.PathLike[str] | None, Help(STORED)] = None
    concurrency: Annotated[int | None, Help(CONCURRENCY)] = None
    max_calls: Annotated[int | None, Help(MAX_CALLS)] = None
    max_cost: Annotated[float | None, Help(MAX_COST)] = None


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

    language: Annotated[str, Help("The language of the rubrics: en or ru.")] = "en"
    repeats: Annotated[int, Help("Number of repeats of each call.")] = 1
    structured: Annotated[bool, Help("Request structured output if the server supports it.")] = True
    retry: Annotated[
        Sequence[str] | str, Help("Repeat stored calls with these statuses: unparsed,truncated,refused.")
    ] = ()
    max_unparsed: Annotated[int, Help("Stop if none of this many first replies has a score; 0 never stops.")] = 20
    keep_replies: Annotated[bool, Help("Copy the model's replies and reasoning to the output.")] = False


@dataclass(frozen=True, kw_only=True)
class BotOptions(CallOptions):
    """The settings of a bot of a model besides its prompt and its model."""

    context_window: Annotated[int | None, Help("The maximum tokens of a prompt, estimated at four bytes a token.")] = (
        None
    )


# Settings of model calls and their limits, shared by judges and bots.


_PARAMETERS = {"temperature": 0}
_REPLY_LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters of a call that limit the tokens of its reply."""


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
        if callable(self.model):
            way = '; a function is a client: mark it with fm.models.model_client("NAME"), and give base_url="NAME:"'
            raise OptionError(Argument("model"), ": expected the name of a model, got a function", way)
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
        _ = self.price, self.endpoint_name

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
        if client is None:
            return Model(self.model, self.endpoint_name, given)
        from fastmetrics.plans.stored_metadata import source_of  # which loads the kernels

        return Model(self.model, self.endpoint_name, given, source_of(MODEL_CLIENTS[client]))

    @property
    def store_path(self) -> Path:
        """The path of the store; by default in the user's cache."""
        return cache_folder() / STORE if self.calls.store is None else Path(self.calls.store)

    def budget(self) -> Budget:
        """A new budget."""
        parameters = self.configured_model.parameters
        limits = {name: parameters[name] for name in _REPLY_LIMITS if isinstance(parameters.get(name), int)}
        limit = max(limits, key=limits.__getitem__, default=_REPLY_LIMITS[0])
        longest = limits.get(limit, LONGEST_REPLY)
        return Budget(self.calls.max_calls, self.calls.max_cost, self.price, longest, limit)

    def sender(self, store: CallStore, budget: Budget) -> CallSender:
        """What sends the calls, within their limits."""
        model = self.configured_model
        return CallSender(model, store, budget, self.calls, lambda: connect(model, self.calls))
