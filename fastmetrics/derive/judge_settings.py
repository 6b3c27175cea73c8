"""Who judges, by which rubrics, and how much may be asked and spent: every setting, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.core.allowed_values import Choice, Flag, NotAllowedError, Optional, Real, Text, Whole, argument
from fastmetrics.derive.budget import Budget
from fastmetrics.derive.call import Model
from fastmetrics.derive.call_store import CallStore
from fastmetrics.derive.chat_client import ChatClient, address_of, endpoint_of
from fastmetrics.derive.circuit_breaker import CircuitBreaker
from fastmetrics.derive.prices import Price, price_of
from fastmetrics.derive.rate_limits import RateLimits
from fastmetrics.derive.reply_parsing import REFUSED, TRUNCATED, UNPARSED
from fastmetrics.derive.rubric import LANGUAGES, Rubric, find_rubrics
from fastmetrics.derive.window import Retries, Window
from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.tables.output.targets import cache_folder

MANY = 1_000_000_000
STORE = "calls.sqlite"

_ASKABLE_AGAIN = (UNPARSED, TRUNCATED, REFUSED)
_PARAMETERS = {"temperature": 0}


@dataclass(frozen=True)
class _Parameters:
    """Names and values that JSON can hold, none of which the package sets itself."""

    def take(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise NotAllowedError
        taken = sorted({"model", "messages", "stream", "n", "response_format"} & set(value))
        if taken:
            raise NotAllowedError(f"{', '.join(taken)} cannot be set here")
        return {**value}

    def __str__(self) -> str:
        return "parameters of a chat completion by name"


_ALLOWED: Mapping[str, Any] = {
    "model": Text(200, "the name of a model"),
    "endpoint": Optional(Text(200, "a name")),
    "language": Choice(*LANGUAGES),
    "parameters": Optional(_Parameters()),
    "repeats": Whole(1, 1_000),
    "structured": Flag(),
    "max_chars": Whole(1, MANY),
    "concurrency": Whole(1, 10_000),
    "rpm": Optional(Real(0.0, float(MANY), above=True)),
    "tpm": Optional(Real(0.0, float(MANY), above=True)),
    "timeout": Real(0.0, 86_400.0, above=True),
    "tries": Whole(1, 100),
    "max_calls": Optional(Whole(0, MANY)),
    "max_cost": Optional(Real(0.0, float(MANY))),
    "keep_replies": Flag(),
}


@dataclass(frozen=True)
class JudgeSettings:
    """The settings of :func:`judge` and :func:`judge_files`, which say what each means.

    >>> JudgeSettings(rubrics="safety", model="m", base_url="http://localhost:8000/v1").endpoint_name
    'localhost:8000/v1'

    Raises ``OptionError`` for a value that a setting cannot have, and what :func:`find_rubrics` and :func:`price_of`
    raise.
    """

    rubrics: str | Path | Rubric | Sequence[str | Path | Rubric]
    model: str
    base_url: str | None = None
    endpoint: str | None = None
    language: str = "en"
    parameters: Mapping[str, Any] | None = None
    repeats: int = 1
    structured: bool = True
    max_chars: int = 400_000
    store: str | os.PathLike[str] | None = None
    retry: Sequence[str] | str = ()
    concurrency: int = 16
    rpm: float | None = None
    tpm: float | None = None
    timeout: float = 60.0
    tries: int = 5
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None
    keep_replies: bool = False
    pause: float = field(default=0.5, repr=False)
    """Seconds before the second try of a call, which each later one doubles."""

    def __post_init__(self) -> None:
        """Look at every setting."""
        for name, allowed in _ALLOWED.items():
            argument(name, getattr(self, name), allowed)
        if not self.model.strip():
            raise OptionError(Argument("model", self.model), ": expected the name of a model")
        for status in self.statuses_to_retry:
            argument("retry", status, Choice(*_ASKABLE_AGAIN))
        address_of(self.base_url)
        if self.max_cost is not None and self.prices is None:
            raise OptionError(Argument("max_cost", self.max_cost), " needs ", Argument("prices"), " to know any cost")
        _ = self.found_rubrics, self.price

    @property
    def statuses_to_retry(self) -> tuple[str, ...]:
        """The statuses whose rows are asked again though there is a reply."""
        return (self.retry,) if isinstance(self.retry, str) else tuple(self.retry)

    @cached_property
    def found_rubrics(self) -> list[Rubric]:
        """The rubrics, read."""
        return find_rubrics(self.rubrics, self.language)

    @cached_property
    def price(self) -> Price | None:
        """What the model costs, if there is a table of prices."""
        if self.prices is None:
            return None
        return price_of(self.model, self.prices if isinstance(self.prices, Mapping) else Path(self.prices))

    @property
    def endpoint_name(self) -> str:
        """What calls are kept under beside the model."""
        return self.endpoint or endpoint_of(self.base_url)

    @property
    def asked_model(self) -> Model:
        """The model, with the parameters that are sent: a temperature of 0 unless others are given; None drops one."""
        given = {**_PARAMETERS, **(self.parameters or {})}
        return Model(self.model, self.endpoint_name, {name: one for name, one in given.items() if one is not None})

    @property
    def store_path(self) -> Path:
        """Where calls are kept; by default in the user's cache."""
        return cache_folder().parent / STORE if self.store is None else Path(self.store)

    def budget(self) -> Budget:
        """A new budget."""
        return Budget(self.max_calls, self.max_cost, self.price)

    def window(self, store: CallStore, budget: Budget) -> Window:
        """What asks the model."""
        model = self.asked_model
        return Window(
            model,
            store,
            connect=lambda: ChatClient(model, self.base_url, self.timeout),
            budget=budget,
            limits=lambda: RateLimits(self.concurrency, self.rpm, self.tpm),
            concurrency=self.concurrency,
            retries=Retries(self.tries, self.pause),
            breaker=CircuitBreaker(self.endpoint_name),
        )
