"""Counts over the bytes of texts: characters, and phrases they contain."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Bytes, Ints, Uint64s
from fastmetrics.kernels.jit import kernel


@kernel
def count_characters(data: Bytes, starts: Ints, stops: Ints) -> Ints:
    """Number of Unicode code points of each text."""
    counts = np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        n = 0
        for byte in data[starts[row] : stops[row]]:
            n += (byte & 0xC0) != 0x80
        counts[row] = n
    return counts


@kernel
def find_phrases(data: Bytes, starts: Ints, stops: Ints, first: Uint64s, phrases: Bytes, bounds: Ints) -> Uint64s:
    """Which of up to 64 phrases each text contains, one bit each.

    ``first[k, b]`` has the bits of the phrases whose byte k can be b, for the first four bytes.
    """
    masks = np.zeros(len(starts), np.uint64)
    none, unit = np.uint64(0), np.uint64(1)
    for row in range(len(starts)):
        bits, stop = none, stops[row]
        for i in range(starts[row], stop):
            candidates = first[0, data[i]] & first[1, data[i + 1]]
            if candidates == none:
                continue
            candidates &= first[2, data[i + 2]] & first[3, data[i + 3]]
            candidates &= ~bits
            phrase = 0
            while candidates != none:
                if candidates & unit:
                    k, begin, n = 0, bounds[phrase], bounds[phrase + 1] - bounds[phrase]
                    while k < n and i + k < stop and data[i + k] == phrases[begin + k]:
                        k += 1
                    if k == n:
                        bits |= unit << np.uint64(phrase)
                candidates >>= unit
                phrase += 1
        masks[row] = bits
    return masks
