"""The section of quality against cost and latency: which of several systems no other one beats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats, is_number
from fastmetrics.base.column_names import is_cost, is_price
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.display import number
from fastmetrics.base.token_counts import COUNTS, TOTAL
from fastmetrics.reporting.sections.section import WORDS, Section, SectionInput
from fastmetrics.results.main_metric import concerns_of, first_metrics
from fastmetrics.results.score_columns import declared_better
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.stats.sums import exact_mean

_LATENCY = "latency_ms"
_SHOWN = 4
"""Maximum number of metrics in the table."""


@dataclass(frozen=True)
class TradeOffs:
    """The figures of each system, and whether another one beats it in quality and every cost."""

    heads: Sequence[str]
    lines: Sequence[tuple[str, ...]]
    left_out: int
    """Systems without the columns of costs."""


def trade_offs(section_input: SectionInput) -> TradeOffs | None:
    """The trade-offs of systems; None unless two of them have scores of one metric and its costs or latencies."""
    runs = [run for run in section_input.systems if run.read([]).num_rows]
    axes = [axis for axis in (_cost_column(runs), _LATENCY) if _number_having(runs, axis) > 1]
    runs = [run for run in runs if all(_is_number(run, axis) for axis in axes)]
    metrics = _quality(runs, axes, section_input.options.main)
    if not axes or not metrics or len(runs) < 2:
        return None
    names = [run.name for run in runs]
    values = {axis: [_finite(as_numbers(run.read([axis]).column(0))) for run in runs] for axis in axes}
    means = {name: [section_input.summaries[run.name].metrics[name].mean for run in runs] for name in metrics}
    better = declared_better(metrics, runs[0].declared)
    lower = [name for name in metrics if better[name] == "lower"]
    costs = {axis: [_typical(axis, some) for some in several] for axis, several in values.items()}
    titles = {axis: f"{axis} (p50)" if axis == _LATENCY else axis for axis in axes}
    first = [(-1 if metrics[0] in lower else 1) * mean for mean in means[metrics[0]]]
    beaten = _beaten(np.array([first, *(-np.array(some) for some in costs.values())]))
    tails = [[_tail(some) for some in values[_LATENCY]]] if _LATENCY in values else []
    columns = [*means.values(), *costs.values(), *tails]
    heads = (*metrics, *titles.values(), *(f"{_LATENCY} (p95)" for _ in tails))
    lines = [
        (name, *(number(column[at]) for column in columns), "" if beaten[at] else "✓") for at, name in enumerate(names)
    ]
    return TradeOffs(heads, lines, len(section_input.systems) - len(runs))


def _cost_column(runs: Sequence[ScoreTable]) -> str:
    """The first column of prices that two systems have, else that of tokens."""
    names = dict.fromkeys(name for run in runs for name in run.columns if is_price(name))
    return next((name for name in names if _number_having(runs, name) > 1), TOTAL)


def _is_number(run: ScoreTable, column: str) -> bool:
    return column in run.columns and is_number(run.type_of(column))


def _number_having(runs: Sequence[ScoreTable], column: str) -> int:
    return sum(_is_number(run, column) for run in runs)


def _quality(runs: Sequence[ScoreTable], axes: Sequence[str], main: str | None) -> list[str]:
    """The metrics with a direction that all systems have but those of cost, the main one first."""
    if not runs:
        return []
    shared = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    better = {**dict.fromkeys(shared), **declared_better(shared, runs[0].declared)}
    costs = {*axes, _LATENCY, *COUNTS}
    quality = [name for name in shared if better[name] and name not in costs and not is_cost(name)]
    first = first_metrics(
        concerns_of(quality, runs[0].spec), runs[0].spec, better, main if main in quality else None
    ).values()
    return list(dict.fromkeys([*first, *quality]))[:_SHOWN]


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _typical(axis: str, values: Floats) -> float:
    """The median of latencies, which have a long tail; the mean of costs, which add up."""
    return math.nan if not len(values) else float(np.median(values)) if axis == _LATENCY else exact_mean(values)


def _tail(values: Floats) -> float:
    return float(np.percentile(values, 95)) if len(values) else math.nan


def _beaten(goods: Floats) -> list[bool]:
    """For each column, whether another one is as good in every line and better in one; unknown ones are not beaten."""
    return [bool(((goods >= own[:, None]).all(axis=0) & (goods > own[:, None]).any(axis=0)).any()) for own in goods.T]


SECTION = Section(
    "tradeoffs",
    labels=WORDS["sections"]["tradeoffs"],
    content=trade_offs,
    template="{% include 'tradeoffs_section.html' %}",
)
