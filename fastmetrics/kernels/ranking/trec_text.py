"""Lines of white-space separated fields: the format of TREC runs and judgements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel

_NEWLINE, _SPACE, _TAB, _RETURN, _HASH = 10, 32, 9, 13, 35


@kernel
def is_blank(byte: int) -> bool:
    """Whether a byte is white space inside a line."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@kernel
def count_lines(data: NDArray[np.uint8]) -> int:
    """Number of line ends."""
    lines = 0
    for at in range(data.size):
        lines += data[at] == _NEWLINE
    return lines


@kernel
def cut_fields(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], lines: NDArray[np.int64]
) -> int:
    """Find start and stop of the first fields of each line, except blank and comment lines; return number of lines.

    ``starts[f, i]`` is the start of field f of line i, -1 for a missing field; ``lines[i]`` is the line's number.
    """
    fields = starts.shape[0]
    row, at = 0, 0
    for number in range(lines.size):
        field, comment = 0, False
        for column in range(fields):
            starts[column, row] = stops[column, row] = -1
        while at < data.size and data[at] != _NEWLINE:
            start = at
            while at < data.size and data[at] != _NEWLINE and not is_blank(data[at]):
                at += 1
            if at > start:
                comment = comment or (field == 0 and data[start] == _HASH)
                if field < fields:
                    starts[field, row], stops[field, row] = start, at
                field += 1
            else:
                at += 1
        at += 1
        if field > 0 and not comment:
            lines[row] = number
            row += 1
    return row


@kernel
def gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], bounds: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """The concatenated bytes of all spans; ``bounds`` receives the start of each and the end of the last."""
    bounds[0] = 0
    for i in range(starts.size):
        bounds[i + 1] = bounds[i] + stops[i] - starts[i]
    out = np.empty(bounds[starts.size], np.uint8)
    for i in range(starts.size):
        for offset in range(stops[i] - starts[i]):
            out[bounds[i] + offset] = data[starts[i] + offset]
    return out
