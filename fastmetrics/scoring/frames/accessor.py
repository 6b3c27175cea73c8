"""The accessor ``frame.fm`` of pandas and Polars frames: scores in the frame's own kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fastmetrics.base.errors import ColumnError
from fastmetrics.base.input_columns import resolve
from fastmetrics.metrics.plan import ScoreRequest
from fastmetrics.metrics.suites import functions
from fastmetrics.scoring.frames.row_function import RowFunction, metric_of_name, score_of
from fastmetrics.scoring.frames.with_scores import lazy_scores, own_kind, own_series, with_scores
from fastmetrics.scoring.metric_functions import columns_and_options
from fastmetrics.scoring.score import score
from fastmetrics.scoring.score_output import plan_table
from fastmetrics.tables.sources import FrameSource


class LazyFrameAccessor:
    """Scores of a lazy frame: ``frame.fm.score(...)`` and ``frame.fm.with_scores(...)``, both lazy."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, metrics: Any = None, *, threads: int | None = None, **options: Any) -> Any:
        """The lazy scores: ``id``, if there is one, and a column for each metric.

        The options are ``threads`` and those of :func:`fastmetrics.with_scores` that choose columns and metrics.
        """
        planned = plan_table(FrameSource(self._frame), ScoreRequest(metrics, **options))
        return lazy_scores(self._frame, planned, planned.keep, threads)

    def with_scores(self, metrics: Any = None, **options: Any) -> Any:
        """The frame with its scores as further columns, as :func:`fastmetrics.with_scores` returns it."""
        return with_scores(self._frame, metrics, **options)


class FrameAccessor:
    """Scores of a frame: ``frame.fm.score(...)``, ``frame.fm.with_scores(...)``, ``frame.fm.token_f1(...)``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, metrics: Any = None, **options: Any) -> Any:
        """The scores as a frame of the same kind: ``id``, if there is one, and a column for each metric.

        ``metrics`` and the options are those of :func:`fastmetrics.score` without an ``output``.
        """
        return own_kind(score(self._frame, metrics, **options), self._frame)

    def with_scores(self, metrics: Any = None, **options: Any) -> Any:
        """The frame with its scores as further columns, as :func:`fastmetrics.with_scores` returns it."""
        return with_scores(self._frame, metrics, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        metric_of_name(name, "the accessor fm")
        return functools.partial(self._metric, name)

    def __dir__(self) -> list[str]:
        return ["score", "with_scores", *functions()]

    def _metric(self, name: str, *columns: str, threads: int | None = None, **keywords: Any) -> Any:
        """One metric as a series; the columns are names of the frame, by default those that the metric looks for."""
        metric = metric_of_name(name, "the accessor fm")
        names = [str(column) for column in self._frame.columns]
        if not columns and not metric.needs.keys() & keywords.keys():
            mapping = resolve(names, None, None, metric.needs)
            keywords = {column: mapping[column] for column in metric.needs if column in mapping} | keywords
        present, options = columns_and_options(metric, columns, keywords)
        for column in map(str, present.values()):
            if names.count(column) > 1:
                raise ColumnError(f"the table has {names.count(column)} columns {column!r}")
        scores = RowFunction(score_of(metric, options))
        return own_series(
            scores({column: self._frame[name] for column, name in present.items()}, threads),
            self._frame,
            scores.score.name,
        )
