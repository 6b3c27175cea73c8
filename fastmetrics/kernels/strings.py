"""Counts over the bytes of texts: characters, equality up to white space, phrases they contain."""

from __future__ import annotations

import numpy as np

from fastmetrics.arrays import Bytes, Flags, Ints, Uint64s
from fastmetrics.kernels._jit import kernel


@kernel
def count_characters(data: Bytes, starts: Ints, stops: Ints) -> Ints:
    """Unicode code points of each text."""
    counts = np.zeros(len(starts), np.int64)
    for row in range(len(starts)):
        n = 0
        for byte in data[starts[row] : stops[row]]:
            n += (byte & 0xC0) != 0x80
        counts[row] = n
    return counts


@kernel
def same_text(a: Bytes, a_starts: Ints, a_stops: Ints, b: Bytes, b_starts: Ints, b_stops: Ints) -> Flags:
    """Per pair of folded texts: whether they are equal once stripped, with every run of spaces made one."""
    same = np.zeros(len(a_starts), np.bool_)
    for row in range(len(a_starts)):
        i, j, a_stop, b_stop = a_starts[row], b_starts[row], a_stops[row], b_stops[row]
        equal, inside = True, False
        while equal:
            i_before, j_before = i, j
            while i < a_stop and a[i] == 0x20:
                i += 1
            while j < b_stop and b[j] == 0x20:
                j += 1
            a_ended, b_ended = i == a_stop, j == b_stop
            if a_ended or b_ended:
                equal = a_ended and b_ended
                break
            equal = (i > i_before) == (j > j_before) or not inside
            while equal and i < a_stop and j < b_stop and a[i] != 0x20 and b[j] != 0x20:
                equal = a[i] == b[j]
                i += 1
                j += 1
            inside = True
        same[row] = equal
    return same


@kernel
def find_phrases(data: Bytes, starts: Ints, stops: Ints, first: Uint64s, phrases: Bytes, bounds: Ints) -> Uint64s:
    """Which of up to 64 phrases each text contains, one bit each.

    ``first[k, b]`` has the bits of the phrases that may have byte b as their byte k, for the first four bytes.
    """
    found = np.zeros(len(starts), np.uint64)
    none, one = np.uint64(0), np.uint64(1)
    for row in range(len(starts)):
        bits, stop = none, stops[row]
        for i in range(starts[row], stop):
            candidates = first[0, data[i]] & first[1, data[i + 1]] & first[2, data[i + 2]] & first[3, data[i + 3]]
            candidates &= ~bits
            phrase = 0
            while candidates != none:
                if candidates & one:
                    k, begin, n = 0, bounds[phrase], bounds[phrase + 1] - bounds[phrase]
                    while k < n and i + k < stop and data[i + k] == phrases[begin + k]:
                        k += 1
                    if k == n:
                        bits |= one << np.uint64(phrase)
                candidates >>= one
                phrase += 1
        found[row] = bits
    return found
