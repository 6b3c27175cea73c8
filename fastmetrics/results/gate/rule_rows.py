"""The rows of rules: those of a segment, paired with the baseline's, and those that a condition selects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Ints
from fastmetrics.base.errors import ColumnError
from fastmetrics.results.gate.rules import Rule
from fastmetrics.results.rows.pairing import PairedRuns
from fastmetrics.results.rows.score_states import ScoreStates
from fastmetrics.results.rows.segments import Segment, cluster_numbers, segments_of
from fastmetrics.results.runs.score_run import ScoreRun

_FLAGS = {"true": 1, "false": 0}


def matching_rows(name: str, column: pa.Array, value: str) -> Flags:
    """Whether each row of the column has this value, whatever the type of the column.

    Numbers are compared as numbers (``1`` and ``1.0`` are equal), booleans with ``true`` and ``false`` in any case or 1
    and 0, texts as they are.  A text that no row has is compared as a number or boolean too, since files of text store
    these as text.  ``null`` is a missing value unless it is a text of the column.  Raises ``ColumnError`` for a column
    of lists.

    >>> matching_rows("g", pa.array([1.0, 2.0, None]), "1").tolist()
    [True, False, False]
    >>> matching_rows("g", pa.array(["1", "x"]), "1.0").tolist(), matching_rows("b", pa.array([True]), "true").tolist()
    ([True, False], [True])
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} holds {column.type}; rules need text, numbers, dates or booleans")
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    distinct = pc.unique(values)
    texts = distinct.to_pylist()
    same = [text is not None and str(text) == value for text in texts]
    if not any(same):
        number = _number(value)
        same = [number is not None and _number(text) == number for text in texts]
    if not any(same) and value == "null":
        same = [text is None or (isinstance(text, float) and math.isnan(text)) for text in texts]
    codes = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.array(same, np.bool_)[codes]


def _number(value: Any) -> Decimal | None:
    """The number that a value is or spells; true is 1 and false 0."""
    text = str(value).strip()
    try:
        parsed = Decimal(_FLAGS.get(text.lower(), text))
    except InvalidOperation:
        return None
    return parsed if parsed.is_finite() else None


@dataclass(frozen=True)
class GateRows:
    """The rows of the scores, or with a baseline of either run, sorted by id."""

    run: ScoreRun
    paired: PairedRuns | None
    """The baseline and the scores, if there is a baseline."""
    n: int
    cluster: str | None = None
    sequential: bool = False
    """Whether rows count in their order of arrival, up to the last row that the scores have."""
    _states: dict[tuple[int, str], ScoreStates] = field(default_factory=dict, repr=False)

    @property
    def none(self) -> Ints:
        """No rows."""
        return np.zeros(0, np.int64)

    def scores(self, metric: str) -> ScoreStates:
        """The states of a metric of the scores."""
        return self._of(1, metric)

    def baseline(self, metric: str) -> ScoreStates:
        """The states of a metric of the baseline."""
        return self._of(0, metric)

    def _of(self, at: int, metric: str) -> ScoreStates:
        if (at, metric) not in self._states:
            self._states[at, metric] = self._placed_states(at, metric)
        return self._states[at, metric]

    def _placed_states(self, at: int, metric: str) -> ScoreStates:
        if self.paired is None:
            return ScoreStates.of(self.run, metric)
        repeated, precision = self.paired.repetition(at), self.paired.precision(metric)
        if repeated is None:
            return ScoreStates.of(self.paired.runs[at], metric, precision).placed(self.paired.rows[at])
        states = ScoreStates.of(repeated.run, metric, precision).by_question(repeated.questions)
        return states.placed(self.paired.rows[at])

    @cached_property
    def absent(self) -> Flags:
        """The rows that the scores lack."""
        return np.zeros(self.n, np.bool_) if self.paired is None else self.paired.rows[1] < 0

    @cached_property
    def every(self) -> Ints:
        """The rows of rules without ``where``: all, or, looking while rows arrive, those that have arrived, in order.

        A row that the scores lack has not arrived if it comes after all their rows in the baseline.
        """
        if self.paired is None or not self.sequential:
            return np.arange(self.n)
        before, after = self.paired.rows
        last = before[after >= 0].max(initial=-1)
        return self.paired.by_arrival(np.flatnonzero((after >= 0) | (before < last)))

    @cached_property
    def n_rejected(self) -> int:
        """The rows that scoring rejected, except for as many as are known to be absent."""
        return max(0, (self.run.metadata.n_rejected or 0) - int(self.absent[self.every].sum()))

    def column(self, name: str, purpose: str) -> pa.Array:
        """A column of either run; raises a ``ColumnError`` that states its purpose."""
        if self.paired is None or name not in self.paired.runs[0].columns:
            self.run.column(name, purpose)
        return self.run.column(name, purpose) if self.paired is None else self.paired.column(name)

    @cached_property
    def clusters(self) -> Ints | None:
        """The cluster of each row, if rows are clustered."""
        if self.cluster is None:
            return None
        return cluster_numbers(self.cluster, self.column(self.cluster, "to cluster rows by"))

    def segments(self, rule: Rule) -> Sequence[Segment]:
        """The rows of a rule, in segments if it covers each value of a column.

        Raises ``ColumnError`` if the runs lack a column of the rule or no row has a value that it names.
        """
        if not rule.where:
            return [Segment(None, self.every)]
        columns = {name: self.column(name, f"for rule {rule.text!r}") for name in rule.where}
        rows = self.every[self._matching(rule, columns)[self.every]]
        each = [(name, column.take(pa.array(rows))) for name, column in columns.items() if rule.where[name] == "*"]
        if not each:
            return [Segment(", ".join(f"{name}={value}" for name, value in rule.where.items()), rows)]
        return [Segment(segment.name, rows[segment.rows]) for segment in segments_of(each)]

    def _matching(self, rule: Rule, columns: Mapping[str, pa.Array]) -> Flags:
        """The rows with all values that a rule names."""
        rows = np.ones(self.n, np.bool_)
        conditions = [(name, value) for name, value in rule.where.items() if value != "*"]
        for name, value in conditions:
            equal = matching_rows(name, columns[name], value)
            if not equal.any():
                values = ", ".join(map(str, pc.unique(columns[name].drop_null())[:5].to_pylist()))
                raise ColumnError(f"rule {rule.text!r}: no row has {name}={value}; the column contains {values}")
            rows &= equal
        if conditions and not rows.any():
            raise ColumnError(f"rule {rule.text!r}: no row has all of {', '.join(f'{n}={v}' for n, v in conditions)}")
        return rows


def columns_read(rules: Sequence[Rule], cluster: str | None) -> list[str]:
    """The columns beside the scores that rules and clusters read."""
    columns = [name for rule in rules for name in rule.where]
    return list(dict.fromkeys([*columns, *([cluster] if cluster is not None else [])]))
