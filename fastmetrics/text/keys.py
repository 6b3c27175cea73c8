"""16-byte hash keys of texts, for finding equal texts without storing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.core.arrays import Text, Uint64s
from fastmetrics.kernels.ranking.ids import hash_texts


def keys_of(text: Text) -> Uint64s:
    """Two 64-bit keys per text; texts with equal keys count as equal (expected error: one in 10²⁴ logs of 10⁷ texts).

    The second is the hash of the bytes' complements.
    """
    if not len(text):
        return np.zeros((0, 2), np.uint64)
    first = int(text.starts.min())
    data = text.data[first : int(text.stops.max(initial=first))]
    starts, stops = _frozen(text.starts - first), _frozen(text.stops - first)
    return np.column_stack([hash_texts(_frozen(block), starts, stops) for block in (data, ~data)])


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only array, the only array type that the kernel is compiled for."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
