"""Runs with several answers to each question, reduced to one row per question before rows are paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Ints, rounded
from fastmetrics.base.columns import as_array
from fastmetrics.base.errors import InputError
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.results.runs.score_run import ScoreRun
from fastmetrics.results.runs.sorted_ids import SortedIds
from fastmetrics.stats.pass_at_k import QuestionScores, question_scores


@dataclass(frozen=True)
class RepeatedRun:
    """A run with several answers to each question."""

    run: ScoreRun
    """All answers."""
    questions: Ints
    """The number of each row's question, from 0, in the order of first occurrence."""
    first_rows: Ints
    """The first row of each question."""

    @property
    def counts(self) -> Ints:
        """The number of answers to each question."""
        return np.bincount(self.questions, minlength=len(self.first_rows))

    def scores(self, metric: str) -> QuestionScores:
        """The scores of a metric by question; infinite scores are no scores."""
        values = self.run.values(metric)
        return question_scores(np.where(np.isfinite(values), values, np.nan), self.questions)

    def reduced(self) -> ScoreRun:
        """The run with one row per question.

        A score is the mean of the question's scores; counts of corpus metrics are added; of other columns, the first
        answer's value is taken.
        """
        return replace(self.run, read=self._read_means, sorted={})

    def describe(self) -> str:
        """How many answers the questions have, for a note."""
        counts = self.counts
        least, most = int(counts.min()), int(counts.max())
        many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"{self.run.name}: {many} answers to each of {len(counts):,} questions; a question's score is their mean"

    def _read_means(self, names: Sequence[str]) -> pa.Table:
        table = self.run.read(names)
        counted = {counts_column(metric) for metric in self.run.counted}
        columns = [self._column(name, table.column(name), name in counted) for name in table.column_names]
        return pa.table(columns, names=table.column_names)

    def _column(self, name: str, column: pa.ChunkedArray, is_counts: bool) -> pa.Array:
        if name in self.run.scores:
            return pa.array(self.means(name))
        if is_counts:
            return self._added(name.removesuffix(counts_column("")))
        return as_array(column, name).take(pa.array(self.first_rows))

    def means(self, metric: str, precision: type[np.floating] | None = None) -> Floats:
        """The mean score of each question in the order of ``first_rows``, NaN without a score.

        The scores are rounded to a ``precision`` first: means of equal scores in two precisions are then equal.
        """
        values = rounded(self.run.values(metric), precision)
        has_score = np.isfinite(values)
        means = np.full(len(self.first_rows), np.nan)
        scored = np.unique(self.questions[has_score])
        means[scored] = question_scores(np.where(has_score, values, np.nan), self.questions).means
        return means

    def _added(self, metric: str) -> pa.Array:
        counts, counted = self.run.counts(metric)
        sums = np.zeros((len(self.first_rows), counts.shape[1]), np.int64)
        np.add.at(sums, self.questions[counted], counts[counted])
        lists = pa.FixedSizeListArray.from_arrays(pa.array(sums.ravel()), max(counts.shape[1], 1))
        has_counts = np.bincount(self.questions[counted], minlength=len(sums)) > 0
        return lists.take(pa.array(np.arange(len(sums)), mask=~has_counts))


def repeated_run(run: ScoreRun, key: str, by_design: bool = False) -> RepeatedRun | None:
    """The run by questions if its ids, in the column ``key``, repeat by design; None if they are unique.

    They do if the user says so, if a column ``repeat`` numbers the answers to a question, or if all questions have the
    same number of answers.  Raises ``InputError`` for other duplicates, and for one id with different questions.
    """
    by_id = run.sorted_ids(key)
    if by_id.are_distinct:
        return None
    ids = by_id.text
    questions, first_rows = _in_order_of_rows(by_id)
    numbered = run.repeat_column
    counts = np.bincount(questions)
    if numbered is None and counts.min() != counts.max() and not by_design:
        run.check_distinct(key, "; a column 'repeat' numbers several answers to a question")
    if numbered is not None:
        _check_numbers(run, key, numbered, ids, questions)
    _check_questions(run, ids, questions, first_rows)
    return RepeatedRun(run, questions, first_rows)


def _in_order_of_rows(ids: SortedIds) -> tuple[Ints, Ints]:
    """The number of each row's id, in the order of first occurrence, and the first row of each id."""
    first_rows = ids.order[ids.is_first]
    by_row = np.argsort(first_rows)
    numbers = np.empty(len(by_row), np.int64)
    numbers[by_row] = np.arange(len(by_row))
    return numbers[ids.numbers], first_rows[by_row]


def _check_numbers(run: ScoreRun, key: str, numbered: str, ids: pa.Array, questions: Ints) -> None:
    """Raise ``InputError`` if one question has two answers with the same number."""
    repeats = pc.dictionary_encode(run.column(numbered, ""), null_encoding="encode")
    codes = repeats.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((codes, questions))
    same = (np.diff(questions[order]) == 0) & (np.diff(codes[order]) == 0)
    if same.any():
        row = int(order[1:][same].min())
        where = f"columns {key!r} and {numbered!r} of {run.name}"
        repeat = repeats.dictionary[codes[row]].as_py()
        raise InputError(
            f"{where}: the id {ids[row].as_py()!r} has the repeat {repeat!r} twice, the second in row {row}"
        )


def _check_questions(run: ScoreRun, ids: pa.Array, questions: Ints, first_rows: Ints) -> None:
    """Raise ``InputError`` if the answers under one id are to different questions."""
    if run.question_column is None:
        return
    texts = run.column(run.question_column, "")
    differ = pc.not_equal(texts, texts.take(pa.array(first_rows[questions]))).fill_null(False)
    if pc.any(differ).as_py():
        row = int(np.flatnonzero(differ.to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{run.name}, row {row}: the id {ids[row].as_py()!r} has another question than before")
