"""Judges are judged: how steady, how fallible, how close to people and to each other, and how biased."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Floats
from fastmetrics.core.name_lists import listed
from fastmetrics.errors import ColumnError
from fastmetrics.results.estimate import axes_of, table_of
from fastmetrics.results.judge_report_result import JudgePair, JudgeReport
from fastmetrics.results.judged_axis import Asked, axis_report, price_of_judge, range_of, settings_of
from fastmetrics.results.pairing import pair_runs
from fastmetrics.results.score_runs import ScoreRun, open_runs
from fastmetrics.stats.agreement import agreement
from fastmetrics.stats.association import associate
from fastmetrics.stats.human_labels import join, ratings_of, truth_of

_FIVE = (1.0, 5.0)


def judge_report(
    judged: Any,
    labels: Any = None,
    *,
    label: str | None = None,
    by: Sequence[str] | str = (),
    on: str | None = None,
    positive: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    confidence: float = 0.95,
) -> JudgeReport:
    """What is known of judges, from one judged file or table or several, in a list or in a dict by name.

    For each axis (a column with a column of its ``_status`` beside it): how many rows have which status, the error
    rate, consistency over repeats, milliseconds and tokens, as far as the file has them; the mean in each segment of
    the columns ``by``; Spearman's ρ with the number of words of ``answer`` (or ``answer_words``), where that was kept.

    With ``labels``, a file or table of people's labels (its column ``label``, by default the only one of numbers),
    matched by ``on`` or ``id``: correlations, the prediction-powered mean, and, if the labels lie in the axis's range,
    kappas and Krippendorff's alphas.  Scores and labels of at least ``positive`` count as positive in accuracy,
    precision, recall and F1; these are NaN without it if the labels are graded or not in the range.  ``ranges``
    gives the ranges of axes; by default they are those of the rubrics, which the metadata of judged rows hold.  Where
    nothing tells a range, 1 to 5 is assumed, and a note says so.

    The rubrics also tell which axes compare two answers, asked in both orders (win rate, flips, preference for the
    first place, as by :func:`pairwise`), and which are decisions (their confusion table, as by
    :func:`judge_decisions`, if the labels are 0 and 1).  ``prices``, a table or a file as :func:`judge` takes it, gives
    the cost of the tokens.

    >>> judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, None], "judge_x_status": ["ok", "ok", "timeout"]}
    >>> found = judge_report(judged, {"id": [1, 2], "human": [2, 4]})
    >>> found.axes[0].statuses, found.axes[0].people.n, found.axes[0].people.spearman
    ({'ok': 2, 'timeout': 1}, 2, 1.0)

    Raises ``ColumnError`` where a table has no judged axis, no such column, or no clear label, and ``InputError`` for
    doubled ids or ids none of which is shared.
    """
    runs = open_runs(judged if _several(judged) else [judged], least=1)
    people = None if labels is None else table_of(labels, on)
    found, notes = [], []
    for run in runs:
        table = run.read(run.columns)
        axes = axes_of(table)
        if not axes:
            raise ColumnError(f"{run.name} has no judged axis (a column of scores with its _status beside it)")
        truth = None if people is None else _truth(table, people, label, on)
        for axis in axes:
            told = settings_of(axis, run.metadata)
            span = (ranges or {}).get(axis) or range_of(told)
            if span is None:
                notes.append(f"{run.name}: no rubric tells the range of {axis}; 1 to 5 is assumed")
            how = Asked(span or _FIVE, told.get("kind"), price_of_judge(told, prices), listed(by), positive, confidence)
            found.append(axis_report(run.name, table, axis, truth, how))
    if people is not None and any(one.people is not None and math.isnan(one.people.accuracy) for one in found):
        notes.append("accuracy and F1 need labels on the judge's scale, and to be told which are positive")
    return JudgeReport(found, _pairs(runs, on), notes)


def _several(judged: Any) -> bool:
    """Whether this is a list or dict of judged tables, not one of them, which may be a dict, too."""
    if isinstance(judged, Mapping):
        return not any(name.endswith("_status") for name in judged)
    return isinstance(judged, list | tuple)


def _truth(table: pa.Table, people: pa.Table, label: str | None, on: str | None) -> Floats:
    """The label of each judged row, NaN for none."""
    rows, _ = join(table, people, on)
    name, ratings = ratings_of(people, label, (), [on] if on is not None else [])
    truth = np.full(table.num_rows, np.nan)
    truth[rows >= 0] = truth_of(people, name, ratings)[rows[rows >= 0]]
    return truth


def _pairs(runs: Sequence[ScoreRun], on: str | None) -> list[JudgePair]:
    """Every two judges that share an axis."""
    found = []
    for first, second in itertools.combinations(runs, 2):
        axes = [name for name in axes_of(first.read(first.columns)) if name in second.columns]
        if not axes:
            continue
        paired = pair_runs([first, second], on, by_position=False)
        for axis in axes:
            a, b = paired.scores(0, axis), paired.scores(1, axis)
            both = ~np.isnan(a) & ~np.isnan(b)
            agreed = agreement({"a": a[both], "b": b[both]})
            pair, rho = agreed.pairs[0], associate(a[both], b[both], resamples=1).spearman.value
            figures = (pair.n, pair.kappa, pair.kappa_quadratic, agreed.alpha_interval, rho)
            found.append(JudgePair(axis, first.name, second.name, *figures))
    return found
