"""Repeats held against the first one: S2's reading beside that of all pairs."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import repeats as reference

QUERIES = st.none() | st.sampled_from(["q1", "q2", "q3"])
LISTS = st.none() | st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)
ANSWERS = st.none() | st.sampled_from(["x", "y", ""])


@given(st.lists(st.tuples(QUERIES, LISTS, ANSWERS), max_size=12), st.integers(1, 4), st.booleans())
def test_repeats_against_the_first(rows, k, numbers):
    queries, lists, answers = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    kept = [(query, list(dict.fromkeys(ids[:k]))) for query, ids, _ in rows if query is not None and ids is not None]
    expected = reference.as_the_first(*zip(*kept, strict=True)) if kept else None
    column = pa.array(lists, pa.list_(pa.string()))
    if numbers:
        places = {"a": 1, "b": 2, "c": 3}
        column = pa.array([ids and [places[one] for one in ids] for ids in lists], pa.list_(pa.int64()))
    found = fm.retrieval_consistency(pa.array(queries, pa.string()), column, k=k, against="first").score
    assert math.isnan(found) if expected is None else found == expected
    kept = [(query, answer) for query, _, answer in rows if query is not None and answer is not None]
    expected = reference.as_the_first(*zip(*kept, strict=True)) if kept else None
    texts = pa.array(answers, pa.string())
    rate = fm.response_exact_match_rate(texts, pa.array(queries, pa.string()), against="first")
    assert math.isnan(rate.score) if expected is None else rate.score == expected
    assert rate.n_pairs == len(kept) - len({query for query, _ in kept})
    assert rate.n_missing == len(rows) - len(kept)


def test_against_first_and_pairs_differ():
    queries, lists = ["q"] * 3, [["a", "b"], ["b", "a"], ["a", "b"]]
    assert fm.retrieval_consistency(queries, lists).score == 1.0
    assert fm.retrieval_consistency(queries, lists, against="first").score == 0.5
    answers = ["x", "y", "y"]
    assert fm.response_exact_match_rate(answers, queries).score == pytest.approx(1 / 3)
    assert fm.response_exact_match_rate(answers, queries, against="first").score == 0.0


CALLS = {
    "question": ["q", "q", "q", "r", "r", "s", None],
    "answer": ["a", "a", "b", "c", "c", "d", "e"],
    "retrieved_ids": [["x"], ["x"], ["y"], ["z"], ["z"], ["w"], ["w"]],
    "answer_embedding": [[1.0, 0.0]] * 7,
    "answer_call": ["1", "1", "2", None, None, "3", "1"],
}
NAMES = ["response_exact_match_rate", "retrieval_consistency", "retrieval_rbo", "response_semantic_consistency"]


def test_rows_that_share_a_call_are_counted_and_noted(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(CALLS), path)
    without = fm.score({name: column for name, column in CALLS.items() if name != "answer_call"}, NAMES)
    assert not any("share a model call" in note for note in fm.summarize(without).notes)
    in_memory = fm.summarize(fm.score(CALLS, NAMES))
    in_files = fm.score(path, output=tmp_path / "s.parquet", metrics=NAMES).summary
    again = fm.summarize(tmp_path / "s.parquet")
    for summary in (in_memory, in_files, again):
        assert summary.corpus == fm.summarize(without).corpus
        [note] = [note for note in summary.notes if "share a model call" in note]
        assert note == (
            f"{', '.join(summary.corpus)}: 2 of 5 scored rows (40 %) share a model call with another row of their "
            "question, so they are equal by construction; answer with repeats (--repeats K) to make a call for each"
        )
        assert set(summary.corpus) == set(NAMES)
    found = fm.response_exact_match_rate(CALLS["answer"], CALLS["question"], CALLS["answer_call"])
    assert (found.n_shared, found.n_rows, found.n_missing) == (2, 5, 1)
    assert fm.response_exact_match_rate(CALLS["answer"], CALLS["question"]).n_shared == 0


def test_answers_of_one_shared_call_are_noted_and_repeats_are_not():
    answered = fm.answer({"question": ["a?", "b?", "a?"]}, lambda question: question)
    summary = fm.summarize(fm.score(answered, "response_exact_match_rate"))
    assert summary.corpus == {"response_exact_match_rate": 1.0}
    assert any("2 of 2 scored rows (100 %) share a model call" in note for note in summary.notes)
    repeated = fm.answer({"question": ["a?", "b?"]}, lambda question: question, repeats=2)
    summary = fm.summarize(fm.score(repeated, "response_exact_match_rate"))
    assert summary.corpus == {"response_exact_match_rate": 1.0}
    assert not any("share a model call" in note for note in summary.notes)


def test_infinite_answers_are_answers_without_a_score():
    table = {"id": ["p", "p", "q", "q"], "m": [1.0, math.inf, 0.0, 1.0]}
    report = fm.results.repeats(table, k=1, threshold=1)["m"]
    assert (report.n_questions, report.n_answers, report.n_missing) == (2, 3, 1)
    assert [rate.pass_at_k.value for rate in report.passes] == [0.75]
