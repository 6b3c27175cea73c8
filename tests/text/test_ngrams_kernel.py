"""Counts of shared n-grams, whose tables are filled by row after row, against lists that are looked through."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fastmetrics.kernels import ngrams

Row = list[int]

LETTERS = (2, 20), (5, 70), (40, 300), (99, 500)
"""The number of letters, and the length of the longest text."""

ORDERS = 12
"""More than the ids that are compared at a time."""


def grams(ids: Row, order: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(ids[i : i + order]) for i in range(len(ids) - order + 1))


def matched(answer: Row, references: list[Row], order: int) -> int:
    """N-grams of the answer, each as often as the reference has it that has it most often."""
    most: Counter[tuple[int, ...]] = Counter()
    for reference in references:
        most |= grams(reference, order)
    return (grams(answer, order) & most).total()


def lists(rows: list[Row]) -> ngrams.Lists:
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = np.array([one for row in rows for one in row], np.int32)
    return ngrams.Lists(ids, bounds[:-1], bounds[1:])


@pytest.mark.slow
@pytest.mark.parametrize("top", [0, 40, ngrams.TOP])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("n_words", "most"), [(2, 2), (3, 4), (1, 9), (3, 9), (12, 40), (600, 400), *LETTERS])
def test_ngram_tables_are_reset_between_rows(n_words: int, most: int, several: bool, top: int) -> None:
    """The longest rows have more n-grams than a dense table holds, the shortest a word and no pair.

    Of few letters, but not of 99, the texts are long enough for the tables of letters.  ``top`` is where numbers would
    grow too large.
    """
    rng = np.random.default_rng([n_words, several])

    def draw() -> Row:
        size = int(rng.integers(0, most))
        return rng.integers(0, n_words, size).tolist()

    answers = [draw() for _ in range(12 + 600 // most**2)]
    groups = [[draw() for _ in range(int(rng.integers(1, 4)) if several else 1)] for _ in answers]
    # some words in common, in order
    groups = [
        [one + answer[len(answer) // 3 :] for one in group] for answer, group in zip(answers, groups, strict=True)
    ]
    bounds = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    flat = lists([one for group in groups for one in group])
    found = ngrams.count_ngrams(lists(answers), flat, bounds, n_words, ORDERS, True, top)
    expected = [[matched(*pair, order) for pair in zip(answers, groups, strict=True)] for order in range(1, ORDERS + 1)]
    assert found.tolist() == expected
