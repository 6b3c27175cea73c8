"""Statements and "I don't know" answers, against their plain definitions and by example."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.metrics.abstention import ABOUT, PARTIAL
from fastmetrics.text import statements
from fastmetrics.text.lexicons import lexicon
from tests.reference import abstention as plain
from tests.support import strategies
from tests.support.every_metric import refusing

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


@pytest.mark.slow
@given(text=texts)
def test_statements_of_any_text(text):
    assert statements([text]) == [plain.statements(text, ABBREVIATIONS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He left. "Go," she said.', ["He left.", '"Go," she said.']),
        ('"He left." "Go!" [2] (Now.) Yes', ['"He left."', '"Go!" [2]', "(Now.)", "Yes"]),
        ("He left (yesterday). [1][2] [3, 4] Then", ["He left (yesterday). [1][2] [3, 4]", "Then"]),
        ("Dr. J. Smith paid 3.5 in Jan. 2020. 1. One", ["Dr. J. Smith paid 3.5 in Jan. 2020.", "1. One"]),
        ("1. One\n2. Two\n\nThree\nfour", ["1. One", "2. Two", "Three\nfour"]),
        ("Что? Да! на ул. Ленина. Он", ["Что?", "Да! на ул. Ленина.", "Он"]),
        ("你好。再见！[1] 好", ["你好。", "再见！[1]", "好"]),
        ("Wait . . . what", ["Wait . . . what"]),
        ("0? \u0345 1? ⓐ 2? ª", ["0?", "\u0345 1?", "ⓐ 2? ª"]),
        ("\u0345A. Ⓐ. Yes", ["\u0345A. Ⓐ.", "Yes"]),
        ("... \n", []),
    ],
)
def test_worked_statements(text, expected):
    assert statements([text]) == [expected]
    assert plain.statements(text, ABBREVIATIONS) == expected


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Sorry, I cannot generate an answer as none of the search results is related to the question.", 1),
        ("None of the search results are relevant.", 1),
        ("I have looked through the passages, but there is no mention of it.", 1),
        ("I am very sorry that I have to disappoint you here once more, but I don't know.", 1),
        ("Similar ones are Arrested Development, Community and 30 Rock, but the document does not mention a rival.", 0),
        ("Yes, it is present in [1]. No answer is given in the other contexts.", 0),
        ("Да. Но в остальных источниках не сказано.", 0),
        ("1. Yes, the answer is in [1].\n2. No answer in [2].", 0),
        ("Yes, an answer is present (in [6])\nNo answer (in all others)", 0),
        ("I don't know (it asks for the reign of a king, but none of the passages mention that)", 1),
        ("I don't know, but it was probably in the spring.", 0),
        ("I don't know the year, but it was Paris.", 0),
        ("I don't know. But it was 1889.", 0),
        ("Не знаю, но это Париж.", 0),
        ("I don't know, but it's possible!", 1),
        ("I don't know, but I can help.", 1),
        ("I don't know, but see [1].", 1),
        ("I don't know yet, Anna.", 1),
        ("I don't know. The passages are about the history of the city and tell nothing of its mayors by name.", 1),
        ("К сожалению, в предоставленном контексте нет информации об этом.", 1),
        ("idk", 1),
        ("Unknown.", 1),
        ("Not sure.", 1),
        ("N/A", 1),
        ("Неизвестно.", 1),
        ("The tomb of the unknown soldier.", 0),
        ("He was not sure of it.", 0),
        ('Please respond with "Yes" or "I don\'t know".', 0),
        ("", 0),
        ("Gustave Eiffel built it. I don't know when.", 0),
        ("Paris. I don't know.", 0),
        ("I don't know exactly. It was built by Gustave Eiffel in 1889.", 0),
        ("I don't know.", 1),
        ("I'm sorry, I don't know.", 1),
        ("I don't know. The passages do not mention it.", 1),
        ("Hmm. I don't know.", 1),
        ("Good question. I don't know.", 1),
        ("It opened in 1889. I don't know who designed it.", 0),
        ("Rome, I think. I don't know for sure.", 0),
        ("I don't know when. Gustave Eiffel built it.", 0),
        ("I am not sure exactly. It has 324 metres.", 0),
        ("I don't know. The context only speaks of Paris in 1889.", 1),
        ("Париж. Я не знаю.", 0),
        ("Я не знаю точно. Её построил Гюстав Эйфель в 1889 году.", 0),
        ("Построил Эйфель. Не знаю, когда.", 0),
        ("Based on the passages, there is no answer. I don't know.", 1),
        ("Well... I don't know.", 1),
        ("I don't know who that is. Please ask Anna.", 1),
        ("OK. I don't know.", 1),
        ("I don't know. Sorry.", 1),
        ("The tower. I don't know more.", 0),
        ("I have no idea why. Marie Curie found it.", 0),
        ("Unfortunately, I don't know.", 1),
        ("As an AI model, I don't know.", 1),
        ("Marie Curie found it in 1898. I don't know where.", 0),
    ],
)
def test_worked_answers(answer, score):
    assert fm.abstained([answer]).tolist() == [score]
    assert refusing().abstained(answer) == score


@pytest.mark.slow
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
