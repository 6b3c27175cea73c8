"""The rows of most similar words, through an inverted index.

Similarity is the cosine of token sets, shared / √(own · other). A row's postings are ordered by the size of the rows in
them, so that rows too short or too long to reach the score in hand are skipped together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastmetrics.kernels._jit import kernel

Array = npt.NDArray[Any]


class Rows(NamedTuple):
    """Token sets: row r has the distinct words ``words[bounds[r]:bounds[r + 1]]``."""

    words: Array
    bounds: Array


class Inverted(NamedTuple):
    """Word w is in the rows ``rows[bounds[w]:bounds[w + 1]]``, shortest row first."""

    rows: Array
    bounds: Array


class Best(NamedTuple):
    """The best rows of each question so far, by (score descending, row ascending); -1 where there is none."""

    scores: Array
    rows: Array


@kernel
def distinct(ids: Array, starts: Array, stops: Array, n_words: int, words: Array, bounds: Array) -> None:
    """Write the distinct words of each text, in the order they come, to ``words``."""
    seen = np.full(n_words, -1, np.int64)
    size = 0
    for row in range(len(starts)):
        for place in range(starts[row], stops[row]):
            word = ids[place]
            if seen[word] != row:
                seen[word] = row
                words[size] = word
                size += 1
        bounds[row + 1] = size


@kernel
def invert(sets: Rows, order: Array, bounds: Array, rows: Array) -> None:
    """Write to ``rows`` which rows hold each word, in the given order of the rows; ``bounds`` has the word counts."""
    filled = bounds[:-1].copy()
    for row in order:
        for place in range(sets.bounds[row], sets.bounds[row + 1]):
            word = sets.words[place]
            rows[filled[word]] = row
            filled[word] += 1


@kernel
def keep(scores: Array, rows: Array, score: float, row: int) -> None:
    """Put a row into one question's list of the best if it belongs there."""
    place = len(scores) - 1
    if score < scores[place] or (score == scores[place] and row > rows[place]):
        return
    while place > 0 and (score > scores[place - 1] or (score == scores[place - 1] and row < rows[place - 1])):
        scores[place] = scores[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    scores[place] = score
    rows[place] = row


@kernel
def first_of_size(index: Inverted, sets: Rows, word: int, size: float) -> int:
    """Place of the first posting of ``word`` whose row has at least ``size`` words."""
    low, high = index.bounds[word], index.bounds[word + 1]
    while low < high:
        middle = (low + high) // 2
        row = index.rows[middle]
        if sets.bounds[row + 1] - sets.bounds[row] < size:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def by_rarity(words: Array, index: Inverted, known: Array) -> int:
    """Write the words that the index has to ``known``, rarest first; how many they are."""
    n = 0
    for word in words:
        if word + 1 < len(index.bounds):
            length = index.bounds[word + 1] - index.bounds[word]
            place = n
            while place > 0 and index.bounds[known[place - 1] + 1] - index.bounds[known[place - 1]] > length:
                known[place] = known[place - 1]
                place -= 1
            known[place] = word
            n += 1
    return n


@kernel
def match_rows(asked: Rows, sets: Rows, index: Inverted, best: Best, n_words: int) -> None:
    """The most similar rows of each question, words rarest first, until no row unseen can belong to the best."""
    slack = 1.0 - 1e-9  # bounds are compared with scores rounded otherwise
    mark = np.full(n_words, -1, np.int64)
    seen = np.full(len(sets.bounds) - 1, -1, np.int64)
    known = np.empty(n_words, np.int64)
    for q in range(len(asked.bounds) - 1):
        words = asked.words[asked.bounds[q] : asked.bounds[q + 1]]
        own = len(words)
        for word in words:
            mark[word] = q
        count = by_rarity(words, index, known)
        for turn in range(count):
            worst = max(best.scores[q, -1], 0.0) * slack
            left = count - turn
            if left < worst * worst * own:
                break
            word, shortest = known[turn], worst * worst * own
            for place in range(first_of_size(index, sets, word, shortest), index.bounds[word + 1]):
                row = index.rows[place]
                start, stop = sets.bounds[row], sets.bounds[row + 1]
                worst = max(best.scores[q, -1], 0.0) * slack
                if left < worst * np.sqrt(float(own * (stop - start))):
                    break
                if seen[row] != q:
                    seen[row] = q
                    shared = 0
                    for at in range(start, stop):
                        shared += mark[sets.words[at]] == q
                    keep(best.scores[q], best.rows[q], shared / np.sqrt(float(own * (stop - start))), row)
