"""Metrics of a table that need all rows at once: the functions' own figures, wherever a table is scored."""

import json
import math
import random

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics import repeated_questions
from tests.reference import repeats as reference


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
