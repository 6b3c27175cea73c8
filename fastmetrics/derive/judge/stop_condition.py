"""Conditions that end judging early (``correctness.delta.low > 0 or width < 0.02``): parsing, and what is known.

::

    until     = all {"or" all}
    all       = condition {"and" condition}
    condition = [rubric "."] reading compare number
    reading   = n | [delta "."] (mean | low | high | width)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import number
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.input_columns import PREFIX
from fastmetrics.base.options import LimitedText, argument
from fastmetrics.derive.prompts.rubric import Rubric
from fastmetrics.results.gate_rules import Rule, parse_rule
from fastmetrics.stats.estimates import Estimate, between
from fastmetrics.stats.mean_interval import confidence_sequence

_CONFIDENCE = 0.95
_NAME = re.compile(r"(?:(?P<rubric>(?!delta\.).+?)\.)?(?P<reading>(?P<delta>delta\.)?(?:mean|low|high|width)|n)")
_READINGS = "n, mean, low, high, width, delta.mean, delta.low, delta.high or delta.width"


@dataclass(frozen=True)
class MeanEstimate:
    """What is known of a rubric's mean, or of its change against the baseline, from ``n`` rows with a score."""

    estimate: Estimate
    n: int

    def reading(self, name: str) -> float:
        """A figure of the estimate: n, mean, low, high or width."""
        estimate = self.estimate
        return {
            "n": self.n,
            "mean": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "width": estimate.high - estimate.low,
        }[name]

    def __str__(self) -> str:
        estimate = self.estimate
        return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)}), {self.n:,} scores"


@dataclass(frozen=True)
class _Condition:
    """A comparison of a figure; ``axes`` are the columns of the rubrics, which must all meet it."""

    rule: Rule
    axes: Sequence[str]
    reading: str
    is_change: bool

    def met(self, estimates: Mapping[tuple[str, bool], MeanEstimate]) -> bool:
        """Whether the figure of every rubric meets the comparison; a figure without rows does not."""
        return all(self.rule.met(estimates[axis, self.is_change].reading(self.reading)) for axis in self.axes)


@dataclass(frozen=True)
class StopCondition:
    """When judging ends: if all comparisons of one of the ``alternatives`` are met."""

    text: str
    alternatives: Sequence[Sequence[_Condition]]
    ranges: Mapping[str, tuple[float, float]]

    @property
    def figures(self) -> list[tuple[str, bool]]:
        """The estimates that the condition reads: the column of a rubric, and whether it is a change."""
        conditions = [condition for comparison in self.alternatives for condition in comparison]
        return list(
            dict.fromkeys((axis, comparison.is_change) for comparison in conditions for axis in comparison.axes)
        )

    @property
    def needs_baseline(self) -> bool:
        """Whether the condition reads a change."""
        return any(is_change for _, is_change in self.figures)

    def estimates(
        self, scores: Mapping[str, Floats], before: Mapping[str, Floats]
    ) -> dict[tuple[str, bool], MeanEstimate]:
        """The estimates after these rows, in the order in which they were judged; NaN is no score.

        ``before`` has the baseline's scores of the same rows.  The intervals are confidence sequences, which hold
        together with a probability of 95 % however often one looks: each has a level of 1 − 5 %/k for k estimates.
        """
        level = 1 - (1 - _CONFIDENCE) / len(self.figures)
        by_name = {}
        for axis, is_change in self.figures:
            values = scores[axis] - before[axis] if is_change else scores[axis]
            bounds = between(self.ranges[axis]) if is_change else self.ranges[axis]
            by_name[axis, is_change] = MeanEstimate(
                confidence_sequence(values, bounds, level), int((~np.isnan(values)).sum())
            )
        return by_name

    def met(self, estimates: Mapping[tuple[str, bool], MeanEstimate]) -> bool:
        """Whether judging may end."""
        return any(all(condition.met(estimates) for condition in conditions) for conditions in self.alternatives)


def parse_until(text: str, rubrics: Sequence[Rubric]) -> StopCondition:
    """Parse a condition for these rubrics; a comparison without a rubric's name is to be met by all of them.

    >>> from fastmetrics.derive.prompts.rubric import find_rubrics
    >>> condition = parse_until("correctness.delta.low > 0 or width < 0.02", find_rubrics("correctness"))
    >>> condition.figures
    [('judge_correctness', True), ('judge_correctness', False)]

    Raises ``OptionError`` for a syntax error, an unknown rubric or reading.
    """
    argument("until", text, LimitedText(10_000, "a condition"))
    alternatives = [
        [_condition(piece, rubrics) for piece in re.split(r"\s+and\s+", alternative)]
        for alternative in re.split(r"\s+or\s+", text)
    ]
    return StopCondition(text.strip(), alternatives, {rubric.axis: rubric.range for rubric in rubrics})


def _condition(text: str, rubrics: Sequence[Rubric]) -> _Condition:
    if "(" in text or ")" in text:
        raise OptionError(Argument("until", text), ": parentheses are not supported; 'and' binds before 'or'")
    rule = parse_rule(text)
    split = _NAME.fullmatch(".".join(filter(None, (rule.metric, rule.reading))))
    if split is None:
        raise OptionError(Argument("until", text), f": expected {_READINGS}, after a rubric's name and a dot if needed")
    if rule.where or rule.least is not None or rule.unpaired is not None:
        raise OptionError(Argument("until", text), ": expected a comparison without 'where' and 'with'")
    if rule.percent or rule.compare == "==":
        raise OptionError(Argument("until", text), ": expected <, <=, > or >= and a number without %")
    axes = [rubric.axis for rubric in rubrics]
    if split["rubric"] is not None:
        axis = PREFIX + split["rubric"].removeprefix(PREFIX)
        if axis not in axes:
            estimates = ", ".join(rubric.name for rubric in rubrics)
            raise OptionError(Argument("until", text), f": {split['rubric']!r} is no rubric of this run: {estimates}")
        axes = [axis]
    is_change = split["delta"] is not None
    return _Condition(rule, axes, split["reading"].removeprefix("delta."), is_change)
