"""Summaries of several runs side by side, metric by metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.display import Grid, ShownMapping, number
from fastmetrics.results.runs.open_runs import open_runs
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.results.summary.summary import Summary, summary_of

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
            dict.fromkeys(
                [
                    *(n for summary in summaries for n in summary.metrics),
                    *(n for summary in summaries for n in summary.corpus),
                ]
            )
        )

    def _cell(self, run: str, metric: str) -> str:
        summary = self.summaries[run]
        if metric in summary.corpus:
            return number(summary.corpus[metric])
        if metric not in summary.metrics:
            return "–"
        return number(summary.metrics[metric].mean) + ("*" if summary.metrics[metric].n < summary.n_rows else "")

    def grids(self) -> list[Grid]:
        """The means by metric and run."""
        names = list(self.summaries)
        long = any(len(name) > _WIDE for name in names)
        header = [str(place) if long else name for place, name in enumerate(names, 1)]
        rows = [(metric, *(self._cell(run, metric) for run in names)) for metric in self.metrics]
        rows.append(("rows", *(number(summary.n_rows) for summary in self.summaries.values())))
        return [Grid(("mean", *header), rows)]

    def remarks(self) -> Sequence[str]:
        """The names of numbered runs, and the meaning of the star."""
        names = list(self.summaries)
        numbered = any(len(name) > _WIDE for name in names)
        notes = [f"{place}: {name}" for place, name in enumerate(names, 1)] if numbered else []
        starred = any(
            metric.n < summary.n_rows for summary in self.summaries.values() for metric in summary.metrics.values()
        )
        return [*notes, *(["* mean over some rows: the other rows have no score"] * starred)]

    def to_dict(self) -> dict[str, Any]:
        """``{"runs": {name: summary}}``, each as in ``Summary.to_dict``."""
        return {"runs": {name: summary.to_dict() for name, summary in self.summaries.items()}}


def side_by_side(runs: Any) -> SideBySide:
    """The summaries of several runs side by side; nothing is pooled, and rows are not paired.

    ``runs`` is a list of score files, folders, addresses or tables, or a dict of those by name.  To test whether a
    difference is significant, use :func:`fastmetrics.results.compare.compare.compare`.

    >>> import fastmetrics as fm
    >>> print(fm.side_by_side({"old": {"token_f1": [0.5, 0.7]}, "new": {"token_f1": [0.8, None]}}))
    mean         old      new
    token_f1  0.6000  0.8000*
    rows           2        2
    <BLANKLINE>
    * mean over some rows: the other rows have no score

    Raises ``InputError`` for no run, ``FileFormatError`` for a file that cannot be read.
    """
    return SideBySide(summaries_of(open_runs(runs, least=1)))


def summaries_of(runs: Sequence[ScoreRun]) -> dict[str, Summary]:
    """The summary of each run, by name."""
    return {run.name: summary_of(run) for run in runs}
