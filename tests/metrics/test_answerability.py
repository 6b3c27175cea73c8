"""Abstaining as a decision: which questions can be answered, what each metric says, F1 as scikit-learn has it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.metric import REGISTRY
from tests.reference import answerability as oracle
from tests.support.every_metric import refusing

NAMES = ["correct_abstention", "answered_unanswerable", "wrong_on_answerable", "overall_accuracy"]
EVERY = ",".join([*NAMES, "answer_rate", "abstention_f1"])

answers = st.none() | st.sampled_from(["", "I don't know.", "Paris", "in Paris", "Rome", "не знаю", "Sorry. Paris"])
labels = st.none() | st.booleans()
references = st.none() | st.lists(st.none() | st.sampled_from(["", "Paris", "I don't know.", "Rome"]), max_size=3)
tables = st.lists(st.tuples(answers, labels, references), min_size=1, max_size=12)


def table(rows):
    types = {"answer": pa.string(), "answerable": pa.bool_(), "reference": pa.list_(pa.string())}
    return pa.table({n: pa.array(v, types[n]) for n, v in zip(types, zip(*rows, strict=True), strict=True)})


def alike(ours, theirs):
    return ours is theirs is None or (
        None not in (ours, theirs) and (ours == theirs or (math.isnan(ours) and math.isnan(theirs)))
    )


def scored(rows):
    """The rows with an answer whose answerability is known."""
    known = [oracle.can_be_answered(refusing().abstained, *row[1:]) is not None for row in rows]
    return [row for row, is_known in zip(rows, known, strict=True) if row[0] is not None and is_known]


def sklearn_f1(rows):
    """Precision, recall and F1 of abstaining, of the rows that have an answer and a known answerability."""
    there = scored(rows)
    truth = [not oracle.can_be_answered(refusing().abstained, *row[1:]) for row in there]
    decided = [refusing().abstained(row[0]) == 1 for row in there]
    return (
        precision_recall_fscore_support(truth, decided, average="binary", zero_division=np.nan)[:3]
        if there
        else [math.nan] * 3
    )


@given(tables)
def test_every_table_equals_the_plain_definitions(rows):
    made = fm.score(table(rows), EVERY)
    for name in NAMES:
        expected = [getattr(oracle, name)(refusing().abstained, *row) for row in rows]
        assert all(map(alike, made[name].to_pylist(), expected)), (name, made[name].to_pylist(), expected)
    assert made["answer_rate"].to_pylist() == [
        None if row[0] is None else 1 - refusing().abstained(row[0]) for row in rows
    ]


@given(tables)
def test_f1_is_that_of_scikit_learn(rows):
    found = fm.abstention_f1(*table(rows).columns)
    precision, recall, f1 = sklearn_f1(rows)
    assert found.precision == pytest.approx(precision, nan_ok=True)
    assert found.recall == pytest.approx(recall, nan_ok=True)
    assert found.score == pytest.approx(f1, nan_ok=True, rel=1e-15)
    assert float(found) == found.score or math.isnan(found.score)
    assert found.tp + found.fp + found.fn + found.tn == len(scored(rows))


@given(tables, st.integers(1, 5))
def test_counts_of_parts_add_up_to_those_of_the_whole(rows, size):
    parts = [fm.score(table(rows[start : start + size]), EVERY) for start in range(0, len(rows), size)]
    whole = fm.summarize(fm.score(table(rows), EVERY))
    pooled = fm.summarize(parts)
    assert pooled.figures == pytest.approx(whole.figures, nan_ok=True, rel=0, abs=0)
    f1 = sklearn_f1(rows)[2]
    assert whole.corpus["abstention_f1"] == pytest.approx(f1, nan_ok=True, rel=1e-15)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_batches_and_threads_change_no_count(monkeypatch, size):
    chance = np.random.default_rng(0)
    kinds = ["I don't know.", "Paris", "Rome", None], [True, False, None], [None, ["Paris"], ["I don't know."], []]
    rows = [tuple(kind[chance.integers(len(kind))] for kind in kinds) for _ in range(300)]
    expected = fm.abstention_f1(*table(rows).columns)
    monkeypatch.setattr(SIZES, "batch_rows", size)
    for threads in (1, 3):
        assert fm.abstention_f1(*table(rows).columns, threads=threads) == expected


def test_label_overrides_references():
    """An alias of the column counts too; where the label is null, the references decide, if there are any."""
    labels = [False, True, None, None]
    for name in ("answerable", "label_answerable"):
        rows = {"answer": ["I don't know."] * 4, name: labels, "reference": ["Paris", None, "Paris", None]}
        scores = fm.score(rows, "correct_abstention")[0].to_pylist()
        assert scores == pytest.approx([1, math.nan, math.nan, None], nan_ok=True)


def test_null_label_without_reference_is_unknown():
    made = fm.score({"answer": ["I don't know."] * 3, "answerable": [True, False, None]}, EVERY)
    assert made["correct_abstention"].to_pylist()[1:] == [1.0, None]
    assert made["overall_accuracy"].to_pylist() == [None, 1.0, None]
    assert made["wrong_on_answerable"].null_count == 2
    assert fm.abstention_f1(["I don't know."] * 3, [True, False, None]).tn == 0
    assert fm.summarize(made)["correct_abstention"].n_missing == 1


def test_suite_omits_metrics_without_answerability():
    assert fm.score({"answer": ["Paris"]}, suites="answerability").schema.names == [
        "abstained",
        "idk_citations",
        "answer_rate",
    ]
    whole = fm.score({"answer": ["Paris"], "reference": ["Paris"]}, suites="answerability").schema.names
    assert set(NAMES) < set(whole)


@pytest.mark.parametrize("labels", [[1, 0], [1.0, 0.0], [True, False], np.array([True, False])])
def test_numbers_are_labels_too(labels):
    assert fm.answered_unanswerable(["Paris"] * 2, labels).tolist() == pytest.approx([math.nan, 1], nan_ok=True)


def test_means_are_shares_of_the_rows_with_scores():
    """Right and wrong on unanswerable questions add up to 1; on answerable ones, abstained, wrong and the rest do."""
    kinds = itertools.product(["I don't know.", "Paris", "Rome", "in Paris"], [["Paris"], None])
    rows = [(answer, None if reference else False, reference) for answer, reference in kinds]
    summary = fm.summarize(fm.score(table(rows), EVERY))
    assert summary["correct_abstention"].mean + summary["answered_unanswerable"].mean == 1
    assert summary["correct_abstention"].n == summary["wrong_on_answerable"].n == 4
    assert summary["wrong_on_answerable"].mean == 1 / 4
    assert summary["overall_accuracy"].mean == 2 / 8
    assert summary.figures["abstention_f1"] == 2 / 6


def test_other_phrases():
    rows = ["No idea."], [False]
    assert fm.correct_abstention(*rows, phrases=["no idea"]).tolist() == [1.0]
    assert fm.answer_rate(rows[0], phrases=["quite unsure"]).tolist() == [1.0]
    assert fm.abstention_f1(*rows, phrases=["quite unsure"]).fn == 1


def test_alternative_columns_replace_each_other():
    for name in NAMES:
        metric = REGISTRY[name]
        assert metric.fits(["answer", "answerable"])
        assert metric.fits(["answer", "reference"])
        assert not metric.fits(["answer"])
        assert not metric.fits(["reference"])


def test_a_null_label_without_a_reference_is_unknown():
    table = {"answer": ["Rome", "Rome", "Rome"], "answerable": [True, None, None], "reference": ["Rome", None, "Rome"]}
    scores = fm.score(table, EVERY.replace(",abstention_f1", ""))
    assert scores["overall_accuracy"].to_pylist() == [1.0, None, 1.0]
    assert [math.isnan(row) if row is not None else None for row in scores["answered_unanswerable"].to_pylist()] == [
        True,
        None,
        True,
    ]
    unlabelled = fm.score({"answer": ["Rome"], "reference": pa.array([None], pa.string())}, ["answered_unanswerable"])
    assert unlabelled["answered_unanswerable"].to_pylist() == [1.0]
