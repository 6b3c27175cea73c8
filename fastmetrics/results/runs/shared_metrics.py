"""The metrics that several runs share, and their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from fastmetrics.core.judge_column_names import is_cost
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.plan.corpus_values import is_corpus, is_counted
from fastmetrics.plan.stored_declarations import Declared
from fastmetrics.results.runs.metric_columns import column_named, unknown_metric
from fastmetrics.results.runs.score_run import ScoreRun


def shared_metrics(runs: Sequence[ScoreRun], requested: Sequence[str], *, counted: bool = False) -> list[str]:
    """The columns to read: the requested ones, or all for which every run has scores (or, if ``counted``, counts).

    The cost of a judge's calls is compared only on request, because every metric makes the correction of p stricter.
    """
    by_run = [[*run.scores, *(run.counted if counted else ())] for run in runs]
    requested = list(dict.fromkeys(column_named(name, by_run[0]) for name in requested))
    for name in requested:
        for run, names in zip(runs, by_run, strict=True):
            if name not in names:
                _check_counted(run, name, counted)
                near = unknown_metric(name, names, run.declared).message
                raise UnknownNameError(f"{run.name} has no scores of {name!r}: ", near)
    shared = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    metrics = list(requested) or [name for name in shared if not is_cost(name)] or shared
    metrics += (
        []
        if requested
        else [name for name in by_run[0] if name not in runs[0].scores and all(name in names for names in by_run)]
    )
    if not metrics:
        scores = "; ".join(f"{run.name} has {', '.join(run.scores) or 'none'}" for run in runs[:5])
        raise ColumnError(f"the runs share no score column: {scores}")
    return metrics


def first_declared(runs: Sequence[ScoreRun]) -> dict[str, Declared]:
    """The stored declarations of several runs, of each score by the first run that has one."""
    return {name: declaration for run in reversed(runs) for name, declaration in run.declared.items()}


def _check_counted(run: ScoreRun, name: str, counted: bool) -> None:
    """Raise ``ColumnError`` for a corpus metric, which has no scores of rows; its counts serve some readers."""
    spec = run.spec(name)
    if not counted and is_corpus(spec):
        raise ColumnError(f"{name} is a corpus metric: it has one value a table, and no scores of rows")
    if is_counted(spec):
        again = Argument("keep_counts", True)
        raise ColumnError(f"{run.name} has no counts of {name} for each row; score it with --keep-counts (", again, ")")
    if is_corpus(spec):
        raise ColumnError(f"{name} cannot be compared: it depends on all rows at once, not on counts of rows")
