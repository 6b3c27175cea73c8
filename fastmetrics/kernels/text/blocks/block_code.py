"""What instructions on blocks of bytes are written with: LLVM's types, and vectors that are read, written and made."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

BLOCK = 64
"""The bytes of a block."""

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
    return builder.icmp_unsigned("<=", builder.sub(vector, each(first)), each(last - first))


def bits_of(flags: Any) -> np.uint64:
    """The number of the flags of a block."""
    return np.packbits(flags, bitorder="little").view("<u8")[0]
