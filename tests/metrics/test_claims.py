"""Claims, their rules, worked values and novelty, against the definitions in plain Python."""

from __future__ import annotations

import itertools
import math
import random
import re
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.kernels.claim_support import Passages, count_pairs
from fastmetrics.text.tokenize import Vocabularies
from fastmetrics.text.word_roles import Senses
from tests.reference import claims, novelty
from tests.support import made_claims, made_values, strategies
from tests.support.strategies import is_plain

PIECES = [
    *("1,000", "1000", "1k", "1 000", "1.000.000", "3.5", "3,5", "$5", "5 €", "50 %", "50%", "50 percent", "0.5"),
    "1/2",
    *("5 Jan 2024", "2024-01-05", "January 5th, 2024", "01/05/2024", "5.1.2024", "1-5-24", "May", "may", "in May 2020"),
    *("3 pm", "3:30 p.m.", "15:00", "3:00", "12am", "25:99", "10:5", "Monday", "вторник", "5 января", "1990s"),
    "5th of June",
    *("twenty-five", "two thirds", "half", "one", "three million", "2.5bn", "per cent", "[1]", "1. "),
    "12345678901234567",
    *("The tower", "was", "built", "released", "costs", "may", "suggests", "I", "we", "the", "of", "and", "dr", "A"),
    *("книга", "книги", "вышла", "в", "рублей", "тыс", "процентов", "plans", "planned", "studies", "glass", "agreed"),
    *("He", "it", "that", "Louvre", "Лувр", "think", "Yes", "[5]", "3) ", "opened", "is", "Paris"),
    *("2 hundred", "a quarter", "seven", "eleventh", "12 trillion", "٣", "5️", "2nd", "7km", "9x9", "İ", "ΟΔΟΣ", "ſ"),
]
GAPS = [
    *(" ", " ", " ", ", ", ". ", "? ", "! ", "\n", "-", "/", ".", ":", ",", "'", " (", ") ", "%", " $", "€ ", "["),
    *("]", "—"),
]
sentences = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), max_size=14).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)
texts = st.one_of(sentences, sentences, strategies.texts).filter(strategies.is_plain)
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4)


def columns(table: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*table, strict=True)]


@pytest.mark.parametrize("most", [1 << 16, -1])
@given(rows, st.sampled_from([0, 2, 30]))
def test_anchors_are_those_of_the_plain_definition(most: int, table: list[tuple[str, list[str]]], window: int) -> None:
    """The way of rows with few values, and that of the others."""
    with mock.patch.multiple(SIZES, compared_values=most, compared_claims=most):
        found = fm.scoring.anchors(*columns(table), window=window)["anchors"].to_pylist()
    for (answer, contexts), ours in zip(table, found, strict=True):
        got = sorted((a["kind"], a["start"], a["stop"], a["supported"]) for a in ours)
        assert got == sorted(claims.anchors(answer, contexts, window))
        assert all(answer[a["start"] : a["stop"]] == a["text"] for a in ours)


@given(rows)
def test_scores_are_those_of_the_plain_definition(table: list[tuple[str, list[str]]]) -> None:
    answers, contexts = columns(table)
    assert fm.drift(answers, contexts).tolist() == [claims.drift(*row) for row in table]
    assert fm.hallucination(answers, contexts).tolist() == [claims.hallucination(*row) for row in table]


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_keyword_completeness_is_that_of_the_plain_definition(table: list[tuple[str, str]]) -> None:
    assert fm.keyword_completeness(*columns(table)).tolist() == [claims.keyword_completeness(*row) for row in table]


@pytest.mark.parametrize(
    "formats",
    [
        ["1,000", "1000", "1k", "1 000", "1.0 thousand", "one thousand"],
        ["50 %", "50%", "50 percent", "fifty per cent", "0.5", "50 процентов"],
        ["5 Jan 2024", "2024-01-05", "January 5th, 2024", "5.1.2024", "01/05/2024", "5 января 2024"],
        ["3 pm", "15:00", "3:00 p.m.", "3:00", "15:00:00"],
        ["$2.5 million", "2,500,000 dollars", "2.5m dollars", "$2,500,000"],
        ["3/4", "0.75", "three quarters", "75 %"],
        ["42nd", "42", "forty-two"],
        ["понедельник", "Monday"],
        ["2 млн руб", "2,000,000 rubles", "2 миллиона рублей"],
    ],
)
def test_formats_of_one_value_are_equal(formats: list[str]) -> None:
    pairs = [(f"x {one} y", [f"z {other} w"]) for one in formats for other in formats]
    for anchors, (answer, contexts) in zip(
        fm.scoring.anchors(*columns(pairs))["anchors"].to_pylist(), pairs, strict=True
    ):
        own = [anchor for anchor in anchors if anchor["kind"] != "claim"]
        assert len(own) == 1, (answer, own)
        assert own[0]["supported"], (answer, contexts)


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("1,001", "1000"),
        ("50 %", "50"),
        ("$5", "5 €"),
        ("5 Jan 2024", "6 Jan 2024"),
        ("5 Jan 2024", "January 2024"),
        ("13.1.2024", "1.13.2024"),
        ("3 pm", "3 am"),
        ("Monday", "Tuesday"),
    ],
)
def test_different_values_differ(answer: str, context: str) -> None:
    own = [a for a in fm.scoring.anchors([answer], [[context]])["anchors"][0].as_py() if a["kind"] != "claim"]
    assert own
    assert not any(anchor["supported"] for anchor in own)


def test_a_claim_needs_its_subject_near_its_object() -> None:
    context = ["The tower was built by Eiffel. " + "word " * 40 + "A bridge was opened in Paris."]
    answers = ["The tower was built by Eiffel.", "The tower was opened in Paris."]
    assert fm.hallucination(answers, [context] * 2).tolist() == [0.0, 1.0]
    assert fm.hallucination(answers, [context] * 2, window=100).tolist() == [0.0, 0.0]
    row = ["Where was the tower opened?"], answers[1:], [context]
    assert [fm.verdict(*row, window=window).tolist() for window in (30, 100)] == [[0.0], [1.0]]


def test_guesses_and_questions_claim_nothing() -> None:
    answers = ["The moon may be made of cheese.", "Was the moon made of cheese?", "The moon is made of cheese."]
    kinds = [len(row) for row in fm.scoring.anchors(answers, [["The sun."]] * 3)["anchors"].to_pylist()]
    assert kinds[:2] == [0, 0]
    assert kinds[2] > 0


def test_a_missing_input_has_no_score() -> None:
    scores = fm.hallucination([None, "Yes", "Yes"], [["a"], None, ["yes"]])
    assert np.isnan(scores).tolist() == [True, True, False]
    assert fm.scoring.anchors([None], [["a"]])["anchors"].to_pylist() == [None]


def test_no_rows_make_no_scores() -> None:
    assert fm.verdict([], [], []).tolist() == []
    assert fm.score(pa.table({"answer": pa.array([], pa.string())}), ["coherence"]).num_rows == 0


@given(st.lists(st.tuples(texts, texts, st.lists(texts, min_size=1, max_size=2)), min_size=1, max_size=4))
def test_verdicts_are_those_of_the_plain_definition(table: list[tuple[str, str, list[str]]]) -> None:
    questions, answers, contexts = columns(table)
    expected = [claims.relevance(*row[:2]) for row in table]
    np.testing.assert_allclose(fm.answer_relevance(questions, answers), expected, rtol=1e-12)
    numbers = [claims.verdict(*row) for row in table]
    assert fm.verdict(questions, answers, contexts).tolist() == numbers
    names = fm.scoring.verdicts(questions, answers, contexts)["verdict"].to_pylist()
    assert names == [{0.0: "FAIL", 0.5: "WARN", 1.0: "PASS"}[number] for number in numbers]


def test_relevance_is_that_of_scikit_learn() -> None:
    pairs = [("who wrote Emma", "Jane Austen wrote Emma a a"), ("to be or not to be", "be be quick")]
    for question, answer in pairs:
        matrix = TfidfVectorizer().fit_transform([question, answer])
        expected = (matrix[0].multiply(matrix[1]).sum() + fm.jaccard([question], [answer])[0]) / 2
        np.testing.assert_allclose(fm.answer_relevance([question], [answer]), expected)


def test_reasons_name_unsupported_anchors() -> None:
    table = fm.scoring.verdicts(
        ["When did it open?", None], ["It opened in 1890.", "a"], [["It opened in 1889."], ["a"]]
    )
    assert table["verdict"].to_pylist() == ["FAIL", None]
    first, second = table["unsupported"].to_pylist()
    assert second == []
    assert {(anchor["text"], anchor["start"], anchor["stop"]) for anchor in first} == {("1890", 13, 17)}


@pytest.mark.parametrize(
    "answer", ["The tower did open in 1889.", "The tower closed in 1889.", "It opened in May 1889."]
)
def test_score_at_threshold_passes(answer: str) -> None:
    rows = (["When did the old tower open?"], [answer], [["The tower opened in May 1889."]])
    scores = fm.hallucination(*rows[1:])[0], fm.answer_relevance(*rows[:2])[0], fm.keyword_completeness(*rows[:2])[0]
    names = ("hallucination_threshold", "relevance_threshold", "completeness_threshold")
    at = dict(zip(names, map(float, scores), strict=True))
    assert fm.verdict(*rows, **at).tolist() == [1.0]
    for name, verdict in (("relevance_threshold", 0.0), ("completeness_threshold", 0.5)):
        assert fm.verdict(*rows, **{**at, name: float(np.nextafter(at[name], 2.0))}).tolist() == [verdict]


def test_scores_have_the_verdict_as_a_word_with_its_reason_and_a_summary_counts_them(tmp_path: Path) -> None:
    context = "Acme announced the Widget phone on 5 January 2024. It costs $1,000."
    rows = {
        "question": [
            "Which Widget phone did Acme release?",
            "Why?",
            "Who sells the Widget phone, and why?",
            "Widget?",
            "",
        ],
        "answer": [
            "Acme released the Widget phone in 2023 for $900, or €750, on 5 Jan 2024.",
            "It costs $1,000.",
            "It costs $1,000, the phone.",
            "The Widget phone costs $1,000.",
            None,
        ],
        "contexts": [[context]] * 5,
    }
    path = tmp_path / "scores.parquet"
    summary = fm.score(rows, ["verdict", "verdict(hallucination_threshold=1)"], output=path).summary
    scores = pq.read_table(path)
    assert scores["verdict_word"].to_pylist() == ["FAIL", "FAIL", "WARN", "PASS", None]
    assert scores["verdict_reason"].to_pylist() == [
        "hallucination 0.6 > 0.5: 2023; 900; 750",
        "relevance 0 < 0.1",
        "completeness 0.33 < 0.6",
        *(None, None),
    ]
    assert scores["verdict(hallucination_threshold=1)_word"].to_pylist() == ["PASS", "FAIL", "WARN", "PASS", None]
    assert [summary.figures[name] for name in ("FAIL", "WARN", "PASS")] == [2, 1, 1]
    gated = fm.gate(path, ["verdict.at_0 <= 1", "WARN <= 1", "PASS == 1"], min_n=1)
    assert [check.title for check in gated.failures] == ["verdict.at_0 <= 1"]


def test_thresholds_change_the_verdict() -> None:
    rows = (["When did the tower open?"], ["The tower did open in 1890."], [["The tower opened in 1889."]])
    assert fm.verdict(*rows).tolist() == [0.0]
    assert fm.verdict(*rows, hallucination_threshold=1.0).tolist() == [1.0]
    assert fm.verdict(*rows, hallucination_threshold=1.0, relevance_threshold=1.0).tolist() == [0.0]
    assert fm.verdict(*rows, hallucination_threshold=1.0, completeness_threshold=1.0).tolist() == [1.0]
    closed = (["Which tower closed?"], *rows[1:])
    assert fm.verdict(*closed, hallucination_threshold=1.0, completeness_threshold=1.0).tolist() == [0.5]
    assert fm.hallucination_risk(*rows[1:], threshold=1.0).tolist() == [0.0]


def test_rows_whose_contexts_or_answer_are_not_known_have_no_anchors() -> None:
    found = fm.scoring.anchors(["In 1890.", "In 1890.", None, "In 1890."], [["In 1889."], None, ["In 1889."], []])[
        "anchors"
    ]
    assert found.is_null().to_pylist() == [False, True, True, False]
    assert [anchor["supported"] for anchor in found[3].as_py()] == [False], "nothing was retrieved"


@pytest.mark.parametrize(
    ("answer", "score", "verdict"),
    [
        ("The year 2024 and 5 apples.", 1.0, 0.0),
        ("Acme released the Widget phone.", 1.0, 0.0),
        ("On Monday.", 1.0, 0.0),
        ("It was at 15:00.", 1.0, 0.0),
        ("Цена 300 евро.", 1.0, 0.0),
        ("Who knows what then?", 0.2, 0.0),
        ("Perhaps.", 0.0, 0.0),
    ],
)
def test_where_nothing_was_retrieved_nothing_is_supported(answer: str, score: float, verdict: float) -> None:
    """And where it is not known what was, nothing is said."""
    for contexts in ([[], []], [[], None], pa.array([[], [None]], pa.list_(pa.string()))):
        known = [True, contexts[1] == []]
        columns = [answer] * 2, contexts
        assert (~np.isnan(fm.hallucination(*columns))).tolist() == known
        assert fm.hallucination(*columns)[0] == score == claims.hallucination(answer, [])
        assert fm.verdict(["When?"] * 2, *columns)[0] == verdict


def anchors(answer: str, contexts: list[str], **options: Any) -> dict[str, bool]:
    """The anchors by their text, and whether they are supported."""
    found = fm.scoring.anchors([answer], [contexts], **options)["anchors"][0].as_py()
    return {anchor["text"]: anchor["supported"] for anchor in found}


@pytest.mark.parametrize("window", [0, 1, 2, 5])
def test_made_answers_have_the_anchors_of_the_plain_definition(window: int) -> None:
    rows = made_claims.rows(700, seed=window)
    # a form of "million", whose number is unread, and a factorial
    table = [row for row in rows if not re.search(r"\d million\w|\d!", " ".join([row[0], *row[1]]))]
    answers, contexts = (list(column) for column in zip(*table, strict=True))
    found = fm.scoring.anchors(answers, contexts, window=window)["anchors"].to_pylist()
    for (answer, passages), ours in zip(table, found, strict=True):
        got = sorted((one["kind"], one["start"], one["stop"], one["supported"]) for one in ours)
        assert got == sorted(claims.anchors(answer, passages, window)), (answer, passages)
    assert sum(one["supported"] for row in found for one in row) > 200


@pytest.mark.parametrize("answer", ["Perhaps Paris.", "Paris, perhaps", "Paris, Rome: maybe not.", "Возможно, Париж."])
def test_a_sentence_without_a_verb_that_is_a_guess_claims_nothing(answer: str) -> None:
    assert anchors(answer, ["Rome"]) == {}


def test_rows_do_not_share_contexts_or_subjects() -> None:
    same = "The tower is Eiffel."
    rows = [
        (same, ["the tower is Eiffel"]),
        (same, ["Paris"]),
        ("So the Louvre is old.", ["x"]),
        ("It is Rome.", ["it is Rome"]),
    ]
    answers, contexts = (list(column) for column in zip(*rows * 3, strict=True))
    assert fm.hallucination(answers, contexts).tolist() == [0.0, 1.0, 1.0, 0.0] * 3


def test_pairs_of_words_are_looked_up_row_by_row() -> None:
    """Many rows of one length and of others, whose pairs share a table."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(40)]
    answers = [" ".join(rng.choice(words, size)) for size in rng.integers(0, 12, 400)]
    contexts = [
        [" ".join(rng.choice(words, 60)), answer[: len(answer) // 3]] for answer in np.roll(answers, 1).tolist()
    ]
    expected = [claims.drift(*row) for row in zip(answers, contexts, strict=True)]
    assert set(expected) == {0.0, 0.2}
    assert fm.drift(answers, contexts).tolist() == expected


@pytest.mark.parametrize("distinct", [3, 253, 254, 255, 256, 257, 700])
def test_pairs_of_answers_of_few_and_many_words_are_counted(distinct: int) -> None:
    """Up to 255 distinct words of an answer have a table of their pairs, which is emptied every 255 rows."""
    rng = np.random.default_rng(distinct)
    every, n_words = np.arange(distinct, dtype=np.int32), distinct + 20
    answers = [
        rng.permutation(every) if row % 3 else rng.integers(0, n_words, rng.integers(0, 9), dtype=np.int32)
        for row in range(520)
    ]
    contexts = [
        [rng.integers(0, n_words, 50, dtype=np.int32), np.concatenate([answer[-9:], answer[5:40]]), answer[:1]]
        for answer in answers
    ]
    ends = np.cumsum([len(answer) for answer in answers])
    texts = [text for row in contexts for text in row]
    stops = np.cumsum([len(text) for text in texts])
    passages = Passages(np.concatenate(texts), np.append(0, stops[:-1]), stops, np.arange(521) * 3)
    counts = count_pairs(np.concatenate(answers), np.append(0, ends[:-1]), ends, passages, n_words)
    for answer, row, count in zip(answers, contexts, counts.tolist(), strict=True):
        there = {pair for text in row for pair in itertools.pairwise(text.tolist())}
        assert count == sum(pair in there for pair in itertools.pairwise(answer.tolist()))


def test_a_fifth_of_the_pairs_is_enough_not_to_drift() -> None:
    answer = "a b c d e f"  # five pairs
    assert fm.drift([answer] * 3, [["a b"], ["a c e"], ["f a b"]]).tolist() == [0.0, 0.2, 0.0]
    assert fm.drift([f"{answer} g"], [["a b"]]).tolist() == [0.2]
    assert fm.drift(["a", "", "a b"], [["x"]] * 3).tolist() == [0.0, 0.0, 0.2]
    assert fm.drift(["a b"], [["a", "b"]]).tolist() == [0.2], "of two contexts"


ROOTS = [
    *("plan", "fall", "agre", "glass", "pla", "bo", "see", "add", "egg", "tie", "ya", "need", "буд", "книг", "ель"),
    "ёл",
]
ENDINGS = [
    *("", "s", "es", "ed", "ing", "ied", "ies", "ly", "e", "y", "ss", "sses", "а", "ами", "ов", "иями", "ё", "ая"),
    "z",
]


def test_words_share_a_stem_as_the_plain_definition_says() -> None:
    """An ending comes off, and then one of two equal letters, so that "planned" and "plans" meet."""
    doubled = [root + root[-1] for root in ROOTS]
    words = [root + ending for root in ROOTS + doubled for ending in ENDINGS]
    words += [root + one + other for root in ROOTS for one, other in itertools.product("аеёиымхв", repeat=2)]
    words = list(dict.fromkeys([*words, "naïves", "x_ed", "éed", "planед", "a1ed", "zz", "zzzz", "wwzz"]))
    vocabulary = Vocabularies().vocabulary("words")
    senses = Senses(vocabulary)
    ids = vocabulary.ids_of(words)
    stems = senses.catch_up().stems[ids].tolist()
    expected = [claims.stem(word) for word in words]
    assert expected[words.index("planned")] == expected[words.index("plans")] == "plan"
    by_stem: dict[int, str] = {}
    for word, number, stem in zip(words, stems, expected, strict=True):
        assert by_stem.setdefault(number, stem) == stem, word
    assert len(by_stem) == len(set(expected))


@pytest.mark.parametrize(
    ("answer", "context", "score"),
    [
        ("Great question! Thank you for asking. The phone costs 300 euros.", "The phone costs 300 euros.", 0.0),
        ("Спасибо за вопрос. Телефон стоит 300 евро.", "Телефон стоит 300 евро.", 0.0),
        (
            "You are welcome. I hope this helps. Please let me know. The phone costs 300 euros.",
            "The phone costs 300 euros.",
            0.0,
        ),
        ("The warranty lasts 12 months.", "We give a 12-month warranty.", 0.2),
        ("The warranty lasts 12 months.", "We give a 24-month warranty.", 1.0),
        ("The company had a profit of −12 million.", "The company had a profit of 12 million.", 1.0),
        ("Acme released the phone in 2023 for $900.", "Acme announced the phone in 2024. It costs $1,000.", 2 / 3),
        ("On January 5th, 2024.", "On 2024-01-05.", 0.0),
        ("It was at 3 pm.", "The meeting began at 15:00.", 0.0),
        ("It was.", "The meeting began at 15:00.", 0.2),
        ("Гарантия действует 12 месяцев.", "Гарантия на 12 месяцев.", 0.0),
        ("The profit was −12 million.", "The profit was 12 million.", 1.0),
        ("The profit was minus 5 euros.", "The profit was -€5.", 0.0),
    ],
)
def test_courtesy_is_no_claim_and_a_sign_is_part_of_a_number(answer: str, context: str, score: float) -> None:
    assert fm.hallucination([answer], [[context]]).tolist() == [score]
    assert claims.hallucination(answer, [context]) == score


COURTESIES = [
    *("Happy to help! Let me know if anything is unclear.", "Feel free to ask if you have any questions."),
    *("If there is anything else you need, please let us know.", "Please do not hesitate to contact us."),
    *("I'm here to help.", "That is an excellent question.", "Hope this helps, and have a nice day."),
    "Enjoy your day!",
    *("I am looking forward to hearing from you.", "If you have further questions, just ask."),
    "Best regards, the team.",
    *("Если у вас есть другие вопросы, задавайте.", "Сообщите, если что-то было непонятно.", "Это был хороший вопрос."),
]


@pytest.mark.parametrize(
    "answer",
    [
        "Nurses take care of patients.",
        "The law is unclear.",
        "They ask questions about the price.",
        "Let me know if the phone is broken: it costs a lot.",
        "If you have any questions, the manual has answers.",
    ],
)
def test_words_of_courtesies_claim_elsewhere(answer: str) -> None:
    assert list(anchors(answer, ["Paris"]).values()).count(False)
    assert any(kind == "claim" for kind, *_ in claims.anchors(answer, ["Paris"]))


def test_text_without_an_asserting_verb_claims_nothing() -> None:
    for answer in ("Great question!", "Спасибо за вопрос.", "Rome, in Italy.", "You are welcome.", "Let us know."):
        assert anchors(answer, ["Paris"]) == {}
    for answer in COURTESIES:
        assert anchors(answer, ["Paris"]) == {}, answer
        assert claims.anchors(answer, ["Paris"]) == []
    contexts = [["12"], ["-5 or 7"], ["5 euros"]]
    assert fm.drift(["12.0", "minus 5 and 7", "minus 5"], contexts).tolist() == [0.0, 0.0, 0.2]


def test_two_capitals_or_three_letters_are_a_keyword() -> None:
    questions = [
        "What is AI?",
        "What is AI?",
        "Где ИИ?",
        "Is it so?",
        "who is ai",
        "What is 5G in the EU?",
        "What is a cup?",
    ]
    answers = ["Cats sleep.", "AI is a field.", "ИИ — область.", "Cats.", "Cats.", "5G is radio.", "Cats."]
    expected = [0.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.0]
    assert fm.keyword_completeness(questions, answers).tolist() == expected
    assert [claims.keyword_completeness(*pair) for pair in zip(questions, answers, strict=True)] == expected
    assert fm.question_score(questions[:2], answers[:2]).tolist() == [0.0, 1.0]


FAMILIES = [
    [*made_values.NUMBERS, *made_values.SCALED, *made_values.SHARES],
    [*made_values.MONEY, *made_values.NUMBERS[:20]],
    [*made_values.DAYS, *made_values.DIGIT_DATES, "2024", "1999", "5", "May 5 and 2024"],
    [*made_values.TIMES, *made_values.WEEKDAYS, "3", "12", "30"],
    made_values.VALUES,
]
FAMILIES = [[value for value in family if is_plain(f"xy {value} yx")] for family in FAMILIES]


def check(table: list[tuple[str, list[str]]]) -> int:
    """Compare the anchors with those of the plain definition; how many are supported."""
    found = fm.scoring.anchors(*(list(column) for column in zip(*table, strict=True)))["anchors"].to_pylist()
    for (answer, contexts), ours in zip(table, found, strict=True):
        got = sorted((one["kind"], one["start"], one["stop"], one["supported"]) for one in ours)
        assert got == sorted(claims.anchors(answer, contexts)), (answer, contexts)
    return sum(one["supported"] for row in found for one in row)


@pytest.mark.parametrize("frame", ["{}", "xy {} yx", "{}.", "xy {}, 5 yx", "1. {}\n2. {}", "({})"])
def test_parsed_values_equal_the_definition(frame: str) -> None:
    check([(text, ["q"]) for text in (frame.replace("{}", value) for value in FAMILIES[-1]) if is_plain(text)])


@pytest.mark.parametrize("n_numbers", [1, 3, 40])
def test_texts_may_have_nothing_but_values(n_numbers: int) -> None:
    """Room is made at first for one value in eight words."""
    texts = [" ".join(str(row + 2 * k) for k in range(n_numbers)) for row in range(30)]
    assert check([(text, [text, "and no more"]) for text in texts]) > 25 * n_numbers
    check([(text, [other]) for text, other in zip(texts, texts[::-1], strict=True)])


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_equal_values_are_found_in_contexts(family: int) -> None:
    chance = random.Random(family)
    draw = lambda: chance.choice(FAMILIES[family])  # noqa: E731
    held = check([(f"xy {draw()} yx", [f"zu {draw()} uz, {draw()}", draw()]) for _ in range(1500)])
    assert held > 100


def held(pairs: list[tuple[str, str]]) -> list[bool]:
    """Whether the one value of each first text is among those of the second."""
    table = fm.scoring.anchors([f"x {one} y" for one, _ in pairs], [[f"z {other} w"] for _, other in pairs])["anchors"]
    own = [[one for one in row if one["kind"] != "claim"] for row in table.to_pylist()]
    assert [len(row) for row in own] == [1] * len(pairs)
    return [row[0]["supported"] for row in own]


def equal(*values: str) -> None:
    assert all(held([*permutations(values, 2)])), values


def different(*values: str) -> None:
    assert not any(held([*permutations(values, 2)])), values


def test_currency_named_on_one_side_is_ignored() -> None:
    equal("$5", "5")
    equal("5 euros", "5")
    different("$5", "€5", "£5", "¥5", "₽5", "₹5")


@pytest.mark.parametrize(
    "forms",
    [
        ["$5", "5 dollars", "5 usd"],
        ["5 €", "5 euros"],
        ["£5", "5 pounds"],
        ["¥5", "5 yen"],
        ["5 ₽", "5 рублей"],
        ["₹5", "5 rupees"],
    ],
)
def test_currency_signs_equal_currency_names(forms: list[str]) -> None:
    equal(*forms)


def test_two_digit_years_are_from_1950_to_2049() -> None:
    """Up to 49 of this century, from 50 on of the last."""
    equal("5.1.00", "2000-01-05")
    equal("5.1.49", "2049-01-05")
    equal("5.1.50", "1950-01-05")
    equal("5.1.99", "1999-01-05")
    different("5.1.49", "1949-01-05")
    different("5.1.50", "2050-01-05")


def test_12_am_is_midnight_and_12_pm_noon() -> None:
    equal("12 am", "0:00", "00:00")
    equal("12:30 am", "0:30")
    equal("12 pm", "12:00")
    equal("12:30 p.m.", "12:30", "12:30pm")
    equal("11 pm", "23:00")
    different("12 am", "12 pm")
    different("12 pm", "0:00")
    different("1 am", "13:00")


def test_times_without_am_or_pm_match_either() -> None:
    """Of one to twelve o'clock; 0:30 and 15:00 leave no choice."""
    equal("3:00", "3 am")
    equal("3:00", "3 pm")
    equal("3:00", "15:00")
    equal("12:00", "12 am")
    different("0:30", "12:30 pm")
    different("15:00", "3 am")
    different("3:00", "3:30")


def test_date_matches_on_all_its_parts() -> None:
    pairs = {
        ("January 2024", "5 January 2024"): True,
        ("5 January 2024", "January 2024"): False,
        ("5 January", "5 January 2024"): True,
        ("5 January 2024", "5 January 2023"): False,
        ("5 January 2024", "5 January"): False,
        ("5 January 2024", "in 2024, on 5 January"): True,
        ("5 January 2024", "5 January 2023 and 2024"): False,
        ("05/01/2024", "5 January 2024"): True,
        ("05/01/2024", "1 May 2024"): True,
        ("5.1.2024", "1 May 2024"): False,
        ("13/1/2024", "1/13/2024"): True,
    }
    assert dict(zip(pairs, held([*pairs]), strict=True)) == pairs


NAMES = ("novel_word_rate", "novel_bigram_rate", "novel_name_rate", "novel_number_rate", "negation_mismatch")
WORDS = ["not", "isn't", "ISN’T", "T", "won't", "dont", "never", "не", "никогда", "open", "opened", "Музей", "ǅ", "İx"]


@given(rows)
@example([("0º0", ["0"]), ("3ª4", ["3ª4"]), ("5é3, 7", ["5"]), ("5µ3", ["5"]), ("15ч30.", ["15"]), ("5₂3", ["5"])])
def test_rates_are_those_of_the_plain_definition(table: list[tuple[str, list[str]]]) -> None:
    answers, contexts = (list(column) for column in zip(*table, strict=True))
    plain = [all(map(strategies.is_plain, (answer, *others))) for answer, others in table]
    for name in NAMES:
        found, right = getattr(fm, name)(answers, contexts), [getattr(novelty, name)(*row) for row in table]
        if name == "novel_number_rate":  # what is unread stands beside numbers that the definition reads
            right = np.where(np.isnan(found) & ~np.array(plain), np.nan, right)
        np.testing.assert_array_equal(found, right, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_missing_and_empty_texts(name: str) -> None:
    opened = "In 1793 the Louvre opened."
    contexts = [None, [opened], [], [None], [""], ["Paris.", None], [""]]
    answers = [opened, None, opened, opened, opened, "", ""]
    scores = fm.score({"answer": answers, "contexts": contexts}, metrics=name)[name]
    alone = math.nan if name == "negation_mismatch" else 1.0
    assert scores.is_null().to_pylist() == [True, True, False, True, False, False, False]
    np.testing.assert_array_equal(scores.drop_null().to_numpy(), [alone, alone, math.nan, math.nan])
    assert len(fm.score({"answer": [], "contexts": []}, metrics=name)) == 0


@pytest.mark.parametrize(
    ("answer", "context", "mismatch"),
    [
        ("The museum is not open.", "The museum is open.", 0.5),
        ("The museum is open.", "The museum isn’t open.", 0.5),
        ("The museum isn't open.", "The museum cannot open.", 0.0),
        ("The museum is open.", "Open, the museum is not open.", 0.0),
        ("Not in the open hall.", "In the open hall.", 0.5),  # "open" is the third word after it, "hall" the fourth
        ("Der T shirt passt.", "Der T shirt passt.", 0.0),
        ("Музей не открыт.", "Музей открыт.", 0.5),
        ("Музей никогда не открывался.", "Музей не открывался.", 0.0),
    ],
)
def test_polarity(answer: str, context: str, mismatch: float) -> None:
    assert fm.negation_mismatch([answer], [[context]]).tolist() == [mismatch]


@pytest.mark.parametrize(
    ("answer", "contexts", "rate"),
    [
        ("The tower is by Eiffel.", ["It is by EIFFEL."], 0.0),
        ("Башню построил Эйфель в Париже.", ["Это сделал Эйфель."], 0.5),
        ("It opened. Paris was proud of Dr. Roux.", ["Nothing."], 1.0),  # Paris begins its sentence
        ("Yes, I saw Ann and Bob.", ["Ann was there.", "So was Bob."], 0.0),
        ("برج إيفل في باريس.", ["برج"], math.nan),
        ("המגדל בפריז.", ["פריז"], math.nan),
    ],
)
def test_names(answer: str, contexts: list[str], rate: float) -> None:
    np.testing.assert_array_equal(fm.novel_name_rate([answer], [contexts]), [rate])


def test_words_of_right_to_left_scripts_are_compared() -> None:
    assert fm.novel_word_rate(["برج إيفل في باريس"], [["برج في لندن"]]).tolist() == [0.5]
    assert fm.novel_bigram_rate(["מגדל אייפל בפריז"], [["מגדל אייפל"]]).tolist() == [0.5]


def test_cautions_name_the_scripts_that_lists_and_capitals_do_not_cover() -> None:
    rows = {"answer": ["برج إيفل في 1889.", "Later Ann came in 1889."], "contexts": [["برج"], ["Ann came in 1889."]]}
    notes = fm.summarize(fm.score(rows, suites="novelty")).notes
    assert [note.partition(":")[0] for note in notes] == ["novel_name_rate", "novel_number_rate", "negation_mismatch"]
    assert "no capital letters" in notes[0]


def test_a_year_of_russian_and_a_refusal_are_judged_as_in_english():
    contexts = [["The tower opened in 1874. Башня открыта в 1874 году."]]
    rows = {
        "The tower was opened in 1890.": 1.0,
        "Башня открыта в 1890 году.": 1.0,
        "Башня была открыта в 1874 г.": 0.0,
        "I don't know.": 0.2,
        "The text does not say it.": 0.2,
        "Я не знаю.": 0.2,
        "I don't know, but it costs 900 dollars.": 1.0,
    }
    assert dict(zip(rows, fm.hallucination([*rows], contexts * len(rows)).tolist(), strict=True)) == rows
    index = pd.Index(["k2", "k1"], name="nr")
    answers, passages = pd.Series(["It is 5.", "It is 6."], index=index), pd.Series([["5"], ["6"]], index=index)
    for table in (fm.scoring.anchors(answers, passages), fm.scoring.verdicts(answers, answers, passages)):
        assert table["id"].to_pylist() == ["k2", "k1"]
        assert table.to_pandas().index.equals(index)
    assert fm.metrics.grounding_evidence(answers, passages)["id"].to_pylist() == ["k2", "k1"]
