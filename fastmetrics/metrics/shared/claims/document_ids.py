"""Replacing citations of document ids by numbers of contexts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from fastmetrics.base.arrays import Ints
from fastmetrics.base.arrow import decoded
from fastmetrics.base.errors import ColumnError
from fastmetrics.core.settings.patterns import UserPattern
from fastmetrics.declaration.batch import Batch, Options
from fastmetrics.metrics.shared.claims.cited_support import PATTERN, cited, number_of

if TYPE_CHECKING:
    import regex

_BRACKETS = r"\[([^\[\]]+)\]"
_UNKNOWN = 10**9
"""The number of the first unknown id in a row; further unknown ids count down from it."""


@dataclass(frozen=True)
class IdsIn:
    """Lists of ids as given; :func:`with_numbers` has already read them."""

    def of(self, batch: Batch, column: str, options: Options) -> pa.Array:
        """The column."""
        return batch.columns[column]


Ids = Annotated[pa.Array | None, IdsIn()]


def with_numbers(answers: pa.Array, ids: pa.Array, contexts: pa.Array, counts: Ints, pattern: str) -> pa.Array:
    """Answers in which every citation is ``[n]``: citations by id are replaced by the position of the id in ``ids``.

    A citation is an id if the row has that id, otherwise a number.  With the default pattern, ``[...]`` is a citation
    only if it contains an id of the row or a number; with another pattern, every match is a citation, and an unknown id
    is out of range.  Raises ``ColumnError`` for a row with a different number of ids than contexts.
    """
    places = _places(ids, contexts, counts)
    default = pattern == PATTERN
    marks = UserPattern("pattern", _BRACKETS if default else pattern)
    answers = decoded(answers)
    texts = [
        answer if answer is None else _numbered(answer, place, marks.matches(answer, row), default)
        for row, (answer, place) in enumerate(zip(answers.to_pylist(), places, strict=True))
    ]
    return pa.array(texts, pa.large_string())


def _places(ids: pa.Array, contexts: pa.Array, counts: Ints) -> list[dict[str, int]]:
    """The number of the context for each id of a row; for an id of several contexts, the first."""
    ids = decoded(ids)
    if not (pa.types.is_null(ids.type) or hasattr(ids.type, "value_type")):
        raise ColumnError(f"column 'context_ids': expected lists of ids, got {ids.type}")
    rows = []
    for row, own in enumerate(ids.to_pylist()):
        if own is not None and contexts[row].is_valid and len(own) != counts[row]:
            raise ColumnError(
                f"column 'context_ids', row {row}: expected an id for each of {counts[row]} contexts, got {len(own)}"
            )
        places: dict[str, int] = {}
        for place, id_ in enumerate(own or (), 1):
            if id_ is not None:
                places.setdefault(str(id_), place)
        rows.append(places)
    return rows


def _numbered(answer: str, places: Mapping[str, int], marks: Iterable[regex.Match[str]], default: bool) -> str:
    pieces, end = [], 0
    unknown: dict[str, int] = {}
    for mark in marks:
        key = cited(mark).strip()
        if default and key not in places and not re.fullmatch(PATTERN, mark[0]):
            continue
        number = places.get(key) or number_of(key)
        if not number and not key.isdecimal():
            number = _UNKNOWN - unknown.setdefault(key, len(unknown))
        pieces += [_plain(answer[end : mark.start()], default), f"[{number}]"]
        end = mark.end()
    return "".join([*pieces, _plain(answer[end:], default)])


def _plain(text: str, default: bool) -> str:
    """Text between the citations of another pattern, in which numbers in brackets are not citations."""
    return text if default else re.sub(PATTERN, r"(\1)", text)
