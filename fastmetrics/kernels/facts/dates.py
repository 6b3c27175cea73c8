"""Parsing of dates and times from words: ISO, European and American formats, month names, 12- and 24-hour clocks."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes
from fastmetrics.kernels.facts import located_words as m
from fastmetrics.kernels.facts.located_words import Marks
from fastmetrics.kernels.facts.numbers import W_HALF_DAY, W_MONTH, W_OF, WordValues, digits, plain, suffix
from fastmetrics.kernels.jit import inline

AM, PM = suffix("am"), suffix("pm")
ORDINALS = tuple(suffix(s) for s in ("st", "nd", "rd", "th"))


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
def numeric_date(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """2024-01-05, 2024/01/05, 5.1.2024, 05/01/2024, 1-5-24 at word ``k``: both readings, 0 if there is none."""
    x, nx = plain(data, marks, k, stop)
    y, ny = plain(data, marks, k + 1, stop)
    z, nz = plain(data, marks, k + 2, stop)
    if nx == 0 or ny == 0 or nz == 0 or ny > 2:
        return 0, -1
    mark = marks.before[k + 1] & m.KIND
    if mark != marks.before[k + 2] & m.KIND or mark not in (m.HYPHEN, m.SLASH, m.DOT):
        return 0, -1
    if nx == 4 and nz <= 2 and 1 <= y <= 12 and 1 <= z <= 31:
        return x * 10000 + y * 100 + z, -1
    if nx > 2 or nz not in (2, 4):
        return 0, -1
    year = z if nz == 4 else z + (2000 if z < 50 else 1900)
    european = year * 10000 + y * 100 + x if 1 <= y <= 12 and 1 <= x <= 31 else 0
    american = year * 10000 + x * 100 + y if 1 <= x <= 12 and 1 <= y <= 31 and mark != m.DOT else 0
    if european == 0:
        return american, -1
    return european, american if american > 0 and american != european else -1


@inline
def joined(marks: Marks, k: int, stop: int) -> bool:
    """Whether a space, a hyphen, or a comma or full stop with spaces separates word ``k`` from the previous word."""
    return k < stop and marks.before[k] & (m.ENDED | m.NEW_LINE | m.OPENED | m.CLOSED | m.HAS_PERCENT) == 0


@inline
def named_date(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> tuple[int, int]:
    """5 January 2024, January 5th, 2024, January 2024 at word ``k``: the date, 0 if none; the next word."""
    kinds = words.kinds
    day = day_or_ordinal(data, marks, k, stop)
    j = k
    if day > 0:
        j = k + 1
        if joined(marks, j, stop) and kinds[j] == W_OF:
            j += 1
        if not joined(marks, j, stop):
            return 0, k
    if kinds[j] != W_MONTH:
        return 0, k
    month = np.int64(words.amounts[j])
    j += 1
    if day == 0 and joined(marks, j, stop):
        day = day_or_ordinal(data, marks, j, stop)
        j += np.int64(day > 0)
    year = year_at(data, marks, j, stop) if joined(marks, j, stop) else 0
    return year * 10000 + month * 100 + day, j + np.int64(year > 0)


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
