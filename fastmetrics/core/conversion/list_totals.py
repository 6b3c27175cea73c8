"""Columns of amounts: one number per row, or a list with a number for each round, which are summed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import floats_of_arrow
from fastmetrics.core.arrow.numbers import numpy_values
from fastmetrics.core.arrow.types import decoded


def totals(array: pa.Array, name: str) -> pa.Array:
    """The numbers of a column; for a list, the sum of its numbers.

    Null for null, and for a list that is empty or contains null, because an unknown amount would make the sum too
    small.  Raises ``ColumnError`` for a type that does not contain numbers.

    >>> totals(pa.array([[1.0, 2.0], [3.0, None], [], None]), "total_tokens").to_pylist()
    [3.0, None, None, None]
    """
    array = decoded(array)
    kind = array.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return array
    sizes = numpy_values(pc.list_value_length(array), null=0).astype(np.int64)
    flat, rows = array.flatten(), np.repeat(np.arange(len(array)), sizes)
    unknown = numpy_values(flat.is_null())
    numbers = np.where(unknown, 0.0, floats_of_arrow(flat, name))
    whole = (sizes > 0) & (np.bincount(rows[unknown], minlength=len(array)) == 0)
    return pa.array(np.bincount(rows, numbers, len(array)), mask=~whole)
