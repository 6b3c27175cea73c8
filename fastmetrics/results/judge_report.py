"""Judges are judged: how steady, how fallible, how close to people and to each other, and how biased."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Floats, as_array
from fastmetrics.core.input_columns import COLUMNS
from fastmetrics.core.name_lists import listed
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.results.estimate import axes_of, table_of
from fastmetrics.results.judge_report_result import AxisReport, JudgePair, JudgeReport, PeopleAgreement, SegmentMean
from fastmetrics.results.pairing import pair_runs
from fastmetrics.results.score_runs import ScoreRun, open_runs
from fastmetrics.results.segments import segments_of
from fastmetrics.stats.agreement import agreement
from fastmetrics.stats.association import associate
from fastmetrics.stats.human_labels import join, numbers, positive_from, ratings_of, truth_of
from fastmetrics.stats.judge_quality import (
    Consistency,
    Latency,
    judge_consistency,
    judge_error_rate,
    judge_latency,
    status_counts,
)
from fastmetrics.stats.prediction_powered import powered_mean

_FIVE = (1.0, 5.0)
_ANSWER = ("answer", *COLUMNS["answer"].aliases)
_WORD = re.compile(r"\w+")


def judge_report(
    judged: Any,
    labels: Any = None,
    *,
    label: str | None = None,
    by: Sequence[str] | str = (),
    on: str | None = None,
    positive: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
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
            span = _range(axis, run.metadata, ranges or {})
            if span is None:
                notes.append(f"{run.name}: no rubric tells the range of {axis}; 1 to 5 is assumed")
            span = span or _FIVE
            found.append(_axis(run.name, table, axis, span, listed(by), truth, positive, confidence))
    if people is not None and any(one.people is not None and math.isnan(one.people.accuracy) for one in found):
        notes.append("accuracy and F1 need labels on the judge's scale, and to be told which are positive")
    return JudgeReport(found, _pairs(runs, on), notes)


def _range(
    axis: str, metadata: Mapping[str, Any], given: Mapping[str, tuple[float, float]]
) -> tuple[float, float] | None:
    """The range of an axis: as given, or as the settings of its rubric say."""
    if axis in given:
        return given[axis]
    scores = metadata.get("scores")
    settings = scores.get(axis) if isinstance(scores, Mapping) else None
    told = settings.get("range") if isinstance(settings, Mapping) else None
    fits = isinstance(told, list) and len(told) == 2 and all(isinstance(one, int | float) for one in told)
    return (float(told[0]), float(told[1])) if fits and told is not None else None


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


def _axis(
    judge: str,
    table: pa.Table,
    axis: str,
    span: tuple[float, float],
    by: Sequence[str],
    truth: Floats | None,
    positive: float | None,
    confidence: float,
) -> AxisReport:
    scores = numbers(table.column(axis))
    statuses = _statuses(table, axis)
    known = scores[~np.isnan(scores)]
    both = None if truth is None else ~np.isnan(scores) & ~np.isnan(truth)
    return AxisReport(
        judge=judge,
        axis=axis,
        n_rows=len(scores),
        n=len(known),
        mean=_mean(known),
        statuses=status_counts(table.column(f"{axis}_status").to_pylist()),
        error_rate=judge_error_rate(statuses),
        consistency=_consistency(table, axis, span),
        latency=_latency(table, axis),
        prompt_tokens=_total(table, f"{axis}_prompt_tokens"),
        completion_tokens=_total(table, f"{axis}_completion_tokens"),
        length_spearman=_with_length(table, scores),
        segments=_segments(table, scores, by),
        people=None if truth is None or both is None else _people(scores[both], truth[both], span, positive),
        powered=None if truth is None or both is None or not both.any() else powered_mean(scores, truth, confidence),
    )


def _statuses(table: pa.Table, axis: str) -> list[str | None]:
    """The statuses of all calls: those of the repeats, if they are there."""
    if _has_lists(table, f"{axis}_statuses"):
        return [one for row in table.column(f"{axis}_statuses").to_pylist() for one in row or ()]
    return list(table.column(f"{axis}_status").to_pylist())


def _has_lists(table: pa.Table, name: str) -> bool:
    """Whether the repeats are there; CSV has no lists."""
    return name in table.column_names and bool(pa.types.is_list(table.column(name).type))


def _consistency(table: pa.Table, axis: str, span: tuple[float, float]) -> Consistency | None:
    if not _has_lists(table, f"{axis}_scores"):
        return None
    return judge_consistency([row for row in table.column(f"{axis}_scores").to_pylist() if row is not None], range=span)


def _latency(table: pa.Table, axis: str) -> Latency | None:
    """Of a call: a row's milliseconds are those of all its repeats."""
    if f"{axis}_latency_ms" not in table.column_names:
        return None
    times = numbers(table.column(f"{axis}_latency_ms"))
    if _has_lists(table, f"{axis}_scores"):
        lengths = pc.list_value_length(table.column(f"{axis}_scores")).fill_null(1)
        times = times / np.maximum(lengths.to_numpy(), 1)
    return judge_latency(times)


def _total(table: pa.Table, name: str) -> int | None:
    return int(pc.sum(table.column(name)).as_py() or 0) if name in table.column_names else None


def _with_length(table: pa.Table, scores: Floats) -> float | None:
    name = next((one for one in table.column_names if one.lower() in _ANSWER), None)
    if "answer_words" in table.column_names:
        words = numbers(table.column("answer_words"))
    elif name is not None:
        texts = table.column(name).to_pylist()
        words = np.array([math.nan if text is None else len(_WORD.findall(text)) for text in texts], np.float64)
    else:
        return None
    both = ~np.isnan(scores) & ~np.isnan(words)
    return associate(scores[both], words[both], resamples=1).spearman.value


def _segments(table: pa.Table, scores: Floats, by: Sequence[str]) -> list[SegmentMean]:
    for name in by:
        if name not in table.column_names:
            raise ColumnError(f"by: {UnknownNameError.of('column', name, table.column_names)}")
    if not by:
        return []
    found = []
    for segment in segments_of([(name, as_array(table.column(name), name)) for name in by]):
        known = scores[segment.rows][~np.isnan(scores[segment.rows])]
        found.append(SegmentMean(str(segment.name), len(known), _mean(known)))
    return found


def _people(scores: Floats, truth: Floats, span: tuple[float, float], positive: float | None) -> PeopleAgreement:
    on_scale = len(truth) > 0 and span[0] <= truth.min() and truth.max() <= span[1]
    least = positive if positive is not None else positive_from(truth) if on_scale else None
    decided = [math.nan] * 4
    if least is not None and len(truth):
        called, good = scores >= least, truth >= least
        hits = int((called & good).sum())
        shares = [hits / max(int(one.sum()), 1) for one in (called, good)]
        f1 = 2 * hits / max(int(called.sum()) + int(good.sum()), 1)
        decided = [int((called == good).sum()) / len(good), *shares, f1]
    agreed = [math.nan] * 6
    if on_scale:
        both = agreement({"judge": scores, "people": truth})
        pair = both.pairs[0]
        agreed = [pair.kappa, pair.kappa_linear, pair.kappa_quadratic]
        agreed += [both.alpha_nominal, both.alpha_ordinal, both.alpha_interval]
    found = associate(scores, truth, resamples=1)
    figures = [*decided, *agreed, found.pearson.value, found.spearman.value, found.kendall.value]
    return PeopleAgreement(len(scores), *figures)


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


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan
