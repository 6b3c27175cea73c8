"""Finding equal texts among millions by 16 bytes per text: hashes of the bytes and of their complements."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Ints, Uint64s, text_of_arrow
from fastmetrics.text.keys import keys_of


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
