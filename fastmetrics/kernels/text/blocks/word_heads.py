"""Instructions on the first sixteen bytes of words, and on the bits that are set in a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fastmetrics.base.arrays import Bytes, Uint64s
from fastmetrics.kernels.jit import instruction
from fastmetrics.kernels.text.blocks.block_code import BLOCK, BYTE, HALF, WORD, load, store


def _take_head(typing: Any, data: Any, p: Any, masks: Any, row: Any, heads: Any, w: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, shift, pair = signature.args, ir.Constant(WORD, 1), ir.VectorType(WORD, 2)
        block = load(context, builder, kinds[0], args[0], args[1], pair)
        mask = load(context, builder, kinds[2], args[2], builder.shl(args[3], shift), pair)
        head = builder.and_(block, mask)
        store(context, builder, kinds[4], args[4], builder.shl(args[5], shift), head)
        numbers = [builder.extract_element(head, ir.Constant(HALF, k)) for k in (0, 1)]
        return context.make_tuple(builder, signature.return_type, numbers)

    u64 = types.uint64
    return types.UniTuple(u64, 2)(data, u64, masks, u64, heads, u64), code


@instruction(_take_head)
def take_head(
    data: Bytes, p: np.uint64, masks: Uint64s, row: np.uint64, heads: Uint64s, w: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Row ``w`` of ``heads`` becomes the sixteen bytes from ``p`` on, less those that row ``row`` of ``masks`` lacks.

    Both arrays have two numbers a row.  Returns those of the new row.
    """
    head = data[int(p) : int(p) + 16].copy().view("<u8") & masks[2 * int(row) : 2 * int(row) + 2]
    heads[2 * int(w) : 2 * int(w) + 2] = head
    return head[0], head[1]


def _differ(typing: Any, heads: Any, i: Any, others: Any, w: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, bytes_of = signature.args, ir.VectorType(BYTE, 16)
        head, other = (
            load(context, builder, kinds[k], args[k], builder.shl(args[k + 1], ir.Constant(WORD, 1)), bytes_of)
            for k in (0, 2)
        )
        equal = builder.bitcast(builder.icmp_unsigned("==", head, other), ir.IntType(16))
        return builder.zext(builder.icmp_unsigned("!=", equal, ir.Constant(ir.IntType(16), 0xFFFF)), WORD)

    return types.uint64(heads, types.uint64, others, types.uint64), code


@instruction(_differ)
def differ(heads: Uint64s, i: np.uint64, others: Uint64s, w: np.uint64) -> np.uint64:
    """1 if row ``i`` of ``heads`` differs from row ``w`` of ``others``, else 0; both have two numbers a row."""
    return np.uint64(not np.array_equal(heads[2 * int(i) : 2 * int(i) + 2], others[2 * int(w) : 2 * int(w) + 2]))


PLACES = np.array(
    [sum(k << 8 * r for r, k in enumerate(k for k in range(8) if byte >> k & 1)) for byte in range(256)], np.uint64
)
"""For each byte the places of its bits that are set, each as a byte."""


def _list_bits(typing: Any, bits: Any, start: Any, table: Any, places: Any, e: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, start, _, _, end = args
        of_table, of_places = signature.args[2:4]
        wide = ir.IntType(of_places.dtype.bitwidth)
        vector = ir.VectorType(wide, 8)
        nothing = ir.Constant(vector, ir.Undefined)
        first = start if wide == WORD else builder.trunc(start, wide)
        first = builder.insert_element(nothing, first, ir.Constant(HALF, 0))
        first = builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(HALF, 8), [0] * 8))
        for k in range(0, BLOCK, 8):
            byte = builder.and_(builder.lshr(bits, ir.Constant(WORD, k)), ir.Constant(WORD, 0xFF))
            row = load(context, builder, of_table, args[2], byte, ir.VectorType(BYTE, 8))
            listed = builder.add(builder.zext(row, vector), builder.add(first, ir.Constant(vector, [k] * 8)))
            store(context, builder, of_places, args[3], end, listed)
            end = builder.add(end, builder.ctpop(byte))
        return end

    return types.uint64(bits, types.uint64, table, places, types.uint64), code


@instruction(_list_bits)
def list_bits(bits: np.uint64, start: np.uint64, table: Uint64s, places: Any, e: np.uint64) -> np.uint64:
    """Write ``start`` plus the place of each bit that is set to ``places[e:]``, in order; return the end.

    ``table`` is ``PLACES``.  Up to eight more numbers are overwritten.
    """
    for k in range(BLOCK):
        if int(bits) >> k & 1:
            places[int(e)] = int(start) + k
            e += np.uint64(1)
    return e
