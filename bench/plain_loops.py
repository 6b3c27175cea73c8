"""What plain compiled loops over the bytes of a column take: the limits of cutting text into words.

``count_gaps`` only reads the bytes.  ``number_words`` does the least that numbers words at all, byte by byte: it knows
ASCII alone, and takes words with equal hashes for equal.  The package folds all of Unicode and compares every word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from numba import njit

from fastmetrics.base.arrays import Bytes, Ids, Ints, Text, Uint64s, text_of_arrow
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary

_SLOTS = 1 << 20


@njit(nogil=True, error_model="numpy")
def count_gaps(data: Bytes) -> int:
    """The number of bytes in ``data`` that are spaces."""
    count = 0
    for byte in data:
        count += byte == 0x20
    return count


@njit(nogil=True, error_model="numpy")
def number_words(data: Bytes, starts: Ints, stops: Ints, hashes: Uint64s, numbers: Ids, ids: Ids) -> int:
    """Write the number of each word, split at spaces and lower-cased, to ``ids``; return how many words there are."""
    k, distinct, last = 0, np.int32(0), np.uint64(len(hashes) - 1)
    for text in range(len(starts)):
        key, inside = np.uint64(0xCBF29CE484222325), False
        for p in range(starts[text], stops[text] + 1):
            byte = np.uint64(data[p]) if p < stops[text] else np.uint64(0x20)
            if byte > np.uint64(0x20):
                lower = byte | np.uint64(0x20) if np.uint64(0x41) <= byte <= np.uint64(0x5A) else byte
                key = (key ^ lower) * np.uint64(0x100000001B3)
                inside = True
            elif inside:
                h = (key >> np.uint64(32)) & last
                while hashes[h] != key and hashes[h] != np.uint64(0):
                    h = (h + np.uint64(1)) & last
                if hashes[h] == np.uint64(0):
                    hashes[h], numbers[h] = key, distinct
                    distinct += np.int32(1)
                ids[k] = numbers[h]
                k += 1
                key, inside = np.uint64(0xCBF29CE484222325), False
    return k


def contestants(texts: pa.Array) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """By name, the package's cutting of ``texts`` and a loop over the same bytes."""
    text = text_of_arrow(texts, "text")
    data = text.data[int(text.starts[0]) : int(text.stops[-1])]
    cut = partial(_cut, text)
    return {
        "words folded, cut and numbered, against a loop that only reads the bytes": (cut, partial(count_gaps, data)),
        "words folded, cut and numbered, against a plain loop byte by byte": (cut, partial(_number, text)),
    }


def _cut(text: Text) -> object:
    return Vocabulary(convention("split")).tokenize(text)


def _number(text: Text) -> object:
    ids = np.empty(len(text.data) // 2 + len(text) + 1, np.int32)
    return number_words(
        text.data, text.starts, text.stops, np.zeros(_SLOTS, np.uint64), np.empty(_SLOTS, np.int32), ids
    )
