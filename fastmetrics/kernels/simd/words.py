"""Instructions on the letters of two bytes in a block, on the heads of words, and on several ids at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fastmetrics.base.arrays import Bytes, Ids, Uint64s
from fastmetrics.kernels.simd.blocks import BLOCK, BYTE, HALF, WORD, U, between, each, eight, instruction, load, store

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
        # Every byte with the two bytes of its letter: the one before it if it is a continuation, else the one behind
        # it.
        follows = between(builder, block, 0x80, 0xBF)
        first, second = builder.select(follows, before, block), builder.select(follows, block, after)
        # One comparison for each first byte, which several rows of the table share.
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
        # Other bytes stay as they are in the target.
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
    letters = others = U(0)
    for k in range(BLOCK):
        at = U(p) + U(k)
        byte = np.int64(source[at])
        follows = 0x80 <= byte <= 0xBF
        first = np.int64(source[at - U(1)]) if follows else byte
        second = byte if follows else np.int64(source[at + U(1)])
        is_letter = False
        for head, low, high in LETTERS:
            is_letter |= first == head and low <= second <= high
        if is_letter:
            for head, low, high, of_first, of_second in CAPITALS:
                if first == head and low <= second <= high:
                    byte += of_second if follows else of_first
            target[U(q) + U(k)] = byte
            letters |= U(1) << U(k)
        elif byte >= 0xC0:
            others |= U(1) << U(k)
    return letters, others


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
        # Bits 4 and 5 of the second byte tell the capitals apart, as the rows of ``CAPITALS`` for 0xD0 do: Ѐ to Џ, А to
        # П, Р to Я; the fourth has small letters.
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
    letters = others = U(0)
    for k in range(BLOCK):
        at = U(p) + U(k)
        byte = np.int64(source[at])
        follows = 0x80 <= byte <= 0xBF
        first = np.int64(source[at - U(1)]) if follows else byte
        second = byte if follows else np.int64(source[at + U(1)])
        if first == 0xD0 or (first == 0xD1 and second < 0xA0):
            row = (second >> 4) & 3
            step = (0x10, 0x20, -0x20, 0)[row] if follows else (1, 0, 1, 0)[row]
            target[U(q) + U(k)] = byte + step if first == 0xD0 else byte
            letters |= U(1) << U(k)
        elif byte >= 0xC0:
            others |= U(1) << U(k)
    return letters, others


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
    low = eight(data, U(p)) & masks[U(2) * U(row)]
    high = eight(data, U(p) + U(8)) & masks[U(2) * U(row) + U(1)]
    heads[U(2) * U(w)], heads[U(2) * U(w) + U(1)] = low, high
    return low, high


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
    one, other = U(2) * U(i), U(2) * U(w)
    same = heads[one] == others[other] and heads[one + U(1)] == others[other + U(1)]
    return U(0) if same else U(1)


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
        # For each byte eight places are written, of which as many count as it has bits: no branch depends on them.
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
    end = U(e)
    for k in range(BLOCK):
        if (U(bits) >> U(k)) & U(1):
            places[end] = U(start) + U(k)
            end += U(1)
    return end


LANES = 8
"""The number of ids that ``alike_ids`` reads in each list."""

WIDENED = 16
"""The number of bytes that ``widen`` copies."""


def _alike_ids(typing: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        eight, byte, word = ir.VectorType(ir.IntType(32), LANES), ir.IntType(8), ir.IntType(64)
        loaded = []
        for kind, array, index in zip(signature.args[::2], args[::2], args[1::2], strict=True):
            place = builder.gep(context.make_array(kind)(context, builder, array).data, [index])
            loaded.append(builder.load(builder.bitcast(place, eight.as_pointer())))
            loaded[-1].align = 4
        # The eight comparisons as a byte; a ninth bit stops the count where all are equal.
        other = builder.zext(builder.bitcast(builder.icmp_unsigned("!=", *loaded), byte), word)
        return builder.cttz(builder.or_(other, ir.Constant(word, 1 << LANES)), ir.Constant(ir.IntType(1), 0))

    return types.uint64(a, types.uint64, b, types.uint64), code


@instruction(_alike_ids)
def alike_ids(a: Ids, i: np.uint64, b: Ids, j: np.uint64) -> np.uint64:
    """How many ids are equal from ``a[i]`` and ``b[j]`` on, up to ``LANES``."""
    alike = U(0)
    while alike < U(LANES) and a[U(i) + alike] == b[U(j) + alike]:
        alike += U(1)
    return alike


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
    for n in range(WIDENED):
        out[U(k) + U(n)] = data[U(p) + U(n)]
