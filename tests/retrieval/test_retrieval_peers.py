"""The same numbers as ranx and ir_measures, where those are installed and their conventions are ours."""

from __future__ import annotations

import random

import pytest

import fastmetrics as fm
from tests.support.optional_parts import needs

QUERIES = 300


def made(seed: int, lowest: int) -> tuple[dict, dict]:
    """A run without ties and graded judgements, something being relevant for every query."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(60)]
    run, judged = {}, {}
    for number in range(QUERIES):
        retrieved = draw.sample(docs, draw.randint(1, 50))
        run[str(number)] = {doc: float(score) for score, doc in enumerate(retrieved)}
        known = draw.sample(docs, draw.randint(2, 30))
        grades = [draw.randint(lowest, 3) for _ in known]
        judged[str(number)] = dict(zip(known, [draw.randint(1, 3), *grades[1:]], strict=True))
    return run, judged


# RBP is omitted: it sums grades instead of 0 or 1; so is bpref: it is NaN if all judged documents are relevant
RANX = ["ndcg", "ndcg@5", "ndcg_burges@10", "map", "map@10", "mrr", "mrr@3", "recall@10", "precision@10", "f1@10"]
RANX += ["hits@10", "hit_rate@3", "r-precision", "precision@5-l2", "map-l2"]


@needs("ranx")
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning")  # within ranx
def test_equals_ranx():
    import ranx

    run, judged = made(3, 0)
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(judged), theirs, RANX)
    for row in fm.rank(run, judged, RANX, no_relevant="zero").per_query.to_pylist():
        for name in RANX:
            assert row[name] == pytest.approx(theirs.scores[name][row["query_id"]], abs=1e-12), (name, row)


IR_MEASURES = ["nDCG@10", "nDCG", "AP", "AP@10", "AP(rel=2)", "RR", "RR@5", "P@5", "P(rel=2)@10", "R@10", "Rprec"]
IR_MEASURES += ["Success@3", "Judged@10", "Judged@40", "Bpref", "infAP", "SetP", "SetR", "SetF", "SetAP", "NumRet"]
IR_MEASURES += ["NumRel", "P(judged_only=True)@5", "AP(judged_only=True)", "nDCG(judged_only=True)@10"]


@needs("ir_measures")
@pytest.mark.parametrize("lowest", [0, -1])
def test_equals_ir_measures(lowest):
    import ir_measures

    run, judged = made(4, lowest)
    wanted = {str(ir_measures.parse_measure(name)): name for name in IR_MEASURES}
    ours = {row["query_id"]: row for row in fm.rank(run, judged, IR_MEASURES, no_relevant="zero").per_query.to_pylist()}
    seen = 0
    # in separate calls: ir_measures mixes up counts of the two kinds, depending on the order of a set
    for judged_only in (False, True):
        asked = [ir_measures.parse_measure(name) for name in IR_MEASURES if ("judged_only" in name) == judged_only]
        for value in ir_measures.iter_calc(asked, judged, run):
            name = wanted[str(value.measure)]
            assert ours[value.query_id][name] == pytest.approx(value.value, abs=1e-12), (name, value)
            seen += 1
    assert seen == QUERIES * len(IR_MEASURES)


@needs("ir_measures")
def test_err_and_exponential_ndcg_equal_gdeval():
    import ir_measures

    run, judged = made(5, -1)
    names = ["ERR@20", "ERR@5", "nDCG(dcg='exp-log2')@10"]
    wanted = {str(ir_measures.parse_measure(name)): name for name in names}
    ours = {row["query_id"]: row for row in fm.rank(run, judged, names, no_relevant="zero").per_query.to_pylist()}
    for value in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in names], judged, run):
        # gdeval prints five decimals
        assert ours[value.query_id][wanted[str(value.measure)]] == pytest.approx(value.value, abs=5.1e-6), value
