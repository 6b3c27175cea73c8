"""What documents say of claims and of writing."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm

SUBJECTS = ("Acme", "Borealis", "Zenith")
OBJECTS = ("camera", "copper antenna", "garden robot kit")
ASSERTED = ("released", "includes", "announced")
GUESSED = ("may release", "might include", "could sell")
WINDOW = 30
FILLER = ["lorem", "ipsum", "dolor", "sit", "amet", "elit", "sed", "tempor", "ut", "labore", "et"]


@dataclass(frozen=True)
class Fact:
    """One sentence of an answer: who, whether it is a guess, what, and a year and a price if it has them."""

    subject: str
    verb: str
    object: str
    year: int | None
    price: int | None

    @property
    def sentence(self) -> str:
        when = f" in {self.year}" if self.year else ""
        paid = f" for ${self.price}" if self.price else ""
        return f"{self.subject} {self.verb} the {self.object}{when}{paid}."


@dataclass(frozen=True)
class Passage:
    """One context: a subject and an object with so many words between them, and figures in another notation."""

    subject: str
    object: str
    between: int
    year: int | None
    price: int | None

    @property
    def text(self) -> str:
        filler = " ".join(FILLER[n % len(FILLER)] for n in range(self.between))
        when = f" It was on 5 January {self.year}." if self.year else ""
        paid = f" That was {self.price} dollars." if self.price else ""
        return f"{self.subject} {filler} {self.object}.{when}{paid}"


YEARS = st.sampled_from([None, 1999, 2023])
PRICES = st.sampled_from([None, 450, 900])
FACTS = st.builds(
    Fact, st.sampled_from(SUBJECTS), st.sampled_from(ASSERTED + GUESSED), st.sampled_from(OBJECTS), YEARS, PRICES
)
PASSAGES = st.builds(
    Passage, st.sampled_from(SUBJECTS), st.sampled_from(OBJECTS), st.sampled_from([0, 5, 60]), YEARS, PRICES
)


ANSWERS = st.lists(FACTS, min_size=1, max_size=3, unique_by=(lambda fact: fact.subject, lambda fact: fact.object))
CONTEXTS = st.lists(PASSAGES, min_size=1, max_size=3)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def close(passage: str, needed: list[str]) -> bool:
    """Whether one stretch of the passage has all words, the first and the last at most ``WINDOW`` words apart."""
    found = words(passage)
    return any(set(needed) <= set(found[start : start + WINDOW + 1]) for start in range(len(found)))


def anchors_of(facts: list[Fact], passages: list[str]) -> list[bool]:
    """Whether each anchor is supported: a triple for each asserted sentence, and every year and price."""
    supported = []
    numbers = {int(word) for passage in passages for word in words(passage) if word.isdigit()}
    for fact in facts:
        if fact.verb in ASSERTED:
            needed = words(f"{fact.subject} {fact.object}")
            supported.append(any(close(passage, needed) for passage in passages))
        supported += [figure in numbers for figure in (fact.year, fact.price) if figure]
    return supported


def drift_of(answer: str, passages: list[str]) -> float:
    def pairs(text: str) -> list[tuple[str, str]]:
        found = words(text)
        return list(itertools.pairwise(found))

    known = {pair for passage in passages for pair in pairs(passage)}
    made = pairs(answer)
    return 0.2 if made and sum(pair in known for pair in made) / len(made) < 0.2 else 0.0


def relevance_of(question: str, answer: str) -> float:
    counts = [Counter(word for word in words(text) if len(word) > 1) for text in (question, answer)]
    weights = [
        {word: n * (math.log(3 / (1 + sum(word in other for other in counts))) + 1) for word, n in one.items()}
        for one in counts
    ]
    dot = sum(weight * weights[1].get(word, 0.0) for word, weight in weights[0].items())
    norms = math.prod(math.sqrt(sum(weight**2 for weight in one.values())) for one in weights)
    sets = set(words(question)), set(words(answer))
    return ((dot / norms if norms else 0.0) + len(sets[0] & sets[1]) / len(sets[0] | sets[1])) / 2


@given(ANSWERS, CONTEXTS)
def test_a_claim_is_one_anchor_supported_where_subject_and_object_stand_close_together(facts, passages):
    answer, contexts = " ".join(fact.sentence for fact in facts), [passage.text for passage in passages]
    expected = anchors_of(facts, contexts)
    anchors = fm.scoring.anchors([answer], [contexts])["anchors"][0].as_py()
    assert Counter(anchor["supported"] for anchor in anchors) == Counter(expected), (answer, contexts, anchors)
    kinds = Counter(anchor["kind"] for anchor in anchors)
    assert kinds["claim"] == sum(fact.verb in ASSERTED for fact in facts)
    unsupported = expected.count(False) / len(expected) if expected else 0.0
    score = fm.hallucination([answer], [contexts])[0]
    assert score == pytest.approx(max(unsupported, drift_of(answer, contexts)))
    assert fm.hallucination_risk([answer], [contexts])[0] == float(score > 0.6)


QUESTIONS = st.sampled_from(
    ["When was the camera released?", "What does Borealis sell?", "Which garden robot kit includes copper?", "Why?"]
)
STOP = ["when", "was", "the", "what", "does", "which", "why"]


@given(QUESTIONS, ANSWERS, CONTEXTS)
def test_the_verdict_follows_the_hierarchy_of_the_document(question, facts, passages):
    answer, contexts = " ".join(fact.sentence for fact in facts), [passage.text for passage in passages]
    expected = anchors_of(facts, contexts)
    hallucination = max(expected.count(False) / len(expected) if expected else 0.0, drift_of(answer, contexts))
    relevance = relevance_of(question, answer)
    assert fm.answer_relevance([question], [answer])[0] == pytest.approx(relevance)
    keywords = {word for word in words(question) if word not in STOP and len(word) > 2}
    completeness = len(keywords & set(words(answer))) / len(keywords) if keywords else 1.0
    assert fm.keyword_completeness([question], [answer], stop_words=STOP)[0] == pytest.approx(completeness)
    verdict = "WARN" if completeness < 0.6 else "PASS"
    if hallucination > 0.5 or relevance < 0.1:
        verdict = "FAIL"
    verdicts = fm.scoring.verdicts([question], [answer], [contexts], stop_words=STOP)
    assert verdicts["verdict"].to_pylist() == [verdict]
    unsupported = verdicts["unsupported"][0].as_py()
    assert len(unsupported) == expected.count(False)
    points = {"PASS": 1.0, "WARN": 0.5, "FAIL": 0.0}
    assert fm.verdict([question], [answer], [contexts], stop_words=STOP)[0] == points[verdict]


@pytest.mark.parametrize(
    ("written", "context"),
    [
        ("$1,000", "It costs 1000 dollars."),
        ("1000", "They sold 1k of them."),
        ("50%", "It was 50 percent."),
        ("50 percent", "It was 50 %."),
        ("5 January 2024", "Released 2024-01-05."),
        ("January 5th, 2024", "Released on 5 Jan 2024."),
        ("3 pm", "It opens at 15:00."),
    ],
)
def test_numbers_and_dates_match_in_any_usual_format(written, context):
    [anchors] = fm.scoring.anchors([f"Maybe {written}?"], [[context]])["anchors"].to_pylist()
    assert [anchor["supported"] for anchor in anchors] == [True], anchors
    [anchors] = fm.scoring.anchors([f"Maybe {written}?"], [["Nothing of the kind."]])["anchors"].to_pylist()
    assert [anchor["supported"] for anchor in anchors] == [False], anchors


def ascii_only(text: str) -> list[str]:
    """As in the document: lower case, everything but ASCII letters, digits and ``_`` becomes a space."""
    return [word for word in re.sub(r"[^a-z0-9_]", " ", text.lower()).split(" ") if word]


@given(st.text(max_size=40))
@example("naïve K\u212a Iİ \u0085x\u2028y_9 \ufeffz")
def test_the_ascii_tokenizer_splits_as_the_code_of_the_document(text):
    found = ascii_only(text)
    score = fm.score({"answer": [text]}, "diversity_score(tokenizer='ascii_words')")[0][0].as_py()
    if found:
        assert score == pytest.approx(len(set(found)) / len(found))
    else:
        assert math.isnan(score)
    [length] = fm.length_score(["two words"], [text], tokenizer="ascii_words")
    assert length == pytest.approx(max(0.0, 1 - abs(math.log(len(found) / 5))) if found else 0.0)


def test_worked_examples_and_test_cases_of_the_document():
    """Its four test cases hold within 0.15; of its examples, the formulas are followed where the two disagree."""
    [length] = fm.length_score(["What is AI?"], ["AI is artificial intelligence that simulates human thinking."])
    assert length == pytest.approx(1 - abs(math.log(8 / 7.5)))
    connected = "The weather is nice. However, it might rain. Therefore, bring an umbrella."
    apart = "Cats are animals. Pizza is food. Cars are vehicles."
    for options in ({}, {"topic_threshold": 0.2}):
        scores = fm.coherence([connected, apart], **options)
        assert scores == pytest.approx([0.8, 0.3], abs=0.15)
    direct = "Machine learning is a subset of artificial intelligence that enables computers to learn from data."
    scores = fm.writing_completeness(["Explain machine learning."] * 2, [direct, "The weather is nice today."])
    assert scores == pytest.approx([0.9, 0.1], abs=0.15)
    page = (Path(__file__).parents[2] / "docs" / "studies" / "writing.md").read_text()
    for told, computed in (("0.67", "min(2 / (0.3 · 3), 1) = 1"), ("9 words, score 0.82", "0.94"), ("0.375", "0.75")):
        assert any(told in line and computed in line for line in page.splitlines())
