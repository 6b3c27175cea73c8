"""How a metric is declared: once, as a decorated function that says everything the rest of the package asks.

The parameters' names are the input columns, their annotations the representation the formula needs, keyword-only
parameters its options; the decorator adds level, bounds and source.  Called with raw columns the metric converts them;
called by ``score`` it gets what the batch already holds.
"""

from __future__ import annotations

import importlib
import inspect
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fastmetrics.columns import COLUMNS
from fastmetrics.core.allowed_values import Allowed, of_hint, option
from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.cautions import Caution
from fastmetrics.declaration.representations import Need, Options
from fastmetrics.errors import UnknownNameError

Side: TypeAlias = Literal["higher", "lower"]
Better: TypeAlias = Side | None
"""Which scores are the better ones; None where the value by itself says nothing of quality."""


@dataclass(frozen=True)
class Metric:
    """What a declaration says."""

    name: str
    function: Callable[..., Any]
    level: str
    bounds: tuple[float, float]
    better: Better
    source: str
    needs: Mapping[str, Need]
    optional: frozenset[str]
    defaults: Mapping[str, Any]
    allowed: Mapping[str, Allowed]
    statistics: tuple[str, ...]
    labels: Mapping[str, str]
    check: Callable[..., None] | None
    prepare: Callable[[Batch, Options], Batch] | None
    best_by: Callable[..., Floats] | None = None
    grouped: bool = False
    usual: bool = True
    finish: Callable[..., Any] | None = None
    fit: Callable[[Iterable[Batch], Options], Options] | None = None
    aliases: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    caution: Callable[[Options], Caution | None] = lambda options: None

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        """Other processes find the declaration by its name, in its module."""
        return _declared, (self.function.__module__, self.name)

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which there is no score."""
        return tuple(column for column in self.needs if column not in self.optional)

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The other names by which it may be asked for."""
        return tuple(dict.fromkeys([*self.labels.values(), *self.aliases]))

    def options(self, given: Options) -> dict[str, Any]:
        """All options: those ``given`` over the defaults.

        Raises ``UnknownNameError`` for an option the metric has not, ``OptionError`` for a value it cannot take.
        """
        merged = dict(self.defaults)
        for name, value in given.items():
            if name not in self.defaults:
                raise UnknownNameError.of(f"option of {self.name}", name, self.defaults)
            value = os.fspath(value) if isinstance(value, os.PathLike) else value
            merged[name] = option(self.name, name, value, self.allowed[name])
        if self.check is not None:
            self.check(**merged)
        return merged

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """One score a row, and whether the row had all it takes; the score of a row that had not is NaN."""
        scores, present = self._call(batch, options)
        return np.where(present, scores, np.nan), present

    def count(self, batch: Batch, options: Options) -> Ints:
        """What the rows of a batch that have all it takes add to the counts of a corpus metric."""
        counts, present = self._call(batch, options)
        return counts[present].sum(axis=0)

    def cautioned(self, batch: Batch, options: Options) -> list[int] | None:
        """How many rows the metric's caution speaks of, and how many have all it takes; None without a caution."""
        caution = self.caution(options)
        if caution is None:
            return None
        batch, columns, present = self._ready(batch, options)
        return caution.count(batch, options, columns, present)

    def _ready(self, batch: Batch, options: Options) -> tuple[Batch, list[str], Flags]:
        """The batch to read, the columns it has of those needed, and whether each row has all it takes."""
        if self.prepare is not None:
            batch = self.prepare(batch, options)
        columns = [column for column in self.needs if column in batch.columns]
        present = np.ones(batch.n_rows, np.bool_)
        for column in columns:
            if column not in self.optional:
                present = present & batch.present(column)
        return batch, columns, present

    def _call(self, batch: Batch, options: Options) -> tuple[Any, Flags]:
        """What the function makes of the rows, and whether each had all it takes."""
        batch, columns, present = self._ready(batch, options)
        owner = batch.owners("reference") if "reference" in columns and not self.grouped else None
        arguments = {column: _aligned(batch, column, self.needs[column], options, owner) for column in columns}
        scores = self.function(**arguments, **options)
        if owner is not None:
            if self.best_by is not None:
                merit = self.best_by(**arguments, **options)
            else:
                merit = -scores if self.better == "lower" else scores
            scores = _best(scores, merit, owner, batch.n_rows)
        return scores, present


def _aligned(batch: Batch, column: str, need: Need, options: Options, owner: Ints | None) -> Any:
    value = need.of(batch, column, options)
    if owner is None or column == "reference":
        return value
    # the pair keeps ``value`` alive, so that its id stays its own
    return batch.remember(("aligned", id(value)), lambda: (value, value.take(owner)))[1]


def _best(scores: Floats, merit: Floats, owner: Ints, n_rows: int) -> Floats:
    """The score of each row's first reference of highest defined merit."""
    highest = np.full(n_rows, np.nan)
    np.fmax.at(highest, owner, merit)
    best = np.flatnonzero(merit == highest[owner])[::-1]
    chosen = np.full(n_rows, np.nan)
    chosen[owner[best]] = scores[best]
    return chosen


def metric(
    *,
    level: str = "row",
    bounds: tuple[float, float],
    better: Better,
    source: str,
    statistics: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    check: Callable[..., None] | None = None,
    prepare: Callable[[Batch, Options], Batch] | None = None,
    best_by: Callable[..., Floats] | None = None,
    grouped: bool = False,
    usual: bool = True,
    name: str | None = None,
    finish: Callable[..., Any] | None = None,
    fit: Callable[[Iterable[Batch], Options], Options] | None = None,
    aliases: Sequence[str] = (),
    cues: Sequence[str] = (),
    caution: Callable[[Options], Caution | None] = lambda options: None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as a metric; ``fastmetrics.<name>`` then calls it with raw columns.

    ``better`` says which scores are the better ones, ``"higher"`` or ``"lower"``; None if a score alone does not tell.
    ``statistics`` are what a summary adds to mean, std, min and max (``"p50"``, …); ``labels`` are the sources' own
    names for summary values; ``check`` is called with all options, each of which is what its annotation allows, and
    raises ``OptionError`` for those that it refuses together;
    ``prepare`` may replace the batch before its columns are read.

    Of several references the one with the best score counts, or the first one of highest ``best_by``, which is
    called as the function is; a ``grouped`` function sees all references of a row together and gives one score a row.
    A metric that is not ``usual`` is computed only when asked for by name.  ``name`` is for one that Python could not
    call so.  The function of a corpus metric gives one row of whole numbers a row; ``finish`` is called with their
    sums and all options, and returns an object whose ``score`` is the metric's value.  ``fit`` makes of all batches the
    options to score each with; it reads no batch if the options given need none.

    ``aliases`` are other names of the very same number, by which it may be asked for, as it may by its labels.
    ``cues`` are names that do not say which of several metrics is meant, or are those of something similar: an error
    suggests this metric.  ``caution`` says of given options what readers of the scores must know of some rows.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        needs, optional, defaults, allowed = _read(function)
        declared = Metric(
            name=name or function.__name__,
            function=function,
            level=level,
            bounds=bounds,
            better=better,
            source=source,
            needs=needs,
            optional=optional,
            defaults=defaults,
            allowed=allowed,
            statistics=tuple(statistics),
            labels=dict(labels or {}),
            check=check,
            prepare=prepare,
            best_by=best_by,
            grouped=grouped,
            usual=usual,
            finish=finish,
            fit=fit,
            aliases=tuple(one for one in aliases if one != (name or function.__name__)),
            cues=tuple(cues),
            caution=caution,
        )
        REGISTRY[declared.name] = declared
        for spelling in (declared.name, *declared.aliases, *declared.labels.values()):
            SPELLINGS[spelling] = declared.name

        return function

    return declare


REGISTRY: dict[str, Metric] = {}
"""Every metric declared so far, by name; ``fastmetrics.metrics`` declares them all."""

SPELLINGS: dict[str, str] = {}
"""The metric that each name, alias and label stands for."""


def _declared(module: str, name: str) -> Metric:
    importlib.import_module(module)
    return REGISTRY[name]


def _read(
    function: Callable[..., Any],
) -> tuple[dict[str, Need], frozenset[str], dict[str, Any], dict[str, Allowed]]:
    """The columns a function needs, those it can do without, its options' defaults, and what is allowed of them."""
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
    return needs, frozenset(optional), defaults, {name: of_hint(hints[name]) for name in defaults}


def _need(hint: Any) -> Need:
    for candidate in (hint, *typing.get_args(hint)):
        if hasattr(candidate, "__metadata__"):
            return candidate.__metadata__[0]
    raise TypeError(f"expected an Annotated representation, got {hint}")
