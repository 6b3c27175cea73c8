"""Whether an answer to a multiple-choice question states the right choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ids, Ints, Text, Tokens, numpy_values
from fastmetrics.base.options import Choice
from fastmetrics.kernels.token_overlap import within_any
from fastmetrics.metrics.batch import Batch, Caution, Finder, Options, Unread
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import lists, same
from fastmetrics.text.stated_choices import (
    LONE,
    NONE,
    SEVERAL,
    UNCLEAR,
    denials,
    lone_letters,
    lone_numbers,
    spans,
    stated_choices,
    stated_words,
)
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

    def texts(self, rows: Ints) -> pa.Array:
        """Some texts as they are."""
        return _texts(self.batch.text(self.column).take(self.rows[rows]))

    def numbers(self, rows: Ints) -> Ids:
        """The number that each of some texts states, below 0 for none."""
        texts = self.texts(rows)
        return lone_numbers(texts) if self.whole else stated_choices(texts, digits=True)

    def words(self, rows: Ints) -> Tokens:
        """The ``plain`` tokens of some texts."""
        return self.batch.tokens(self.column, "plain").take(self.rows[rows])

    @property
    def is_numeric(self) -> bool:
        """Whether the column held numbers."""
        return self.column in self.batch.numeric


def _texts(text: Text) -> pa.Array:
    return spans(frozen(text.data), frozen(text.starts), frozen(text.stops))


@dataclass(frozen=True)
class StatedIn:
    """The choices that texts state; ``whole`` asks that nothing but a letter or a number stands in a text."""

    whole: bool

    def of(self, batch: Batch, column: str, options: Options) -> Stated:
        """The column's letters."""
        read = lone_letters if self.whole else stated_choices
        letters = batch.remember(("letters", column, self.whole), lambda: read(_texts(batch.text(column))))
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

    def texts(self, row: int) -> list[str]:
        """The texts of a row as they are."""
        place = self.rows[row]
        return self.batch.text(self.column).take(np.arange(self.groups[place], self.groups[place + 1])).strings()

    def codes(self) -> Ids:
        """The letter or number that each text of the column consists of."""

        def make() -> Ids:
            texts = _texts(self.batch.text(self.column))
            return _codes(lone_letters(texts), lone_numbers(texts))

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
    """The places of the choices that answers state: by a letter, by the text of a choice, or by a number; or NONE,
    SEVERAL or UNCLEAR.

    A number states the right choice if it is the number of the reference, whatever both count from, or a label.
    """
    lone = answer.letters >= LONE
    chosen = _place_of(np.where(lone, answer.letters - LONE, answer.letters), labels)
    if choices is not None:
        batch = answer.batch
        named = batch.remember(("named", answer.column, choices.column), lambda: _named(batch, answer, choices))
        named = named[answer.rows]
        chosen = np.where(named != NONE, named, chosen)
    unstated = (chosen == NONE) | (chosen == UNCLEAR)
    rows = np.flatnonzero(unstated & (right.numbers >= 0) if labels is None else unstated)
    if len(rows):
        digits = answer.numbers(rows)
        found = np.where(digits == right.numbers[rows], right.places[rows], NONE)
        if labels is not None:
            found = _place_of(np.where(digits >= 0, digits + _LETTERS, NONE), labels, rows, found)
        told = (digits == SEVERAL) | ((digits >= 0) & (found >= 0))
        chosen[rows[told]] = np.where(digits == SEVERAL, SEVERAL, found)[told]
    return chosen


def _place_of(codes: Ids, labels: Listed | None, rows: Ints | None = None, others: Ids | None = None) -> Ids:
    """The places of labels with these codes; without labels the codes, or ``others``."""
    others = codes.copy() if others is None else others
    if labels is None:
        return others
    found = _labelled(codes, labels, np.arange(len(codes)) if rows is None else rows)
    return np.where(found >= 0, found, others)


def _named(batch: Batch, answer: Stated, choices: Listed) -> Ids:
    """The choice whose words are in each answer of a batch without a clear letter; of several that which contains the
    others, else the last that is stated.
    """
    every = np.arange(batch.n_rows)
    answer, choices = StatedIn(answer.whole).of(batch, answer.column, {}), replace(choices, rows=every)
    rows = np.flatnonzero((answer.letters >= LONE) | ((answer.letters < 0) & (answer.letters != SEVERAL)))
    texts, groups = choices.words(rows)
    owner, n = np.repeat(np.arange(len(rows)), np.diff(groups)), len(rows)
    held = within_any(lists(answer.words(rows)), np.arange(n + 1), 1, lists(texts), groups) & (texts.counts > 0)
    places = np.flatnonzero(held)
    found, longest = np.full(n, NONE, np.int32), np.zeros(n, np.int64)
    np.maximum.at(longest, owner[places], texts.counts[places])
    best = places[texts.counts[places] == longest[owner[places]]][::-1]
    found[owner[best]] = best - groups[owner[best]]
    others = places[found[owner[places]] != places - groups[owner[places]]]
    one_each = np.arange(len(others) + 1)
    within = lists(texts.take(groups[owner[others]] + found[owner[others]]))
    apart = owner[others[~within_any(within, one_each, 1, lists(texts.take(others)), one_each)]]
    found[apart] = SEVERAL
    one = np.flatnonzero(found >= 0)
    doubtful = np.sort(np.append(np.flatnonzero(found == SEVERAL), one[denials(answer.texts(rows[one]))]))
    if len(doubtful):
        strings = answer.texts(rows[doubtful]).to_pylist()
        said = stated_words(strings, [choices.texts(row) for row in rows[doubtful].tolist()])
        several = np.where(said == UNCLEAR, SEVERAL, said)
        found[doubtful] = np.where((found[doubtful] >= 0) & (said != NONE), found[doubtful], several)
    named = np.full(batch.n_rows, NONE, np.int32)
    named[rows] = found
    return named


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


def _unread(batch: Batch, options: Options) -> Iterator[Unread]:
    """The answers whose choice cannot be told, and those that state none, which are wrong."""
    answer, reference = StatedIn(whole=False), StatedIn(whole=True)
    stated = answer.of(batch, "answer", options)
    owner = batch.owners("reference")
    owner = np.arange(batch.n_rows) if owner is None else owner
    pairs = np.flatnonzero((stated.letters[owner] < 0) | (stated.letters[owner] >= LONE))
    rows = owner[pairs]
    choices, labels = (
        ListedIn("").of(batch, name, options).take(rows) if name in batch.columns else None for name in _LISTED
    )
    references = reference.of(batch, "reference", options).take(pairs)
    scores, chosen = _judged(stated.take(rows), references, choices, labels, options["numbers"])
    right, told = np.zeros(batch.n_rows, np.bool_), np.zeros((3, batch.n_rows), np.bool_)
    right[rows[scores == 1]] = True
    for flags, what in zip(told, (SEVERAL, UNCLEAR, NONE), strict=True):
        flags[rows[chosen == what]] = True
    several, unclear, none = told & ~right
    advice = "ask for 'Answer: B', or take the answer by extract='boxed' or 'regex:…'"
    yield Unread("state two or more choices last", several, advice)
    yield Unread("name a letter but do not say that it is the choice", unclear, advice)
    yield Unread("state no choice", none, advice, scored=True)


@metric(
    bounds=(0, 1),
    better="higher",
    source="multiple-choice accuracy, as of MMLU; the forms that models write",
    cues=["mmlu", "multiple_choice", "mcq", "accuracy", "letter_match"],
    caution=_cautions,
    unread=_unread,
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

    The answer's choice is the letter that it states last: ``\\boxed{B}``, "The answer is **B**", "It can't be A.
    Therefore B.", "B is right", in the forms of a dozen languages; or with which it or its last line begins ("B",
    "b)", "B) Paris"); or the only capital, in brackets or of all.  Denied letters and the words "A" and "I" do not
    count.  Without a letter it is the one of ``choices`` whose words are in the answer; of several, that which contains
    the others, or that is stated last.  An answer that states no choice is wrong, and counted.  One that states two ("A
    or B"), or has letters and does not say which it means, is undefined, and counted.

    The ``reference`` is a letter, one of ``choice_labels``, the text of a choice, or its number.  ``numbers="auto"``
    counts from 0; a number in a column of texts that is the text of a choice means that choice.  A number behind
    "answer" or alone is an answer, if the reference or a label is one.  Of a text that no choice has, the answer must
    contain the words.

    ``choices`` are lists, objects (``{"text": […], "label": […]}``, ``{"A": …}``), or several columns
    (``columns={"choices": "[A, B, C, D]"}``).

    >>> import fastmetrics as fm
    >>> fm.choice_match(["The answer is **B**.", "(A) Rome", r"so \boxed{\text{B}}"], ["B"] * 3)
    array([1., 0., 1.])
    >>> fm.choice_match(["It must be Paris.", "B"], ["B", "Paris"], [["Rome", "Paris"]] * 2)
    array([1., 1.])
    """
    return _judged(answer, reference, choices, choice_labels, numbers)[0]


def _judged(
    answer: Stated, reference: Stated, choices: Listed | None, labels: Listed | None, numbers: str
) -> tuple[Floats, Ids]:
    """The score of each row, NaN where it cannot be told, and the choice that its answer states."""
    right = _right_choices(reference, choices, labels, numbers)
    chosen = _chosen(answer, right, choices, labels)
    scores = np.where(chosen < NONE, np.nan, (chosen == right.places) & (right.places >= 0))
    by_number = (right.numbers >= 0) & ~_listed(choices, len(scores))
    by_text = (right.places < 0) | (by_number & (not reference.is_numeric))
    rows = np.flatnonzero(by_text & (scores != 1))
    if len(rows):  # the right choice has no letter
        one_each = np.arange(len(rows) + 1)
        texts, wanted = lists(answer.words(rows)), lists(reference.words(rows))
        held = within_any(texts, one_each, 1, wanted, one_each)
        scores[rows] = np.where(held | (right.places[rows] < 0), held, scores[rows])
    rows = np.flatnonzero(scores != 1)
    equal = pc.equal(answer.texts(rows), reference.texts(rows))
    scores[rows[numpy_values(equal)]] = 1.0
    return scores, np.where((right.places < 0) & (chosen < 0), _OF_NO_CHOICE, chosen)


_OF_NO_CHOICE = -9
"""What an answer states whose reference is no choice."""
