"""Counts over the bytes of texts: characters, and phrases they contain."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import kernel, leaf
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import in_range, trailing_zeros

_U0, _U1, _BLOCK = (np.uint64(n) for n in (0, 1, BLOCK))


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


@leaf
def find_phrases(
    data: Bytes, starts: Ints, stops: Ints, begins: Uint64s, pairs: Bytes, phrases: Bytes, bounds: Ints, masks: Uint64s
) -> None:
    """Set in ``masks`` which of up to 64 phrases each text contains, one bit each.

    Row k of ``pairs`` is the first byte of some phrases, the distance to their second byte (0 if they have none), and
    that byte; ``begins[k]`` are their bits.  Up to 64 bytes after the last text are read.
    """
    for row in range(len(starts)):
        p, stop, bits = np.uint64(starts[row]), np.uint64(stops[row]), _U0
        while p < stop:
            block = ~_U0 if stop - p >= _BLOCK else (_U1 << (stop - p)) - _U1
            for k in range(np.uint64(len(pairs))):
                places = block & in_range(data, p, np.uint64(pairs[k, 0]), _U1)
                places &= in_range(data, p + np.uint64(pairs[k, 1]), np.uint64(pairs[k, 2]), _U1)
                while places != _U0 and begins[k] & ~bits != _U0:
                    at = p + trailing_zeros(places)
                    bits |= phrases_at(data, at, stop, begins[k] & ~bits, phrases, bounds)
                    places &= places - _U1
            p += _BLOCK
        masks[row] = bits


@leaf
def masks_of_texts(ids: Ids, starts: Ints, stops: Ints, word_masks: Uint64s, marked: Flags, masks: Uint64s) -> None:
    """The bits of all words of each text; ``word_masks`` are those of each word, ``marked`` the words that have any."""
    for row in range(len(starts)):
        bits = _U0
        for k in range(np.uint64(starts[row]), np.uint64(stops[row])):
            if marked[np.uint32(ids[k])]:
                bits |= word_masks[np.uint32(ids[k])]
        masks[row] = bits


@leaf
def phrases_at(
    data: Bytes, p: np.uint64, stop: np.uint64, candidates: np.uint64, phrases: Bytes, bounds: Ints
) -> np.uint64:
    """Which of the ``candidates`` stand at byte ``p`` of a text."""
    bits = _U0
    while candidates != _U0:
        phrase = trailing_zeros(candidates)
        begin, end, at = np.uint64(bounds[phrase]), np.uint64(bounds[phrase + _U1]), p
        while begin < end and at < stop and data[at] == phrases[begin]:
            begin += _U1
            at += _U1
        if begin == end:
            bits |= _U1 << phrase
        candidates &= candidates - _U1
    return bits
