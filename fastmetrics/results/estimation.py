"""The mean of human labels over all rows that a judge scored, estimated from the labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.columns import index_columns
from fastmetrics.base.errors import Argument, ColumnError, UnknownNameError
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.opening_scores import as_table, read_table
from fastmetrics.results.score_columns import check_scores, score_columns
from fastmetrics.stats.labels import RowLabels
from fastmetrics.stats.prediction_powered import PoweredMean, powered_mean
from fastmetrics.tables.opening import is_paths


def estimate(
    judged: shared.Judged,
    labels: Annotated[Any, Help("A file or table of human labels.")] = None,
    *,
    score: shared.Score = None,
    label: shared.Label = None,
    on: shared.On = None,
    confidence: shared.Confidence = 0.95,
    interval: Annotated[str, Help("The kind of the intervals; ``auto`` chooses the one that fits the data.")] = "auto",
) -> PoweredMean:
    """The prediction-powered mean of a label over all judged rows, together with the plain mean of the labels.

    ``judged`` is a file of judgements or scores, a table, or a sequence of scores.  ``labels`` is a file or table of
    the labelled rows, or a sequence as long as the scores, with null or NaN for rows without a label.  Without
    ``labels``, they are a column of ``judged``.  Rows are matched by the column ``on``, by default by ``id`` if both
    have it, otherwise by position; labels without a judged row are counted.  ``score`` and ``label`` name the columns
    if there are several candidates.  Rows with a null score are
    not used.

    Formula, intervals (``interval="normal"`` is that of PPI++) and undefined cases:
    :func:`fastmetrics.stats.prediction_powered.powered_mean`.  The labelled rows must be a random
    sample of the judged rows.

    >>> found = estimate([1, 2, 3, 4, 5, 5, 4, 5], [1, 2, 3, 5, None, None, None, None])
    >>> print(found)
    mean                value       low    high  rows
    prediction-powered  3.556  -0.3042†  7.416†     8
    labels alone        2.750   0.0325†  5.468†     4
    judge alone         3.625                       8
    <BLANKLINE>
    lambda 0.3583
    95 % intervals: Student's t
    † unreliable: no kind of interval holds its level for fewer than 5 rows
    (prediction-powered, labels alone)
    valid if the labelled rows are a random sample of the judged rows

    Raises ``ColumnError`` if a column or the matching is ambiguous, ``InputError`` for duplicate ids, for no shared id,
    and if no row has both a score and a label.
    """
    left = table_of(judged, on, "judged")
    if labels is None and label is None:
        raise ColumnError(
            "human labels are needed: ",
            Argument("labels"),
            ", or as ",
            Argument("label"),
            " a column of the judged table",
        )
    own = [label] if labels is None and label is not None else []
    score = score_of(left.schema, score, [*own, *([on] if on is not None else [])])
    right = None if labels is None else table_of(labels, on, "labels", or_column=True)
    labelled = RowLabels.of(left, right, label=label, on=on)
    check_scores(left, [score], "judged")
    scores, truth = labelled.beside(left.column(score))
    return replace(powered_mean(scores, truth, confidence, interval), n_not_judged=labelled.n_unmatched)


def table_of(table: Any, on: str | None, name: str, *, or_column: bool = False) -> pa.Table:
    """A table from files or any form of table; a plain sequence becomes the column ``label``."""
    if is_paths(table, or_column=or_column):
        return read_table(table, {"id", on or "id"})  # read these as text, so that 007 differs from 7
    return as_table(table, on, [on] if on is not None else [], name)[0]


def axes_of(columns: Sequence[str]) -> list[str]:
    """The columns of a judge's scores: those with a status column, but the answers of a bot, which have one too."""
    return [name for name in columns if name != "answer" and f"{name}_status" in columns]


def score_of(schema: pa.Schema, score: str | None, others: Sequence[str]) -> str:
    """The column of scores: the named one, the only one of a judge, or the only numeric one."""
    names = [name for name in score_columns(schema) if name not in others]
    if score is not None:
        if score not in score_columns(schema):
            raise ColumnError(f"scores: {UnknownNameError.of('column', score, names)}")
        return score
    fit = axes_of(schema.names) or [name for name in names if name not in index_columns(schema)]
    if len(fit) != 1:
        could = f"; candidates: {', '.join(fit) or 'none'}"
        raise ColumnError("set the column of scores with ", Argument("score"), could)
    return fit[0]
