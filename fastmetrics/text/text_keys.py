"""Properties of whole texts: hash keys of equal texts, whether they are UTF-8, and scripts that conventions cannot
split.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Bytes, Ints, Text, Uint64s, is_valid, text_of_arrow
from fastmetrics.kernels import folding
from fastmetrics.kernels import folding as kernels
from fastmetrics.kernels.rankings import hash_texts
from fastmetrics.text import conventions
from fastmetrics.text.conventions import UNSPACED

# 16-byte hash keys of texts, for finding equal texts among millions without storing them.


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


# Whether columns of text are UTF-8.


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
    within = folding.is_utf8(np.frombuffer(data, np.uint8), bounds, np.zeros(folding.PADDING, np.uint8))
    return within or is_valid(array)  # the bytes of null texts may be anything


# Detecting texts in scripts that some conventions cannot split into words.


_LATIN = (
    *((0x0000, 0x02FF), (0x1D00, 0x1DBF), (0x1E00, 0x1EFF)),  # with IPA and phonetic extensions
    *((0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xAB30, 0xAB6F), (0xFB00, 0xFB06)),
)
"""The first and the last character of each block of Latin letters."""

_CYRILLIC = ((0x0400, 0x052F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F))
"""The first and the last character of each block of Cyrillic letters."""

_SIGNS = (0x2000, 0x2BFF)
"""The blocks of punctuation and symbols, whose few letters (ℝ, ⅷ) belong to no script."""


@functools.cache
def _classes() -> Bytes:
    letter = conventions.is_letter()
    classes = np.where(letter, np.uint8(kernels.OTHER), np.uint8(0))
    table = ((_LATIN, kernels.LATIN), (_CYRILLIC, kernels.CYRILLIC), (UNSPACED, kernels.UNSPACED), ((_SIGNS,), 0))
    for blocks, kind in table:
        for first, last in blocks:
            classes[first : last + 1][letter[first : last + 1]] = kind
    return classes


def scripts(text: Text) -> Bytes | None:
    """Of each string the bits ``FOREIGN`` (its letters are mostly not Latin), ``ONE_WORD`` (mostly of scripts without
    spaces between words) and ``UNLISTED`` (mostly neither Latin nor Cyrillic), by the characters of its first 32 bytes;
    None if no string has any.

    >>> from fastmetrics.base.columns import as_text
    >>> scripts(as_text(["Paris", "Париж", "Παρίσι", "巴黎 2024"]))
    array([0, 1, 5, 7], dtype=uint8)
    """
    bits = np.zeros(len(text), np.uint8)
    words = text.data[: len(text.data) // 8 * 8].view(np.uint64)
    some = kernels.find_scripts(text.data, words, text.starts, text.stops, _classes(), bits)
    return bits if some else None
