"""Whether columns of text are UTF-8."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import is_valid
from fastmetrics.kernels import folding

_WIDTHS = {pa.string(): (pa.binary(), np.int32), pa.large_string(): (pa.large_binary(), np.int64)}


def is_utf8(array: pa.Array) -> bool:
    """Whether all texts of an array are UTF-8; its bytes are checked at once, 64 in a step.

    >>> is_utf8(pa.array(["Да", None]))
    True
    """
    if array.type not in _WIDTHS or not len(array):
        return is_valid(array)
    plain, wide = _WIDTHS[array.type]
    if not is_valid(array.view(plain)):
        return False
    _, offsets, data = array.buffers()
    if data is None:
        return is_valid(array)
    bounds = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize)
    within = folding.is_utf8(np.frombuffer(data, np.uint8), bounds, np.zeros(folding.ROOM, np.uint8))
    return within or is_valid(array)  # the bytes of null texts may be anything
