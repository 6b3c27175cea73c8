"""The sources' formulas, written once more from their text alone, against the metrics that carry their names.

Here are S0, S1 and the retrieval of S2; ``test_sources_claims`` has S3, ``test_sources_writing`` S4, and
``test_sources_tiers`` the generation, the judges and the latencies of S0 and S2.  Nothing is imported from
``tests/reference``: a definition misread there would be misread twice.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.support.program import jsonl, program

WORDS = st.sampled_from(
    [
        *("the", "Paris,", "paris!", "in", "2023", "AI.", "machine", "learning;", "however", "(x)", "«да»", "нет."),
        *("a", "an"),
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
    matches = fm.score({"answer": answers, "reference": references}, "exact_match(tokenizer='plain')")[0]
    assert matches.to_pylist() == [float(a == r) for a, r in pairs]


def test_punctuation_of_the_sources_is_unicode_for_the_grounding_document():
    assert without_punctuation("«да», нет…") == ["да", "нет"]
    assert set(string.punctuation) - {c for c in string.punctuation if unicodedata.category(c).startswith("P")} == set(
        "$+<=>^`|~"
    )


SUPPORTING = ("Paris is in France", "Ada wrote the first program", "The tower has three floors")
CONTEXTS = ("France has Paris", "A program by Ada", "Three floors")
ANGLES = {text: angle for angle, pair in enumerate(zip(SUPPORTING, CONTEXTS, strict=True)) for text in pair}
IDK = ("I don't know", "I do not know")
MARKS = st.sampled_from(["", " [1]", " [2]", " [3]", " [4]", " [1][2]"])
SENTENCES = st.lists(st.tuples(st.sampled_from(SUPPORTING + IDK), MARKS), min_size=1, max_size=4)


def turned(texts):
    """Directions in a plane: pairs of a sentence and its context are 40 degrees apart, all others 60 or more."""
    keys = [text.rstrip(" .") for text in texts]
    angles = [math.radians(100 * ANGLES.get(key, 3) + 40 * (key in CONTEXTS)) for key in keys]
    return np.array([[math.cos(angle), math.sin(angle)] for angle in angles])


@given(st.lists(SENTENCES, min_size=1, max_size=4), st.sampled_from([0.65, 0.7, 0.8]), st.booleans())
def test_overlap_and_faithfulness_of_the_grounding_document(rows, threshold, answerable):
    answers = [" ".join(f"{text}{mark}." for text, mark in row) for row in rows]
    table = {"answer": answers, "contexts": [list(CONTEXTS)] * len(rows), "answerable": [answerable] * len(rows)}
    expected = []
    for row in rows:
        supported = 0
        for text, mark in row:
            numbers = [int(digit) for digit in re.findall(r"\d", mark)]
            if len(numbers) == 1 and numbers[0] <= len(CONTEXTS) and text not in IDK:
                own = SUPPORTING.index(text) == numbers[0] - 1
                supported += (math.cos(math.radians(40)) if own else 0.5) >= threshold
        expected.append(supported / len(row))
    overlap = fm.grounding_overlap(table["answer"], table["contexts"], threshold=threshold, embedder=turned)
    assert overlap.tolist() == pytest.approx(expected)
    faithful = fm.overlap_faithfulness(*table.values(), threshold=threshold, embedder=turned)
    refused = [answerable and abstained for abstained in fm.abstained(answers)]
    proxy = [0.0 if no else min(1.0, 0.6 + 0.4 * share) for no, share in zip(refused, expected, strict=True)]
    assert faithful.tolist() == pytest.approx(proxy)


@pytest.mark.parametrize("cited", [0, 1, 3])
def test_the_sum_of_cited_refusals_must_be_zero(tmp_path, cited):
    """The count of the whole table is a figure of the summary under both names, and gates take both."""
    rows = [{"id": n, "answer": f"I don't know{' [1]' if n < cited else ''}. It was Ada [2]."} for n in range(8)]
    scores = tmp_path / "scores.parquet"
    done = program("score", jsonl(tmp_path / "rows.jsonl", *rows), "-o", scores, "-m", "idk_citations")
    assert done.code == 0, done.err
    figures = fm.summarize(fm.score(rows, "idk_citations")).figures
    assert figures["idk_citations.sum"] == figures["IDK+Cit Count"] == cited
    assert "IDK+Cit Count" in done.out
    for rule in ("idk_citations.sum <= 0", "IDK+Cit Count == 0"):
        checked = program("gate", scores, "-r", rule)
        assert checked.code == int(cited > 0), checked.out + checked.err


def test_operations_of_the_grounding_document():
    """Median time, mean tokens of prompt and completion over all rounds, and the share of refusals."""
    table = {
        "answer": ["I don't know.", "Paris.", "Rome.", "I don't know.", "Oslo."],
        "latency_ms": [100.0, 900.0, 250.0, 40.0, 300.0],
        "prompt_tokens": [[10, 20], [30], [5, 5, 5], [1], [100]],
        "completion_tokens": [[1, 2], [3], [1, 1, 1], [4], [7]],
    }
    figures = fm.summarize(fm.score(table, "abstained,latency_ms,total_tokens")).figures
    assert figures["P50 Latency (ms)"] == figures["latency_ms.p50"] == 250.0
    assert figures["Avg Total Tokens"] == pytest.approx((33 + 33 + 18 + 5 + 107) / 5)
    assert figures["abstain_rate"] == 2 / 5


def test_the_nearest_of_several_embedded_references_counts(tmp_path):
    """``embed`` with its defaults on rows with lists of references, and the cosine of the nearest one."""
    rows = [
        {"id": 1, "question": "Where?", "answer": "In Paris", "reference": ["In Rome", "In Paris, France"]},
        {"id": 2, "question": "Who?", "answer": "Ada", "reference": ["Ada Lovelace"]},
        {"id": 3, "question": "When?", "answer": "Now", "reference": []},
    ]
    done = program("vectors", "embed", jsonl(tmp_path / "rows.jsonl", *rows), "-o", tmp_path / "embedded.parquet")
    assert done.code == 0, done.err
    embedded = pq.read_table(tmp_path / "embedded.parquet")
    expected = []
    for row in embedded.to_pylist():
        a = np.array(row["answer_embedding"])
        cosines = [float(a @ np.array(b)) / math.hypot(*a) / math.hypot(*b) for b in row["reference_embedding"]]
        expected.append(max(cosines, default=None))
    scores = fm.score(embedded, "semantic_similarity")["semantic_similarity"].to_pylist()
    assert scores[:2] == pytest.approx(expected[:2], abs=1e-6)
    assert scores[2] is None
