"""Choices in the forms that models write, against the plain definition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import choices
from tests.support import strategies

FORMS = [
    *(
        "B",
        "(B)",
        "B.",
        "b)",
        "b",
        "[B]",
        "`B`",
        "**B. Paris**",
        "B) Paris",
        "B: Paris",
        "B - Paris",
        "B.\nBecause of A.",
    ),
    *("Answer: B", "answer: (b)", "Answer\n\nB", "Answer is b.", "The answer is: “B”", "The answer is **B**."),
    *("The answer is A. No, the answer is B.", "The correct option is B because of A", "Final answer: option (B)."),
    *(
        r"\boxed{B}",
        r"so $\boxed{\text{(B)}}$, not \boxed{} A",
        "Let us think.\n\nB",
        "I think that it is (B), as of A",
    ),
    *("答案是B", "答案：B", "选B。", "Ответ: B", "Правильный ответ — B."),
]
NOT_B = [
    *("A", "(A)", "A or B", "A, B and C", "Answer: A/B", "both (A) and (B)", "answer B and C", "The answer is both"),
    *(
        "Be good",
        "B's turn",
        "I'm B",
        "C++ is B-like",
        "ÉB",
        "ответB",
        "Answer: 5",
        "Bach",
        "",
        "The answer is a banana",
    ),
    *("a cat", "I think so", "B cells are cells", "Option A is wrong"),
]
PIECES = st.sampled_from(
    [
        *("A", "B", "c", "a", "I", "(", ")", "(B)", ".", ":", ",", "/", "*", "-", "'s", "+", "\n", " ", " ", " ", "\t"),
        *(
            "answer",
            "Answer",
            "option",
            "is",
            "the correct",
            " or ",
            " and ",
            "cat",
            r"\boxed{",
            r"\text{",
            "}",
            "é",
            "“",
        ),
        *("答案", "选", "：", "Ответ", "ответ", "это", "5", "_", "Paris", "new york", "York"),
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | strategies.texts
REFERENCES = st.sampled_from(["A", "b", "(C)", "Paris", "New York", "?", ""]) | TEXTS
OPTIONS = st.lists(
    st.none() | st.sampled_from(["Paris", "York", "New York.", "a cat", "", "new york york"]), max_size=4
)


@pytest.mark.parametrize("right", [True, False])
def test_forms(right: bool) -> None:
    texts = FORMS if right else NOT_B
    scores = fm.choice_match(texts, ["B"] * len(texts))
    assert [text for text, score in zip(texts, scores, strict=True) if score != right] == []


@given(
    st.lists(
        st.tuples(st.none() | TEXTS, st.none() | st.lists(REFERENCES, max_size=3), st.none() | OPTIONS), max_size=8
    )
)
@example([("It is York", ["New York"], ["York", "New York"]), ("New York", ["b"], ["York", "New York"])])
@example([("York or Paris", ["A"], ["York", "Paris"]), ("x", ["x"], None), ("\\boxed{é} B", ["B"], [None, "a"])])
def test_any_row(rows: list[tuple[Any, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    expected = [choices.choice_match(*row) for row in rows]
    np.testing.assert_array_equal(
        fm.choice_match(*columns), np.array([np.nan if score is None else score for score in expected]), strict=True
    )
    if rows:
        alone = [choices.choice_match(answer, references, None) for answer, references, _ in rows]
        np.testing.assert_array_equal(
            fm.choice_match(*columns[:2]), np.array([np.nan if score is None else score for score in alone])
        )
