"""Summaries of score tables, one by one and side by side."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, floats_of_arrow
from fastmetrics.base.column_names import adds_up, distinct, is_system
from fastmetrics.base.display import Grid, OwnName, ShownMapping, lines_of, number, plain
from fastmetrics.base.drawing import MOST, Forest, Picture, Plotted, left_out
from fastmetrics.base.errors import InputError, OptionError
from fastmetrics.base.notes import Figure, Note, said
from fastmetrics.base.options import by_name
from fastmetrics.base.score_metadata import (
    BatchSums,
    ScoreMetadata,
    UnreadRows,
)
from fastmetrics.plans.corpus_values import columns_of_corpus, finish_all, is_counted
from fastmetrics.plans.notes import notes_of, stored_notes, unread_notes
from fastmetrics.plans.plan import Plan
from fastmetrics.plans.stored_metadata import Declared, merged
from fastmetrics.results.heat_maps import scale_of
from fastmetrics.results.opening_scores import column_of, open_file, open_parts, open_runs, parts_of, pieces_of
from fastmetrics.results.pooled_sums import Sums, pooled_note, pooled_notes, systems_of
from fastmetrics.results.row_groups import Piece, Repeats, RowKeys, added_up, chunks_of
from fastmetrics.results.score_columns import (
    INCLUSION,
    PREDICTED,
    belonging,
    check_bounds,
    check_drawn,
    column_named,
    declared_bounds,
    declared_labels,
    declared_specs,
    declared_statistics,
    has_numbers,
    list_columns,
    stored_declarations,
    unknown_metric,
    with_score_types,
)
from fastmetrics.results.score_table import ScoreTable, infinite_notes
from fastmetrics.stats.attempts import question_scores
from fastmetrics.stats.sampled_means import SampledMean
from fastmetrics.stats.sums import State, exact_mean, named_statistics, read_values
from fastmetrics.tables.opening import is_paths

# Summaries of score tables.


Values: TypeAlias = "Callable[[str], Iterator[Any]]"
"""What gives the values of a column, in pieces."""


_FIGURES = ("mean", "std", "min", "max")
_COUNTS = ("n", "n_missing", "n_undefined", "n_unread", "n_error")


@dataclass(frozen=True)
class MetricSummary:
    """The figures of one metric; ``std`` is that of the population (ddof = 0); figures without values are NaN."""

    mean: float
    std: float
    min: float
    max: float
    n: int
    n_missing: int
    n_undefined: int
    n_unread: int
    """Rows with a value that could not be read, or is out of bounds; not among the undefined ones."""
    n_error: int
    extra: Mapping[str, float] = field(default_factory=dict)
    """Further statistics by name, such as ``p95`` and ``sum``."""
    unread: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By reason, the number of ``rows`` that could not be read, the ``first`` row, and 1 if they are ``scored``."""
    n_not_drawn: int = 0
    """Rows that were not drawn for a score of few rows, whose mean is estimated for all."""

    @classmethod
    def of(
        cls,
        state: State,
        extra: Mapping[str, float],
        unread: Mapping[str, Sequence[int]] | None = None,
        mean: float | None = None,
    ) -> MetricSummary:
        """The figures of the rows accumulated in ``state``, of which some are ``unread``, by reason.

        ``mean`` is that of questions where some have several rows.
        """
        reasons = {
            reason: {"rows": rows, "first": first, "scored": scored}
            for reason, (rows, first, scored) in (unread or {}).items()
        }
        n_unread = sum(some["rows"] for some in reasons.values() if not some["scored"])
        counts = {"n_undefined": state.n_undefined - n_unread, "n_unread": n_unread}
        figures = {name: getattr(state, name) for name in _FIGURES + _COUNTS if name not in counts}
        figures["mean"] = figures["mean"] if mean is None else mean
        return cls(**figures, **counts, extra=dict(extra), unread=reasons)


def _figures(metric: MetricSummary) -> dict[str, Any]:
    drawn = {"n_not_drawn": metric.n_not_drawn} if metric.n_not_drawn else {}
    return {**{key: getattr(metric, key) for key in _FIGURES + _COUNTS}, **drawn, **metric.extra}


@dataclass(frozen=True)
class Summary(ShownMapping[MetricSummary], Plotted, of="metrics"):
    """The figures of each metric, by name; prints as a table."""

    n_rows: int
    metrics: Mapping[str, MetricSummary]
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Corpus metrics, such as ``corpus_bleu``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of statistics: ``{"reciprocal_rank.mean": "mrr"}``."""
    notes: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    """The scored columns, ``{canonical: yours}``, if known."""
    passed_over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The ignored columns that also match a scored column by name."""
    n_rejected: int = 0
    """The rows that scoring rejected: each metric counts them in ``n_error``, and ``n_rows`` does not."""

    def __post_init__(self) -> None:
        """Raise ``OptionError`` if two figures would have the same name."""
        for name, count in Counter([*self.unlabelled, *(label for label, _ in self._labels)]).items():
            if count > 1:
                raise OptionError(f"labels: {count} figures have the name {name!r}; give each a different name")

    @property
    def figures(self) -> dict[str, float]:
        """All statistics by flat name (``token_f1.mean``, ``latency_ms.p95``, ``corpus_bleu``) and label (``mrr``)."""
        flat = self.unlabelled
        return {**flat, **{label: flat[name] for label, name in self._labels}}

    def lacks(self, metric: str) -> bool:
        """Whether rows have no score of a metric, beside those that were not drawn for one."""
        one = self.metrics[metric]
        return one.n_error > 0 or one.n + one.n_not_drawn < self.n_rows

    @property
    def _labels(self) -> list[tuple[str, str]]:
        """The labels of the statistics at hand, each with the statistic's flat name."""
        return [(label, name) for name, label in self.labels.items() if name in self.unlabelled]

    @cached_property
    def unlabelled(self) -> dict[str, float]:
        """All statistics by metric and statistic, without labels: ``reciprocal_rank.mean``."""
        flat = {
            f"{name}.{statistic}": value
            for name, metric in self.metrics.items()
            for statistic, value in [*((f, getattr(metric, f)) for f in _FIGURES), *metric.extra.items()]
        }
        return {**flat, **self.corpus}

    def to_dict(self) -> dict[str, Any]:
        """``{"n_rows", "metrics": {name: {"mean", …, "n_error", "p95", …}}, "figures": {name: value}, …}``.

        It also contains "columns", "passed_over" and "notes", and for a metric "unread", if there are such rows.
        """
        unread = {
            name: {"unread": plain(metric.unread)} if metric.unread else {} for name, metric in self.metrics.items()
        }
        metrics = {name: _figures(metric) | unread[name] for name, metric in self.metrics.items()}
        columns_read = {"columns": dict(self.columns), "passed_over": plain(self.passed_over)}
        return {
            "n_rows": self.n_rows,
            "metrics": metrics,
            "figures": self.figures,
            **columns_read,
            "notes": [*self.notes],
        }

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per metric with its statistics, and one per corpus metric, in the column ``corpus``."""
        rows = [{"metric": name, **_figures(metric)} for name, metric in self.metrics.items()]
        return [*rows, *({"metric": name, "corpus": value} for name, value in self.corpus.items())]

    def record(self) -> Sequence[Figure]:
        """The mean of each metric, and the corpus metrics."""
        return [*super().record(), *itertools.starmap(Figure, self.corpus.items())]

    def picture(self) -> Picture:
        """The means; ``summarize_by`` has their intervals and segments."""
        bounds = declared_bounds(self.metrics, {})
        named = {name: f"{name}, n = {metric.n:,}" for name, metric in self.metrics.items()}
        rows = self.record()[:MOST]
        return Forest(
            rows=[row._replace(figure=named[row.figure], low=row.value, high=row.value) for row in rows],
            scales={title: scale_of(name, bounds) for name, title in named.items()},
            title="means",
            notes=left_out(list(named), "metrics"),
        )

    def remarks(self) -> Sequence[str]:
        """The notes, and the columns that were read."""
        return said(self.notes, self.columns and Note("read", columns=list(map(self._column_text, self.columns))))

    def _column_text(self, column: str) -> str:
        """``reference = gold (not target)``: a column, its name in the table, and the ignored alternatives."""
        user_column, others = self.columns[column], self.passed_over.get(column)
        described = column if user_column == column else f"{column} = {user_column}"
        return f"{described} (not {', '.join(others)})" if others else described

    def grids(self) -> list[Grid]:
        """The metrics, with the counts of rows without a score where there are any, and the other figures."""
        counts = {
            "n_not_drawn": "not drawn",
            "n_missing": "missing",
            "n_undefined": "undef.",
            "n_unread": "unread",
            "n_error": "error",
        }
        shown = [(title, key) for key, title in counts.items() if any(getattr(m, key) for m in self.metrics.values())]
        columns = [(title, f"1.{key}") for title, key in [*zip(_FIGURES, _FIGURES, strict=True), ("n", "n"), *shown]]
        grid = lines_of(self.metrics.items(), "metric=0", *columns)
        of = ("of=2",) if any(flat for *_, flat in self.further) else ()
        return [grid, *([lines_of(self.further, "figure=0", "value=1", *of)] if self.further else [])]

    @property
    def further(self) -> list[tuple[str, float, str]]:
        """The figures beside the usual statistics of metrics: their labels, further statistics, corpus metrics.

        Each has a name, a value, and, for a label, the name of the statistic: ``("mrr", 0.5, "reciprocal_rank.mean")``.
        """
        plain = {f"{name}.{key}" for name in self.metrics for key in _FIGURES}
        return [
            (self.labels.get(flat, flat), value, flat if flat in self.labels else "")
            for flat, value in self.unlabelled.items()
            if flat in self.labels or flat not in plain
        ]


def summarize(
    scores: Any,
    metrics: shared.OnlyMetrics = None,
    *,
    statistics: Mapping[str, Sequence[str]] | None = None,
    labels: Mapping[str, str] | None = None,
    finish: Callable[[str, Sequence[int]], float] | None = None,
) -> Summary:
    """Mean, population standard deviation, extremes and counts of every numeric or boolean column of ``scores``.

    ``scores`` are score files, pooled with notes on their differences, or a table of any kind, or an
    iterable of parts.  The ``id``, the pandas index, and kept columns of integers or booleans are not
    summarised; ``metrics`` chooses some of all, also kept columns of numbers.  Sums are exact and rounded once, so
    any order or split of the rows gives the same bits.

    Null means that an input was missing, NaN that the metric is undefined.  Files store both as null and count them in
    their metadata; if a table no longer has as many rows, every null counts as missing, and a note says so.  Corpus
    metrics are computed from the counts of rows (``keep_counts`` of ``score``), or from their sums in the metadata.

    >>> summary = summarize({"token_f1": [0.5, 1.0, None], "latency_ms": [10.0, 20.0, 40.0]})
    >>> summary["token_f1"].mean, summary["token_f1"].n_missing, summary.figures["latency_ms.p50"]
    (0.75, 1, 20.0)

    ``statistics`` adds the ``sum``, percentiles (``p50``, ``p99.9``: interpolated like ``numpy.percentile``), the
    number of rows with a score in hundredths (``at_50``), or the ``trimmed`` mean of columns, without a tenth of the
    values at each end; ``labels`` further names of statistics.  Both default to the declarations of the metrics.

    Raises ``InputError`` for an unsupported type, ``FileFormatError`` for a file that cannot be read or has no scores,
    ``ColumnError`` if the parts differ in their columns, ``UnknownNameError`` for an unknown metric or statistic, and
    ``OptionError`` for labels that give two figures the same name.
    """
    statistics = None if statistics is None else by_name("statistics", statistics, "lists of statistics")
    labels = None if labels is None else by_name("labels", labels, "names")
    only = distinct(metrics, "metrics")
    options: dict[str, Any] = {"only": only, "statistics": statistics, "labels": labels, "finish": finish}
    if is_paths(scores):
        paths = [scores] if isinstance(scores, str | Path) else scores
        return _of_tables([table for path in paths for table in open_parts(path, only)], **options)
    return _of_pieces(*pieces_of(scores), **options)


def summaries_of(runs: Sequence[ScoreTable], metrics: Sequence[str] = ()) -> dict[str, Summary]:
    """The summary of each opened run, by name; files are not opened again."""
    return {run.name: _of_tables(parts_of(run, metrics), only=metrics) for run in runs}


def _of_tables(tables: Sequence[ScoreTable], **options: Any) -> Summary:
    """The summary of one or several tables, with the notes on several files and the columns that all of them read."""
    rows = [0] * len(tables)

    def pieces() -> Iterator[Piece]:
        for place, table in enumerate(tables):
            rows[place] = 0
            for piece in table.pieces():
                rows[place] += piece.num_rows
                yield piece

    summary = _of_pieces(pieces, True, [], present=[name for table in tables for name in table.columns], **options)
    read = [(table.metadata.columns or {}, table.metadata.passed_over or {}) for table in tables if table.source]
    columns, ignored = read[0] if read and all(each == read[0] for each in read) else ({}, {})
    notes = [*summary.notes, *(pooled_notes(tables, rows) if len(tables) > 1 else [])]
    return replace(summary, notes=notes, columns=columns, passed_over=ignored)


def _of_pieces(
    read: Callable[[], Iterable[Piece]],
    again: bool,
    notes: Sequence[str],
    *,
    present: Sequence[str] = (),
    only: Sequence[str] = (),
    statistics: Mapping[str, Sequence[str]] | None = None,
    labels: Mapping[str, str] | None = None,
    finish: Callable[[str, Sequence[int]], float] | None = None,
) -> Summary:
    """The summary of consecutive pieces, of the metrics ``only`` if there are some.

    Values are held if the pieces cannot be read ``again``.
    """
    sums, start = Sums(notes, only), 0
    held: dict[str, list[Any]] = {}
    for piece in map(with_score_types, read()):
        sums.add(piece)
        present = present or piece.schema.names
        stored = stored_declarations(ScoreMetadata(declared=sums.declared))
        for name, bounds in declared_bounds(sums.states, stored).items():
            check_bounds(piece.column(name), name, bounds, start)
        start += piece.num_rows
        if not again:
            asked = declared_statistics(sums.states, stored) if statistics is None else statistics
            specs = declared_specs(stored)
            corpus = columns_of_corpus(specs.get(name, name) for name in sums.corpus)
            has_ids = ScoreMetadata.of_schema(piece.schema).roles(piece.schema.names)["id"]
            of_rows = sums.states if has_ids else [*sums.added, *sums.drawn]
            of_rows = [*of_rows, *belonging(piece.schema.names)]
            for name in {*(name for name, keys in asked.items() if read_values(keys)), *of_rows, *corpus}:
                held.setdefault(name, []).extend(_values(piece, name))
    sums.close()

    def values(name: str) -> Iterator[Any]:
        return (
            (each for piece in map(with_score_types, read()) for each in _values(piece, name))
            if again
            else iter(held.get(name, ()))
        )

    stored = stored_declarations(ScoreMetadata(declared=sums.declared))
    specs = declared_specs(stored)
    asked = declared_statistics(sums.states, stored) if statistics is None else statistics
    metrics, joined = _metrics(sums.states, sums.added, sums.repeats, values, asked, sums.unread)
    estimated = _estimated(sums, metrics, values, stored)
    metrics |= {name: found for name, (found, _) in estimated.items()}
    if finish is None:
        corpus_values, lost = finish_all(sums.counts, values, [*sums.states, *sums.lists], specs)
    else:
        corpus_values, lost = {name: float(finish(name, counts)) for name, counts in sums.counts.items()}, []
    every = [*metrics, *corpus_values]
    chosen = {column_named(name, every): name for name in only} or dict.fromkeys(every)
    for name in chosen:
        if name not in every:
            raise unknown_metric(name, every, stored, present)
    metrics = {name: metrics[name] for name in chosen if name in metrics}
    corpus_values = {name: corpus_values[name] for name in chosen if name in corpus_values}
    cautions = [
        note
        for settings, counts in sums.cautions
        for note in stored_notes(_of_metrics(counts, chosen, every), settings, specs)
    ]
    notes = [
        *sums.notes,
        *(note for name, (_, note) in estimated.items() if name in chosen),
        *joined,
        *lost,
        *_rows_behind({name: rows for name, rows in sums.rows_behind.items() if name in chosen}, sums.n_rows, specs),
        *unread_notes({name: reasons for name, reasons in sums.unread.items() if name in chosen}, sums.n_rows),
        *cautions,
    ]
    by_label = declared_labels(metrics, stored) if labels is None else dict(labels)
    return Summary(sums.n_rows, metrics, corpus_values, by_label, notes, n_rejected=sums.n_rejected)


def _of_metrics(
    counts: Mapping[str, list[int]], chosen: Collection[str], every: Collection[str]
) -> dict[str, list[int]]:
    """The counts of the cautions of columns, and of some metrics, whose further ones are numbered: ``ndcg@10 #2``."""
    names = {name: name.partition(" #")[0] for name in counts}
    return {name: of for name, of in counts.items() if names[name] in chosen or names[name] not in every}


def _metrics(
    states: Mapping[str, State],
    added: Sequence[str],
    repeats: Repeats | None,
    values: Values,
    statistics: Mapping[str, Sequence[str]],
    unread: UnreadRows,
) -> tuple[dict[str, MetricSummary], list[str]]:
    """The figures of each column, and notes; where several rows answer one question, its mean is over questions.

    Of tokens and prices, which are ``added`` up over the rounds of an answer, all figures are of answers.
    """
    means: dict[str, float] = {}
    summed: dict[str, Floats] = {}
    every = dict(states)
    answers = None if repeats is None else repeats.answers
    for name, state in states.items():
        if repeats is None:
            break
        scores, questions = np.concatenate(list(values(name))), repeats.questions
        if name in added and answers is not None:
            scores = summed[name] = added_up(scores, answers)
            questions = repeats.of_answers
            every[name] = State()
            every[name].add(pa.array(scores, mask=np.isnan(scores)))
            rows = state.n + state.n_missing + state.n_undefined + state.n_error
            every[name].add_errors(max(rows - len(questions), 0))  # rows that are in no column
        means[name] = exact_mean(question_scores(np.where(np.isinf(scores), np.nan, scores), questions).means)
    notes = []
    if summed and answers is not None:
        many = f"{len(answers):,} rows are {int(answers.max()) + 1:,} answers"
        notes.append(f"{', '.join(summed)}: rows of one id are rounds, which add up: {many}")
    metrics = {}
    for name, state in every.items():
        own = partial(lambda name: iter([summed[name]]) if name in summed else values(name), name)
        extra = named_statistics(state, statistics.get(name, ()), own)
        metrics[name] = MetricSummary.of(state, extra, unread.get(name), means.get(name))
    return metrics, [*notes, *infinite_notes({name: state.n_infinite for name, state in states.items()})]


def _estimated(
    sums: Sums, metrics: Mapping[str, MetricSummary], values: Values, stored: Mapping[str, Declared]
) -> dict[str, tuple[MetricSummary, str]]:
    """The figures of columns of which few rows were drawn, as estimated for all rows, each with a note.

    Extremes are those of the drawn rows; percentiles and sums are unknown.  Raises ``InputError`` for several rows of
    one id.
    """
    bounds, estimated = declared_bounds(sums.drawn, stored), {}
    for name in sums.drawn:
        if sums.repeats is not None:
            raise InputError(f"{name} was drawn by rows, but several rows have one id")
        scores, shares = (np.concatenate([*values(name + of)]) for of in ("", INCLUSION))
        predicted = np.concatenate([*values(name + PREDICTED)] or [np.zeros(len(scores))])
        check_drawn("scores", name, shares, scores)
        found = SampledMean.of(np.where(np.isinf(scores), np.nan, scores), shares, predicted, None, bounds.get(name))
        metric = replace(metrics[name], mean=found.value, std=found.deviation, n_missing=found.n_failed, n_undefined=0)
        metric = replace(metric, n_not_drawn=len(shares) - found.n_drawn, extra=dict.fromkeys(metric.extra, math.nan))
        estimated[name] = metric, found.note(name)
    return estimated


def _rows_behind(counted: Mapping[str, int], n_rows: int, specs: Mapping[str, str]) -> list[str]:
    """The notes on corpus metrics that some rows have no part in."""
    names: dict[int, list[str]] = {}
    for name, n in counted.items():
        if n < n_rows and is_counted(specs.get(name, name)):
            names.setdefault(n, []).append(name)
    return [
        f"{', '.join(alike)}: computed from {n:,} of {n_rows:,} rows; the others have no score"
        for n, alike in names.items()
    ]


def _values(piece: Piece, name: str) -> Iterator[Any]:
    """The scores of one column, NaN without a score, or the lists stored in it."""
    lists = name in list_columns(piece.schema)
    if lists or (name in piece.schema.names and has_numbers(piece.schema.field(name).type)):
        for chunk in chunks_of(piece.column(name)):
            yield chunk if lists else floats_of_arrow(chunk, name)


def summary_of_run(
    planned: Plan, observed: Sequence[Mapping[str, Any]], *, rejected: int, output: str | Path | pa.Table
) -> Summary:
    """The summary of a run from the sums of its parts; percentiles and some corpus metrics read its output again.

    The ``output`` of a run in memory is the table of its scores.
    """
    table = output if isinstance(output, pa.Table) else None
    values = partial(column_of, output) if table is None else lambda name: _values(table, name)
    states = merged(observed, planned.names)
    for state in states.values():
        state.add_errors(rejected)
    stored = {score.name: Declared.of_score(score) for score in planned.scores}
    specs, sums = declared_specs(stored), BatchSums.added(observed)
    added = [name for name in states if adds_up(specs.get(name, name))]
    keys, systems = None, dict[tuple[str, str], None]()
    for piece in _keys(output):
        keys = keys or RowKeys(ScoreMetadata.of_schema(piece.schema).roles(piece.schema.names))
        keys.add(piece)
        systems |= dict.fromkeys(systems_of(piece) if any(map(is_system, planned.keep)) else ())
    repeats = None if keys is None else keys.repeats()
    metrics, joined = _metrics(states, added, repeats, values, declared_statistics(states, stored), sums.unread)
    corpus, remarks = finish_all(sums.counts, values, [*planned.names, *planned.kept_columns], specs)
    of_questions = [] if repeats is None else [repeats.note(bool(added))]
    notes = [*pooled_note(systems), *of_questions, *joined, *remarks, *notes_of(planned, sums)]
    n_rows, labels = sum(part["n_rows"] for part in observed), declared_labels(states, stored)
    return Summary(n_rows, metrics, corpus, labels, notes, planned.used_as, planned.passed_over, rejected)


def _keys(output: str | Path | pa.Table) -> Iterable[Piece]:
    """The columns of an output by which its rows are told apart, in pieces."""
    return [output] if isinstance(output, pa.Table) else (file := open_file(output)).batches(file.key_columns)


# Summaries of several runs side by side, metric by metric.


_WIDE = 14
"""Maximum length of a run's name as a column header; longer names are numbered."""


@dataclass(frozen=True)
class SideBySide(ShownMapping[Summary], of="summaries"):
    """The summary of each run, by name; prints a table of means, one line per metric and one column per run."""

    summaries: Mapping[str, Summary]

    @property
    def metrics(self) -> list[str]:
        """All metrics of the runs: row metrics, then corpus metrics."""
        summaries = self.summaries.values()
        return list(
            dict.fromkeys(name for kind in ("metrics", "corpus") for one in summaries for name in getattr(one, kind))
        )

    def _cell(self, run: str, metric: str) -> str:
        summary = self.summaries[run]
        if metric in summary.corpus:
            return number(summary.corpus[metric])
        if metric not in summary.metrics:
            return "–"
        return number(summary.metrics[metric].mean) + "*" * summary.lacks(metric)

    def grids(self) -> list[Grid]:
        """The means by metric and run."""
        names = list(self.summaries)
        long = any(len(name) > _WIDE for name in names)
        header = [str(place) if long else OwnName(name) for place, name in enumerate(names, 1)]
        rows = [(metric, *(self._cell(run, metric) for run in names)) for metric in self.metrics]
        rows.append(("rows", *(number(summary.n_rows) for summary in self.summaries.values())))
        return [Grid(("mean", *header), rows)]

    def remarks(self) -> Sequence[str]:
        """The names of numbered runs, and the meaning of the star."""
        summaries = self.summaries.values()
        numbered = enumerate(self.summaries, 1) if any(len(name) > _WIDE for name in self.summaries) else ()
        starred = any(one.lacks(metric) for one in summaries for metric in one.metrics)
        return said([Note("numbered", n=n, name=name) for n, name in numbered], starred and Note("some_rows"))

    def record(self) -> Sequence[Figure]:
        """The means of each run."""
        return [row._replace(system=name) for name, one in self.summaries.items() for row in one.record()]

    def to_arrow(self) -> pa.Table:
        """The tables of the summaries one below the other, with the name of the run."""
        named = [(name, summary.to_arrow()) for name, summary in self.summaries.items()]
        tables = [table.add_column(0, "run", pa.array([name] * len(table), pa.string())) for name, table in named]
        return pa.concat_tables(tables, promote_options="default")

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": {name: summary}}``, each as in ``Summary.to_dict``."""
        return {"runs": {name: summary.to_dict() for name, summary in self.summaries.items()}}


def side_by_side(runs: Any, *, metrics: shared.OnlyMetrics = None, system: shared.System = None) -> SideBySide:
    """The summaries of several runs side by side; nothing is pooled, and rows are not paired.

    ``runs`` is a list of score files, folders, addresses or tables, or a dict of those by name, or one
    table whose column ``system`` names them; ``metrics`` chooses.  To test whether a difference is significant, use
    :func:`fastmetrics.results.compare.compare`.

    >>> import fastmetrics as fm
    >>> print(fm.results.side_by_side({"old": {"token_f1": [0.5, 0.7]}, "new": {"token_f1": [0.8, None]}}))
    mean         old      new
    token_f1  0.6000  0.8000*
    rows           2        2
    <BLANKLINE>
    * mean over some rows: the other rows have no score

    Raises ``InputError`` for no run, ``FileFormatError`` for a file that cannot be read.
    """
    chosen = distinct(metrics, "metrics")
    return SideBySide(summaries_of(open_runs(runs, system, least=1, asked=chosen), chosen))
