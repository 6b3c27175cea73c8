"""Dates and times read from words: ISO, European and American formats, month names, 12- and 24-hour clocks."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.jit import inline
from fastmetrics.kernels.located_words import Marks, is_beside
from fastmetrics.kernels.numbers import (
    W_HALF_DAY,
    W_MONTH,
    W_OF,
    W_PARTS,
    W_QUARTER,
    W_WEAK,
    WordValues,
    digits,
    joined,
    plain,
    suffix,
)

AM, PM = suffix("am"), suffix("pm")
ORDINALS = tuple(suffix(s) for s in ("st", "nd", "rd", "th", "er", "e"))


@inline
def day_or_ordinal(data: Bytes, marks: Marks, k: int, stop: int) -> int:
    """The day of the month in word ``k`` (5, 5th), else 0."""
    if k >= stop or not marks.digit[k]:
        return 0
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    return value if n <= 2 and 1 <= value <= 31 and (letters == 0 or letters in ORDINALS) else 0


@inline
def year_at(data: Bytes, marks: Marks, k: int, stop: int) -> int:
    """The four-digit year in word ``k``, else 0; numbers like 2010.5 or 2010:30 are not years."""
    value, n = plain(data, marks, k, stop)
    return value if n == 4 and value >= 1000 else 0


@inline
def is_stamped(data: Bytes, marks: Marks, k: int, stop: int) -> bool:
    """Whether word ``k`` is the 05T10 of 2024-01-05T10:30:00Z."""
    if k >= stop or not marks.digit[k] or marks.stops[k] - marks.starts[k] != 5:
        return False
    i = marks.starts[k]
    return 48 <= data[i + 1] <= 57 and data[i + 2] | 32 == 116 and 48 <= data[i + 3] <= 57 and 48 <= data[i + 4] <= 57


@inline
def numeric_date(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """2024-01-05, 2024/01/05, 5.1.2024, 05/01/2024, 1-5-24 at word ``k``: both readings, 0 if there is none."""
    x, nx = plain(data, marks, k, stop)
    y, ny = plain(data, marks, k + 1, stop)
    z, nz = plain(data, marks, k + 2, stop)
    if is_stamped(data, marks, k + 2, stop) and nx == 4:
        z, nz = digits(data, marks.starts[k + 2], marks.starts[k + 2] + 2)[0], 2
    if nx == 0 or ny == 0 or nz == 0 or ny > 2:
        return 0, -1
    mark = marks.before[k + 1] & m.KIND
    if mark != marks.before[k + 2] & m.KIND or mark not in (m.HYPHEN, m.SLASH, m.DOT):
        return 0, -1
    # A year of four digits comes first only in ISO dates, which have one reading.
    if nx == 4 and nz <= 2 and 1 <= y <= 12 and 1 <= z <= 31:
        return x * 10000 + y * 100 + z, -1
    if nx > 2 or nz not in (2, 4):
        return 0, -1
    year = z if nz == 4 else z + (2000 if z < 50 else 1900)
    # 05/01/2024 is 5 January in Europe and 1 May in America: both readings are kept, and either may be supported.
    european = year * 10000 + y * 100 + x if 1 <= y <= 12 and 1 <= x <= 31 else 0
    american = year * 10000 + x * 100 + y if 1 <= x <= 12 and 1 <= y <= 31 and mark != m.DOT else 0
    if european == 0:
        return american, -1
    return european, american if american > 0 and american != european else -1


@inline
def named_date(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int]:
    """5 January 2024, January 5th, 2024, January 2024 at word ``k``: the date, 0 if none, and the next word.

    The date is -1 where a month is shortened to what may be another word, without a year.  Months from 13 on are the
    quarters of a year, then its halves.
    """
    kinds = words.kinds
    day = day_or_ordinal(data, marks, k, stop)
    j, year = k, 0
    if day == 0 and marks.digit[k]:
        year, j = year_at(data, marks, k, stop), k + 1  # "2024. január 5."
        if year == 0 or not joined(marks, j, stop):
            return 0, k
    if day > 0:
        j = k + 1
        if joined(marks, j, stop) and kinds[j] == W_OF:
            j += 1
        if not joined(marks, j, stop):
            return 0, k
    if kinds[j] != W_MONTH:
        return 0, k
    amount, dotted = words.amounts[j], marks.after[j] & m.DOTTED != 0 or (j > k and marks.before[j] & m.DOTTED != 0)
    month, j = np.int64(amount) % OF_NUMBERS, j + 1
    if day == 0 and month <= 12 and joined(marks, j, stop):
        day = day_or_ordinal(data, marks, j, stop)
        j += np.int64(day > 0)
    if year > 0:
        return (year * 10000 + month * 100 + day, j) if day > 0 or month > 12 else (0, k)
    at = j + np.int64(joined(marks, j, stop) and kinds[j] == W_OF)
    year = year_at(data, marks, at, stop) if joined(marks, at, stop) else 0
    if year == 0:
        if amount % 1 > 0 and not dotted:
            return (-1, j) if day > 0 and amount % 1 == 0.5 else (0, k)
        return (month * 100 + day, j) if day > 0 or amount < OF_NUMBERS else (0, k)
    return year * 10000 + month * 100 + day, at + 1


OF_NUMBERS = 100
"""Added to a month whose name is one beside numbers only; one that is shortened has a half more, a quarter if it is a
common word of English or Russian, too."""


@inline
def part_of_year(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int]:
    """The third quarter of 2020, 3. Quartal 2020 or the second half of 2020 at word ``k``: the date, 0 if none, and the
    next word."""
    j = k + 1
    if j >= stop or not is_beside(marks, j):
        return 0, k
    half = words.kinds[j] == W_WEAK and words.amounts[j] == 0.5
    if not half and words.kinds[j] != W_QUARTER and not (words.kinds[j] == W_PARTS and words.amounts[j] == 4):
        return 0, k
    part = np.int64(words.amounts[k])
    if marks.digit[k]:
        part, _, letters = digits(data, marks.starts[k], marks.stops[k])
        part = part if letters == 0 or letters in ORDINALS else 0
    j += 1
    j += np.int64(joined(marks, j, stop) and words.kinds[j] == W_OF)
    year = year_at(data, marks, j, stop) if joined(marks, j, stop) else 0
    if year == 0 or not 1 <= part <= (2 if half else 4):
        return 0, k
    return year * 10000 + (12 + part + 4 * np.int64(half)) * 100, j + 1


@inline
def month_of_year(data: Bytes, marks: Marks, k: int, stop: int) -> int:
    """12/2024, 2024-12 or 2024/12 at word ``k`` as a date without a day; 0 if there is none."""
    x, nx = plain(data, marks, k, stop)
    y, ny = plain(data, marks, k + 1, stop)
    if nx > 0 and ny > 0:
        mark, more = marks.before[k + 1] & m.KIND, marks.after[k + 1] & m.KIND
        alone = k + 2 >= stop or not marks.digit[k + 2] or more not in (m.SLASH, m.HYPHEN, m.COLON, m.DOT, m.COMMA)
        tight = marks.starts[k + 1] == marks.stops[k] + 1  # a dash of two bytes is a range: 2010–11
        if alone and tight and mark in (m.SLASH, m.HYPHEN):
            if nx == 4 and ny == 2 and 1900 <= x < 2100 and 1 <= y <= 12:
                return x * 10000 + y * 100
            if nx <= 2 and ny == 4 and 1 <= x <= 12 and 1900 <= y < 2100:
                return y * 10000 + x * 100
    return 0


@inline
def is_dotted(data: Bytes, marks: Marks, j: int, stop: int) -> bool:
    """Whether words ``j`` and the next are "a.m." or "p.m."."""
    if j + 1 >= stop or marks.stops[j] - marks.starts[j] != 1 or marks.stops[j + 1] - marks.starts[j + 1] != 1:
        return False
    if marks.before[j + 1] & m.KIND != m.DOT or data[marks.starts[j + 1]] | 32 != 109:
        return False
    return data[marks.starts[j]] | 32 in (97, 112)


@inline
def clock_time(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int, int]:
    """3 pm, 3:30 p.m., 15:00:20 at word ``k``: minutes or -1, 1 if perhaps 12 hours later, the next word."""
    hour, n, letters = digits(data, marks.starts[k], marks.stops[k])
    half, minute, j, clock = -1, 0, k + 1, False
    if n > 2 or letters < 0:
        return -1, 0, k
    if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
        minute, n, letters = digits(data, marks.starts[j], marks.stops[j])
        if n != 2 or letters < 0 or minute > 59:
            return -1, 0, k
        clock = True
        j += 1
        if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == m.COLON:
            _, n, seconds = digits(data, marks.starts[j], marks.stops[j])
            if n == 2 and seconds >= 0:
                letters = seconds
                j += 1
    if letters in (AM, PM):
        half = letters == PM
    elif letters == 0 and j < stop and words.kinds[j] == W_HALF_DAY and marks.before[j] & m.KIND == m.SPACE:
        half = np.int64(words.amounts[j])
        j += 1
    elif letters == 0 and is_dotted(data, marks, j, stop):
        half = np.int64(data[marks.starts[j]] | 32 == 112)
        j += 2
    if hour > 23 or (half >= 0 and (hour > 12 or hour == 0)) or (half < 0 and not clock):
        return -1, 0, k
    if half >= 0:
        hour = hour % 12 + 12 * half
    return hour * 60 + minute, np.int64(half < 0 and 1 <= hour <= 12), j


@inline
def may_be_verb(byte: int, date: int) -> bool:
    """Whether a month's name can be a verb: in lower-case Latin letters ("march"), or "May"."""
    return 97 <= byte <= 122 or (date == 500 and byte == 77)
