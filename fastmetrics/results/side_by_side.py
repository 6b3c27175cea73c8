"""Summaries of several runs side by side: every metric, or the primary table of a RAG evaluation (S1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.errors import ColumnError
from fastmetrics.results.score_files import summarize_files
from fastmetrics.results.score_runs import are_several, open_runs
from fastmetrics.results.summary import Summary, summarize

_WIDE = 14
"""Maximum length of a run's name as a column header; longer names are numbered."""

PRIMARY: Mapping[str, Sequence[str]] = {
    "Faithfulness": ("judge_answer_faithfulness.mean", "overlap_faithfulness.mean"),
    "Overlap": ("grounding_overlap.mean",),
    "F1": ("token_f1.mean",),
    "Tokens": ("total_tokens.mean",),
    "Latency": ("latency_ms.p50",),
    "Abstain Rate": ("abstained.mean",),
}
"""The columns of S1's primary table, each with its candidate figures; the first that a run has is used."""

APPENDIX: Mapping[str, Sequence[str]] = {"Avg EM": ("exact_match(normalize='plain').mean",)}
"""The columns that S1 leaves for an appendix."""

_COLUMNS = {**PRIMARY, **APPENDIX}


@dataclass(frozen=True)
class SideBySide(Shown, Mapping[str, Summary]):
    """The summary of each run, by name; prints a table of means, one line per metric and one column per run."""

    summaries: Mapping[str, Summary]

    def __getitem__(self, name: str) -> Summary:
        return self.summaries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries)

    def __len__(self) -> int:
        return len(self.summaries)

    @property
    def metrics(self) -> list[str]:
        """All metrics of the runs: row metrics, then corpus metrics."""
        found = self.summaries.values()
        return list(
            dict.fromkeys([*(n for one in found for n in one.metrics), *(n for one in found for n in one.corpus)])
        )

    def _cell(self, run: str, metric: str) -> str:
        one = self.summaries[run]
        if metric in one.corpus:
            return number(one.corpus[metric])
        if metric not in one.metrics:
            return "–"
        return number(one.metrics[metric].mean) + ("*" if one.metrics[metric].n < one.n_rows else "")

    def grids(self) -> list[Grid]:
        """The means by metric and run."""
        names = list(self.summaries)
        long = any(len(name) > _WIDE for name in names)
        header = [str(place) if long else name for place, name in enumerate(names, 1)]
        rows = [(metric, *(self._cell(run, metric) for run in names)) for metric in self.metrics]
        rows.append(("rows", *(number(one.n_rows) for one in self.summaries.values())))
        return [Grid(("mean", *header), rows)]

    def remarks(self) -> Sequence[str]:
        """The names of numbered runs, and the meaning of the star."""
        names = list(self.summaries)
        numbered = any(len(name) > _WIDE for name in names)
        notes = [f"{place}: {name}" for place, name in enumerate(names, 1)] if numbered else []
        starred = any(found.n < one.n_rows for one in self.summaries.values() for found in one.metrics.values())
        return [*notes, *(["* mean over some rows: the other rows have no score"] * starred)]

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": {name: summary}}``, each as in ``Summary.to_dict``."""
        return {"runs": {name: one.to_dict() for name, one in self.summaries.items()}}


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


def _figure(name: str, value: float) -> str:
    """A figure; tokens and milliseconds with one decimal."""
    return f"{value:,.1f}" if name in ("Tokens", "Latency") and not math.isnan(value) else number(value)


@dataclass(frozen=True)
class PrimaryTable(Shown, Sequence[PrimaryRow]):
    """S1's primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate; and its
    appendix, Avg EM."""

    narrow = True

    rows: Sequence[PrimaryRow]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def grids(self) -> list[Grid]:
        """The table, then the appendix if any run has one of its figures."""
        detailed = any(name in one.sources for one in self.rows for name in APPENDIX)
        return [self._grid("run", PRIMARY), *([self._grid("appendix", APPENDIX)] if detailed else [])]

    def _grid(self, head: str, columns: Iterable[str]) -> Grid:
        """A table of these figures; the number of rows has a star if one of them is over fewer."""
        names = list(columns)
        lines = []
        for row in self.rows:
            star = "*" if any(row.scored.get(name, row.n) < row.n for name in names) else ""
            lines.append((row.run, number(row.n) + star, *(_figure(name, row.figures[name]) for name in names)))
        return Grid((head, "N", *names), lines)

    def remarks(self) -> Sequence[str]:
        """The metric of each column, and the columns without values."""
        behind = {
            name: dict.fromkeys(one.sources[name] for one in self.rows if name in one.sources) for name in _COLUMNS
        }
        known = [f"{name} = {' or '.join(sources)}" for name, sources in behind.items() if sources]
        absent = [
            f"{name} needs {_COLUMNS[name][-1].partition('.')[0]}" for name, sources in behind.items() if not sources
        ]
        filled = ", ".join(known)
        some = [
            f"{name} {row.scored[name]:,} of {row.n:,} ({row.run})"
            for row in self.rows
            for name in row.scored
            if row.scored[name] < row.n
        ]
        starred = [f"* over the rows with a score: {', '.join(some)}"] if some else []
        return [*starred, filled, *([f"not scored: {', '.join(absent)}"] if absent else [])]

    def to_arrow(self) -> pa.Table:
        """One row per run: ``run``, ``N`` and a column for each figure, null where the run has none."""
        columns: dict[str, Any] = {"run": [one.run for one in self.rows], "N": [one.n for one in self.rows]}
        for name in _COLUMNS:
            figures = [one.figures[name] for one in self.rows]
            columns[name] = pa.array([None if math.isnan(one) else one for one in figures], pa.float64())
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": [{"run", "N", …}, …]}``: a number, or None without scores, for each column of both tables."""
        return {"runs": self.to_arrow().to_pylist()}


def side_by_side(runs: Any) -> SideBySide:
    """The summaries of several runs side by side; nothing is pooled, and rows are not paired.

    ``runs`` is a list of score files, folders, addresses or tables, or a dict of those by name.  To test whether a
    difference is significant, use :func:`fastmetrics.results.comparison.compare`.

    >>> import fastmetrics as fm
    >>> print(fm.side_by_side({"old": {"token_f1": [0.5, 0.7]}, "new": {"token_f1": [0.8, None]}}))
    mean         old      new
    token_f1  0.6000  0.8000*
    rows           2        2
    <BLANKLINE>
    * mean over some rows: the other rows have no score

    Raises ``InputError`` for no run, ``FileFormatError`` for a file that cannot be read.
    """
    return SideBySide(summaries_of(runs))


def primary_table(runs: Any) -> PrimaryTable:
    """S1's primary table, one line per run: N, Faithfulness, Overlap, F1, Tokens, Latency and Abstain Rate.

    N is the number of rows.  Faithfulness, from 0 to 1, is the mean of ``judge_answer_faithfulness``, or of
    ``overlap_faithfulness`` without a judge (``judge_faithfulness``, from 1 to 5, is on another scale).  Overlap is the
    mean of ``grounding_overlap``, F1 of ``token_f1``, Tokens of ``total_tokens``.  Latency is the median of
    ``latency_ms``, Abstain Rate the share of rows that ``abstained``.  The appendix, printed if it was scored, has
    Avg EM, the mean of ``exact_match(normalize='plain')``.  A figure whose metric was not scored is NaN, printed as –.
    ``runs`` is as in :func:`side_by_side`, or a single run.

    >>> import fastmetrics as fm
    >>> table = fm.primary_table({"new": {"token_f1": [0.5, 0.7], "latency_ms": [120.0, 180.0]}})
    >>> table[0].n, table[0].figures["F1"], table[0].figures["Latency"]
    (2, 0.6, 150.0)

    Raises ``InputError`` for no run, ``ColumnError`` if no run has any of these scores.
    """
    return primary_of(summaries_of(runs if are_several(runs) else [runs]))


def primary_of(found: Mapping[str, Summary]) -> PrimaryTable:
    """The primary table from summaries; raises ``ColumnError`` if no run has any of its scores."""
    rows = [_primary(name, one) for name, one in found.items()]
    if not any(name in one.sources for one in rows for name in PRIMARY):
        needed = ", ".join(source.partition(".")[0] for sources in PRIMARY.values() for source in sources)
        raise ColumnError(f"the primary table needs {needed}; no run has any of them: score them first")
    return PrimaryTable(rows)


def _primary(name: str, summary: Summary) -> PrimaryRow:
    """The figures of one run; a metric without a value in any row counts as not scored."""
    flat = summary.unlabelled
    sources = {
        column: next((one for one in candidates if not math.isnan(flat.get(one, math.nan))), None)
        for column, candidates in _COLUMNS.items()
    }
    known = {column: source for column, source in sources.items() if source is not None}
    figures = {column: flat[known[column]] if column in known else math.nan for column in _COLUMNS}
    metrics = {column: summary.metrics.get(source.rpartition(".")[0]) for column, source in known.items()}
    scored = {column: metric.n for column, metric in metrics.items() if metric is not None}
    return PrimaryRow(name, summary.n_rows, figures, known, scored)


def summaries_of(runs: Any) -> dict[str, Summary]:
    """The summary of each run, by name."""
    opened = open_runs(runs, least=1)
    given = runs.values() if isinstance(runs, Mapping) else runs
    return {
        run.name: summarize(getattr(one, "per_query", one)) if run.path is None else summarize_files(one)
        for run, one in zip(opened, given, strict=True)
    }
