"""Instructions on blocks of 64 bytes, whose answer is a number with one bit for each byte, the first byte the lowest.

They are LLVM vectors, which the compiler lowers to the registers that the processor has.  Callers see to it that all
bytes lie in the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed

from fastmetrics.base.arrays import Bytes, Uint64s
from fastmetrics.kernels.jit import instruction
from fastmetrics.kernels.text.blocks.block_code import (
    BLOCK,
    BYTE,
    HALF,
    WORD,
    at,
    between,
    bits_of,
    each,
    load,
    spread,
    store,
)

KINDS_SIZE = 35
"""The size of what ``kinds_of`` reads."""

AHEAD = np.uint64(2048)
"""How many bytes before its turn text is loaded: memory takes longer to answer than a block to process."""

_NEVER = (0xC0, 0xC1), (0xF5, 0xFF)
"""Bytes that do not occur in UTF-8."""

_NEVER_AFTER = (0xE0, 0x80, 0x9F), (0xED, 0xA0, 0xBF), (0xF0, 0x80, 0x8F), (0xF4, 0x90, 0xBF)
"""Bytes that do not follow a first byte: too long a form, half of a surrogate pair, or above U+10FFFF."""


def _copy_block(typing: Any, source: Any, p: Any, target: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        store(context, builder, signature.args[2], args[2], args[3], block)
        return context.get_dummy_value()

    return types.void(source, types.uint64, target, types.uint64), code


@instruction(_copy_block)
def copy_block(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64) -> None:
    """Copy the 64 bytes from ``source[p]`` on to ``target[q]``."""
    target[int(q) : int(q) + BLOCK] = source[int(p) : int(p) + BLOCK]


def _read_only(typing: Any, array: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # where references are counted, the result is one more
        return impl_ret_borrowed(context, builder, signature.return_type, args[0])

    return array.copy(readonly=True)(array), code


@instruction(_read_only)
def read_only(array: Bytes) -> Bytes:
    """The array, of the type of those that nothing writes to, so that either may stand for the other."""
    return array


def _fold_block(typing: Any, source: Any, p: Any, target: Any, q: Any, capitals: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        capital = builder.icmp_unsigned("<", builder.sub(block, each(0x41)), spread(builder, args[4]))
        folded = builder.or_(block, builder.select(capital, each(0x20), each(0)))
        store(context, builder, signature.args[2], args[2], args[3], folded)
        return builder.bitcast(builder.icmp_signed("<", block, each(0)), WORD)

    return types.uint64(source, types.uint64, target, types.uint64, types.uint64), code


@instruction(_fold_block)
def fold_block(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64, capitals: np.uint64) -> np.uint64:
    """Copy 64 bytes at ``p`` to ``q``, the first ``capitals`` letters from A on as small ones; which are not ASCII."""
    block = source[int(p) : int(p) + BLOCK]
    target[int(q) : int(q) + BLOCK] = np.where((block >= 0x41) & (block < 0x41 + int(capitals)), block | 0x20, block)
    return bits_of(block >= 0x80)


def _shuffle(context: Any) -> tuple[str, int]:
    """The instruction of the processor that picks bytes by their places, and on how many it works; "" if unknown."""
    features = context.codegen().magic_tuple()[2].split(",")
    if "+avx2" in features:
        return "llvm.x86.avx2.pshuf.b", 32
    return ("llvm.x86.ssse3.pshuf.b.128", 16) if "+ssse3" in features else ("", BLOCK)


def _picked(context: Any, builder: Any, row: Any, vector: Any) -> Any:
    """For each byte of a block the element of ``row``, sixteen bytes, at its lower half; for one above 127 zero."""
    name, width = _shuffle(context)
    if not name:
        picked, place = each(0), builder.and_(vector, each(15))
        for k in range(16):
            element = spread(builder, builder.extract_element(row, ir.Constant(HALF, k)))
            picked = builder.select(builder.icmp_unsigned("==", place, each(k)), element, picked)
        return builder.select(builder.icmp_signed("<", vector, each(0)), each(0), picked)
    wide, nothing = ir.VectorType(BYTE, width), ir.Constant(row.type, ir.Undefined)
    table = builder.shuffle_vector(row, nothing, ir.Constant(ir.VectorType(HALF, width), [*range(16)] * (width // 16)))
    shuffle = cgutils.get_or_insert_function(builder.module, ir.FunctionType(wide, [wide, wide]), name)
    parts = []
    for first in range(0, BLOCK, width):
        places = ir.Constant(ir.VectorType(HALF, width), [*range(first, first + width)])
        part = builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places)
        parts.append(builder.call(shuffle, [table, part]))
    while len(parts) > 1:
        every = ir.Constant(ir.VectorType(HALF, 2 * parts[0].type.count), [*range(2 * parts[0].type.count)])
        parts = [
            builder.shuffle_vector(lower, upper, every) for lower, upper in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _kinds_of(typing: Any, data: Any, p: Any, kinds: Any, first: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = ir.VectorType(BYTE, 16)
        block = load(context, builder, signature.args[0], args[0], args[1])
        low, high = (
            load(context, builder, signature.args[2], args[2], builder.add(args[3], ir.Constant(WORD, k)), row)
            for k in (0, 16)
        )
        of_low = _picked(context, builder, low, block)
        of_high = _picked(context, builder, high, builder.and_(builder.lshr(block, each(4)), each(15)))
        both = builder.and_(of_low, of_high)
        masks = []
        for k in range(3):
            place = at(context, builder, signature.args[2], args[2], builder.add(args[3], ir.Constant(WORD, 32 + k)))
            kind = spread(builder, builder.load(place))
            masks.append(builder.bitcast(builder.icmp_unsigned("!=", builder.and_(both, kind), each(0)), WORD))
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 3)(data, types.uint64, kinds, types.uint64), code


@instruction(_kinds_of)
def kinds_of(data: Bytes, p: np.uint64, kinds: Bytes, first: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Which of the 64 bytes at ``p`` are of each of the three kinds that ``kinds[first:]`` describes.

    The lower half of a byte picks a number of the first sixteen, the upper half one of the next sixteen.  Where
    both numbers and the number of a kind, one of the next three, have a bit in common, an ASCII byte is of this kind.
    """
    block, kinds = data[int(p) : int(p) + BLOCK], kinds[int(first) :]
    both = kinds[:16][block & 15] & kinds[16:32][block >> 4] & np.where(block < 0x80, 0xFF, 0).astype(np.uint8)
    return bits_of(both & kinds[32] != 0), bits_of(both & kinds[33] != 0), bits_of(both & kinds[34] != 0)


def _in_range(typing: Any, data: Any, p: Any, first: Any, size: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        above = builder.sub(block, spread(builder, args[2]))
        return builder.bitcast(builder.icmp_unsigned("<", above, spread(builder, args[3])), WORD)

    return types.uint64(data, types.uint64, types.uint64, types.uint64), code


@instruction(_in_range)
def in_range(data: Bytes, p: np.uint64, first: np.uint64, size: np.uint64) -> np.uint64:
    """Which of the 64 bytes at ``p`` are one of the ``size`` bytes from ``first`` on."""
    block = data[int(p) : int(p) + BLOCK]
    return bits_of((block >= int(first)) & (block < int(first) + int(size)))


def _utf8_errors(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block, before, second, third = (
            load(context, builder, signature.args[0], args[0], builder.sub(args[1], ir.Constant(WORD, back)))
            for back in range(4)
        )
        must = between(builder, before, 0xC0, 0xFF)
        for byte, low in ((second, 0xE0), (third, 0xF0)):
            must = builder.or_(must, between(builder, byte, low, 0xFF))
        wrong = builder.xor(must, between(builder, block, 0x80, 0xBF))
        for low, high in _NEVER:
            wrong = builder.or_(wrong, between(builder, block, low, high))
        for byte, low, high in _NEVER_AFTER:
            follows = builder.icmp_unsigned("==", before, each(byte))
            wrong = builder.or_(wrong, builder.and_(follows, between(builder, block, low, high)))
        return builder.bitcast(wrong, WORD)

    return types.uint64(data, types.uint64), code


@instruction(_utf8_errors)
def utf8_errors(data: Bytes, p: np.uint64) -> np.uint64:
    """Which of the 64 bytes at ``p`` cannot follow the three bytes before them in UTF-8."""
    block, before, second, third = (data[int(p) - back : int(p) - back + BLOCK] for back in range(4))
    must = (before >= 0xC0) | (second >= 0xE0) | (third >= 0xF0)
    wrong = must != ((block >= 0x80) & (block <= 0xBF))
    for low, high in _NEVER:
        wrong |= (block >= low) & (block <= high)
    for byte, low, high in _NEVER_AFTER:
        wrong |= (before == byte) & (block >= low) & (block <= high)
    return bits_of(wrong)


def _eight(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(context, builder, signature.args[0], args[0], args[1], WORD)

    return types.uint64(data, types.uint64), code


@instruction(_eight)
def eight(data: Bytes, p: np.uint64) -> np.uint64:
    """The eight bytes from ``p`` on as one number, the first the lowest."""
    return data[int(p) : int(p) + 8].copy().view("<u8")[0]


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = BYTE.as_pointer()
        place = builder.bitcast(at(context, builder, signature.args[0], args[0], args[1]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, HALF, HALF, HALF])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(call, [place, *(ir.Constant(HALF, n) for n in (0, 3, 1))])  # to read, and again; data
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@instruction(_prefetch)
def prefetch(array: Uint64s, index: np.uint64) -> None:
    """Load the cache line of ``array[index]`` early; any index will do, even one past the end."""


def _trailing_zeros(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@instruction(_trailing_zeros)
def trailing_zeros(bits: np.uint64) -> np.uint64:
    """The place of the lowest bit that is set; 64 for zero."""
    return np.uint64((int(bits) & -int(bits)).bit_length() - 1 if bits else 64)


def _count_ones(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), code


@instruction(_count_ones)
def count_ones(bits: np.uint64) -> np.uint64:
    """The number of bits that are set."""
    return np.uint64(int(bits).bit_count())


def _leading_zeros(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@instruction(_leading_zeros)
def leading_zeros(bits: np.uint64) -> np.uint64:
    """The number of zeros above the highest bit that is set."""
    return np.uint64(64 - int(bits).bit_length())
