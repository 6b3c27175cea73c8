"""The writing scores, against plain Python and S4's own cases."""

import math
from pathlib import Path

from hypothesis import strategies as st

import fastmetrics as fm
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
FIVE = ("coherence", "writing_completeness", "length_score", "structure_score", "vocabulary_score")


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
