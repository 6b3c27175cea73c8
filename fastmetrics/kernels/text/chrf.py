"""Characters and words of chrF from folded text."""

from __future__ import annotations

from fastmetrics.core.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.text.folding import decode


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


@kernel
def split_ends(data: Bytes, starts: Ints, stops: Ints, is_punctuation: Flags, out: Bytes, bounds: Ints) -> None:
    """Write every folded text with a punctuation mark at a word's end, or else at its start, split from the word."""
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
