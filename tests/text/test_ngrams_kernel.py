"""Counts of shared n-grams, whose tables are filled by row after row, against lists that are looked through."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from fastmetrics.kernels import ngrams

Row = list[int]

LETTERS = (2, 20), (5, 70), (40, 300), (99, 500)
"""The number of letters, and the length of the longest text."""

ODD = np.uint64(0x9E3779B97F4A7C15)

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
    found = ngrams.count_ngrams(lists(answers), flat, bounds, n_words, ORDERS, True, ODD, top, ngrams.LONGEST)
    expected = [[matched(*pair, order) for pair in zip(answers, groups, strict=True)] for order in range(1, ORDERS + 1)]
    assert found.tolist() == expected


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("n_words", [3, 2000])
def test_long_rows_are_counted_part_by_part_to_the_same_numbers(n_words: int, several: bool, together: bool) -> None:
    """Rows beyond ``longest`` on either side, some with several parts of the hash, between rows that are not."""
    rng = np.random.default_rng([n_words, several, together])
    sizes = [0, 30, 5, 3000, 0, 4000, 1, 10]
    answers = [rng.integers(0, n_words, size).tolist() for size in sizes]
    groups = [
        [rng.integers(0, n_words, int(rng.integers(0, 200))).tolist() + answer[n:2000] for n in range(1 + 2 * several)]
        for answer in answers
    ]
    groups[1][0] += answers[3]
    bounds = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    flat = lists([one for group in groups for one in group])
    counts = [
        ngrams.count_ngrams(lists(answers), flat, bounds, n_words, 6, together, ODD, ngrams.TOP, longest)
        for longest in (10, 100, ngrams.LONGEST)
    ]
    assert counts[0].tolist() == counts[1].tolist() == counts[2].tolist()
    assert counts[0][5].sum() > 0


@pytest.mark.parametrize("together", [False, True])
def test_a_small_table_takes_many_passes(together: bool) -> None:
    rng = np.random.default_rng(together)
    answer, *group = (rng.integers(0, 9, size).tolist() for size in (900, 800, 700))
    shared = np.zeros((6, 1 if together else 2), np.int64)
    table = np.zeros((5, 128), np.int32)
    ids = np.array(answer, np.int32)
    ngrams.count_long_row(ids, lists(group), (0, 2), 0 if together else -1, ODD, table, shared)
    expected = ngrams.count_ngrams(
        lists([answer]), lists(group), np.array([0, 2]), 9, 6, together, ODD, ngrams.TOP, ngrams.LONGEST
    )
    assert shared.tolist() == expected.tolist()
    if together:
        assert shared[:, 0].tolist() == [matched(answer, group, order) for order in range(1, 7)]


@pytest.mark.full
def test_the_memory_of_a_long_row_is_bounded() -> None:
    """An answer and a reference of 2,000,000 letters: their ids have 16 MB, the tables 84 MB."""
    code = """
import resource
import numpy as np
from fastmetrics.kernels import ngrams

def row(size, seed):
    ids = np.random.default_rng(seed).integers(0, 26, size).astype(np.int32)
    return ngrams.Lists(ids, np.array([0]), np.array([size]))

odd, groups = np.uint64(0x9E3779B97F4A7C15), np.array([0, 1])
ngrams.count_ngrams(row(9, 1), row(9, 2), groups, 26, 6, False, odd, ngrams.TOP, 4)
ngrams.count_ngrams(row(9, 1), row(9, 2), groups, 26, 6, False, odd, ngrams.TOP, ngrams.LONGEST)
lists = row(2_000_000, 1), row(2_000_000, 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ngrams.count_ngrams(*lists, groups, 26, 6, False, odd, ngrams.TOP, ngrams.LONGEST)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert int(ran.stdout) < 120, "tables of the size of the row have 216 MB"
