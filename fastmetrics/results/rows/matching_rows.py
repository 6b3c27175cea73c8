"""The rows in which a column has a value that a user writes as text."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags
from fastmetrics.errors import ColumnError

_FLAGS = {"true": 1, "false": 0}


def matching_rows(name: str, column: pa.Array, value: str) -> Flags:
    """Whether each row of the column has this value, whatever the type of the column.

    Numbers are compared as numbers (``1`` and ``1.0`` are equal), booleans with ``true`` and ``false`` in any case or 1
    and 0, texts as they are.  A text that no row has is compared as a number or boolean too, since files of text store
    these as text.  ``null`` is a missing value unless it is a text of the column.  Raises ``ColumnError`` for a column
    of lists.

    >>> matching_rows("g", pa.array([1.0, 2.0, None]), "1").tolist()
    [True, False, False]
    >>> matching_rows("g", pa.array(["1", "x"]), "1.0").tolist(), matching_rows("b", pa.array([True]), "true").tolist()
    ([True, False], [True])
    """
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} holds {column.type}; rules need text, numbers, dates or booleans")
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    distinct = pc.unique(values)
    texts = distinct.to_pylist()
    same = [text is not None and str(text) == value for text in texts]
    if not any(same):
        number = _number(value)
        same = [number is not None and _number(text) == number for text in texts]
    if not any(same) and value == "null":
        same = [text is None or (isinstance(text, float) and math.isnan(text)) for text in texts]
    codes = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.array(same, np.bool_)[codes]


def _number(value: Any) -> Decimal | None:
    """The number that a value is or spells; true is 1 and false 0."""
    text = str(value).strip()
    try:
        parsed = Decimal(_FLAGS.get(text.lower(), text))
    except InvalidOperation:
        return None
    return parsed if parsed.is_finite() else None
