"""One batch of rows, a cache of everything derived from it, and the representations that metrics request of it.

A column is tokenised once per convention for all metrics.  Everything derived from a column is computed at the first
request and cached for the lifetime of the batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Memo, Text, Tokens, floats_of_arrow, text_of_arrow
from fastmetrics.base.arrow import is_list, numpy_values
from fastmetrics.base.columns import totals
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.core.all_pair_tokens import Crossed, Side, crossed
from fastmetrics.text.conventions import convention, joined_lines
from fastmetrics.text.text_keys import is_utf8
from fastmetrics.text.tokenize import Folded, Vocabulary, Wordbook, fold

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; null rows are NaN."""

    values: Floats

    def take(self, rows: Ints) -> Numbers:
        """The numbers of ``rows``."""
        return Numbers(self.values[rows])


class Batch:
    """Rows by canonical column name, with a cache of derived data."""

    def __init__(
        self, columns: Mapping[str, pa.Array], shared: Collection[str] = (), words: Wordbook | None = None
    ) -> None:
        """``shared`` are the columns needed under several conventions: they are tokenised for all at once."""
        self.columns = columns
        self.words = Wordbook() if words is None else words
        self._shared = frozenset(shared)
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._memory = Memo()

    def remember(self, key: Hashable, make: Callable[[], T], *beside: object) -> T:
        """The cached result of ``make`` for ``key`` and the objects ``beside``."""
        return self._memory.of(key, beside, make)

    def text(self, column: str) -> Text:
        """The strings of a column; in a column that may contain lists, each item is a separate string."""
        lists = COLUMNS[column].kind == "texts"
        return self.remember(("text", column), lambda: text_of_arrow(self.columns[column], column, lists, is_utf8))

    def vocabulary(self, name: str) -> Vocabulary:
        """The words of this batch under the convention ``name``."""
        return self.words.vocabulary(name)

    def tokens(self, column: str, name: str) -> Tokens:
        """The tokens of a column under the convention ``name``."""

        return self.remember(("tokens", column, name), lambda: self._tokens(column, name))

    def _tokens(self, column: str, name: str) -> Tokens:
        base = convention(name).base
        if base is None or (base == "split" and column not in self._shared):
            return self.vocabulary(name).tokenize(self.text(column))
        tokens = self.words.rewriter(name).tokens(self.tokens(column, base))
        if convention(name).frame is None:
            return tokens
        rows = joined_lines(self.text(column))
        return tokens.with_rows(rows, self.vocabulary(name).tokenize(self.text(column).take(rows)))

    def folded(self, column: str, name: str) -> Folded:
        """The characters of a column under the convention ``name``, before tokenisation."""
        return self.remember(("folded", column, name), lambda: fold(self.text(column), convention(name)))

    def numbers(self, column: str) -> Numbers:
        """A column of numbers as float64; lists are summed."""
        return self.remember(("numbers", column), lambda: Numbers(floats_of_arrow(self._amounts(column), column)))

    def _amounts(self, column: str) -> pa.Array:
        array = self.columns[column]
        if COLUMNS[column].kind != "amounts":
            return array
        return self.remember(("amounts", column), lambda: totals(array, column))

    def owners(self, column: str) -> Ints | None:
        """The row of each item of a column of lists of texts or vectors; None for a column with one item per row."""
        groups = self._vector_groups(column) if COLUMNS[column].kind == "vectors" else self.text(column).groups
        if groups is None:
            return None
        return self.remember(("owners", column), lambda: np.repeat(np.arange(self.n_rows), np.diff(groups)))

    def _vector_groups(self, column: str) -> Ints | None:
        """The vectors of each row in a column of lists of vectors; None for a column with one vector per row."""
        array = self.columns[column]
        if not (is_list(array.type) and is_list(array.type.value_type)):
            return None
        sizes = numpy_values(pc.list_value_length(array), null=0)
        return self.remember(("groups", column), lambda: np.concatenate([[0], np.cumsum(sizes)]))

    def present(self, column: str) -> Flags:
        """Whether each row has a value: not null, a list not empty, amounts without null."""

        def look() -> Flags:
            of_ids = pa.types.is_integer(self.columns[column].type)  # some metrics accept integer ids instead of text
            if COLUMNS[column].kind in ("text", "texts") and not of_ids:
                text = self.text(column)
                return text.valid if text.groups is None else text.valid & (np.diff(text.groups) > 0)
            valid: Flags = numpy_values(self._amounts(column).is_valid())
            groups = self._vector_groups(column) if COLUMNS[column].kind == "vectors" else None
            return valid if groups is None else valid & (np.diff(groups) > 0)

        return self.remember(("present", column), look)


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
