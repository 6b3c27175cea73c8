"""Evaluating judges: consistency, failures, bias, and agreement with people and with each other."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastmetrics.base.errors import ColumnError
from fastmetrics.base.input_columns import distinct
from fastmetrics.results.people.estimate import axes_of, labels_of_rows, table_of
from fastmetrics.results.people.judge_report_result import JudgePair, JudgeReport
from fastmetrics.results.people.judged_axis import AxisOptions, axis_report, price_of_judge
from fastmetrics.results.rows.pairing import pair_runs
from fastmetrics.results.runs.open_runs import are_several, open_runs
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.stats.agreement import agreement, kappa_interval, scale_kappa
from fastmetrics.stats.association import associate
from fastmetrics.stats.estimates import Interval
from fastmetrics.stats.labels import join

_FIVE = (1.0, 5.0)
_KAPPAS = (("kappa", 0), ("kappa_quadratic", 2))


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
    """Evaluate judges from one or several judged files or tables, in a list or in a dict by name.

    For each judged column (with a ``_status`` column): the number of rows per status, the error rate, consistency over
    repeats, latency and tokens, if the file has them; the mean in each segment of the columns ``by``; Spearman's ρ with
    the number of words of ``answer`` (or ``answer_words``), if that column was kept.

    With ``labels``, a file or table of human labels (its column ``label``, by default the only numeric column), matched
    by ``on`` or ``id``: correlations, the prediction-powered mean, and, if the labels are in the range of the judge's
    scores, kappas and Krippendorff's alphas.  Weighted kappas take the distances of the rubric's scale.  Scores and
    labels of at least ``positive`` are positive in accuracy, precision, recall and F1; without ``positive``, these are
    NaN if the labels are graded or outside the range.
    ``ranges`` sets the ranges of judged columns; by default they come from the rubrics, which the metadata of judged
    rows contain.  If the range is unknown, 1 to 5 is assumed, and a note says so.

    The rubrics also identify columns that compare two answers in both orders (win rate, flips and first-position
    preference, as in :func:`pairwise`), and columns of decisions (confusion table, as in :func:`judge_decisions`, if
    the labels are 0 and 1).  ``prices``, a table or a file as in :func:`judge`, gives the cost of the tokens.

    Parameters:

    - ``judged``: Judged files or tables.
    - ``labels``: The file of human labels.
    - ``label``: The column of labels; by default the only numeric column.
    - ``by``: Columns whose values define segments: language,topic; compare takes several divisions of rows.
    - ``on``: The column that pairs the rows; by default the id (of validate, without one, the position).
    - ``positive``: Labels (of judge-report also scores) of at least this value are positive.
    - ``ranges``: Ranges of scores without a known rubric: judge_style=0:10,judge_tone=0:1.
    - ``prices``: Prices of a million tokens, or a TOML or JSON file of them: {"MODEL": {"input": 0.5, "output": 2}}.
    - ``confidence``: Confidence level of the intervals.

    >>> judged = {"id": [1, 2, 3], "judge_x": [1.0, 4.0, None], "judge_x_status": ["ok", "ok", "timeout"]}
    >>> found = judge_report(judged, {"id": [1, 2], "human": [2, 4]})
    >>> found.axes[0].statuses, found.axes[0].people.n, found.axes[0].people.spearman
    ({'ok': 2, 'timeout': 1}, 2, 1.0)

    Raises ``ColumnError`` if a table has no judged column, lacks a named column or has no unambiguous label, and
    ``InputError`` for duplicate ids or no shared id.
    """
    opened = open_runs(judged if are_several(judged) else [judged], least=1)
    runs = [run.in_memory(run.columns) for run in opened]
    people = None if labels is None else table_of(labels, on, "labels", or_column=True)
    reports, notes = [], []
    for run in runs:
        table = run.read(run.columns)
        axes = axes_of(run.columns)
        if not axes:
            raise ColumnError(f"{run.name} has no judged column (a column of scores with a _status column)")
        truth = None
        if people is not None:
            truth = labels_of_rows(people, join(table, people, on)[0], label, on)
            unused = truth.n_not_judged
            notes += [f"{run.name}: {unused:,} labels belong to no judged row"] if unused else []
        for axis in axes:
            settings = run.metadata.settings_of(axis)
            span = (ranges or {}).get(axis) or run.metadata.range_of(axis)
            if span is None:
                notes.append(f"{run.name}: the range of {axis} is unknown without its rubric; 1 to 5 is assumed")
            how = AxisOptions(
                span or _FIVE,
                settings.get("kind"),
                price_of_judge(settings, prices),
                distinct(by),
                positive,
                confidence,
                tuple(settings.get("systems") or settings.get("pair") or ("A", "B")),
            )
            reports.append(axis_report(run.name, table, axis, truth, how))
    if people is not None and any(
        report.people is not None and math.isnan(report.people.accuracy) for report in reports
    ):
        notes.append("accuracy and F1 need labels on the judge's scale and a threshold for positive labels")
    return JudgeReport(reports, _pairs(runs, on, confidence), notes, confidence)


def _pairs(runs: Sequence[ScoreRun], on: str | None, confidence: float) -> list[JudgePair]:
    """All pairs of judges with a common judged column."""
    pairs = []
    for first, second in itertools.combinations(runs, 2):
        axes = [name for name in axes_of(first.columns) if name in second.columns]
        if not axes:
            continue
        paired = pair_runs([first, second], on)
        for axis in axes:
            a, b = paired.scores(0, axis), paired.scores(1, axis)
            both = ~np.isnan(a) & ~np.isnan(b)
            agreed = agreement({"a": a[both], "b": b[both]}, confidence=confidence)
            pair, rho = agreed.pairs[0], associate(a[both], b[both], confidence=confidence).spearman
            figures = (pair.n, pair.kappa, scale_kappa(a[both], b[both], 2), agreed.alpha_interval, rho.value)
            intervals = {name: kappa_interval(a[both], b[both], power, confidence) for name, power in _KAPPAS}
            intervals |= {name: interval for name, interval in agreed.intervals.items() if name == "alpha_interval"}
            intervals["spearman"] = Interval(rho.low, rho.high, rho.interval, rho.note)
            pairs.append(JudgePair(axis, first.name, second.name, *figures, intervals))
    return pairs
