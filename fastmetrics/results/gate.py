"""Checking scores against rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.declaration.metric import Better
from fastmetrics.errors import ColumnError, OptionError, UnknownNameError
from fastmetrics.errors.messages import Argument
from fastmetrics.results.comparison import compare
from fastmetrics.results.comparison_result import Compared, Comparison
from fastmetrics.results.declared_metrics import declared_better, declared_statistics
from fastmetrics.results.gate_result import Checked, Gate
from fastmetrics.results.gate_rules import SHARES, Rule, parse_rules, read_rules
from fastmetrics.results.score_files import ScoreFile
from fastmetrics.results.score_runs import ScoreRun, open_run
from fastmetrics.results.segments import segments_of
from fastmetrics.results.summary import Summary, summarize


def gate(
    scores: Any,
    require: Sequence[str] | str = (),
    *,
    rules: str | Path | None = None,
    baseline: Any = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    on: str | None = None,
    by_position: bool = False,
    allow_differences: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Gate:
    """Check scores against rules; ``passed`` of the result is True if all rules are met.

    ``scores`` is a score file, a folder, an address or a table of scores; ``require`` contains rules as text, ``rules``
    is a TOML file of rules (:func:`fastmetrics.results.gate_rules.read_rules`).  A rule names a metric, one of its
    figures (by default its mean; a label such as ``abstain_rate`` or a corpus metric is a figure too), a comparison and
    a number: ``token_f1 >= 0.6``, ``latency_ms.p95 < 800``, ``token_f1.share_missing <= 1%``.

    ``delta`` (scores − baseline) and ``drop`` (how much worse than the baseline, by the direction of the metric) need a
    ``baseline``.  They are judged by the less favourable bound of their interval, at ``confidence``: ``token_f1.drop <=
    0.01`` is met if the rows show that the drop is not greater.  ``drop <= 0.01`` applies to every metric that both
    have.  ``cluster``, ``on``, ``by_position``, ``allow_differences`` and ``seed`` are as in
    :func:`fastmetrics.results.comparison.compare`.

    ``where language=ru`` restricts a rule to some rows, by columns that the run kept; ``where language=*`` applies it
    to each value.  ``with n >= 50`` requires that number of rows with a score; a rule with fewer rows is not met.  With
    ``*``, smaller segments are skipped and counted.  An undefined figure meets no rule.

    >>> import fastmetrics as fm
    >>> found = fm.gate({"token_f1": [0.5, 1.0, 0.9]}, ["token_f1 >= 0.6", "token_f1.min > 0.5"])
    >>> found.passed, [one.met for one in found]
    (False, [True, False])

    Raises ``OptionError`` for a malformed rule, ``UnknownNameError`` for an unknown name in a rule, and the errors of
    ``compare``.
    """
    asked = [*(parse_rules(require) if len(require) or rules is None else []), *(read_rules(rules) if rules else [])]
    run = open_run(scores)
    held = _Held(run, scores)

    @cache
    def compared(by: tuple[str, ...]) -> Comparison:
        return compare(
            {"baseline": baseline, "scores": run},
            by=list(by) or None,
            cluster=cluster,
            tests="t",
            correction="none",
            confidence=confidence,
            on=on,
            by_position=by_position,
            allow_differences=allow_differences,
            seed=seed,
            threads=threads,
        )

    changed = _Changed(None if baseline is None else compared)
    found = [one for rule in asked for one in (changed if rule.relative else held).checked(rule)]
    name = None if baseline is None else open_run(baseline).name
    return Gate(run.name, found, name, confidence, [*changed.notes, *held.notes])


class _Held:
    """The summaries of the scores and of segments of them."""

    def __init__(self, run: ScoreRun, scores: Any) -> None:
        self._run = run
        self._scores = scores
        self.notes: list[str] = []

    def checked(self, rule: Rule) -> Iterator[Checked]:
        """The checks of a rule against its rows, or against those of each segment."""
        wanted = {rule.metric: [rule.figure]} if rule.figure and rule.figure.startswith("p") else {}
        if not rule.where:
            summary = summarize(self._batches(), statistics=self._statistics(wanted))
            yield self._judged(rule, summary, None)
            return
        small = 0
        for name, rows in self._segments(rule):
            summary = summarize(rows, statistics=self._statistics(wanted))
            one = self._judged(rule, summary, name)
            if "*" in rule.where.values() and one.n < rule.least:
                small += 1
            else:
                yield one
        self.notes += _passed_over(rule, small)

    def _batches(self) -> Any:
        """The scores as ``summarize`` takes them; for a file, with its metadata about undefined rows."""
        if isinstance(self._scores, str | Path):
            return ScoreFile.open(self._scores).batches
        return self._run.read(self._run.scores)

    def _statistics(self, wanted: Mapping[Any, Sequence[Any]]) -> dict[str, list[str]]:
        declared = {name: list(some) for name, some in declared_statistics(self._run.scores).items()}
        return {**declared, **{name: [*declared.get(name, []), *some] for name, some in wanted.items()}}

    def _segments(self, rule: Rule) -> list[tuple[str, pa.Table]]:
        """The score tables of a rule's segments; raises ``ColumnError`` if there are none."""
        columns = [(name, self._run.column(name, f"for rule {rule.text!r}")) for name in rule.where]
        table = self._run.read(self._run.scores)
        rows = np.ones(table.num_rows, bool)
        for (name, column), value in zip(columns, rule.where.values(), strict=True):
            if value != "*":
                equal = pc.equal(column.cast(pa.large_string()), value).fill_null(False).to_numpy(zero_copy_only=False)
                if not equal.any():
                    held = ", ".join(map(str, pc.unique(column.drop_null())[:5].to_pylist()))
                    raise ColumnError(f"rule {rule.text!r}: no row has {name}={value}; the column contains {held}")
                rows &= equal
        if not rows.any():
            raise ColumnError(f"rule {rule.text!r}: no row has all of {_where(rule)}")
        places = np.flatnonzero(rows)
        each = [(name, column.take(pa.array(places))) for name, column in columns if rule.where[name] == "*"]
        if not each:
            return [(_where(rule), table.take(pa.array(places)))]
        return [(str(one.name), table.take(pa.array(places[one.rows]))) for one in segments_of(each)]

    def _judged(self, rule: Rule, summary: Summary, segment: str | None) -> Checked:
        value, n = _figure(rule, summary)
        return Checked(rule, str(rule.metric), segment, value, n, n >= rule.least and rule.met(value))


def _passed_over(rule: Rule, count: int) -> list[str]:
    """The note on segments that are too small for a rule."""
    if not count:
        return []
    return [f"{rule.text}: {count:,} segment{'s' * (count != 1)} of fewer than {rule.least:,} rows skipped"]


def _where(rule: Rule) -> str:
    return ", ".join(f"{column}={value}" for column, value in rule.where.items())


def _figure(rule: Rule, summary: Summary) -> tuple[float, int]:
    """The figure of a rule and its number of rows; raises ``UnknownNameError`` for an unknown name."""
    name = str(rule.metric)
    if name not in summary:
        if rule.figure is None and name in summary.figures:
            labelled = {label: flat.rpartition(".")[0] for flat, label in summary.labels.items()}
            n = summary[labelled[name]].n if labelled.get(name) in summary else summary.n_rows
            return summary.figures[name], n
        known = [*summary, *summary.figures]
        raise UnknownNameError(f"rule {rule.text!r}: {UnknownNameError.of('metric', name, known).message}")
    metric, figure = summary[name], rule.figure or "mean"
    if figure in SHARES:
        rows = metric.n + metric.n_missing + metric.n_undefined + metric.n_error
        return (getattr(metric, SHARES[figure]) / rows if rows else math.nan), metric.n
    return float(metric.extra[figure] if figure in metric.extra else getattr(metric, figure)), metric.n


class _Changed:
    """The scores compared with a baseline, by the columns of the rules."""

    def __init__(self, compared: Callable[[tuple[str, ...]], Comparison] | None) -> None:
        self._compared = compared
        self.notes: list[str] = []

    def checked(self, rule: Rule) -> Iterator[Checked]:
        """The checks of a rule against each of its metrics and segments."""
        if self._compared is None:
            raise OptionError(f"rule {rule.text!r} needs a ", Argument("baseline"))
        found = self._compared(tuple(rule.where))
        some = [one for one in found if (one.segment is None) == (not rule.where)]
        names = dict.fromkeys(one.metric for one in some)
        if rule.metric is not None and rule.metric not in names:
            raise UnknownNameError(f"rule {rule.text!r}: {UnknownNameError.of('metric', rule.metric, names).message}")
        some = [one for one in some if rule.metric in (None, one.metric) and _fits(rule, one.segment)]
        if not some:
            raise ColumnError(f"rule {rule.text!r}: no row has {_where(rule)}")
        large = [one for one in some if "*" not in rule.where.values() or one.n_paired >= rule.least]
        self.notes += _passed_over(rule, len(some) - len(large))
        better = declared_better(names)
        for one in large:
            n = one.n_paired
            value, low, high = _change(rule, one, better.get(one.metric))
            bound = high if rule.compare in ("<", "<=") else low
            yield Checked(rule, one.metric, one.segment, value, n, n >= rule.least and rule.met(bound), low, high)


def _fits(rule: Rule, segment: str | None) -> bool:
    """Whether a segment, named as by ``segments_of``, belongs to the rule."""
    wanted = ", ".join(
        f"{re.escape(name)}={'.*' if value == '*' else re.escape(value)}" for name, value in rule.where.items()
    )
    return segment is None or re.fullmatch(wanted, segment, re.DOTALL) is not None


def _change(rule: Rule, one: Compared, better: Better) -> tuple[float, float, float]:
    """Δ and its interval, or the drop, which is −Δ if higher is better."""
    if rule.figure == "delta" or better == "lower":
        return one.delta, one.low, one.high
    return -one.delta, -one.high, -one.low
