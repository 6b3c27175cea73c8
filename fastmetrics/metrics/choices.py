"""Whether an answer to a multiple-choice question states the right choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ids, Ints, Text, Tokens
from fastmetrics.kernels.choices import lone_letters, named_choices, stated_letters
from fastmetrics.kernels.token_overlap import within_any
from fastmetrics.metrics.batch import Batch, Options
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import lists, same
from fastmetrics.text.tokenize import frozen

CUES = ("answer", "option", "choice", "choose", "ответ", "Ответ", "答案", "选")
"""What stands before the letter of a choice, with only ``LINKS`` between."""

LINKS = (
    *("is", "are", "was", "would", "should", "must", "be", "the", "correct", "right", "best", "final", "option"),
    *("choice", "letter", "answer", "to", "this", "question", "therefore"),
    *("ответ", "вариант", "буква", "это", "правильный", "верный"),
)


class Packed(NamedTuple):
    """Words in the form that kernels take: word i is ``data[bounds[i]:bounds[i + 1]]``."""

    data: Bytes
    bounds: Ints


def _packed(words: Sequence[str]) -> Packed:
    coded = [word.encode() for word in words]
    bounds = np.concatenate([[0], np.cumsum([len(word) for word in coded])])
    return Packed(np.frombuffer(b"".join(coded), np.uint8), bounds)


_CUES, _LINKS = _packed(CUES), _packed(LINKS)


@dataclass(frozen=True, eq=False)
class Stated:
    """The letters that texts state; their words are read where letters do not decide."""

    letters: Ids
    batch: Batch
    column: str
    rows: Ints

    def take(self, rows: Ints) -> Stated:
        """The texts ``rows``, which may repeat."""
        return Stated(self.letters[rows], self.batch, self.column, self.rows[rows])

    def words(self, rows: Ints) -> Tokens:
        """The ``plain`` tokens of some texts."""
        return self.batch.tokens(self.column, "plain").take(self.rows[rows])


@dataclass(frozen=True)
class StatedIn:
    """The choices that texts state; ``whole`` asks that nothing but a letter stands in a text."""

    whole: bool

    def of(self, batch: Batch, column: str, options: Options) -> Stated:
        """The column's letters."""

        def make() -> Ids:
            text: Text = batch.text(column)
            texts = frozen(text.data), frozen(text.starts), frozen(text.stops)
            return lone_letters(*texts) if self.whole else stated_letters(*texts, *_CUES, *_LINKS)

        letters = batch.remember(("letters", column, self.whole), make)
        return Stated(letters, batch, column, np.arange(len(letters)))


@dataclass(frozen=True, eq=False)
class Listed:
    """The texts of the choices of each row: ``groups[r]:groups[r + 1]``."""

    batch: Batch
    groups: Ints
    rows: Ints

    def take(self, rows: Ints) -> Listed:
        """The choices of ``rows``, which may repeat."""
        return Listed(self.batch, self.groups, self.rows[rows])

    def words(self, rows: Ints) -> tuple[Tokens, Ints]:
        """The ``plain`` tokens of the choices of some rows, and which belong to each."""
        starts, stops = self.groups[self.rows[rows]], self.groups[self.rows[rows] + 1]
        bounds = np.concatenate([[0], np.cumsum(stops - starts)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], stops - starts)
        return self.batch.tokens("choices", "plain").take(places), bounds


@dataclass(frozen=True)
class ListedIn:
    """The texts of the choices."""

    def of(self, batch: Batch, column: str, options: Options) -> Listed:
        """The column's choices."""
        groups = batch.text(column).groups
        return Listed(batch, np.arange(batch.n_rows + 1) if groups is None else groups, np.arange(batch.n_rows))


Chosen = Annotated[Stated, StatedIn(whole=False)]
Right = Annotated[Stated, StatedIn(whole=True)]
Choices = Annotated[Listed, ListedIn()]


def _by_words(answer: Stated, reference: Stated, choices: Listed | None) -> tuple[Ids, Ids]:
    """The letters with those of choices that are named by their text."""
    chosen, right = answer.letters.copy(), reference.letters.copy()
    if choices is None:
        return chosen, right
    rows = np.flatnonzero(chosen == -1)
    if len(rows):
        texts, groups = choices.words(rows)
        chosen[rows] = named_choices(lists(answer.words(rows)), lists(texts), groups)
    rows = np.flatnonzero(right < 0)
    if len(rows):
        texts, groups = choices.words(rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(groups))
        equal = np.flatnonzero(same(reference.words(rows).take(owner), texts))[::-1]
        right[rows[owner[equal]]] = equal - groups[owner[equal]]
    return chosen, right


@metric(
    bounds=(0, 1),
    better="higher",
    source="multiple-choice accuracy, as of MMLU; the forms that models write",
    cues=["mmlu", "multiple_choice", "mcq", "accuracy", "letter_match"],
)
def choice_match(answer: Chosen, reference: Right, choices: Choices | None = None) -> Floats:
    r"""1 if the answer states the choice that is right, else 0.

    The answer's choice is a letter from A to Z: in the last ``\boxed{B}``; behind the last "answer", "option" or
    "choice" ("The answer is **B**", "Answer: (B)"); at the start or on the last line ("B", "b)", "B) Paris"); or the
    only capital in brackets ("(B)").  "A" and "I" as words do not count, and two letters ("A or B") are no choice.
    Without a letter it is the one of ``choices`` whose words are in the answer one after another; of several, that
    which contains the others, else none.  Cues are English, Russian and Chinese.

    The ``reference`` is a letter, or the text of a choice.  Without a list of choices that has the text, the answer
    must contain it as for ``cover_match``.

    >>> import fastmetrics as fm
    >>> fm.choice_match(["The answer is **B**.", "(A) Rome", r"so \boxed{\text{B}}", "A or B"], ["B"] * 4)
    array([1., 0., 1., 0.])
    >>> fm.choice_match(["It must be Paris."] * 2, ["B", "Paris"], [["Rome", "Paris"]] * 2)
    array([1., 1.])
    """
    chosen, right = _by_words(answer, reference, choices)
    scores = ((chosen == right) & (right >= 0)).astype(np.float64)
    rows = np.flatnonzero(right < 0)
    if len(rows):  # the right choice has no letter
        one_each = np.arange(len(rows) + 1)
        texts, wanted = lists(answer.words(rows)), lists(reference.words(rows))
        scores[rows] = within_any(texts, one_each, 1, wanted, one_each)
    return scores
