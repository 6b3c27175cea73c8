"""Conversion of text to word ids: find the edges of the words of some texts, then look up all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, Uint64s
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.text.blocks.block_code import BLOCK
from fastmetrics.kernels.text.blocks.byte_blocks import read_only
from fastmetrics.kernels.text.vocabulary import WordKeys, Words, bound_texts, hash_words, look_up, match_words
from fastmetrics.kernels.text.word_boundaries import (
    Blocks,
    Rules,
    classify,
    copy_text,
    fold_exactly,
    fold_high,
    is_direct,
    list_edges,
)

CHUNK_WORDS = 1024
"""Words that are looked up together, or those of one text if it has more."""
CHUNK_BYTES = 16 * CHUNK_WORDS
SHORT_BYTES = np.uint64(512)
"""Bytes of short texts that are folded together, with a space after each."""

_U1, _U2 = np.uint64(1), np.uint64(2)
_BLOCK = np.uint64(BLOCK)


class Work(NamedTuple):
    """Arrays to work in: the edges of the words of some texts, the end of each text's words, and what is looked up."""

    blocks: Blocks
    edges: Any
    ends: Uint64s
    word_keys: WordKeys


class WordIds(NamedTuple):
    """The ids of all texts; ``bounds[i]`` is the first of text i.  ``left`` marks texts that only Python can fold."""

    ids: Ids
    bounds: Uint64s
    left: Flags
    state: Ints  # the next text; the words and tail entries that it and those after it may add


@inline
def fold_quickly(rules: Rules, blocks: Blocks, source: Bytes, start: np.uint64, j: np.uint64, n: np.uint64) -> bool:
    """Fold the ``n`` bytes at ``source[start]`` to ``blocks.folded[j]``, and mark them; False if not exactly."""
    high, rare = classify(rules, blocks, source, start, j, n)
    return rules.folded or (
        rare == np.uint64(0) and (high == np.uint64(0) or fold_high(rules, blocks, source, start, j, n))
    )


@inline
def list_words(
    data: Bytes, start: int, stop: int, rules: Rules, work: Work, j: np.uint64, e: np.uint64
) -> tuple[np.uint64, int]:
    """Fold a text and list the edges of its words; return the end of that list, and the folded length or -1."""
    source, at, n = data, np.uint64(start), np.uint64(stop - start)
    if not is_direct(data, at, n):
        copy_text(data, at, n, work.blocks.raw, j)
        source, at = read_only(work.blocks.raw), j
    quick = fold_quickly(rules, work.blocks, source, at, j, n)
    size = stop - start if quick else fold_exactly(rules, work.blocks, source, at, j, n)
    if size > 0:
        e = list_edges(rules, work.blocks, j, np.uint64(size), work.edges, e)
    return e, size


@leaf
def list_short_texts(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, work: Work, j: np.uint64, e: np.uint64, row: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """List the edges of the words of texts from ``row`` on, folded together with spaces between them.

    Return the text after them, the end of the list, and their bytes: none if they must be folded one by one.
    """
    n, last = np.uint64(0), row
    most = min(np.uint64(len(starts)), np.uint64(len(work.ends)))
    while last < most and n + np.uint64(stops[last] - starts[last]) < SHORT_BYTES:
        size = np.uint64(stops[last] - starts[last])
        copy_text(data, np.uint64(starts[last]), size, work.blocks.raw, j + n)
        n += size + _U1
        work.blocks.raw[j + n - _U1] = 0x20
        last += _U1
    if not fold_quickly(rules, work.blocks, read_only(work.blocks.raw), j, j, n):
        return last, e, np.uint64(0)
    w, limit = e, j
    e = list_edges(rules, work.blocks, j, n, work.edges, e)
    for text in range(row, last):
        limit += np.uint64(stops[text] - starts[text]) + _U1
        while w < e and work.edges[w] < limit:
            w += _U2
        work.ends[text] = w >> _U1
    return last, e, n


@inline
def two_are_short(starts: Ints, stops: Ints, row: np.uint64) -> bool:
    """Whether the text ``row`` and the next one can be folded together."""
    if row + _U1 >= np.uint64(len(starts)):
        return False
    return np.uint64(stops[row] - starts[row] + stops[row + _U1] - starts[row + _U1]) + _U2 <= SHORT_BYTES


@leaf
def list_texts(data: Bytes, starts: Ints, stops: Ints, rules: Rules, work: Work, left: Flags) -> tuple[int, int]:
    """List the edges of the words of the first texts, as many as are looked up together; return texts and bytes.

    ``left[i]`` becomes whether only Python can fold text i.
    """
    j, e, row, alone = _BLOCK, np.uint64(0), np.uint64(0), np.uint64(0)
    while row < np.uint64(len(starts)):
        start, stop = starts[row], stops[row]
        full = e >= 2 * CHUNK_WORDS or np.int64(j) + 2 * (stop - start) >= CHUNK_BYTES
        if row > np.uint64(0) and (full or row == np.uint64(len(work.ends))):
            break
        if row >= alone and two_are_short(starts, stops, row):
            alone, e, n = list_short_texts(data, starts, stops, rules, work, j, e, row)
            if n > np.uint64(0):
                j += (n + _BLOCK) & ~(_BLOCK - _U1)
                row = alone
                continue
        e, size = list_words(data, start, stop, rules, work, j, e)
        left[row] = size < 0
        j += (np.uint64(max(size, stop - start)) + _BLOCK) & ~(_BLOCK - _U1)
        work.ends[row] = e >> _U1
        row += _U1
    return np.int64(row), np.int64(j)


@leaf
def tokenize(
    data: Bytes, starts: Ints, stops: Ints, rules: Rules, skip: np.uint64, words: Words, work: Work, output: WordIds
) -> bool:
    """Number the words of every text; return False if the vocabulary must grow first, then call again.

    Words numbered below ``skip`` are dropped.
    """
    ids, bounds, left, state = output
    edges, folded = work.edges, work.blocks.folded
    first = state[0]
    while first < len(starts):
        n_texts, n_bytes = list_texts(data, starts[first:], stops[first:], rules, work, left[first:])
        m = work.ends[n_texts - 1]
        if words.sizes[0] + np.int64(m) > len(words.begins) or words.sizes[1] + n_bytes // 8 > len(words.tails):
            state[0], state[1], state[2] = first, np.int64(m), n_bytes // 8
            return False
        hash_words(folded, edges, m, words.slots, work.word_keys)
        n_pending = match_words(m, words, work.word_keys, ids, bounds[first])
        look_up(folded, edges, n_pending, words, work.word_keys, ids, bounds[first])
        bound_texts(work.ends[:n_texts], skip, ids, bounds[first:])
        first += n_texts
    return True
