"""The metrics that a rule names: columns of scores, labels of their figures, and corpus metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.input_columns import is_axis, is_cost
from fastmetrics.base.specs import Better
from fastmetrics.metrics.corpus_values import columns_of_corpus, is_corpus
from fastmetrics.metrics.stored_declarations import Stored
from fastmetrics.results.gate.corpus_metric import CountedMetric, SummaryFigure
from fastmetrics.results.gate.row_metric import Level, RowMetric, Value
from fastmetrics.results.gate.rule_rows import GateRows
from fastmetrics.results.gate.rules import Rule
from fastmetrics.results.runs.declared_metrics import (
    column_named,
    declared,
    declared_bounds,
    declared_labels,
    directions,
    unknown_metric,
)
from fastmetrics.results.runs.score_run import first_declared, shared_metrics
from fastmetrics.results.summary.summary import Summary


class AnyMetric(Protocol):
    """A metric that a rule can read."""

    @property
    def name(self) -> str: ...
    @property
    def better(self) -> Better: ...
    @property
    def has_sequence(self) -> bool: ...

    def n_considered(self, rule: Rule, rows: Ints, unpaired: str | float) -> int:
        """The rows that a rule reads in a segment, with a score or counted without one."""

    def value_for(self, rule: Rule, rows: Ints, unpaired: str | float, level: Level) -> Value:
        """What a rule reads over these rows."""


@dataclass
class GateMetrics:
    """The metrics of the scores, and of a baseline, by the names in rules."""

    rows: GateRows
    stated: Mapping[str, str]
    """The directions of scores that declare none."""
    excluded: Sequence[str]
    """Columns that rules read beside the scores."""
    summarized: Callable[[], Summary]
    """The summary of all scores, which corpus metrics need."""

    @cached_property
    def _stored(self) -> Stored:
        return first_declared([*([] if self.rows.paired is None else [self.rows.paired.runs[0]]), self.rows.run])

    @cached_property
    def _own_names(self) -> list[str]:
        """The columns of scores and the corpus metrics with counts of rows."""
        return list(dict.fromkeys([*self.rows.run.scores, *self.rows.run.counted]))

    @cached_property
    def _directions(self) -> dict[str, Better]:
        return directions(self._own_names, self._stored, self.stated)

    @cached_property
    def _summary(self) -> Summary:
        return self.summarized()

    def of(self, rule: Rule) -> tuple[list[AnyMetric], list[str]]:
        """The metrics that a rule covers, and notes on those that it does not.

        Raises ``UnknownNameError`` for an unknown name, ``OptionError`` for a drop of a metric without a direction.
        """
        if not rule.is_change:
            return [self._figure(rule)], []
        assert self.rows.paired is not None
        shared = [
            name
            for name in self._own_names
            if all(name in (*run.scores, *run.counted) for run in self.rows.paired.runs)
        ]
        if rule.metric is not None:
            name = column_named(rule.metric, shared)
            if name not in shared:
                if name in self._own_names or self._is_corpus(name):
                    shared_metrics(self.rows.paired.runs, [name], counted=True)
                raise self._unknown(rule, shared)
            if rule.is_directed and self._directions[name] is None:
                raise _no_direction(rule, [name])
            return [self._metric(name)], []
        shared = [name for name in shared if name not in self.excluded and not is_cost(name)]
        if not rule.is_directed:
            return [self._metric(name) for name in shared], []
        neutral = [name for name in shared if self._directions[name] is None]
        unknown = [name for name in neutral if name not in declared(neutral, self._stored) and not is_axis(name)]
        if unknown:
            raise _no_direction(rule, unknown)
        note = [f"{rule.text}: not {', '.join(neutral)}, whose values are neither better nor worse"] if neutral else []
        directed = [name for name in shared if name not in neutral]
        if not directed:
            raise UnknownNameError(f"rule {rule.text!r}: the runs share no metric with a direction")
        return [self._metric(name) for name in directed], note

    def _figure(self, rule: Rule) -> AnyMetric:
        """The metric of a rule on the scores alone: a column, a label of a figure, or a corpus metric."""
        assert rule.metric is not None
        labels = {
            label: flat.rpartition(".") for flat, label in declared_labels(self.rows.run.scores, self._stored).items()
        }
        if rule.metric in labels and rule.metric not in self._own_names:
            name, _, statistic = labels[rule.metric]
            return replace(self._row_metric(name), usual=statistic)
        name = column_named(rule.metric, self._own_names)
        if name in self.rows.run.scores:
            return self._metric(name)
        figures = {**self._summary.corpus, **dict.fromkeys(self.rows.run.counted)}
        name = column_named(rule.metric, list(figures))
        if name not in figures or rule.reading not in (None, "mean", "low", "high"):
            raise self._unknown(rule, [*self.rows.run.scores, *self._summary.figures])
        if name in self.rows.run.counted:
            return self._metric(name)
        better = directions([name], self._stored, {})[name]
        n, n_missing = self._rows_behind(name)
        return SummaryFigure(name, better, self._summary.corpus[name], n, n_missing, self.rows)

    def _rows_behind(self, figure: str) -> tuple[int, int]:
        """The rows behind a figure of a corpus metric, and those that are not though they should be.

        Metrics that read scores have the rows with all of them; of others, the metadata count the rows.
        """
        run, n_rows = self.rows.run, self._summary.n_rows
        counts = run.metadata.counts or {}
        metric = next((name for name in counts if figure.startswith(f"{name}.")), figure)
        columns = columns_of_corpus([run.spec(metric)])
        if columns and all(column in run.scores for column in columns):
            alone = GateRows(run, None, n_rows)
            has = np.all([alone.scores(column).has for column in columns], axis=0)
            lost = [RowMetric(column, None, None, alone).without_score(alone.every) for column in columns]
            return int(has.sum()), int(np.any(lost, axis=0).sum())
        n = counts[metric][0] if columns else (run.metadata.cautions or {}).get(metric, [0, n_rows])[1]
        return n, n_rows - n

    def _metric(self, name: str) -> AnyMetric:
        if name in self.rows.run.scores:
            return self._row_metric(name)
        return CountedMetric(name, self._directions[name], self._bounds(name), self.rows)

    def _row_metric(self, name: str) -> RowMetric:
        return RowMetric(name, self._directions[name], self._bounds(name), self.rows)

    def _bounds(self, name: str) -> tuple[float, float] | None:
        return declared_bounds([name], self._stored).get(name)

    def _is_corpus(self, name: str) -> bool:
        return is_corpus(self.rows.run.spec(name))

    def _unknown(self, rule: Rule, names: Sequence[str]) -> UnknownNameError:
        near = unknown_metric(str(rule.metric), names, self._stored).message
        return UnknownNameError(f"rule {rule.text!r}: {near}")


def _no_direction(rule: Rule, names: Sequence[str]) -> OptionError:
    some, plural = ", ".join(map(repr, names[:5])), "s" * (len(names) == 1)
    what, other = ("worse", "equivalent") if rule.is_margin else ("a drop", "delta")
    return OptionError(
        f"rule {rule.text!r}: {some} declare{plural} no direction, so no change is {what}; state it with ",
        Argument("better", {names[0]: "higher"}),
        f" or lower, or use {other}",
    )


def check_sequence(rule: Rule, metrics: Sequence[AnyMetric]) -> None:
    """Raise an ``OptionError`` if a rule reads an interval that has no version which holds at every look."""
    lacking = [metric.name for metric in metrics if not metric.has_sequence]
    without = Argument("interval", "sequential")
    if rule.is_change and rule.percent:
        raise OptionError(
            f"rule {rule.text!r}: a change in per cent has no interval that holds at every look; state the change "
            f"itself, as in '{rule.reading} {rule.compare} 0.02', or check the rule without ",
            without,
        )
    if lacking:
        point = f"{lacking[0]}.{rule.point}" if rule.is_change else lacking[0]
        raise OptionError(
            f"rule {rule.text!r}: {', '.join(lacking[:5])} has no interval that holds at every look, which needs "
            f"scores of rows within declared bounds; read the mean with {point}, or check the rule without ",
            without,
        )
