"""The representations that metrics request by annotation, and how to compute each from a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastmetrics.core.all_pair_tokens import Crossed, Side, crossed
from fastmetrics.core.arrays import Text, Tokens
from fastmetrics.declaration.batch import Batch, Numbers

Options = Mapping[str, Any]


class Need(Protocol):
    """How to compute a representation from a column; ``options`` are those of the requesting metric.

    A need based on tokens has an attribute ``convention``, the name of the text convention.  A need with a true
    attribute ``by_item`` reads the items of a column of lists of vectors one by one.  A need with a method ``crossed``,
    which gives the representation of one side of all pairs, lets ``fm.pairwise_scores`` compute the metric.

    What a need reads beside its column is declared with it, and each metric that requests it has it without naming it:
    an attribute ``options`` is a dataclass of options with defaults, ``columns`` are further, optional columns, each
    with its representation.
    """

    def of(self, batch: Batch, column: str, options: Options) -> Any:
        """The representation of ``column``, or of each of its strings if it contains lists."""


class OfTokens:
    """A need whose representation are tokens."""

    def crossed(self, tokens: Tokens, side: Side) -> Crossed:
        """The tokens on one side of all pairs."""
        return crossed(tokens, side)


@dataclass(frozen=True)
class TokensIn(OfTokens):
    """Tokens under one text convention."""

    convention: str

    def of(self, batch: Batch, column: str, options: Options) -> Tokens:
        """The column's tokens."""
        return batch.tokens(column, self.convention)


@dataclass(frozen=True)
class TextIn:
    """The bytes themselves."""

    def of(self, batch: Batch, column: str, options: Options) -> Text:
        """The column's strings."""
        return batch.text(column)


@dataclass(frozen=True)
class NumbersIn:
    """Numbers as given."""

    def of(self, batch: Batch, column: str, options: Options) -> Numbers:
        """The column's numbers."""
        return batch.numbers(column)


Words = Annotated[Tokens, TokensIn("words")]
Light = Annotated[Tokens, TokensIn("light")]
Squad = Annotated[Tokens, TokensIn("squad")]
Raw = Annotated[Text, TextIn()]
Number = Annotated[Numbers, NumbersIn()]
