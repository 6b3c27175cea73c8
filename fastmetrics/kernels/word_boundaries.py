"""Where the words of a text are: its bytes are folded and classified 64 at a time, and each word's edges listed.

``Rules`` say what becomes of each character.  What they cannot say in one step, as a small letter with more bytes than
its capital, ``folding.fold_text`` does for the whole text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.folding import (
    ALONE,
    CODE,
    CONTEXT,
    DELETE,
    EDGE,
    RAW,
    decode,
    drop_articles_of,
    encode,
    fold_text,
)
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.simd.blocks import (
    AHEAD,
    KINDS_SIZE,
    copy_block,
    count_ones,
    fold_block,
    in_range,
    kinds_of,
    leading_zeros,
    prefetch,
    read_only,
    trailing_zeros,
)
from fastmetrics.kernels.simd.words import PLACES, fold_cyrillic, fold_letters, list_bits

# What becomes of letters that ``simd.words.fold_letters`` folds.
UNKNOWN, FOLDED, SEPARATORS = np.uint64(0), np.uint64(1), np.uint64(2)

_U0, _U1, _U6, _U63, _U64, _U2 = (np.uint64(n) for n in (0, 1, 6, 63, 64, 2))
_ALL = np.uint64((1 << 64) - 1)
_SPACE, _LEAD, _CYRILLIC = (np.uint64(n) for n in (0x20, 0xC0, 0xD0))
_FEW = np.uint64(4)
"""Characters of a block that are folded one by one, beside Cyrillic letters: fewer steps than for all ``LETTERS``."""


class Rules(NamedTuple):
    """A convention: what becomes of bytes and characters, and what else it does."""

    kinds: Bytes  # rows for ``simd.blocks.kinds_of``: separators, marks, and bytes that only ``fold_text`` handles
    marks: Bytes  # ranges of bytes that are deleted, or stripped from the ends of words: first bytes and sizes
    capitals: np.uint64  # how many ASCII letters are lower-cased: 26, or none
    letters: np.uint64
    folded: bool  # whether texts are folded already, and separated by spaces
    deletes: bool
    bytemap: Ids
    codemap: Ids
    is_word: Flags


class Blocks(NamedTuple):
    """Room for some texts, as they are and folded, at the same places; and for the longest text, its bits by block."""

    raw: Bytes
    folded: Bytes
    spaces: Uint64s
    marks: Uint64s
    joints: Uint64s  # places after deleted bytes inside words


@inline
def copy_text(data: Bytes, start: np.uint64, n: np.uint64, raw: Bytes, j: np.uint64) -> None:
    """Copy a text's ``n`` bytes to ``raw[j]``, where up to 63 more bytes may be overwritten."""
    p, size = _U0, np.uint64(len(data))
    while p < n and start + p + _U64 <= size:
        prefetch(data, start + p + AHEAD)
        copy_block(data, start + p, raw, j + p)
        p += _U64
    while p < n:
        raw[j + p] = data[start + p]
        p += _U1


@inline
def inside(n: np.uint64, p: np.uint64) -> np.uint64:
    """The bits of a block at byte ``p`` that belong to a text of ``n`` bytes."""
    # A shift by 64 bits is not defined, so a full block is told apart.
    return _ALL if n - p >= _U64 else (_U1 << (n - p)) - _U1


@inline
def any_of(ranges: Bytes, data: Bytes, p: np.uint64) -> np.uint64:
    """Which of the 64 bytes from ``p`` on are in one of the ``ranges``, each a first byte and a number of bytes."""
    bits = _U0
    for k in range(np.uint64(len(ranges))):
        bits |= in_range(data, p, np.uint64(ranges[k, 0]), np.uint64(ranges[k, 1]))
    return bits


@inline
def is_direct(data: Bytes, start: np.uint64, n: np.uint64) -> bool:
    """Whether a text can be read where it is, in blocks that begin a byte before it and end one after its last."""
    return start > _U0 and start + n + _U64 < np.uint64(len(data))


@inline
def classify(
    rules: Rules, blocks: Blocks, source: Bytes, start: np.uint64, j: np.uint64, n: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Fold the ASCII letters of the text ``source[start : start + n]`` to ``folded[j]`` and mark its bytes.

    Returns which kinds of other bytes it has.  The two numbers are zero if it has no bytes that are not ASCII, and none
    that only ``fold_text`` handles.
    """
    _, folded, spaces, marks, _ = blocks
    high = rare = p = _U0
    while p < n:
        bits, block = inside(n, p), p >> _U6
        prefetch(source, start + p + AHEAD)
        high |= fold_block(source, start + p, folded, j + p, rules.capitals) & bits
        of_separators = of_marks = of_rare = at = _U0
        while at < np.uint64(len(rules.kinds)):
            separator, mark, odd = kinds_of(folded, j + p, rules.kinds, at)
            of_separators, of_marks, of_rare = of_separators | separator, of_marks | mark, of_rare | odd
            at += np.uint64(KINDS_SIZE)
        # What follows the text is a separator, so that its last word ends.
        spaces[block], marks[block] = of_separators | ~bits, of_marks & bits
        rare |= of_rare & bits
        p += _U64
    return high, rare


@leaf
def fold_high(rules: Rules, blocks: Blocks, source: Bytes, start: np.uint64, j: np.uint64, n: np.uint64) -> bool:
    """Fold and mark the characters of ``source[start : start + n]`` beyond ASCII; False if only ``fold_text`` can."""
    p, fits = _U0, True
    # whether the block before ends with the first byte of a letter, and whether only ``fold_letters`` knows the letter
    begun = crossing = _U0
    while p < n and fits:
        others = in_range(source, start + p, _LEAD, _U64)
        if rules.letters != UNKNOWN and (others | begun) != _U0:
            # ``odd`` are the letters, or other characters, that ``fold_cyrillic`` does not know.
            begun, odd = others >> _U63, others & ~in_range(source, start + p, _CYRILLIC, _U2)
            if crossing == _U0 and count_ones(odd) <= _FEW:
                letters, others = fold_cyrillic(source, start + p, blocks.folded, j + p)
            else:
                letters, others = fold_letters(source, start + p, blocks.folded, j + p)
                crossing = odd >> _U63
            if rules.letters == SEPARATORS:
                blocks.spaces[p >> _U6] |= letters & inside(n, p)
        # The bits of ``others`` are first bytes of characters, which are folded one by one.
        others &= inside(n, p)
        while others != _U0 and fits:
            q = p + trailing_zeros(others)
            fits = fold_character(rules.codemap, blocks, source, start + q, j, q)
            others &= others - _U1
        p += _U64
    return fits


@inline
def fold_character(codemap: Ids, blocks: Blocks, source: Bytes, at: np.uint64, j: np.uint64, p: np.uint64) -> bool:
    """Fold and mark the character ``source[at]``, byte ``p`` of its text; False if it does not become as many bytes."""
    code, after = decode(source, np.int64(at))
    size = np.uint64(after) - at
    entry = codemap[code if code < len(codemap) else 0]
    if entry == code:  # its bytes are there
        return True
    if entry & (CONTEXT | EDGE | ALONE):
        return False
    # The character's bits in its block, and those that go over into the next one; two shifts, since one by 64 is not
    # defined.
    bits = ((_U1 << size) - _U1) << (p & _U63)
    over = ((_U1 << size) - _U1) >> (_U63 - (p & _U63)) >> _U1
    block = p >> _U6
    if entry == DELETE:
        blocks.marks[block] |= bits
        blocks.marks[block + _U1] |= over
    elif entry == 0x20:
        blocks.spaces[block] |= bits
        blocks.spaces[block + _U1] |= over
    elif entry & RAW:
        blocks.folded[j + p] = entry & 0xFF
        return size == _U1
    else:
        wide = 1 + (entry >= 0x80) + (entry >= 0x800) + (entry >= 0x10000)
        if np.uint64(wide) != size:
            return False
        encode(entry & CODE, blocks.folded, np.int64(j + p))
    return True


@leaf
def fold_exactly(rules: Rules, blocks: Blocks, source: Bytes, start: np.uint64, j: np.uint64, n: np.uint64) -> int:
    """Fold the text ``source[start : start + n]`` by tables and mark its bytes.

    Returns its folded length, -1 if only Python can fold it.
    """
    begin, first = np.int64(j), np.int64(start)
    _, folded, spaces, marks, _ = blocks
    end, met = fold_text(source, first, first + np.int64(n), rules.bytemap, rules.codemap, folded, begin)
    if met & CONTEXT:
        return -1
    # Rare: a character is kept and still ends a word, which the rules for blocks cannot say.
    if met & EDGE:
        folded[end] = 0x20
        drop_articles_of(folded, begin, end + 1, rules.is_word)
    size = np.uint64(end - begin)
    p = _U0
    while p < size:
        bits = inside(size, p)
        spaces[p >> _U6] = in_range(folded, j + p, _SPACE, _U1) | ~bits
        marks[p >> _U6] = _U0 if rules.deletes else any_of(rules.marks, folded, j + p) & bits
        p += _U64
    return end - begin


@leaf
def fold_texts(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, blocks: Blocks, out: Bytes, bounds: Ints, flags: Ids
) -> None:
    """Like ``folding.fold``, for rules that keep all characters; ``flags`` gets those of each text's characters."""
    j = bounds[0]
    begin = _U64
    for row in range(len(starts)):
        n = np.uint64(stops[row] - starts[row])
        copy_text(data, np.uint64(starts[row]), n, blocks.raw, begin)
        source = read_only(blocks.raw)
        high, rare = classify(rules, blocks, source, begin, begin, n)
        p, met, end = _U0, 0, j + np.int64(n)
        if rare == _U0 and (high == _U0 or fold_high(rules, blocks, source, begin, begin, n)):
            while p < n:
                copy_block(blocks.folded, begin + p, out, np.uint64(j) + p)
                p += _U64
        else:
            end, met = fold_text(source, np.int64(begin), np.int64(begin + n), rules.bytemap, rules.codemap, out, j)
        out[end] = 0x20
        j = end + 1
        bounds[row + 1] = j
        flags[row] = met


@inline
def list_edges(rules: Rules, blocks: Blocks, j: np.uint64, n: np.uint64, edges: Any, e: np.uint64) -> np.uint64:
    """Write the start and the end of each word of the text from ``edges[e]`` on; return the end of the list.

    A word is a run of bytes that are neither separators nor marks; marks between two such runs join them.
    """
    _, folded, spaces, marks, joints = blocks
    first, n_joints = e, _U0
    # ``carry`` is whether a word goes on from the block before, ``before`` whether its last byte is a word's own, and
    # ``open_run`` whether it ends in marks behind a word.
    carry = before = open_run = p = _U0
    while p < n:
        mark = marks[p >> _U6]
        keep = ~(spaces[p >> _U6] | mark)
        unmarked = keep
        if (mark | open_run) != _U0:
            # Where a word's byte is followed by marks, adding the first mark's bit carries through all of them to the
            # bit behind.  A word's byte there is joined to the word before; marks at other places only end or begin
            # words.
            runs_end = mark + (mark & ((keep << _U1) | before)) + open_run
            joining = runs_end & ~mark & keep
            while joining != _U0:
                q = trailing_zeros(joining)
                joining &= joining - _U1
                # The marks from q down to the nearest other byte become part of the word.
                below = (_U1 << q) - _U1
                others = ~mark & below
                if others == _U0:
                    # The marks began in the block before, which has written the end of the word: take it back.  If
                    # they begin with this one, open_run is 0, and no end is written yet.
                    e -= open_run
                    carry = _U1
                    keep |= below
                else:
                    keep |= below & ~(_ALL >> leading_zeros(others))
                joints[n_joints] = j + p + q
                n_joints += _U1
            # The run goes on where the carry left the block, which has then cleared its last bit.
            open_run = (mark >> _U63) & ~(runs_end >> _U63)
        # A bit that differs from the one before it is an edge.
        turns = keep ^ ((keep << _U1) | carry)
        carry, before = keep >> _U63, unmarked >> _U63
        e = list_bits(turns, j + p, PLACES, edges, e)
        p += _U64
    if carry != _U0:
        edges[e] = j + n
        e += _U1
    if n_joints != _U0 and rules.deletes:
        # Marks that are only stripped from the ends of words stay inside them.
        close_joints(folded, marks, joints, n_joints, j, edges, first)
    return e


@leaf
def close_joints(
    folded: Bytes, marks: Uint64s, joints: Uint64s, n_joints: np.uint64, j: np.uint64, edges: Any, e: np.uint64
) -> None:
    """Delete the marked bytes inside words; the words from ``edges[e]`` on become shorter.

    ``marks`` has a bit for each byte of the text at ``folded[j]``; ``joints[:n_joints]`` are places after such bytes.
    """
    k = _U0
    while k < n_joints:
        while edges[e + _U1] <= joints[k]:
            e += _U2
        end, to = np.uint64(edges[e + _U1]), np.uint64(edges[e])
        for p in range(to, end):
            folded[to] = folded[p]
            # A marked byte is overwritten by the next one.
            to += _U1 - ((marks[(p - j) >> _U6] >> ((p - j) & _U63)) & _U1)
        edges[e + _U1] = to
        while k < n_joints and joints[k] < end:
            k += _U1
