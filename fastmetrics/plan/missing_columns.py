"""Metrics whose columns a table lacks: the errors, and the notes on those that a tier leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fastmetrics.base.errors import Argument, ColumnError, quoted
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.declaration.metric import Metric
from fastmetrics.metrics import TIERS
from fastmetrics.metrics.semantic import from_text
from fastmetrics.plan.fitted_metric import FittedMetric


def check_columns(name: str, metric: Metric, names: Sequence[str], columns: Mapping[str, str]) -> None:
    """Raise ``ColumnError`` for a missing column that a score needs, with the ways to provide it."""
    if isinstance(metric, FittedMetric):
        for part in metric.parts:
            if part.metric is not None:
                check_columns(f"{name} ({part.name})", part.metric, names, columns)
            elif part.name not in columns:
                lacks = f"{name} reads the column {part.name!r} of scores; the table has: {quoted(names)}"
                raise ColumnError(f"{lacks}; add this column, or fit a score without it")
        return
    for column in metric.required:
        if column in columns:
            continue
        aliases = ", ".join(COLUMNS[column].aliases)
        also = f" (or {aliases})" if aliases else ""
        ways: list[object] = ["set its name with ", Argument("columns", {column: ...})]
        if from_text(metric, columns) is not metric:
            ways += [", or compute it from the text with ", Argument("embedder", "wordllama")]
        raise ColumnError(f"{name} needs the column {column!r}{also}; the table has: {quoted(names)}; ", *ways)
    either = metric.rows.either
    if either is not None and not either.met_by(columns):
        way = Argument("columns", {either.sets[0][0]: ...})
        raise ColumnError(f"{name} needs the column {either}; the table has: {quoted(names)}; set its name with ", way)


def without_columns(suite: str, names: Sequence[str], members: Iterable[Metric]) -> ColumnError:
    """The error for a suite none of whose metrics has its columns."""
    some = "no metric" if suite in ("core", "all") else f"no metric of the suite {suite!r}"
    required = dict.fromkeys(column for metric in members for column in metric.required)
    reads = f"; it reads {', '.join(required)}" if suite in TIERS else ""
    return ColumnError(f"{some} can be computed from the columns {quoted(names)}{reads}")


def lacking(name: str, metric: Metric, columns: Mapping[str, str]) -> str:
    """A score, and the columns that it lacks."""
    return f"{name} ({', '.join(column for column in metric.required if column not in columns)})"
