"""Characters and words of chrF from folded text."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.text.byte_blocks import eight
from fastmetrics.kernels.text.folding import decode

_U0, _U8, _HIGH = np.uint64(0), np.uint64(8), np.uint64(0x8080808080808080)


@kernel
def characters(data: Bytes, starts: Ints, stops: Ints, skip: int, out: Ids, bounds: Ints) -> None:
    """Write the code points of every text except ``skip``; ``bounds`` receives the bounds of each text."""
    k = 0
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        while i < stop:
            code, i = decode(data, i)
            out[k] = code
            k += code != skip
        bounds[row + 1] = k


@leaf
def visible_characters(data: Bytes, starts: Ints, stops: Ints, is_space: Flags, out: Ids, bounds: Ints) -> None:
    """Write the code points of every text except white space; ``bounds`` receives the bounds of each text."""
    k = np.uint64(0)
    for row in range(len(starts)):
        i, stop = np.uint64(starts[row]), np.uint64(stops[row])
        while i < stop:
            if i + _U8 <= stop and eight(data, i) & _HIGH == _U0:
                for p in range(i, i + _U8):
                    out[k] = data[p]
                    k += np.uint64(not is_space[data[p]])
                i += _U8
            else:
                code, after = decode(data, np.int64(i))
                out[k] = code
                k += np.uint64(not is_space[code])
                i = np.uint64(after)
        bounds[row + 1] = k


@kernel
def split_ends(data: Bytes, starts: Ints, stops: Ints, is_punctuation: Flags, out: Bytes, bounds: Ints) -> None:
    """Write every folded text with a punctuation mark at a word's end, or else at its start, split from the word.

    ``is_punctuation`` has one entry per byte.
    """
    j = 0
    for row in range(len(starts)):
        i, stop = starts[row], stops[row]
        while i < stop:
            first = i
            while i < stop and data[i] != 0x20:
                i += 1
            if i - first > 1:
                last = is_punctuation[data[i - 1]]
                head = is_punctuation[data[first]] and not last
                for k in range(first, i):
                    if last and k == i - 1:
                        out[j] = 0x20
                        j += 1
                    out[j] = data[k]
                    j += 1
                    if head and k == first:
                        out[j] = 0x20
                        j += 1
            elif i > first:
                out[j] = data[first]
                j += 1
            out[j] = 0x20
            j += 1
            i += 1
        out[j] = 0x20
        j += 1
        bounds[row + 1] = j
