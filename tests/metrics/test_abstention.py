"""Statements and "I don't know" answers, against their plain definitions and by example."""

import math

from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.abstention import ABOUT, PARTIAL
from fastmetrics.text import statements
from fastmetrics.text.lexicons import lexicon
from tests.reference import abstention as plain
from tests.support import strategies
from tests.support.every_metric import refusing
from tests.support.goldens import tables

TABLES = tables("abstention")

ABBREVIATIONS = lexicon("abbreviations")

PIECES = [
    *("I don't know", "i do not know", "unfortunately", "The context does not mention it", "no answer", "не знаю"),
    *("Информация отсутствует", "but", "However", "однако", "or", "или", "sorry", "Paris was built in 1889 by him"),
    *("[1]", "[2, 3]", "[x]", "[ 1]", "Dr", "J", "e.g", "1", "12", "2024", "0123456789", "3.5", "он", "Это", "ул"),
    *(".", ".", ".", "!", "?", "...", "…", "。", "\n", "\n\n", "\n- ", "\n1. ", "\n  * ", '"', "'", "”", ")", "("),
    *("«", "»"),
    *(" ", " ", " ", "  ", "\t", ", ", "\x85", "\u2028", "a", "B", "é", "É", "中"),
]
talk = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
spaced = st.lists(st.sampled_from(PIECES), max_size=24).map(" ".join)
texts = st.one_of(talk, spaced, strategies.texts)


@given(text=texts)
def test_statements_of_any_text(text):
    assert statements([text]) == [plain.statements(text, ABBREVIATIONS)]


def test_worked_statements():
    for text, expected in TABLES["worked_statements"]:
        assert statements([text]) == [expected]
        assert plain.statements(text, ABBREVIATIONS) == expected


def test_worked_answers():
    rows = TABLES["worked_answers"]
    found = fm.abstained([answer for answer, _ in rows]).tolist()
    assert found == [refusing().abstained(answer) for answer, _ in rows]
    assert [row for row, one in zip(rows, found, strict=True) if row[1] != one] == []


@given(answers=st.lists(st.none() | texts, max_size=6))
def test_any_answers(answers):
    for name, oracle in (("abstained", refusing().abstained), ("idk_citations", refusing().idk_citations)):
        ours = [None if math.isnan(score) else score for score in getattr(fm, name)(answers).tolist()]
        assert ours == [oracle(answer) for answer in answers], name


@given(
    answers=st.lists(texts, max_size=4),
    phrases=st.lists(
        st.sampled_from(["don't know", "(a|b) [c|paris was]", "[i] do not [a] know", "Не Знаю"]), max_size=3
    ),
)
def test_any_phrases(answers, phrases):
    words = lexicon("contrast"), lexicon("filler"), ABBREVIATIONS
    refuser = plain.Refusing(phrases, *words, about=ABOUT, partial=PARTIAL)
    assert fm.abstained(answers, phrases=phrases).tolist() == [refuser.abstained(answer) for answer in answers]
