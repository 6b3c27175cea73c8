"""The precision of columns of numbers, so that values stored in different types can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Floats

_NARROW = ((pa.types.is_float16, np.float16), (pa.types.is_float32, np.float32))


def narrowest(kinds: Sequence[pa.DataType]) -> type[np.floating] | None:
    """The narrowest floating type below float64 among these types; None if there is none.

    >>> narrowest([pa.float64(), pa.float32()])
    <class 'numpy.float32'>
    """
    return next((narrow for fits, narrow in _NARROW if any(map(fits, kinds))), None)


def rounded(values: Floats, kind: type[np.floating] | None) -> Floats:
    """The values as a narrower type stores them: 0.7 of float64 then equals 0.7 of float32."""
    if kind is None:
        return values
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(kind), np.float64)


def rounding_error(kind: type[np.floating] | None) -> float:
    """The relative error of a difference of two values of a type (None: float64)."""
    return 2 * float(np.finfo(np.float64 if kind is None else kind).eps)
