"""Grounding against a plain-Python reading of S1, on answers whose sentences are known."""

from __future__ import annotations

import math
import re
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import fastmetrics as fm
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.vectors.embedder import Embedder

WORDS = ["Apples", "Bread", "Cheese", "Dates"]


def letters(texts):
    """A made-up model: how often each small letter occurs."""
    return np.array([[text.lower().count(chr(97 + code)) for code in range(26)] for text in texts], np.float32)


@pytest.fixture(scope="module")
def embedder():
    return Embedder(letters)


def cosine(one, other):
    a, b = letters([one, other]).astype(float).tolist()
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else math.nan


def judge(sentence, contexts, tau):
    """S1's rule for one sentence that is no "I don't know"."""
    marks = re.findall(r"\[(\d+)\]", sentence)
    if len(marks) != 1 or not 1 <= int(marks[0]) <= len(contexts):
        return False
    return cosine(re.sub(r"\s*\[\d+\]", "", sentence), contexts[int(marks[0]) - 1]) >= tau


sentence = st.builds(
    lambda words, marks: " ".join(words) + "".join(f" [{mark}]" for mark in marks) + ".",
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.lists(st.integers(0, 4), max_size=2),
)


@given(
    st.lists(
        st.tuples(st.lists(sentence, max_size=4), st.lists(st.sampled_from([*WORDS, "Eggs"]), max_size=3)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([0.3, 0.65, 0.9]),
)
def test_equals_the_plain_rule(embedder, rows, tau):
    answers = [" ".join(sentences) for sentences, _ in rows]
    contexts = pa.array([passages for _, passages in rows], pa.list_(pa.string()))
    expected = [
        sum(judge(one, passages, tau) for one in sentences) / len(sentences) if sentences else 0.0
        for sentences, passages in rows
    ]
    assert fm.grounding_overlap(answers, contexts, threshold=tau, embedder=embedder).tolist() == expected
    faithful = fm.overlap_faithfulness(answers, contexts, threshold=tau, embedder=embedder)
    assert faithful == pytest.approx([min(1, 0.6 + 0.4 * overlap) for overlap in expected])


def test_evidence_explains_the_score(embedder):
    answer = "Bread [1]. Bread [2]. Bread. Bread [1][2]. Cheese [3]. I don't know [1]. Bread [0]."
    table = grounding_evidence([answer], [["Bread", "Qqq"]], embedder=embedder)
    assert table["reason"].to_pylist() == [
        *("supported", "below threshold", "no citation", "several citations", "citation out of range"),
        *("says it does not know", "citation out of range"),
    ]
    assert table["supported"].to_pylist() == [True] + 6 * [False]
    assert table["citation"].to_pylist() == [1, 2, None, None, 3, 1, 0]
    assert table["context"].to_pylist() == ["Bread", "Qqq", None, None, None, "Bread", None]
    assert table["cosine"].to_pylist() == [pytest.approx(1.0), 0.0, None, None, None, None, None]
    assert table["sentence"].to_pylist()[3] == "Bread [1][2]."
    assert fm.grounding_overlap([answer], [["Bread", "Qqq"]], embedder=embedder).tolist() == [1 / 7]


def test_abstaining_from_an_answerable_question_is_unfaithful(embedder):
    answers = ["I don't know."] * 6 + ["Bread [1]."]
    contexts = [["Bread"]] * 7
    flags = [True, False, None, None, None, None, None]
    references = [None, "Bread", ["Bread"], None, ["I don't know."], ["I don't know.", "Bread"], None]
    references = [one if one is None or isinstance(one, list) else [one] for one in references]
    found = fm.overlap_faithfulness(answers, contexts, flags, pa.array(references), embedder=embedder)
    assert found.tolist() == [0.0, 0.6, 0.0, 0.6, 0.6, 0.0, 1.0]
    alone = fm.overlap_faithfulness(answers, contexts, reference=["Bread"] * 7, embedder=embedder)
    assert alone.tolist() == [0.0] * 6 + [1.0]


def test_missing_inputs_are_null_and_no_contexts_score_zero(embedder):
    table = pa.table(
        {
            "answer": ["Bread [1].", None, "Bread [1].", "Bread [2].", "", "Bread [1]."],
            "contexts": pa.array([["Bread"], ["Bread"], [], [None, "Bread"], ["Bread"], None], pa.list_(pa.string())),
        }
    )
    found = fm.grounding_overlap(table["answer"], table["contexts"], embedder=embedder)
    assert found[[0, 2, 3, 4]].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert np.isnan(found[[1, 5]]).all()
    single = fm.grounding_overlap(["Bread [1]."], ["Bread"], embedder=embedder)
    assert single.tolist() == [1.0]


def test_another_citation_pattern(embedder):
    answers = ["Bread (source 1). Bread [1]."]
    options = {"pattern": r"\(source (\d+)\)", "embedder": embedder}
    assert fm.grounding_overlap(answers, [["Bread"]], **options).tolist() == [0.5]


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        (r"[\[［](\d+)[\]］]", [1, 2, None, None]),
        (r"\u3010(\d+)\u3011", [None, None, 3, None]),
        (r"\[(\d+)\]|\((\d+)\)", [1, None, None, 4]),
        (r"\[(\d+)\]|(нет)", [1, None, None, None]),
        (r"\((\d{500})\)", [None] * 4),
    ],
)
def test_citation_patterns_of_any_script(embedder, pattern, numbers):
    answer = "Хлеб [1]. Хлеб ［2］. Хлеб 【3】. Хлеб (4)."
    found = grounding_evidence([answer], [["Bread"] * 4], pattern=pattern, embedder=embedder)
    assert found["citation"].to_pylist() == numbers
    digits = grounding_evidence([f"Bread ({'9' * 5000})."], [["Bread"]], pattern=r"\((\d+)\)", embedder=embedder)
    assert digits["reason"].to_pylist() == ["citation out of range"]


def test_citation_mark_is_removed_for_any_bytes():
    asked = []

    def model(texts):
        asked.extend(texts)
        return letters(texts)

    fm.grounding_overlap(["Хлеб ［1］."], [["Хлеб"]], pattern=r"[\[［](\d+)[\]］]", embedder=Embedder(model))
    assert "Хлеб." in asked


def test_a_row_without_contexts_has_none_to_cite(embedder):
    contexts = pa.array([[], ["Bread"]], pa.list_(pa.string()))
    found = grounding_evidence(
        ["Bread [1]."] * 2, contexts, threshold=-1.0, embedder=Embedder(lambda t: letters(t) + 1)
    )
    assert found["reason"].to_pylist() == ["citation out of range", "supported"]
    assert found["context"].to_pylist() == [None, "Bread"]
    overlap = fm.grounding_overlap(
        ["Bread [1]."] * 2, contexts, threshold=-1.0, embedder=Embedder(lambda t: letters(t) + 1)
    )
    assert overlap.tolist() == [0.0, 1.0]


def test_lone_surrogates(embedder):
    found = fm.grounding_overlap(["Bread\ud800 [1].", "Bread [1]."], [["Bread"], ["Bread\udc00"]], embedder=embedder)
    assert found.tolist() == [1.0, 1.0]
    assert grounding_evidence(["Bread\ud800 [1]."], [["Bread"]], embedder=embedder)["supported"].to_pylist() == [True]


def test_each_distinct_text_is_embedded_once():
    asked = []

    def model(texts):
        asked.extend(texts)
        time.sleep(0.02)  # long enough for another thread to make the same call
        return letters(texts)

    answers = [f"Bread number {'abcdefghij'[row % 10]} [1]." for row in range(9000)]
    fm.grounding_overlap(answers, [["Bread"]] * 9000, embedder=model, threads=2)
    assert len(asked) == 1 + 10 + 1
    assert len(set(asked)) == 12


def test_the_same_for_any_number_of_threads(embedder):
    rng = np.random.default_rng(0)
    answers = [" ".join(f"{rng.choice(WORDS)} [{rng.integers(1, 4)}]." for _ in range(5)) for _ in range(9000)]
    contexts = [list(rng.choice(WORDS, 2)) for _ in range(9000)]
    one, two = (fm.grounding_overlap(answers, contexts, embedder=embedder, threads=threads) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_only_asked_for_by_name():
    named = plan(["answer", "contexts"], ScoreRequest(["grounding_overlap(threshold=0.5)"]))
    assert named.scores[0].options["threshold"] == 0.5
    assert "grounding_overlap" not in [one.name for one in plan(["answer", "contexts"], ScoreRequest()).scores]


def test_cosine_separates_supported_claims(data_folder):
    from pyarrow import parquet

    rows = parquet.read_table(data_folder / "dev" / "expertqa_claims.parquet").to_pylist()
    rows = [row for row in rows if row["contexts_have_text"] and row["contexts"] and row["human_support"] != "N/A"]
    answers = [re.sub(r"\s*\[\d+\]", "", row["answer"]).strip().rstrip(".") + " [1]." for row in rows]
    model = Embedder(f"model2vec:{data_folder}/models/potion-base-4m-int8")
    table = grounding_evidence(answers, [[" ".join(row["contexts"])] for row in rows], embedder=model)
    best = np.full(len(rows), -1.0)
    np.fmax.at(best, table["row"].to_numpy(), table["cosine"].to_pandas().to_numpy(float))
    assert roc_auc_score([row["human_support"] == "Complete" for row in rows], best) > 0.5
