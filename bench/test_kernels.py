"""Each public function on 5,000 rows under pytest-benchmark: to follow a change, not to assert a time.

::

    pytest bench --benchmark-enable
"""

from functools import cache
from typing import Any

import pytest

import fastmetrics as fm
from bench import data
from fastmetrics import text

CONVENTIONS = ("words", "ascii_words", "light", "plain", "squad")
TWO_COLUMNS = (
    *("exact_match", "keyword_recall", "token_cosine", "token_f1", "token_precision", "token_recall"),
    *("squad_em", "squad_f1", "jaccard"),
)
ONE_COLUMN = ("answer_length", "answer_words", "politeness")
ROWS = 5_000


@cache
def column(name: str) -> Any:
    """A column of made rows."""
    return data.table(ROWS).combine_chunks()[name]


@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_two_columns(benchmark: Any, name: str) -> None:
    scores = benchmark(getattr(fm, name), column("answer"), column("reference"), threads=1)
    assert scores.shape == (ROWS,)


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_one_column(benchmark: Any, name: str) -> None:
    scores = benchmark(getattr(fm, name), column("answer"), threads=1)
    assert scores.shape == (ROWS,)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_convention(benchmark: Any, convention: str) -> None:
    cut = benchmark(text.tokens, column("answer"), convention)
    assert len(cut) == ROWS
