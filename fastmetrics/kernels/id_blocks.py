"""Instructions on several ids at a time: LLVM vectors, as in ``text.byte_blocks``.

Callers see to it that all ids and bytes lie in the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fastmetrics.base.arrays import Bytes, Ids
from fastmetrics.kernels.jit import instruction

ROOM = 8
"""The number of ids that ``alike_ids`` reads in each list."""

WIDENED = 16
"""The number of bytes that ``widen`` copies."""


def _alike_ids(typing: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        eight, byte, word = ir.VectorType(ir.IntType(32), ROOM), ir.IntType(8), ir.IntType(64)
        loaded = []
        for kind, array, index in zip(signature.args[::2], args[::2], args[1::2], strict=True):
            place = builder.gep(context.make_array(kind)(context, builder, array).data, [index])
            loaded.append(builder.load(builder.bitcast(place, eight.as_pointer())))
            loaded[-1].align = 4
        other = builder.zext(builder.bitcast(builder.icmp_unsigned("!=", *loaded), byte), word)
        return builder.cttz(builder.or_(other, ir.Constant(word, 1 << ROOM)), ir.Constant(ir.IntType(1), 0))

    return types.uint64(a, types.uint64, b, types.uint64), code


@instruction(_alike_ids)
def alike_ids(a: Ids, i: np.uint64, b: Ids, j: np.uint64) -> np.uint64:
    """How many ids are equal from ``a[i]`` and ``b[j]`` on, up to ``ROOM``."""
    other = np.flatnonzero(a[int(i) : int(i) + ROOM] != b[int(j) : int(j) + ROOM])
    return np.uint64(other[0] if len(other) else ROOM)


def _widen(typing: Any, data: Any, p: Any, out: Any, k: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, target = (
            builder.gep(context.make_array(signature.args[n])(context, builder, args[n]).data, [args[n + 1]])
            for n in (0, 2)
        )
        small, wide = (ir.VectorType(ir.IntType(bits), WIDENED) for bits in (8, 32))
        loaded = builder.load(builder.bitcast(source, small.as_pointer()))
        loaded.align = 1
        builder.store(builder.zext(loaded, wide), builder.bitcast(target, wide.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(data, types.uint64, out, types.uint64), code


@instruction(_widen)
def widen(data: Bytes, p: np.uint64, out: Ids, k: np.uint64) -> None:
    """Copy ``WIDENED`` bytes from ``data[p]`` on to ``out[k]``, an id each."""
    out[int(k) : int(k) + WIDENED] = data[int(p) : int(p) + WIDENED]
