"""Numbers, dates and times among the words of a text, in the formats that people write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints
from fastmetrics.kernels import located_words as m
from fastmetrics.kernels.jit import inline, kernel, leaf
from fastmetrics.kernels.located_words import Marks

# Parsing of numbers from words in the usual formats: digits, separators, scales, currencies, number words.


# Flags of words.
(
    NOTHING,
    W_NUMBER,
    W_WEAK,
    W_PARTS,
    W_FRACTION,
    W_MINUS,
    W_SCALE,
    W_MONTH,
    W_WEEKDAY,
    W_PERCENT,
    W_PER,
    W_CENT,
    W_HALF_DAY,
    W_CURRENCY,
    W_OF,
) = range(15)


class WordValues(NamedTuple):
    """The meaning of each word of the texts, and the amount it names."""

    kinds: Bytes
    amounts: Floats


class Grouped(NamedTuple):
    """A number in digits: its digits as an integer, how many are decimals, its letters, the next word."""

    value: int
    decimals: int
    letters: int
    end: int


@inline
def digits(data: Bytes, i: int, stop: int) -> tuple[int, int, int]:
    """The integer a word begins with, its number of digits, and up to four letters after it as a number in base 256.

    The letters are -1 if the word is not a number: more than 15 digits or four letters, or digits after a letter.
    """
    value, n, letters = 0, 0, 0
    while i < stop and 48 <= data[i] <= 57:
        value = value * 10 + (np.int64(data[i]) - 48)
        n += 1
        i += 1
        if n > 15:
            return 0, n, -1
    if stop - i > 4:
        return value, n, -1
    while i < stop:
        byte = np.int64(data[i])
        if 48 <= byte <= 57 or byte == 95:
            return value, n, -1
        letters = letters * 256 + (byte | 32 if byte < 128 else byte)
        i += 1
    return value, n, letters


def suffix(letters: str) -> int:
    """A suffix as the number that ``digits`` returns."""
    return int.from_bytes(letters.encode(), "big")


THOUSANDS = (suffix("k"),)
MILLIONS = tuple(suffix(s) for s in ("m", "mn", "mln"))
BILLIONS = tuple(suffix(s) for s in ("b", "bn", "bln"))
FRACTIONS = tuple(map(suffix, "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"))
"""The characters that may follow a whole number in its word, as in 1½."""
_PARTS = (
    (1, 2),
    (1, 3),
    (2, 3),
    (1, 4),
    (3, 4),
    (1, 5),
    (2, 5),
    (3, 5),
    (4, 5),
    (1, 6),
    (5, 6),
    (1, 8),
    (3, 8),
    (5, 8),
    (7, 8),
)
_FRACTION_VALUES = tuple(part / whole for part, whole in _PARTS)


@inline
def plain(data: Bytes, marks: Marks, k: int, stop: int) -> tuple[int, int]:
    """The integer and the number of digits of word ``k`` if it consists of digits, else -1 and 0."""
    if k >= stop or not marks.digit[k]:
        return -1, 0
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    return (value, n) if letters == 0 else (-1, 0)


@inline
def indian(data: Bytes, marks: Marks, value: int, n: int, j: int, stop: int) -> tuple[int, int, int, int]:
    """The number of ``n`` digits before word ``j`` with the groups of two digits and the last of three that follow.

    Returns the value, the number of digits, the letters after them, and the next word: ``j`` without such groups.
    """
    whole, size, end = value, n, j
    while end < stop and size < 11 and marks.before[end] & m.KIND == m.COMMA and plain(data, marks, end, stop)[1] == 2:
        whole, size, end = whole * 100 + plain(data, marks, end, stop)[0], size + 2, end + 1
    if end == j or end >= stop or not marks.digit[end] or marks.before[end] & m.KIND != m.COMMA:
        return value, n, np.int64(0), j
    last, three, letters = digits(data, marks.starts[end], marks.stops[end])
    if three != 3 or letters < 0:
        return value, n, np.int64(0), j
    return whole * 1000 + last, size + 3, letters, end + 1


@inline
def grouped(data: Bytes, marks: Marks, k: int, stop: int) -> Grouped:
    """The number in digits at word ``k``.

    1,000 and 1 000 and 1'000, 1.000.000 and 1.000,50 and the Indian 1,00,000 are grouped; .5, 3.5 and 3,5 have
    decimals.
    """
    value, n, letters = digits(data, marks.starts[k], marks.stops[k])
    j = k + 1
    if marks.before[k] & m.POINT:
        return Grouped(value, n, letters, j)
    if letters == 0 and n < 3 and value > 0 and plain(data, marks, j, stop)[1] == 2:
        value, n, letters, j = indian(data, marks, value, n, j, stop)
    if letters == 0 and n <= 3 and value > 0:
        mark = marks.before[j] & m.KIND if j < stop else m.OTHER
        more = mark in (m.COMMA, m.SPACE, m.APOSTROPHE)
        # One full stop is a decimal point, so 1.000 is 1; only 1.000.000 and 1.000,50 are grouped.
        if mark == m.DOT:
            more = j + 1 < stop and marks.digit[j + 1] and marks.before[j + 1] & m.KIND in (m.DOT, m.COMMA)
            more = more and (marks.before[j + 1] & m.KIND == m.COMMA or plain(data, marks, j + 1, stop)[1] == 3)
        while more and letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND == mark:
            part, size, tail = digits(data, marks.starts[j], marks.stops[j])
            if size != 3 or tail < 0 or value > 10**11:  # 15 digits in all: they are exact as a float
                break
            value, letters = value * 1000 + part, tail
            n += 3
            j += 1
    if letters == 0 and j < stop and marks.digit[j] and marks.before[j] & m.KIND in (m.DOT, m.COMMA):
        part, size, tail = digits(data, marks.starts[j], marks.stops[j])
        if tail >= 0 and n + size <= 15:
            return Grouped(value * 10**size + part, size, tail, j + 1)
    return Grouped(value, np.int64(0), letters, j)


@inline
def scaled(marks: Marks, words: WordValues, decimals: int, letters: int, j: int, stop: int) -> tuple[int, int]:
    """The decimals of a number after a following k, million, percent or % is applied, and the next word."""
    # Scales move the decimal point and the value stays an integer until ``shifted`` divides once: "1.1 million" and
    # "1,100,000" are then the same float.
    kinds, amounts = words.kinds, words.amounts
    if letters in THOUSANDS:
        decimals -= 3
    elif letters in MILLIONS:
        decimals -= 6
    elif letters in BILLIONS:
        decimals -= 9
    while (
        j < stop and decimals > -10 and kinds[j] == W_SCALE and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN, m.DOT)
    ):
        decimals -= np.int64(amounts[j])
        j += 1
    if marks.after[j - 1] & m.HAS_PERCENT:
        decimals += 2
    elif j < stop and kinds[j] == W_PERCENT and marks.before[j] & m.KIND in (m.SPACE, m.HYPHEN):
        decimals, j = decimals + 2, j + 1
    elif j + 1 < stop and kinds[j] == W_PER and kinds[j + 1] == W_CENT:
        decimals, j = decimals + 2, j + 2
    return decimals, j


@inline
def money(marks: Marks, words: WordValues, k: int, j: int, stop: int) -> tuple[int, int]:
    """The currency of a number from word ``k`` to ``j``, 0 for none, and the next word."""
    before, after = marks.before[k], marks.after[j - 1]
    if j < stop and words.kinds[j] == W_CURRENCY and after & m.KIND in (m.SPACE, m.HYPHEN):
        return np.int64(words.amounts[j]), j + 1
    if before >> m.MONEY and not before & m.GLUED:
        return before >> m.MONEY, j
    if after >> m.MONEY and (after & m.GLUED or j >= stop or not marks.digit[j]):
        return after >> m.MONEY, j
    return 0, j


@inline
def shifted(value: float, decimals: int) -> float:
    """``value`` / 10**``decimals``, rounded once: equal decimals give equal floats."""
    return value / 10.0**decimals if decimals >= 0 else value * 10.0**-decimals


@inline
def spelled(marks: Marks, words: WordValues, k: int, stop: int) -> tuple[float, bool, int]:
    """The number that the words from ``k`` on spell, whether it is weak, and the next word."""
    kinds, amounts = words.kinds, words.amounts
    value, weak, j = amounts[k], kinds[k] == W_WEAK, k + 1
    linked = j < stop and marks.before[j] & m.KIND in (m.HYPHEN, m.SPACE)
    if linked and 20 <= value < 100 and value % 10 == 0 and kinds[j] in (W_NUMBER, W_WEAK) and 1 <= amounts[j] <= 9:
        return value + amounts[j], False, j + 1
    if linked and kinds[j] == W_PARTS:
        return value / amounts[j], False, j + 1
    if linked and kinds[j] == W_SCALE:
        return value, False, j
    return value, weak, j


@inline
def is_mark(marks: Marks, k: int) -> bool:
    """Whether word ``k`` is a citation like [1] or the number of a list item."""
    before, after = marks.before[k], marks.after[k]
    if before & m.OPENED or after & m.CLOSED:
        return True
    return (
        before & m.NEW_LINE != 0
        and after & m.ITEM != 0
        and after & m.KIND == 0
        and marks.stops[k] - marks.starts[k] < 3
    )


# Fast selection of the few words of a text that numbers and dates can consist of.


NEITHER, FOLLOWS, BEGINS = 0, 1, 2
"""Role of a word: it can begin a value, only continue a value, or neither."""


UNEQUAL, FULL = -1, -2

_U1 = np.uint64(1)


class Strings(NamedTuple):
    """The bytes of texts, and the ids of their words."""

    data: Bytes
    starts: Ints
    stops: Ints
    ids: Ids
    first: Ints


class WordSenses(NamedTuple):
    """The role of each word of the vocabulary, and its meaning as part of a value; see ``numbers.WordValues``."""

    worth: Bytes
    kinds: Bytes
    amounts: Floats


class Picked(NamedTuple):
    """The selected words: their marks, meanings, and positions among all words of all texts."""

    marks: Marks
    values: WordValues
    places: Ints


@kernel
def pick(strings: Strings, counts: Ints, classes: Bytes, senses: WordSenses, picked: Picked) -> int:
    """Select the words that begin a value, its continuations, and the next word; return how many.

    Returns ``UNEQUAL`` if a text has fewer or more words than ``counts`` says, ``FULL`` if ``picked`` has too little
    room.
    """
    starts, stops, bounds = strings.starts, strings.stops, picked.marks.bounds
    size = m.longest(starts, stops)
    edges = np.empty(size + m.PADDING, np.int64)
    n, total = 0, 0
    for row in range(len(starts)):
        if m.find_words(strings.data, starts[row], stops[row], classes, edges) != counts[row]:
            return UNEQUAL
        if n + counts[row] > len(picked.places):
            return FULL
        n = pick_of_text(strings, row, counts[row], total, edges, classes, senses, picked, n)
        total += counts[row]
        bounds[row + 1] = n
    return n


@leaf
def pick_of_text(
    strings: Strings,
    row: int,
    n_words: int,
    total: int,
    edges: Ints,
    classes: Bytes,
    senses: WordSenses,
    picked: Picked,
    n: int,
) -> int:
    """Add the selected words of one text to the ``n`` in ``picked``; return their number.

    The text has ``n_words`` words, whose ``edges`` are in bytes, and ``total`` come before it; ``classes`` are those of
    all characters.
    """
    data, begin, stop = strings.data, strings.starts[row], strings.stops[row]
    w_starts, w_stops, before, after, digit, _ = picked.marks
    first, at, live = np.uint64(strings.first[row]), np.uint64(n), False
    for w in range(np.uint64(n_words)):
        word = np.uint32(strings.ids[first + w])
        if not live and senses.worth[word] != BEGINS:  # ``live``: the word before is picked and may go on here
            continue
        edge = w << _U1
        w_starts[at], w_stops[at] = begin + edges[edge], begin + edges[edge + _U1]
        digit[at] = 48 <= data[np.uint64(w_starts[at])] <= 57
        before[at] = after[at - _U1] if live else m.gap_before(data, classes, edges, np.int64(w), begin)
        if w + _U1 < np.uint64(n_words):
            after[at] = m.gap_before(data, classes, edges, np.int64(w + _U1), begin)
        else:
            after[at] = m.gap_at_end(data, classes, w_stops[at], stop)
        picked.values.kinds[at], picked.values.amounts[at] = senses.kinds[word], senses.amounts[word]
        picked.places[at] = total + np.int64(w)
        live = senses.worth[word] != NEITHER
        at += _U1
    return np.int64(at)


# Parsing of dates and times from words: ISO, European and American formats, month names, 12- and 24-hour clocks.


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


# Numbers, dates and times found among words, in any format.
#
# A value is a kind and two numbers: NUMBER (value, currency), DATE (year·10⁴ + month·100 + day with 0 for a missing
# part, the same with day and month exchanged or -1), TIME (minutes since midnight, 1 if 12 hours later is possible
# too), WEEKDAY (1 to 7, 0).


NUMBER, DATE, TIME, WEEKDAY, WEAK = (np.int64(kind) for kind in range(1, 6))  # typed: one signature
"""A WEAK number can support other values and requires no support: "one", "first", the year and day of a date."""


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
def fraction(letters: int) -> float:
    """The value of one of ``FRACTIONS``."""
    value = 0.0
    for place in range(len(FRACTIONS)):
        if FRACTIONS[place] == letters:
            value = _FRACTION_VALUES[place]
    return value


@inline
def signed(marks: Marks, k: int, value: float) -> float:
    """The value of the number at word ``k`` with the sign before it."""
    return -value if marks.before[k] & m.NEGATIVE else value


@inline
def is_linked(marks: Marks, k: int) -> bool:
    """Whether a space or a hyphen alone separates word ``k`` from the previous word."""
    return marks.before[k] & m.KIND in (m.SPACE, m.HYPHEN)


@inline
def is_priced(marks: Marks, k: int) -> bool:
    """Whether a space and the sign of a currency are before word ``k``, as in "minus $5"."""
    gap = marks.before[k]
    return gap >> m.MONEY != 0 and gap & (m.FREE | m.POINT) != 0 and gap & (m.NEGATIVE | m.PARTED | m.NEW_LINE) == 0


@inline
def number_at(data: Bytes, marks: Marks, words: WordValues, k: int, stop: int) -> ParsedNumber:
    """The number at word ``k``; the kind is 0 if there is none."""
    if not marks.digit[k]:
        if words.kinds[k] == W_PARTS:
            return ParsedNumber(WEAK, 1 / words.amounts[k], 0.0, k + 1)
        value, weak, j = spelled(marks, words, k, stop)
        decimals, letters = 0, 0
        if words.kinds[k] == W_FRACTION:
            return ParsedNumber(NUMBER, signed(marks, k, value), 0.0, k + 1)
    else:
        whole, decimals, letters, j = grouped(data, marks, k, stop)
        if letters < 0:
            return ParsedNumber(np.int64(0), 0.0, 0.0, k + 1)
        value, weak = np.float64(whole), False
        if decimals == 0 and letters in FRACTIONS:
            value, letters = value + fraction(letters), 0
        if decimals == 0 and letters == 0 and j < stop and marks.before[j] & m.KIND == m.SLASH:
            part, n = plain(data, marks, j, stop)
            if n > 0 and part > 0:
                return ParsedNumber(NUMBER, signed(marks, k, value / part), 0.0, j + 1)
        if decimals == 0 and letters == 0 and j < stop and words.kinds[j] == W_FRACTION and is_linked(marks, j):
            value, j = value + words.amounts[j], j + 1
    decimals, j = scaled(marks, words, decimals, letters, j, stop)
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
        date, j = named_date(data, marks, words, k, stop)
    if date == 0 or (date < 10000 and date % 100 == 0 and may_be_verb(data[marks.starts[k]], date)):
        return n, k
    n = put(values, n, DATE, np.float64(date), np.float64(other), k, j)
    for part in (date // 10000, date % 100):  # "in 2024" is supported by a date of that year
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
    # A number begins a date if a month's name or "of" follows it, or a mark that dates have; only then the slow parsers
    # of dates are tried.
    linked = marks.before[k + 1] & m.KIND if k + 1 < stop else m.OTHER
    follows = kinds[k + 1] if k + 1 < stop else NOTHING
    dated = follows in (W_MONTH, W_OF) or linked in (m.HYPHEN, m.SLASH, m.DOT)
    if kinds[k] == W_MONTH or (digit and dated):
        n, j = date_at(data, marks, words, k, stop, values, n)
        if j > k or kinds[k] == W_MONTH:
            return n, max(j, k + 1)
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
    number = number_at(data, marks, words, k, stop)
    if number.kind > 0 and not (digit and is_mark(marks, k)):
        n = put(values, n, number.kind, number.value, number.currency, k, number.end)
    j = number.end
    if j < stop and kinds[j] == W_MINUS and is_linked(marks, j):  # "10 minus 5" has no number -5
        j += 1
    return n, j


@inline
def is_bare(kinds: Bytes, before: Ids, after: Ids, digit: Flags, starts: Ints, stops: Ints, k: int, stop: int) -> bool:
    """Whether the words and gaps around a number leave its value unchanged: a fast test of the common case.

    Of word k, ``kinds[k]`` is the kind, ``before[k]`` and ``after[k]`` are the gaps around it, ``digit[k]`` says
    whether it begins with a digit.
    """
    gaps = (before[k] & (m.OPENED | m.NEW_LINE | m.NEGATIVE | m.POINT)) | (after[k] & (m.CLOSED | m.HAS_PERCENT))
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
            # Most numbers are a word of digits between spaces: their value needs none of the parsers.
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
