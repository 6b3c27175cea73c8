"""The primary table of a RAG evaluation: a line of figures for each run, over the rows that the runs share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import Grid, ShownSequence, number
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.results.open_runs import are_several, open_runs
from fastmetrics.results.pairing import PairedRuns, pair_runs
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.summary import Summary, summaries_of
from fastmetrics.stats.sums import exact_mean

PRIMARY: Mapping[str, Sequence[str]] = {
    "Faithfulness": ("judge_answer_faithfulness.mean", "overlap_faithfulness.mean"),
    "Overlap": ("grounding_overlap.mean",),
    "F1": ("token_f1.mean",),
    "Tokens": ("total_tokens.mean",),
    "Latency": ("latency_ms.p50",),
    "Abstain Rate": ("abstained.mean",),
}
"""The columns of the RAG project's primary table, each with its candidate figures; the first that a run has is used."""

APPENDIX: Mapping[str, Sequence[str]] = {"Avg EM": ("exact_match(tokenizer='plain').mean",)}
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


def _figure(name: str, value: float) -> str:
    """A figure; tokens and milliseconds with one decimal."""
    return f"{value:,.1f}" if name in ("Tokens", "Latency") and not math.isnan(value) else number(value)


@dataclass(frozen=True)
class PrimaryTable(ShownSequence[PrimaryRow], of="rows"):
    """The primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate; and its
    appendix, Avg EM."""

    rows: Sequence[PrimaryRow]
    notes: Sequence[str] = ()
    """How the rows of several runs are paired."""

    def grids(self) -> list[Grid]:
        """The table, then the appendix if any run has one of its figures."""
        detailed = any(name in row.sources for row in self.rows for name in APPENDIX)
        return [self._grid("run", PRIMARY), *([self._grid("appendix", APPENDIX)] if detailed else [])]

    def _grid(self, head: str, columns: Iterable[str]) -> Grid:
        """A table of these figures; the number of rows has a star if one of them is over fewer, or the run has more."""
        names = list(columns)
        lines = []
        for row in self.rows:
            star = "*" if row.n_other or any(row.scored.get(name, row.n) < row.n for name in names) else ""
            lines.append((row.run, number(row.n) + star, *(_figure(name, row.figures[name]) for name in names)))
        return Grid((head, "N", *names), lines)

    def remarks(self) -> Sequence[str]:
        """The metric of each column, and the columns without values."""
        behind = {
            name: dict.fromkeys(row.sources[name] for row in self.rows if name in row.sources) for name in _COLUMNS
        }
        described = [f"{name} = {' or '.join(sources)}" for name, sources in behind.items() if sources]
        absent = [
            f"{name} needs {_COLUMNS[name][-1].partition('.')[0]}" for name, sources in behind.items() if not sources
        ]
        filled = ", ".join(described)
        some = [
            f"{name} {row.scored[name]:,} of {row.n:,} ({row.run})"
            for row in self.rows
            for name in row.scored
            if row.scored[name] < row.n
        ]
        starred = [f"* over the rows with a score: {', '.join(some)}"] if some else []
        return [*self.notes, *starred, filled, *([f"not scored: {', '.join(absent)}"] if absent else [])]

    def to_arrow(self) -> pa.Table:
        """One row per run: ``run``, ``N`` and a column for each figure, null where the run has none."""
        columns: dict[str, Any] = {"run": [row.run for row in self.rows], "N": [row.n for row in self.rows]}
        for name in _COLUMNS:
            figures = [row.figures[name] for row in self.rows]
            columns[name] = pa.array([None if math.isnan(figure) else figure for figure in figures], pa.float64())
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": [{"run", "N", …}, …]}``: a number, or None without scores, for each column of both tables."""
        return {"runs": self.to_arrow().to_pylist()}


def primary_table(runs: Any) -> PrimaryTable:
    """The primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency and Abstain Rate.

    N is the number of rows.  Of several runs, it counts the rows that all of them have, paired by id, and a figure is
    over those of these rows where every run that has the figure has a score; runs that cannot be paired have the
    figures of their own rows.  A star marks runs with other rows, and notes say how many.

    Faithfulness, from 0 to 1, is the mean of ``judge_answer_faithfulness``, or of ``overlap_faithfulness`` without a
    judge (``judge_faithfulness``, from 1 to 5, is on another scale).  Overlap is the mean of ``grounding_overlap``, F1
    of ``token_f1``, Tokens of ``total_tokens``.  Latency is the median of ``latency_ms``, Abstain Rate the share of
    rows that ``abstained``.  The appendix, printed if it was scored, has Avg EM, the mean of
    ``exact_match(tokenizer='plain')``.  A figure whose metric was not scored is NaN, printed as –.  ``runs`` is as in
    :func:`fastmetrics.results.summary.side_by_side`, or a single run.

    >>> import fastmetrics as fm
    >>> table = fm.results.primary_table({"new": {"token_f1": [0.5, 0.7], "latency_ms": [120.0, 180.0]}})
    >>> table[0].n, table[0].figures["F1"], table[0].figures["Latency"]
    (2, 0.6, 150.0)

    Raises ``InputError`` for no run, ``ColumnError`` if no run has any of these scores.  Source: the RAG project.
    """
    opened = open_runs(runs if are_several(runs) else [runs], least=1)
    loaded = [run.by_column([*run.summed_columns, *run.keys()]) for run in opened]
    return primary_of(summaries_of(loaded), loaded)


def primary_of(summaries: Mapping[str, Summary], runs: Sequence[ScoreRun] = ()) -> PrimaryTable:
    """The primary table from summaries, and over paired rows if there are several runs.

    Raises ``ColumnError`` if no run has any of its scores.
    """
    rows = [_primary(name, summary) for name, summary in summaries.items()]
    if not any(name in row.sources for row in rows for name in PRIMARY):
        needed = ", ".join(source.partition(".")[0] for sources in PRIMARY.values() for source in sources)
        raise ColumnError(f"the primary table needs {needed}; no run has any of them: score them first")
    return PrimaryTable(*_over_shared_rows(rows, runs)) if len(runs) > 1 else PrimaryTable(rows)


def _over_shared_rows(rows: Sequence[PrimaryRow], runs: Sequence[ScoreRun]) -> tuple[Sequence[PrimaryRow], list[str]]:
    """The figures over the rows that the runs share, with notes; unchanged if rows cannot be paired."""
    try:
        paired = pair_runs(runs, None, allow=True, repeats=True)
    except (ColumnError, InputError):  # no ids, duplicate ids or none in common
        return rows, ["rows cannot be paired by id, so each figure is over the run's own"]
    shared = np.stack(paired.rows).min(axis=0) >= 0
    figures: list[dict[str, float]] = [dict(row.figures) for row in rows]
    scored: list[dict[str, int]] = [dict(row.scored) for row in rows]
    for column in _COLUMNS:
        having = [at for at, row in enumerate(rows) if column in row.scored]
        values = {at: _placed(paired, at, rows[at].sources[column])[shared] for at in having}
        complete = np.isfinite(np.stack(list(values.values()))).all(axis=0) if having else shared[:0]
        for at in having:
            some = values[at][complete]
            is_median = rows[at].sources[column].endswith(".p50")
            figures[at][column] = (float(np.median(some)) if len(some) else math.nan) if is_median else exact_mean(some)
            scored[at][column] = len(some)
    count = int(shared.sum())
    lines = [
        replace(row, n=count, figures=figures[at], scored=scored[at], n_other=int((paired.rows[at] >= 0).sum()) - count)
        for at, row in enumerate(rows)
    ]
    more = [f"{row.run} {row.n_other:,}" for row in lines if row.n_other]
    notes = [f"figures over the {count:,} rows that all runs have; other rows: {', '.join(more)}"] if more else []
    return lines, [*notes, *(repeated.describe() for repeated in paired.repeated if repeated is not None)]


def _placed(paired: PairedRuns, run: int, source: str) -> Floats:
    """The scores of a figure's metric in the common order, NaN for rows that the run lacks."""
    rows = paired.rows[run]
    placed = np.full(paired.n, np.nan)
    placed[rows >= 0] = paired.runs[run].values(source.rpartition(".")[0])[rows[rows >= 0]]
    return placed


def _primary(name: str, summary: Summary) -> PrimaryRow:
    """The figures of one run; a metric without a value in any row counts as not scored."""
    flat = summary.unlabelled
    sources = {
        column: next((name for name in candidates if not math.isnan(flat.get(name, math.nan))), None)
        for column, candidates in _COLUMNS.items()
    }
    defined = {column: source for column, source in sources.items() if source is not None}
    figures = {column: flat[defined[column]] if column in defined else math.nan for column in _COLUMNS}
    metrics = {column: summary.metrics.get(source.rpartition(".")[0]) for column, source in defined.items()}
    scored = {column: metric.n for column, metric in metrics.items() if metric is not None}
    return PrimaryRow(name, summary.n_rows, figures, defined, scored)
