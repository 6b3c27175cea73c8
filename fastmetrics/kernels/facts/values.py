"""Numbers, dates and times found among words, in any format.

A value is a kind and two numbers: NUMBER (value, currency), DATE (year·10⁴ + month·100 + day with 0 for a missing
part, the same with day and month exchanged or -1), TIME (minutes since midnight, 1 if 12 hours later is possible
too), WEEKDAY (1 to 7, 0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.dates import clock_time, may_be_verb, named_date, numeric_date
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.numbers import (
    NOTHING,
    W_MONTH,
    W_NUMBER,
    W_OF,
    W_PARTS,
    W_PERCENT,
    W_SCALE,
    W_WEAK,
    W_WEEKDAY,
    WordValues,
    digits,
    grouped,
    is_mark,
    money,
    plain,
    scaled,
    shifted,
    spelled,
)
from fastmetrics.kernels.jit import inline, leaf

NUMBER, DATE, TIME, WEEKDAY, WEAK = (np.int64(kind) for kind in range(1, 6))  # typed: one signature
"""A WEAK number can support other values and requires no support: "one", "first", the year and day of a date."""


class Values(NamedTuple):
    """The found values: kind, both numbers, first word, end word (exclusive)."""

    kinds: Bytes
    a: Floats
    b: Floats
    first: Ints
    last: Ints
    bounds: Ints


@inline
def number_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, float, float, int]:
    """The number at word ``k``: kind or 0, value, currency, next word."""
    kind = words.kinds[k]
    if not marks.digit[k]:
        if kind == W_PARTS:
            return WEAK, 1 / words.amounts[k], 0.0, k + 1
        value, weak, j = spelled(marks, words, k, stop)
        decimals, letters = 0, 0
    else:
        whole, decimals, letters, j = grouped(data, marks, k, stop)
        if letters < 0:
            return 0, 0.0, 0.0, k + 1
        value, weak = np.float64(whole), False
        if decimals == 0 and letters == 0 and j < stop and marks.before[j] & m.KIND == m.SLASH:
            part, n = plain(data, marks, j, stop)
            if n > 0 and part > 0:
                return NUMBER, value / part, 0.0, j + 1
    decimals, j = scaled(marks, words, decimals, letters, j, stop)
    currency, j = money(marks, words, k, j, stop)
    return (WEAK if weak and j == k + 1 else NUMBER), shifted(value, decimals), np.float64(currency), j


@inline
def put(values: Values, n: int, kind: int, a: float, b: float, first: int, last: int) -> int:
    """Add a value; return the number of values."""
    values.kinds[n], values.a[n], values.b[n] = kind, a, b
    values.first[n], values.last[n] = first, last
    return n + 1


@inline
def date_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int, values: Values, n: int) -> tuple[int, int]:
    """Add the date at word ``k``, if any, with its year and day as weak numbers; return number of values, next word."""
    date, other, j = 0, -1, k
    if marks.digit[k]:
        date, other = numeric_date(data, marks, k, stop)
        j = k + 3
    if date == 0:
        date, j = named_date(data, marks, words, k, stop)
    if date == 0 or (date < 10000 and date % 100 == 0 and may_be_verb(data[marks.starts[k]], date)):
        return n, k
    n = put(values, n, DATE, np.float64(date), np.float64(other), k, j)
    for part in (date // 10000, date % 100):
        if part > 0:
            n = put(values, n, WEAK, np.float64(part), 0.0, k, j)
    return n, j


@inline
def value_at(
    data: Bytes, marks: Marks, words: WordValues, k: int, stop: int, values: Values, n: int
) -> tuple[int, int]:
    """Add the value at word ``k``, if there is one; return the number of values and the next word."""
    kinds, digit = words.kinds, marks.digit[k]
    if kinds[k] == W_WEEKDAY:
        return put(values, n, WEEKDAY, words.amounts[k], 0.0, k, k + 1), k + 1
    linked = marks.before[k + 1] & m.KIND if k + 1 < stop else m.OTHER
    follows = kinds[k + 1] if k + 1 < stop else NOTHING
    dated = follows in (W_MONTH, W_OF) or linked in (m.HYPHEN, m.SLASH, m.DOT)
    if kinds[k] == W_MONTH or (digit and dated):
        n, j = date_at(data, marks, words, k, stop, values, n)
        if j > k or kinds[k] == W_MONTH:
            return n, max(j, k + 1)
    if digit:
        minutes, either, j = clock_time(data, marks, words, k, stop)
        if minutes >= 0:
            return put(values, n, TIME, np.float64(minutes), np.float64(either), k, j), j
    kind, a, b, j = number_at(data, marks, words, k, stop)
    if kind > 0 and not (digit and is_mark(marks, k)):
        n = put(values, n, kind, a, b, k, j)
    return n, j


@inline
def is_bare(kinds: Bytes, before: Ids, after: Ids, digit: Flags, starts: Ints, stops: Ints, k: int, stop: int) -> bool:
    """Whether the words and gaps around a number leave its value unchanged: a fast test of the common case.

    Of word k, ``kinds[k]`` is the kind, ``before[k]`` and ``after[k]`` are the gaps around it, ``digit[k]`` says
    whether it begins with a digit.
    """
    gaps = (before[k] & (m.OPENED | m.NEW_LINE)) | (after[k] & (m.CLOSED | m.HAS_PERCENT))
    if gaps or before[k] >> m.MONEY or after[k] >> m.MONEY:
        return False
    j = k + 1
    if j == stop:
        return True
    return kinds[j] == NOTHING and stops[j] - starts[j] > 1 and (not digit[j] or after[k] & m.KIND == m.OTHER)


@leaf
def find_values(data: Bytes, marks: Marks, words: WordValues, values: Values) -> int:
    """Find the values of every text in order; return how many there are."""
    starts, stops, before, after, digit, bounds = marks
    kinds, amounts = words
    v_kinds, v_a, v_b, v_first, v_last, v_bounds = values
    n = v_bounds[0]
    for row in range(len(bounds) - 1):
        k, stop = bounds[row], bounds[row + 1]
        while k < stop:
            kind = kinds[k]
            if not digit[k] and (kind in (NOTHING, W_SCALE) or kind >= W_PERCENT):
                k += 1
                continue
            if kind in (NOTHING, W_NUMBER, W_WEAK) and is_bare(kinds, before, after, digit, starts, stops, k, stop):
                number, letters = amounts[k], 0
                if digit[k]:
                    whole, _, letters = digits(data, starts[k], stops[k])
                    number = np.float64(whole)
                if letters == 0:
                    v_kinds[n], v_a[n], v_b[n] = WEAK if kind == W_WEAK else NUMBER, number, 0.0
                    v_first[n], v_last[n] = k, k + 1
                    n += 1
                    k += 1
                    continue
            n, k = value_at(data, marks, words, k, stop, values, n)
        v_bounds[row + 1] = n
    return n


@leaf
def place(values: Values, n: int, places: Ints) -> None:
    """Turn the words of the first ``n`` values, which are numbers in ``places``, into what ``places`` has for them."""
    for v in range(np.uint64(n)):
        values.first[v] = places[np.uint64(values.first[v])]
        values.last[v] = places[np.uint64(values.last[v] - 1)] + 1
