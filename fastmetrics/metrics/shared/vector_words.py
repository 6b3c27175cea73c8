"""Conversion of vectors to 64-bit integers, in which a run stores them, and back to the same bits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from fastmetrics.base.arrays import Ints, Uint64s
from fastmetrics.vectors.vector_arrays import Block, Vectors, check_same_width


def words_of(vectors: Vectors) -> tuple[Uint64s, Uint64s, Ints]:
    """For each row a header with the item size and the length, followed by the words, and their number."""
    rows = vectors.all()
    width = rows.dtype.itemsize * vectors.dim
    padded = np.zeros((len(rows), -(-width // 8) * 8), np.uint8)
    padded[:, :width] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), width)
    heads = np.full((len(rows), 1), rows.dtype.itemsize << 32 | vectors.dim, np.uint64)
    return heads, padded.view(np.uint64).ravel(), np.full(len(rows), padded.shape[1] // 8, np.int64)


def vectors_of(heads: Uint64s, words: Uint64s) -> Vectors:
    """The vectors of consecutive rows with the given headers; rows of one type and length are adjacent."""
    if not len(heads):
        return Vectors([], 0)
    cuts = [0, *(np.flatnonzero(np.diff(heads)) + 1).tolist(), len(heads)]
    parts: list[Block] = []
    done = 0
    for start, stop in itertools.pairwise(cuts):
        itemsize, dim = divmod(int(heads[start]), 1 << 32)
        size = -(-itemsize * dim // 8)
        block = words[done : done + size * (stop - start)].reshape(stop - start, size)
        single = itemsize == np.dtype(np.float32).itemsize
        parts.append(block.view(np.float32)[:, :dim] if single else block.view(np.float64))
        done += size * (stop - start)
    return joined(parts)


def joined(parts: Sequence[Block]) -> Vectors:
    """The vectors of several blocks; raises ``ColumnError`` if their lengths differ."""
    whole = [Vectors.of_array(part) for part in parts]
    for vectors in whole[1:]:
        check_same_width(whole[0], vectors, "embeddings")
    return Vectors(list(parts), whole[0].dim)
