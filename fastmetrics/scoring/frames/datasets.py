"""Hugging Face datasets: scores as a function for ``dataset.map``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastmetrics.base.threads import cores
from fastmetrics.plans.plan import ScoreRequest
from fastmetrics.scoring.frames.with_scores import TableFunction, adder_of, plan_beside
from fastmetrics.tables.sources import FrameSource


def scorer(metrics: Sequence[str] | str | None = None, **options: Any) -> DatasetScorer:
    """A function for ``dataset.map(..., batched=True)`` that adds a column for each metric.

    ``metrics`` are names with options; ``options`` are those of :func:`fastmetrics.with_scores` that choose columns and
    metrics (``columns``, ``schema``, ``suites``, ``embedder``, ``cache``, ``no_relevant``, ``lists``).  A dataset in
    the format ``arrow`` (``dataset.with_format("arrow").map(...)``) is scored without a Python object per row.  The
    caches of ``datasets`` recognise the function by its metrics and options.  ``fm.with_scores(dataset, ...)`` scores
    all rows at once, and also computes metrics that need all rows.

    >>> import fastmetrics as fm
    >>> fm.datasets.scorer("token_recall")({"answer": ["in Paris"], "reference": ["Paris"]})
    {'token_recall': [1.0]}

    Raises, when it is called, what ``with_scores`` raises, and ``OptionError`` for a metric that needs all rows.
    """
    return DatasetScorer(metrics, options)


class DatasetScorer:
    """The scores of a batch of a dataset: a dict of lists, or an Arrow table or frame with the columns of the batch."""

    def __init__(self, metrics: Sequence[str] | str | None, options: Mapping[str, Any]) -> None:
        self._metrics = metrics
        self._options = dict(options)
        self._function: tuple[list[str], TableFunction] | None = None

    def __reduce__(self) -> tuple[type[DatasetScorer], tuple[Any, dict[str, Any]]]:
        """Pickling, by which ``datasets`` recognises the function, drops the plan and the remembered words."""
        return DatasetScorer, (self._metrics, self._options)

    def __call__(self, batch: Any) -> Any:
        """The scores of a batch."""
        is_columns = isinstance(batch, Mapping)
        source = FrameSource(dict(batch.items()) if is_columns else batch)
        if self._function is None or self._function[0] != source.names:
            planned = plan_beside(source, ScoreRequest(self._metrics, **self._options))
            self._function = source.names, TableFunction(planned)
        score = self._function[1]
        scores = score(source, cores()).select(score.plan.names)
        return scores.to_pydict() if is_columns else adder_of(batch)(batch, scores)
