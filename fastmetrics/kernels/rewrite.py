"""Tokens of one convention made from those of another, word by distinct word."""

from __future__ import annotations

from fastmetrics.arrays import Bytes, Ids, Ints
from fastmetrics.kernels._jit import kernel
from fastmetrics.kernels.vocabulary import Words


@kernel
def spell(vocabulary: Words, first: int, out: Bytes, bounds: Ints) -> None:
    """Write the bytes of the words from number ``first`` on, one after the other."""
    _, heads, tails, begins, lengths, _ = vocabulary
    short, long = heads.view(out.dtype), tails.view(out.dtype)
    j = 0
    for i in range(len(bounds) - 1):
        number = first + i
        n = lengths[number]
        for k in range(min(n, 16)):
            out[j + k] = short[16 * number + k]
        for k in range(16, n):
            out[j + k] = long[8 * begins[number] + k - 16]
        j += n
        bounds[i + 1] = j


@kernel
def rewrite(ids: Ids, starts: Ints, stops: Ints, pieces: Ids, places: Ints, out: Ids, bounds: Ints) -> None:
    """Replace every id i by its pieces, ``pieces[places[i]:places[i + 1]]``; ``bounds`` gets where each text begins."""
    j = 0
    for row in range(len(starts)):
        for k in range(starts[row], stops[row]):
            first, last = places[ids[k]], places[ids[k] + 1]
            out[j] = pieces[first]
            j += last > first
            for piece in range(first + 1, last):
                out[j] = pieces[piece]
                j += 1
        bounds[row + 1] = j
