"""Retrieval metrics of rows, and of repeats of a query, against plain-Python definitions and by hand."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.kernels import rankings as kernels
from fastmetrics.kernels.rankings import Ids, in_rank_order, same_bytes
from fastmetrics.retrieval.rankings import fixed_ids, frozen, graded, rankings
from tests.reference import repeats
from tests.reference import retrieval as reference

# (metric, options, definition, whether it needs a grade at the level or a gain)
METRICS = [
    (name, {"k": k, "relevance_level": level}, define)
    for name, define in (
        *[("hit_rate", reference.success), ("reciprocal_rank", reference.reciprocal_rank)],
        *[("retrieval_recall", reference.recall), ("retrieval_precision", reference.precision)],
        *[("retrieval_f1", reference.f1), ("average_precision", reference.average_precision)],
    )
    for k in (None, 1, 3, 50)
    for level in (1, 2)
]

TEXTS = st.sampled_from(["a", "b", "ab", "é", "doc-1", "doc-10", "x" * 8, "x" * 9, "x" * 16 + "y", ""])
NUMBERS = st.sampled_from([0, 1, -5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])


def rows(ids):
    row = st.tuples(st.lists(ids, max_size=7), st.dictionaries(ids, GRADES, max_size=6))
    return st.lists(row, min_size=1, max_size=6)


def expected(define, table, needed, **options):
    """The definition for each row, NaN where nothing is relevant."""
    return [
        define(ranking, grades, **options) if any(grade >= needed for grade in grades.values()) else math.nan
        for ranking, grades in table
    ]


def columns(table):
    return [ids for ids, _ in table], [list(grades) for _, grades in table], [list(g.values()) for _, g in table]


def assert_close(found, wanted):
    np.testing.assert_allclose(found, np.array(wanted, float), rtol=1e-12, atol=1e-12)


@given(table=st.one_of(rows(TEXTS), rows(NUMBERS)))
def test_metrics_equal_their_definitions(table):
    for name, options, define in METRICS:
        wanted = expected(define, table, options["relevance_level"], k=options["k"], level=options["relevance_level"])
        assert_close(getattr(fm, name)(*columns(table), **options), wanted)
    for level in (1, 2):
        wanted = expected(reference.r_precision, table, level, level=level)
        assert_close(fm.r_precision(*columns(table), relevance_level=level), wanted)
    for gain in ("linear", "exponential"):
        for k in (None, 1, 3, 50):
            wanted = expected(reference.ndcg, table, math.ulp(0.0), k=k, gain=gain)
            assert_close(fm.ndcg(*columns(table), k=k, gain=gain), wanted)
    assert fm.repeated_ids(columns(table)[0]).tolist() == [len(ids) - len(set(ids)) for ids, _ in table]


@given(table=rows(TEXTS))
def test_column_types_give_equal_scores(table):
    retrieved, relevant, _ = columns(table)
    wanted = fm.average_precision(retrieved, relevant)
    kinds = [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.string_view())]
    kinds += [pa.list_(pa.dictionary(pa.int32(), pa.string()))] if any(retrieved) and any(relevant) else []
    for kind in kinds:
        arrays = pa.array([[], *retrieved], kind)[1:], pa.array([[], *relevant], kind)[1:]
        np.testing.assert_array_equal(fm.average_precision(*arrays), wanted)
    chunked = [pa.chunked_array([pa.array(some, kinds[0]), pa.array([], kinds[0])]) for some in (retrieved, relevant)]
    np.testing.assert_array_equal(fm.average_precision(*chunked), wanted)
    np.testing.assert_array_equal(fm.average_precision(pd.Series(retrieved), pd.Series(relevant)), wanted)
    series = [pl.Series("ids", some, dtype=pl.List(pl.String)) for some in (retrieved, relevant)]
    np.testing.assert_array_equal(fm.average_precision(*series), wanted)


def test_integer_matrices_are_padded_with_minus_one():
    retrieved = np.array([[4, 2, 7], [9, -1, -1], [-1, -1, -1]])
    relevant = np.array([[2, 7], [9, -1], [1, -1]])
    lists = [[4, 2, 7], [9], []], [[2, 7], [9], [1]]
    for dtype in (np.int64, np.int32, np.int16):
        found = fm.ndcg(retrieved.astype(dtype), relevant.astype(dtype), k=10)
        np.testing.assert_array_equal(found, fm.ndcg(*lists, k=10))
    graded = fm.ndcg(retrieved, relevant, np.array([[2.0, 1.0], [3.0, 9.0], [1.0, 9.0]]))
    np.testing.assert_array_equal(graded, fm.ndcg(*lists, [[2, 1], [3], [1]]))
    assert fm.retrieval_precision(retrieved, relevant, k=2).tolist() == [0.5, 0.5, 0.0]
    unsigned = fm.hit_rate(retrieved[:1].astype(np.uint64), relevant[:1].astype(np.uint64))
    assert unsigned.tolist() == [1.0]
    assert rankings([[5, -1]]).sizes.tolist() == [2]


def test_missing_undefined_and_empty_rankings_differ():
    table = pa.table(
        {
            "retrieved_ids": pa.array([None, [], ["a"], ["a"], ["a"]], pa.list_(pa.string())),
            "relevant_ids": pa.array([["a"], ["a"], None, [], ["a"]], pa.list_(pa.string())),
        }
    )
    scored = fm.score(table, metrics=["hit_rate@1", "ndcg@10"])
    for column in scored.columns:
        missing, empty, unknown, undefined, hit = column.to_pylist()
        assert (missing, empty, unknown, hit) == (None, 0.0, None, 1.0)
        assert math.isnan(undefined)


def test_score_accepts_cutoffs_options_and_grades():
    table = {
        "id": [1, 2],
        "retrieved_ids": [["a", "b", "c"], ["c", "a", "b"]],
        "relevant_ids": [["b", "c"], ["c", "x"]],
        "relevance": [[3, 1], None],
    }
    metrics = ["ndcg@2", "ndcg@2(gain='exponential')", "precision@5", "recall@2(relevance_level=3)", "reciprocal_rank"]
    scored = fm.score(table, metrics=metrics).to_pydict()
    ideal = 3 + 1 / math.log2(3)
    assert scored["ndcg@2"] == pytest.approx([3 / math.log2(3) / ideal, 1 / (1 + 1 / math.log2(3))], abs=1e-15)
    best = 7 + 1 / math.log2(3)
    assert scored["ndcg@2(gain='exponential')"][0] == pytest.approx(7 / math.log2(3) / best, abs=1e-15)
    assert scored["retrieval_precision@5"] == [0.4, 0.2]
    assert scored["retrieval_recall@2(relevance_level=3)"][0] == 1.0
    assert math.isnan(scored["retrieval_recall@2(relevance_level=3)"][1])
    assert scored["reciprocal_rank"] == [0.5, 1.0]


def test_repeated_id_counts_at_its_first_rank_only():
    retrieved, relevant = [["a", "a", "b"]], [["a", "b", "b"]]
    assert fm.retrieval_precision(retrieved, relevant, k=2).tolist() == [0.5]
    assert fm.retrieval_recall(retrieved, relevant, k=3).tolist() == [1.0]
    assert fm.average_precision(retrieved, relevant).tolist() == [(1 + 2 / 3) / 2]
    assert fm.repeated_ids(retrieved).tolist() == [1.0]


def colliding_ids(count: int) -> list[str]:
    """Texts of sixteen bytes of ASCII that have one hash where its seed is 0: the second half takes back the first."""
    odd, mix, half = np.uint64(0x9E3779B97F4A7C15 * 17 % 2**64), np.uint64(0xD6E8FEB86659FD93), np.uint64(32)
    first = np.random.default_rng(7).integers(97, 123, (count * 280, 8)).astype(np.uint8).view("<u8").ravel()
    key = (odd ^ first) * mix
    second = key ^ (key >> half)
    second ^= second[0] ^ np.uint64(0x6161616161616161)
    ascii_ = (second & np.uint64(0x8080808080808080)) == 0
    halves = np.unique(np.stack([first[ascii_], second[ascii_]], axis=1), axis=0)
    return [row.tobytes().decode() for row in halves[:count]]


def test_ids_made_to_collide_take_no_longer_than_others():
    made, seconds = colliding_ids(8_000), []
    assert len(set(made)) == 8_000
    others = [f"{number:016}" for number in range(8_000)]
    fm.retrieval_recall([others[:10]], [others[:10]])
    for ids in (others, made):
        began = time.process_time()
        assert fm.retrieval_recall([ids], [ids]).tolist() == [1.0]
        assert fm.repeated_ids([ids]).tolist() == [0.0]
        seconds.append(time.process_time() - began)
    assert seconds[1] < 5 * seconds[0] + 0.05


def test_ids_with_colliding_hashes_are_compared_by_bytes():
    data = np.frombuffer(b"abcabd", np.uint8)
    keys = np.zeros(2, np.uint64)
    bounds = np.array([0, 3]), np.array([3, 6])
    for array in (keys, *bounds):
        array.setflags(write=False)
    ids = Ids(keys, data, *bounds)
    starts = np.array([0, 2])
    starts.setflags(write=False)
    assert kernels.repeats(ids, starts).tolist() == [False, False]
    assert not kernels.same_text(ids, 0, ids, 1)
    assert kernels.same_text(ids, 1, ids, 1)


def test_long_names_are_aliases_of_the_functions():
    assert fm.recall_at_k is fm.retrieval_recall
    assert fm.precision_at_k is fm.retrieval_precision


REPEATS = st.lists(st.tuples(st.sampled_from("pqr"), st.lists(TEXTS, max_size=6, unique=True)), max_size=9)


@given(table=REPEATS, k=st.integers(1, 7), p=st.sampled_from([0.5, 0.9, 0.98]))
def test_repeats_equal_their_definitions(table, k, p):
    queries, lists = [query for query, _ in table], [ids for _, ids in table]
    queries_arrow, lists_arrow = pa.array(queries, pa.string()), pa.array(lists, pa.list_(pa.string()))
    wanted = repeats.over_repeats(queries, [ids[:k] for ids in lists], repeats.jaccard)
    found = fm.retrieval_consistency(queries_arrow, lists_arrow, k=k).score
    assert math.isnan(found) if wanted is None else found == pytest.approx(wanted, abs=1e-12)
    wanted = repeats.over_repeats(queries, lists, lambda a, b: repeats.rank_biased_overlap(a, b, p))
    found = fm.retrieval_rbo(queries_arrow, lists_arrow, p=p).score
    assert math.isnan(found) if wanted is None else found == pytest.approx(wanted, abs=1e-12)
    if table:
        again = fm.retrieval_rbo(queries[::-1], pa.array(lists[::-1], pa.list_(pa.string())), p=p).score
        assert np.array_equal(again, found, equal_nan=True)


def test_incomplete_repeats_are_excluded():
    lists = [["a"], ["a"], None, ["z"], ["b"]]
    assert fm.retrieval_consistency([1, 1, 1, None, None], lists).score == 1.0
    assert math.isnan(fm.retrieval_rbo(["a", "b"], [["x"], ["x"]]).score)


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
