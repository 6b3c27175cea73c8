"""Nesting depth of the brackets in JSON lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import inline, kernel

_NEWLINE, _QUOTE, _BACKSLASH = 10, 34, 92
_OPEN_LIST, _OPEN_OBJECT, _CLOSE_LIST, _CLOSE_OBJECT = 91, 123, 93, 125
_WINDOW = 128  # counts fit in one byte, so that the compiler vectorises the loop


@inline
def _opens(window: NDArray[np.uint8]) -> tuple[int, int]:
    """Number of opening brackets, also inside strings, and of line ends, among the ``_WINDOW`` bytes of ``window``."""
    opens, ends = np.uint8(0), np.uint8(0)
    for at in range(_WINDOW):
        opens = np.uint8(opens + np.uint8((window[at] | np.uint8(32)) == np.uint8(_OPEN_OBJECT)))
        ends = np.uint8(ends + np.uint8(window[at] == np.uint8(_NEWLINE)))
    return int(opens), int(ends)


@kernel
def _first_deep(data: NDArray[np.uint8], start: int, stop: int, most: int) -> int:
    """Position of the first bracket nested deeper than ``most`` in its line, or -1."""
    depth, within, at = 0, False, start
    while at < stop:
        byte = data[at]
        if byte == _NEWLINE:
            depth, within = 0, False
        elif within:
            if byte == _BACKSLASH and at + 1 < stop and data[at + 1] != _NEWLINE:
                at += 1
            elif byte == _QUOTE:
                within = False
        elif byte == _QUOTE:
            within = True
        elif byte in (_OPEN_LIST, _OPEN_OBJECT):
            depth += 1
            if depth > most:
                return at
        elif byte in (_CLOSE_LIST, _CLOSE_OBJECT):
            depth -= 1
        at += 1
    return -1


@kernel
def _line(data: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int]:
    """Start and stop of the lines that contain the bytes."""
    while start > 0 and data[start - 1] != _NEWLINE:
        start -= 1
    while stop < data.size and data[stop - 1] != _NEWLINE:
        stop += 1
    return start, stop


@kernel
def deepest(data: NDArray[np.uint8], most: int) -> int:
    """Position of the first bracket nested deeper than ``most`` in its line, or -1; ``[`` and ``{`` count alike.

    A line is scanned byte by byte only if it has enough opening brackets to be too deep.
    """
    bound, at = 0, 0
    while at < data.size:
        stop = at + _WINDOW
        opens, ends = _opens(data[at:stop]) if stop <= data.size else (_WINDOW, 1)
        bound += opens
        if bound > most:
            start, stop = _line(data, at, min(stop, data.size))
            position = _first_deep(data, start, stop, most)
            if position >= 0:
                return position
            bound = 0
        elif ends:
            bound = opens
        at = stop
    return -1
