"""Detecting texts in scripts that some conventions cannot split into words."""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.base.arrays import Bytes, Text
from fastmetrics.kernels import folding as kernels
from fastmetrics.text import unicode
from fastmetrics.text.conventions import UNSPACED

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
    letter = unicode.is_letter()
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
