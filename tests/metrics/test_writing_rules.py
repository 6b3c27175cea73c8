"""The components of the writing scores at their edges, rule by rule (S4)."""

from __future__ import annotations

import math

import numpy as np

import fastmetrics as fm
from fastmetrics.metrics import writing as metrics
from tests.reference import writing


def test_half_of_the_keywords_suffices() -> None:
    """Of a question as of a task, and a third is not."""
    questions = [
        *("Who built towers?", "Who built old towers?", "Explain tigers, lions.", "Explain tigers, lions, bears."),
    ]
    assert fm.question_score(questions[:2], ["Someone built it."] * 2).tolist() == [1.0, 0.0]
    assert fm.task_score(questions[2:], ["Tigers."] * 2).tolist() == [1.0, 0.0]


def test_introduction_needs_more_than_20_characters() -> None:
    """Characters, not bytes."""
    for first, score in (("towers " + "x" * 13, 0.0), ("towers " + "x" * 14, 1.0), ("towers " + "é" * 13, 0.0)):
        assert len(first) == (20 if score == 0.0 else 21)
        assert fm.introduction_score([f"{first}. So it is."], ["Which towers?"]).tolist() == [score], first


def test_conclusion_needs_more_than_15_characters() -> None:
    """Those of the last sentence."""
    for last, score in (("Overall " + "x" * 7, 0.0), ("Overall " + "x" * 8, 1.0), ("Overall " + "é" * 7, 0.0)):
        assert len(last) == (15 if score == 0.0 else 16)
        assert fm.conclusion_score([f"It is a very long sentence. {last}."]).tolist() == [score], last
    assert fm.conclusion_score(["Overall it is a long sentence. It is another."]).tolist() == [0.0]


def test_one_paragraph_is_expected_per_100_words() -> None:
    words = [1, 99, 100, 101, 200, 201, 300]
    assert fm.paragraph_score(["word " * n for n in words]).tolist() == [1.0, 1.0, 1.0, 0.5, 0.5, 1 / 3, 1 / 3]
    assert fm.paragraph_score(["word\n\n" * 2 + "word " * 99, "word\n\n" * 3]).tolist() == [1.0, 1.0]


def test_topic_without_question_is_the_five_most_frequent_words() -> None:
    """Of equally frequent words those that come first."""
    words = ["towers", "bridges", "tunnels", "harbours", "stations", "markets"]
    frequent = ". ".join(f"{word} " * (14 - 2 * place) for place, word in enumerate(words))
    for word in words:
        score = float(word != "markets")
        opening = f"There they have been for long: {word}"
        assert fm.introduction_score([f"{opening}. {frequent}."]).tolist() == [score], word
    last, others = "Of all that there are it is markets which", " ".join(words[:5])
    answers = [f"{', '.join(words)}. And so it was.", f"{last}. {others}.", f"{last}. {' '.join(words)} {others}."]
    answers += [f"{last}. {others} {others}.", f"{last}. {others} {others} markets."]
    expected = [1.0, 1.0, 1.0, 0.0, 1.0]
    assert fm.introduction_score(answers).tolist() == expected
    assert [writing.parts(None, answer)[1] for answer in answers] == expected


def test_word_is_repeated_from_its_fourth_occurrence() -> None:
    assert fm.repetition_score(["so " * n for n in (3, 4, 5)]).tolist() == [1.0, 0.75, 0.8]


def test_sophisticated_words_have_seven_letters() -> None:
    assert fm.sophistication_score(["tigers", "ligatur", "тигрицы", "наивно"]).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_words_of_two_letters_are_not_topics() -> None:
    assert fm.topic_score(["Ox. Ox.", "Cow. Cow.", "Ёж. Ёж.", "Ежи. Ежи."]).tolist() == [0.0, 0.5, 0.0, 0.5]


def test_pronoun_can_refer_to_own_or_previous_sentence() -> None:
    answers = ["Towers fall. It is. It is.", "It is. Towers fall.", "Towers, they fall.", "Why. So. It is."]
    assert fm.pronoun_score(answers).tolist() == [0.5, 0.0, 1.0, 0.0]


def test_rows_and_sentences_do_not_share_words() -> None:
    answers = ["Towers fall. Towers fall.", "Towers fall. It was.", "It was. Towers fall.", "", "Towers fall."] * 2
    expected = [writing.ties(answer) for answer in answers]
    for name, scores in zip(
        ("connector_score", "pronoun_score", "topic_score"), zip(*expected, strict=True), strict=True
    ):
        np.testing.assert_array_equal(getattr(fm, name)(answers), scores)


def test_scores_are_clipped_to_0_and_1() -> None:
    assert fm.connector_score(["However, thus, hence, it is."]).tolist() == [1.0]
    assert fm.paragraph_score(["a\n\nb\n\nc"]).tolist() == [1.0]
    assert fm.length_score(["a"] * 2, ["b " * 2, "b " * 40]).tolist() == [1 - math.log(1.25), 0.0]


def test_weights_equal_the_source() -> None:
    assert metrics.WEIGHTS == (0.25, 0.25, 0.20, 0.15, 0.15)
