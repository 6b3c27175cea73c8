"""Which words an answer's claims are made of and what makes a context support them, rule by rule (S3)."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.kernels.claim_support import Passages, count_pairs
from fastmetrics.text.tokenize import Vocabularies
from fastmetrics.text.word_roles import Senses
from tests.reference import claims
from tests.support import made_claims


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
    for (answer, given), ours in zip(table, found, strict=True):
        got = sorted((one["kind"], one["start"], one["stop"], one["supported"]) for one in ours)
        assert got == sorted(claims.anchors(answer, given, window)), (answer, given)
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


def test_two_capitals_are_a_keyword() -> None:
    questions = ["What is AI?", "What is AI?", "Где ИИ?", "Is it so?", "who is ai", "What is 5G in the EU?"]
    answers = ["Cats sleep.", "AI is a field.", "ИИ — область.", "Cats.", "Cats.", "5G is radio."]
    expected = [0.0, 1.0, 1.0, 1.0, 1.0, 0.5]
    assert fm.keyword_completeness(questions, answers).tolist() == expected
    assert [claims.keyword_completeness(*pair) for pair in zip(questions, answers, strict=True)] == expected
    assert fm.question_score(questions[:2], answers[:2]).tolist() == [0.0, 1.0]
