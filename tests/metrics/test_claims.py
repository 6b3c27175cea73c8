"""Anchors, claims and what is made of them, against plain Python and against people's expectations."""

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from tests.reference import claims
from tests.support import strategies

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
