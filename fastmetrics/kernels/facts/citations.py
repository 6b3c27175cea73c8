"""Citation marks found in sentences."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints
from fastmetrics.kernels.jit import kernel

MOST = np.int64(10**9)  # larger numbers refer to no context


@kernel
def find_citations(data: Bytes, starts: Ints, stops: Ints, marks: Ints) -> None:
    """Per sentence, in four columns: number of marks ``[n]``; number, first byte and end byte of the last mark."""
    for row in range(len(starts)):
        i = starts[row]
        while i < stops[row]:
            if data[i] != 91:
                i += 1
                continue
            begin, number = i, np.int64(0)
            i += 1
            while i < stops[row] and 48 <= data[i] <= 57:
                number = min(number * 10 + data[i] - 48, MOST)
                i += 1
            if i < stops[row] and data[i] == 93 and i > begin + 1:
                i += 1
                marks[row, 0] += 1
                marks[row, 1], marks[row, 2], marks[row, 3] = number, begin, i


@kernel
def copy_without(data: Bytes, spans: Ints, out: Bytes, bounds: Ints) -> None:
    """Copy each text without its middle and the white space before it.

    ``spans[i]`` is (start, middle, end of the middle, stop) of text i; its copy is ``out[bounds[i]:bounds[i + 1]]``.
    """
    size = 0
    for row in range(len(spans)):
        start, middle, after, stop = spans[row]
        while middle < after and middle > start and (data[middle - 1] == 32 or 9 <= data[middle - 1] <= 13):
            middle -= 1
        for at in range(start, middle):
            out[size] = data[at]
            size += 1
        for at in range(after, stop):
            out[size] = data[at]
            size += 1
        bounds[row + 1] = size
