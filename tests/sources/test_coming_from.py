"""docs/start.md: where it says "the same", both sides give the same number."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import pytrec_eval
import sacrebleu

import fastmetrics as fm
from tests.support.optional_parts import needs

ANSWERS = ["It opened in Paris.", "The running cats", "Rome\nin spring", "", "a b c d e f", "Über Straße 3.5 %"]
REFERENCES = ["Paris opened it", "the cat runs", "in Rome\nspring came", "x", "a b c d e g", "über 3.5 % straße"]


def rankings(*, ties: bool) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run of 30 queries with 20 documents each, and judgements."""
    chance = random.Random(4)
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query in (f"q{number}" for number in range(30)):
        documents = [f"d{number}" for number in chance.sample(range(60), 20)]
        scores = [float(chance.randrange(6)) for _ in documents] if ties else chance.sample(range(1_000), 20)
        run[query] = dict(zip(documents, map(float, scores), strict=True))
        qrels[query] = {f"d{number}": chance.randrange(1, 4) for number in chance.sample(range(60), 9)}
    return run, qrels


def values(run: Any, qrels: Any, measures: str) -> dict[str, list[float]]:
    result = fm.rank(run, qrels, measures).per_query
    order = sorted(range(result.num_rows), key=lambda row: result[0][row].as_py())
    return {name: [result[name][row].as_py() for row in order] for name in result.column_names[1:]}


def test_pytrec_eval():
    run, qrels = rankings(ties=True)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "recip_rank", "map"}).evaluate(run)
    ours = values(run, qrels, "ndcg@10,mrr,map")
    for column, name in zip(ours.values(), ("ndcg_cut_10", "recip_rank", "map"), strict=True):
        assert column == [theirs[query][name] for query in sorted(run)]


@needs("ir_measures")
def test_ir_measures():
    import ir_measures

    run, qrels = rankings(ties=True)
    theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 10, ir_measures.RR], qrels, run)
    ours = values(run, qrels, "nDCG@10,RR")
    for column, value in zip(ours.values(), (theirs[ir_measures.nDCG @ 10], theirs[ir_measures.RR]), strict=True):
        assert sum(column) / len(column) == pytest.approx(value, rel=1e-14)


@needs("ranx")
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning", "ignore::DeprecationWarning")
def test_ranx():
    import ranx

    run, qrels = rankings(ties=False)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "mrr"])
    ours = values(run, qrels, "ndcg@10,mrr")
    for column, name in zip(ours.values(), ("ndcg@10", "mrr"), strict=True):
        assert sum(column) / len(column) == pytest.approx(theirs[name], rel=1e-12)


TABLE = {"answer": ANSWERS, "reference": REFERENCES}


def test_means_of_rouge():
    from rouge_score import rouge_scorer

    theirs = rouge_scorer.RougeScorer(["rougeL"])
    scores = [theirs.score(r, a)["rougeL"].fmeasure for a, r in zip(ANSWERS, REFERENCES, strict=True)]
    mean = fm.summarize(fm.score(TABLE, "rougeL_f1"))["rougeL_f1"].mean
    assert mean == pytest.approx(sum(scores) / len(scores), rel=1e-15)
    cyrillic = ["Привет мир"], ["Привет мир"]
    assert theirs.score(*cyrillic[0], *cyrillic[1])["rougeL"].fmeasure == 0
    with pytest.warns(fm.ScoreWarning, match="in a script other than Latin, whose words this tokenizer drops"):
        assert fm.rouge(*cyrillic, types=["rougeL"])["rougeL_f1"].tolist() == [0.0]
    assert fm.rouge(*cyrillic, types=["rougeL"], tokenizer="unicode")["rougeL_f1"].tolist() == [1.0]


def test_several_references_are_a_list_in_each_row():
    others = REFERENCES[::-1]
    theirs = sacrebleu.corpus_bleu(ANSWERS, [REFERENCES, others]).score
    assert fm.corpus_bleu(ANSWERS, list(map(list, zip(REFERENCES, others, strict=True)))).score == theirs


def test_squad_without_answers():
    rows = {"answer": [None, "", "Rome"], "reference": ["Rome"] * 3}
    summary = fm.summarize(fm.score(rows, "squad_em"))["squad_em"]
    assert (summary.n, summary.n_missing, summary.mean) == (2, 1, 0.5)
    unanswerable: list[list[str]] = [[], []]
    for metric in (fm.squad_em, fm.squad_f1):
        assert metric(["", "Rome"], unanswerable, version=2).tolist() == [1.0, 0.0]


def test_queries_without_relevant_documents():
    run, qrels = {"a": {"d": 1.0}, "b": {"d": 1.0}}, {"a": {"d": 0}, "b": {"d": 1}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
    assert [theirs[query]["ndcg_cut_10"] for query in "ab"] == [0.0, 1.0]
    undefined, score = values(run, qrels, "ndcg@10")["ndcg@10"]
    assert math.isnan(undefined)
    assert score == 1.0
    zero = fm.rank(run, qrels, "ndcg@10", no_relevant="zero").per_query
    assert sorted(zero["ndcg@10"].to_pylist()) == [0.0, 1.0]


def test_other_calls_of_the_page():
    assert fm.exact_match([" A  b "], ["a b"]).tolist() == [1.0]
    assert fm.retrieval_precision([["a", "b", "b"]], [["a", "c"]], k=3).tolist() == [1 / 3]
    assert fm.keyword_recall(["Rome in May"], ["Rome"]).tolist() == [1.0]
    scores = fm.score(TABLE, "rouge1_f1")
    assert not fm.gate(scores, ["rouge1_f1 >= 0.75"], min_n=1).passed
    fm.scoring.assert_scores(scores, "rouge1_f1 >= 0.1", min_n=1)
    for schema, names in (
        ("ragas", ("response", "reference")),
        ("deepeval", ("actual_output", "expected_output")),
        ("hf", ("predictions", "references")),
    ):
        table = dict(zip(names, (["Rome"], ["Rome"]), strict=True))
        assert fm.score(table, "squad_em", schema=schema)["squad_em"].to_pylist() == [1.0]
