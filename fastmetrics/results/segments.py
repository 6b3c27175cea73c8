"""Segments of rows by the values of columns, and why rows have no score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_number, is_text, rounded
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.display import number
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.specs import Better
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.stats.attempts import question_scores
from fastmetrics.stats.summed_scores import added_up

# Segments of rows by the values of columns, numbers in quartiles; their order in tables, the worst first.


DISTINCT = 12
"""Numeric columns with more distinct values are divided into quartiles."""
_QUARTERS = 4


class SegmentName(str):
    """The name of a segment, ``language=en, length=[10, 20)``, with the value of each column."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, values: Mapping[str, str]) -> SegmentName:
        """The name of the segment that these values define."""
        name = cls(", ".join(f"{column}={value}" for column, value in values.items()))
        name.values = values
        return name


def with_segment_columns(table: pa.Table, segments: Sequence[str | None]) -> pa.Table:
    """The table with the values of the segments of its rows, a column each; null where a segment has none.

    A column that the table has already is named ``by_…``.
    """
    values = [segment.values if isinstance(segment, SegmentName) else {} for segment in segments]
    for name in dict.fromkeys(name for each in values for name in each):
        own = f"by_{name}" if name in table.column_names else name
        table = table.append_column(own, pa.array([each.get(name) for each in values], pa.string()))
    return table


FEW_ROWS = 30
"""Segments with fewer rows are marked."""


def few_rows_note(segments: Collection[str]) -> list[str]:
    """What the mark of small segments means, if there are any.

    >>> few_rows_note({"language=en", "language=ru"}), few_rows_note([])
    (['* fewer than 30 rows: 2 segments'], [])
    """
    many = len(segments)
    return [f"* fewer than {FEW_ROWS} rows: {many:,} segment{'s' * (many != 1)}"] if many else []


@dataclass(frozen=True)
class Segment:
    """A group of rows: its description, and its rows in ascending order."""

    name: str | None
    rows: Ints


def segments_of(columns: Sequence[tuple[str, pa.Array]]) -> list[Segment]:
    """The groups of rows with equal values in all columns, named ``language=en, length=[10, 20)``, sorted by value.

    Null is a separate value.  Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    codes, cuts = np.zeros(len(columns[0][1]), np.int64), [_cut(name, column) for name, column in columns]
    for numbers, values in cuts:
        codes = codes * len(values) + numbers
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if not len(starts):
        return []
    firsts = order[starts]
    parts = ([values[number] for number in numbers[firsts].tolist()] for numbers, values in cuts)
    names = [name for name, _ in columns]
    together = (SegmentName.of(dict(zip(names, values, strict=True))) for values in zip(*parts, strict=True))
    return [Segment(name, rows) for name, rows in zip(together, np.split(order, starts[1:]), strict=True)]


def _cut(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """The group number of each row, and the groups' values; the text "null" is in quotes beside null."""
    kind = column.type
    if pa.types.is_nested(kind):
        raise ColumnError(f"column {name!r} holds {kind}; segments need text, numbers, dates or booleans")
    numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if numeric and pc.count_distinct(column).as_py() > DISTINCT:
        return _quarters(name, column)
    distinct = pc.unique(column)
    distinct = distinct.take(pc.sort_indices(distinct))
    numbers = pc.index_in(column, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    spelled = {None: "null", "null": '"null"' if distinct.null_count else "null"}
    return numbers, [str(spelled.get(value, value)) for value in distinct.to_pylist()]


def range_texts(name: str, columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Several columns, of which numbers of many values are the texts of the quarters that they lie in together."""
    numeric = [column for column in columns if not is_text(column.type) and not pa.types.is_null(column.type)]
    if len(numeric) < len(columns) or not is_number(numeric[0].type):
        return list(columns)
    every = pa.concat_arrays([column.cast(pa.float64()) for column in columns])
    if pc.count_distinct(every).as_py() <= DISTINCT:
        return list(columns)
    numbers, labels = _quarters(name, every)
    texts = pa.array(labels).take(pa.array(numbers))
    starts = np.cumsum([0, *map(len, columns)])
    return [texts.slice(start, len(column)) for start, column in zip(starts, columns, strict=False)]


def _quarters(name: str, column: pa.Array) -> tuple[Ints, list[str]]:
    """Numbers divided at their quartiles into half-open ranges; the last range is closed."""
    values = as_numbers(column, name)
    has_value = ~np.isnan(values)
    edges = np.unique(np.quantile(values[has_value], np.linspace(0, 1, _QUARTERS + 1)))
    inner = edges[1:-1]
    numbers = np.searchsorted(inner, values, side="right").astype(np.int64)
    labels = [
        f"[{number(float(low))}, {number(float(high))}{']' if at == len(edges) - 2 else ')'}"
        for at, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    if not has_value.all():
        numbers[~has_value] = len(labels)
        labels.append("null")
    return numbers, labels


def cluster_numbers(name: str, column: pa.Array) -> Ints:
    """The group number of each row; a row without a group (null) is its own group.

    Raises ``ColumnError`` for a column of lists or other unordered values.
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} holds {column.type}, which cannot define groups")
    if pa.types.is_null(column.type):
        return np.arange(len(column))
    numbers = np.array(pc.rank(column, tiebreaker="dense").to_numpy(), np.int64)
    alone = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    numbers[alone] = numbers.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return numbers


def worst_first(segments: Iterable[Any], figure: str, better: Better) -> list[Any]:
    """The segments by a figure, the worst first, equal ones by name; those without the figure last."""

    def place(one: Any) -> tuple[bool, float, str]:
        value = getattr(one, figure)
        if math.isnan(value):
            return True, 0.0, ""
        return False, -value if better == "lower" else value, one.segment

    return sorted(segments, key=place)


# Why rows have no score: the run failed there, or the metric is undefined there.


@dataclass(frozen=True)
class ScoreStates:
    """One metric of one run by row; a row is a question, with several answers if the run repeats it.

    Files store missing and undefined scores as null and count them in their metadata.  If a metric has both, a row
    without a score is ``doubtful``, and ``most_failed`` of these rows failed.
    """

    values: Floats
    """The mean of the row's scores; NaN without a score."""
    answers: Ints
    """The number of answers that the run should have: of a question, as many as of any; 0 for a row that it lacks."""
    scored: Ints
    """The number of answers with a score."""
    failed: Ints
    """The number of answers without a score that failed."""
    undefined: Flags
    """Rows without a score where the metric is undefined."""
    doubtful: Flags
    """Rows without a score that may have failed."""
    most_failed: int
    n_infinite: int = 0
    """Scores that are infinite, and so undefined."""

    @classmethod
    def of(cls, run: ScoreRun, metric: str, precision: type[np.floating] | None = None) -> ScoreStates:
        """The states of a run's own rows, with the scores in the ``precision`` of a comparison."""
        column = run.read([metric]).column(0)
        values = rounded(as_numbers(column), precision)
        null = column.is_null().to_numpy()
        finite = np.isfinite(values)
        n_null, n_undefined = int(null.sum()), _undefined(run.metadata, metric, len(values), int(null.sum()))
        certain = null & (n_undefined == 0)
        nan = np.isnan(values) & ~null  # in memory: undefined, or unread, which counts as failed
        n_unread = min(_unread(run.metadata, metric, len(values)), int(nan.sum()))
        certain |= nan & (n_unread == int(nan.sum()))
        undefined = np.isinf(values) | (nan & (n_unread == 0)) | (null & (n_undefined == n_null))
        doubtful = (null | nan) & ~certain & ~undefined
        most_failed = (n_null - n_undefined) * bool((doubtful & null).any()) + n_unread * bool((doubtful & nan).any())
        return cls(
            values=np.where(finite, values, np.nan),
            answers=np.ones(len(values), np.int64),
            scored=finite.astype(np.int64),
            failed=certain.astype(np.int64),
            undefined=undefined,
            doubtful=doubtful,
            most_failed=most_failed,
            n_infinite=int(np.isinf(values).sum()),
        )

    def added_up(self, answers: Ints) -> ScoreStates:
        """The states of answers from those of their rounds, whose values add up; the sum lacks no round."""
        sums = added_up(self.values, answers)
        has = ~np.isnan(sums)
        failed, doubtful = (np.bincount(answers, states) > 0 for states in (self.failed, self.doubtful))
        return ScoreStates(
            values=sums,
            answers=np.ones(len(sums), np.int64),
            scored=has.astype(np.int64),
            failed=(~has & failed).astype(np.int64),
            undefined=~has & ~failed & ~doubtful,
            doubtful=~has & ~failed & doubtful,
            most_failed=self.most_failed,
            n_infinite=self.n_infinite,
        )

    def by_question(self, questions: Ints) -> ScoreStates:
        """The states of questions from those of their answers; beside a scored answer, a doubtful one failed."""
        counts = np.bincount(questions)
        answers = np.full(len(counts), counts.max(initial=0))
        scored, failed, doubtful = (
            np.bincount(questions, states).astype(np.int64) for states in (self.scored, self.failed, self.doubtful)
        )
        failed = np.where(scored > 0, failed + doubtful, failed)
        means = np.full(len(counts), np.nan)
        means[scored > 0] = question_scores(self.values, questions).means
        nothing = (scored == 0) & (failed == 0)
        undefined, unsure = nothing & (doubtful == 0), nothing & (doubtful > 0)
        return ScoreStates(means, answers, scored, failed, undefined, unsure, self.most_failed, self.n_infinite)

    def placed(self, rows: Ints) -> ScoreStates:
        """The states in another order: of the row ``rows[r]`` for each r, or of no row for −1."""
        exists = rows >= 0

        def moved(values: Any, nothing: Any) -> Any:
            placed = np.full(len(rows), nothing, values.dtype)
            placed[exists] = values[rows[exists]]
            return placed

        return ScoreStates(
            values=moved(self.values, np.nan),
            answers=moved(self.answers, 0),
            scored=moved(self.scored, 0),
            failed=moved(self.failed, 0),
            undefined=moved(self.undefined, False),
            doubtful=moved(self.doubtful, False),
            most_failed=self.most_failed,
            n_infinite=self.n_infinite,
        )

    @cached_property
    def has(self) -> Flags:
        """The rows with a score."""
        has: Flags = self.scored > 0
        return has

    def counting(self, score: float, rows: Ints) -> Floats:
        """The means of the rows with a score, their failed answers counted with this ``score``."""
        failed = self.failed[rows]
        return self._mixed(failed / np.maximum(self.scored[rows] + failed, 1), score, rows)

    def counting_beyond(self, other: ScoreStates, score: float, rows: Ints) -> Floats:
        """The means of the rows with a score; answers that only the ``other`` run scores count as this ``score``."""
        return self._mixed(self.more_unscored(other, rows), score, rows)

    def more_unscored(self, other: ScoreStates, rows: Ints) -> Floats:
        """By how much the share of a row's answers without a score exceeds that of the ``other`` run."""
        excess: Floats = np.maximum(self._share_unscored(rows) - other._share_unscored(rows), 0.0)
        return excess

    def _share_unscored(self, rows: Ints) -> Floats:
        share: Floats = 1 - self.scored[rows] / np.maximum(self.answers[rows], 1)
        return share

    def _mixed(self, share: Floats, score: float, rows: Ints) -> Floats:
        values = self.values[rows]
        return np.where(self.has[rows] & (share > 0), values + share * (score - values), values)


def _undefined(metadata: ScoreMetadata, metric: str, n_rows: int, n_null: int) -> int:
    """How many nulls of a score column are undefined by the metadata; 0 if these describe other rows."""
    counts = (metadata.metrics or {}).get(metric)
    if counts is None or counts.n_rows != n_rows:
        return 0
    known = counts.n_missing + counts.n_undefined + counts.n_error == n_null
    return counts.n_undefined - metadata.n_unread(metric) if known else 0


def _unread(metadata: ScoreMetadata, metric: str, n_rows: int) -> int:
    """How many rows of a score column could not be read by the metadata; 0 if these describe other rows."""
    return metadata.n_unread(metric) if metadata.rows == n_rows else 0
