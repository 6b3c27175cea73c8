"""Whether an answer states the right number, date, or yes or no, however it is written."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import Choice, Real
from fastmetrics.kernels.claim_support import values_match
from fastmetrics.kernels.values import NUMBER, WEAK, Values
from fastmetrics.metrics.batch import english_and_russian_words
from fastmetrics.metrics.claim_support import Passage, Passages, among, values_of
from fastmetrics.metrics.metric import RowHooks, metric

Absolute = Annotated[float, Real(0.0, 1e300), "by how much numbers may differ"]
Relative = Annotated[float, Real(0.0, 1e6), "by what share of the reference numbers may differ, as in 0.01"]
Which = Annotated[str, Choice("any", "last"), "which of the answer's values may be the right one"]

YES, NO = ("yes", "yeah", "yep", "true", "да"), ("no", "nope", "false", "нет")

_WORDS = english_and_russian_words("number words and months", "numbers in the digits 0 to 9 count in any script")


def _stances(passage: Passage) -> Ints:
    """1 for each text that begins with a yes, -1 with a no, else 0."""
    tokens, vocabulary = passage.tokens, passage.vocabulary
    first = np.full(len(tokens), -1, np.int64)
    some = tokens.counts > 0
    first[some] = tokens.ids[tokens.starts[some]]
    return np.isin(first, vocabulary.ids_of(YES)).astype(np.int64) - np.isin(first, vocabulary.ids_of(NO))


def _has_all(own: Values, stated: slice, wanted: Values, asked: slice, absolute: float, relative: float) -> bool:
    """Whether the values ``stated`` of an answer have all ``asked`` of a reference; for many, without all pairs."""
    kinds, x, y = wanted.kinds[asked], wanted.a[asked], wanted.b[asked]
    compared = np.ones(len(kinds), np.bool_) if (kinds == WEAK).all() else kinds != WEAK
    numbers = np.isin(kinds, (NUMBER, WEAK))
    known = among(wanted, asked.start, asked.stop, own, stated.start, stated.stop)
    if not np.array(known)[compared & ~numbers].all():
        return False
    is_number = np.isin(own.kinds[stated], (NUMBER, WEAK))
    p, q = own.a[stated][is_number], own.b[stated][is_number]
    for currency in np.unique(y[compared & numbers]).tolist():
        near = np.sort(p if currency == 0 else p[(q == 0) | (q == currency)])
        these = x[compared & numbers & (y == currency)]
        places = np.searchsorted(near, these)
        padded = np.concatenate([[-np.inf], near, [np.inf]])  # the nearest ones, if only on one side
        gaps = np.minimum(these - padded[places], padded[places + 1] - these)
        if not (gaps <= np.maximum(absolute, relative * np.abs(these))).all():
            return False
    return True


@metric(
    bounds=(0, 1),
    better="higher",
    source="accuracy of final answers, as of GSM8K; the values of hallucination",
    rows=RowHooks(grouped=True),
    cues=["numeric_match", "gsm8k", "number_accuracy", "math", "accuracy", "numeric_accuracy"],
    caution=_WORDS,
)
def number_match(
    answer: Passages, reference: Passages, *, absolute: Absolute = 0.0, relative: Relative = 0.0, which: Which = "any"
) -> Floats:
    """1 if the answer states the number, date, time, or yes or no of the reference, else 0.

    Values are read as by ``hallucination``: signs, thousands and decimals ("1,000.5", "1 000,5"), powers (1.5×10^6,
    1.5e6), fractions ("1 1/2"), per cent and per mille (50 % is 0.5; 5-7% is 5% and 7%), scales ("1.2 million"),
    currencies, number words in English and Russian but for "one point five" and years ("nineteen eighty"), dates and
    times in any usual format; no numbers of more than 15 digits.  Other units are ignored, and (5) is 5.  The
    answer must have all values of the reference; a currency that only one of them names does not count.  Numbers p
    and x match if abs(p - x) is at most ``absolute``, or at most ``relative`` · abs(x).  ``which="last"`` compares
    the last value of the answer alone.

    A reference without values that begins with yes, true, no or false (да, нет) asks for an answer that begins so.  Of
    several references any is enough.  Undefined (NaN) if no reference has a value or a yes or no.

    >>> import fastmetrics as fm
    >>> fm.number_match(["It costs $1,200.", "about 3.15", "Yes, it is."], ["1200", "3.14", "yes"], relative=0.01)
    array([1., 1., 1.])
    >>> fm.number_match(["on January 5, 2024", "-5", "3 of 10, so 30 %"], ["2024-01-05", "5", "0.3"])
    array([1., 0., 1.])
    """
    groups, own, wanted = reference.groups, values_of(answer), values_of(reference)
    absolute, relative = float(absolute), float(relative)
    owner = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    matches = values_match(own, wanted, groups, absolute, relative, which == "last", SIZES.compared_values)
    for text in np.flatnonzero(matches == 3).tolist():
        stated, asked = (
            slice(int(values.bounds[at]), int(values.bounds[at + 1]))
            for values, at in ((own, owner[text]), (wanted, text))
        )
        matches[text] = _has_all(own, stated, wanted, asked, absolute, relative)
    stances = _stances(reference)
    spoken = (matches == 2) & (stances != 0)
    hit = (matches == 1) | (spoken & (_stances(answer)[owner] == stances))
    known = (matches != 2) | spoken
    hits = np.bincount(owner[hit], minlength=len(groups) - 1)
    return np.where(np.bincount(owner[known], minlength=len(groups) - 1) > 0, (hits > 0).astype(np.float64), np.nan)
