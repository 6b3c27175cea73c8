"""What a convention does with bytes, as the kernel that finds words needs it: ranges of bytes instead of tables."""

from __future__ import annotations

import functools

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags
from fastmetrics.kernels import folding, word_boundaries
from fastmetrics.kernels.text.blocks.byte_blocks import KINDS_SIZE
from fastmetrics.kernels.text.blocks.letter_blocks import LETTERS
from fastmetrics.text import unicode
from fastmetrics.text.conventions import Convention

_CAPITALS = 26


@functools.cache
def rules_of(convention: Convention) -> word_boundaries.Rules:
    """The rules of a convention."""
    byte = np.arange(256)
    ascii_byte = byte < 128
    entry = np.where(ascii_byte, convention.bytemap, folding.SLOW)
    capitals = _CAPITALS if entry[ord("A")] == folding.KEEP | ord("a") else 0
    capital = (byte >= ord("A")) & (byte < ord("A") + capitals)
    separator = entry == folding.KEEP | 0x20
    deleted = entry == 0
    letter = entry == folding.KEEP | (byte + 0x20 * capital)
    return word_boundaries.Rules(
        kinds=_kinds(separator, deleted | convention.strip, ascii_byte & ~(separator | deleted | letter), capital),
        marks=ranges(deleted | convention.strip, capital),
        capitals=np.uint64(capitals),
        letters=_letters(convention),
        folded=False,
        deletes=bool(deleted.any()),
        bytemap=convention.bytemap,
        codemap=convention.codemap,
        is_word=unicode.is_word(),
    )


@functools.cache
def folded_rules() -> word_boundaries.Rules:
    """The rules of text that is folded already: its words stand between spaces."""
    return word_boundaries.Rules(
        kinds=_kinds(np.arange(256) == ord(" "), *np.zeros((3, 256), np.bool_)),
        marks=np.zeros((0, 2), np.uint8),
        capitals=np.uint64(0),
        letters=word_boundaries.UNKNOWN,
        folded=True,
        deletes=False,
        bytemap=np.zeros(256, np.int32),
        codemap=np.zeros(1, np.int32),
        is_word=np.zeros(1, np.bool_),
    )


def ranges(flags: Flags, absent: Flags | bool = False) -> Bytes:
    """The ranges of flagged bytes as (first, size); they may include bytes that are ``absent``."""
    edges = np.flatnonzero(np.diff(flags | absent, prepend=False, append=False)).reshape(-1, 2)
    flagged = [(first, end - first) for first, end in edges.tolist() if flags[first:end].any()]
    return np.array(flagged, np.uint8).reshape(-1, 2)


def _kinds(separators: Flags, marks: Flags, rare: Flags, absent: Flags) -> Bytes:
    """The flagged ASCII bytes as ``byte_blocks.kinds_of`` reads them; they may include bytes that are ``absent``."""
    rectangles = [
        (kind, rows, columns)
        for kind, flags in enumerate((separators, marks, rare))
        for rows, columns in _rectangles(flags[:128].reshape(8, 16), absent[:128].reshape(8, 16))
    ]
    tables = []
    for first in range(0, len(rectangles), 8):
        table = np.zeros(KINDS_SIZE, np.uint8)
        for bit, (kind, rows, columns) in enumerate(rectangles[first : first + 8]):
            table[:16][columns] |= 1 << bit
            table[16:24][rows] |= 1 << bit
            table[32 + kind] |= 1 << bit
        tables.append(table)
    return np.concatenate(tables) if tables else np.zeros(0, np.uint8)


def _rectangles(flags: Flags, absent: Flags) -> list[tuple[list[int], Flags]]:
    """Rows and columns whose crossings are the flagged places of a matrix, and perhaps others that are ``absent``."""
    rectangles: list[tuple[list[int], Flags]] = []
    for row in np.flatnonzero(flags.any(axis=1)).tolist():
        for i, (rows, columns) in enumerate(rectangles):
            together = columns | flags[row]
            if not (together & ~(flags | absent)[[*rows, row]]).any():
                rectangles[i] = [*rows, row], together
                break
        else:
            rectangles.append(([row], flags[row]))
    return rectangles


def _letters(convention: Convention) -> np.uint64:
    """What becomes of the letters that ``fold_letters`` folds."""
    letters = [ord(bytes([first, second]).decode()) for first, low, high in LETTERS for second in range(low, high + 1)]
    become = convention.codemap[letters]
    if (become == unicode.lower()[letters]).all():
        return word_boundaries.FOLDED
    return word_boundaries.SEPARATORS if (become == 0x20).all() else word_boundaries.UNKNOWN
