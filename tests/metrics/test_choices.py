"""Choices among options, and references that match."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import Floats
from fastmetrics.text.stated_choices import LONE, stated_choices
from tests.reference import choices, matching
from tests.support import strategies
from tests.support.goldens import tables
from tests.support.program import jsonl, program

TABLES = tables("choices")

"""What each text states, before it: a letter; several (2); letters of which it does not say so (?); or none (-)."""

PIECES = st.sampled_from(
    [
        *("A", "B", "c", "a", "I", "(", ")", "(B)", ".", ":", ",", "/", "*", "-", "'s", "+", "\n", " ", " ", " ", "\t"),
        *("answer", "Answer", "option", "is", "the correct", " or ", " and ", "cat", r"\boxed{", r"\text{", "}"),
        *("é", "“"),
        *("答案", "选", "：", "Ответ", "ответ", "это", "5", "2", "_", "Paris", "new york", "York", "is correct"),
        "lösung",
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | strategies.texts
REFERENCES = st.sampled_from(["A", "b", "(C)", "0", "2", " 1.", "-1", "42", "Paris", "New York", "?", ""]) | TEXTS
OPTIONS = st.lists(
    st.none() | st.sampled_from(["Paris", "York", "New York.", "a cat", "", "new york york", "2", "1"]), max_size=4
)


ROWS_STATED = TABLES["stated"]


def test_forms() -> None:
    found = stated_choices(pa.array([text for _, text in ROWS_STATED]), digits=False).tolist()
    letters = [{-1: "-", -2: "2", -3: "?"}.get(one) or chr(65 + one % LONE) for one in found]
    assert [row for row, one in zip(ROWS_STATED, letters, strict=True) if row[0] != one] == []


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_scores_and_counts_of_forms() -> None:
    table = {"answer": [text for _, text in ROWS_STATED], "reference": ["B"] * len(ROWS_STATED)}
    scores = fm.score(table, "choice_match")
    expected = [np.nan if stated in "2?" else float(stated == "B") for stated, _ in ROWS_STATED]
    np.testing.assert_array_equal(scores["choice_match"].to_numpy(), expected)
    counted = {key.partition(";")[0]: some["rows"] for key, some in fm.summarize(scores)["choice_match"].unread.items()}
    stated = [stated for stated, _ in ROWS_STATED]
    assert counted == {
        "state two or more choices last": stated.count("2"),
        "name a letter but do not say that it is the choice": stated.count("?"),
        "state no choice": stated.count("-"),
    }


def read(text: str, digits: bool) -> int:
    """What one text states, as the reader says, which ``test_forms`` holds to what was worked out."""
    return int(stated_choices(pa.array([text]), digits=digits)[0])


# Answers whose choice is known, made of sentences in six languages.

BEFORE = TABLES["before"]
STATEMENTS = TABLES["statements"]
SIGNS = TABLES["signs"]
TWO = TABLES["two"]
NO = TABLES["none"]


def made_answers(n: int, seed: int) -> list[tuple[str, str]]:
    """Answers, and what each states: a letter, two (2) or none (-)."""
    chance, made = random.Random(seed), []
    for _ in range(n):
        right, wrong, other = chance.sample("ABCD", 3)
        letters = {"w": wrong, "v": other}
        kind = chance.choices(["one", "2", "-"], [8, 1, 1])[0]
        if kind == "-":
            made.append((chance.choice(NO).format(**letters), "-"))
            continue
        before = chance.choice(BEFORE).format(r=right, **letters)
        if kind == "2":
            made.append((before + chance.choice(TWO).format(r=right, **letters), "2"))
        else:
            sign = chance.choice(SIGNS).format(right)
            made.append(
                (before + chance.choice(STATEMENTS).format(r=sign, **letters) + chance.choice(["", "\n"]), right)
            )
    return made


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
@pytest.mark.parametrize("seed", range(50, 60))
def test_200_made_answers_are_never_silently_wrong(seed: int) -> None:
    """The figures in docs/metrics.md are those of seed 50."""
    made = made_answers(200, seed)
    scores = fm.score({"answer": [text for text, _ in made], "reference": ["C"] * 200}, "choice_match")
    expected = [np.nan if stated == "2" else float(stated == "C") for _, stated in made]
    wrong = [
        (text, stated, score)
        for (text, stated), score, right in zip(made, scores["choice_match"].to_pylist(), expected, strict=True)
        if not (score == right or (np.isnan(score) and np.isnan(right)))
    ]
    assert wrong == []
    counted = {key.partition(";")[0]: some["rows"] for key, some in fm.summarize(scores)["choice_match"].unread.items()}
    assert counted["state two or more choices last"] == sum(stated == "2" for _, stated in made)
    assert counted["state no choice"] == sum(stated == "-" for _, stated in made)


# Any rows, against the plain definition.

ROWS = st.lists(
    st.tuples(st.none() | TEXTS, st.none() | st.lists(REFERENCES, max_size=3), st.none() | OPTIONS), max_size=8
)


@given(ROWS)
@example([("It is York", ["New York"], ["York", "New York"]), ("New York", ["b"], ["York", "New York"])])
@example([("answer: C", ["2"], None), ("B", ["1"], []), ("B", ["A"], ["York"])])
@example([("York or Paris", ["A"], ["York", "Paris"]), ("x", ["x"], None), ("\\boxed{é} B", ["B"], [None, "a"])])
def test_any_row(rows: list[tuple[Any, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    expected = [choices.choice_match(read, *row) for row in rows]
    np.testing.assert_array_equal(
        fm.choice_match(*columns), np.array([np.nan if score is None else score for score in expected]), strict=True
    )
    if rows:
        alone = [choices.choice_match(read, answer, references, None) for answer, references, _ in rows]
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
        choices.choice_match(read, *row, label, numbers)
        for row, label in zip(zip(answers, references, options, strict=True), labels, strict=True)
    ]
    found = fm.choice_match(answers, references, options, labels, numbers=numbers)
    np.testing.assert_array_equal(found, np.array([np.nan if score is None else score for score in expected]))


CITIES = ["Rome", "Paris", "Oslo"]


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("It isn't Rome; it is Paris.", 1.0),
        ("Not Oslo but Paris", 1.0),
        ("Weder Rome noch Oslo, sondern Paris.", 1.0),
        ("Rome is wrong. Therefore Paris.", 1.0),
        ("The answer is Rome. No, the answer is Paris.", 1.0),
        ("Не Rome, а Paris.", 1.0),
        ("不是Rome，而是 Paris。", 1.0),
        ("Paris, not Rome", 1.0),
        ("It is not Paris.", 0.0),
        ("It isn't Paris but Oslo.", 0.0),
        ("Paris? No: Rome.", 0.0),
        ("Rome or Paris", np.nan),
        ("Paris and Oslo are both fine.", np.nan),
        ("Oslo lies north of Paris", np.nan),
        ("Lisbon", 0.0),
    ],
)
def test_the_words_of_the_choice_that_is_stated_last(answer: str, score: float) -> None:
    assert of_choices([answer], ["B"], CITIES) == pytest.approx([score], nan_ok=True)


def test_equal_texts_match_unread() -> None:
    table = {"answer": ["A or B", "A or B", "Option A says x"], "reference": ["A or B", "B", "Option A says x"]}
    scores = fm.score({**table, "choices": [["u", "v"]] * 3}, "choice_match")
    assert scores["choice_match"].to_pylist()[::2] == [1.0, 1.0]
    assert fm.summarize(scores)["choice_match"].n_unread == 1


def of_choices(answers: Any, references: Any, given: Any = None, **options: Any) -> list[float]:
    """The scores of rows with the same choices."""
    return fm.choice_match(answers, references, None if given is None else [given] * len(answers), **options).tolist()


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_numbers_of_choices() -> None:
    answers = ["The answer is **B**.", "It is Paris.", "Answer: 1", "C", "A or B"]
    for column in ([1] * 5, ["1"] * 5):
        assert of_choices(answers, column, CITIES) == pytest.approx([1.0, 1.0, 1.0, 0.0, np.nan], nan_ok=True)
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


def test_labels_may_be_other_letters() -> None:
    given = {"text": CITIES, "label": ["F", "G", "H"]}
    assert of_choices(["(G)", "Paris", "Answer: H"], ["G"] * 3, given) == [1.0, 1.0, 0.0]


FEW_WORDS = st.lists(st.sampled_from(["a", "b", "c.", "A"]), max_size=9).map(" ".join)
"""Texts of few words, of which one often contains another, in part or as a whole."""
MATCHING_TEXTS = FEW_WORDS | strategies.texts


def expected(scores: Iterable[float | None]) -> Floats:
    return np.array([np.nan if score is None else score for score in scores], np.float64)


@given(
    st.lists(
        st.tuples(st.none() | MATCHING_TEXTS, st.none() | st.lists(st.none() | MATCHING_TEXTS, max_size=4)), max_size=8
    )
)
@example([("a a b a a a", ["a a a"]), ("a b a b a c", ["a b a c"]), ("a b a b", ["b a b a"]), ("", ["..."])])
@pytest.mark.parametrize("require", ["any", "all"])
def test_cover_match(require: Any, rows: list[tuple[Any, ...]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    scores = fm.cover_match(answers, references, require=require)
    np.testing.assert_array_equal(
        scores, expected(matching.cover_match(one, other, require=require) for one, other in rows), strict=True
    )


@given(st.lists(st.tuples(*[st.none() | st.lists(st.none() | MATCHING_TEXTS, max_size=4)] * 2), max_size=8))
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
