"""Declaration of a metric: one decorated function, from which the rest of the package reads everything.

The parameters name the input columns, their annotations name the representation, and keyword-only parameters are the
options; the decorator adds bounds and source.  A metric called with raw columns converts them; called by ``score``, it
uses the cached data of the batch.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import PluginError, UnknownNameError
from fastmetrics.base.options import Allowed, option
from fastmetrics.base.plugin_files import LOADED, execute
from fastmetrics.base.specs import Better
from fastmetrics.declaration.batch import Batch, Need, Options
from fastmetrics.declaration.cautions import Caution
from fastmetrics.declaration.hooks import Corpus, RowHooks
from fastmetrics.declaration.metric_checks import check_meaning
from fastmetrics.declaration.metric_labels import typed
from fastmetrics.declaration.signature.own_columns import declare_columns
from fastmetrics.declaration.signature.parameters import parameters
from fastmetrics.declaration.signature.references import aligned, best_of, column_of_items

Reading: TypeAlias = tuple[float, float | None]
"""The means beyond which a metric reads as good and as poor; None if no mean reads as poor."""


@dataclass(frozen=True)
class Metric:
    """The declaration of a metric."""

    name: str
    function: Callable[..., Any]
    bounds: tuple[float, float]
    better: Better
    source: str
    needs: Mapping[str, Need]
    optional: frozenset[str]
    defaults: Mapping[str, Any]
    allowed: Mapping[str, Allowed]
    descriptions: Mapping[str, str]
    statistics: tuple[str, ...]
    labels: Mapping[str, str]
    check: Callable[..., None] | None
    rows: RowHooks
    corpus: Corpus | None = None
    usual: bool = True
    aliases: tuple[str, ...] = ()
    cues: Mapping[str, str] = field(default_factory=dict)
    caution: Caution | Callable[[Options], Caution | None] | None = None
    reading: Reading | None = None

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        """Other processes find the declaration by name in its module, or run the plugin that declares it."""
        module = self.function.__module__
        if module in LOADED:
            return _of_plugin, (*LOADED[module], self.name)
        if module == "__main__":
            raise PluginError(
                f"metric {self.name!r} is declared in the main program, which workers cannot import: "
                "move it to a file and load the file with fastmetrics.load_plugin, or --plugin"
            )
        return _declared, (module, self.name)

    @property
    def level(self) -> str:
        """``row`` for one score per row, ``corpus`` for one per table."""
        return "row" if self.corpus is None else "corpus"

    @property
    def keeps(self) -> str | None:
        """The column in which a run stores the data of each row for a corpus metric, if not counts."""
        return None if self.corpus is None else self.corpus.keeps

    @property
    def required(self) -> tuple[str, ...]:
        """The required columns."""
        return tuple(column for column in self.needs if column not in self.optional)

    def reads(self, options: Options) -> tuple[str, ...]:
        """The row metrics whose scores it reads."""
        return () if self.corpus is None or self.corpus.over is None else self.corpus.over(options)

    def all_needs(self) -> list[tuple[str, Need]]:
        """Each column with each representation of it; a metric computed from others may need several of one."""
        return list(self.needs.items())

    def fits(self, columns: Collection[str]) -> bool:
        """Whether the metric can be computed from these columns."""
        return set(self.required) <= set(columns) and (self.rows.either is None or self.rows.either.met_by(columns))

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The other names of the metric: its aliases, and the labels that can be typed where names are expected."""
        return tuple(dict.fromkeys([*typed(self.labels), *self.aliases]))

    def options(self, values: Options) -> dict[str, Any]:
        """All options: the given ``values`` and the defaults.

        Raises ``UnknownNameError`` for an unknown option, ``OptionError`` for an invalid value.
        """
        merged = dict(self.defaults)
        for name, value in values.items():
            if name not in self.defaults:
                raise UnknownNameError.of(f"option of {self.name}", name, self.defaults)
            value = os.fspath(value) if isinstance(value, os.PathLike) else value
            merged[name] = option(self.name, name, value, self.allowed[name])
        if self.check is not None:
            self.check(**merged)
        return merged

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """One score per row, and whether the row is complete; the score of an incomplete row is NaN."""
        scores, present = self._call(batch, options)
        return np.where(present, scores, np.nan), present

    def row_counts(self, batch: Batch, options: Options) -> tuple[Any, Flags]:
        """Each row's counts or stored data for a corpus metric, and whether the row is complete."""
        return self._call(batch, options)

    def caution_with(self, options: Options) -> Caution | None:
        """The caution with these options, if there is one."""
        return self.caution(options) if callable(self.caution) else self.caution

    def cautioned(self, batch: Batch, options: Options) -> list[int] | None:
        """The number of rows affected by the metric's caution, and of complete rows; None without a caution."""
        caution = self.caution_with(options)
        if caution is None or caution.rows is None:
            return None
        batch, columns, present = self._ready(batch, options)
        return caution.count(batch, options, columns, present)

    def _ready(self, batch: Batch, options: Options) -> tuple[Batch, list[str], Flags]:
        """The batch to read, its columns among the needed ones, and whether each row is complete."""
        if self.rows.prepare is not None:
            batch = self.rows.prepare(batch, options)
        columns = [column for column in self.needs if column in batch.columns]
        present = np.ones(batch.n_rows, np.bool_)
        for column in columns:
            if column not in self.optional:
                present = present & batch.present(column)
        if self.rows.either is not None:
            present = present & self.rows.either.rows(batch, options)
        return batch, columns, present

    def _call(self, batch: Batch, options: Options) -> tuple[Any, Flags]:
        """The result of the function for the rows, and whether each row is complete."""
        batch, columns, present = self._ready(batch, options)
        items = None if self.rows.grouped else column_of_items(self.needs, columns)
        owner = None if items is None else batch.owners(items)
        arguments = {
            column: need.of(batch, column, options)
            if owner is None or column == items
            else aligned(batch, column, need, options, owner)
            for column, need in ((column, self.needs[column]) for column in columns)
        }
        scores = self.function(**arguments, **options)
        if owner is not None:
            if self.rows.best_by is not None:
                merit = self.rows.best_by(**arguments, **options)
            else:
                merit = -scores if self.better == "lower" else scores
            scores = best_of(scores, merit, owner, batch.n_rows)
        return scores, present


def metric(
    *,
    bounds: tuple[float, float],
    better: Better,
    source: str = "",
    statistics: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    check: Callable[..., None] | None = None,
    rows: RowHooks | None = None,
    corpus: Corpus | None = None,
    usual: bool = True,
    name: str | None = None,
    aliases: Sequence[str] = (),
    cues: Sequence[str] | Mapping[str, str] = (),
    caution: Caution | Callable[[Options], Caution | None] | None = None,
    reading: Reading | None = None,
    columns: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as a metric; ``fastmetrics.<name>`` then calls it with raw columns.

    The positional parameters name the columns that the function reads (``docs/columns.md``); a column whose default is
    None is optional.  The keyword-only parameters are options, each with a default and an annotation (``int``,
    ``float``, ``str``, ``bool``, or a set of allowed values), and with a description in
    ``Annotated[int, "the number of words"]``.  The annotation of a column decides what the function receives:

    - ``str``, ``float``, ``int``, ``bool`` or ``list[...]``: the values of one row, as Python objects.  The function
      returns a number, or None where the score is undefined.  It runs at the speed of Python: about a million simple
      calls a second.
    - ``pyarrow.Array``: whole columns of a batch of some thousand rows.  The function returns one number a row, NaN
      where the score is undefined.
    - a representation of this package's own metrics (``fastmetrics.declaration.batch``), which may change.

    Rows that lack a column are not scored.  Of several references the best score counts, unless ``reference`` is a
    ``list[str]``, which holds all references of a row.  :func:`fastmetrics.load_plugin` loads a file of such functions.

    >>> import fastmetrics as fm
    >>> @fm.metric(bounds=(0, 1), better="higher")
    ... def shares_first_word(answer: str, reference: str) -> float:
    ...     return float(answer.split()[:1] == reference.split()[:1])
    >>> fm.score({"answer": ["in Rome", "Rome"], "reference": ["in Paris", None]}, "shares_first_word")[0].to_pylist()
    [1.0, None]

    ``columns`` declares columns of your own, each with its meaning; the annotation tells what they hold.  In
    a column of lists, an empty list is a value; ``list`` without an item type takes lists of anything.

    >>> @fm.metric(bounds=(0, 1), better="higher", columns={"tool_calls": "the tools that the system called"})
    ... def searched(tool_calls: list[str]) -> float:
    ...     return float("search" in tool_calls)
    >>> fm.searched([["search", "answer"], []]).tolist()
    [1.0, 0.0]

    Score files store ``bounds``, ``better``, ``source``, ``statistics``, ``labels`` and ``reading``, so their readers
    do not need the declaration.

    Parameters:

    - ``bounds``: The smallest and the largest possible score.
    - ``better``: The direction of better scores: higher, lower, or None if a score alone does not tell which of two
      answers is better.
    - ``source``: The origin of the definition.
    - ``statistics``: Statistics that are added to a summary: p50, sum.
    - ``labels``: The source's names for figures of a summary: ``{"mean": "mrr"}``; ``"recall@k"`` only with a cut-off.
    - ``check``: A function that receives all options and raises ``OptionError`` for values that do not go together.
    - ``rows``: How the function receives the rows, a ``fastmetrics.declaration.hooks.RowHooks``.
    - ``corpus``: Makes it a metric with one value a table, a ``fastmetrics.declaration.hooks.Corpus``.
    - ``usual``: Whether suites contain the metric; if False, it is only computed by name.
    - ``name``: The name of the metric where Python does not allow it as that of a function.
    - ``aliases``: Other names of the same number, accepted like the labels.
    - ``cues``: Ambiguous or similar names, for which an error suggests this metric; a mapping says how another
      package's number differs.
    - ``caution``: A note on rows that the metric cannot judge well, or a function of the options that returns one.
    - ``reading``: The means beyond which a report calls the metric good and poor, ``(0.9, 0.5)``; the second may be
      None.
    - ``columns``: The meanings of columns that no other metric reads: {"tool_calls": "the tools that were called"}.

    Raises ``PluginError`` for a name that is already used or an invalid direction, bounds, reading or column,
    ``UnknownNameError`` for a parameter that is not a column, and ``TypeError`` for an unsupported annotation.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        declare_columns(function, columns or {})
        signature = parameters(function, bounds)
        check_meaning(name or function.__name__, bounds, better, reading, signature.defaults)
        declared = Metric(
            name=name or function.__name__,
            function=signature.call,
            bounds=bounds,
            better=better,
            source=source,
            needs=signature.needs,
            optional=signature.optional,
            defaults=signature.defaults,
            allowed=signature.allowed,
            descriptions=signature.descriptions,
            statistics=tuple(statistics),
            labels=dict(labels or {}),
            check=check,
            rows=replace(rows or RowHooks(), grouped=signature.grouped or (rows is not None and rows.grouped)),
            corpus=corpus,
            usual=usual,
            aliases=tuple(alias for alias in aliases if alias != (name or function.__name__)),
            cues=dict(cues) if isinstance(cues, Mapping) else dict.fromkeys(cues, ""),
            caution=caution,
            reading=reading,
        )
        _check_free(declared)
        REGISTRY[declared.name] = declared
        SPELLINGS.update(dict.fromkeys((declared.name, *declared.others), declared.name))
        return function

    return declare


REGISTRY: dict[str, Metric] = {}
"""Every declared metric, by name; ``fastmetrics.metrics`` declares the built-in ones."""

SPELLINGS: dict[str, str] = {}
"""The name of the metric for each name and other name."""


def _check_free(declared: Metric) -> None:
    """Raise ``PluginError`` if another metric has one of the names; the same metric may be declared again."""
    for spelling in (declared.name, *declared.others):
        other = REGISTRY.get(SPELLINGS.get(spelling, ""))
        if other is not None and (other.name != declared.name or _home(other) != _home(declared)):
            raise PluginError(
                f"metric {declared.name!r}: {spelling!r} is already used by the metric {other.name!r} of {_home(other)}"
                "; choose another name"
            )


def _home(declared: Metric) -> str:
    """The file or module that declares a metric."""
    module = declared.function.__module__
    return LOADED[module][0] if module in LOADED else module


def _declared(module: str, name: str) -> Metric:
    importlib.import_module(module)
    return REGISTRY[name]


def _of_plugin(path: str, text: str, name: str) -> Metric:
    execute(path, text)
    return REGISTRY[name]
