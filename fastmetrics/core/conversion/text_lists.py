"""Texts that are lists of texts, as JSON or Python writes them: ``["Paris", "Paris, France"]``.

A text is one text unless its column was declared to hold such lists, because an answer or a passage may well be one.
"""

from __future__ import annotations

import ast
import json
import re
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags, Text
from fastmetrics.core.arrow.types import decoded, is_text
from fastmetrics.errors import InputError

_QUOTED = r'(?:"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*')"
_LIST = rf"(?s)^\[\s*(?:{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*)?\]\s*$"
"""A list of quoted texts, for Arrow's and Python's regular expressions."""
_BRACKET = ord("[")


def look_like_lists(column: pa.Array, text: Text) -> Flags | None:
    """Which rows of a column are one text that is a list of quoted texts; None if no row is.

    ``text`` is the view of the column's strings.

    >>> from fastmetrics.core.arrays import text_of_arrow
    >>> column = pa.array(['["Paris", "Rome"]', "[1]", None, "Paris", "['it', 'is']"])
    >>> look_like_lists(column, text_of_arrow(column, "reference")).tolist()
    [True, False, False, False, True]
    """
    if text.groups is not None:  # the rows are lists already
        return None
    begins = np.zeros(len(text), np.bool_)
    filled = np.flatnonzero(text.valid & (text.stops > text.starts))
    begins[filled] = text.data[text.starts[filled]] == _BRACKET
    places = np.flatnonzero(begins)
    if not len(places):
        return None
    candidates = decoded(column).cast(pa.large_string()).take(pa.array(places))
    begins[places] = pc.match_substring_regex(candidates, _LIST).to_numpy(zero_copy_only=False)
    return begins if begins.any() else None


def text_list(text: str) -> list[str | None] | None:
    """The texts of one that is a list; a list of one for any other text; None for white space.

    >>> text_list('["Paris", "Rome"]'), text_list("['it', 'is']"), text_list("Paris"), text_list(" ")
    (['Paris', 'Rome'], ['it', 'is'], ['Paris'], None)

    Raises ``ValueError`` for a text that begins with a bracket and is not a list of texts.
    """
    stripped = text.strip()
    if not stripped.startswith("["):
        return [text] if stripped else None
    try:
        items = json.loads(stripped)
    except (ValueError, RecursionError):
        items = _of_python(stripped)
    if not isinstance(items, list) or not all(item is None or isinstance(item, str) for item in items):
        raise ValueError(f"expected a list of texts in JSON, got {text[:40]!r}")
    return items


def _of_python(text: str) -> object:
    """The list of quoted texts that Python wrote; None if it is none."""
    if re.fullmatch(_LIST, text) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # escape sequences that Python does not know
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None


def as_text_lists(column: pa.Array, name: str) -> pa.Array:
    """A column of texts that are lists as a column of lists; a column of another type as it is.

    Raises ``InputError`` for a text that begins with a bracket and is not a list of texts.
    """
    column = decoded(column)
    if not is_text(column.type):
        return column
    try:
        return pa.array(
            [None if text is None else text_list(text) for text in column.to_pylist()], pa.list_(pa.string())
        )
    except ValueError as error:
        raise InputError(f"column {name!r}: {error}") from None
