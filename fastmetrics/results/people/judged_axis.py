"""One judge for one judged column: statuses, consistency, tokens and cost, segments, and agreement with people."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats
from fastmetrics.base.arrow import is_list
from fastmetrics.base.columns import as_array, as_numbers
from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.base.input_columns import CALL, COLUMNS, COMPLETION_TOKENS, LATENCIES, LATENCY, PROMPT_TOKENS
from fastmetrics.core.prices import Price
from fastmetrics.results.people.estimate import RowLabels
from fastmetrics.results.people.judge_report_result import AxisReport, PeopleAgreement, SegmentMean
from fastmetrics.results.price_tables import price_of
from fastmetrics.results.rows.segments import segments_of
from fastmetrics.stats.agreement import agreement, kappa_interval, scale_kappa
from fastmetrics.stats.association import associate
from fastmetrics.stats.estimates import Estimate, Interval
from fastmetrics.stats.judge_quality import (
    Consistency,
    JudgeDecisions,
    Pairwise,
    judge_consistency,
    judge_decisions,
    judge_error_rate,
    judge_latency,
    pairwise,
    status_counts,
)
from fastmetrics.stats.labels import positive_from
from fastmetrics.stats.prediction_powered import powered_mean

_ANSWER = ("answer", *COLUMNS["answer"].aliases)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class AxisOptions:
    """The properties of a judged column's rubric, and the caller's options."""

    span: tuple[float, float]
    kind: Any
    price: Price | None
    by: Sequence[str]
    positive: float | None
    confidence: float
    systems: tuple[str, ...] = ("A", "B")
    """The names of the two systems that are compared."""


def price_of_judge(settings: Mapping[str, Any], prices: Any) -> Price | None:
    """The price of the judge's model, if the model is known."""
    if prices is None or not isinstance(settings.get("model"), str):
        return None
    return price_of(settings["model"], prices)


def axis_report(judge: str, table: pa.Table, axis: str, labels: RowLabels | None, how: AxisOptions) -> AxisReport:
    """The report of one judge for one judged column; ``labels`` are those of people, if there are any."""
    scores, truth = as_numbers(table.column(axis)), None
    if labels is not None:
        scores, truth = labels.beside(table.column(axis))
        how = replace(how, positive=labels.threshold(how.positive, table.column(axis)))
    statuses = _statuses(table, axis)
    latencies = _latencies(table, axis)
    values = scores[~np.isnan(scores)]
    both = None if truth is None else ~np.isnan(scores) & ~np.isnan(truth)
    calls = _one_row_per_call(table, axis)
    prompt_tokens, completion_tokens = (_total(calls, axis + name) for name in (PROMPT_TOKENS, COMPLETION_TOKENS))
    priced = how.price is not None and prompt_tokens is not None and completion_tokens is not None
    return AxisReport(
        judge=judge,
        axis=axis,
        n_rows=len(scores),
        n=len(values),
        mean=_mean(values),
        statuses=status_counts(table.column(f"{axis}_status").to_pylist()),
        error_rate=judge_error_rate(statuses),
        consistency=None if how.kind == "pairwise" else _consistency(table, axis, how.span, how.confidence),
        latency=None if latencies is None else judge_latency(latencies),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=how.price.cost(prompt_tokens or 0, completion_tokens or 0) if how.price is not None and priced else None,
        length_spearman=_with_length(table, scores),
        segments=_segments(table, scores, how.by),
        people=None if truth is None or both is None else _people(scores[both], truth[both], how),
        powered=None
        if truth is None or both is None or not both.any()
        else powered_mean(scores, truth, how.confidence),
        orders=_orders(table, axis, how) if how.kind == "pairwise" else None,
        systems=how.systems if how.kind == "pairwise" else (),
        decisions=_decided(table, axis, scores, truth, how.confidence) if how.kind == "decision" else None,
    )


_IDENTICAL = "identical"


def _orders(table: pa.Table, axis: str, how: AxisOptions) -> Pairwise | None:
    """The verdicts on two answers: the first half of a row's repeats used one order, the second half the other.

    An odd number of replies lacks the last of the second order.
    """
    if not _has_lists(table, f"{axis}_scores"):
        return None
    a, b = how.systems
    tie = "a tie" if "tie" in how.systems else "tie"
    verdict_of = {1.0: a, 0.5: tie, 0.0: b}
    first, second, rows, identical = [], [], [], []
    columns = (table.column(f"{axis}_{name}").to_pylist() for name in ("scores", "status"))
    for row, (scores, status) in enumerate(zip(*columns, strict=True)):
        verdicts = [verdict_of.get(score) for score in scores or ()]
        half = (len(verdicts) + 1) // 2
        first += verdicts[:half]
        second += [*verdicts[half:], *[None] * (2 * half - len(verdicts))]
        rows += [row] * half
        identical += [status == _IDENTICAL] * half
    return pairwise(first, second, a=a, b=b, tie=tie, rows=rows, identical=identical, confidence=how.confidence)


def _decided(
    table: pa.Table, axis: str, scores: Floats, truth: Floats | None, confidence: float
) -> JudgeDecisions | None:
    """The decisions against the labels, if these are 0 and 1; repeats that differ give no decision."""
    if truth is None or not np.isin(truth[~np.isnan(truth)], (0.0, 1.0)).all():
        return None
    clear = np.where(np.isin(scores, (0.0, 1.0)), scores, np.nan)
    latencies = _latencies(table, axis)
    return judge_decisions(clear, truth, latency_ms=() if latencies is None else latencies, confidence=confidence)


def _statuses(table: pa.Table, axis: str) -> list[str | None]:
    """The statuses of all calls, including repeats if they are stored."""
    if _has_lists(table, f"{axis}_statuses"):
        return [status for row in table.column(f"{axis}_statuses").to_pylist() for status in row or ()]
    return list(table.column(f"{axis}_status").to_pylist())


def _has_lists(table: pa.Table, name: str) -> bool:
    """Whether the repeats are stored; in CSV that lost its metadata, lists are text."""
    return name in table.column_names and is_list(table.column(name).type)


def _consistency(table: pa.Table, axis: str, span: tuple[float, float], confidence: float) -> Consistency | None:
    if not _has_lists(table, f"{axis}_scores"):
        return None
    return judge_consistency(table.column(f"{axis}_scores"), range=span, confidence=confidence)


def _latencies(table: pa.Table, axis: str) -> pa.ChunkedArray | None:
    """The latency of each judgement, of all repeats if the table has them."""
    name = axis + LATENCIES if _has_lists(table, axis + LATENCIES) else axis + LATENCY
    return table.column(name) if name in table.column_names else None


def _one_row_per_call(table: pa.Table, axis: str) -> pa.Table:
    """The first of the rows that share their calls, which were paid for once; rows without a call have no tokens."""
    if axis + CALL not in table.column_names:
        return table
    ids = table.column(axis + CALL).to_numpy()
    return table.take(pa.array(np.unique(ids.astype(str), return_index=True)[1]))


def _total(table: pa.Table, name: str) -> int | None:
    return int(pc.sum(table.column(name)).as_py() or 0) if name in table.column_names else None


def _with_length(table: pa.Table, scores: Floats) -> float | None:
    name = next((column for column in table.column_names if column.lower() in _ANSWER), None)
    if "answer_words" in table.column_names:
        words = as_numbers(table.column("answer_words"))
    elif name is not None:
        texts = table.column(name).to_pylist()
        words = np.array([math.nan if text is None else len(_WORD.findall(text)) for text in texts], np.float64)
    else:
        return None
    both = ~np.isnan(scores) & ~np.isnan(words)
    return associate(scores[both], words[both]).spearman.value


def _segments(table: pa.Table, scores: Floats, by: Sequence[str]) -> list[SegmentMean]:
    for name in by:
        if name not in table.column_names:
            raise ColumnError(f"by: {UnknownNameError.of('column', name, table.column_names)}")
    if not by:
        return []
    segments = []
    for segment in segments_of([(name, as_array(table.column(name), name)) for name in by]):
        values = scores[segment.rows][~np.isnan(scores[segment.rows])]
        segments.append(SegmentMean(str(segment.name), len(values), _mean(values)))
    return segments


def _people(scores: Floats, truth: Floats, how: AxisOptions) -> PeopleAgreement:
    span, level = how.span, how.confidence
    on_scale = len(truth) > 0 and span[0] <= truth.min() and truth.max() <= span[1]
    least = how.positive if how.positive is not None else positive_from(truth) if on_scale else None
    figures: dict[str, Any] = dict.fromkeys((field.name for field in fields(PeopleAgreement)), math.nan)
    intervals: dict[str, Interval] = {}
    if least is not None and len(truth):
        decisions = judge_decisions(scores >= least, truth >= least, confidence=level)
        for name in ("accuracy", "precision", "recall", "f1"):
            figures[name], intervals[name] = _apart(getattr(decisions, name))
    if on_scale:
        both = agreement({"judge": scores, "people": truth}, confidence=level)
        figures["kappa"] = both.pairs[0].kappa
        intervals["kappa"] = both.pairs[0].intervals["kappa"]
        figures["kappa_linear"] = scale_kappa(scores, truth, 1)
        figures["kappa_quadratic"] = scale_kappa(scores, truth, 2)
        for power, name in ((1, "kappa_linear"), (2, "kappa_quadratic")):
            intervals[name] = kappa_interval(scores, truth, power, level)
        for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval"):
            figures[name] = getattr(both, name)
            intervals |= {name: both.intervals[name]} if name in both.intervals else {}
    related = associate(scores, truth, confidence=level)
    for name in ("pearson", "spearman", "kendall"):
        figures[name], intervals[name] = _apart(getattr(related, name))
    return PeopleAgreement(**{**figures, "n": len(scores), "intervals": intervals})


def _apart(estimate: Estimate) -> tuple[float, Interval]:
    return estimate.value, Interval(estimate.low, estimate.high, estimate.interval, estimate.note)


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan
