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

from fastmetrics.core.arrays import Bytes, Uint64s
from fastmetrics.kernels.jit import instruction

BLOCK = 64

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

_NEVER = (0xC0, 0xC1), (0xF5, 0xFF)
"""Bytes that do not occur in UTF-8."""

_NEVER_AFTER = (0xE0, 0x80, 0x9F), (0xED, 0xA0, 0xBF), (0xF0, 0x80, 0x8F), (0xF4, 0x90, 0xBF)
"""Bytes that do not follow a first byte: too long a form, half of a surrogate pair, or above U+10FFFF."""

_BYTE, _HALF, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, BLOCK)


def _at(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """A pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [offset])


def _load(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any = _VECTOR) -> Any:
    """The vector of bytes from ``offset`` on."""
    loaded = builder.load(builder.bitcast(_at(context, builder, kind, array, offset), vector.as_pointer()))
    loaded.align = 1
    return loaded


def _store(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any) -> None:
    place = builder.bitcast(_at(context, builder, kind, array, offset), vector.type.as_pointer())
    builder.store(vector, place, align=1)


def _each(byte: int) -> Any:
    """A vector of equal constants."""
    return ir.Constant(_VECTOR, [byte & 0xFF] * BLOCK)


def _spread(builder: Any, number: Any) -> Any:
    """A vector of the low byte of ``number``."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, builder.trunc(number, _BYTE), ir.Constant(_HALF, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_HALF, BLOCK), [0] * BLOCK))


def _between(builder: Any, vector: Any, first: int, last: int) -> Any:
    """Where a vector's bytes are from ``first`` to ``last``."""
    return builder.icmp_unsigned("<=", builder.sub(vector, _each(first)), _each(last - first))


def _copy_block(typing: Any, source: Any, p: Any, target: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load(context, builder, signature.args[0], args[0], args[1])
        _store(context, builder, signature.args[2], args[2], args[3], block)
        return context.get_dummy_value()

    return types.void(source, types.uint64, target, types.uint64), code


@instruction(_copy_block)
def copy_block(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64) -> None:
    """Copy the 64 bytes from ``source[p]`` on to ``target[q]``."""
    target[int(q) : int(q) + BLOCK] = source[int(p) : int(p) + BLOCK]


def _fold_block(typing: Any, source: Any, p: Any, target: Any, capitals: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load(context, builder, signature.args[0], args[0], args[1])
        capital = builder.icmp_unsigned("<", builder.sub(block, _each(0x41)), _spread(builder, args[3]))
        folded = builder.or_(block, builder.select(capital, _each(0x20), _each(0)))
        _store(context, builder, signature.args[2], args[2], args[1], folded)
        return builder.bitcast(builder.icmp_signed("<", block, _each(0)), _WORD)

    return types.uint64(source, types.uint64, target, types.uint64), code


@instruction(_fold_block)
def fold_block(source: Bytes, p: np.uint64, target: Bytes, capitals: np.uint64) -> np.uint64:
    """Copy the 64 bytes at ``p``, the first ``capitals`` letters from A on as small letters; which are not ASCII."""
    block = source[int(p) : int(p) + BLOCK]
    target[int(p) : int(p) + BLOCK] = np.where((block >= 0x41) & (block < 0x41 + int(capitals)), block | 0x20, block)
    return _bits(block >= 0x80)


def _in_range(typing: Any, data: Any, p: Any, first: Any, size: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = _load(context, builder, signature.args[0], args[0], args[1])
        above = builder.sub(block, _spread(builder, args[2]))
        return builder.bitcast(builder.icmp_unsigned("<", above, _spread(builder, args[3])), _WORD)

    return types.uint64(data, types.uint64, types.uint64, types.uint64), code


@instruction(_in_range)
def in_range(data: Bytes, p: np.uint64, first: np.uint64, size: np.uint64) -> np.uint64:
    """Which of the 64 bytes at ``p`` are one of the ``size`` bytes from ``first`` on."""
    block = data[int(p) : int(p) + BLOCK]
    return _bits((block >= int(first)) & (block < int(first) + int(size)))


def _fold_letters(typing: Any, source: Any, p: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, step = args[1], ir.Constant(_WORD, 1)
        before, block, after = (
            _load(context, builder, signature.args[0], args[0], offset)
            for offset in (builder.sub(place, step), place, builder.add(place, step))
        )
        follows = _between(builder, block, 0x80, 0xBF)
        first, second = builder.select(follows, before, block), builder.select(follows, block, after)
        is_first = {
            byte: builder.icmp_unsigned("==", first, _each(byte)) for byte in dict.fromkeys(row[0] for row in LETTERS)
        }
        letter = ir.Constant(ir.VectorType(ir.IntType(1), BLOCK), [0] * BLOCK)
        for byte, low, high in LETTERS:
            letter = builder.or_(letter, builder.and_(is_first[byte], _between(builder, second, low, high)))
        step_first = step_second = _each(0)
        for byte, low, high, of_first, of_second in CAPITALS:
            capital = builder.and_(is_first[byte], _between(builder, second, low, high))
            step_second = builder.select(capital, _each(of_second), step_second)
            if of_first:
                step_first = builder.select(capital, _each(of_first), step_first)
        folded = builder.add(block, builder.select(follows, step_second, step_first))
        old = _load(context, builder, signature.args[2], args[2], place)
        _store(context, builder, signature.args[2], args[2], place, builder.select(letter, folded, old))
        begins = builder.icmp_unsigned(">=", block, _each(0xC0))
        others = builder.and_(begins, builder.not_(letter))
        masks = [builder.bitcast(mask, _WORD) for mask in (letter, others)]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 2)(source, types.uint64, target), code


@instruction(_fold_letters)
def fold_letters(source: Bytes, p: np.uint64, target: Bytes) -> tuple[np.uint64, np.uint64]:
    """Copy the ``LETTERS`` among the 64 bytes at ``p`` as small letters; which bytes they are, and where others start.

    A letter may begin a byte before the block or end a byte after it.
    """
    at = int(p)
    before, block, after = (source[at + k : at + k + BLOCK].astype(np.int64) for k in (-1, 0, 1))
    follows = (block >= 0x80) & (block <= 0xBF)
    first, second = np.where(follows, before, block), np.where(follows, block, after)
    letter, folded = np.zeros(BLOCK, np.bool_), block.copy()
    for byte, low, high in LETTERS:
        letter |= (first == byte) & (second >= low) & (second <= high)
    for byte, low, high, of_first, of_second in CAPITALS:
        capital = (first == byte) & (second >= low) & (second <= high)
        folded += np.where(capital, np.where(follows, of_second, of_first), 0)
    target[at : at + BLOCK][letter] = folded[letter]
    return _bits(letter), _bits((block >= 0xC0) & ~letter)


def _utf8_errors(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block, before, second, third = (
            _load(context, builder, signature.args[0], args[0], builder.sub(args[1], ir.Constant(_WORD, back)))
            for back in range(4)
        )
        must = _between(builder, before, 0xC0, 0xFF)
        for byte, low in ((second, 0xE0), (third, 0xF0)):
            must = builder.or_(must, _between(builder, byte, low, 0xFF))
        wrong = builder.xor(must, _between(builder, block, 0x80, 0xBF))
        for low, high in _NEVER:
            wrong = builder.or_(wrong, _between(builder, block, low, high))
        for byte, low, high in _NEVER_AFTER:
            follows = builder.icmp_unsigned("==", before, _each(byte))
            wrong = builder.or_(wrong, builder.and_(follows, _between(builder, block, low, high)))
        return builder.bitcast(wrong, _WORD)

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
    return _bits(wrong)


def _eight(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(context, builder, signature.args[0], args[0], args[1], _WORD)

    return types.uint64(data, types.uint64), code


@instruction(_eight)
def eight(data: Bytes, p: np.uint64) -> np.uint64:
    """The eight bytes from ``p`` on as one number, the first the lowest."""
    return data[int(p) : int(p) + 8].copy().view("<u8")[0]


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _BYTE.as_pointer()
        place = builder.bitcast(_at(context, builder, signature.args[0], args[0], args[1]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, _HALF, _HALF, _HALF])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(call, [place, *(ir.Constant(_HALF, n) for n in (0, 3, 1))])  # to read, and again; data
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@instruction(_prefetch)
def prefetch(array: Uint64s, index: np.uint64) -> None:
    """Load the cache line of ``array[index]`` early; any index will do."""


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


def _bits(flags: Any) -> np.uint64:
    return np.packbits(flags, bitorder="little").view("<u8")[0]
