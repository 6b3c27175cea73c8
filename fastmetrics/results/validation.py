"""Comparing scores with human labels, and the agreement between people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.core.columns import as_numbers
from fastmetrics.core.name_lists import listed
from fastmetrics.core.threads import cores
from fastmetrics.declaration.metric import Better
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.results.declared_metrics import declarations_of, directions
from fastmetrics.results.metric_columns import column_named
from fastmetrics.results.read_table import read
from fastmetrics.results.validation_result import MetricValidation, Validation
from fastmetrics.stats.agreement import agreement
from fastmetrics.stats.association import associate
from fastmetrics.stats.human_labels import (
    as_table,
    clusters_of,
    join,
    positive_from,
    ratings_of,
    same_precision,
    truth_of,
)
from fastmetrics.stats.score_sums import score_columns
from fastmetrics.tables.table_source import is_paths

_SCALE = 20  # a metric with at most this many values, all of them labels too, uses the labels' scale


def validate(
    scores: Any,
    labels: Any,
    *,
    label: str | None = None,
    raters: Sequence[str] | str = (),
    on: str | None = None,
    metrics: Sequence[str] | str | None = None,
    positive: float | None = None,
    thresholds: Mapping[str, float] | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    interval: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    cluster: str | None = None,
    better: Mapping[str, str] | None = None,
) -> Validation:
    """Compare each metric of ``scores`` with human labels: correlations, ROC AUC, best threshold, intervals, agreement.

    ``scores`` and ``labels`` are tables, or files by their paths, as in ``score``; ``labels`` may also be a sequence of
    labels.  Rows are matched by the column
    ``on``; by default by ``id`` if both tables have it, otherwise by position, which needs equal lengths, or by the
    pandas index, if both tables have the same index in another order.

    ``label`` names the column of labels (numbers or booleans; by default the only such column); a cell may also be a
    list with the labels of several people.  ``raters`` names columns with the labels of one person each.  The label of
    a row with several raters is their mean, unless ``label`` names another column.

    High labels are assumed to be good.  If lower is better for a metric, as for ``hallucination``, low scores are
    treated as positive; correlations keep their sign.  ``better={"name": "lower"}`` sets the direction of a metric that
    is not declared here, or of the label: with it, high scores of ``hallucination`` detect rows labelled
    ``hallucinated``.

    ``cluster`` names a column of the labels or scores with the group of each row: the session, document or question
    that several rows share; the intervals then treat rows of a group as dependent.

    Labels of at least ``positive`` are positive.  The default is 1 for labels 0 and 1, the higher of any other two
    values, and no default for graded labels.  ``thresholds`` fixes the threshold of some metrics.  The figures and
    their intervals are those of :func:`fastmetrics.stats.association.associate`.

    >>> found = validate({"token_f1": [0.1, 0.4, 0.35, 0.8]}, [0, 0, 1, 1], resamples=100)
    >>> found["token_f1"].auc.value
    0.75

    Raises ``ColumnError`` if there is no score or no unambiguous label, or if the tables cannot be matched;
    ``InputError`` for duplicate ids or no shared id; ``UnknownNameError`` for an unknown metric.
    """
    workers = cores(threads)
    raters, metrics, fixed = listed(raters), listed(metrics), dict(thresholds or {})
    keys = [name for name in (on, cluster) if name is not None]
    texts = {"id", on or "id", cluster or "id"}  # read these as text, so that 007 differs from 7
    scores, labels = (read(table, texts) if is_paths(table) else table for table in (scores, labels))
    left, left_out = as_table(scores, on, [*metrics, *fixed, *keys])
    right, _ = as_table(labels, on, [*raters, *keys, *([label] if label is not None else [])])
    names = score_columns(left.schema)
    metrics = [column_named(name, names) for name in metrics]
    fixed = {column_named(name, names): threshold for name, threshold in fixed.items()}
    rows, joined_by = join(left, right, on)
    groups = clusters_of({"labels": right, "scores": left}, cluster, rows)
    label, ratings = ratings_of(right, label, raters, keys)
    chosen = metrics or [name for name in names if name not in (*keys, *raters, label)]
    if not chosen:
        kinds = "numbers or booleans"
        raise ColumnError(f"no column of scores ({kinds}) among {', '.join(left.column_names) or 'none'}")
    for name in [*metrics, *fixed]:
        if name not in names:
            raise UnknownNameError.of("metric", name, names)
    given = {label: "higher", **(better or {})}
    ways = directions([*names, label], declarations_of(left.schema), given, "metric or label")
    truth = truth_of(right, label, ratings)[rows[rows >= 0]]
    known = ~np.isnan(truth)
    positive = positive_from(truth[known]) if positive is None else positive
    scored = left.filter(pa.array(rows >= 0))
    kind = right.schema.field(label).type if label in right.column_names else pa.float64()
    labelled = _Labelled(label, truth, kind, positive, groups)
    how: dict[str, Any] = {
        "resamples": resamples,
        "confidence": confidence,
        "interval": interval,
        "seed": seed,
        "threads": workers,
    }
    found = {
        name: _validated(name, scored.column(name), labelled, ways, threshold=fixed.get(name), **how) for name in chosen
    }
    return Validation(
        joined_by=joined_by,
        n_rows=scored.num_rows,
        n_no_label=int((~known).sum()),
        n_only_scores=int((rows < 0).sum()),
        n_only_labels=right.num_rows - scored.num_rows,
        label=label,
        positive=positive,
        confidence=confidence,
        metrics=found,
        raters=agreement(ratings, raters=list(ratings), confidence=confidence) if len(ratings) > 1 else None,
        cluster=cluster,
        n_clusters=None if groups is None else len(np.unique(groups[known])),
        left_out=left_out,
    )


@dataclass(frozen=True)
class _Labelled:
    """The labels of the rows (NaN without a label), the threshold of positive labels, and the groups of the rows."""

    name: str
    truth: NDArray[np.float64]
    kind: pa.DataType
    positive: float | None
    groups: NDArray[Any] | None


def _validated(
    name: str, column: pa.ChunkedArray, labels: _Labelled, directions: Mapping[str, Better], **options: Any
) -> MetricValidation:
    """The comparison of one metric with the labels; ``options`` are those of ``associate``."""
    values, label = same_precision(as_numbers(column), column.type, labels.truth, labels.kind)
    known = ~np.isnan(label)
    usable = known & np.isfinite(values)
    scores, truth = values[usable], label[usable]
    opposed = directions[name] is not None and directions[name] != directions[labels.name]
    clusters = None if labels.groups is None else np.unique(labels.groups[usable], return_inverse=True)[1]
    found = associate(scores, truth, positive=labels.positive, opposed=opposed, clusters=clusters, **options)
    raters = [name, labels.name]
    agreed = None
    if not opposed and _on_scale(scores, truth):
        agreed = agreement({name: scores, labels.name: truth}, raters=raters, confidence=options["confidence"])
    return MetricValidation(
        **vars(found),
        n_no_score=int((known & ~usable).sum()),
        better=directions[name],
        opposed=opposed,
        agreement=agreed,
    )


def _on_scale(values: NDArray[np.float64], truth: NDArray[np.float64]) -> bool:
    distinct = np.unique(values)
    return 2 <= len(distinct) <= _SCALE and bool(np.isin(distinct, truth).all())
