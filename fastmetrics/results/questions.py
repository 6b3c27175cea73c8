"""One metric of a run by question: its score, or why there is none; several answers to a question as one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, floats_of_arrow, rounded
from fastmetrics.base.column_names import adds_up
from fastmetrics.base.columns import codes_of
from fastmetrics.base.errors import InputError
from fastmetrics.base.score_metadata import ScoreMetadata, counts_column
from fastmetrics.results.row_groups import (
    Repeats,
    added_up,
)
from fastmetrics.results.score_columns import INCLUSION
from fastmetrics.results.score_table import ScoreTable, one_array
from fastmetrics.stats.attempts import QuestionScores, question_scores

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
    def of(cls, run: ScoreTable, metric: str, precision: type[np.floating] | None = None) -> ScoreStates:
        """The states of a run's own rows, with the scores in the ``precision`` of a comparison."""
        column, metadata = run.read([metric]).column(0), run.metadata
        values = rounded(floats_of_arrow(one_array(column), metric), precision)
        null, infinite = column.is_null().to_numpy(), np.isinf(values)
        nan = np.isnan(values) & ~null  # in memory: undefined, or unread, which counts as failed
        n_null, n_nan = int(null.sum()), int(nan.sum())
        n_undefined = _undefined(metadata, metric, len(values), n_null)
        n_unread = min(metadata.n_unread(metric) if metadata.rows == len(values) else 0, n_nan)
        unsure_null, unsure_nan = n_undefined not in (0, n_null), n_unread not in (0, n_nan)
        failed = (null & (n_undefined == 0)) | (nan & (n_unread == n_nan))
        if metric + INCLUSION in run.columns:  # a row that was not drawn did not fail
            failed &= ~np.isnan(run.values(metric + INCLUSION))
        doubtful = (null & unsure_null) | (nan & unsure_nan)
        most_failed = (n_null - n_undefined) * (unsure_null and n_null > 0) + n_unread * unsure_nan
        values = np.where(infinite, np.nan, values)
        return cls._of_answers(values, failed, doubtful, most_failed, int(infinite.sum()))

    @classmethod
    def _of_answers(
        cls, values: Floats, failed: Flags, doubtful: Flags, most_failed: int, n_infinite: int
    ) -> ScoreStates:
        """The states of single answers: those without a score are undefined, unless they failed or may have."""
        scored = ~np.isnan(values)
        failed = failed & ~scored
        doubtful = doubtful & ~scored & ~failed
        undefined, ones = ~scored & ~failed & ~doubtful, np.ones(len(values), np.int64)
        counts = scored.astype(np.int64), failed.astype(np.int64)
        return cls(values, ones, *counts, undefined, doubtful, most_failed, n_infinite)

    def added_up(self, answers: Ints) -> ScoreStates:
        """The states of answers from those of their rounds, whose values add up; the sum lacks no round."""
        failed, doubtful = (np.bincount(answers, states) > 0 for states in (self.failed, self.doubtful))
        return self._of_answers(added_up(self.values, answers), failed, doubtful, self.most_failed, self.n_infinite)

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
        placed: dict[str, Any] = {}
        for name in ("values", "answers", "scored", "failed", "undefined", "doubtful"):
            own = getattr(self, name)
            placed[name] = np.full(len(rows), np.nan if name == "values" else 0, own.dtype)
            placed[name][exists] = own[rows[exists]]
        return replace(self, **placed)

    @cached_property
    def has(self) -> Flags:
        """The rows with a score."""
        has: Flags = self.scored > 0
        return has

    def counting(self, score: float, rows: Ints) -> Floats:
        """The means of the rows with a score, their failed answers counted with this ``score``."""
        failed, values = self.failed[rows], self.values[rows]
        share = failed / np.maximum(self.scored[rows] + failed, 1)
        return np.where(self.has[rows] & (share > 0), values + share * (score - values), values)


def _undefined(metadata: ScoreMetadata, metric: str, n_rows: int, n_null: int) -> int:
    """How many nulls of a score column are undefined by the metadata; 0 if these describe other rows."""
    counts = (metadata.metrics or {}).get(metric)
    if counts is None or counts.n_rows != n_rows:
        return 0
    known = counts.n_missing + counts.n_undefined + counts.n_error == n_null
    return counts.n_undefined - metadata.n_unread(metric) if known else 0


# Runs with several answers to each question, reduced to one row per question before rows are paired.


@dataclass(frozen=True)
class RepeatedRun:
    """A run with several answers to each question: rows of the same id, system and parameters."""

    run: ScoreTable
    """All answers."""
    rows: Repeats
    """The question and the answer of each row, numbered from 0 in the order of first occurrence."""

    def scores(self, metric: str) -> QuestionScores:
        """The scores of a metric by question; infinite scores are no scores."""
        states, questions = self.states(metric)
        return question_scores(states.values, questions)

    def states(self, metric: str, precision: type[np.floating] | None = None) -> tuple[ScoreStates, Ints]:
        """The scores of a metric by answer, and the question of each; tokens and prices of its rounds are added."""
        states = ScoreStates.of(self.run, metric, precision)
        if self.rows.answers is None or not adds_up(self.run.spec(metric)):
            return states, self.rows.questions
        return states.added_up(self.rows.answers), self.rows.of_answers

    def reduced(self) -> ScoreTable:
        """The run with one row per question.

        A score is the mean of the question's scores, of tokens and prices the sum over rounds; counts of corpus metrics
        are added; of other columns, the first answer's value is taken.
        """
        questions = None if self.run.questions is None else self.run.questions.take(pa.array(self.rows.first_rows))
        return replace(self.run, read=self._read_means, sorted={}, questions=questions)

    def varies(self, name: str) -> bool:
        """Whether a column has several values in the rows of one question."""
        if name not in self.run.columns:
            return False
        codes = codes_of(self.run.column(name), name)
        return bool((codes != codes[self.rows.first_rows][self.rows.questions]).any())

    def describe(self) -> str:
        """How many answers the questions have, for a note."""
        return f"{self.run.name}: {self.rows.note(any(adds_up(self.run.spec(name)) for name in self.run.scores))}"

    def _read_means(self, names: Sequence[str]) -> pa.Table:
        table = self.run.read(names)
        counted = {counts_column(metric): metric for metric in self.run.counted}
        columns = []
        for name in table.column_names:
            if name in self.run.scores:
                states, questions = self.states(name)
                columns.append(pa.array(states.by_question(questions).values))
            elif name in counted:
                columns.append(self._added(counted[name]))
            else:
                columns.append(one_array(table.column(name)).take(pa.array(self.rows.first_rows)))
        return pa.table(columns, names=table.column_names)

    def _added(self, metric: str) -> pa.Array:
        counts, counted = self.run.counts(metric)
        sums, questions = np.zeros((len(self.rows.first_rows), counts.shape[1]), np.int64), self.rows.questions[counted]
        np.add.at(sums, questions, counts[counted])
        lists = pa.FixedSizeListArray.from_arrays(pa.array(sums.ravel()), max(counts.shape[1], 1))
        has_counts = np.bincount(questions, minlength=len(sums)) > 0
        return lists.take(pa.array(np.arange(len(sums)), mask=~has_counts))


def repeated_run(run: ScoreTable, key: str) -> RepeatedRun | None:
    """The run by questions if its ids, in the column ``key``, repeat; None if they are unique.

    Raises ``InputError`` for two answers with the same number, and for one id with different questions.
    """
    by_id = run.sorted_ids(key)
    if by_id.are_distinct:
        return None
    ids, numbered, has_rounds = by_id.text, run.repeat_column, run.round_column is not None
    repeats = None if numbered is None else codes_of(run.column(numbered), numbered) + 1
    rows = Repeats.of(by_id.numbers + 1, repeats, has_rounds)
    if repeats is not None and not has_rounds:
        _check_numbers(run, key, ids, rows.questions, repeats)
    _check_questions(run, ids, rows)
    return RepeatedRun(run, rows)


def _check_numbers(run: ScoreTable, key: str, ids: pa.Array, questions: Ints, repeats: Ints) -> None:
    """Raise ``InputError`` if one question has two answers with the same number."""
    order = np.lexsort((repeats, questions))
    same = (np.diff(questions[order]) == 0) & (np.diff(repeats[order]) == 0)
    if same.any():
        row = int(order[1:][same].min())
        where = f"columns {key!r} and {run.repeat_column!r} of {run.name}"
        repeat = run.column(str(run.repeat_column))[row].as_py()
        raise InputError(
            f"{where}: the id {ids[row].as_py()!r} has the repeat {repeat!r} twice, the second in row {row}"
        )


def _check_questions(run: ScoreTable, ids: pa.Array, rows: Repeats) -> None:
    """Raise ``InputError`` if the answers under one id are to different questions."""
    if run.question_column is None:
        return
    texts = run.column(run.question_column)
    differ = pc.not_equal(texts, texts.take(pa.array(rows.first_rows[rows.questions]))).fill_null(False)
    if pc.any(differ).as_py():
        row = int(np.flatnonzero(differ.to_numpy(zero_copy_only=False))[0])
        other = f"{run.name}, row {row}: the id {ids[row].as_py()!r} has another question than before"
        raise InputError(f"{other}; give each question its own id")
