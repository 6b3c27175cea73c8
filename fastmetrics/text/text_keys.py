"""Properties of whole texts: hash keys of equal texts, whether they are UTF-8, their signs, and scripts that
conventions cannot split.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import EVERY, HIGH, Bytes, Ints, Text, Uint64s, every_sign, is_valid, text_of_arrow
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
    return np.column_stack([hash_texts(_frozen(block), starts, stops, np.uint64(0)) for block in (data, ~data)])


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
    return signs_of(array) is not None


def signs_of(array: pa.Array) -> Bytes | None:
    """The signs of each text of an array, seen while its bytes are checked; None if they are not UTF-8.

    Signs of bytes are those of blocks of 64, which neighbours share.

    >>> signs_of(pa.array(["Paris | Rome", "<b>", None])).tolist()
    [6, 6, 0]
    """
    if array.type not in _WIDTHS or not len(array):
        return every_sign(array)
    plain, wide = _WIDTHS[array.type]
    if not is_valid(array.view(plain)):
        return None
    _, offsets, data = array.buffers()
    if data is None:
        return every_sign(array)
    bounds = np.frombuffer(offsets, wide, len(array) + 1, array.offset * np.dtype(wide).itemsize)
    blocks = np.empty(folding.blocks_of(int(bounds[-1]) - int(bounds[0])), np.uint8)
    signs = np.empty(len(array), np.uint8)
    room = np.zeros(folding.PADDING, np.uint8)
    within = folding.see_texts(np.frombuffer(data, np.uint8), bounds, room, blocks, signs)
    return signs if within else every_sign(array)  # the bytes of null texts may be anything


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
    if not (len(text) and text.all_signs & HIGH):
        return None
    bits = np.zeros(len(text), np.uint8)
    signs = np.full(len(text), EVERY, np.uint8) if text.signs is None else text.signs
    words = text.data[: len(text.data) // 8 * 8].view(np.uint64)
    some = kernels.find_scripts(text.data, words, text.starts, text.stops, signs, _classes(), bits)
    return bits if some else None
