"""Texts of JSON, read by orjson, and how far their values are equal, field by field.

orjson holds numbers as floats.  A text with a number of 16 digits or more, or of an exponent of three, is read by the
module json with its numbers as written, and so is a field that a metric compares as text: 1, 1.0 and 10e-1 are equal,
1e400 and 2e400 are not.  Half of a surrogate pair is U+FFFD, as everywhere in the package.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import ijson
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Text, numpy_values
from fastmetrics.metrics.batch import Batch, Options, Unread, apart
from fastmetrics.tables.encoders import DEPTH, is_deep

# Reading a text.


INVALID: Any = object()
"""What is read of a text that is no JSON of RFC 8259: with NaN, a comment, a comma at the end, text around it."""
DEEP: Any = object()
"""What is read of JSON of more than ``DEPTH`` levels, which is not taken apart."""
ABSENT: Any = object()
"""What stands for a value that one side has not."""
_LONG = r"(?:^|[\[,:\s])-?[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}"
"""A number that a float may not hold, or what looks like one in a string."""
_DIGITS = re.compile(rb"([0-9])[0-9]{15,}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)", re.DOTALL
)
_LARGEST = 10**15
"""An exponent beyond it is one."""


class Number:
    """A number as it is written, equal to each that is the same decimal."""

    __slots__ = ("decimal", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        mantissa, _, power = text.lower().partition("e")
        whole, _, rest = mantissa.removeprefix("-").partition(".")
        digits = (whole + rest).lstrip("0")
        kept = digits.rstrip("0")
        exponent = int(power or 0) if len(power) < 17 else _LARGEST if power[0] != "-" else -_LARGEST
        exponent = max(-_LARGEST, min(exponent, _LARGEST)) - len(rest) + len(digits) - len(kept)
        self.decimal = (mantissa[0] == "-", kept, exponent) if kept else None

    def __eq__(self, other: object) -> bool:
        return type(other) is Number and self.decimal == other.decimal

    def __hash__(self) -> int:
        return hash(self.decimal)

    def __float__(self) -> float:
        return float(self.text)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


_EXACTLY = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refused).decode


def read(text: bytes, *, exact: bool) -> Any:
    """The value of a text, ``INVALID`` or ``DEEP``; numbers that are read ``exact`` are ``Number``.

    >>> read(b'{"a": [1.50, true]}', exact=False), read(b"[1,]", exact=False) is INVALID
    ({'a': [1.5, True]}, True)
    """
    if text.count(b"[") + text.count(b"{") > DEPTH and is_deep(text):
        return DEEP if _is_valid(text) else INVALID
    if b"\\u" in text and _SURROGATE.search(text) is not None:
        text = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape[1] else escape[0], text)
    try:
        return _EXACTLY(text.decode()) if exact else orjson.loads(text)
    except ValueError:
        return INVALID


def is_json(text: bytes) -> bool:
    """Whether a text is JSON.

    >>> is_json(b"[1e400]"), is_json(b"NaN")
    (True, False)
    """
    return read(text, exact=False) is not INVALID or read(text, exact=True) is not INVALID


def _is_valid(text: bytes) -> bool:
    """Whether a text of any depth is JSON."""
    short = _DIGITS.sub(rb"\1\1", text)  # the parser converts numbers, and has limits
    try:
        for _ in ijson.basic_parse(io.BytesIO(short)):
            pass
    except (ijson.JSONError, ValueError):
        return False
    return True


def pieces(text: Text) -> list[bytes]:
    """The bytes of each string."""
    data = text.data.tobytes()
    return [data[start:stop] for start, stop in zip(text.starts.tolist(), text.stops.tolist(), strict=True)]


def beyond_floats(texts: Sequence[bytes]) -> Flags:
    """The texts that may hold a number which a float does not."""
    return numpy_values(pc.match_substring_regex(pa.array(texts, pa.large_binary()), _LONG))


# Comparing two values.


IGNORED = -1


@dataclass
class Step:
    """A step of paths of fields with what follows it, None for any item of a list, and the rule of all within.

    A rule is ``IGNORED``, 0 for that of what the step is in, or the number of a metric that compares texts.
    """

    rule: int = 0
    next: dict[str | None, Step] = field(default_factory=dict)


class Near(NamedTuple):
    """By how much numbers may differ, and whether items of lists may be in any order."""

    absolute: float = 0.0
    relative: float = 0.0
    any_order: bool = False


@dataclass
class Comparison:
    """How values are compared; what a metric must decide, or no float holds, is kept for the rows that are compared."""

    how: Near
    open: list[tuple[int, int, float, str, str]] = field(default_factory=list)
    """Pairs that count in part, in their order: the row, the rule, how equal they are unless a metric tells, the texts.
    """
    beyond: set[int] = field(default_factory=set)
    row: int = 0

    @cached_property
    def is_plain(self) -> bool:
        """Whether numbers that are not equal are not near either."""
        return not (self.how.absolute or self.how.relative)

    def of(self, value: Any, other: Any, step: Step | None, rule: int) -> tuple[int, int, float]:
        """The values that contain no others, those of them with one at their place in ``other``, and the equal ones."""
        if rule == IGNORED:
            return 0, 0, 0
        kind = type(value)
        if not value or (kind is not dict and kind is not list):
            if other is ABSENT or (other and (type(other) is dict or type(other) is list)):
                return 1, 0, 0
            return 1, 1, self._equal(value, other, rule)
        within: Any = other if type(other) is kind else kind()
        pairs: Iterator[tuple[str | None, Any, Any]]
        if kind is dict:
            pairs = ((key, inner, within.get(key, ABSENT)) for key, inner in value.items())
        else:
            following = self._paired(value, within, step, rule)[0] if self.how.any_order else within
            pairs = zip(
                itertools.repeat(None), value, itertools.chain(following, itertools.repeat(ABSENT)), strict=False
            )
        count = shared = 0
        equal = 0.0
        for key, inner, opposite in pairs:
            following_step = None if step is None else step.next.get(key)
            inside = rule if following_step is None else following_step.rule or rule
            if inside == 0 and type(inner) is type(opposite) and type(inner) not in _COMPOUND:  # most values
                is_equal = inner == opposite
                if is_equal or self.is_plain:
                    count, shared, equal = count + 1, shared + 1, equal + is_equal
                    continue
            n, both, same = self.of(inner, opposite, following_step, inside)
            count, shared, equal = count + n, shared + both, equal + same
        return count, shared, equal

    def settled(self, metrics: Sequence[tuple[Any, Options]], n_rows: int) -> tuple[Ints, Floats, list[Unread]]:
        """The rows of ``open``, how equal each of them is, and what their metrics could not read."""
        unread: list[Unread] = []
        rows, rules, scores, *texts = map(np.array, zip(*self.open, strict=True))
        for number, (metric, options) in enumerate(metrics, 1):
            some = np.flatnonzero(rules == number)
            columns = {name: pa.array(side[some]) for name, side in zip(("answer", "reference"), texts, strict=True)}
            batch = Batch(columns)
            by_metric, _ = batch.scores(metric, options)
            scores[some] = np.where(np.isnan(by_metric), scores[some], by_metric)
            unread += (_of_rows(one, rows[some], n_rows) for one in batch.unread(metric, options) if not one.scored)
        return rows, scores, unread

    def _equal(self, value: Any, other: Any, rule: int) -> float:
        kind, other_kind = type(value), type(other)
        numbers = kind in _NUMBERS and other_kind in _NUMBERS
        same = value == other if kind is other_kind or numbers else False
        if rule and kind in _TEXTS and other_kind in _TEXTS:
            texts = _text(value), _text(other)
            self.open.append((self.row, rule, float(kind is other_kind and texts[0] == texts[1]), *texts))
            return 0.0
        if same or not numbers or self.is_plain:
            return same
        stated, wanted = float(value), float(other)
        if math.isinf(stated) or math.isinf(wanted):
            self.beyond.add(self.row)
        is_near = abs(stated - wanted) <= max(self.how.absolute, self.how.relative * abs(wanted))
        self.open.append((self.row, 0, float(is_near), "", ""))
        return 0.0

    def _paired(self, items: list[Any], others: list[Any], step: Step | None, rule: int) -> tuple[list[Any], list[Any]]:
        """The other items in the order of ``items``, equal ones at their places, the rest one after another; and those
        that are left."""
        inner = None if step is None else step.next.get(None)
        inside = rule if inner is None else inner.rule or rule
        free: dict[Any, list[int]] = {}
        for place in range(len(others) - 1, -1, -1):
            free.setdefault(_canonical(others[place], inner, inside), []).append(place)
        equal = [free.get(_canonical(item, inner, inside)) for item in items]
        places = [found.pop() if found else -1 for found in equal]
        taken = set(places)
        left = (place for place in range(len(others)) if place not in taken)
        following = [next(left, -1) if place < 0 else place for place in places]
        return [others[place] if place >= 0 else ABSENT for place in following], [others[place] for place in left]

    def fields(
        self, value: Any, other: Any, step: Step | None, rule: int = 0, path: str = ""
    ) -> Iterator[tuple[str, str | int]]:
        """The fields of both values, each with its path, and whether it is equal, wrong, missing (from ``value``) or
        extra; of those that count in part the place in ``open``."""
        kinds = [type(one) if one and type(one) in _COMPOUND else None for one in (value, other)]
        if rule == IGNORED:
            return
        if kinds[0] is None and kinds[1] is None and value is not ABSENT and other is not ABSENT:
            before = len(self.open)
            is_equal = self._equal(value, other, rule)
            yield path, before if len(self.open) > before else "equal" if is_equal else "wrong"
            return
        for one, kind, what in zip((value, other), kinds, ("extra", "missing"), strict=True):
            if kind is None and one is not ABSENT:
                yield path, what
        for kind in dict.fromkeys(kind for kind in kinds if kind is not None):
            made, wanted = (one if own is kind else kind() for one, own in zip((value, other), kinds, strict=True))
            if kind is dict:
                pairs = [
                    (f"{path}.{key}", key, made.get(key, ABSENT), wanted.get(key, ABSENT)) for key in wanted | made
                ]
            else:
                beside, left = self._paired(made, wanted, step, rule) if self.how.any_order else (wanted, [])
                both = itertools.zip_longest([*made, *[ABSENT] * len(left)], [*beside, *left], fillvalue=ABSENT)
                pairs = [(f"{path}[]", None, *pair) for pair in both]
            for name, key, inner, opposite in pairs:
                yield from self.fields(inner, opposite, *_below(step, key, rule), name)


_COMPOUND = frozenset({dict, list})
_NUMBERS = frozenset({int, float, Number})
_TEXTS = frozenset({str, bool, *_NUMBERS})


def _text(value: Any) -> str:
    return value.text if type(value) is Number else value if type(value) is str else "true" if value else "false"


def _canonical(value: Any, step: Step | None, rule: int) -> Any:
    """What equal values have in common, whatever the order of members and items."""
    if type(value) is dict:
        inner = ((key, item, _below(step, key, rule)) for key, item in value.items())
        return dict, frozenset((key, _canonical(item, *below)) for key, item, below in inner if below[1] != IGNORED)
    if type(value) is list:
        below = _below(step, None, rule)
        items = Counter(_canonical(item, *below) for item in value) if below[1] != IGNORED else {}
        return list, frozenset(items.items())
    return (bool, value) if type(value) is bool else value


def _below(step: Step | None, key: str | None, rule: int) -> tuple[Step | None, int]:
    inner = None if step is None else step.next.get(key)
    return inner, rule if inner is None else inner.rule or rule


def _count(value: Any, step: Step | None, rule: int) -> int:
    """The values that contain no others, without those of ignored fields."""
    if rule == IGNORED:
        return 0
    if not value or (type(value) is not dict and type(value) is not list):
        return 1
    if step is None:
        inner = value.values() if type(value) is dict else value
        return sum([_count(item, None, rule) if type(item) in _COMPOUND else 1 for item in inner])
    members = value.items() if type(value) is dict else zip(itertools.repeat(None), value, strict=False)
    return sum(_count(item, *_below(step, key, rule)) for key, item in members)


# Comparing two columns.


class Compared(NamedTuple):
    """Of each pair: whether both texts are JSON, how many values each has, and how many places both; equal values.

    Equal texts have one value, which is equal.  ``unread`` are pairs that cannot be told.
    """

    valid: Flags
    known: Flags
    of_answer: Ints
    of_reference: Ints
    shared: Ints
    equal: Floats
    unread: Sequence[Unread]


def compared(
    answers: Sequence[bytes],
    references: Sequence[bytes],
    fields: Step | None = None,
    metrics: Sequence[tuple[Any, Options]] = (),
    how: Near = Near(),  # noqa: B008 - unchangeable
) -> Compared:
    """Compare the values of answers with those of references; values that a metric compares are equal in part."""
    n_rows = len(answers)
    exact = np.full(n_rows, True) if metrics else beyond_floats(answers) | beyond_floats(references)
    comparison = Comparison(how)
    found = np.zeros((n_rows, 6))
    deep = np.zeros(n_rows, np.bool_)
    before: tuple[Any, ...] = (None, None)
    wanted, n_wanted = INVALID, 0
    for row, (text, other, is_exact) in enumerate(zip(answers, references, exact.tolist(), strict=True)):
        if before != (other, is_exact):
            wanted = read(other, exact=is_exact)
            n_wanted = 0 if wanted is INVALID or wanted is DEEP else _count(wanted, fields, 0)
            before = other, is_exact
        if wanted is INVALID:
            continue
        if fields is None and text == other:
            found[row] = 1
            continue
        stated = read(text, exact=is_exact)
        found[row, :2] = stated is not INVALID, True
        if stated is DEEP or (wanted is DEEP and stated is not INVALID):
            deep[row] = True
        elif stated is not INVALID:
            comparison.row = row
            n, shared, equal = comparison.of(stated, wanted, fields, 0)
            found[row, 2:] = n, n_wanted, shared, equal
    beyond = np.zeros(n_rows, np.bool_)
    beyond[list(comparison.beyond)] = True
    unread = [
        Unread(f"hold JSON of more than {DEPTH} levels", deep),
        Unread("hold a number beyond the range of floats, which cannot be compared as near", beyond),
    ]
    if comparison.open:
        rows, scores, not_read = comparison.settled(metrics, n_rows)
        unread += not_read
        found[:, 5] += np.bincount(rows, scores, n_rows)
    valid, known = found[:, 0] > 0, found[:, 1] > 0
    of_answer, of_reference, shared = found[:, 2:5].astype(np.int64).T
    return Compared(
        valid, known, of_answer, of_reference, shared, found[:, 5], apart(unread, np.ones(n_rows, np.bool_))
    )


def _of_rows(unread: Unread, rows: Ints, n_rows: int) -> Unread:
    """What a metric could not read of fields, as told of their rows."""
    flags = np.zeros(n_rows, np.bool_)
    flags[rows[unread.rows]] = True
    return Unread(f"hold a field whose texts {unread.reason}", flags, unread.advice)
