"""The primary table of a RAG evaluation: a line of figures for each run, over the rows that the runs share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import Grid, ShownSequence, lines_of, number, plain
from fastmetrics.base.drawing import Curves, Panels, Picture, Plotted
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.base.notes import Figure, Note, said
from fastmetrics.results.aligned_scores import align, by_position, units_of
from fastmetrics.results.opening_scores import are_several, open_runs
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.summary import Summary, summaries_of
from fastmetrics.stats.sums import exact_mean, exact_sum

PRIMARY: Mapping[str, Sequence[str]] = {
    "Faithfulness": ("judge_answer_faithfulness.mean", "overlap_faithfulness.mean"),
    "Overlap": ("grounding_overlap.mean",),
    "F1": ("token_f1.mean",),
    "Tokens": ("total_tokens.mean",),
    "Latency": ("latency_ms.p50",),
    "Abstain Rate": ("abstained.mean",),
}
"""The columns of the RAG project's primary table, each with its candidate figures; the first that a run has is used."""

APPENDIX: Mapping[str, Sequence[str]] = {
    "Avg EM": ("exact_match(tokenizer='plain').mean",),
    "IDK+Cit Count": ("idk_citations.sum",),
}
"""The columns that the RAG project leaves for an appendix."""

_COLUMNS = {**PRIMARY, **APPENDIX}


@dataclass(frozen=True)
class PrimaryRow:
    """A run in the primary table; figures without scores are NaN."""

    run: str
    n: int
    figures: Mapping[str, float]
    """Figures by column name of the table."""
    sources: Mapping[str, str]
    """The summary figure in each column: ``{"Latency": "latency_ms.p50"}``."""
    scored: Mapping[str, int]
    """The number of rows behind each figure, fewer than ``n`` where rows have no score."""
    n_other: int = 0
    """The run's rows that another run lacks, which are in no figure."""


@dataclass(frozen=True)
class PairedShares:
    """How many rows of a run are high in both of two figures, in one of them, or in neither.

    Faithful but wrong answers come from bad contexts; answers that are neither are simply wrong.
    """

    run: str
    first: str
    """Faithfulness or Overlap."""
    second: str
    """F1 or Avg EM."""
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """The rows with both scores."""
        return self.both + self.only_first + self.only_second + self.neither


@dataclass(frozen=True)
class AbstentionCost:
    """The tokens (their mean) or milliseconds (their median) of a run's abstentions, and of its answers."""

    run: str
    figure: str
    abstained: float
    n_abstained: int
    answered: float
    n_answered: int


HIGH: Mapping[str, float] = {"Faithfulness": 0.8, "Overlap": 0.5, "F1": 0.5, "Avg EM": 1.0}
"""From which score on a row is high: a fallback Faithfulness of 0.8 is an Overlap of 0.5."""


@dataclass(frozen=True)
class PrimaryTable(ShownSequence[PrimaryRow], Plotted, of="rows"):
    """The primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate; its appendix,
    Avg EM and IDK+Cit Count; and the paired analysis."""

    rows: Sequence[PrimaryRow]
    notes: Sequence[str] = ()
    """How the rows of several runs are paired."""
    paired: Sequence[PairedShares] = ()
    """Faithfulness and Overlap against F1 and Avg EM, over the rows of each run with both scores."""
    abstentions: Sequence[AbstentionCost] = ()
    """Tokens and Latency against Abstain Rate."""

    def grids(self) -> list[Grid]:
        """The table, the appendix if any run has one of its figures, and the paired analysis."""
        return [*self.tables(), *self.analysis()]

    def tables(self) -> list[Grid]:
        """The table, then the appendix if any run has one of its figures."""
        detailed = any(name in row.sources for row in self.rows for name in APPENDIX)
        return [self._grid("run", PRIMARY), *([self._grid("appendix", APPENDIX)] if detailed else [])]

    def analysis(self) -> list[Grid]:
        """The paired analysis: shares of rows that are high in two figures, and the costs of abstentions."""

        def shares(name: str) -> Callable[[PairedShares], float]:
            return lambda one: getattr(one, name) / one.n

        kinds = ("both", "first", "second", "neither")
        columns = [(name, shares(f"only_{name}" if name in ("first", "second") else name)) for name in kinds]
        figures = ("figures", lambda one: f"{one.first}, {one.second}")
        paired = lines_of(self.paired, "paired=run", figures, *columns, "rows=n", labels=2)
        rows = ("abstained", "rows=n_abstained", "answered", "rows=n_answered")
        costs = lines_of(self.abstentions, "paired=run", "figure", *rows, labels=2)
        return [grid for grid in (paired, costs) if grid.rows]

    def picture(self) -> Picture:
        """A curve of each figure over the runs in their order, as over the settings of a gate."""
        runs, places = [row.run for row in self.rows], range(len(self.rows))
        return Panels(
            panels=[
                Curves(curves={"": (places, values)}, axis_names=("", ""), names=runs, title=name)
                for name in PRIMARY
                if np.isfinite(values := [row.figures[name] for row in self.rows]).any()
            ]
        )

    def _grid(self, head: str, columns: Iterable[str]) -> Grid:
        """A table of those of the figures that a run has; the number of rows has a star if one of them is over fewer,
        or the run has more."""
        names = [name for name in columns if any(name in row.sources for row in self.rows)]

        def rows(row: PrimaryRow) -> str:
            starred = row.n_other or any(row.scored.get(name, row.n) < row.n for name in names)
            return number(row.n) + "*" * bool(starred)

        figures = [(name, lambda row, name=name: row.figures[name]) for name in names]
        return lines_of(self.rows, (head, "run"), ("N", rows), *figures)

    def remarks(self) -> Sequence[str]:
        """The metric of each column, and the columns without values."""
        behind = {
            name: dict.fromkeys(row.sources[name] for row in self.rows if name in row.sources) for name in _COLUMNS
        }
        described = [f"{name} = {' or '.join(sources)}" for name, sources in behind.items() if sources]
        absent = [
            Note("needs_metric", name=name, metric=_COLUMNS[name][-1].partition(".")[0])
            for name in behind
            if not behind[name]
        ]
        some = [
            f"{name} {n:,} of {row.n:,} ({row.run})" for row in self.rows for name, n in row.scored.items() if n < row.n
        ]
        return said(
            self.notes,
            some and Note("over_scored", names=some),
            ", ".join(described),
            absent and Note("not_scored", names=absent),
            self.paired and Note("paired_shares", high=[f"{name} {least:g}" for name, least in HIGH.items()]),
        )

    def record(self) -> Sequence[Figure]:
        """The figures of each run."""
        return [
            Figure(name, value, n=row.scored.get(name, row.n), system=row.run)
            for row in self.rows
            for name, value in row.figures.items()
        ]

    def to_arrow(self) -> pa.Table:
        """One row per run: ``run``, ``N`` and a column for each figure, null where the run has none."""
        columns: dict[str, Any] = {"run": [row.run for row in self.rows], "N": [row.n for row in self.rows]}
        for name in _COLUMNS:
            figures = [row.figures[name] for row in self.rows]
            columns[name] = pa.array([None if math.isnan(figure) else figure for figure in figures], pa.float64())
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": [{"run", "N", …}, …], "paired": […], "abstentions": […]}``.

        A run has a number, or None without scores, for each column of both tables.
        """
        return {
            "runs": self.to_arrow().to_pylist(),
            "paired": plain(self.paired),
            "abstentions": plain(self.abstentions),
        }


def primary_table(runs: Any) -> PrimaryTable:
    """The primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency and Abstain Rate.

    N is the number of rows.  Of several runs, it counts the rows that all of them have, paired by id, and a figure is
    over those of these rows where every run that has the figure has a score; runs that cannot be paired have the
    figures of their own rows.  A star marks runs with other rows, and notes say how many.

    Faithfulness, from 0 to 1, is the mean of ``judge_answer_faithfulness``, or of ``overlap_faithfulness`` without a
    judge (that of the rubric ``faithfulness``, from 1 to 5, is on another scale).  Overlap is the mean of
    ``grounding_overlap``, F1 of ``token_f1``, Tokens of ``total_tokens``.  Latency is the median of ``latency_ms``,
    Abstain Rate the share of rows that ``abstained``.  The appendix, printed if it was scored, has Avg EM, the mean of
    ``exact_match(tokenizer='plain')``, and IDK+Cit Count, the sum of ``idk_citations``, which must be 0.  The paired
    analysis tells rows that are faithful to a bad context from those that are simply wrong, and what abstentions cost.
    A figure whose metric was not scored is NaN, printed as –.
    ``runs`` is as in :func:`fastmetrics.results.summary.side_by_side`, or a single run.

    >>> import fastmetrics as fm
    >>> table = fm.results.primary_table({"new": {"token_f1": [0.5, 0.7], "latency_ms": [120.0, 180.0]}})
    >>> table[0].n, table[0].figures["F1"], table[0].figures["Latency"]
    (2, 0.6, 150.0)

    Raises ``InputError`` for no run, ``ColumnError`` if no run has any of these scores.  Source: the RAG project.
    """
    opened = open_runs(runs if are_several(runs) else [runs], least=1)
    loaded = [run.by_column([*run.summed_columns, *run.keys()]) for run in opened]
    return primary_of(summaries_of(loaded), loaded)


def primary_of(summaries: Mapping[str, Summary], runs: Sequence[ScoreTable] = ()) -> PrimaryTable:
    """The primary table from summaries, and over paired rows if there are several runs.

    Raises ``ColumnError`` if no run has any of its scores.
    """
    rows = [_primary(name, summary) for name, summary in summaries.items()]
    if not any(name in row.sources for row in rows for name in PRIMARY):
        needed = ", ".join(source.partition(".")[0] for sources in PRIMARY.values() for source in sources)
        raise ColumnError(f"the primary table needs {needed}; no run has any of them: score them first")
    table = PrimaryTable(*_over_shared_rows(rows, runs)) if len(runs) > 1 else PrimaryTable(rows)
    by_name = {run.name: run for run in runs}
    analysed = [(row, by_name[row.run]) for row in rows if row.run in by_name]
    paired = [shares for row, run in analysed for shares in _shares(row, run)]
    rejected = [Note("of_run", run=run.name, note=note) for run in runs for note in run.rejected_notes]
    return replace(
        table,
        notes=[*table.notes, *rejected],
        paired=paired,
        abstentions=[cost for row, run in analysed for cost in _costs(row, run)],
    )


def _shares(row: PrimaryRow, run: ScoreTable) -> Iterator[PairedShares]:
    """Faithfulness and Overlap of a run against its F1 and Avg EM."""
    values = _values(row, run, HIGH)
    for first, second in itertools.product(("Faithfulness", "Overlap"), ("F1", "Avg EM")):
        if first in values and second in values:
            complete = np.isfinite(values[first]) & np.isfinite(values[second])
            a, b = (values[name][complete] >= HIGH[name] for name in (first, second))
            counts = [int(cell.sum()) for cell in (a & b, a & ~b, ~a & b, ~a & ~b)]
            if sum(counts):
                yield PairedShares(row.run, first, second, *counts)


def _costs(row: PrimaryRow, run: ScoreTable) -> Iterator[AbstentionCost]:
    """Tokens and Latency of a run's abstentions and answers, if it has both."""
    values = _values(row, run, ("Tokens", "Latency", "Abstain Rate"))
    abstained = values.pop("Abstain Rate", np.zeros(0)) == 1
    for figure, costs in values.items():
        if abstained.any() and not abstained.all():
            parts = [costs[rows & np.isfinite(costs)] for rows in (abstained, ~abstained)]
            means = [_typical(row.sources[figure], part) for part in parts]
            yield AbstentionCost(row.run, figure, means[0], len(parts[0]), means[1], len(parts[1]))


def _values(row: PrimaryRow, run: ScoreTable, names: Iterable[str]) -> dict[str, Floats]:
    """The scores of a run's questions behind the figures of these names that it has."""
    try:
        units = units_of(run)
    except InputError:  # an id of several questions: each row is one
        units = by_position([run])
    return {name: units.scores(0, _metric(row.sources[name])) for name in names if name in row.sources}


def _metric(source: str) -> str:
    """The metric of a figure."""
    return source.rpartition(".")[0]


def _typical(source: str, values: Floats) -> float:
    """The mean of values, or the median or sum for a figure that is one."""
    if source.endswith(".sum"):
        return exact_sum(values)
    if source.endswith(".p50"):
        return float(np.median(values)) if len(values) else math.nan
    return exact_mean(values)


def _over_shared_rows(rows: Sequence[PrimaryRow], runs: Sequence[ScoreTable]) -> tuple[Sequence[PrimaryRow], list[str]]:
    """The figures over the rows that the runs share, with notes; unchanged if rows cannot be paired."""
    try:
        paired = align(runs, None, allow=True, repeats=True)
    except (ColumnError, InputError):  # no ids, duplicate ids or none in common
        return rows, [Note("not_paired")]
    shared = np.stack(paired.rows).min(axis=0) >= 0
    figures: list[dict[str, float]] = [dict(row.figures) for row in rows]
    scored: list[dict[str, int]] = [dict(row.scored) for row in rows]
    for column in _COLUMNS:
        having = [at for at, row in enumerate(rows) if column in row.scored]
        metrics = {at: _metric(rows[at].sources[column]) for at in having}
        values = {at: paired.placed(at, paired.runs[at].values(metrics[at]), math.nan)[shared] for at in having}
        complete = np.isfinite(np.stack(list(values.values()))).all(axis=0) if having else shared[:0]
        for at in having:
            some = values[at][complete]
            figures[at][column] = _typical(rows[at].sources[column], some)
            scored[at][column] = len(some)
    count = int(shared.sum())
    lines = [
        replace(row, n=count, figures=figures[at], scored=scored[at], n_other=int((paired.rows[at] >= 0).sum()) - count)
        for at, row in enumerate(rows)
    ]
    more = [f"{row.run} {row.n_other:,}" for row in lines if row.n_other]
    return lines, [
        *said(more and Note("shared_rows", n=count, others=more)),
        *(repeated.describe() for repeated in paired.repeated if repeated is not None),
    ]


def _primary(name: str, summary: Summary) -> PrimaryRow:
    """The figures of one run; a metric without a value in any row counts as not scored."""
    flat = summary.unlabelled
    sources = {
        column: next((name for name in candidates if not math.isnan(flat.get(name, math.nan))), None)
        for column, candidates in _COLUMNS.items()
    }
    defined = {column: source for column, source in sources.items() if source is not None}
    figures = {column: flat[defined[column]] if column in defined else math.nan for column in _COLUMNS}
    metrics = {column: summary.metrics.get(_metric(source)) for column, source in defined.items()}
    scored = {column: metric.n for column, metric in metrics.items() if metric is not None}
    return PrimaryRow(name, summary.n_rows, figures, defined, scored)
