"""N-grams of two and of three letters, which a pass over each list numbers and counts together.

A text has few letters, so that tables with an entry for every pair of letters, and for every pair and a letter, stay in
the processor's cache; and few of the pairs occur once.  ``pairs`` and ``triples`` have one entry per 2-gram and 3-gram.
"""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Ids
from fastmetrics.kernels.jit import inline, leaf
from fastmetrics.kernels.pairs.lone_ngrams import sum_of_least
from fastmetrics.kernels.pairs.ngram_places import LIMIT, SHARED, Counters, LetterTables, NgramArrays, Numbers, Places

PAIRS, TRIPLES = 1 << 13, 1 << 16
"""The sizes of the tables."""

MOST = (1 << 16) - 1
"""The largest number in a table."""

_U1, _U2 = np.uint64(1), np.uint64(2)


@inline
def fit(n: int, width: int) -> bool:
    """Whether n letters of ``width`` occur often, and the tables have room for their 2-grams and 3-grams."""
    return 3 * width < n and width * width <= PAIRS and (n + 1) * width <= TRIPLES and n < MOST


@inline
def take_number(numbers: Numbers, h: np.uint64, base: int, used: int) -> tuple[int, int]:
    """The number of an n-gram whose entry is ``h``, the next one if it is new; and how many are now in use."""
    code = np.int64(numbers[h])
    new = code <= base
    used += new
    code = base + used if new else code
    numbers[h] = code
    return code - base, used


@leaf
def number_letters(a: Places, n: int, width: int, tables: LetterTables, pairs: Ids, triples: Ids) -> tuple[int, int]:
    """Number the 2-grams and 3-grams of n letters, and count each; return how many are different.

    The places are then those of the 3-grams.
    """
    words, grams, numbers, longer = a.words, a.grams, tables.pairs, tables.triples
    base, longer_base = tables.bases[0], tables.bases[1]
    used = longer_used = 0
    before, word = np.int64(words[0]), np.int64(words[1])
    for k in range(np.uint64(n - 2)):
        after = np.int64(words[k + _U2])
        pair, used = take_number(numbers, np.uint64(before * width + word), base, used)
        pairs[np.uint32(pair)] += 1
        gram, longer_used = take_number(longer, np.uint64(pair * width + after), longer_base, longer_used)
        triples[np.uint32(gram)] += 1
        grams[k] = gram
        before, word = word, after
    pair, used = take_number(numbers, np.uint64(before * width + word), base, used)
    pairs[np.uint32(pair)] += 1
    return used, longer_used


@leaf
def look_up_letters(b: Places, n: int, width: int, tables: LetterTables, pairs: Ids, triples: Ids) -> int:
    """Count the 2-grams and 3-grams of n letters; return how many places have a 3-gram of a, and write those."""
    words, at, grams, numbers, longer = b.words, b.at, b.grams, tables.pairs, tables.triples
    base, longer_base = tables.bases[0], tables.bases[1]
    before, word = np.int64(words[0]), np.int64(words[1])
    j = np.uint64(0)
    for k in range(np.uint64(max(n - 2, 0))):
        after = np.int64(words[k + _U2])
        pair = max(np.int64(numbers[np.uint64(before * width + word)]) - base, 0)
        pairs[np.uint32(pair)] += 1
        gram = max(np.int64(longer[np.uint64(pair * width + after)]) - longer_base, 0)
        triples[np.uint32(gram)] += 1
        at[j], grams[j] = k, gram
        j += np.uint64(gram > 0)
        before, word = word, after
    if n > 1:
        pairs[np.uint32(max(np.int64(numbers[np.uint64(before * width + word)]) - base, 0))] += 1
    return np.int64(j)


@leaf
def count_letters(
    work: NgramArrays, sizes: tuple[int, int], width: int, top: int, spare: Counters
) -> tuple[int, int, int]:
    """The 2-grams and the 3-grams that both lists have, and how many different 3-grams a has.

    ``sizes`` are those of the lists; the places are then those of 3-grams.  ``spare`` has two rows like ``counters``.
    """
    n, n_b = sizes
    tables, counters = work.letters, work.counters
    if max(tables.bases[0], tables.bases[1]) + n > min(top, MOST):
        tables.pairs[:], tables.triples[:], tables.bases[:] = 0, 0, 0
    spare[:, : n + 1] = 0
    counters[: SHARED + 1, : n + 1] = 0
    used, longer_used = number_letters(work.a, n, width, tables, spare[0], counters[LIMIT])
    work.ends[0] = look_up_letters(work.b, n_b, width, tables, spare[1], counters[SHARED])
    tables.bases[0] += used
    tables.bases[1] += longer_used
    both = 0
    for gram in range(_U1, np.uint64(used + 1)):
        both += min(spare[0, gram], spare[1, gram])
    return both, sum_of_least(counters, longer_used), longer_used
