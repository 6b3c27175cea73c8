"""Characters and words of chrF from folded text."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints
from fastmetrics.kernels.id_blocks import WIDENED, widen
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import in_range, trailing_zeros
from fastmetrics.kernels.text.folding import decode

_U0, _U1, _BLOCK, _WIDENED, _SPACE, _HIGH = (np.uint64(n) for n in (0, 1, BLOCK, WIDENED, 0x20, 0x80))
_ALL = np.uint64((1 << 64) - 1)


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
def visible_block(data: Bytes, p: np.uint64, visible: np.uint64, out: Ids, k: np.uint64) -> np.uint64:
    """Write the ``visible`` ones of the 64 ASCII characters at ``p``; return the end of what is written."""
    begins, ends = visible & ~(visible << _U1), ~visible & (visible << _U1)
    while begins != _U0:
        first, last = trailing_zeros(begins), trailing_zeros(ends)  # 64 without an end
        widen(data, p + first, out, k)
        at = first + _WIDENED
        while at < last:
            widen(data, p + at, out, k + at - first)
            at += _WIDENED
        k += last - first
        begins &= begins - _U1
        ends &= ends - _U1
    return k


@leaf
def visible_characters(data: Bytes, starts: Ints, stops: Ints, is_space: Flags, out: Ids, bounds: Ints) -> None:
    """Write the code points of every text except white space; ``bounds`` receives the bounds of each text.

    ``out`` has room for ``WIDENED`` more.
    """
    k, size = _U0, np.uint64(len(data))
    for row in range(len(starts)):
        i, stop = np.uint64(starts[row]), np.uint64(stops[row])
        while i < stop:
            end = min(i + _BLOCK, stop)
            inside = _ALL >> (_BLOCK - (end - i))
            if i + _BLOCK + _WIDENED <= size and (
                (in_range(data, i, _U0, _SPACE) | in_range(data, i, _HIGH, _HIGH)) & inside == _U0
            ):
                k = visible_block(data, i, inside & ~in_range(data, i, _SPACE, _U1), out, k)
                i += _BLOCK
            while i < end:
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
