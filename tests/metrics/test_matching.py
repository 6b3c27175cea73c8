"""The metrics that look for the right content in an answer, against their plain definitions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import Floats
from tests.reference import matching
from tests.support import strategies

FEW_WORDS = st.lists(st.sampled_from(["a", "b", "c.", "A"]), max_size=9).map(" ".join)
"""Texts of few words, of which one often contains another, in part or as a whole."""
TEXTS = FEW_WORDS | strategies.texts


def expected(scores: Iterable[float | None]) -> Floats:
    return np.array([np.nan if score is None else score for score in scores], np.float64)


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=4)), max_size=8))
@example([("a a b a a a", ["a a a"]), ("a b a b a c", ["a b a c"]), ("a b a b", ["b a b a"]), ("", ["..."])])
@pytest.mark.parametrize("require", ["any", "all"])
def test_cover_match(require: Any, rows: list[tuple[Any, ...]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    scores = fm.cover_match(answers, references, require=require)
    np.testing.assert_array_equal(
        scores, expected(matching.cover_match(one, other, require=require) for one, other in rows), strict=True
    )


@given(st.lists(st.tuples(*[st.none() | st.lists(st.none() | TEXTS, max_size=4)] * 2), max_size=8))
@pytest.mark.parametrize(("k", "require"), [(None, "any"), (2, "any"), (1, "all")])
def test_answer_in_context(k: int | None, require: Any, rows: list[tuple[Any, ...]]) -> None:
    contexts, references = [texts for texts, _ in rows], [texts for _, texts in rows]
    scores = fm.answer_in_context(contexts, references, k=k, require=require)
    np.testing.assert_array_equal(
        scores, expected(matching.answer_in_context(one, other, k, require) for one, other in rows), strict=True
    )


def test_words_of_other_scripts_are_found_by_another_tokenizer() -> None:
    row = ["巴黎是法国的首都"], ["法国"]
    assert fm.cover_match(*row) == [0.0]
    assert fm.cover_match(*row, tokenizer="unicode") == [1.0]


def test_a_long_row_takes_time_in_proportion_to_its_length() -> None:
    """Naive search would compare 2 · 10¹¹ words."""
    answer, reference = "a " * 1_000_000, "a " * 400_000 + "b"
    assert fm.cover_match([answer, answer + "b"], [reference] * 2).tolist() == [0.0, 1.0]
