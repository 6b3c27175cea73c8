"""How a metric is declared: once, as a decorated function that says everything the rest of the package asks.

The parameters' names are the input columns, their annotations the representation the formula needs, keyword-only
parameters its options; the decorator adds level, bounds and source.  Called with raw columns the metric converts them;
called by ``score`` it gets what the batch already holds.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from fastmetrics.arrays import Flags, Floats, Ints, Text, Tokens
from fastmetrics.batch import Batch, Numbers
from fastmetrics.columns import COLUMNS
from fastmetrics.errors import OptionError, UnknownNameError
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


@dataclass(frozen=True)
class Metric:
    """What a declaration says."""

    name: str
    function: Callable[..., Floats]
    level: str
    bounds: tuple[float, float]
    source: str
    needs: Mapping[str, Need]
    optional: frozenset[str]
    defaults: Mapping[str, Any]
    statistics: tuple[str, ...]
    labels: Mapping[str, str]
    check: Callable[..., None] | None
    prepare: Callable[[Batch, Options], Batch] | None
    automatic: bool

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which there is no score."""
        return tuple(column for column in self.needs if column not in self.optional)

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    def options(self, given: Options) -> dict[str, Any]:
        """All options: those ``given`` over the defaults.

        Raises ``UnknownNameError`` for an option the metric has not, ``OptionError`` for a value it cannot take.
        """
        for name, value in given.items():
            if name not in self.defaults:
                raise UnknownNameError.of(f"option of {self.name}", name, self.defaults)
            if not _fits(value, self.defaults[name]):
                kind = type(self.defaults[name]).__name__
                raise OptionError(f"{self.name}: option {name!r} expects {kind}, got {value!r}")
        merged = {**self.defaults, **{n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}}
        if self.check is not None:
            self.check(**merged)
        return merged

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """One score a row, and whether the row had all it takes; the score of a row that had not is NaN."""
        if self.prepare is not None:
            batch = self.prepare(batch, options)
        columns = [column for column in self.needs if column in batch.columns]
        present = np.ones(batch.n_rows, np.bool_)
        for column in columns:
            if column not in self.optional:
                present = present & batch.present(column)
        owner = batch.owners("reference") if "reference" in columns else None
        arguments = {column: _aligned(batch, column, self.needs[column], options, owner) for column in columns}
        scores = self.function(**arguments, **options)
        if owner is not None:
            scores = _best(scores, owner, batch.n_rows)
        return np.where(present, scores, np.nan), present


def _fits(value: Any, default: Any) -> bool:
    """Whether an option may have ``value``, by the kind of its default: truth, number, string, list; else anything."""
    if isinstance(default, bool) or isinstance(value, bool):
        return default is None or (isinstance(default, bool) and isinstance(value, bool))
    kinds: tuple[tuple[type, ...], ...] = ((int, float), (str,), (list, tuple))
    kind = next((kind for kind in kinds if isinstance(default, kind)), (object,))
    return isinstance(value, kind)


def _aligned(batch: Batch, column: str, need: Need, options: Options, owner: Ints | None) -> Any:
    value = need.of(batch, column, options)
    if owner is None or column == "reference":
        return value
    # the pair keeps ``value`` alive, so that its id stays its own
    return batch.remember(("aligned", id(value)), lambda: (value, value.take(owner)))[1]


def _best(scores: Floats, owner: Ints, n_rows: int) -> Floats:
    """The highest defined score over each row's references."""
    best = np.full(n_rows, np.nan)
    np.fmax.at(best, owner, scores)
    return best


def metric(
    *,
    level: str = "row",
    bounds: tuple[float, float],
    source: str,
    statistics: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    check: Callable[..., None] | None = None,
    prepare: Callable[[Batch, Options], Batch] | None = None,
    automatic: bool = True,
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Declare the decorated function as a metric and make it callable with raw columns.

    ``statistics`` are what a summary adds to mean, std, min and max (``"p50"``, …); ``labels`` are the sources' own
    names for summary values; ``check`` is called with all options and raises ``OptionError`` for those it refuses;
    ``prepare`` may replace the batch before its columns are read; a metric that is not ``automatic`` is computed only
    where it is asked for by name.
    """

    def declare(function: Callable[..., Floats]) -> Callable[..., Floats]:
        needs, optional, defaults = _read(function)
        declared = Metric(
            name=function.__name__,
            function=function,
            level=level,
            bounds=bounds,
            source=source,
            needs=needs,
            optional=optional,
            defaults=defaults,
            statistics=tuple(statistics),
            labels=dict(labels or {}),
            check=check,
            prepare=prepare,
            automatic=automatic,
        )
        REGISTRY[declared.name] = declared

        @functools.wraps(function)
        def call(*columns: Any, threads: int | None = None, **named: Any) -> Floats:
            from fastmetrics.scoring import score_columns

            given = dict(zip(needs, columns, strict=False))
            if len(columns) > len(needs):
                raise TypeError(
                    f"{declared.name}() takes {len(needs)} columns ({', '.join(needs)}), got {len(columns)}"
                )
            options: dict[str, Any] = {}
            for name, value in named.items():
                (given if name in needs and name not in given else options)[name] = value
            lacking = [column for column in declared.required if column not in given]
            if lacking:
                raise TypeError(f"{declared.name}() needs the columns {', '.join(lacking)}")
            return score_columns(declared, given, options, threads)

        call.__signature__ = _public_signature(declared)  # type: ignore[attr-defined]
        return call

    return declare


REGISTRY: dict[str, Metric] = {}
"""Every metric declared so far, by name; ``fastmetrics.metrics`` declares them all."""


def _read(function: Callable[..., Any]) -> tuple[dict[str, Need], frozenset[str], dict[str, Any]]:
    hints = typing.get_type_hints(function, include_extras=True)
    needs: dict[str, Need] = {}
    optional, defaults = set(), {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            defaults[name] = parameter.default
            continue
        if name not in COLUMNS:
            raise UnknownNameError.of("column", name, COLUMNS)
        needs[name] = _need(hints[name])
        if parameter.default is None:
            optional.add(name)
    return needs, frozenset(optional), defaults


def _need(hint: Any) -> Need:
    for candidate in (hint, *typing.get_args(hint)):
        if hasattr(candidate, "__metadata__"):
            return candidate.__metadata__[0]
    raise TypeError(f"expected an Annotated representation, got {hint}")


def _public_signature(declared: Metric) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    columns = [
        inspect.Parameter(
            column,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None if column in declared.optional else inspect.Parameter.empty,
        )
        for column in declared.needs
    ]
    options = [inspect.Parameter(name, keyword, default=value) for name, value in declared.defaults.items()]
    return inspect.Signature([*columns, *options, inspect.Parameter("threads", keyword, default=None)])
