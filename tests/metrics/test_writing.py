"""The writing scores, against plain Python and S4's own cases."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import writing
from tests.support import strategies

PIECES = [
    *("However", "for example", "as a result", "it", "They", "he", "cat", "cats", "weather", "nice", "the", "of", "is"),
    *("Explain", "describe", "list", "what", "Why", "machine learning", "sophisticated", "because", "remarkable"),
    *("in conclusion", "Overall", "однако", "он", "почему", "объясни", "кошка", "таким образом", "example"),
    "cat cat cat",
]
GAPS = [" ", " ", " ", " ", ", ", ". ", "? ", "! ", "\n\n", ".\n \n", "?? ", "…", "。", "？"]
made = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), max_size=20).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
texts = st.one_of(made, made, strategies.salad, strategies.edges)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=4)
languages = st.sampled_from(["any", "en", "ru"])
FIVE = ("coherence", "writing_completeness", "length_score", "structure_score", "vocabulary_score")


def same(ours: Any, theirs: list[float]) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@given(pairs, languages)
def test_scores_equal_the_definitions(table: list[tuple[str, str]], language: str) -> None:
    questions, answers = (list(column) for column in zip(*table, strict=True))
    expected = {
        "coherence": [writing.coherence(a, language) for a in answers],
        "vocabulary_score": [writing.vocabulary(a, language) for a in answers],
        "writing_completeness": [writing.writing_completeness(q, a, language) for q, a in table],
        "overall_quality": [writing.overall_quality(q, a, language) for q, a in table],
        "length_score": [writing.length_score(q, a) for q, a in table],
    }
    for name, theirs in expected.items():
        columns = (answers,) if name in ("coherence", "vocabulary_score") else (questions, answers)
        same(getattr(fm, name)(*columns, language=language), theirs)
    same(
        fm.structure_score(answers, questions, language=language), [writing.structure(q, a, language) for q, a in table]
    )
    same(fm.structure_score(answers, language=language), [writing.structure(None, a, language) for a in answers])


@given(pairs)
def test_components_equal_the_definitions(table: list[tuple[str, str]]) -> None:
    questions, answers = (list(column) for column in zip(*table, strict=True))
    rows = zip(
        *(writing.ties(a) + writing.parts(None, a) + writing.kinds(a) + writing.fulfilment(q, a) for q, a in table),
        strict=True,
    )
    ties, parts = ("connector", "pronoun", "topic"), ("paragraph", "introduction", "conclusion")
    names = [f"{name}_score" for name in (*ties, *parts, "diversity", "sophistication", "repetition")]
    for name, theirs in zip([*names, "keyword_coverage", "question_score", "task_score"], rows, strict=True):
        prompted = name in ("keyword_coverage", "question_score", "task_score")
        same(getattr(fm, name)(*((questions, answers) if prompted else (answers,))), list(theirs))


def test_the_four_cases_of_the_source_hold() -> None:
    texts = [
        "The weather is nice. However, it might rain. Therefore, bring an umbrella.",
        "Cats are animals. Pizza is food. Cars are vehicles.",
    ]
    answers = [
        "Machine learning is a subset of artificial intelligence that enables computers to learn from data.",
        "The weather is nice today.",
    ]
    scores = [*fm.coherence(texts), *fm.writing_completeness(["Explain machine learning."] * 2, answers)]
    for score, expected in zip(scores, (0.8, 0.3, 0.9, 0.1), strict=True):
        assert abs(score - expected) <= 0.15


def test_an_answer_without_words_scores_zero() -> None:
    for name in FIVE:
        columns = (["..."],) if name in ("coherence", "vocabulary_score") else (["..."], ["What?"])
        if name in ("writing_completeness", "length_score"):
            columns = columns[::-1]
        assert getattr(fm, name)(*columns).tolist() == [0.0]


def test_weights_shift_the_overall_score() -> None:
    question, answer = ["What is the tower?"], ["The tower is old."]
    for place, name in enumerate(FIVE):
        weights = tuple(float(place == i) for i in range(5))
        columns = (question, answer) if name in ("writing_completeness", "length_score") else (answer,)
        columns = (answer, question) if name == "structure_score" else columns
        assert fm.overall_quality(question, answer, weights=weights) == getattr(fm, name)(*columns)


def test_custom_folder_replaces_a_list(tmp_path: Path) -> None:
    (tmp_path / "connectors_en.txt").write_text("# mine\nmoo\n")
    answers = ["Cows eat. Moo, cows drink.", "Cows eat. However, cows drink."]
    assert fm.connector_score(answers, lexicons=str(tmp_path)).tolist() == [1.0, 0.0]


def test_missing_question_equals_absent_question() -> None:
    assert fm.structure_score(["The tower is old and tall."], [None]) == fm.structure_score(
        ["The tower is old and tall."]
    )
    assert math.isnan(fm.length_score([None], ["a"])[0])
