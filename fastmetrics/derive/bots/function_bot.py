"""A bot from a Python function of one question, called through the same sender and store as a model."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import Argument, InputError
from fastmetrics.base.options import Choice, LimitedText, Real, Whole, argument
from fastmetrics.derive.bots.function_calls import FunctionCalls, words_of
from fastmetrics.derive.calls.budget import Budget
from fastmetrics.derive.calls.call import ERROR, TIMEOUT, Call, CallMaker, Message, Model
from fastmetrics.derive.calls.call_sender import CallSender
from fastmetrics.derive.calls.circuit_breaker import CircuitBreaker
from fastmetrics.derive.calls.rate_limits import RateLimits
from fastmetrics.derive.calls.retries import Retries
from fastmetrics.derive.clients.client import Failure, Reply
from fastmetrics.derive.clients.completion import ModelReply
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.derive.store.store_file import IN_MEMORY

RETURNED: Mapping[str, pa.DataType] = {
    "contexts": pa.list_(pa.string()),
    "context_ids": pa.list_(pa.string()),
    "retrieved_ids": pa.list_(pa.string()),
    "retrieved_scores": pa.list_(pa.float64()),
    "confidence": pa.float64(),
    "total_tokens": pa.int64(),
}
"""The columns that a function may return in addition to its answer and tokens, and their types."""

_COUNTS = ("prompt_tokens", "completion_tokens")


@dataclass(frozen=True)
class FunctionBot:
    """A bot from a function of a row's columns that returns a text, None, or a mapping with an ``answer``.

    The function receives the columns named in ``reads``, in this order; by default the question if it has one required
    parameter, otherwise the columns with the names of its required parameters, as in ``rag(question, contexts)``.
    Values are as in the table.  A row in which one of them is null, or an empty list, is ``missing``.

    The mapping may also contain ``prompt_tokens`` and ``completion_tokens``, and the columns named in ``returns``:
    ``contexts``, ``context_ids``, ``retrieved_ids`` (lists of text), ``retrieved_scores`` (a list of numbers),
    ``confidence`` and ``total_tokens`` (numbers).  Up to ``concurrency`` questions are processed at the same time, each
    in a thread; coroutines are awaited.  A row whose call raises an exception has no answer and the status ``error``; a
    call of more than ``timeout`` seconds gives the status ``timeout``.  The next run repeats both.

    With a ``store``, an SQLite file, answers are stored under ``name`` and the values that the function receives, and
    reused: give a changed function another name, or another store.

    Parameters:

    - ``function``: the function of a row
    - ``name``: the name of the bot
    - ``returns``: further columns that the function returns
    - ``reads``: the columns that it receives
    - ``concurrency``: the questions at the same time
    - ``timeout``: the seconds of a call
    - ``store``: the file that stores answers

    >>> bot = FunctionBot(lambda question: question.upper(), name="loud")
    >>> import fastmetrics as fm
    >>> fm.answer({"question": ["why?"]}, bot)["answer"].to_pylist()
    ['WHY?']
    """

    function: Callable[..., Any]
    _: KW_ONLY
    name: str = ""
    returns: Sequence[str] = ()
    reads: Sequence[str] = ()
    concurrency: int = 1
    timeout: float = 3_600.0
    store: str | os.PathLike[str] | None = None

    asks_model = False

    def __post_init__(self) -> None:
        """Check all settings; the default name is the function's."""
        own = getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", self.name or own.replace("<lambda>", "function"))
        argument("name", self.name, LimitedText(200, "a name"))
        argument("concurrency", self.concurrency, Whole(1, 1_000))
        argument("timeout", self.timeout, Real(0.0, 86_400.0, above=True))
        for name in self.returns:
            argument("returns", name, Choice(*RETURNED))
        for name in self.reads:
            argument("reads", name, LimitedText(200, "the name of a column"))
        object.__setattr__(self, "reads", tuple(self.reads) or _parameters(self.function))

    @cached_property
    def _maker(self) -> CallMaker:
        return CallMaker(Model(self.name, "python"), None)

    def call(self, values: Sequence[Any], repeat: int = 0) -> Call:
        """The call for the values of the columns that the function reads."""
        whole = dict(zip(self.reads, values, strict=True))
        alone = values[0] if tuple(self.reads) == ("question",) else None
        text = alone if isinstance(alone, str) else json.dumps(whole, ensure_ascii=False, default=str)
        return self._maker.call([Message("user", text)], repeat)._replace(values=tuple(values))

    def use_of(self, column: str) -> str:
        """Where a column is named, for messages."""
        return f"the parameter {column!r} of the bot {self.name!r}"

    def check(self, values: Sequence[Any], row: int) -> None:
        """Does nothing: no row is too long for a function."""

    @property
    def settings(self) -> dict[str, Any]:
        """All known settings that affect the answers."""
        return {"bot": "function", "name": self.name}

    @property
    def store_path(self) -> Path:
        """The path of the store."""
        return IN_MEMORY if self.store is None else Path(self.store)

    def budget(self) -> Budget:
        """A new budget without limits."""
        return Budget(None, None, None)

    def sender(self, store: CallStore, budget: Budget) -> CallSender:
        """The sender that calls the function."""
        return CallSender(
            Model(self.name, "python"),
            store,
            connect=lambda: _Client(self),
            budget=budget,
            limits=lambda: RateLimits(self.concurrency, None, None),
            concurrency=self.concurrency,
            retries=Retries(1),
            breaker=CircuitBreaker(self.name),
        )


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the required parameters of a function, if there are several; otherwise the question."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtin functions have no signature
        return ("question",)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        parameter.name
        for parameter in parameters
        if parameter.kind in positional and parameter.default is parameter.empty
    ]
    return tuple(required) if len(required) > 1 else ("question",)


def _well_formed(value: Any) -> Any:
    """A returned value with U+FFFD for halves of surrogate pairs."""
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    return well_formed(value) if isinstance(value, str) else value


class _Client:
    """Calls the function, and returns its result in the form of a server's reply."""

    structured = True

    def __init__(self, bot: FunctionBot) -> None:
        self._bot = bot
        self._calls = FunctionCalls(bot.function, bot.name, bot.concurrency, bot.timeout)

    async def close(self) -> None:
        """Release the threads."""
        await self._calls.close()

    async def send(self, call: Call) -> Reply | Failure:
        """Ask one question."""
        question = call.messages[-1].content
        began = time.perf_counter()
        try:
            value = await self._calls.returned(*call.values)
        except TimeoutError:
            return Failure(TIMEOUT, f"no answer within {self._bot.timeout:g} seconds", passing=False)
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything, and its row says what
            return Failure(ERROR, words_of(error), passing=False)
        latency = (time.perf_counter() - began) * 1000
        return Reply(self._body(value, question), latency)

    def _body(self, value: Any, question: str) -> str:
        """The returned value as the body of a chat completion."""
        bot = self._bot
        returned_values = value if isinstance(value, Mapping) else {"answer": value}
        wrong = [name for name in returned_values if name not in ("answer", *_COUNTS, *bot.returns)]
        if wrong or "answer" not in returned_values or not isinstance(returned_values["answer"], str | None):
            got = (
                f"a mapping with {', '.join(map(repr, returned_values))}"
                if returned_values is value
                else type(value).__name__
            )
            kinds = ", ".join(("answer", *_COUNTS, *bot.returns))
            raise InputError(
                f"the bot {bot.name!r} returned {got} for {question[:80]!r}: expected a text, None, or a mapping "
                f"with an answer (text or None) and at most {kinds}; declare further columns in ",
                Argument("returns"),
            )
        returned = {name: self._value(name, returned_values.get(name), question) for name in bot.returns}
        return ModelReply(returned_values["answer"], *(returned_values.get(name) for name in _COUNTS)).body(
            returned=returned
        )

    def _value(self, name: str, value: Any, question: str) -> Any:
        """One returned value, in the type of its column."""
        listed = value.tolist() if hasattr(value, "tolist") else value
        try:
            if isinstance(listed, str):  # Arrow would convert a string to a list of characters
                raise pa.ArrowTypeError("a text")
            return pa.array([_well_formed(listed)], RETURNED[name])[0].as_py()
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"the bot {self._bot.name!r} returned an unexpected {name} for {question[:80]!r}: expected "
                f"{RETURNED[name]}, got {str(value)[:80]}"
            ) from error
