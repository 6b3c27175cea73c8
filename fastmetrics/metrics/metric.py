"""Declaration of a metric: one decorated function, from which the rest of the package reads everything."""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.errors import ColumnError, PluginError, UnknownNameError, either, nearest, shown
from fastmetrics.base.options import Allowed, Optional, option
from fastmetrics.base.plugin_files import LOADED, execute
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.specs import Better
from fastmetrics.metrics.batch import Batch, Caution, Need, Options, Unread, apart
from fastmetrics.metrics.parameters import Either, aligned, best_of, column_of_items, declare_columns, parameters
from fastmetrics.text.extraction import Extractors
from fastmetrics.text.normalization import Steps

# The documents that metrics come from, by the short names that definitions use.


SOURCES = {
    "S0": (
        "the QA framework",
        "*Metrics and Mathematical Foundations*, the scoring methods of a framework for question-answering bots",
    ),
    "S1": ("the RAG project", "*Core Evaluation Metrics Explained*, the metrics of a RAG project (2025)"),
    "S2": (
        "the RAG benchmark",
        "*Научное описание метрик бенчмарков RAG-системы*, the benchmarks of the system «Вопрошалыч»",
    ),
    "S3": (
        "the answer checks",
        "*Evaluation Criteria & Scoring Logic*, reference-free checks of an assistant's answers",
    ),
    "S4": ("the writing guide", "*LLM Lab – Quality Metrics Documentation*, five metrics of writing quality"),
}
"""What users read for the short name of a source, and what it is; others are papers or packages, named in full."""


def in_words(source: str) -> str:
    """A metric's source for users, with words instead of short names.

    >>> in_words("S1, F1 score; Sclar 2024")
    'the RAG project, F1 score; Sclar 2024'
    """
    return re.sub(rf"\b({'|'.join(SOURCES)})\b", lambda short: SOURCES[short[0]][0], source)


# Formulas of corpus metrics over summed counts: for one set of sums, and for the many sums of resampling.


@dataclass(frozen=True)
class Formula:
    """A ``finish`` with a vectorised form: ``of_many`` gives the score of ``of`` for each row of sums."""

    of: Callable[..., Any]
    of_many: Callable[..., Floats]

    def __call__(self, sums: Sequence[int], **options: Any) -> Any:
        """The result of the metric for one set of sums."""
        return self.of(sums, **options)


def values_of(metric: Metric, sums: Ints, options: Options) -> Floats:
    """The values of a corpus metric, one per row of sums."""
    assert metric.corpus is not None
    finish = metric.corpus.finish
    if isinstance(finish, Formula):
        return finish.of_many(sums, **metric.own(options))
    return np.array([float(finish(row, **metric.own(options)).score) for row in sums.tolist()])


# Checks of what a declaration says to the readers of a metric's scores.


OWN_NAME = "name"
"""The option of every metric that names its column."""


def check_meaning(name: str, bounds: Any, better: Any, reading: Any, options: Iterable[str]) -> None:
    """Raise ``PluginError`` for a direction, bounds or a reading that no reader could use, or a reserved option."""
    if better not in ("higher", "lower", None):
        near = nearest(better, ("higher", "lower")) if isinstance(better, str) else []
        meant = f"; did you mean {either(near)}?" if near else ""
        raise PluginError(f"metric {name!r}: better={shown(better)}: expected 'higher', 'lower' or None{meant}")
    if not (_are_numbers(bounds) and len(bounds) == 2 and bounds[0] < bounds[1]):
        raise PluginError(
            f"metric {name!r}: bounds={shown(bounds)}: expected the smallest and the largest score, as in (0, 1), "
            "or (0, float('inf')) without a largest one"
        )
    if reading is not None:
        _check_reading(name, better, reading)
    if OWN_NAME in options:
        raise PluginError(f"metric {name!r}: an option cannot be called {OWN_NAME!r}, which names the score column")


def _check_reading(name: str, better: Any, reading: Any) -> None:
    means = [mean for mean in reading if mean is not None] if isinstance(reading, tuple | list) else []
    if better is None or len(reading) != 2 or reading[0] is None or not _are_numbers(means):
        raise PluginError(
            f"metric {name!r}: reading={shown(reading)}: expected the means that are good and poor, as in (0.9, 0.5) "
            "or (0.9, None), of a metric with a direction"
        )
    if len(means) == 2 and (means[0] > means[1]) != (better == "higher"):
        raise PluginError(f"metric {name!r}: reading={shown(reading)}: {better} is better, but the poor mean is better")


def _are_numbers(values: Any) -> bool:
    return isinstance(values, tuple | list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) for value in values
    )


# The labels of a metric: the source's names for the figures of its summary.


AT_K = "@k"
"""The end of a label that applies with a cut-off only."""


class Label(NamedTuple):
    """A label: the options that it belongs to, as in a spec (empty for the defaults), its statistic, and the name."""

    options: str
    statistic: str
    name: str


def labelled(labels: Mapping[str, str]) -> list[Label]:
    """The labels of a declaration.

    >>> labelled({"mean": "mrr", "(k=3).mean": "mrr3"})
    [Label(options='', statistic='mean', name='mrr'), Label(options='(k=3)', statistic='mean', name='mrr3')]
    """
    return [Label(*key.rpartition(".")[::2], name) for key, name in labels.items()]


def typed(labels: Mapping[str, str]) -> list[str]:
    """The labels that can be typed where names of metrics are expected: of default options, without spaces.

    >>> typed({"mean": "mrr", "p50": "P50 Latency (ms)", "(k=3).mean": "mrr3"})
    ['mrr']
    """
    return [label.name for label in labelled(labels) if not label.options and re.fullmatch(r"[\w+-]+(@k)?", label.name)]


def labels_of(labels: Mapping[str, str], options: str) -> dict[str, str]:
    """The labels by statistic of a metric with options, which are written as in its spec.

    With other options than its own a label has them behind it (``mrr@10``), except that a label of certain options does
    not apply to the defaults; a label such as ``recall@k`` applies with a cut-off only.  Labels are thus unique.

    >>> [labels_of({"mean": "mrr", "(k=3).mean": "mrr3"}, options) for options in ("@10", "(k=3)", "(k=4)")]
    [{'mean': 'mrr@10'}, {'mean': 'mrr3'}, {'mean': 'mrr(k=4)'}]
    """
    by_statistic: dict[str, str] = {}
    if options == "()":  # no name of a run's score
        return by_statistic
    for label in sorted(labelled(labels), key=lambda label: (label.options != options, label.options != "")):
        if label.options == options or options:
            name = label.name if label.options == options else label.name.removesuffix(AT_K) + options
            if not label.name.endswith(AT_K) or options.startswith("@"):
                by_statistic.setdefault(label.statistic, name)
    return by_statistic


def described(labels: Mapping[str, str], quote: str = "") -> list[str]:
    """A line for each label.

    >>> described({"(k=3).mean": "mrr3"}, "`")
    ['in a summary, its mean is also `mrr3` with `k=3`']
    """
    return [
        f"in a summary, its {label.statistic} is also {quote}{label.name}{quote}"
        + (f" with {quote}{label.options[1:-1]}{quote}" if label.options else "")
        for label in labelled(labels)
    ]


# The options of how texts are read, which all metrics of texts have.


class TextOption(NamedTuple):
    """What an option allows, and what it is for."""

    allowed: Allowed
    description: str


TEXT_OPTIONS = {
    "extract": TextOption(Optional(Extractors()), "where the answer stands in its text: the first that finds one"),
    "normalize": TextOption(Optional(Steps()), "in what spelling texts are compared"),
}
"""The options of metrics that read answers, and of those that read any text: of a run, or of one metric."""


# Groups of a metric's hooks: how its function gets the rows, and how the value of a whole table is computed.


@dataclass(frozen=True)
class RowHooks:
    """How a metric's function gets the rows of a batch."""

    prepare: Callable[[Batch, Options], Batch] | None = None
    """Replaces the batch before its columns are read."""
    fit: Callable[[Iterable[Batch], Options], Options] | None = None
    """Computes from all batches the options that each is scored with; reads no batch if the given options suffice."""
    either: Either | None = None
    """Sets of optional columns of which at least one must be complete."""
    grouped: bool = False
    """Whether the function sees all references of a row together and returns one score a row."""
    best_by: Callable[..., Floats] | None = None
    """Ranks the references of a row, called as the function is; by default the best score counts."""
    needed: Callable[[Options], Collection[str]] | None = None
    """The optional columns that these options make necessary."""


@dataclass(frozen=True)
class Corpus:
    """How a corpus metric, which has one value a table, is computed from what its function returns for each row."""

    finish: Callable[..., Any]
    """Called with the sums of the rows' counts and all options; the ``score`` of what it returns is the value."""
    over: Callable[[Options], tuple[str, ...]] | None = None
    """Names the row metrics whose scores replace the counts; ``finish`` gets a function that reads them."""
    keeps: str | None = None
    """The column in which a run keeps lists of whole numbers that replace the counts, one for all metrics that name it;
    ``finish`` gets a function that reads them."""


@dataclass(frozen=True)
class Explained:
    """Columns of text beside a metric's score: ``score_word`` for the column ``word``."""

    columns: tuple[str, ...]
    texts: Callable[..., Sequence[pa.Array]]
    """Makes the columns; called with the scores, then as the metric's function is."""


# Declaration of a metric: one decorated function, from which the rest of the package reads everything.
#
# The parameters name the input columns, their annotations name the representation, and keyword-only parameters are
# the options; the decorator adds bounds and source.  A metric called with raw columns converts them; called by
# ``score``, it uses the cached data of the batch.


Cautions: TypeAlias = Caution | tuple[Caution, ...] | None
"""The notes on rows that a metric cannot judge well."""


def caution_name(score: str, place: int) -> str:
    """The name under which the rows of a score's caution are counted.

    >>> caution_name("token_f1", 0), caution_name("token_f1", 1)
    ('token_f1', 'token_f1 #2')
    """
    return f"{score} #{place + 1}" if place else score


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
    optional: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    allowed: Mapping[str, Allowed] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    check: Callable[..., None] | None = None
    rows: RowHooks = RowHooks()
    corpus: Corpus | None = None
    usual: bool = True
    aliases: tuple[str, ...] = ()
    cues: Mapping[str, str] = field(default_factory=dict)
    caution: Cautions | Callable[[Options], Cautions] = None
    cannot_read: Callable[[Batch, Options], Iterable[Unread]] | None = None
    reading: Reading | None = None
    explained: Explained | None = None

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        """Other processes find the declaration by name in its module, or run the plugin that declares it."""
        module = self.function.__module__
        if module in LOADED:
            return _of_plugin, (*LOADED[module], self.name)
        if module == "__main__":
            raise PluginError(
                f"metric {self.name!r} is declared in the main program, which workers cannot import: "
                "move it to a file and load the file with fastmetrics.metrics.load_plugin, or --plugin"
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
    def text_options(self) -> Mapping[str, TextOption]:
        """The options of how its texts are read, which all metrics of texts have beside their own."""
        kinds = {column: COLUMNS[column].kind for column in self.needs if column in COLUMNS}
        own = {"extract": "answer" in kinds, "normalize": not {"text", "texts"}.isdisjoint(kinds.values())}
        return {name: option for name, option in TEXT_OPTIONS.items() if own[name]}

    @property
    def accepts(self) -> Mapping[str, Allowed]:
        """What each option allows, its own and those of all metrics of texts."""
        return {**{name: option.allowed for name, option in self.text_options.items()}, **self.allowed}

    def own(self, options: Options) -> Options:
        """The options that its function has, without those of how texts are read."""
        return {name: value for name, value in options.items() if name not in TEXT_OPTIONS}

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The other names of the metric: its aliases, and the labels that can be typed where names are expected."""
        return tuple(dict.fromkeys([*typed(self.labels), *self.aliases]))

    def options(self, values: Options) -> dict[str, Any]:
        """All options: the given ``values`` and the defaults; of how texts are read, only what was given.

        Raises ``UnknownNameError`` for an unknown option, ``OptionError`` for an invalid value.
        """
        merged, accepts = dict(self.defaults), self.accepts if values else {}
        for name, value in values.items():
            if name not in accepts:
                raise UnknownNameError.of(f"option of {self.name}", name, accepts)
            value = os.fspath(value) if isinstance(value, os.PathLike) else value
            merged[name] = option(self.name, name, value, accepts[name])
        if self.check is not None:
            self.check(**self.own(merged))
        return merged

    def compute(self, batch: Batch, options: Options) -> tuple[Floats, Flags]:
        """One score per row, and whether the row is complete; the score of an incomplete row is NaN."""
        scores, present = self._call(batch, options)
        return scores if scores.dtype == np.float64 and present.all() else np.where(present, scores, np.nan), present

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of text beside the score, behind its name."""
        return () if self.explained is None else self.explained.columns

    def texts(self, batch: Batch, options: Options, scores: Floats) -> Sequence[pa.Array]:
        """The columns of text beside the scores, null for a row that lacks an input."""
        assert self.explained is not None
        batch, columns, present = self._ready(batch, options)
        arguments = {column: self.needs[column].of(batch, column, options) for column in columns}
        texts = self.explained.texts(scores, **arguments, **self.own(options))
        return [pc.if_else(pa.array(present), text, None) for text in texts]

    def row_counts(self, batch: Batch, options: Options) -> tuple[Any, Flags, list[Unread]]:
        """Each row's counts or stored data for a corpus metric, whether the row counts, and which are unread."""
        counts, present = self._call(batch, options)
        unread = apart(self.unread(batch, options), present)
        for some in unread:
            present = present if some.scored else present & ~some.rows
        return counts, present, unread

    def unread(self, batch: Batch, options: Options) -> Iterable[Unread]:
        """The rows with a value that the metric, or a reader of its columns, cannot tell."""
        if self.cannot_read is None and not self._readers:
            return
        batch, columns, _ = self._ready(batch, options)
        for column, reader in self._readers:
            if column in columns:
                yield from reader(batch, column, options)
        if self.cannot_read is not None:
            yield from self.cannot_read(batch, options)

    @cached_property
    def _readers(self) -> list[tuple[str, Callable[[Batch, str, Options], Iterable[Unread]]]]:
        """The columns whose representations tell which rows they cannot read."""
        told = ((column, getattr(need, "unread", None)) for column, need in self.needs.items())
        return [(column, reader) for column, reader in told if reader is not None]

    def cautions(self, options: Options) -> tuple[Caution, ...]:
        """The cautions with these options."""
        cautions = self.caution(options) if callable(self.caution) else self.caution
        return () if cautions is None else cautions if isinstance(cautions, tuple) else (cautions,)

    def caution_key(self, options: Options) -> Hashable:
        """Equal for scores whose cautions concern the same rows of each batch; None without cautions to count."""
        cautions = self.cautions(options)
        if all(caution.rows is None for caution in cautions):
            return None
        return cautions, *self.needs, self.optional, self.rows.prepare, self.rows.either, repr(options)

    def cautioned(self, batch: Batch, options: Options) -> dict[int, list[int]]:
        """The numbers of rows that the cautions concern, by their places, and of complete rows."""
        batch, columns, present = self._ready(batch, options)
        scored, counts = int(np.count_nonzero(present)), {}
        for place, caution in enumerate(self.cautions(options)):
            if caution.rows is not None:
                rows = caution.rows(batch, options, columns)
                counts[place] = [0 if rows is None else int(np.count_nonzero(rows & present)), scored]
        return counts

    def _ready(self, batch: Batch, options: Options) -> tuple[Batch, list[str], Flags]:
        """The batch to read, its columns among the needed ones, and whether each row is complete."""
        batch = batch.read(options)
        if self.rows.prepare is not None:
            batch = self.rows.prepare(batch, options)
        columns = [column for column in self.needs if column in batch.columns]
        needed = () if self.rows.needed is None else self.rows.needed(options)
        for column in needed:
            if column not in columns:
                raise ColumnError(
                    f"{self.name} needs the column {column!r} with these options: {COLUMNS[column].meaning}"
                )
        present = batch.complete(tuple([name for name in columns if name not in self.optional or name in needed]))
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
        scores = self.function(**arguments, **self.own(options))
        if owner is not None:
            if self.rows.best_by is not None:
                merit = self.rows.best_by(**arguments, **self.own(options))
            else:
                merit = -scores if self.better == "lower" else scores
            scores = best_of(scores, merit, owner, batch.n_rows)
        return scores, present


def metric(
    *,
    bounds: Annotated[tuple[float, float], Help("The smallest and the largest possible score.")],
    better: Annotated[
        Better,
        Help(
            "The direction of better scores: higher, lower, or None if a score alone does not tell which of "
            "two answers is better."
        ),
    ],
    source: Annotated[str, Help("The origin of the definition.")] = "",
    statistics: Annotated[Sequence[str], Help("Statistics that are added to a summary: p50, sum.")] = (),
    labels: Annotated[
        Mapping[str, str] | None,
        Help('The source\'s names for figures of a summary: ``{"mean": "mrr"}``; ``"recall@k"`` only with a cut-off.'),
    ] = None,
    check: Annotated[
        Callable[..., None] | None,
        Help("A function that receives all options and raises ``OptionError`` for values that do not go together."),
    ] = None,
    rows: Annotated[
        RowHooks | None, Help("How the function receives the rows, a ``fastmetrics.metrics.metric.RowHooks``.")
    ] = None,
    corpus: Annotated[
        Corpus | None, Help("Makes it a metric with one value a table, a ``fastmetrics.metrics.metric.Corpus``.")
    ] = None,
    usual: Annotated[bool, Help("Whether suites contain the metric; if False, it is only computed by name.")] = True,
    name: Annotated[
        str | None, Help("The name of the metric where Python does not allow it as that of a function.")
    ] = None,
    aliases: Annotated[Sequence[str], Help("Other names of the same number, accepted like the labels.")] = (),
    cues: Annotated[
        Sequence[str] | Mapping[str, str],
        Help(
            "Ambiguous or similar names, for which an error suggests this metric; a mapping says how another "
            "package's number differs."
        ),
    ] = (),
    caution: Annotated[
        Cautions | Callable[[Options], Cautions],
        Help(
            "A note on rows that the metric cannot judge well, several in a tuple, or a function of the "
            "options that returns them."
        ),
    ] = None,
    unread: Annotated[
        Callable[[Batch, Options], Iterable[Unread]] | None,
        Help(
            "A function that yields the rows with a value which cannot be told or is out of bounds: they are "
            "undefined, and counted by reason."
        ),
    ] = None,
    reading: Annotated[
        Reading | None,
        Help("The means beyond which a report calls the metric good and poor, ``(0.9, 0.5)``; the second may be None."),
    ] = None,
    columns: Annotated[
        Mapping[str, str] | None,
        Help('The meanings of columns that no other metric reads: {"tools_used": "the tools that were called"}.'),
    ] = None,
    explained: Annotated[
        Explained | None, Help("Columns of text beside the score, a ``fastmetrics.metrics.metric.Explained``.")
    ] = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as a metric; ``fastmetrics.<name>`` then calls it with raw columns.

    The positional parameters name the columns that the function reads; one whose default is None is optional.  The
    keyword-only parameters are options, each with a default, an annotation and perhaps a description: ``Annotated[int,
    "the number of words"]``.  The annotation of a column decides what the function receives:

    - ``str``, ``float``, ``int``, ``bool`` or ``list[...]``: the values of one row.  The function returns a number, or
      None where the score is undefined, at the speed of Python: about a million simple calls a second.
    - ``pyarrow.Array``: whole columns of a batch.  The function returns one number a row, NaN where it is undefined.
    - a representation of this package's own metrics (``fastmetrics.metrics.batch``), which may change.

    Of several references the best score counts, unless ``reference`` is a ``list[str]``.  ``columns`` declares columns
    of your own, each with its meaning; docs/extending.md has more.

    >>> import fastmetrics as fm
    >>> @fm.metric(bounds=(0, 1), better="higher")
    ... def shares_first_word(answer: str, reference: str) -> float:
    ...     return float(answer.split()[:1] == reference.split()[:1])
    >>> fm.score({"answer": ["in Rome", "Rome"], "reference": ["in Paris", None]}, "shares_first_word")[0].to_pylist()
    [1.0, None]
    >>> @fm.metric(bounds=(0, 1), better="higher", columns={"tools_used": "the tools that the system called"})
    ... def searched(tools_used: list[str]) -> float:
    ...     return float("search" in tools_used)
    >>> fm.searched([["search", "answer"], []]).tolist()
    [1.0, 0.0]

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
            cannot_read=unread,
            reading=reading,
            explained=explained,
        )
        _check_free(declared)
        REGISTRY[declared.name] = declared
        SPELLINGS.update(dict.fromkeys((declared.name, *declared.others), declared.name))
        return function

    return declare


REGISTRY: dict[str, Metric] = {}
"""Every declared metric, by name; ``fastmetrics.metrics.suites`` declares the built-in ones."""

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
