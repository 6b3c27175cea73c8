"""Folding of letters of two bytes, 64 bytes at a time, as ``byte_blocks`` folds those of one."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fastmetrics.base.arrays import Bytes
from fastmetrics.kernels.jit import instruction
from fastmetrics.kernels.text.blocks.block_code import BLOCK, WORD, between, bits_of, each, load, store

LETTERS = (
    *((0xC3, 0x80, 0x96), (0xC3, 0x98, 0xB6), (0xC3, 0xB8, 0xBF)),  # Latin-1
    *((0xCE, 0x90, 0xA1), (0xCE, 0xA4, 0xBF), (0xCF, 0x80, 0x8E)),  # Greek without capital sigma
    *((0xD0, 0x80, 0xBF), (0xD1, 0x80, 0x9F)),  # Cyrillic
    (0xD7, 0x90, 0xAA),  # Hebrew
    *((0xD8, 0xA0, 0xBF), (0xD9, 0x80, 0x8A), (0xD9, 0xA0, 0xA9), (0xDA, 0x80, 0xBF), (0xDB, 0x80, 0x8D)),  # Arabic
)
"""The letters that ``fold_letters`` folds: a first byte, and the first and the last of the bytes that may follow it."""

CAPITALS = (
    *((0xC3, 0x80, 0x9E, 0, 0x20), (0xCE, 0x91, 0x9F, 0, 0x20), (0xCE, 0xA0, 0xAB, 1, -0x20)),
    *((0xD0, 0x80, 0x8F, 1, 0x10), (0xD0, 0x90, 0x9F, 0, 0x20), (0xD0, 0xA0, 0xAF, 1, -0x20)),
)
"""Those that are capitals, and what to add to their two bytes for the small letter."""


def _fold_letters(typing: Any, source: Any, p: Any, target: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, step = args[1], ir.Constant(WORD, 1)
        before, block, after = (
            load(context, builder, signature.args[0], args[0], offset)
            for offset in (builder.sub(place, step), place, builder.add(place, step))
        )
        follows = between(builder, block, 0x80, 0xBF)
        first, second = builder.select(follows, before, block), builder.select(follows, block, after)
        is_first = {
            byte: builder.icmp_unsigned("==", first, each(byte)) for byte in dict.fromkeys(row[0] for row in LETTERS)
        }
        letter = ir.Constant(ir.VectorType(ir.IntType(1), BLOCK), [0] * BLOCK)
        for byte, low, high in LETTERS:
            letter = builder.or_(letter, builder.and_(is_first[byte], between(builder, second, low, high)))
        step_first = step_second = each(0)
        for byte, low, high, of_first, of_second in CAPITALS:
            capital = builder.and_(is_first[byte], between(builder, second, low, high))
            step_second = builder.select(capital, each(of_second), step_second)
            if of_first:
                step_first = builder.select(capital, each(of_first), step_first)
        folded = builder.add(block, builder.select(follows, step_second, step_first))
        old = load(context, builder, signature.args[2], args[2], args[3])
        store(context, builder, signature.args[2], args[2], args[3], builder.select(letter, folded, old))
        begins = builder.icmp_unsigned(">=", block, each(0xC0))
        others = builder.and_(begins, builder.not_(letter))
        masks = [builder.bitcast(mask, WORD) for mask in (letter, others)]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 2)(source, types.uint64, target, types.uint64), code


@instruction(_fold_letters)
def fold_letters(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Copy the ``LETTERS`` of the 64 bytes at ``p`` to ``q`` as small letters; which they are, and where others start.

    A letter may begin a byte before the block or end a byte after it.
    """
    at, to = int(p), int(q)
    before, block, after = (source[at + k : at + k + BLOCK].astype(np.int64) for k in (-1, 0, 1))
    follows = (block >= 0x80) & (block <= 0xBF)
    first, second = np.where(follows, before, block), np.where(follows, block, after)
    letter, folded = np.zeros(BLOCK, np.bool_), block.copy()
    for byte, low, high in LETTERS:
        letter |= (first == byte) & (second >= low) & (second <= high)
    for byte, low, high, of_first, of_second in CAPITALS:
        capital = (first == byte) & (second >= low) & (second <= high)
        folded += np.where(capital, np.where(follows, of_second, of_first), 0)
    target[to : to + BLOCK][letter] = folded[letter]
    return bits_of(letter), bits_of((block >= 0xC0) & ~letter)


def _fold_cyrillic(typing: Any, source: Any, p: Any, target: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, step = args[1], ir.Constant(WORD, 1)
        before, block, after = (
            load(context, builder, signature.args[0], args[0], offset)
            for offset in (builder.sub(place, step), place, builder.add(place, step))
        )
        follows = between(builder, block, 0x80, 0xBF)
        first, second = builder.select(follows, before, block), builder.select(follows, block, after)
        of_d0 = builder.icmp_unsigned("==", first, each(0xD0))
        of_d1 = builder.icmp_unsigned("==", first, each(0xD1))
        letter = builder.or_(of_d0, builder.and_(of_d1, builder.icmp_unsigned("<", second, each(0xA0))))
        row = builder.and_(second, each(0x30))
        changes = [
            builder.select(builder.icmp_unsigned("==", row, each(0x00)), each(0x10), each(0)),
            builder.select(builder.icmp_unsigned("==", row, each(0x10)), each(0x20), each(0)),
            builder.select(builder.icmp_unsigned("==", row, each(0x20)), each(-0x20), each(0)),
        ]
        of_second = builder.or_(builder.or_(changes[0], changes[1]), changes[2])
        of_first = builder.select(builder.icmp_unsigned("==", builder.and_(row, each(0x10)), each(0)), each(1), each(0))
        of_first = builder.select(builder.icmp_unsigned("<", row, each(0x30)), of_first, each(0))
        change = builder.select(of_d0, builder.select(follows, of_second, of_first), each(0))
        old = load(context, builder, signature.args[2], args[2], args[3])
        folded = builder.select(letter, builder.add(block, change), old)
        store(context, builder, signature.args[2], args[2], args[3], folded)
        others = builder.and_(builder.icmp_unsigned(">=", block, each(0xC0)), builder.not_(letter))
        masks = [builder.bitcast(mask, WORD) for mask in (letter, others)]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 2)(source, types.uint64, target, types.uint64), code


@instruction(_fold_cyrillic)
def fold_cyrillic(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Like ``fold_letters``, for the Cyrillic ones of ``LETTERS`` alone."""
    at, to = int(p), int(q)
    before, block, after = (source[at + k : at + k + BLOCK].astype(np.int64) for k in (-1, 0, 1))
    follows = (block >= 0x80) & (block <= 0xBF)
    first, second = np.where(follows, before, block), np.where(follows, block, after)
    letter = (first == 0xD0) | ((first == 0xD1) & (second < 0xA0))
    row = second >> 4 & 3
    change = np.where(follows, np.array([0x10, 0x20, -0x20, 0])[row], np.array([1, 0, 1, 0])[row])
    target[to : to + BLOCK][letter] = (block + np.where(first == 0xD0, change, 0))[letter]
    return bits_of(letter), bits_of((block >= 0xC0) & ~letter)
