"""Writing quality: the definitions in plain Python, its rules and its options."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
import fastmetrics.metrics.suites  # declares all metrics
from fastmetrics.metrics import writing as metrics
from fastmetrics.metrics.metric import REGISTRY
from tests.reference import writing
from tests.support import made_prose, strategies

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


NUMBERS = {
    "connector_share": st.sampled_from([0.3, 0.5, 1, 0.05]),
    "topic_threshold": st.sampled_from([0.0, 0.2, 0.5, 1]),
    "length_ratio": st.sampled_from([2.5, 1, 7.25]),
    "paragraph_words": st.sampled_from([100, 1, 7]),
    "sophisticated_letters": st.sampled_from([6, 0, 3, 9]),
    "keyword_share": st.sampled_from([0.6, 0, 1, 0.25]),
    "opening_characters": st.sampled_from([20, 0, 5]),
    "closing_characters": st.sampled_from([15, 0, 5]),
    "repeats": st.sampled_from([3, 1, 2]),
    "counted": st.sampled_from(["words", "tokens"]),
}
CHOSEN = {"tokenizer": st.sampled_from(["words", "ascii_words"]), "language": st.sampled_from(["any", "en", "ru"])}
OPTIONS = st.fixed_dictionaries({}, optional={**NUMBERS, **CHOSEN})
OF = {
    "coherence": ("connector_share", "topic_threshold"),
    "connector_score": ("connector_share",),
    "topic_score": ("topic_threshold",),
    "writing_completeness": ("length_ratio", "keyword_share"),
    "keyword_coverage": ("length_ratio", "keyword_share"),
    "length_score": ("length_ratio",),
    "structure_score": ("paragraph_words", "opening_characters", "closing_characters"),
    "introduction_score": ("opening_characters",),
    "conclusion_score": ("closing_characters",),
    "paragraph_score": ("paragraph_words",),
    "vocabulary_score": ("sophisticated_letters", "repeats", "counted"),
    "repetition_score": ("repeats", "counted"),
    "sophistication_score": ("sophisticated_letters",),
    "overall_quality": tuple(NUMBERS),
}
WRITING = [name for name, metric in REGISTRY.items() if "lexicons" in metric.defaults]


def definitions(how: writing.How, language: str) -> dict[str, Any]:
    """The plain definition of every writing score, as a function of question and answer."""
    ties, kinds = ("connector_score", "pronoun_score", "topic_score"), ("diversity", "sophistication", "repetition")
    parts = ("paragraph_score", "introduction_score", "conclusion_score")
    fulfilled = ("keyword_coverage", "question_score", "task_score")
    several: list[tuple[Any, Any]] = [
        (ties, lambda q, a: writing.ties(a, language, how)),
        (fulfilled, lambda q, a: writing.fulfilment(q, a, language, how)),
        (parts, lambda q, a: writing.parts(q, a, language, how)),
        ([f"{kind}_score" for kind in kinds], lambda q, a: writing.kinds(a, language, how)),
    ]
    return {
        "coherence": lambda q, a: writing.coherence(a, language, how),
        "writing_completeness": lambda q, a: writing.writing_completeness(q, a, language, how),
        "length_score": lambda q, a: writing.length_score(q, a, how),
        "structure_score": lambda q, a: writing.structure(q, a, language, how),
        "vocabulary_score": lambda q, a: writing.vocabulary(a, language, how),
        "overall_quality": lambda q, a: writing.overall_quality(q, a, language, how),
        **{name: lambda q, a, at=at, of=of: of(q, a)[at] for names, of in several for at, name in enumerate(names)},
    }


def check_scores(rows: list[tuple[str, str]], options: dict[str, Any]) -> None:
    """Every writing score with its options, computed together, equals its definition."""
    language = options.get("language", "any")
    how = writing.How(**{option: value for option, value in options.items() if option != "language"})
    specs = {}
    for name in WRITING:
        own = {option: value for option, value in options.items() if option in REGISTRY[name].defaults}
        specs[name] = f"{name}({', '.join(f'{option}={value!r}' for option, value in own.items())})"
    questions, answers = (list(column) for column in zip(*rows, strict=True))
    scores = fm.score({"question": questions, "answer": answers}, list(specs.values()))
    for name, definition in definitions(how, language).items():
        expected = [definition(q, a) for q, a in rows]
        found = scores[list(specs).index(name)].to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=specs[name])


def test_every_writing_score_has_a_definition_and_the_options_of_its_parts() -> None:
    assert set(definitions(writing.SOURCE, "any")) == set(WRITING)
    for name in WRITING:
        assert set(REGISTRY[name].defaults) - {"weights", "tokenizer", "language", "lexicons"} == set(OF.get(name, ()))
        assert REGISTRY[name].defaults["tokenizer"] == "words"
        for option in OF.get(name, ()):
            assert REGISTRY[name].defaults[option] == getattr(writing.SOURCE, option)
            assert inspect.signature(getattr(fm, name)).parameters[option].default == getattr(writing.SOURCE, option)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3), OPTIONS)
@example([("", "")], {"tokenizer": "ascii_words", "topic_threshold": 1})
def test_options_equal_the_definitions(rows: list[tuple[str, str]], options: dict[str, Any]) -> None:
    check_scores(rows, options)


@pytest.mark.parametrize(
    "options",
    [
        {"language": "ru"},
        {"tokenizer": "ascii_words", "language": "en"},
        {"topic_threshold": 0.2, "connector_share": 0.5},
        {"length_ratio": 4, "paragraph_words": 5, "sophisticated_letters": 4, "tokenizer": "ascii_words"},
    ],
    ids=str,
)
def test_options_on_generated_prose_equal_the_definitions(options: dict[str, Any]) -> None:
    check_scores(made_prose.rows(400, seed=11), options)


def test_scores_with_different_options_do_not_share_counts() -> None:
    question, answer = ["What is it?"], ["Remarkable cats. Ёжик и кошка. Remarkable cats, naïve."]
    specs = [
        *("vocabulary_score", "vocabulary_score(sophisticated_letters=9)", "vocabulary_score(tokenizer='ascii_words')"),
        *("coherence", "coherence(topic_threshold=0.5)", "coherence(tokenizer='ascii_words',language='en')"),
        *("overall_quality(sophisticated_letters=3)", "overall_quality", "length_score(tokenizer='ascii_words')"),
    ]
    table = {"question": question, "answer": answer}
    together = fm.score(table, specs)
    for place, spec in enumerate(specs):
        assert together[place].equals(fm.score(table, [spec])[0]), spec


def test_topic_threshold_of_the_source_leaves_few_shifts_free() -> None:
    calm = "Cats purr. The cats sleep. Cats eat. Cats jump. Cats run."  # one shift of five: the first sentence
    busy = "Cats purr. Dogs bark. Cats eat. The cats jump. Cats run."
    assert fm.topic_score([calm, busy]).tolist() == pytest.approx([0.8, 0.4])
    assert fm.topic_score([calm, busy], topic_threshold=0.2).tolist() == pytest.approx([1.0, 0.4])
    assert fm.topic_score([calm, busy], topic_threshold=0.19).tolist() == pytest.approx([0.8, 0.4])


def test_the_cases_of_the_source_hold_with_its_threshold_and_tokenizer() -> None:
    told = ["The weather is nice. However, it might rain. Therefore, bring an umbrella."]
    unrelated = ["Cats are animals. Pizza is food. Cars are vehicles."]
    how = {"topic_threshold": 0.2, "tokenizer": "ascii_words"}
    for text, expected in ((told, 0.8), (unrelated, 0.3)):
        assert abs(fm.coherence(text, **how)[0] - expected) <= 0.15


def test_ascii_words_score_text_in_other_letters_as_empty_and_note_it() -> None:
    assert fm.coherence(["Кошка спит. Однако она ест."], tokenizer="ascii_words").tolist() == [0.0]
    assert fm.diversity_score(["naïve кошка", "Ünder_score 1-2"], tokenizer="ascii_words").tolist() == [1.0, 1.0]
    rows = {"question": ["Кто?"] * 3, "answer": ["Кошка спит."] * 3}
    (note,) = fm.summarize(fm.score(rows, "coherence(tokenizer='ascii_words'),length_score")).notes
    assert note.startswith("coherence(tokenizer='ascii_words'): 3 of 3 scored rows (100 %) are in a script other than")
    assert note.endswith("; tokenizer='words' keeps them")


def test_word_lists_note_answers_in_other_scripts(tmp_path: Any) -> None:
    rows = {"question": ["谁?"] * 2, "answer": ["猫在睡觉。", "Cats sleep."]}
    (note,) = fm.summarize(fm.score(rows, suites="writing")).notes
    assert note.startswith("coherence, writing_completeness, structure_score, vocabulary_score, overall_quality: ")
    assert "and the word lists are English and Russian; lexicons='folder' reads those of other languages" in note
    own = f"coherence(lexicons={str(tmp_path)!r})"
    assert list(fm.summarize(fm.score(rows, [own])).notes) == []
    (note,) = fm.summarize(fm.score({"answer": ["Кошка спит."]}, "coherence(language='en')")).notes
    assert "a script other than Latin, and the word lists are English;" in note


def test_weights_by_name_and_repetition_by_tokens() -> None:
    question, answer = ["What is AI?"], ["test " * 10]
    assert fm.repetition_score(answer).tolist() == [0.9]
    assert fm.repetition_score(answer, counted="tokens").tolist() == [0.0]
    weights = {"vocabulary": 1.0, "coherence": 0.0, "completeness": 0.0, "length": 0.0, "structure": 0.0}
    found = fm.overall_quality(question, answer, weights=weights)
    assert found.tolist() == fm.vocabulary_score(answer).tolist()
    spec = f"overall_quality(weights={weights!r})"
    scores = fm.score({"question": question, "answer": answer}, spec)
    assert scores.column_names == ["overall_quality(weights=(0.0, 0.0, 0.0, 0.0, 1.0))"]
