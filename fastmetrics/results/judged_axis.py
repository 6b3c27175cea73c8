"""One judge for one judged column: statuses, consistency, tokens and cost, segments, and agreement with people."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Floats, as_array
from fastmetrics.core.input_columns import COLUMNS
from fastmetrics.core.judged_names import LATENCY
from fastmetrics.core.prices import Price, price_of
from fastmetrics.errors import ColumnError, UnknownNameError
from fastmetrics.results.judge_report_result import AxisReport, PeopleAgreement, SegmentMean
from fastmetrics.results.segments import segments_of
from fastmetrics.stats.agreement import agreement
from fastmetrics.stats.association import associate
from fastmetrics.stats.decisions import Decisions, judge_decisions
from fastmetrics.stats.human_labels import numbers, positive_from
from fastmetrics.stats.judge_quality import (
    Consistency,
    Latency,
    judge_consistency,
    judge_error_rate,
    judge_latency,
    status_counts,
)
from fastmetrics.stats.pairwise import Pairwise, pairwise
from fastmetrics.stats.prediction_powered import powered_mean

_ANSWER = ("answer", *COLUMNS["answer"].aliases)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Asked:
    """The properties of a judged column's rubric, and the caller's options."""

    span: tuple[float, float]
    kind: Any
    price: Price | None
    by: Sequence[str]
    positive: float | None
    confidence: float


def settings_of(axis: str, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of the rubric and the model of a judged column, from the metadata."""
    scores = metadata.get("scores")
    settings = scores.get(axis) if isinstance(scores, Mapping) else None
    return settings if isinstance(settings, Mapping) else {}


def range_of(settings: Mapping[str, Any]) -> tuple[float, float] | None:
    """The lowest and the highest score, from the settings of the rubric, or None."""
    told = settings.get("range")
    fits = isinstance(told, list) and len(told) == 2 and all(isinstance(one, int | float) for one in told)
    return (float(told[0]), float(told[1])) if fits and told is not None else None


def price_of_judge(settings: Mapping[str, Any], prices: Any) -> Price | None:
    """The price of the judge's model, if the model is known."""
    if prices is None or not isinstance(settings.get("model"), str):
        return None
    return price_of(settings["model"], prices if isinstance(prices, Mapping) else Path(prices))


def axis_report(judge: str, table: pa.Table, axis: str, truth: Floats | None, how: Asked) -> AxisReport:
    """The report of one judge for one judged column; ``truth`` is the human label of each row, NaN without one."""
    scores = numbers(table.column(axis))
    statuses = _statuses(table, axis)
    known = scores[~np.isnan(scores)]
    both = None if truth is None else ~np.isnan(scores) & ~np.isnan(truth)
    read, written = (_total(table, f"{axis}_{kind}_tokens") for kind in ("prompt", "completion"))
    priced = how.price is not None and read is not None and written is not None
    return AxisReport(
        judge=judge,
        axis=axis,
        n_rows=len(scores),
        n=len(known),
        mean=_mean(known),
        statuses=status_counts(table.column(f"{axis}_status").to_pylist()),
        error_rate=judge_error_rate(statuses),
        consistency=None if how.kind == "pairwise" else _consistency(table, axis, how.span),
        latency=_latency(table, axis),
        prompt_tokens=read,
        completion_tokens=written,
        cost=how.price.cost(read or 0, written or 0) if how.price is not None and priced else None,
        length_spearman=_with_length(table, scores),
        segments=_segments(table, scores, how.by),
        people=None if truth is None or both is None else _people(scores[both], truth[both], how.span, how.positive),
        powered=None
        if truth is None or both is None or not both.any()
        else powered_mean(scores, truth, how.confidence),
        orders=_orders(table, axis, how.confidence) if how.kind == "pairwise" else None,
        decisions=_decided(table, axis, scores, truth, how.confidence) if how.kind == "decision" else None,
    )


_VERDICTS = {1.0: "A", 0.5: "tie", 0.0: "B"}


def _orders(table: pa.Table, axis: str, confidence: float) -> Pairwise | None:
    """The verdicts on two answers: the first half of a row's repeats used one order, the second half the other."""
    if not _has_lists(table, f"{axis}_scores"):
        return None
    rows = [row for row in table.column(f"{axis}_scores").to_pylist() if row]
    first = [_VERDICTS.get(one) for row in rows for one in row[: len(row) // 2]]
    second = [_VERDICTS.get(one) for row in rows for one in row[len(row) // 2 :]]
    return pairwise(first, second, confidence=confidence)


def _decided(table: pa.Table, axis: str, scores: Floats, truth: Floats | None, confidence: float) -> Decisions | None:
    """The decisions against the labels, if these are 0 and 1; repeats that differ give no decision."""
    if truth is None or not np.isin(truth[~np.isnan(truth)], (0.0, 1.0)).all():
        return None
    clear = np.where(np.isin(scores, (0.0, 1.0)), scores, np.nan)
    times = numbers(table.column(axis + LATENCY)) if axis + LATENCY in table.column_names else ()
    return judge_decisions(clear, truth, latency_ms=times, confidence=confidence)


def _statuses(table: pa.Table, axis: str) -> list[str | None]:
    """The statuses of all calls, including repeats if they are stored."""
    if _has_lists(table, f"{axis}_statuses"):
        return [one for row in table.column(f"{axis}_statuses").to_pylist() for one in row or ()]
    return list(table.column(f"{axis}_status").to_pylist())


def _has_lists(table: pa.Table, name: str) -> bool:
    """Whether the repeats are stored; CSV cannot store lists."""
    return name in table.column_names and bool(pa.types.is_list(table.column(name).type))


def _consistency(table: pa.Table, axis: str, span: tuple[float, float]) -> Consistency | None:
    if not _has_lists(table, f"{axis}_scores"):
        return None
    return judge_consistency([row for row in table.column(f"{axis}_scores").to_pylist() if row is not None], range=span)


def _latency(table: pa.Table, axis: str) -> Latency | None:
    """The latency of a call: a row's milliseconds cover all its repeats."""
    if axis + LATENCY not in table.column_names:
        return None
    times = numbers(table.column(axis + LATENCY))
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


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan
