"""S4's formulas with every option, from word lists that the tests bring along, so that each component is exact."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm


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
