"""Instructions on blocks of 64 bytes, whose answer is a number with one bit for each byte, the first byte the lowest.

They are LLVM vectors, which the compiler lowers to the registers that the processor has.  Callers see to it that all
bytes lie in the array.  Each has a scalar twin that says the same in plain loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from fastmetrics.base.arrays import Bytes, Uint64s
from fastmetrics.kernels.jit import USES_TWINS, inline

F = TypeVar("F", bound=Callable[..., Any])
U = np.uint64

BLOCK = 64
"""The bytes of a block."""

KINDS_SIZE = 35
"""The size of what ``kinds_of`` reads."""

AHEAD = np.uint64(2048)
"""How many bytes before its turn text is loaded: memory takes longer to answer than a block to process."""

_NEVER = (0xC0, 0xC1), (0xF5, 0xFF)
"""Bytes that do not occur in UTF-8."""

_NEVER_AFTER = (0xE0, 0x80, 0x9F), (0xED, 0xA0, 0xBF), (0xF0, 0x80, 0x8F), (0xF4, 0x90, 0xBF)
"""Bytes that do not follow a first byte: too long a form, half of a surrogate pair, or above U+10FFFF."""

BYTE, HALF, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(BYTE, BLOCK)


def at(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """A pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [offset])


def load(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any = VECTOR) -> Any:
    """The vector of bytes from ``offset`` on."""
    loaded = builder.load(builder.bitcast(at(context, builder, kind, array, offset), vector.as_pointer()))
    loaded.align = 1
    return loaded


def store(context: Any, builder: Any, kind: Any, array: Any, offset: Any, vector: Any) -> None:
    """Write a vector of bytes from ``offset`` on."""
    place = builder.bitcast(at(context, builder, kind, array, offset), vector.type.as_pointer())
    builder.store(vector, place, align=1)


def each(byte: int) -> Any:
    """A vector of equal constants."""
    return ir.Constant(VECTOR, [byte & 0xFF] * BLOCK)


def spread(builder: Any, number: Any) -> Any:
    """A vector of the low byte of ``number``."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    byte = number if number.type == BYTE else builder.trunc(number, BYTE)
    first = builder.insert_element(nothing, byte, ir.Constant(HALF, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(HALF, BLOCK), [0] * BLOCK))


def between(builder: Any, vector: Any, first: int, last: int) -> Any:
    """Where a vector's bytes are from ``first`` to ``last``."""
    # Unsigned bytes below ``first`` wrap around to the largest, so one comparison tests both ends.
    return builder.icmp_unsigned("<=", builder.sub(vector, each(first)), each(last - first))


def instruction(code: Callable[..., Any]) -> Callable[[F], F]:
    """A function for kernels that compiles to the LLVM instructions that ``code`` writes.

    ``code`` is what ``numba.extending.intrinsic`` takes.  The decorated function is the scalar twin, which stands for
    them without a compiler (``NUMBA_DISABLE_JIT=1``), and compiled with ``FASTMETRICS_SCALAR_TWINS=1``.
    """

    def choose(twin: F) -> F:
        return inline(twin) if USES_TWINS else cast(F, intrinsic(code))

    return choose


def _copy_block(typing: Any, source: Any, p: Any, target: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        store(context, builder, signature.args[2], args[2], args[3], block)
        return context.get_dummy_value()

    return types.void(source, types.uint64, target, types.uint64), code


@instruction(_copy_block)
def copy_block(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64) -> None:
    """Copy the 64 bytes from ``source[p]`` on to ``target[q]``."""
    for k in range(BLOCK):
        target[U(q) + U(k)] = source[U(p) + U(k)]


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
        # Small letters are capitals with the bit 0x20.
        folded = builder.or_(block, builder.select(capital, each(0x20), each(0)))
        store(context, builder, signature.args[2], args[2], args[3], folded)
        # A byte that is not ASCII is negative as a signed number.
        return builder.bitcast(builder.icmp_signed("<", block, each(0)), WORD)

    return types.uint64(source, types.uint64, target, types.uint64, types.uint64), code


@instruction(_fold_block)
def fold_block(source: Bytes, p: np.uint64, target: Bytes, q: np.uint64, capitals: np.uint64) -> np.uint64:
    """Copy 64 bytes at ``p`` to ``q``, the first ``capitals`` letters from A on as small ones; which are not ASCII."""
    other = U(0)
    for k in range(BLOCK):
        byte = np.int64(source[U(p) + U(k)])
        target[U(q) + U(k)] = byte | 0x20 if 0x41 <= byte < 0x41 + np.int64(capitals) else byte
        if byte >= 0x80:
            other |= U(1) << U(k)
    return other


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
    # The instruction picks from sixteen bytes in each of its lanes, so all lanes get the same row.
    wide, nothing = ir.VectorType(BYTE, width), ir.Constant(row.type, ir.Undefined)
    table = builder.shuffle_vector(row, nothing, ir.Constant(ir.VectorType(HALF, width), [*range(16)] * (width // 16)))
    shuffle = cgutils.get_or_insert_function(builder.module, ir.FunctionType(wide, [wide, wide]), name)
    parts = []
    for first in range(0, BLOCK, width):
        places = ir.Constant(ir.VectorType(HALF, width), [*range(first, first + width)])
        part = builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places)
        parts.append(builder.call(shuffle, [table, part]))
    # The parts are put together again, two at a time.
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
        # As simdjson classifies: one look-up for each half of a byte, and what both agree on.
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
    separators = marks = rare = U(0)
    low, high, masks = U(first), U(first) + U(16), U(first) + U(32)
    for k in range(BLOCK):
        byte = np.int64(data[U(p) + U(k)])
        if byte < 0x80:
            both = kinds[low + U(byte & 15)] & kinds[high + U(byte >> 4)]
            bit = U(1) << U(k)
            separators |= bit if both & kinds[masks] else U(0)
            marks |= bit if both & kinds[masks + U(1)] else U(0)
            rare |= bit if both & kinds[masks + U(2)] else U(0)
    return separators, marks, rare


def _in_range(typing: Any, data: Any, p: Any, first: Any, size: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        above = builder.sub(block, spread(builder, args[2]))
        return builder.bitcast(builder.icmp_unsigned("<", above, spread(builder, args[3])), WORD)

    return types.uint64(data, types.uint64, types.uint64, types.uint64), code


@instruction(_in_range)
def in_range(data: Bytes, p: np.uint64, first: np.uint64, size: np.uint64) -> np.uint64:
    """Which of the 64 bytes at ``p`` are one of the ``size`` bytes from ``first`` on."""
    found = U(0)
    for k in range(BLOCK):
        if 0 <= np.int64(data[U(p) + U(k)]) - np.int64(first) < np.int64(size):
            found |= U(1) << U(k)
    return found


def _beyond_or_marks(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = load(context, builder, signature.args[0], args[0], args[1])
        # ``<`` and ``|`` differ in one bit.
        mark = builder.icmp_unsigned("==", builder.or_(block, each(0x40)), each(0x7C))
        return builder.bitcast(builder.or_(mark, builder.icmp_signed("<", block, each(0))), WORD)

    return types.uint64(data, types.uint64), code


@instruction(_beyond_or_marks)
def beyond_or_marks(data: Bytes, p: np.uint64) -> np.uint64:
    """Which of the 64 bytes at ``p`` are beyond ASCII, ``<`` or ``|``."""
    found = U(0)
    for k in range(BLOCK):
        byte = data[U(p) + U(k)]
        if byte >= 0x80 or byte | 0x40 == 0x7C:
            found |= U(1) << U(k)
    return found


def _utf8_errors(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block, before, second, third = (
            load(context, builder, signature.args[0], args[0], builder.sub(args[1], ir.Constant(WORD, back)))
            for back in range(4)
        )
        # Bytes that must be continuations: those behind a first byte of two or more (0xC0), of three or more (0xE0) two
        # places on, of four (0xF0) three places on.  All others must not.
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
    errors = U(0)
    for k in range(BLOCK):
        at = U(p) + U(k)
        byte, before = np.int64(data[at]), np.int64(data[at - U(1)])
        must = before >= 0xC0 or data[at - U(2)] >= 0xE0 or data[at - U(3)] >= 0xF0
        wrong = must != (0x80 <= byte <= 0xBF)
        for low, high in _NEVER:
            wrong |= low <= byte <= high
        for head, low, high in _NEVER_AFTER:
            wrong |= before == head and low <= byte <= high
        if wrong:
            errors |= U(1) << U(k)
    return errors


def _eight(typing: Any, data: Any, p: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(context, builder, signature.args[0], args[0], args[1], WORD)

    return types.uint64(data, types.uint64), code


@instruction(_eight)
def eight(data: Bytes, p: np.uint64) -> np.uint64:
    """The eight bytes from ``p`` on as one number, the first the lowest."""
    number = U(0)
    for k in range(8):
        number |= U(data[U(p) + U(k)]) << U(8 * k)
    return number


def _unequal(typing: Any, a: Any, p: Any, b: Any, q: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, second = (load(context, builder, signature.args[k], args[k], args[k + 1]) for k in (0, 2))
        return builder.bitcast(builder.icmp_unsigned("!=", first, second), WORD)

    return types.uint64(a, types.uint64, b, types.uint64), code


@instruction(_unequal)
def unequal(a: Bytes, p: np.uint64, b: Bytes, q: np.uint64) -> np.uint64:
    """Which of the 64 bytes of ``a`` at ``p`` differ from those of ``b`` at ``q``."""
    found = U(0)
    for k in range(BLOCK):
        if a[U(p) + U(k)] != b[U(q) + U(k)]:
            found |= U(1) << U(k)
    return found


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
    zeros = U(0)
    while zeros < U(64) and not (U(bits) >> zeros) & U(1):
        zeros += U(1)
    return zeros


def _count_ones(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), code


@instruction(_count_ones)
def count_ones(bits: np.uint64) -> np.uint64:
    """The number of bits that are set."""
    left, ones = U(bits), U(0)
    while left:
        left &= left - U(1)
        ones += U(1)
    return ones


def _leading_zeros(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@instruction(_leading_zeros)
def leading_zeros(bits: np.uint64) -> np.uint64:
    """The number of zeros above the highest bit that is set."""
    left, zeros = U(bits), U(64)
    while left:
        left >>= U(1)
        zeros -= U(1)
    return zeros
