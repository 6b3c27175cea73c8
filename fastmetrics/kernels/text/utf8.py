"""Validation of UTF-8: bytes are valid if each fits the three before it, so that blocks are checked side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmetrics.base.arrays import Bytes
from fastmetrics.kernels.jit import leaf
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import AHEAD, in_range, prefetch, utf8_errors

ROOM = 2 * BLOCK
"""Bytes of an array to work in."""

_U0, _U1, _U3, _BLOCK, _HIGH = (np.uint64(n) for n in (0, 1, 3, BLOCK, 0x80))


@leaf
def is_utf8(data: Bytes, bounds: Any, room: Bytes) -> bool:
    """Whether the texts between each two of ``bounds`` are UTF-8; False also if bytes outside them make it unclear.

    ``room`` has space for the bytes of one block and those around it.
    """
    first, last = np.uint64(bounds[0]), np.uint64(bounds[len(bounds) - 1])
    p = first
    while p < last + _U3:  # what is incomplete shows up to three bytes later
        prefetch(data, p + AHEAD)
        if p >= first + _U3 and p + _BLOCK <= last:
            if has_errors(data, p):
                return False
        else:
            for k in range(_U3 + _BLOCK):
                room[k] = data[p + k - _U3] if p + k >= first + _U3 and p + k < last + _U3 else 0
            if has_errors(room, _U3):
                return False
        p += _BLOCK
    for row in range(np.uint64(len(bounds) - 1)):
        begin = np.uint64(bounds[row])
        if begin < last and data[begin] & 0xC0 == 0x80:
            return False
    return True


@leaf
def has_errors(data: Bytes, p: np.uint64) -> bool:
    """Whether the 64 bytes at ``p`` cannot be UTF-8; ASCII after ASCII is."""
    if in_range(data, p - _U3, _HIGH, _HIGH) == _U0 and in_range(data, p, _HIGH, _HIGH) == _U0:
        return False
    return utf8_errors(data, p) != _U0
