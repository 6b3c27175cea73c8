"""16-byte hash keys of texts, for finding equal texts among millions without storing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Ints, Text, Uint64s, text_of_arrow
from fastmetrics.kernels.rankings import hash_texts


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


def plainly(texts: pa.Array) -> pa.Array:
    """Texts normalised for comparison: in lower case, without white space at their ends."""
    return pc.utf8_trim_whitespace(pc.utf8_lower(texts))


def text_keys(texts: pa.Array) -> Uint64s:
    """Two keys per text; texts with equal keys count as equal."""
    return keys_of(text_of_arrow(texts, "text"))


def group_sizes(keys: Uint64s) -> Ints:
    """The count of each distinct text."""
    if not len(keys):
        return np.zeros(0, np.int64)
    order = np.argsort(keys[:, 0])
    first, second = keys[order, 0], keys[order, 1]
    same = first[1:] == first[:-1]
    if (second[1:][same] != second[:-1][same]).any():  # collision of the first key, which is rare
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        first, second = keys[order, 0], keys[order, 1]
        same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    new = np.flatnonzero(np.append(True, ~same))
    return np.diff(np.append(new, len(keys))).astype(np.int64)
