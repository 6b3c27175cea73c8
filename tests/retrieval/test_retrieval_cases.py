"""Retrieval cases by hand: ids judged twice, grades beyond a scale, rankings of unequal length, ids as floats."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.kernels.rankings import in_rank_order, same_bytes
from fastmetrics.retrieval.rankings import fixed_ids, frozen, graded, rankings
from tests.reference import repeats
from tests.reference import retrieval as reference

LOG3 = math.log2(3)


@pytest.mark.parametrize("ids", [("a", "b"), (7, 8)])
def test_first_grade_of_a_repeated_id_counts_in_ranking_and_ideal(ids):
    a, b = ids
    retrieved, relevant, grades = [[b, a]], [[b, a, a, b]], [[1, 2, 3, 0]]
    assert fm.ndcg(retrieved, relevant, grades).tolist() == [(1 + 2 / LOG3) / (2 + 1 / LOG3)]
    assert fm.retrieval_recall(retrieved, relevant, grades, k=1, relevance_level=1).tolist() == [0.5]
    assert fm.hit_rate(retrieved, relevant, grades, relevance_level=3).tolist() == [
        pytest.approx(math.nan, nan_ok=True)
    ]


def test_repeated_judgement_in_a_later_query_keeps_first_grade():
    run = {"p": {"x": 1.0}, "q": {"a": 2.0, "b": 1.0}}
    judged = pa.table({"qid": ["p", "q", "q", "q"], "docid": ["x", "b", "a", "a"], "rel": [1, 2, 1, 3]})
    found = fm.rank(run, judged, "ndcg", duplicates="first").per_query["ndcg"].to_pylist()
    assert found == [1.0, (1 + 2 / LOG3) / (2 + 1 / LOG3)]


def test_grade_above_the_maximum_counts_as_the_maximum_in_err():
    run, grades = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"a": 5, "b": 2, "c": -1}
    for highest in (2, 3, 4):
        found = fm.rank(run, {"q": grades}, [f"ERR(max_grade={highest})"]).mean
        stop = 1 - 2.0**-highest, 3 / 2.0**highest
        assert found == {f"ERR(max_grade={highest})": stop[0] + (1 - stop[0]) * stop[1] / 2}
        assert list(found.values()) == [reference.expected_reciprocal_rank("abc", grades, None, highest)]
    assert fm.rank(run, {"q": grades}, "ERR").mean["ERR"] == 15 / 16 + 1 / 16 * 3 / 16 / 2


def test_rbo_of_rankings_of_unequal_length():
    """Webber, Moffat and Zobel 2010, equation 32, written out for lengths 1 and 3 with p = 1/2.

    Of "a" and "bac": X₁ = 0, X₂ = X₃ = 1, and X_s = X₁ = 0, so nothing is extrapolated but the tail X₃/3.
    Of "b" and "bac": X₁ = X₂ = X₃ = 1, and the short ranking is taken to go on agreeing wholly.
    """
    none_first = (1 / 2 * 1 / 4 + 1 / 3 * 1 / 8) + 1 / 3 * 1 / 8
    assert fm.retrieval_rbo([1, 1], [["a"], ["b", "a", "c"]], p=0.5).score == pytest.approx(none_first, abs=1e-15)
    shared = 1 * 1 / 2 + 1 / 2 * 1 / 4 + 1 / 3 * 1 / 8
    went_on = 1 / 2 * 1 / 4 + 2 / 3 * 1 / 8
    assert fm.retrieval_rbo([1, 1], [["b"], ["b", "a", "c"]], p=0.5).score == shared + went_on + 1 / 8 == 1.0
    assert fm.retrieval_rbo([1, 1], [[], ["b"]]).score == 0.0
    for one, other in (("ab", "cbad"), ("abc", "cadbefg"), ("a", "bcdea"), ("xyab", "ab")):
        expected = repeats.rank_biased_overlap(one, other, 0.7)
        for pair in ([list(one), list(other)], [list(other), list(one)]):
            assert fm.retrieval_rbo([1, 1], pair, p=0.7).score == pytest.approx(expected, abs=1e-14)


def test_float_ids_in_text_stay_text(tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_text("qid,pid,score\n1,9007199254740993,2\n1,9007199254740992,1\n")
    assert fm.rank(path, {"1": {"9007199254740993": 1}}, "mrr").mean["mrr"] == 1.0


def test_empty_rankings_agree_only_with_each_other():
    for lists, expected in (([[], []], 1.0), ([[], ["a"]], 0.0), ([[], [], ["a"]], 1 / 3), ([["a"], ["a"]], 1.0)):
        queries, given = ["q"] * len(lists), pa.array(lists, pa.list_(pa.string()))
        assert fm.retrieval_consistency(queries, given).score == expected
        assert fm.retrieval_rbo(queries, given).score == pytest.approx(expected)
        assert repeats.over_repeats(queries, lists, repeats.jaccard) == expected


@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\x0b", "\x0c", "\t \r"])
def test_any_white_space_separates_trec_fields(tmp_path: Path, blank):
    """As C's ``isspace`` has it, before the first field, between fields, and before the line's end."""
    fields = [["q", "Q0", "a", "1", "2.5", "tag"], ["q", "Q0", "b", "2", "1.5", "tag"], ["r", "Q0", "c", "1", "1"]]
    judged = [["q", "0", "b", "1"], ["r", "0", "c", "2"]]
    for edge in ("", blank):
        for name, rows in (("run.txt", fields), ("qrels.txt", judged)):
            first, *others = rows  # spaces in the first line; with tabs the file would be read as a table
            text = "".join(f"{edge}{blank.join(row)}{edge}\n" for row in others)
            (tmp_path / name).write_bytes(f"{' '.join(first)}\n{text}{blank}\n".encode())
        found = fm.rank(tmp_path / "run.txt", tmp_path / "qrels.txt", "mrr,ndcg")
        assert found.per_query["query_id"].to_pylist() == ["q", "r"]
        assert found.mean == {"mrr": 0.75, "ndcg": (1 + 1 / LOG3) / 2}


def test_plus_signs_of_scores_are_ignored(tmp_path: Path):
    """Arrow reads no plus sign, so another reader does: to the last digit, and it names lines as the first does."""
    scores = {"d": 1.0000000000000002, "c": 1.0, "b": 1e300, "a": 1.0000000000000004}
    plain = "".join(f"q Q0 {doc} 0 {score!r} t\n" for doc, score in scores.items())
    signed = "".join(f"q Q0 {doc} 0 +{score!r} t\n" for doc, score in scores.items())
    expected = fm.rank({"q": scores}, {"q": {"d": 1}}, "mrr").mean
    assert expected == {"mrr": 1 / 3}
    for text in (plain, signed, signed.replace("+", "", 2)):
        (tmp_path / "run.txt").write_text(text)
        assert fm.rank(tmp_path / "run.txt", {"q": {"d": 1}}, "mrr").mean == expected
    (tmp_path / "run.txt").write_text(f"# a comment\n\n{signed}\nq Q0 e 0 +one t\n")


def test_judgement_cache_distinguishes_grades():
    """A ranking remembers its judgement: of the same relevant ids with other grades it is another one."""
    retrieved, relevant = rankings(pa.array([["a", "b"]]), "r"), rankings(pa.array([["b", "a"]]), "g")
    for grades in ([1.0, 2.0], [3.0, 4.0], None):
        given = None if grades is None else np.array(grades)
        found = graded(retrieved, relevant, given)
        assert found.grades.tolist() == ([1.0, 1.0] if grades is None else grades[::-1])


def test_set_f_weighs_recall_by_beta():
    """One of two retrieved is relevant, of three that are: P = 1/2, R = 1/3."""
    run, judged = {"q": {"a": 2.0, "x": 1.0}}, {"q": {"a": 1, "b": 1, "c": 1}}
    for beta in (0.5, 1.0, 3.0):
        name = f"set_F(beta={beta})"
        expected = (beta + 1) * (1 / 6) / (1 / 3 + beta / 2)
        assert fm.rank(run, judged, name).mean[name] == pytest.approx(expected)


def test_documents_of_grade_0_count_as_judged():
    """bpref and the like leave out what nobody judged, not what was judged to be of no use."""
    run, judged = {"q": {"x": 3.0, "bad": 2.0, "a": 1.0}}, {"q": {"a": 1, "bad": 0}}
    assert fm.rank(run, judged, "P(judged_only=True)@1").mean["P(judged_only=True)@1"] == 0.0


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 40])
def test_texts_are_compared_to_their_last_byte(size):
    text = np.arange(size, dtype=np.uint8) + 65
    padded = np.concatenate([[1, 2, 3], text, [4]]).astype(np.uint8)
    assert same_bytes(frozen(text), 0, frozen(padded), 3, size)
    for place in range(size):
        other = padded.copy()
        other[3 + place] = 0
        assert not same_bytes(frozen(text), 0, frozen(other), 3, size)


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 33, 100])
def test_queries_of_any_length_are_sorted_stably(size):
    scores = np.random.default_rng(size).integers(0, 8, 2 * size).astype(np.float64)
    values = np.arange(2.0 * size)
    starts = np.array([0, size, 2 * size])
    expected = np.concatenate([np.argsort(-half, kind="stable") for half in (scores[:size], scores[size:])])
    expected[size:] += size
    nobody = fixed_ids(np.zeros(0, np.uint64))
    ordered = in_rank_order(frozen(values), frozen(scores), nobody, frozen(starts))
    assert ordered.tolist() == expected.tolist()
