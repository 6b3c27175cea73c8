"""Choices in the forms that models write, against the plain definition."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import choices
from tests.support import strategies
from tests.support.program import jsonl, program

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
    *("答案是B", "答案：B", "选B。", "Ответ: B", "Правильный ответ — B.", "Antwort: B", "La réponse est B.", "정답: B"),
    *(
        "**Answer: B**",
        "<answer>B</answer>",
        r"The answer is \textbf{B}",
        "{'answer': 'B'}",
        "Therefore, B is correct.",
        "So B is right",
    ),
    *("B is the right one, as A is not", "La respuesta correcta es: B", "الإجابة: B", "### Answer\nB"),
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
    *(
        "a cat",
        "I think so",
        "B cells are cells",
        "Option A is wrong",
        "A is correct or B is correct",
        "B is not correct",
    ),
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
        *(
            "答案",
            "选",
            "：",
            "Ответ",
            "ответ",
            "это",
            "5",
            "2",
            "_",
            "Paris",
            "new york",
            "York",
            "is correct",
            "lösung",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | strategies.texts
REFERENCES = st.sampled_from(["A", "b", "(C)", "0", "2", " 1.", "-1", "42", "Paris", "New York", "?", ""]) | TEXTS
OPTIONS = st.lists(
    st.none() | st.sampled_from(["Paris", "York", "New York.", "a cat", "", "new york york", "2", "1"]), max_size=4
)


@pytest.mark.parametrize("right", [True, False])
def test_forms(right: bool) -> None:
    texts = FORMS if right else NOT_B
    scores = fm.choice_match(texts, ["B"] * len(texts))
    assert [text for text, score in zip(texts, scores, strict=True) if score != right] == []


ROWS = st.lists(
    st.tuples(st.none() | TEXTS, st.none() | st.lists(REFERENCES, max_size=3), st.none() | OPTIONS), max_size=8
)


@given(ROWS)
@example([("It is York", ["New York"], ["York", "New York"]), ("New York", ["b"], ["York", "New York"])])
@example([("answer: C", ["2"], None), ("B", ["1"], []), ("B", ["A"], ["York"])])
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


LABELS = st.none() | st.lists(st.sampled_from(["1", "2", "0", "E", "b", "(F)", "x y", None]), max_size=4)


@given(ROWS, st.lists(LABELS, min_size=8, max_size=8), st.sampled_from(["auto", "from_0", "from_1", "text"]))
def test_any_row_with_labels_and_numbers(rows: list[tuple[Any, ...]], labels: list[Any], numbers: Any) -> None:
    answers, references, options = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    labels = [
        None if label is None or option is None else (label * 4)[: sum(text is not None for text in option)]
        for label, option in zip(labels, options, strict=False)
    ]
    expected = [
        choices.choice_match(*row, label, numbers)
        for row, label in zip(zip(answers, references, options, strict=True), labels, strict=True)
    ]
    found = fm.choice_match(answers, references, options, labels, numbers=numbers)
    np.testing.assert_array_equal(found, np.array([np.nan if score is None else score for score in expected]))


CITIES = ["Rome", "Paris", "Oslo"]


def of_choices(answers: Any, references: Any, given: Any = None, **options: Any) -> list[float]:
    """The scores of rows with the same choices."""
    return fm.choice_match(answers, references, None if given is None else [given] * len(answers), **options).tolist()


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_numbers_of_choices() -> None:
    answers = ["The answer is **B**.", "It is Paris.", "Answer: 1", "C", "A or B"]
    assert of_choices(answers, [1] * 5, CITIES) == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert of_choices(answers, ["1"] * 5, CITIES) == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert of_choices(answers, [1.0, None, 1.0, 2.0, 0.0], CITIES)[2:4] == [1.0, 1.0], "as pandas has them"
    assert of_choices(["B", "Paris", "Answer: 2"], [2] * 3, CITIES, numbers="from_1") == [1.0, 1.0, 1.0]
    assert of_choices(["B", "2", "B) 2"], [1, 1, 42]) == [1.0, 0.0, 0.0], "without choices"
    assert of_choices(["A", "B", "C"], [[0, 2]] * 3, CITIES) == [1.0, 0.0, 1.0], "two of them are right"


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_numbers_among_numbers() -> None:
    digits, letters = ["1", "2", "3", "4"], ["A", "B", "C", "D"]
    assert of_choices(letters, [2] * 4, digits) == [0.0, 0.0, 1.0, 0.0], "a column of numbers counts"
    assert of_choices(letters, ["2"] * 4, digits) == [0.0, 1.0, 0.0, 0.0], "one of texts has the texts"
    assert of_choices(letters, [2] * 4, digits, numbers="text") == [0.0, 1.0, 0.0, 0.0]
    assert of_choices(letters, ["2"] * 4, digits, numbers="from_0") == [0.0, 0.0, 1.0, 0.0]
    assert of_choices(letters, [42] * 4, ["7", "42", "1", "0"]) == [0.0, 1.0, 0.0, 0.0], "no place is 42"


@pytest.mark.parametrize(
    "given",
    [
        {"text": CITIES, "label": ["1", "2", "3"]},
        [{"label": label, "text": text} for label, text in zip("123", CITIES, strict=True)],
        {"1": "Rome", "2": "Paris", "3": "Oslo", "4": None},
    ],
)
def test_choices_with_labels(given: Any, tmp_path: Path) -> None:
    answers = ["B", "(2)", "Paris", "Answer: 3"]
    assert of_choices(answers, ["2"] * 4, given) == [1.0, 1.0, 1.0, 0.0]
    path = jsonl(tmp_path / "a.jsonl", *({"answer": text, "reference": 2, "choices": given} for text in answers))
    scores = fm.score(
        pa.Table.from_pylist([{"answer": t, "reference": 2, "choices": given} for t in answers]), "choice_match"
    )
    assert scores["choice_match"].to_pylist() == [1.0, 1.0, 1.0, 0.0]
    assert program("score", path, "-m", "choice_match", "-o", tmp_path / "o.csv").code == 0
    assert fm.summarize(tmp_path / "o.csv")["choice_match"].mean == 0.75


def test_objects_without_texts_say_what_is_expected() -> None:
    with pytest.raises(fm.errors.ColumnError, match=r"column 'choices': expected a list of texts, .* path within"):
        of_choices(["B"], ["B"], {"x": [1], "y": "b"})


def test_labels_may_be_other_letters() -> None:
    given = {"text": CITIES, "label": ["F", "G", "H"]}
    assert of_choices(["(G)", "Paris", "Answer: H"], ["G"] * 3, given) == [1.0, 1.0, 0.0]
