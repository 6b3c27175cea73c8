"""Whether an answer states the right number, date, or yes or no, however it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Bytes, Floats, Ints
from fastmetrics.base.options import Choice, Real
from fastmetrics.kernels.claim_support import NOTHING, UNKNOWN, YES, values_match
from fastmetrics.metrics.batch import Batch, Options, Unread, english_and_russian_words
from fastmetrics.metrics.claim_support import Passage, Passages, in_order, passage_in, unread_rows, values_of
from fastmetrics.metrics.metric import RowHooks, metric

Absolute = Annotated[float, Real(0.0, 1e300), "by how much numbers may differ"]
Relative = Annotated[float, Real(0.0, 1e6), "by what share of the reference numbers may differ, as in 0.01"]
Which = Annotated[str, Choice("any", "last"), "which of the answer's values may be the right one"]

SAYS_YES, SAYS_NO = ("yes", "yeah", "yep", "true", "да"), ("no", "nope", "false", "нет")

_WORDS = english_and_russian_words("number words", "numbers in digits count in any language")


def _stances(passage: Passage) -> Ints:
    """1 for each text that begins with a yes, -1 with a no, else 0."""
    tokens, vocabulary = passage.tokens, passage.vocabulary
    first = np.full(len(tokens), -1, np.int64)
    some = tokens.counts > 0
    first[some] = tokens.ids[tokens.starts[some]]
    return np.isin(first, vocabulary.ids_of(SAYS_YES)).astype(np.int64) - np.isin(first, vocabulary.ids_of(SAYS_NO))


def _unread(batch: Batch, options: Options) -> Iterator[Unread]:
    """The rows of which nobody can tell whether the answer has the values of a reference."""
    answer, reference = (passage_in(batch, column, options) for column in ("answer", "reference"))
    how = {name: options[name] for name in ("absolute", "relative", "which")}
    matches, culprits = _matches(answer, reference, **how)
    owner = np.repeat(np.arange(batch.n_rows), np.diff(reference.groups))
    right = np.bincount(owner[matches == YES], minlength=batch.n_rows) > 0
    texts = np.flatnonzero((matches == UNKNOWN) & ~right[owner])
    texts = texts[np.unique(owner[texts], return_index=True)[1]]
    places = ((values_of(reference), culprits[texts] - 1), (values_of(answer), -1 - culprits[texts]))
    found = [(values, some[some >= 0], owner[texts[some >= 0]]) for values, some in places]
    yield from unread_rows(answer.vocabulary, found, batch.n_rows)


def _matches(answer: Passage, reference: Passage, absolute: float, relative: float, which: str) -> tuple[Bytes, Ints]:
    """What ``values_match`` says of each text of the reference."""
    own, wanted, last = values_of(answer), values_of(reference), which == "last"
    ordered = np.zeros(len(answer.text), np.bool_)
    if not last:
        own, ordered = in_order(own, np.arange(len(own.bounds)), np.diff(wanted.bounds[reference.groups]))
    return values_match(own, wanted, reference.groups, float(absolute), float(relative), last, ordered)


@metric(
    bounds=(0, 1),
    better="higher",
    source="accuracy of final answers, as of GSM8K; the values of hallucination",
    rows=RowHooks(grouped=True),
    cues=["numeric_match", "gsm8k", "number_accuracy", "math", "accuracy", "numeric_accuracy"],
    caution=_WORDS,
    unread=_unread,
)
def number_match(
    answer: Passages, reference: Passages, *, absolute: Absolute = 0.0, relative: Relative = 0.0, which: Which = "any"
) -> Floats:
    """1 if the answer states the number, date, time, or yes or no of the reference, else 0.

    Values are read as by ``hallucination``: signs, thousands and decimals ("1,000.5", "1 000,5"), powers (1.5×10^6,
    1.5e6), fractions ("1 1/2"), per cent and per mille (50 % is 0.5; 5-7% is 5% and 7%), scales ("1.2 million"),
    currencies, number words in English and Russian but for "one point five" and years ("nineteen eighty"), months and
    scales of all languages of CLDR ("2,5 Milliarden"), dates and times in any usual format.  Units are ignored, (5) is
    5, and [5] is if there is no other number.  The answer must have all values of the reference; a currency that only
    one of them names does not count.  Numbers p and x match if abs(p - x) is at most ``absolute``, or at most
    ``relative`` · abs(x).  ``which="last"`` compares the last value of the answer alone.

    Dozens, quarters and halves of a year ("Q3 2020") and factorials are read.  A number beside what may change it (a
    form of a word of scale, "half of 10", "5 squared", a root, a variable, >, a second unit as in "3 hours 20 minutes",
    more than 15 digits) equals only what is written alike; a row that depends on it is unread.  ``math_match`` reads
    algebra.

    A reference without values that begins with yes, true, no or false (да, нет) asks for an answer that begins so.  Of
    several references any is enough.  Undefined (NaN) if no reference has a value or a yes or no.

    >>> import fastmetrics as fm
    >>> fm.number_match(["It costs $1,200.", "about 3.15", "Yes, it is."], ["1200", "3.14", "yes"], relative=0.01)
    array([1., 1., 1.])
    >>> fm.number_match(["on January 5, 2024", "-5", "3 of 10, so 30 %"], ["2024-01-05", "5", "0.3"])
    array([1., 0., 1.])
    """
    matches, _ = _matches(answer, reference, absolute, relative, which)
    groups = reference.groups
    owner = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    stances = _stances(reference)
    spoken = (matches == NOTHING) & (stances != 0)
    hit = (matches == YES) | (spoken & (_stances(answer)[owner] == stances))
    known = (matches != NOTHING) | spoken
    hits = np.bincount(owner[hit], minlength=len(groups) - 1)
    return np.where(np.bincount(owner[known], minlength=len(groups) - 1) > 0, (hits > 0).astype(np.float64), np.nan)
