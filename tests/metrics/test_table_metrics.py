"""Metrics of whole tables: sums, groups and matrices."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics import repeated_questions
from fastmetrics.metrics.metric import REGISTRY
from tests.reference import repeats as reference
from tests.support.program import jsonl, program
from tests.support.table_files import write


def made(rows, seed=0):
    """Questions that repeat, with whatever is held against each other; one cell in ten is null."""
    chance = random.Random(seed)

    def vector():
        return [float(np.float32(chance.gauss(0, 1))) for _ in range(5)]

    makers = {
        "question": lambda: chance.choice(["who?", "what?", "wo?", "где?"]),
        "answer": lambda: chance.choice(["yes", "no", ""]),
        "retrieved_ids": lambda: chance.sample(["a", "b", "c", "d"], chance.randint(0, 4)),
        "answer_embedding": lambda: chance.choice([vector(), vector(), [0.0] * 5]),
        "embedding": vector,
        "ratings": lambda: [chance.choice([1, 2, 3, None]) for _ in range(3)],
    }
    cells = {name: [None if chance.random() < 0.1 else make() for _ in range(rows)] for name, make in makers.items()}
    return {"id": list(range(rows)), **cells}


TABLE = made(60)
REPEATS = [
    *("retrieval_consistency", "retrieval_consistency@2", "retrieval_consistency(against='first')", "retrieval_rbo"),
    *("retrieval_rbo(p=0.5)", "response_exact_match_rate", "response_exact_match_rate(against='first')"),
    "response_semantic_consistency",
]
NAMES = [*REPEATS, "embedding_geometry@3", "rater_agreement"]


def typed(table):
    types = {"retrieved_ids": pa.list_(pa.string()), "ratings": pa.list_(pa.float64())}
    types |= dict.fromkeys(("embedding", "answer_embedding"), pa.list_(pa.float32()))
    return pa.table({name: pa.array(values, types.get(name)) for name, values in table.items()})


def by_functions(table):
    """The same figures by the functions, to which whole columns are given."""
    column = {name: typed(table)[name].combine_chunks() for name in table}
    question, lists = column["question"], column["retrieved_ids"]
    figures = {
        "retrieval_consistency": repeated_questions.consistency(question, lists, 10, "pairs"),
        "retrieval_consistency@2": repeated_questions.consistency(question, lists, 2, "pairs"),
        "retrieval_consistency(against='first')": repeated_questions.consistency(question, lists, 10, "first"),
        "retrieval_rbo": repeated_questions.rank_biased_overlap(question, lists, 0.9),
        "retrieval_rbo(p=0.5)": repeated_questions.rank_biased_overlap(question, lists, 0.5),
        "response_exact_match_rate": repeated_questions.exact_match_rate(column["answer"], question),
        "response_exact_match_rate(against='first')": repeated_questions.exact_match_rate(
            column["answer"], question, "first"
        ),
        "response_semantic_consistency": repeated_questions.semantic_consistency(column["answer_embedding"], question),
    }
    told = {name: repeats.score for name, repeats in figures.items()}
    space = fm.vectors.geometry(column["embedding"].drop_null(), k=3).figures
    told |= {f"embedding_geometry@3.{name}": value for name, value in space.items()}
    raters = np.array([[math.nan if one is None else one for one in row] for row in TABLE["ratings"] if row])
    agreed = fm.stats.agreement(raters.T).figures
    return told | {f"rater_agreement.{name}": value for name, value in agreed.items()}


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.float64(value).tobytes() == np.float64(other[name]).tobytes(), name


@pytest.fixture(scope="module")
def expected():
    return by_functions(TABLE)


def test_figures_equal_the_functions_for_any_batches(expected, monkeypatch):
    scores = fm.score(typed(TABLE), [*NAMES, "answer_length"])
    same(fm.summarize(scores).corpus, expected)
    same(fm.summarize(iter(scores.to_batches(max_chunksize=7))).corpus, expected)
    same(fm.summarize(pa.RecordBatchReader.from_batches(scores.schema, scores.to_batches(7))).corpus, expected)
    same(fm.summarize(fm.score(typed(TABLE), NAMES)).corpus, expected)  # no row metric
    monkeypatch.setattr(SIZES, "batch_rows", 9)
    for threads in (1, 2):
        same(fm.summarize(fm.score(typed(TABLE), NAMES, threads=threads)).corpus, expected)
    parts = [fm.score(typed(TABLE).slice(start, 17), NAMES) for start in range(0, 60, 17)]
    same(fm.summarize(parts).corpus, expected)


def test_metrics_of_the_same_rows_share_a_column():
    scores = fm.score(typed(TABLE), [*REPEATS, "answer_length"])
    assert scores.schema.names[1:] == [
        *("answer_length", "repeats.retrieved_ids", "repeats.answer", "repeats.answer_embedding"),
    ]
    assert scores["repeats.answer"].type == pa.list_(pa.int64())
    pairs = zip(TABLE["question"], TABLE["answer"], strict=True)
    lacking = sum(question is None or answer is None for question, answer in pairs)
    assert scores["repeats.answer"].null_count == lacking


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "arrow", "csv", "tsv.gz"])
def test_table_metrics_of_files(tmp_path, expected, suffix):
    rows = tmp_path / "rows.jsonl"
    lines = [json.dumps(dict(zip(TABLE, row, strict=True))) for row in zip(*TABLE.values(), strict=True)]
    rows.write_text("\n".join(lines))
    for names in (NAMES, [*NAMES, "answer_length"]):
        out = tmp_path / f"{len(names)}.{suffix}"
        scored = fm.score(rows, output=out, metrics=names, files=fm.tables.FileSettings(batch_rows=13))
        told = fm.summarize(out)
        assert told.n_rows == scored.summary.n_rows == 60
        same(scored.summary.corpus, told.corpus)
        for name, value in told.corpus.items():  # JSON has no float32
            assert value == pytest.approx(expected[name], rel=1e-5, nan_ok=True), name
    same({name: told.corpus[name] for name in REPEATS[:7]}, {name: expected[name] for name in REPEATS[:7]})


def test_metric_with_missing_column_is_excluded_with_note():
    scores = fm.score(typed(TABLE), ["retrieval_rbo", "answer_length"]).drop_columns("repeats.retrieved_ids")
    found = fm.summarize(scores)
    assert found.corpus == {}
    assert "left out: retrieval_rbo, which needs the column repeats.retrieved_ids" in found.notes


def test_table_metrics_cannot_be_compared():
    runs = [fm.score(typed(TABLE), ["response_exact_match_rate", "answer_length"], keep_counts=True)] * 2
    assert [cell.metric for cell in fm.compare(runs)] == ["answer_length"]


def test_tables_without_repeats_or_rows_are_undefined():
    none = {name: [] for name in TABLE}
    once = {"id": [1], "question": ["q"], "answer": ["a"], "retrieved_ids": [["x"]], "answer_embedding": [[1.0]]}
    once |= {"embedding": [[math.nan]], "ratings": [[1.0, 2.0]]}
    for table in (typed(none), typed(once), typed({name: [None] for name in TABLE})):
        found = fm.summarize(fm.score(table, NAMES)).corpus
        assert all(math.isnan(found[name]) for name in REPEATS)
        assert found["embedding_geometry@3.total_samples"] == 0
        assert math.isnan(found["embedding_geometry@3.avg_spread"])
        assert found["rater_agreement.n_units"] in (0, 1)
    alone = fm.embedding_geometry([None, [math.inf]])
    assert (alone.total_samples, alone.n_nonfinite) == (0, 2)


def test_question_ids_can_also_be_read_as_text():
    numbers = {"question": [2**62, 2**62, 2**62 + 1], "answer": ["a", "b", "a"], "retrieved_ids": [[1], [2**60], [1]]}
    scores = fm.score(numbers, ["response_exact_match_rate", "retrieval_consistency"])
    assert fm.summarize(scores).corpus == {"response_exact_match_rate": 0.0, "retrieval_consistency": 0.0}
    both = fm.score(numbers, ["response_exact_match_rate", "answer_relevance"])
    assert fm.summarize(both).corpus == {"response_exact_match_rate": 0.0}
    texts = {**numbers, "question": ["x y", "x y", "z"]}
    both = fm.score(texts, ["response_exact_match_rate", "answer_relevance"])
    assert fm.summarize(both).corpus == {"response_exact_match_rate": 0.0}


def test_repeat_counts_include_excluded_rows():
    rate = fm.response_exact_match_rate(["a", None, "a", "a"], ["q", "q", "q", None])
    assert (rate.score, rate.n_questions, rate.n_pairs, rate.n_missing) == (1.0, 1, 1, 2)
    vectors = pa.array([[1.0, 0.0], None, [0.0, 0.0], [1.0, 0.0]], pa.list_(pa.float64()))
    mean = fm.response_semantic_consistency(vectors, ["q"] * 4)
    assert (mean.score, mean.n_pairs, mean.n_missing, mean.n_undefined) == (1.0, 1, 1, 1)
    first = fm.retrieval_consistency(["q", "q", "r"], [["a"], ["a"], ["b"]], against="first")
    assert (first.score, first.n_questions, first.n_pairs, first.n_missing) == (1.0, 1, 1, 0)
    assert first.score == reference.as_the_first(["q", "q", "r"], [["a"], ["a"], ["b"]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_are_restored_exactly(dtype):
    rows = np.random.default_rng(0).standard_normal((50, 7)).astype(dtype)
    same(fm.embedding_geometry(rows, k=2).figures, fm.vectors.geometry(rows, k=2).figures)
    groups = [row % 9 for row in range(50)]
    assert fm.response_semantic_consistency(rows, groups) == repeated_questions.semantic_consistency(rows, groups)


def test_embeddings_are_computed_from_text():
    table = {"question": ["q", "q", "r"], "answer": ["a b", "c", "d"]}

    def sizes(texts):
        return np.array([[len(text), len(text.split())] for text in texts], np.float32)

    found = fm.summarize(fm.score(table, "response_semantic_consistency", embedder=sizes)).corpus
    assert (
        found["response_semantic_consistency"]
        == repeated_questions.semantic_consistency(np.array([[3.0, 2.0], [1.0, 1.0]], np.float32), ["q", "q"]).score
    )


IDK = ["I don't know [1].", "Paris [1].", "I don't know. [2] Ask again. I don't know [1].", None, "Не знаю [2]."]
COUNTS = [1.0, 0.0, 2.0, None, 1.0]


def expected_of_sums(values: list[float | None]) -> float:
    """The sum of the finite values, rounded once; NaN without any."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return math.nan
    try:
        return float(sum(map(Fraction, known)))
    except OverflowError:
        return math.inf if sum(map(Fraction, known)) > 0 else -math.inf


@given(st.lists(st.none() | st.floats(), max_size=20), st.integers(0, 20))
def test_the_sum_is_exact_however_the_rows_are_cut(values: list[float | None], cut: int) -> None:
    column = pa.array(values, pa.float64())
    whole = pa.table({"own": column})
    parts = [whole.slice(0, cut), whole.slice(cut)]
    same = fm.summarize(parts, statistics={"own": ["sum", "p50"]})["own"].extra
    np.testing.assert_equal(same["sum"], expected_of_sums(values))
    assert list(same) == ["sum", "p50"]
    reader = pa.RecordBatchReader.from_batches(whole.schema, pa.concat_tables(parts).to_batches())
    np.testing.assert_equal(
        fm.summarize(reader, statistics={"own": ["sum"]}).figures["own.sum"], expected_of_sums(values)
    )


def test_the_sum_beyond_the_range_of_a_float_is_infinite() -> None:
    for sign in (1, -1):
        figures = fm.summarize({"own": [sign * 1.5e308] * 2}, statistics={"own": ["sum"]}).figures
        assert (figures["own.sum"], figures["own.mean"]) == (sign * math.inf, sign * 1.5e308)


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_a_summary_of_idk_citations_has_their_sum(tmp_path, rows: int) -> None:
    assert REGISTRY["idk_citations"].statistics == ("sum",)
    answers = pa.array(IDK[:rows], pa.string())
    scores = fm.score(pa.table({"answer": pa.chunked_array([answers[:1], answers[1:]])}), ["idk_citations"])
    known = [count for count in COUNTS[:rows] if count is not None]
    want = sum(known) if known else math.nan
    path = jsonl(tmp_path / "t.jsonl", *({"answer": answer} for answer in IDK[:rows]))
    summaries = [fm.summarize(scores), fm.summarize(scores.to_batches() or scores)]
    if rows:
        for name in ("o.parquet", "o.csv", "o.jsonl"):
            summaries += [fm.score(path, output=tmp_path / name, metrics="idk_citations").summary]
            summaries += [fm.summarize(tmp_path / name)]
    for summary in summaries:
        np.testing.assert_equal(summary.figures["idk_citations.sum"], want)
        np.testing.assert_equal(summary["idk_citations"].extra, {"sum": want})
        np.testing.assert_equal(summary.to_arrow()["sum"].to_pylist(), [want])
    if rows:
        assert json.loads(program("summarize", tmp_path / "o.csv", "--json").out)["figures"]["IDK+Cit Count"] == want


@pytest.mark.parametrize(
    ("rule", "met", "value", "n"),
    [
        ("idk_citations.sum <= 0", False, 4.0, 4),
        ("idk_citations.sum <= 4", True, 4.0, 4),
        ("IDK+Cit Count <= 0", False, 4.0, 4),
        ("idk_citations.sum <= 0 where language=en", True, 0.0, 1),
        ("idk_citations.sum <= 1 where language=ru", True, 1.0, 1),
        ("idk_citations.sum <= 0 where language=de", False, 3.0, 2),
        ("token_f1.sum == 1.5", True, 1.5, 4),
        ("idk_citations <= 1", True, 1.0, 4),
    ],
)
def test_gates_take_the_sum(tmp_path, rule: str, met: bool, value: float, n: int) -> None:
    rows = zip(COUNTS, [0.5, 0.5, None, 0.25, 0.25], ["de", "en", "de", "en", "ru"], strict=True)
    table = pa.Table.from_pylist([{"idk_citations": a, "token_f1": b, "language": c} for a, b, c in rows])
    path = tmp_path / "s.parquet"
    pa.parquet.write_table(table, path)
    for scores in (table, path):
        (checked,) = fm.gate(scores, [rule], unpaired="ignore", min_n=1)
        assert (checked.met, checked.value, checked.n) == (met, value, n)
    done = program("gate", path, "-r", rule, "--unpaired", "ignore", "--min-n", 1)
    assert done.code == (0 if met else 1)


def test_a_rule_on_the_sum_of_no_scores_is_not_met() -> None:
    (checked,) = fm.gate({"idk_citations": pa.array([None, None], pa.float64())}, ["idk_citations.sum <= 0"])
    assert (checked.met, checked.n) == (False, 0)
    assert math.isnan(checked.value)


def test_a_metric_of_ones_own_may_declare_the_sum() -> None:
    @fm.metric(
        bounds=(0, 10), better="lower", statistics=["sum", "p90"], labels={"sum": "shouts in all"}, name="shouts"
    )
    def shouts(answer: str) -> float:
        return float(answer.count("!"))

    figures = fm.summarize(fm.score({"answer": ["a!", "b!!", None]}, ["shouts"])).figures
    assert (figures["shouts.sum"], figures["shouts in all"]) == (3.0, 3.0)
    assert figures["shouts.p90"] == pytest.approx(1.9)


RELEVANT = [
    [["test-1", "test-2"], ["test-3"]],
    [["test-4", "test-5"], ["test-6", "test-7"], ["test-8"]],
    [["test-9", "test-10"]],
    [["test-11"], ["test-12"], ["test-13"]],
    [["test-14"]],
    [[]],
    [[""]],
    [["test-15"]],
]
RETRIEVED = [
    ["test-1", "pred-1", "test-2", "pred-3"],
    ["test-6", "pred-5", "pred-6", "pred-7"],
    ["test-9", "pred-0", "pred-8", "pred-9"],
    ["test-13", "test-12", "pred-10", "pred-11"],
    ["test-14", "pred-12"],
    ["pred-13"],
    ["pred-14"],
    ["pred-15", "pred-16", "test-15"],
]
NONE = float("nan")
EXPECTED = {
    "retrieval_recall": [0.5, 1 / 3, 1, 2 / 3, 1, NONE, NONE, 1],
    "retrieval_precision": [0.5, 0.25, 0.25, 0.5, 0.5, NONE, NONE, 1 / 3],
    "retrieval_f1": [0.5, 2 / 7, 2 / 5, 4 / 7, 2 / 3, NONE, NONE, 0.5],
    "reciprocal_rank": [1 / 2, 1 / 3, 1, 1 / 2, 1, NONE, NONE, 1 / 3],
    "average_precision": [5 / 12, 1 / 3, 1, 1 / 2, 1, NONE, NONE, 1 / 3],
    "ndcg": [0.7039180890341347, NONE, 0.6131471927654584, 0.7653606369886217, 1, NONE, NONE, 0.5],
}


@pytest.mark.parametrize("kind", ["memory", "numpy", "t.parquet", "t.jsonl", "printed.csv"])
def test_the_numbers_are_those_of_autorag(tmp_path: Path, kind: str) -> None:
    rows: Any = {"qid": [f"q{n}" for n in range(8)], "retrieved_ids": RETRIEVED, "retrieval_gt": RELEVANT}
    if kind == "numpy":
        rows["retrieval_gt"] = [[np.array(group, object) for group in groups] for groups in RELEVANT]
    elif kind == "printed.csv":
        pd.DataFrame(rows).to_csv(tmp_path / kind, index=False)
        rows = tmp_path / kind
    elif kind != "memory":
        rows = write(pa.table(rows), tmp_path / kind)
    scores = fm.score(rows, list(EXPECTED), schema="autorag")
    assert scores.column_names == ["qid", *EXPECTED]
    for name, expected in EXPECTED.items():
        found = scores[name].to_pylist()
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            # row 1: AutoRAG's ideal ranking is no longer than the one retrieved, that of trec_eval has all documents
            if (name, place) != ("ndcg", 1):
                assert one == pytest.approx(other, rel=1e-12, nan_ok=True), (name, place)


def test_functions_take_groups_too() -> None:
    assert fm.retrieval_recall([["a", "x"]], [[["a", "b"], ["c"]]]).tolist() == [0.5]
    assert fm.retrieval_recall([[1, 9]], [[[1, 2], [3]]]).tolist() == [0.5]
    assert fm.reciprocal_rank([["x", "a", "c"]], [[["a", "b"], ["c"]]], k=2).tolist() == [0.25]


def test_an_id_may_be_in_several_groups() -> None:
    assert fm.retrieval_recall([["a", "x"]], [[["a"], ["a", "b"], ["c"]]]).round(4).tolist() == [0.6667]
    assert fm.reciprocal_rank([["x", "a"]], [[["a", "a"], ["b", "a"]]]).tolist() == [0.5]


IDS = st.sampled_from("abcdef")


@given(
    st.lists(
        st.tuples(st.lists(IDS, unique=True), st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=1, max_size=4))
    )
)
def test_recall_rank_and_precision_of_any_groups(rows: list[tuple[list[str], list[list[str]]]]) -> None:
    for k in (None, 2):
        recall, ranks, precisions = [], [], []
        for retrieved, groups in rows:
            top = retrieved if k is None else retrieved[:k]
            places = [[place for place, one in enumerate(top, 1) if one in group] for group in groups]
            recall.append(sum(map(bool, places)) / len(groups))
            ranks.append(sum(1 / one[0] for one in places if one) / len(groups))
            means = [sum(at / place for at, place in enumerate(one, 1)) / len(one) for one in places if one]
            precisions.append(sum(means) / len(groups))
        if rows:
            retrieved, groups = map(list, zip(*rows, strict=True))
            options = {} if k is None else {"k": k}
            assert fm.retrieval_recall(retrieved, groups, **options).tolist() == pytest.approx(recall)
            assert fm.reciprocal_rank(retrieved, groups, **options).tolist() == pytest.approx(ranks)
            assert fm.average_precision(retrieved, groups, **options).tolist() == pytest.approx(precisions)


def test_plain_lists_among_groups_of_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"retrieved_ids": ["a"], "relevant_ids": ["a", "b"]}',
        '{"retrieved_ids": ["a"], "relevant_ids": [["a", "b"]]}',
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert fm.score(tmp_path / "t.jsonl", "retrieval_recall")["retrieval_recall"].to_pylist() == [0.5, 1.0]
