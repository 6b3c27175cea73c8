"""What bots have in common: a class with these attributes and methods is a bot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from fastmetrics.derive.calls.budget import Budget
from fastmetrics.derive.calls.call import Call
from fastmetrics.derive.calls.call_sender import CallSender
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.retrieval.faq import FaqReply


class _Bot(Protocol):
    """The attributes of every bot: the columns that it reads, and those that it returns besides its answer."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> Sequence[str]: ...

    @property
    def returns(self) -> Sequence[str]: ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """All known settings that affect the answers."""
        ...

    def use_of(self, column: str) -> str:
        """Where a column is named, for messages."""
        ...


@runtime_checkable
class CallBot(_Bot, Protocol):
    """A bot that makes calls through a sender and a store; ``asks_model`` says whether prompts can be too long."""

    @property
    def asks_model(self) -> bool: ...

    @property
    def concurrency(self) -> int: ...

    @property
    def store_path(self) -> Path: ...

    def budget(self) -> Budget: ...

    def sender(self, store: CallStore, budget: Budget) -> CallSender: ...

    def call(self, values: Sequence[Any], repeat: int = 0) -> Call:
        """The call for the values of the columns that the bot reads."""
        ...

    def check(self, values: Sequence[Any], row: int) -> None:
        """Raise ``InputError`` if the prompt of a row is too long."""
        ...


@runtime_checkable
class DirectBot(_Bot, Protocol):
    """A bot that answers questions one by one, at once and without calls."""

    def answer(self, question: str | None) -> FaqReply: ...


Bot: TypeAlias = CallBot | DirectBot
