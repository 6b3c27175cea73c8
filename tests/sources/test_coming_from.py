"""docs/coming_from.md: where it says "the same", both sides give the same number."""

from __future__ import annotations

import random
from typing import Any

import pytest
import pytrec_eval
import sacrebleu
from rouge_score import rouge_scorer

import fastmetrics as fm
from tests.support.optional_parts import needs

ANSWERS = ["It opened in Paris.", "The running cats", "Rome\nin spring", "", "a b c d e f", "Über Straße 3.5 %"]
REFERENCES = ["Paris opened it", "the cat runs", "in Rome\nspring came", "x", "a b c d e g", "über 3.5 % straße"]
TYPES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]


@pytest.mark.slow
@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge_score(stemmer):
    scorer = rouge_scorer.RougeScorer(TYPES, use_stemmer=stemmer)
    theirs = [scorer.score(reference, answer) for answer, reference in zip(ANSWERS, REFERENCES, strict=True)]
    ours = fm.rouge(ANSWERS, REFERENCES, types=TYPES, stemmer=stemmer)
    several = scorer.score_multi(REFERENCES[:3], ANSWERS[0])
    ours_several = fm.rouge(ANSWERS[:1], [REFERENCES[:3]], types=TYPES, stemmer=stemmer)
    for kind in TYPES:
        for part, name in (("precision", "precision"), ("recall", "recall"), ("fmeasure", "f1")):
            assert ours[f"{kind}_{name}"].tolist() == [getattr(score[kind], part) for score in theirs]
            assert ours_several[f"{kind}_{name}"][0] == getattr(several[kind], part)


def test_sacrebleu():
    assert fm.corpus_bleu(ANSWERS, REFERENCES).score == sacrebleu.corpus_bleu(ANSWERS, [REFERENCES]).score
    for ours, theirs in (
        (fm.bleu, sacrebleu.sentence_bleu),
        (fm.chrf, sacrebleu.sentence_chrf),
    ):
        expected = [theirs(answer, [reference]).score for answer, reference in zip(ANSWERS, REFERENCES, strict=True)]
        assert ours(ANSWERS, REFERENCES).tolist() == expected
    assert fm.corpus_chrf(ANSWERS, REFERENCES).score == sacrebleu.corpus_chrf(ANSWERS, [REFERENCES]).score
    table = {"answer": ANSWERS, "reference": REFERENCES}
    words = [sacrebleu.sentence_chrf(a, [r], word_order=2).score for a, r in zip(ANSWERS, REFERENCES, strict=True)]
    assert fm.score(table, "chrf++")["chrf++"].to_pylist() == words
    floor = sacrebleu.BLEU(tokenize="intl", smooth_method="floor", effective_order=True)
    expected = [floor.sentence_score(a, [r]).score for a, r in zip(ANSWERS, REFERENCES, strict=True)]
    assert fm.bleu(ANSWERS, REFERENCES, tokenizer="intl", smooth_method="floor").tolist() == expected


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


@pytest.mark.slow
@needs("ranx")
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning", "ignore::DeprecationWarning")
def test_ranx():
    import ranx

    run, qrels = rankings(ties=False)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "mrr"])
    ours = values(run, qrels, "ndcg@10,mrr")
    for column, name in zip(ours.values(), ("ndcg@10", "mrr"), strict=True):
        assert sum(column) / len(column) == pytest.approx(theirs[name], rel=1e-12)
