"""Stems of words, and whether a word ends like a past-tense verb."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ints
from fastmetrics.kernels.jit import kernel, leaf


@kernel
def endings(data: Bytes, starts: Ints, stops: Ints, suffixes: Ints, stems: Ints) -> Flags:
    """Write the end of each word's stem to ``stems``, and whether the word ends in "ed" like a past-tense verb.

    ``suffixes`` are the English ones as numbers in base 256, in the order they are tried.
    """
    past = np.zeros(len(starts), np.bool_)
    for word in range(len(starts)):
        begin, end = starts[word], stops[word]
        latin = True
        for k in range(begin, end):
            latin &= 97 <= data[k] <= 122
        past[word] = is_past(data, begin, end)
        stems[word] = stem_latin(data, begin, end, suffixes) if latin else stem_cyrillic(data, begin, end)
    return past


@leaf
def is_past(data: Bytes, begin: int, end: int) -> bool:
    """Whether more than four ASCII characters end in "ed"."""
    if end - begin < 5 or data[end - 2] != 101 or data[end - 1] != 100:
        return False
    ascii = True
    for k in range(begin, end):
        ascii &= data[k] < 128
    return ascii


@leaf
def stem_latin(data: Bytes, begin: int, end: int, suffixes: Ints) -> int:
    """The end of the stem of a lower-case Latin word: one suffix and a doubled last letter are removed.

    Each of ``suffixes`` is its letters as a number to the base 256.
    """
    if end - begin < 4:
        return end
    if not (data[end - 1] == 115 and data[end - 2] == 115):
        for suffix in suffixes:
            size = 1 + (suffix > 255) + (suffix > 65535)
            tail = 0
            for k in range(max(begin, end - size), end):
                tail = tail * 256 + np.int64(data[k])
            if tail == suffix and end - begin - size >= 3:
                end -= size
                break
    return end - 1 if end - begin > 3 and data[end - 1] == data[end - 2] else end


@leaf
def stem_cyrillic(data: Bytes, begin: int, end: int) -> int:
    """The end of the stem of a Russian word of more than four letters: up to three letters of endings are removed."""
    if (end - begin) % 2:
        return end
    for k in range(begin, end, 2):
        code = (np.int64(data[k]) & 0x1F) << 6 | (np.int64(data[k + 1]) & 0x3F)
        if data[k] not in (0xD0, 0xD1) or not (0x430 <= code <= 0x44F or code == 0x451):
            return end
    for _ in range(3):
        code = (np.int64(data[end - 2]) & 0x1F) << 6 | (np.int64(data[end - 1]) & 0x3F)
        if end - begin <= 8 or not (code == 0x451 or (code >= 0x430 and _ENDING >> (code - 0x430) & 1)):
            break
        end -= 2
    return end


_ENDING = sum(1 << (ord(letter) - 0x430) for letter in "аеиоуыэюяйьмхв")
