"""The sources' formulas, written once more from their text alone, against the metrics that carry their names.

Nothing here is imported from ``tests/reference``: a definition misread there would be misread twice.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm

WORDS = st.sampled_from(
    [
        "the",
        "Paris,",
        "paris!",
        "in",
        "2023",
        "AI.",
        "machine",
        "learning;",
        "however",
        "(x)",
        "«да»",
        "нет.",
        "a",
        "an",
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
ROWS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def squeezed(text):
    return re.sub(r"\s+", " ", text.lower().strip())


def light(text):
    words = (word.strip(".,!?;:()[]{}\"'`«»“”‘’…") for word in text.lower().split())
    return {word for word in words if word}


def without_punctuation(text):
    return "".join(c for c in text.lower() if not unicodedata.category(c).startswith("P")).split()


@given(ROWS)
def test_deterministic_metrics_of_the_chat_bot_framework(rows):
    answers, references = columns(rows)
    same = [float(squeezed(a) == squeezed(r)) for a, r in rows]
    assert fm.exact_match(answers, references).tolist() == same
    recall = [len(light(a) & light(r)) / len(light(r)) if light(r) else 0.0 for a, r in rows]
    assert fm.keyword_recall(answers, references).tolist() == pytest.approx(recall)
    assert fm.answer_length(answers).tolist() == [len(a) for a in answers]
    markers = ("please", "thank you", "thanks", "happy to help", "glad to help", "you're welcome", "let me know")
    markers += ("feel free", "sorry", "apologize")
    polite = [f"{a} Thanks, please let me know" if len(a) % 2 else a for a in answers]
    expected = [min(sum(marker in a.lower() for marker in markers) / 2, 1.0) for a in polite]
    assert fm.politeness(polite).tolist() == expected


@given(ROWS)
def test_similarity_of_the_strict_semantic_match_bot(rows):
    def cosine(question, candidate):
        a, b = light(question), light(candidate)
        vocabulary = sorted(a | b)
        x, y = ([float(word in side) for word in vocabulary] for side in (a, b))
        norm = math.sqrt(sum(v * v for v in x)) * math.sqrt(sum(v * v for v in y))
        return sum(p * q for p, q in zip(x, y, strict=True)) / norm if norm else 0.0

    first, second = columns(rows)
    assert fm.token_cosine(first, second).tolist() == pytest.approx([cosine(a, b) for a, b in rows])


@given(ROWS)
def test_f1_and_exact_match_of_the_grounding_document(rows):
    """The same normalisation, lower case and no punctuation, for F1 and for a "perfect" match."""
    answers, references = columns(rows)
    pairs = [(without_punctuation(a), without_punctuation(r)) for a, r in rows]
    shared = [sum((Counter(a) & Counter(r)).values()) for a, r in pairs]
    f1 = [
        1.0 if not a and not r else 2 * hits / (len(a) + len(r)) if a and r else 0.0
        for hits, (a, r) in zip(shared, pairs, strict=True)
    ]
    assert fm.token_f1(answers, references).tolist() == pytest.approx(f1)
    matches = fm.score({"answer": answers, "reference": references}, "exact_match(normalize='plain')")[0]
    assert matches.to_pylist() == [float(a == r) for a, r in pairs]


@pytest.mark.parametrize("ranks", [[1], [3], [2, 5], [11], []])
def test_retrieval_tier(ranks):
    ids = [f"d{rank}" for rank in range(1, 13)]
    relevant = [f"d{rank}" for rank in ranks] + ["elsewhere"]
    scores = fm.score({"id": [1], "retrieved_ids": [ids], "relevant_ids": [relevant]}, suites="tier1").to_pylist()[0]
    for k in (1, 3, 5, 10):
        hits = sum(rank <= k for rank in ranks)
        assert scores[f"retrieval_recall@{k}"] == pytest.approx(hits / len(relevant))
        assert scores[f"retrieval_precision@{k}"] == pytest.approx(hits / k)
        if f"hit_rate@{k}" in scores:
            assert scores[f"hit_rate@{k}"] == float(hits > 0)
        if f"ndcg@{k}" in scores:
            gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= k)
            ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))
            assert scores[f"ndcg@{k}"] == pytest.approx(gain / ideal)
    assert {"hit_rate@1", "hit_rate@5", "hit_rate@10", "ndcg@5", "ndcg@10"} <= set(scores)
    assert scores["reciprocal_rank"] == pytest.approx(1 / min(ranks) if ranks else 0.0)


def test_worked_example_of_the_verdict():
    """One triple (supported), 2023 and $900 (not): two of three anchors, so the verdict is FAIL."""
    row = {
        "question": ["When was the Widget released and what did it cost?"],
        "answer": ["Acme released the Widget phone in 2023 for $900."],
        "contexts": [["Acme announced the Widget phone on 5 January 2024. It costs $1,000."]],
    }
    assert fm.score(row, "hallucination")[0].to_pylist() == [pytest.approx(2 / 3)]
    assert fm.verdicts(row["question"], row["answer"], row["contexts"])["verdict"].to_pylist() == ["FAIL"]


PROSE = st.lists(
    st.sampled_from(
        [
            "Machines learn.",
            "However, data is scarce.",
            "Therefore we wait.",
            "\n\n",
            "In conclusion, sophisticated algorithms win.",
        ]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)


def words_of(text):
    return re.findall(r"\w+", text.lower())


@given(st.lists(st.tuples(TEXTS, PROSE), min_size=1, max_size=4), st.sampled_from([1.0, 2.5, 4.0]))
def test_length_of_the_writing_document_with_any_ratio(rows, ratio):
    questions, answers = columns(rows)
    expected = []
    for question, answer in rows:
        written, optimal = len(words_of(answer)), len(words_of(question)) * ratio
        expected.append(max(0.0, 1 - abs(math.log(written / optimal))) if written and optimal else math.nan)
    scores = fm.score({"question": questions, "answer": answers}, f"length_score(length_ratio={ratio})")[0].to_numpy()
    known = ~np.isnan(expected)
    assert scores[known] == pytest.approx(np.array(expected)[known])


@given(st.lists(PROSE, min_size=1, max_size=4), st.sampled_from([5, 10, 100]), st.sampled_from([4, 6, 9]))
def test_structure_and_vocabulary_of_the_writing_document(answers, size, letters):
    table = {"answer": answers, "question": ["What is learning?"] * len(answers)}
    for place, answer in enumerate(answers):
        words = words_of(answer)
        if not words:
            continue
        paragraphs = [part for part in re.split(r"\n\s*\n", answer) if part.strip()]
        expected = min(len(paragraphs) / math.ceil(len(words) / size), 1.0)
        score = fm.score(table, f"paragraph_score(paragraph_words={size})")[0][place].as_py()
        assert score == pytest.approx(expected)
        counts = Counter(words)
        diversity = fm.score(table, "diversity_score")[0][place].as_py()
        assert diversity == pytest.approx(len(counts) / len(words))
        repetition = fm.score(table, "repetition_score")[0][place].as_py()
        assert repetition == pytest.approx(1 - sum(n > 3 for n in counts.values()) / len(words))
        sophisticated = fm.score(table, f"sophistication_score(sophisticated_letters={letters})")[0][place].as_py()
        assert sophisticated <= sum(len(word) > letters for word in words) / len(words) + 1e-12


def test_punctuation_of_the_sources_is_unicode_for_the_grounding_document():
    assert without_punctuation("«да», нет…") == ["да", "нет"]
    assert set(string.punctuation) - {c for c in string.punctuation if unicodedata.category(c).startswith("P")} == set(
        "$+<=>^`|~"
    )
