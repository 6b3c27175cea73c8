"""Numbers, dates and times among the words of a text, in the formats that people write.

``kernels.picked_words`` selects the words, ``kernels.numbers`` and ``kernels.dates`` read the parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.dates import (
    clock_time,
    day_or_ordinal,
    is_stamped,
    may_be_verb,
    month_of_year,
    named_date,
    numeric_date,
    part_of_year,
    year_at,
)
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.located_words import Marks, is_beside, is_bracketed, is_mark
from fastmetrics.kernels.numbers import (
    EXPONENT,
    FRACTIONS,
    NOTHING,
    TIMES_TEN,
    W_AFTER,
    W_AND,
    W_BEFORE,
    W_BETWEEN,
    W_CODE,
    W_COMPOUND,
    W_DOZEN,
    W_FRACTION,
    W_HARD,
    W_LINK,
    W_MINUS,
    W_MONTH,
    W_NUMBER,
    W_OF,
    W_ORDINAL,
    W_PARTS,
    W_PLUS,
    W_QUARTER,
    W_SCALE,
    W_TIMES,
    W_TO,
    W_TWICE,
    W_UNCLEAR,
    W_UNIT,
    W_UNREAD,
    W_WEAK,
    W_WEEKDAY,
    E,
    WordValues,
    digits,
    fraction,
    grouped,
    is_linked,
    joined,
    lone_letter,
    mixed_part,
    money,
    part_after,
    plain,
    power_of_ten,
    range_shift,
    scaled,
    shifted,
    spelled,
    times_power,
)

# Numbers, dates and times found among words, in any format.
#
# A value is a kind and two numbers: NUMBER (value, currency), DATE (year·10⁴ + month·100 + day with 0 for a missing
# part, the same with day and month exchanged or -1), TIME (minutes since midnight, 1 if 12 hours later is possible
# too), WEEKDAY (1 to 7, 0).


NUMBER, DATE, TIME, WEEKDAY, CODE, WEAK, MARK, UNREAD = (np.int64(kind) for kind in range(1, 9))  # typed: one signature
"""Those before ``WEAK`` need support.  A CODE is a version or address of several numbers (v2.0.1).  A WEAK number can
support other values: "one", "first", the year and day of a date.  A MARK is a number in brackets, a citation in most
texts.  What is UNREAD is a number that something changes which is not known: the digits if they were read, else
infinite; and the number of the word that is not known."""


class ParsedNumber(NamedTuple):
    """A number in a text: kind or 0, value, currency, next word."""

    kind: int
    value: float
    currency: float
    end: int


class Values(NamedTuple):
    """The found values: kind, both numbers, first word, end word (exclusive)."""

    kinds: Bytes
    a: Floats
    b: Floats
    first: Ints
    last: Ints
    bounds: Ints


@inline
def signed(marks: Marks, k: int, value: float) -> float:
    """The value of the number at word ``k`` with the sign before it."""
    return -value if marks.before[k] & m.NEGATIVE else value


@inline
def is_priced(marks: Marks, k: int) -> bool:
    """Whether a space and the sign of a currency are before word ``k``, as in "minus $5"."""
    gap = marks.before[k]
    return gap >> m.MONEY != 0 and gap & (m.FREE | m.POINT) != 0 and gap & (m.NEGATIVE | m.PARTED | m.NEW_LINE) == 0


@inline
def number_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> ParsedNumber:
    """The number at word ``k``; the kind is 0 if there is none."""
    decimals, letters = 0, 0
    if not marks.digit[k]:
        if words.kinds[k] == W_PARTS:
            return ParsedNumber(WEAK, 1 / words.amounts[k], 0.0, k + 1)
        if words.kinds[k] == W_FRACTION:
            return ParsedNumber(NUMBER, signed(marks, k, words.amounts[k]), 0.0, k + 1)
        value, weak, j = spelled(marks, words, k, stop)
        if weak and words.kinds[k] == W_UNIT:  # "several million dollars" need no support as one million
            return ParsedNumber(WEAK, signed(marks, k, value), 0.0, j)
    else:
        exponent, j = power_of_ten(data, marks, k, stop)
        if j > k:
            whole, decimals = 1, -exponent
        else:
            whole, decimals, letters, j = grouped(data, marks, k, stop)
            if letters >= EXPONENT and letters != TIMES_TEN:
                decimals, letters = decimals - (letters - EXPONENT), 0
            elif letters in (0, E, TIMES_TEN):
                exponent, end = times_power(data, marks, words, letters, j, stop)
                if end > j:
                    decimals, letters, j = decimals - exponent, 0, end
        if letters < 0 or letters == TIMES_TEN:
            return ParsedNumber(np.int64(0), 0.0, 0.0, k + 1)
        value, weak = np.float64(whole), False
        if decimals == 0 and letters in FRACTIONS:
            value, letters = value + fraction(letters), 0
        if decimals == 0 and letters == 0 and j < stop and marks.before[j] & m.KIND == m.SLASH:
            part, n = plain(data, marks, j, stop)
            if n > 0 and part > 0:
                return ParsedNumber(NUMBER, signed(marks, k, value / part), 0.0, j + 1)
        if decimals == 0 and letters == 0 and j < stop:
            if words.kinds[j] == W_FRACTION and is_linked(marks, j):
                value, j = value + words.amounts[j], j + 1
            elif marks.digit[j] and whole < 1000:
                part = mixed_part(data, marks, j, stop)
                value, j = value + part, j + 2 * np.int64(part > 0)
    if decimals == 0 and letters == 0 and j < stop and words.kinds[j] == W_AND:
        part, j = part_after(marks, words, j, stop)
        value += part
    own, at = decimals, j
    decimals, j = scaled(data, marks, words, decimals, letters, j, stop)
    if decimals == own and j == at and marks.digit[k]:
        power = lone_letter(data, marks, k, j, stop)
        decimals, j = decimals - power, j + np.int64(power > 0)
        decimals += range_shift(data, marks, words, j, stop)
    elif decimals < own and marks.digit[k] and j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.SPACE:
        smaller, own, letters, at = grouped(data, marks, j, stop)  # "5 million 300 thousand"
        lower, end = scaled(data, marks, words, own, letters, at, stop)
        if 0 <= letters < EXPONENT and lower < own and lower > decimals:
            value, decimals, j = shifted(value, decimals) + shifted(np.float64(smaller), lower), 0, end
    if j < stop and words.kinds[j] == W_DOZEN and is_linked(marks, j):
        value, j = value * words.amounts[j], j + 1
    currency, j = money(marks, words, k, j, stop)
    kind = WEAK if weak and j == k + 1 else NUMBER  # "one" is weak, "one million" and "one euro" are not
    return ParsedNumber(kind, signed(marks, k, shifted(value, decimals)), np.float64(currency), j)


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
            date, j = month_of_year(data, marks, k, stop), k + 2
    if date == 0:
        date, j = part_of_year(data, marks, words, k, stop)
    if date == 0:
        date, j = named_date(data, marks, words, k, stop)
    if date == -1:
        return put(values, n, UNREAD, np.float64(day_or_ordinal(data, marks, k, stop)), -1.0, k, j), j
    if date == 0 or (date < 10000 and date % 100 == 0 and may_be_verb(data[marks.starts[k]], date)):
        return n, k
    n = put(values, n, DATE, np.float64(date), np.float64(other), k, j)
    for part in (date // 10000, date % 100):  # "in 2024" is supported by a date of that year
        if part > 0:
            n = put(values, n, WEAK, np.float64(part), 0.0, k, j)
    if j == k + 3 and marks.digit[k] and is_stamped(data, marks, k + 2, stop):
        hour, minute = digits(data, marks.stops[k + 2] - 2, marks.stops[k + 2])[0], 0
        if j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
            minute = digits(data, marks.starts[j], marks.stops[j])[0]
        while j < stop and marks.digit[j] and marks.starts[j] == marks.stops[j - 1] + 1:  # seconds and time zone
            j += 1
        if hour < 24 and minute < 60:
            n = put(values, n, TIME, np.float64(hour * 60 + minute), 0.0, k + 2, j)
    return n, j


@inline
def code_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[float, int, int]:
    """A version or an address (2.0.1, v2.0.1) at word ``k`` as one number, how many parts it has, and the next word."""
    part, n = plain(data, marks, k, stop)
    code, parts, j = words.amounts[k] if n == 0 else np.float64(part), 1, k + 1
    grouped = n > 0 and n <= 3
    while j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.DOT:
        part, n = plain(data, marks, j, stop)
        code, parts, j = (code * 100_003 + np.float64(part)) % 2.0**52, parts + 1, j + 1
        grouped = grouped and n == 3  # 1.000.000
    return code, 0 if grouped else parts, j


@inline
def adjoins(marks: Marks, k: int) -> bool:
    """Whether word ``k`` stands beside the selected word before it, with no other between them."""
    return is_linked(marks, k) and marks.starts[k] - marks.stops[k - 1] < 4


@inline
def is_amount(marks: Marks, words: WordValues, k: int, first: int, stop: int) -> bool:
    """Whether word ``k`` of the words ``first:stop`` is a number or part of one."""
    return first <= k < stop and (
        marks.digit[k] or words.kinds[k] in (W_NUMBER, W_DOZEN, W_WEAK, W_ORDINAL, W_SCALE, W_UNIT)
    )


@inline
def is_operator(marks: Marks, words: WordValues, k: int) -> bool:
    """Whether word ``k`` is "times", "plus" or "minus", but not the x of dimensions."""
    kind = words.kinds[k]
    return kind in (W_PLUS, W_MINUS) or (kind == W_TIMES and marks.stops[k] - marks.starts[k] > 2)


@inline
def is_share(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> bool:
    """Whether word ``k`` is the fraction of "a third of 9", but not of "the first half of 2020"."""
    kind = words.kinds[k]
    if kind not in (W_PARTS, W_ORDINAL) and not (kind == W_WEAK and words.amounts[k] == 0.5):
        return False
    whole = k + 2 < stop and words.kinds[k + 1] == W_OF
    whole = whole and (marks.digit[k + 2] or (words.kinds[k + 2] == W_NUMBER and kind != W_ORDINAL))
    return (
        whole
        and adjoins(marks, k + 1)
        and adjoins(marks, k + 2)
        and not 1500 <= year_at(data, marks, k + 2, stop) < 2100
    )


@inline
def begins_compound(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> int:
    """The second number if word ``k`` is the first unit of "3 hours 20 minutes", else -1."""
    if k + 1 >= stop or words.kinds[k] not in (W_COMPOUND, W_HARD) or not adjoins(marks, k):
        return -1
    j = k + 1
    j += np.int64(words.kinds[j] in (W_AND, W_LINK))
    if j >= stop or not marks.digit[j] or not joined(marks, j, stop) or marks.starts[j] - marks.stops[j - 1] > 3:
        return -1
    near = adjoins(marks, j)
    if near and digits(data, marks.starts[j], marks.stops[j])[2] > 0:  # 3 h 20m
        return j
    if j + 1 >= stop or not adjoins(marks, j + 1):
        return -1
    short = near and not marks.digit[j + 1] and marks.stops[j + 1] - marks.starts[j + 1] <= 2  # "in" of inches
    other = words.kinds[j + 1] in (W_COMPOUND, W_HARD) and words.amounts[j + 1] != words.amounts[k]
    return j if short or other else -1


@leaf
def operation_beside(data: Bytes, marks: Marks, words: WordValues, k: int, j: int, first: int, stop: int) -> int:
    """The word that changes the number in words ``k:j``, in a text of the words ``first:stop``; else -1."""
    kinds = words.kinds
    if is_share(data, marks, words, j - 1, stop):
        return j
    i = j
    while i < min(j + 4, stop) and adjoins(marks, i):  # "5 squared", "5 au carré", "5 to the power of 3"
        linked = i == j or kinds[j] == W_TO or marks.stops[j] - marks.starts[j] <= 2
        if kinds[i] == W_AFTER and linked and i < j + 2:
            return i
        ahead = is_amount(marks, words, i + 1, first, stop) or is_amount(marks, words, i + 2, first, stop)
        if kinds[i] == W_BETWEEN and linked and (ahead or kinds[j] == W_TO):
            return i
        if (
            i == j
            and is_operator(marks, words, i)
            and is_amount(marks, words, i + 1, first, stop)
            and adjoins(marks, i + 1)
        ):
            return i
        i += 1
    counted = marks.digit[k] or kinds[k] == W_NUMBER  # no "first time"
    if j < stop and counted and begins_compound(data, marks, words, j, stop) >= 0:
        return j
    if k == first or not joined(marks, k, stop):
        return -1
    prior = k - 1 - np.int64(kinds[k - 1] in (W_AND, W_LINK) and k - 2 > first)
    if (
        prior > first
        and begins_compound(data, marks, words, prior, stop) == k
        and (marks.digit[prior - 1] or kinds[prior - 1] == W_NUMBER)
    ):
        return prior
    prior = k - 1
    near = adjoins(marks, k)
    if kinds[prior] == W_BEFORE and (
        near or (data[marks.stops[prior]] == 40 and marks.stops[prior] + 1 == marks.starts[k])
    ):
        return prior  # "sqrt 9" and "sqrt(9)"
    if not near:
        return -1
    if prior == first or not adjoins(marks, prior):
        return -1
    if is_operator(marks, words, prior) and is_amount(marks, words, prior - 1, first, stop):
        return prior
    if kinds[prior] == W_OF and (kinds[prior - 1] == W_BEFORE or is_share(data, marks, words, prior - 1, stop)):
        return prior - np.int64(kinds[prior - 1] == W_BEFORE)
    operation = prior if kinds[prior] == W_BETWEEN else prior - 1
    i = operation
    while kinds[operation] == W_BETWEEN and i > first and operation - i < 3 and adjoins(marks, i):
        i -= 1
        if is_amount(marks, words, i, first, stop):
            return operation
    return -1


@inline
def value_at(
    data: Bytes, marks: Marks, words: WordValues, k: int, first: int, stop: int, values: Values, n: int
) -> tuple[int, int]:
    """Add the value at word ``k``, if there is one; return the number of values and the next word.

    The words of the text are ``first:stop``.
    """
    kinds, digit = words.kinds, marks.digit[k]
    if kinds[k] == W_UNREAD:
        return put(values, n, UNREAD, np.inf, words.amounts[k], k, k + 1), k + 1
    if kinds[k] == W_WEEKDAY:
        return put(values, n, WEEKDAY, words.amounts[k], 0.0, k, k + 1), k + 1
    # A number begins a date if a month's name or "of" follows it, or a mark that dates have; only then the slow parsers
    # of dates are tried.
    linked = marks.before[k + 1] & m.KIND if k + 1 < stop else m.OTHER
    follows = kinds[k + 1] if k + 1 < stop else NOTHING
    dated = digit and (follows in (W_MONTH, W_OF) or linked in (m.HYPHEN, m.SLASH, m.DOT))
    part = follows in (W_PARTS, W_WEAK, W_QUARTER) and (digit or kinds[k] in (W_WEAK, W_ORDINAL))
    if kinds[k] == W_MONTH or dated or part:
        n, j = date_at(data, marks, words, k, stop, values, n)
        if j > k or kinds[k] == W_MONTH:
            return n, max(j, k + 1)
    if kinds[k] == W_CODE or (digit and linked == m.DOT):
        code, parts, j = code_at(data, marks, words, k, stop)
        if parts > 2 or (parts == 2 and not digit):
            return put(values, n, CODE, code, np.float64(parts), k, j), j
        if not digit:
            return n, k + 1
    if kinds[k] == W_MINUS:
        if (
            k + 1 < stop
            and (is_linked(marks, k + 1) or is_priced(marks, k + 1))
            and (marks.digit[k + 1] or kinds[k + 1] in (W_NUMBER, W_WEAK, W_FRACTION))
        ):
            number = number_at(data, marks, words, k + 1, stop)
            if number.kind > 0:
                n = put(values, n, NUMBER, -number.value, number.currency, k, number.end)
                return n, number.end
        return n, k + 1
    if digit:
        minutes, either, j = clock_time(data, marks, words, k, stop)
        if minutes >= 0:
            return put(values, n, TIME, np.float64(minutes), np.float64(either), k, j), j
    if (
        kinds[k] == W_TWICE
        and k + 1 < stop
        and adjoins(marks, k + 1)
        and (marks.digit[k + 1] or kinds[k + 1] == W_NUMBER)
    ):
        number = number_at(data, marks, words, k + 1, stop)
        if number.kind > 0:
            return put(values, n, NUMBER, words.amounts[k] * number.value, number.currency, k, number.end), number.end
    number = number_at(data, marks, words, k, stop)
    j = number.end
    operation = operation_beside(data, marks, words, k, j, first, stop) if number.kind > 0 else -1
    if operation >= 0:
        n = put(values, n, UNREAD, number.value, words.amounts[operation], k, j)
        return n, j + np.int64(operation == j and kinds[j] == W_MINUS)
    if number.kind > 0 and j < stop and kinds[j] == W_UNCLEAR and is_beside(marks, j):
        return put(values, n, UNREAD, number.value, words.amounts[j], k, j + 1), j + 1
    if number.kind > 0 and digit and k > first and kinds[k - 1] == W_UNCLEAR and is_beside(marks, k):
        return put(values, n, UNREAD, number.value, words.amounts[k - 1], k - 1, j), j
    if number.kind > 0 and not (digit and is_mark(marks, k)):
        n = put(values, n, number.kind, number.value, number.currency, k, number.end)
    elif number.kind > 0 and is_bracketed(marks, k):
        n = put(values, n, MARK, number.value, number.currency, k, number.end)
    if j < stop and kinds[j] == W_MINUS and is_linked(marks, j):  # "10 minus 5" has no number -5
        j += 1
    return n, j


@inline
def is_bare(
    data: Bytes, kinds: Bytes, before: Ids, after: Ids, digit: Flags, starts: Ints, stops: Ints, k: int, stop: int
) -> bool:
    """Whether the words and gaps around a number leave its value unchanged: a fast test of the common case.

    Of word k, ``kinds[k]`` is the kind, ``before[k]`` and ``after[k]`` are the gaps around it, ``digit[k]`` says
    whether it begins with a digit, and ``data[starts[k]:stops[k]]`` are its bytes.
    """
    gaps = (before[k] & (m.OPENED | m.NEW_LINE | m.NEGATIVE | m.POINT)) | (after[k] & (m.CLOSED | m.HAS_PERCENT))
    if gaps or before[k] >> m.MONEY or after[k] >> m.MONEY:
        return False
    j = k + 1
    if j == stop:
        return True
    if (kinds[j] != NOTHING and kinds[j] != W_COMPOUND) or stops[j] - starts[j] == 1:
        return False
    # of gaps of several characters, one that begins so is no part of 5 × 10^6 or 10⁻⁶
    apart, byte = after[k] & m.KIND == m.OTHER, data[stops[k]]
    return apart and byte in (44, 59) if digit[j] else not apart or byte < 128


@inline
def is_apart(kinds: Bytes, digit: Flags, k: int, first: int, stop: int) -> bool:
    """Whether no word near the number of word ``k`` may make another of it: a fast test of the common case.

    The word after it is one of NOTHING or COMPOUND.
    """
    if k > first:
        if kinds[k - 1] >= W_OF or kinds[k - 1] == W_MINUS:
            return False
        if k - 1 > first and kinds[k - 2] >= W_BETWEEN:
            return False
    if k + 2 >= stop:
        return True
    if kinds[k + 1] == W_COMPOUND and (digit[k + 2] or (k + 3 < stop and digit[k + 3])):
        return False
    return kinds[k + 2] not in (W_AFTER, W_BETWEEN) and (k + 3 >= stop or kinds[k + 3] != W_BETWEEN)


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
            if not digit[k] and (kind == NOTHING or kind >= W_SCALE):
                k += 1
                continue
            # Most numbers are a word of digits between spaces: their value needs none of the parsers.
            bare = kind <= W_ORDINAL and is_bare(data, kinds, before, after, digit, starts, stops, k, stop)
            if bare and is_apart(kinds, digit, k, bounds[row], stop):
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
            n, k = value_at(data, marks, words, k, bounds[row], stop, values, n)
        v_bounds[row + 1] = n
    return n


@leaf
def place(values: Values, n: int, places: Ints) -> None:
    """Turn the words of the first ``n`` values, which are numbers in ``places``, into what ``places`` has for them."""
    for v in range(np.uint64(n)):
        values.first[v] = places[np.uint64(values.first[v])]
        values.last[v] = places[np.uint64(values.last[v] - 1)] + 1
