"""Whether an answer to a multiple-choice question states the right choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints, Tokens
from fastmetrics.base.options import Choice
from fastmetrics.kernels.choices import NONE, lone_letters, lone_numbers, named_choices
from fastmetrics.kernels.token_overlap import within_any
from fastmetrics.metrics.batch import Batch, Caution, Finder, Options
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import lists, same
from fastmetrics.text.extraction import stated_choices
from fastmetrics.text.tokenize import frozen

# What a text states: a letter, a number, or words.


@dataclass(frozen=True, eq=False)
class Stated:
    """The letters that texts state; numbers and words are read where letters do not decide."""

    letters: Ids
    batch: Batch
    column: str
    rows: Ints
    whole: bool
    """Whether nothing but a letter or a number may stand in a text."""

    def take(self, rows: Ints) -> Stated:
        """The texts ``rows``, which may repeat."""
        return Stated(self.letters[rows], self.batch, self.column, self.rows[rows], self.whole)

    def numbers(self, rows: Ints) -> Ids:
        """The number that each of some texts states, below 0 for none."""
        text = self.batch.text(self.column).take(self.rows[rows])
        read = lone_numbers if self.whole else _stated_digits
        return read(frozen(text.data), frozen(text.starts), frozen(text.stops))

    def words(self, rows: Ints) -> Tokens:
        """The ``plain`` tokens of some texts."""
        return self.batch.tokens(self.column, "plain").take(self.rows[rows])

    @property
    def is_numeric(self) -> bool:
        """Whether the column held numbers."""
        return self.column in self.batch.numeric


def _stated_digits(data: Bytes, starts: Ints, stops: Ints) -> Ids:
    return stated_choices(data, starts, stops, digits=True)


@dataclass(frozen=True)
class StatedIn:
    """The choices that texts state; ``whole`` asks that nothing but a letter or a number stands in a text."""

    whole: bool

    def of(self, batch: Batch, column: str, options: Options) -> Stated:
        """The column's letters."""

        def make() -> Ids:
            text = batch.text(column)
            texts = frozen(text.data), frozen(text.starts), frozen(text.stops)
            return lone_letters(*texts) if self.whole else stated_choices(*texts)

        letters = batch.remember(("letters", column, self.whole), make)
        return Stated(letters, batch, column, np.arange(len(letters)), self.whole)


@dataclass(frozen=True, eq=False)
class Listed:
    """The texts of each row in a column of lists: ``groups[r]:groups[r + 1]``."""

    batch: Batch
    column: str
    groups: Ints
    rows: Ints

    def take(self, rows: Ints) -> Listed:
        """The lists of ``rows``, which may repeat."""
        return Listed(self.batch, self.column, self.groups, self.rows[rows])

    @property
    def sizes(self) -> Ints:
        """The number of texts of each row."""
        return self.groups[self.rows + 1] - self.groups[self.rows]

    def places(self, rows: Ints) -> tuple[Ints, Ints]:
        """The places of the texts of some rows in the column, and which belong to each."""
        starts, stops = self.groups[self.rows[rows]], self.groups[self.rows[rows] + 1]
        bounds = np.concatenate([[0], np.cumsum(stops - starts)])
        return np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], stops - starts), bounds

    def words(self, rows: Ints) -> tuple[Tokens, Ints]:
        """The ``plain`` tokens of the texts of some rows, and which belong to each."""
        places, bounds = self.places(rows)
        return self.batch.tokens(self.column, "plain").take(places), bounds

    def codes(self) -> Ids:
        """The letter or number that each text of the column consists of."""

        def make() -> Ids:
            text = self.batch.text(self.column)
            texts = frozen(text.data), frozen(text.starts), frozen(text.stops)
            return _codes(lone_letters(*texts), lone_numbers(*texts))

        return self.batch.remember(("codes", self.column), make)


def _codes(letters: Ids, numbers: Ids) -> Ids:
    """One number for what is a letter or a number, below 0 for neither."""
    return np.where(letters >= 0, letters, np.where(numbers >= 0, numbers + _LETTERS, letters))


_LETTERS = 26


@dataclass(frozen=True)
class ListedIn:
    """The texts of a column of lists."""

    kind: str

    def of(self, batch: Batch, column: str, options: Options) -> Listed:
        """The column's texts."""
        groups = batch.text(column).groups
        return Listed(batch, column, np.arange(batch.n_rows + 1) if groups is None else groups, np.arange(batch.n_rows))


Chosen = Annotated[Stated, StatedIn(whole=False)]
Right = Annotated[Stated, StatedIn(whole=True)]
Choices = Annotated[Listed, ListedIn("choices")]
Labels = Annotated[Listed, ListedIn("values")]
Numbers = Annotated[
    str,
    Choice("auto", "from_0", "from_1", "text"),
    "what references are that are numbers: choices counted from 0 or 1, or their text; auto: see above",
]

# Which choice is right, and which one an answer states.


class RightChoices(NamedTuple):
    """The place of the choice that is right, -1 for an unknown one, and how a reference names it."""

    places: Ids
    numbers: Ids
    """The number of a reference whose choice it counts; below 0 for others."""
    is_unclear: Flags
    """Whether a number counts one choice and is the text of another."""


def _right_choices(reference: Stated, choices: Listed | None, labels: Listed | None, numbers: str) -> RightChoices:
    """The choices that references name: by a letter, by a label, by a number or by their text."""
    right, counted = reference.letters.copy(), np.full(len(reference.letters), NONE, np.int32)
    unclear = np.zeros(len(right), np.bool_)
    rows = np.arange(len(right)) if labels is not None else np.flatnonzero(right < 0)
    if not len(rows):
        return RightChoices(right, counted, unclear)
    stated = reference.numbers(rows)
    if labels is not None:
        labelled = _labelled(_codes(right[rows], stated), labels, rows)
        right[rows] = np.where(labelled >= 0, labelled, right[rows])
        rows, stated = rows[right[rows] < 0], stated[right[rows] < 0]
    places = stated - (numbers == "from_1")
    sizes = np.where(_listed(choices, len(right)), 0 if choices is None else choices.sizes, _LETTERS)[rows]
    places[(stated < 0) | (places >= sizes) | (numbers == "text")] = NONE
    named = np.full(len(rows), NONE, np.int32)
    if choices is not None:
        texts, groups = choices.words(rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(groups))
        equal = np.flatnonzero(same(reference.words(rows).take(owner), texts))[::-1]
        named[owner[equal]] = equal - groups[owner[equal]]
    counts = reference.is_numeric or numbers != "auto"
    by_number = (places >= 0) & (counts | (named < 0))
    right[rows] = np.where(by_number, places, named)
    counted[rows[by_number]] = stated[by_number]
    unclear[rows] = (places >= 0) & (named >= 0) & (places != named)
    return RightChoices(right, counted, unclear)


def _listed(choices: Listed | None, n: int) -> Flags:
    """Whether the choices of each row are known; an empty or null list says nothing."""
    return np.zeros(n, np.bool_) if choices is None else choices.sizes > 0


def _labelled(codes: Ids, labels: Listed, rows: Ints) -> Ids:
    """The place of each code among the labels of its row; -1 for none."""
    places, bounds = labels.places(rows)
    owner = np.repeat(np.arange(len(rows)), np.diff(bounds))
    equal = np.flatnonzero((labels.codes()[places] == codes[owner]) & (codes[owner] >= 0))[::-1]
    found = np.full(len(rows), NONE, np.int32)
    found[owner[equal]] = equal - bounds[owner[equal]]
    return found


def _chosen(answer: Stated, right: RightChoices, choices: Listed | None, labels: Listed | None) -> Ids:
    """The places of the choices that answers state: by a letter, by the text of a choice, or by a number.

    A number states the right choice if it is the number of the reference, whatever both count from, or a label.
    """
    chosen = answer.letters.copy()
    if labels is not None:
        found = _labelled(chosen, labels, np.arange(len(chosen)))
        chosen = np.where(found >= 0, found, chosen)
    rows = np.flatnonzero(chosen == NONE)
    if choices is not None and len(rows):
        texts, groups = choices.words(rows)
        chosen[rows] = named_choices(lists(answer.words(rows)), lists(texts), groups)
    unstated = chosen == NONE
    rows = np.flatnonzero(unstated & (right.numbers >= 0) if labels is None else unstated)
    if len(rows):
        digits = answer.numbers(rows)
        chosen[rows] = np.where((digits >= 0) & (digits == right.numbers[rows]), right.places[rows], NONE)
        if labels is not None:
            found = _labelled(np.where(digits >= 0, digits + _LETTERS, NONE), labels, rows)
            chosen[rows] = np.where(found >= 0, found, chosen[rows])
    return chosen


def _about(find: Callable[[RightChoices], Flags]) -> Finder:
    """A finder of rows by how one of their references names a choice."""

    def rows(batch: Batch, options: Options, columns: Iterable[str]) -> Flags:
        reference = StatedIn(whole=True).of(batch, "reference", options)
        owner = batch.owners("reference")
        owner = np.arange(batch.n_rows) if owner is None else owner
        given = {name: ListedIn("").of(batch, name, options).take(owner) for name in _LISTED if name in columns}
        found = find(_right_choices(reference, given.get("choices"), given.get("choice_labels"), options["numbers"]))
        rows = np.zeros(batch.n_rows, np.bool_)
        rows[owner[found]] = True
        return rows

    return rows


_LISTED = ("choices", "choice_labels")


def _cautions(options: Options) -> tuple[Caution, ...]:
    counted = {"from_1": "from 1 (A is 1)"}.get(options["numbers"], "from 0 (A is 0)")
    other = "from_0" if options["numbers"] == "from_1" else "from_1"
    way = f"numbers={other!r}, as in choice_match(numbers={other!r}), counts from {other[-1]}"
    read = Caution(
        f"name the right choice by a number, read as its place {counted}",
        f"{way}, numbers='text' takes numbers for texts",
        _about(lambda right: right.numbers >= 0),
        least=0,
    )
    unclear = Caution(
        "have a number as reference that is one choice by its place and another one by its text",
        "numbers='from_0' or 'from_1' takes the place, numbers='text' the text (in columns of numbers the place counts "
        "by default, in columns of texts the text)",
        _about(lambda right: right.is_unclear),
        least=0,
    )
    return (read, unclear) if options["numbers"] == "auto" else ()


@metric(
    bounds=(0, 1),
    better="higher",
    source="multiple-choice accuracy, as of MMLU; the forms that models write",
    cues=["mmlu", "multiple_choice", "mcq", "accuracy", "letter_match"],
    caution=_cautions,
)
def choice_match(
    answer: Chosen,
    reference: Right,
    choices: Choices | None = None,
    choice_labels: Labels | None = None,
    *,
    numbers: Numbers = "auto",
) -> Floats:
    r"""1 if the answer states the choice that is right, else 0.

    The answer's choice is a letter from A to Z: in the last ``\boxed{B}``; behind the last "answer", "option" or
    "choice" ("The answer is **B**"); at the start or on the last line ("B", "b)", "B) Paris"); called correct ("So B is
    right"); or the only capital in brackets.  "A" and "I" as words do not count, and two letters ("A or B") are no
    choice.  Without a letter it is the one of ``choices`` whose words are in the answer; of several, that which
    contains the others, else none.

    The ``reference`` is a letter, one of ``choice_labels``, the text of a choice, or its number.  ``numbers="auto"``
    counts from 0; a number in a column of texts that is the text of a choice means that choice.  A number behind
    "answer" or alone is an answer, if the reference or a label is one.  Of a text that no choice has, the answer must
    contain the words.

    ``choices`` are lists, objects (``{"text": […], "label": […]}``, ``{"A": …}``), or several columns
    (``columns={"choices": "[A, B, C, D]"}``).

    >>> import fastmetrics as fm
    >>> fm.choice_match(["The answer is **B**.", "(A) Rome", r"so \boxed{\text{B}}", "A or B"], ["B"] * 4)
    array([1., 0., 1., 0.])
    >>> fm.choice_match(["It must be Paris.", "B"], ["B", "Paris"], [["Rome", "Paris"]] * 2)
    array([1., 1.])
    """
    right = _right_choices(reference, choices, choice_labels, numbers)
    chosen = _chosen(answer, right, choices, choice_labels)
    scores = ((chosen == right.places) & (right.places >= 0)).astype(np.float64)
    by_number = (right.numbers >= 0) & ~_listed(choices, len(scores))
    by_text = (right.places < 0) | (by_number & (not reference.is_numeric))
    rows = np.flatnonzero(by_text & (scores == 0))
    if len(rows):  # the right choice has no letter
        one_each = np.arange(len(rows) + 1)
        texts, wanted = lists(answer.words(rows)), lists(reference.words(rows))
        scores[rows] = within_any(texts, one_each, 1, wanted, one_each)
    return scores
