"""Conversion of tokens of one convention to another, computed once per distinct word."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Ids, Ints
from fastmetrics.kernels.jit import kernel
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import copy_block, prefetch
from fastmetrics.kernels.text.vocabulary import Words

_LINE = np.uint64(16)
"""The ids of a cache line."""


@kernel
def spell(vocabulary: Words, first: int, out: Bytes, bounds: Ints) -> None:
    """Write the concatenated bytes of the words from number ``first`` on."""
    _, heads, tails, begins, lengths, _ = vocabulary
    short, long = heads.view(out.dtype), tails.view(out.dtype)
    j = 0
    for i in range(len(bounds) - 1):
        number = first + i
        n = lengths[number]
        if 16 * number + BLOCK <= len(short) and j + BLOCK <= len(out):
            copy_block(short, np.uint64(16 * number), out, np.uint64(j))  # more than the head, and written over later
        else:
            for k in range(min(n, 16)):
                out[j + k] = short[16 * number + k]
        for k in range(16, n):
            out[j + k] = long[8 * begins[number] + k - 16]
        j += n
        bounds[i + 1] = j


@kernel
def rewrite(split: Ids, starts: Ints, stops: Ints, become: Ids, pieces: Ids, places: Ints, out: Ids) -> Ints:
    """Replace every id i in ``split`` by ``become[i]``; return the start of each text in ``out``.

    -1 removes the id, and -2 - p replaces it by several ids: ``pieces[places[p]:places[p + 1]]``.  A batch of texts
    uses most lines of ``become``, and memory answers faster if it is read in order before.
    """
    for i in range(np.uint64(0), np.uint64(len(become)), _LINE):
        prefetch(become, i)
    bounds = np.zeros(len(starts) + 1, np.int64)
    j = np.uint64(0)
    for row in range(len(starts)):
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            new_id = become[np.uint32(split[k])]
            if new_id >= -1:
                out[j] = new_id
                j += np.uint64(new_id >= 0)
            else:
                for piece in range(places[-2 - new_id], places[-1 - new_id]):
                    out[j] = pieces[piece]
                    j += np.uint64(1)
        bounds[row + 1] = j
    return bounds
