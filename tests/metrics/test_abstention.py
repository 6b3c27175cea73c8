"""Abstention and answerability."""

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
from fastmetrics.text import statements
from fastmetrics.text.lexicons import lexicon
from tests.reference import abstention as plain
from tests.reference import answerability as oracle
from tests.support import strategies
from tests.support.every_metric import refusing
from tests.support.goldens import tables

TABLES = tables("abstention")

ABBREVIATIONS = lexicon("abbreviations")

PIECES = [
    *("I don't know", "i do not know", "unfortunately", "The context does not mention it", "no answer", "не знаю"),
    *("I'm not sure", "не уверен", "It is 5", "не указано в", "is not mentioned in the book", "though"),
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
    for name, definition in (("abstained", refusing().abstained), ("idk_citations", refusing().idk_citations)):
        ours = [None if math.isnan(score) else score for score in getattr(fm, name)(answers).tolist()]
        assert ours == [definition(answer) for answer in answers], name


@given(
    answers=st.lists(texts, max_size=4),
    phrases=st.lists(
        st.sampled_from(["don't know", "(a|b) [c|paris was]", "[i] do not [a] know", "Не Знаю"]), max_size=3
    ),
)
def test_any_phrases(answers, phrases):
    words = lexicon("contrast"), lexicon("filler"), ABBREVIATIONS
    refuser = plain.Refusing(phrases, *words)
    assert fm.abstained(answers, phrases=phrases).tolist() == [refuser.abstained(answer) for answer in answers]


NAMES = ["correct_abstention", "answered_unanswerable", "wrong_on_answerable", "overall_accuracy"]
EVERY = ",".join([*NAMES, "answer_rate", "abstention_f1"])

answers = st.none() | st.sampled_from(["", "I don't know.", "Paris", "in Paris", "Rome", "не знаю", "Sorry. Paris"])
labels = st.none() | st.booleans()
references = st.none() | st.lists(st.none() | st.sampled_from(["", "Paris", "I don't know.", "Rome"]), max_size=3)
tables_of_answerability = st.lists(st.tuples(answers, labels, references), min_size=1, max_size=12)


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


@given(tables_of_answerability)
def test_every_table_equals_the_plain_definitions(rows):
    made = fm.score(table(rows), EVERY)
    for name in NAMES:
        expected = [getattr(oracle, name)(refusing().abstained, *row) for row in rows]
        assert all(map(alike, made[name].to_pylist(), expected)), (name, made[name].to_pylist(), expected)
    assert made["answer_rate"].to_pylist() == [
        None if row[0] is None else 1 - refusing().abstained(row[0]) for row in rows
    ]


@given(tables_of_answerability)
def test_f1_is_that_of_scikit_learn(rows):
    found = fm.abstention_f1(*table(rows).columns)
    precision, recall, f1 = sklearn_f1(rows)
    assert found.precision == pytest.approx(precision, nan_ok=True)
    assert found.recall == pytest.approx(recall, nan_ok=True)
    assert found.score == pytest.approx(f1, nan_ok=True, rel=1e-15)
    assert float(found) == found.score or math.isnan(found.score)
    assert found.tp + found.fp + found.fn + found.tn == len(scored(rows))


@given(tables_of_answerability, st.integers(1, 5))
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
    assert fm.idk_citations(["I don't know (2).", "I don't know [2]."], pattern=r"\(2\)").tolist() == [1.0, 0.0]


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
