"""The representations metrics ask for by annotation, and how each is made from a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastmetrics.core.arrays import Text, Tokens
from fastmetrics.declaration.batch import Batch, Numbers
from fastmetrics.text.tokenize import Folded

Options = Mapping[str, Any]


class Need(Protocol):
    """How a representation is made from a column; ``options`` are those of the metric that asks.

    A need that is made of tokens has an attribute ``convention``, the text convention's name.
    """

    def of(self, batch: Batch, column: str, options: Options) -> Any:
        """The representation of ``column``, or that of each of its strings if it holds lists."""


@dataclass(frozen=True)
class TokensIn:
    """Tokens under one text convention."""

    convention: str

    def of(self, batch: Batch, column: str, options: Options) -> Tokens:
        """The column's tokens."""
        return batch.tokens(column, self.convention)


@dataclass(frozen=True)
class FoldedIn:
    """Folded characters under one text convention, not cut into words."""

    name: str

    def of(self, batch: Batch, column: str, options: Options) -> Folded:
        """The column's folded text."""
        return batch.folded(column, self.name)


@dataclass(frozen=True)
class TextIn:
    """The bytes themselves."""

    def of(self, batch: Batch, column: str, options: Options) -> Text:
        """The column's strings."""
        return batch.text(column)


@dataclass(frozen=True)
class NumbersIn:
    """Numbers as they are."""

    def of(self, batch: Batch, column: str, options: Options) -> Numbers:
        """The column's numbers."""
        return batch.numbers(column)


Words = Annotated[Tokens, TokensIn("words")]
Light = Annotated[Tokens, TokensIn("light")]
Plain = Annotated[Tokens, TokensIn("plain")]
Squad = Annotated[Tokens, TokensIn("squad")]
Split = Annotated[Tokens, TokensIn("split")]
Lowered = Annotated[Folded, FoldedIn("lower")]
Raw = Annotated[Text, TextIn()]
Number = Annotated[Numbers, NumbersIn()]
