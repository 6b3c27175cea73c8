"""S4's formulas with every option, from word lists that the tests bring along, so that each component is exact."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm

LISTS = {
    "stop": ["the", "are", "is", "and", "they", "for", "with", "how", "what"],
    "pronouns": ["it", "they", "them"],
    "connectors": ["however", "therefore", "as a result"],
    "summary": ["overall", "in conclusion"],
    "tasks": ["explain", "describe", "compare"],
    "questions": ["what", "how", "who"],
    "common": ["because", "machine"],
}
"""Short lists in place of the built-in ones."""


@pytest.fixture(scope="module", name="lexicons")
def _lexicons(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lists")
    for name, words in LISTS.items():
        for language in ("en", "ru"):
            (folder / f"{name}_{language}.txt").write_text("\n".join(words if language == "en" else words[:1]) + "\n")
    return str(folder)


Tokens = Callable[[str], list[str]]


def any_script(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def ascii_only(text: str) -> list[str]:
    """As in the document: lower case, everything but ASCII letters, digits and ``_`` becomes a space."""
    return [word for word in re.sub(r"[^a-z0-9_]", " ", text.lower()).split(" ") if word]


TOKENIZERS: dict[str, Tokens] = {"words": any_script, "ascii_words": ascii_only}


def sentences_of(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.!?]+", text) if part.strip()]


def phrases_in(found: list[str], phrases: list[str]) -> list[tuple[int, int]]:
    """Where phrases stand, the longest first at each place, without overlap."""
    split = sorted((phrase.split() for phrase in phrases), key=len, reverse=True)
    spans, place = [], 0
    while place < len(found):
        length = next((len(one) for one in split if found[place : place + len(one)] == one), 0)
        if length:
            spans.append((place, place + length))
        place += length or 1
    return spans


def content_of(found: list[str]) -> list[bool]:
    """Whether each word says something: three characters or more, and in none of the lists of small words."""
    marks = [len(word) >= 3 and word not in LISTS["stop"] and word not in LISTS["pronouns"] for word in found]
    for name in ("connectors", "summary"):
        for start, stop in phrases_in(found, LISTS[name]):
            marks[start:stop] = [False] * (stop - start)
    return marks


def mean(parts: list[float | None]) -> float:
    known = [part for part in parts if part is not None]
    return sum(known) / len(known)


def coherence_parts(text: str, tokens: Tokens, connector_share: float, topic_threshold: float) -> list[float | None]:
    sentences = [tokens(sentence) for sentence in sentences_of(text)]
    connectors = sum(len(phrases_in(found, LISTS["connectors"])) for found in sentences)
    total = unclear = shifts = 0
    before: set[str] = set()
    for found in sentences:
        content = content_of(found)
        clear_opening = False
        for place, word in enumerate(found):
            if word in LISTS["pronouns"]:
                total += 1
                clear = bool(before) or any(content[:place])
                unclear += not clear
                clear_opening |= clear and place == 0
        own = {word for word, says in zip(found, content, strict=True) if says}
        opens = clear_opening or any(start == 0 for start, _ in phrases_in(found, LISTS["connectors"]))
        shifts += not (own & before or opens)
        before = own
    share = shifts / len(sentences)
    topic = None if len(sentences) < 2 else 1.0 if share <= topic_threshold else 1 - share
    connector = min(connectors / (len(sentences) * connector_share), 1.0)
    return [connector, 1 - unclear / total if total else 1.0, topic]


def keywords_of(found: list[str], shortest: int = 2) -> set[str]:
    """The words of a prompt that ask for something; of two characters, as AI, too."""
    small = {*LISTS["stop"], *LISTS["pronouns"], *LISTS["tasks"]}
    return {word for word in found if len(word) >= shortest and word not in small}


def completeness_parts(question: str, text: str, tokens: Tokens, length_ratio: float) -> list[float | None]:
    asked, written = tokens(question), tokens(text)
    keywords, present = keywords_of(asked), set(written)
    length = min(1.0, len(written) / (len(asked) * length_ratio))
    coverage = 0.6 * len(keywords & present) / len(keywords) + 0.4 * length

    answered: list[bool] = []
    fulfilled: list[bool] = []
    for match in re.finditer(r"([^.!?]+)([.!?]*)", question):
        found = tokens(match[1])
        needed = keywords_of(found)
        if needed and found and ("?" in match[2] or found[0] in LISTS["questions"]):
            answered.append(2 * len(needed & present) >= len(needed))
        starts = [place for place, word in enumerate(found) if word in LISTS["tasks"]]
        for start, stop in itertools.pairwise([*starts, len(found)]):
            needed = keywords_of(found[start:stop])
            if needed:
                fulfilled.append(2 * len(needed & present) >= len(needed))
    return [coverage, *(sum(marks) / len(marks) if marks else None for marks in (answered, fulfilled))]


def length_of(question: str, text: str, tokens: Tokens, length_ratio: float) -> float:
    optimal, written = len(tokens(question)) * length_ratio, len(tokens(text))
    return max(0.0, 1.0 - abs(math.log(written / optimal)))


def structure_parts(question: str, text: str, tokens: Tokens, paragraph_words: int) -> list[float | None]:
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    sentences = sentences_of(text)
    first, last = sentences[0], sentences[-1]
    introduces = len(first) > 20 and bool(set(tokens(first)) & keywords_of(tokens(question), shortest=3))
    concludes = len(last) > 15 and bool(phrases_in(tokens(last), LISTS["summary"]))
    expected = math.ceil(len(tokens(text)) / paragraph_words)
    return [min(len(paragraphs) / expected, 1.0), float(introduces), float(concludes)]


def vocabulary_parts(text: str, tokens: Tokens, sophisticated_letters: int) -> list[float | None]:
    found = tokens(text)
    counts = Counter(found)
    sophisticated = sum(len(word) > sophisticated_letters and word not in LISTS["common"] for word in found)
    repeated = sum(n > 3 for n in counts.values())
    return [len(counts) / len(found), sophisticated / len(found), 1 - repeated / len(found)]


PARTS = {
    "coherence": ("connector_score", "pronoun_score", "topic_score"),
    "writing_completeness": ("keyword_coverage", "question_score", "task_score"),
    "structure_score": ("paragraph_score", "introduction_score", "conclusion_score"),
    "vocabulary_score": ("diversity_score", "sophistication_score", "repetition_score"),
}
OPTIONS = {
    "connector_share": (0.3, 0.1, 1.0),
    "topic_threshold": (0.0, 0.2, 0.5),
    "length_ratio": (2.5, 1.0, 4.0),
    "paragraph_words": (100, 5, 12),
    "sophisticated_letters": (6, 3, 9),
}
"""The numbers that the document gives, and others."""

TAKES = {
    "connector_score": ("connector_share",),
    "topic_score": ("topic_threshold",),
    "coherence": ("connector_share", "topic_threshold"),
    "keyword_coverage": ("length_ratio",),
    "writing_completeness": ("length_ratio",),
    "length_score": ("length_ratio",),
    "paragraph_score": ("paragraph_words",),
    "structure_score": ("paragraph_words",),
    "sophistication_score": ("sophisticated_letters",),
    "vocabulary_score": ("sophisticated_letters",),
    "overall_quality": tuple(OPTIONS),
}
"""The options of each score; the others have none of these."""


def expected_scores(question: str, text: str, tokenizer: str, options: dict[str, Any]) -> dict[str, float | None]:
    """All scores of one row by the formulas of the document."""
    tokens = TOKENIZERS[tokenizer]
    parts = {
        "coherence": coherence_parts(text, tokens, options["connector_share"], options["topic_threshold"]),
        "writing_completeness": completeness_parts(question, text, tokens, options["length_ratio"]),
        "structure_score": structure_parts(question, text, tokens, options["paragraph_words"]),
        "vocabulary_score": vocabulary_parts(text, tokens, options["sophisticated_letters"]),
    }
    scores: dict[str, float | None] = {}
    for composite, values in parts.items():
        scores |= dict(zip(PARTS[composite], values, strict=True))
        scores[composite] = mean(values)
    scores["length_score"] = length_of(question, text, tokens, options["length_ratio"])
    weights = {"coherence": 0.25, "writing_completeness": 0.25, "length_score": 0.2}
    weights |= {"structure_score": 0.15, "vocabulary_score": 0.15}
    scores["overall_quality"] = sum(weight * scores[name] for name, weight in weights.items())  # type: ignore[operator]
    return scores


def metrics_of(tokenizer: str, options: dict[str, Any], lexicons: str) -> list[str]:
    names = [*PARTS, *(part for parts in PARTS.values() for part in parts), "length_score", "overall_quality"]
    specs = []
    for name in names:
        values = {key: options[key] for key in TAKES.get(name, ())}
        values |= {"tokenizer": tokenizer, "language": "en", "lexicons": lexicons, "name": f"my_{name}"}
        specs.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})")
    return specs


PROSE = st.lists(
    st.sampled_from(
        [
            *("Machines learn.", "However, machine data is scarce.", "They learn from data!"),
            *("As a result the naïve robots learn because they must.", "It rains", ". ", "?! ", "Pizza is food;"),
            *("learn learn learn learn", "however", "\n\n", "\n \t\n", "In conclusion, sophisticated algorithms win."),
            *("Робот учится.", "Overall 3 robots."),
        ]
    ),
    min_size=1,
    max_size=9,
).map(lambda parts: "Robots " + " ".join(parts))
PROMPTS = st.sampled_from(
    [
        "What is machine learning?",
        "Explain machine learning.",
        "Explain the robots and describe pizza with data. Compare algorithms",
        "How do naïve robots learn. Who learned first? Data!",
        "Robots",
    ]
)
CHOICES = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS.items()})


@pytest.mark.slow
@given(PROMPTS, PROSE, st.sampled_from(list(TOKENIZERS)), CHOICES)
def test_every_writing_score_is_the_formula_of_the_document(lexicons, question, text, tokenizer, options):
    expected = expected_scores(question, text, tokenizer, options)
    table = {"question": [question], "answer": [text]}
    row = fm.score(table, metrics_of(tokenizer, options, lexicons)).to_pylist()[0]
    for name, value in expected.items():
        score = row[f"my_{name}"]
        if value is None:
            assert math.isnan(score), name
        else:
            assert score == pytest.approx(value), (name, question, text)


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


@pytest.mark.parametrize("weights", [(0.5, 0.5, 0, 0, 0), (0, 0, 1, 0, 0), (0.2, 0.2, 0.2, 0.2, 0.2)])
def test_the_weights_of_the_overall_score_are_configurable(weights):
    question, answer = ["Explain machine learning."], ["Machines learn. However, data is scarce."]
    scores = [fm.coherence(answer), fm.writing_completeness(question, answer), fm.length_score(question, answer)]
    scores += [fm.structure_score(answer, question), fm.vocabulary_score(answer)]
    expected = sum(weight * score[0] for weight, score in zip(weights, scores, strict=True))
    assert fm.overall_quality(question, answer, weights=weights)[0] == pytest.approx(expected)
